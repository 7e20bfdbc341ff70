//! The project's own configuration, `.dunlin/config.toml`: it may narrow what the user chose, and
//! nothing else.
//!
//! A project may come from anywhere. If its file could name an endpoint or a key, opening a folder
//! would send the conversation, or a key, to a stranger. So agents and keys in it are not used, limits
//! only count where they are lower, and whatever was left out is said in one notice.

use super::file::{File, Loaded, OnDenial};

/// What a project's file would widen and therefore does not say.
pub fn ignored(loaded: &Loaded) -> Vec<&'static str> {
    let File {
        on_denial,
        keys,
        agents,
        ..
    } = &loaded.file;
    let widens_denial = on_denial
        .as_ref()
        .is_some_and(|value| *value.get_ref() == OnDenial::Continue);
    [
        (widens_denial, "on_denial = \"continue\""),
        (!keys.is_empty(), "keys"),
        (!agents.is_empty(), "agents"),
    ]
    .into_iter()
    .filter_map(|(is_there, name)| is_there.then_some(name))
    .collect()
}
