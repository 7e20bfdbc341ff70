//! The hooks, as the host is told of them.

use dunlin_host::hooks::Hook;

use crate::settings::Settings;

/// The user's first, then those of a trusted project, each in the order of its file.
pub fn options(settings: &Settings) -> Vec<Hook> {
    let hooks = settings.hooks.iter();
    let hook = hooks.map(|hook| {
        let entry = &hook.entry;
        entry
            .value
            .hook(entry.origin.to_string(), hook.pinned.clone())
    });
    hook.collect()
}
