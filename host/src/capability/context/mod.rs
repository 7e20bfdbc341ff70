//! The context of one call: who calls, how long it may take, which handles it holds, and the one way to be allowed anything.

mod app_allowance;
mod authorise;
mod uses;

use std::collections::{HashMap, HashSet};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use wasmtime::component::{HasData, ResourceTable};

use self::app_allowance::AppRequests;
pub(crate) use self::app_allowance::{AppAllowance, AppCounts};
pub(crate) use self::authorise::notices;
use self::uses::{Noted, Use};
use super::refusal::Refusal;
use super::shared::Shared;
use crate::Progress;
use crate::ask::Ask;
use crate::audit::LogRoom;
use crate::bindings::dunlin::tool::types;
use crate::call::{Action, WebRequest};
use crate::declared_permissions::Ceiling;
use crate::edit::FileEdit;
use crate::engine::time_limit::Clock;
use crate::limits;
use crate::permission::PluginId;
use crate::target::Need;

/// What calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerKind {
    /// A tool of a plugin or a server.
    Tool,
    /// The program of an app. It has no plan, so that it declares nothing says nothing of it.
    App,
}

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

/// What a call has changed in files: known to whoever runs it however the call ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Edits(Arc<Mutex<Vec<FileEdit>>>);

impl Edits {
    pub(crate) fn push(&self, edit: FileEdit) {
        self.0.lock().push(edit);
    }

    pub(crate) fn take(&self) -> Vec<FileEdit> {
        std::mem::take(&mut *self.0.lock())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Forgets the last ones, which were taken back.
    pub(crate) fn truncate(&self, len: usize) {
        self.0.lock().truncate(len);
    }

    /// Whether this file was changed.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let edits = self.0.lock();
        edits.iter().any(|edit| edit.paths().any(|it| it == path))
    }
}

/// A file that does not parse any more after an edit.
pub(crate) struct BrokenFile {
    /// As the tool wrote it.
    pub(crate) name: String,
    /// Whether there was no such file before.
    pub(crate) is_new: bool,
    /// Counted from 1.
    pub(crate) line: u32,
    /// Whether the plan said so.
    pub(crate) was_known: bool,
}

impl std::fmt::Display for BrokenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = crate::display::escape(&self.name);
        let any_more = if self.is_new { "" } else { " any more" };
        write!(f, "{name} does not parse{any_more}: line {}", self.line)
    }
}

/// A request that reads, which the user has seen and said yes to.
pub(crate) struct ShownRequest {
    request: WebRequest,
    /// Which usual `accept` it was sent or announced with, and has to be sent with; `None`: the plan does not say.
    usual_accept: Option<Option<&'static str>>,
}

impl ShownRequest {
    /// One that is about to be sent.
    fn sent(request: WebRequest) -> ShownRequest {
        let usual_accept = Some(request.usual_accept);
        ShownRequest {
            request,
            usual_accept,
        }
    }

    /// One of a plan.
    pub(crate) fn planned(request: WebRequest) -> ShownRequest {
        let usual_accept = request.usual_accept.map(Some);
        ShownRequest {
            request,
            usual_accept,
        }
    }
}

