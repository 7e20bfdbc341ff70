//! The hooks, as the host is told of them, and as they are listed.

use dunlin_host::display::escape;
use dunlin_host::hooks::Hook;

use crate::settings::{ConfiguredHook, Origin, Settings};

/// The user's first, then those of a trusted project, each in the order of its file.
pub fn options(settings: &Settings) -> Vec<Hook> {
    let hooks = settings.hooks.iter();
    hooks.map(|hook| option(settings, hook)).collect()
}

/// One of them.
pub fn option(settings: &Settings, hook: &ConfiguredHook) -> Hook {
    let entry = &hook.entry.value;
    entry.hook(place(settings, hook), hook.pinned.clone())
}

/// Where a hook is configured: the file and the line. Not escaped.
pub fn place(settings: &Settings, hook: &ConfiguredHook) -> String {
    match &hook.entry.origin {
        Origin::File(path, line) => format!("{}:{line}", settings.folders.short(path)),
        other => other.to_string(),
    }
}

/// A hook in one line: when it runs, what runs, for which tools, whose it is and where it is configured. Escaped.
pub fn line(settings: &Settings, hook: &ConfiguredHook) -> String {
    let place = place(settings, hook);
    let own_file = settings.folders.config_file();
    let whose = match &hook.entry.origin {
        Origin::File(path, _) if *path != own_file => "the project's",
        _ => "yours",
    };
    let host = hook.entry.value.hook(String::new(), Vec::new());
    let tools = match &host.tools {
        None => String::new(),
        Some(tools) => format!(" · {}", escape(&tools.join(", "))),
    };
    let (event, name) = (host.event.as_str(), host.name());
    format!("{event} · {name}{tools} · {whose}, {}", escape(&place))
}
