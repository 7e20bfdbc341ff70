//! Models that run in this process: what is there, and whether the agent's can be used.

use dunlin_local::{DEFAULT_WINDOW, ModelMetadata};

use super::report::{Report, Verdict};
use crate::config::paths::Folders;
use crate::local_model::way_out;
use crate::models;
use crate::settings::Settings;
use dunlin_chat::agent::Agent;
use dunlin_host::display::{grouped, size};

/// Looks at the file of the agent's model, and at its header. Loading it would take longer than all the rest.
pub(super) fn agent(report: &mut Report<'_>, agent: &Agent, folders: &Folders) {
    let path = agent.base_url.to_file_path().unwrap_or_default();
    let (name, model) = (&agent.name, &agent.model);
    let what = format!("{name} · {model} in {}", folders.short(&path));
    let metadata = match ModelMetadata::read(&path) {
        Ok(metadata) => metadata,
        Err(error) => {
            let causes = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            let problem = format!("{what}: {error}{}", causes.unwrap_or_default());
            report.line(Verdict::Bad, "agent", &problem);
            return report.way_out(&way_out(model, &error));
        }
    };
    let memory = size(metadata.memory);
    let about = format!("{what}, takes up to {memory} of memory");
    report.line(Verdict::Good, "agent", &about);
    let configured = agent.context_window.map(usize::try_from);
    let longest = configured.map_or(DEFAULT_WINDOW, |longest| longest.unwrap_or(usize::MAX));
    let tokens = grouped(metadata.window.min(longest) as u64);
    report.line(Verdict::Good, "window", &format!("{tokens} tokens"));
    if !metadata.offers_tools {
        let text = "it does not support tools, so none will be offered";
        report.line(Verdict::Note, "model", text);
    }
}

/// Whether there is an embedding model: without it searching goes by words alone.
pub(super) fn embedding(report: &mut Report<'_>, settings: &Settings) {
    let chosen = settings.codebase_search.as_ref().map(|it| &it.value);
    let embedder = crate::host_options::embedding::embedder(settings);
    let name = embedder.as_ref().and_then(|embedder| embedder.name());
    match name {
        Some(name) => report.line(Verdict::Good, "search", &format!("by words and by {name}")),
        None if chosen.is_some() => {
            report.line(Verdict::Good, "search", "by words alone, as configured");
        }
        None => {
            report.line(Verdict::Note, "search", "by words alone");
            let name = models::EMBEDDING_MODEL.name;
            report.way_out(&format!("`dunlin model pull {name}` adds what they mean"));
        }
    }
}

/// The models that were fetched, if there are any.
pub(super) fn installed(report: &mut Report<'_>, folders: &Folders) {
    let folder = folders.models();
    match models::installed(&folder) {
        Ok(here) if here.is_empty() => {}
        Ok(here) => {
            let named = here
                .iter()
                .map(|model| format!("{} ({})", model.name, size(model.bytes)));
            let names = named.collect::<Vec<_>>().join(", ");
            let place = folders.short(&folder);
            report.line(Verdict::Good, "models", &format!("{names} in {place}"));
        }
        Err(error) => {
            let place = folders.short(&folder);
            report.line(Verdict::Bad, "models", &format!("{place}: {error}"));
        }
    }
}
