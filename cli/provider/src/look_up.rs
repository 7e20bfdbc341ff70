//! Asks a server how many tokens a model can see at once.

use url::Url;

use crate::connection::Connection;
use crate::ollama;
use crate::protocol::below;
use crate::window::{self, More};

/// What the server says of the model's window: in its list of models, or where that leads. `root` is the address without
/// the path of a protocol.
pub(super) async fn window(
    connection: &Connection,
    list: Url,
    root: &Url,
    model: &str,
) -> Option<u64> {
    let list = connection.ask(list, None).await?;
    let listed = window::listed(&list, model);
    if listed.window.is_some() {
        return listed.window;
    }
    let ask = async |path: &str| connection.ask(below(root, path), None).await;
    let more = match listed.more {
        Some(More::LlamaCpp) => ask("props").await.as_ref().and_then(window::llama_cpp),
        Some(More::LmStudio) => {
            let list = ask("api/v0/models").await;
            list.as_ref()
                .and_then(|list| window::lm_studio(list, model))
        }
        Some(More::Ollama) => {
            let running = ask("api/ps").await;
            running
                .as_ref()
                .and_then(|running| ollama::window_of_running(running, model))
        }
        None => None,
    };
    more.or(listed.trained)
}
