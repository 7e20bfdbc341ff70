//! Background work: tools that run on though their calls have ended.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use super::component::{CallFrontend, ComponentTool, Components};
use crate::NoProgress;
use crate::ask::DenyAll;
use crate::audit::LogQuota;
use crate::call::{Call, Plan};
use crate::capability::Edits;
use crate::limits::{MAX_BACKGROUND_RUNS, MAX_BACKGROUND_TIME, MAX_BACKGROUND_TOOLS};

/// The tools that work in the background, by name.
#[derive(Debug, Default)]
pub(super) struct BackgroundWork(Mutex<HashSet<String>>);

impl BackgroundWork {
    /// `false` when the tool is running in the background already, or as many others as may be.
    fn begin(&self, tool: &str) -> bool {
        let mut names = self.names();
        (names.len() < MAX_BACKGROUND_TOOLS) && names.insert(tool.to_owned())
    }

    fn names(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock()
    }
}

/// The tool is running in the background as long as this lives.
struct Working {
    components: Arc<Components>,
    tool: String,
}

impl Drop for Working {
    fn drop(&mut self) {
        self.components.background.names().remove(&self.tool);
    }
}

impl Components {
    /// Runs a tool again and again as it wishes, with the rights of a call that has ended. Ends with the runtime.
    pub(super) fn continue_in_background(
        self: &Arc<Self>,
        call: &Call,
        tool: ComponentTool,
        plan: &Plan,
        arguments: &str,
        log_quota: LogQuota,
    ) {
        let Ok(arguments) = serde_json::from_str(arguments) else {
            return;
        };
        if !self.background.begin(&call.tool) {
            return;
        }
        let working = Working {
            components: Arc::clone(self),
            tool: call.tool.clone(),
        };
        let mut call = Call {
            // Another call: what was answered once to the first is over.
            id: call.id_of_host("background"),
            arguments,
            ..call.clone()
        };
        let plan = plan.clone();
        tokio::spawn(async move {
            let begun = Instant::now();
            for _ in 0..MAX_BACKGROUND_RUNS {
                if begun.elapsed() > MAX_BACKGROUND_TIME || !tool.plugin.plugin.bytes.is_there() {
                    return;
                }
                let clock = working.components.clock();
                let ran = working.components.run_once(
                    &call,
                    &tool,
                    &plan,
                    CallFrontend {
                        ask: Arc::new(DenyAll),
                        progress: Arc::new(NoProgress),
                        edits: Edits::default(),
                    },
                    &clock,
                    &log_quota,
                );
                // Boxed: this future and that of a run would hold each other.
                let ran: std::pin::Pin<Box<dyn Future<Output = _> + Send + '_>> = Box::pin(ran);
                let Ok((_, Some(more))) = ran.await else {
                    return;
                };
                let Ok(arguments) = serde_json::from_str(&more) else {
                    return;
                };
                call.arguments = arguments;
            }
        });
    }
}
