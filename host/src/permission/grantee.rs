//! To whom an allow is given: a plugin, in the version that is loaded.

use super::file::{BUILT_IN, Grantee};
use crate::declared_permissions::DeclaredPermissions;

/// Who wants something: a plugin in the version that is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PluginId {
    /// The plugin's name.
    pub name: String,
    /// Where an installed plugin comes from: the same name from elsewhere is another plugin. `None`: the name is enough.
    pub origin: Option<String>,
    /// SHA-256 of its component.
    pub digest: String,
    /// Whether it came with Dunlin; then its digest may change with the program.
    pub built_in: bool,
}

impl PluginId {
    /// What tells it from every other plugin, in all of its versions.
    pub fn identity(&self) -> String {
        identity(&self.name, self.origin.as_deref())
    }
}

/// What tells a plugin from every other one, in all of its versions: `words@ghcr.io/who/words`, or the name where there is
/// no origin. No name holds an `@`.
pub fn identity(name: &str, origin: Option<&str>) -> String {
    match origin {
        Some(origin) => format!("{name}@{origin}"),
        None => name.to_owned(),
    }
}

/// A use that is decided about: which call of which tool it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller<'a> {
    /// The id of the call.
    pub(crate) call: &'a str,
    /// The tool's name.
    pub(crate) tool: &'a str,
    /// The plugin that holds the tool.
    pub(crate) plugin: &'a PluginId,
    /// Whether the tool said beforehand that it would: a tool that is set to *always* is still asked
    /// about what it kept to itself.
    pub(crate) declared: bool,
    /// What the plugin says that it may ever ask for, if it says so.
    pub(crate) declared_permissions: Option<&'a DeclaredPermissions>,
}

pub(super) fn grantee(plugin: &PluginId) -> Grantee {
    Grantee {
        plugin: plugin.identity(),
        digest: if plugin.built_in {
            BUILT_IN.to_owned()
        } else {
            plugin.digest.clone()
        },
        runs: None,
    }
}

impl Grantee {
    /// Whether this is the plugin, in the same version.
    pub(super) fn is(&self, plugin: &PluginId) -> bool {
        let other = grantee(plugin);
        self.plugin == other.plugin && self.digest == other.digest
    }
}

pub(super) fn describe_grantee(grantee: &Grantee) -> String {
    if grantee.digest == BUILT_IN {
        return grantee.plugin.clone();
    }
    let short: String = grantee.digest.chars().take(8).collect();
    format!("{} ({short})", grantee.plugin)
}
