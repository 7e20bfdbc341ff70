//! Which search engine answers.

use std::sync::Arc;

use dunlin_host::SearchOptions;
use dunlin_host::search::KeySource;

use crate::settings::Settings;

/// What the host is told.
pub fn options(settings: &Settings) -> SearchOptions {
    let Some(chosen) = &settings.web_search else {
        return SearchOptions::default();
    };
    let chosen = &chosen.value;
    let key = chosen.api_key.as_deref().map(|name| {
        let place = settings.key_place(name);
        let source: KeySource = Arc::new(move || Ok(place.read()?.0.reveal().to_owned()));
        source
    });
    SearchOptions {
        engine: chosen.engine.engine(),
        base_url: chosen.base_url.clone(),
        key,
        engine_id: chosen.engine_id.clone(),
        is_chosen: true,
    }
}
