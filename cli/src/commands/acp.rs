//! `dunlin acp`: Dunlin as an agent for editors, over standard input and output.

use std::io;
use std::sync::Arc;

use dunlin_host::Plugin;
use rmcp::transport::stdio_pipes;

use super::make_app::app_of;
use crate::acp::{AcpServer, Ended, serve};
use crate::args::Global;
use crate::config::env::Environment;
use crate::error::{CliError, Exit};
use dunlin_terminal::ui::Ui;

/// The editor names the folder of each session.
#[derive(Debug, thiserror::Error)]
#[error("--project does not go with acp: the editor names the folder of each session")]
struct HasProject;

/// Serves until the input ends.
pub fn run(
    ui: &Arc<Ui>,
    global: &Global,
    environment: Environment,
    plugins: Vec<Plugin>,
) -> Result<Exit, CliError> {
    if global.project.is_some() {
        return Err(CliError::usage(HasProject));
    }
    if ui.streams().input {
        ui.status("Waiting for an editor on standard input; Ctrl-D ends it.");
    }
    let server = AcpServer {
        global: global.clone(),
        environment,
        make_app: Box::new(move |ui, settings| app_of(&ui, settings, plugins.clone())),
        ui: Arc::clone(ui),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CliError::failed)?;
    let ended = runtime.block_on(async {
        let interrupt = async {
            // Where the signal cannot be received it keeps its usual effect, and ends the program.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending().await
            }
        };
        let (input, _) = stdio_pipes();
        serve(server, input, Box::new(io::stdout()), interrupt).await
    });
    // A read of standard input must not keep the program from ending.
    runtime.shutdown_background();
    Ok(match ended.map_err(CliError::failed)? {
        Ended::Gone => Exit::Done,
        Ended::Interrupted => Exit::Interrupted,
    })
}
