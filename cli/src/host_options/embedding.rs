//! What questions about code are understood with.

use std::sync::Arc;

use dunlin_host::embedding::Embedder;
use dunlin_provider::embeddings::{Embeddings, Key};

use crate::config::embedding::CodebaseSearch;
use crate::settings::Settings;

/// What the host is handed: the server that the user has named, or the model of this machine, which need not be there.
/// Touches nothing.
pub fn embedder(settings: &Settings) -> Option<Arc<dyn Embedder>> {
    let chosen = settings
        .codebase_search
        .as_ref()
        .map(|chosen| &chosen.value);
    if chosen.is_some_and(|chosen| chosen.semantic == Some(false)) {
        return None;
    }
    if let Some(CodebaseSearch {
        base_url: Some(url),
        model: Some(model),
        api_key,
        ..
    }) = chosen
    {
        let key = api_key.as_deref().map(|name| {
            let place = settings.key_place(name);
            let read: Key = Arc::new(move || Ok(place.read()?.0));
            read
        });
        return Some(Arc::new(Embeddings::new(url, model, key)));
    }
    of_this_machine(settings)
}

#[cfg(feature = "local-model")]
fn of_this_machine(settings: &Settings) -> Option<Arc<dyn Embedder>> {
    use crate::local_model::embedding::LocalEmbedding;
    Some(Arc::new(LocalEmbedding::new(&settings.folders)))
}

#[cfg(not(feature = "local-model"))]
fn of_this_machine(_settings: &Settings) -> Option<Arc<dyn Embedder>> {
    None
}
