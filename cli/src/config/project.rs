//! The project's own configuration, `.dunlin/config.toml`: it may narrow what the user chose, and
//! nothing else.
//!
//! A project may come from anywhere. If its file could name an endpoint or a key, opening a folder
//! would send the conversation, or a key, to a stranger; the same holds for a choice among the user's own
//! agents, and if it could hide calls nobody would see what was read. So none of these is used, limits
//! only count where they are lower, and whatever was left out is said in one notice.

use super::file::{File, Loaded, OnDenial};

/// What a project's file would widen and therefore does not say.
pub fn ignored(loaded: &Loaded) -> Vec<&'static str> {
    let File {
        default_agent,
        on_denial,
        show_intermediate_steps,
        keys,
        agents,
        ..
    } = &loaded.file;
    let widens_denial = on_denial
        .as_ref()
        .is_some_and(|value| *value.get_ref() == OnDenial::Continue);
    [
        (default_agent.is_some(), "default_agent"),
        (show_intermediate_steps.is_some(), "show_intermediate_steps"),
        (widens_denial, "on_denial = \"continue\""),
        (!keys.is_empty(), "keys"),
        (!agents.is_empty(), "agents"),
    ]
    .into_iter()
    .filter_map(|(is_there, name)| is_there.then_some(name))
    .collect()
}
