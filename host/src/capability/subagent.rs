//! `subagent`: conversations beside the chat's own.

use crate::permission::PluginId;

/// The name of the interface.
pub(crate) const IMPORT: &str = "subagent";

/// Whether this plugin is there to run subagents: it came with Dunlin, and it imports the interface.
pub(crate) fn are_run_by(plugin: &PluginId, imports: &[String]) -> bool {
    plugin.built_in && imports.iter().any(|import| import == IMPORT)
}