/// What every interface needs of a call: its identity, its clock, its handles, and the decisions about it.
pub(crate) struct CallContext {
    pub(crate) shared: Arc<Shared>,
    /// The session in which it was made.
    pub(crate) session: Arc<str>,
    pub(crate) phase: Phase,
    pub(crate) call: String,
    pub(crate) tool: String,
    /// As the model wrote them, for questions.
    pub(crate) arguments: Value,
    /// What the plan declared and the user agreed to.
    pub(crate) actions: Vec<Action>,
    /// Requests that read, which the user has seen with a question of this call and said yes to.
    pub(crate) shown_requests: Vec<ShownRequest>,
    /// Which usual `accept` goes with all requests of which the plan does not say it: one for each would say something.
    usual_accept: Option<Option<&'static str>>,
    /// How the plan asks.
    pub(crate) question: String,
    /// What the plan declared.
    pub(crate) declared: Vec<Need>,
    pub(crate) kind: CallerKind,
    pub(crate) plugin: Arc<PluginId>,
    /// The file of the component, if the plugin is removed with one.
    pub(crate) component: Option<Box<Path>>,
    /// What the plugin says that it may ever ask for.
    pub(crate) ceiling: Option<Arc<Ceiling>>,
    /// JSON Schema of what the user can set for the plugin.
    pub(crate) settings_schema: Option<Arc<Value>>,
    pub(crate) ask: Option<Arc<dyn Ask>>,
    pub(crate) progress: Option<Arc<dyn Progress>>,
    pub(crate) clock: Clock,
    /// Open files, answers and processes: each of them holds something of the system, so there are few.
    pub(crate) table: ResourceTable,
    /// What is only memory, bounded by `declared_bytes`. Apart, so that a plugin can always say that it has too many files.
    pub(crate) values: ResourceTable,
    questions: usize,
    announced_questions: usize,
    uses: Vec<Use>,
    /// What is left for it of the audit log.
    pub(crate) audit_room: LogRoom,
    /// What was decided last about each need, so that a repetition is counted and not logged again.
    decided: HashMap<Need, Noted>,
    /// How many requests were sent over the web.
    requests: usize,
    /// The same of an app in this minute.
    pub(super) app_requests: AppRequests,
    /// What the messages of an app may fill of their log. Those of a call of a tool have no such bound: a call has one.
    pub(super) message_room: Option<LogRoom>,
    /// The line of the command that was decided about last, for the audit log.
    pub(super) line: Option<String>,
    /// The command lines that it has begun to run.
    pub(super) started: HashSet<String>,
    /// The question that the user answered with no, of several the last.
    pub(crate) refused: Option<String>,
    /// Whether what was denied last was denied by the user's answer to a question of this call.
    pub(crate) was_denied_by_user: bool,
    /// What the call wanted beyond that which its plugin declares, in words.
    pub(crate) undeclared: Option<String>,
    /// What is wrong with a header that the plugin has made up for a request.
    pub(crate) bad_header: Option<String>,
    /// Why the plugin is about to trap, in its own words.
    pub(crate) crash: Option<String>,
    /// Bytes of what the plugin has declared.
    pub(super) declared_bytes: usize,
    /// What edits of this call broke.
    pub(crate) broken_files: Vec<BrokenFile>,
    pub(crate) edits: Edits,
    /// Bytes before and after of what it has changed.
    pub(crate) edited_bytes: usize,
    /// Whether the end stands in the audit log.
    pub(super) closed: bool,
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
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits::MAX_HANDLES);
        CallContext {
            session: shared.session(),
            shared,
            phase,
            call: call.to_owned(),
            tool: tool.to_owned(),
            arguments: Value::Null,
            actions: Vec::new(),
            shown_requests: Vec::new(),
            usual_accept: None,
            question: String::new(),
            declared: Vec::new(),
            kind: CallerKind::Tool,
            plugin,
            component: None,
            ceiling: None,
            settings_schema: None,
            ask: None,
            progress: None,
            clock,
            table,
            values: ResourceTable::new(),
            questions: 0,
            announced_questions: 0,
            uses: Vec::new(),
            audit_room: LogRoom::new(limits::MAX_AUDIT_BYTES),
            message_room: None,
            decided: HashMap::new(),
            requests: 0,
            app_requests: AppRequests::default(),
            line: None,
            started: HashSet::new(),
            refused: None,
            was_denied_by_user: false,
            undeclared: None,
            bad_header: None,
            crash: None,
            declared_bytes: 0,
            broken_files: Vec::new(),
            edits: Edits::default(),
            edited_bytes: 0,
            closed: false,
        }
    }

    /// Another call begins in the same store, with limits of its own. What the guest holds it keeps holding.
    pub(super) fn begin_event(&mut self, call: &str, clock: Clock, allowance: AppAllowance) {
        let fresh = CallContext::new(
            Arc::clone(&self.shared),
            self.phase,
            call,
            &self.tool,
            Arc::clone(&self.plugin),
            clock,
        );
        let before = std::mem::replace(self, fresh);
        self.kind = before.kind;
        self.ask = before.ask;
        self.table = before.table;
        self.values = before.values;
        self.declared_bytes = before.declared_bytes;
        self.audit_room = allowance.audit_room;
        self.message_room = Some(allowance.message_room);
        self.questions = allowance.counts.questions;
        self.app_requests = allowance.counts.requests;
    }

    /// What the app has asked and sent so far.
    pub(super) fn app_counts(&self) -> AppCounts {
        AppCounts {
            questions: self.questions,
            requests: self.app_requests,
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

    /// Counts one more request over the web.
    pub(super) fn count_request(&mut self) -> Result<(), types::Error> {
        if self.requests == limits::MAX_FETCHES {
            return Err(types::Error::TooLarge(format!(
                "this call has sent {} requests; no more are possible",
                limits::MAX_FETCHES
            )));
        }
        if self.kind == CallerKind::App {
            let sent = &mut self.app_requests;
            if sent.count == limits::MAX_APP_FETCHES {
                sent.are_too_many = true;
                return Err(types::Error::TooLarge(format!(
                    "this app has sent {} requests within a minute; more are possible in the next",
                    limits::MAX_APP_FETCHES
                )));
            }
            sent.count += 1;
        }
        self.requests += 1;
        Ok(())
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
