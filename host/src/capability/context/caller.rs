//! Who calls: the call, the tool and its plugin.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::declared_permissions::DeclaredPermissions;
use crate::permission::PluginId;

/// Whether a tool or an app calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerKind {
    /// A tool of a plugin or a server.
    Tool,
    /// The program of an app. It has no plan, so a use that was not declared is normal.
    App,
}

/// The call, and what is known of the tool that it calls.
pub(crate) struct CallingTool {
    /// The session in which it was made.
    pub(crate) session: Arc<str>,
    pub(crate) call: String,
    pub(crate) tool: String,
    /// As the model wrote them, for questions.
    pub(crate) arguments: Value,
    pub(crate) kind: CallerKind,
    pub(crate) plugin: Arc<PluginId>,
    /// The file of the component, if the plugin is removed with one.
    pub(crate) component: Option<Box<Path>>,
    /// What the plugin says that it may ever ask for.
    pub(crate) declared_permissions: Option<Arc<DeclaredPermissions>>,
    /// JSON Schema of what the user can set for the plugin.
    pub(crate) settings_schema: Option<Arc<Value>>,
}

impl CallingTool {
    pub(super) fn new(
        session: Arc<str>,
        call: &str,
        tool: &str,
        plugin: Arc<PluginId>,
    ) -> CallingTool {
        CallingTool {
            session,
            call: call.to_owned(),
            tool: tool.to_owned(),
            arguments: Value::Null,
            kind: CallerKind::Tool,
            plugin,
            component: None,
            declared_permissions: None,
            settings_schema: None,
        }
    }
}
