//! Whether an open file may still be used: what allowed its opening can be taken back while it is open.

use std::sync::Arc;

use crate::capability::context::CallContext;
use crate::capability::resources::UseId;
use crate::capability::shared::Shared;
use crate::declared_permissions::DeclaredPermissions;
use crate::permission::{Caller, PluginId, Verdict};
use crate::target::Need;

/// What one use of an open file rests on. It is looked at with each use, so a mode, a rule or an answer that the user takes
/// back counts at once.
#[derive(Debug, Clone)]
pub(super) struct Lease(Arc<Terms>);

struct Terms {
    shared: Arc<Shared>,
    call: String,
    tool: String,
    plugin: Arc<PluginId>,
    declared_permissions: Option<Arc<DeclaredPermissions>>,
    need: Need,
    under: UseId,
    /// Whether more than one answer to one question allowed it.
    was_allowed: bool,
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terms")
            .field("need", &self.need)
            .finish_non_exhaustive()
    }
}

impl Lease {
    /// What an opening that was authorised just now rests on.
    pub(super) fn new(context: &CallContext, need: Need, under: UseId) -> Lease {
        let mut terms = Terms {
            shared: Arc::clone(&context.shared),
            call: context.caller.call.clone(),
            tool: context.caller.tool.clone(),
            plugin: Arc::clone(&context.caller.plugin),
            declared_permissions: context.caller.declared_permissions.clone(),
            need,
            under,
            was_allowed: false,
        };
        terms.was_allowed = terms.verdict() == Verdict::Allow;
        Lease(Arc::new(terms))
    }

    /// The use that it was logged as.
    pub(super) fn under(&self) -> UseId {
        self.0.under
    }

    /// Whether the file may be used now.
    pub(super) fn holds(&self) -> bool {
        match self.0.verdict() {
            Verdict::Allow => true,
            Verdict::Ask => !self.0.was_allowed,
            Verdict::Deny => false,
        }
    }
}

impl Terms {
    /// A store that cannot be read allows nothing.
    fn verdict(&self) -> Verdict {
        let caller = Caller {
            call: &self.call,
            tool: &self.tool,
            plugin: &self.plugin,
            declared: true,
            declared_permissions: self.declared_permissions.as_deref(),
        };
        let decided = self.shared.permissions.decide(&caller, &self.need);
        decided.map_or(Verdict::Deny, |decision| decision.verdict)
    }
}
