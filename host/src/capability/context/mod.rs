//! The context of one call: who calls, how long it may take, which handles it holds, and the one way to be allowed anything.

mod app_allowance;
mod authorise;
mod caller;
mod changes;
mod handles;
mod plan;
mod uses;
mod web;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use wasmtime::component::HasData;

pub(crate) use self::app_allowance::{AppAllowance, AppCounts};
use self::authorise::Questions;
pub(crate) use self::authorise::notices;
pub(crate) use self::caller::CallerKind;
use self::caller::CallingTool;
use self::changes::Changes;
pub(crate) use self::changes::{BrokenFile, Edits};
use self::handles::Handles;
use self::plan::AgreedPlan;
pub(crate) use self::plan::ShownRequest;
use self::uses::UseLog;
use self::web::WebUse;
use super::refusal::Refusal;
use super::shared::Shared;
use crate::Progress;
use crate::ask::Ask;
use crate::bindings::dunlin::tool::types;
use crate::engine::time_limit::Clock;
use crate::permission::PluginId;

/// Which function of the guest is running: it decides what imports work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing works.
    Describe,
    /// Only what touches nothing works: `log`, `clock`, `random`, `settings` and `search.address`.
    Prepare,
    /// Everything works, each use checked.
    Run,
}

/// Ends a plugin that wants to learn something in `describe`: what it says there has to be the same
/// everywhere, since it is kept.
#[derive(Debug, thiserror::Error)]
#[error("used an import in describe")]
pub(crate) struct UsedInDescribe;

/// What every interface needs of a call: who calls, its clock, its handles, and the decisions about it.
pub(crate) struct CallContext {
    pub(crate) shared: Arc<Shared>,
    pub(crate) phase: Phase,
    pub(crate) caller: CallingTool,
    pub(crate) plan: AgreedPlan,
    pub(crate) ask: Option<Arc<dyn Ask>>,
    pub(crate) progress: Option<Arc<dyn Progress>>,
    pub(crate) clock: Clock,
    pub(crate) handles: Handles,
    pub(crate) questions: Questions,
    pub(crate) log: UseLog,
    pub(crate) web: WebUse,
    pub(crate) changes: Changes,
    /// Why the plugin is about to trap, in its own words.
    pub(crate) crash: Option<String>,
}

impl CallContext {
    pub(super) fn new(
        shared: Arc<Shared>,
        phase: Phase,
        call: &str,
        tool: &str,
        plugin: Arc<PluginId>,
        clock: Clock,
    ) -> CallContext {
        CallContext {
            caller: CallingTool::new(shared.session(), call, tool, plugin),
            shared,
            phase,
            plan: AgreedPlan::default(),
            ask: None,
            progress: None,
            clock,
            handles: Handles::default(),
            questions: Questions::default(),
            log: UseLog::default(),
            web: WebUse::default(),
            changes: Changes::default(),
            crash: None,
        }
    }

    /// Another call begins in the same store, with limits of its own. What the guest holds it keeps holding.
    pub(super) fn begin_event(&mut self, call: &str, clock: Clock, allowance: AppAllowance) {
        let fresh = CallContext::new(
            Arc::clone(&self.shared),
            self.phase,
            call,
            &self.caller.tool,
            Arc::clone(&self.caller.plugin),
            clock,
        );
        let before = std::mem::replace(self, fresh);
        self.caller.kind = before.caller.kind;
        self.ask = before.ask;
        self.handles = before.handles;
        self.log.audit_quota = allowance.audit_quota;
        self.log.message_quota = Some(allowance.message_quota);
        self.questions.unplanned = allowance.counts.questions;
        self.web.of_app = allowance.counts.requests;
    }

    /// What the app has asked and sent so far.
    pub(super) fn app_counts(&self) -> AppCounts {
        AppCounts {
            questions: self.questions.unplanned,
            requests: self.web.of_app,
        }
    }

    /// Fails unless this is a run: `describe` and `prepare` touch nothing.
    pub(crate) fn only_in_run(&self) -> Result<(), Refusal> {
        match self.phase {
            Phase::Run => Ok(()),
            Phase::Prepare => Err(types::Error::Unsupported(
                "nothing can be touched while a call is prepared".into(),
            )
            .into()),
            Phase::Describe => Err(Refusal::Trap(UsedInDescribe.into())),
        }
    }

    /// Traps in `describe`.
    pub(super) fn not_in_describe(&self) -> wasmtime::Result<()> {
        match self.phase {
            Phase::Describe => Err(UsedInDescribe.into()),
            Phase::Prepare | Phase::Run => Ok(()),
        }
    }
}

impl types::Host for CallContext {
    fn convert_error(&mut self, refusal: Refusal) -> wasmtime::Result<types::Error> {
        refusal.for_guest()
    }
}

/// What an interface with a state of its own sees of a call: its context, and that state.
pub(crate) struct View<'a, S> {
    pub(crate) context: &'a mut CallContext,
    pub(crate) own: &'a mut S,
}

impl<S> Deref for View<'_, S> {
    type Target = CallContext;

    fn deref(&self) -> &CallContext {
        self.context
    }
}

impl<S> DerefMut for View<'_, S> {
    fn deref_mut(&mut self) -> &mut CallContext {
        self.context
    }
}

impl<S: Send> types::Host for View<'_, S> {
    fn convert_error(&mut self, refusal: Refusal) -> wasmtime::Result<types::Error> {
        refusal.for_guest()
    }
}

/// Tells a linker that an interface is implemented for the [`View`] of this state.
pub(crate) struct Of<S>(std::marker::PhantomData<S>);

impl<S: Send + 'static> HasData for Of<S> {
    type Data<'a> = View<'a, S>;
}
