//! What guests can reach, and the one function that decides whether they may.
//!
//! Each ability is one interface of the contract and one module here. Every function that touches
//! something outside the sandbox resolves its target, calls [`CallState::authorise`], and only then
//! acts, on exactly what was authorised: there is no other way to a file, an address or a program.

mod authorise;
pub(crate) mod background;
pub(crate) mod chat;
pub(crate) mod edit;
pub(crate) mod embedding;
pub(crate) mod files;
pub(crate) mod lines;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod process;
mod refusal;
pub(crate) mod sampling;
pub(crate) mod search;
pub(crate) mod store;
pub(crate) mod tree;
mod uses;
pub(crate) mod wasi;
pub(crate) mod web;

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde_json::Value;
use tokio::sync::OnceCell;
use wasmtime::component::{HasSelf, Linker, ResourceTable};

pub(crate) use self::authorise::notices;
pub(crate) use self::refusal::{Refusal, host_failed};
pub(crate) use self::uses::UseId;
use self::uses::{Noted, Use};
use crate::CommandOptions;
use crate::HistoryBook;
use crate::Progress;
use crate::ask::Ask;
use crate::audit::{AuditRoom, JsonLines};
use crate::bindings::dunlin::tool::types;
use crate::call::Action;
use crate::ceiling::Ceiling;
use crate::egress::{Egress, SiteHeaders};
use crate::embedding::Embedder;
use crate::engine::clock::Clock;
use crate::engine::limiter::Limiter;
use crate::limits;
use crate::notices::Notices;
use crate::permission::{Permissions, PluginId};
use crate::process::Cage;
use crate::search::{SearchOptions, Window};
use crate::target::Need;
use crate::undo::Journal;

/// Which function of the guest is running: it decides what imports work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing works.
    Describe,
    /// Only `log` works.
    Prepare,
    /// Everything works, each use checked.
    Run,
}

/// What all calls of a host share.
pub(crate) struct Shared {
    pub(crate) permissions: Permissions,
    pub(crate) audit: JsonLines,
    pub(crate) log: JsonLines,
    pub(crate) session: RwLock<Arc<str>>,
    pub(crate) history: HistoryBook,
    pub(crate) undo: Journal,
    /// Where plugins keep what is theirs.
    pub(crate) stores: std::path::PathBuf,
    /// Which turn it is, counted from the time at which the host was made: a session may be gone on with, and
    /// its turns are not those of the last time.
    pub(crate) turn: AtomicU64,
    pub(crate) commands: CommandOptions,
    /// What the user is to know, and no call is left to tell.
    pub(crate) notices: Notices,
    /// The way out.
    pub(crate) egress: Egress,
    /// The user's own headers for certain sites.
    pub(crate) sites: Arc<SiteHeaders>,
    /// The search engine.
    pub(crate) search: SearchOptions,
    pub(crate) searches: Mutex<Window>,
    /// The model of meaning.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// What commands run in, once that was found out.
    pub(crate) cage: OnceCell<Result<Cage, String>>,
}

impl Shared {
    /// The id of the session, for the audit log.
    pub(crate) fn session(&self) -> Arc<str> {
        let session = self.session.read();
        Arc::clone(&session.unwrap_or_else(PoisonError::into_inner))
    }

    /// Another session begins.
    pub(crate) fn set_session(&self, id: &str) {
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        *session = id.into();
    }
}

/// Everything that belongs to one call. Lives in the store and goes with it.
pub(crate) struct CallState {
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
    /// What the plan declared.
    pub(crate) declared: Vec<Need>,
    pub(crate) plugin: Arc<PluginId>,
    /// What the plugin says that it may ever ask for.
    pub(crate) ceiling: Option<Arc<Ceiling>>,
    pub(crate) ask: Option<Arc<dyn Ask>>,
    pub(crate) progress: Option<Arc<dyn Progress>>,
    pub(crate) clock: Clock,
    pub(crate) table: ResourceTable,
    pub(crate) limiter: Limiter,
    pub(crate) messages: log::Messages,
    pub(crate) progressed: chat::Throttle,
    questions: usize,
    /// Questions for a text.
    text_questions: usize,
    /// Prompts for the chat's model.
    prompts: usize,
    /// Questions to the model of meaning.
    embeddings: usize,
    uses: Vec<Use>,
    /// What is left for it of the audit log.
    pub(crate) audit_room: AuditRoom,
    /// What was decided last about each need, so that a repetition is counted and not logged again.
    decided: HashMap<Need, Noted>,
    /// How many commands were started.
    pub(crate) commands: usize,
    /// How many requests were sent over the web.
    pub(crate) fetches: usize,
    /// The line of the command that was decided about last, for the audit log.
    pub(crate) line: Option<String>,
    /// What the user should see beside the call although it completed.
    pub(crate) note: Option<String>,
    /// Whether the command that ended last has failed.
    pub(crate) has_failed: bool,
    /// The question that the user answered with no, of several the last.
    pub(crate) refused: Option<String>,
    /// With what it wants to be run once more, while nobody waits.
    pub(crate) go_on: Option<String>,
    /// The line to its server, in a bridge.
    pub(crate) line_to_server: Option<mcp::ServerLine>,
    /// What a component made for WASI believes to run on.
    pub(crate) machine: wasi::Machine,
    /// Whether the end stands in the audit log.
    closed: bool,
}

/// Ends a plugin that wants to learn something in `describe`: what it says there has to be the same
/// everywhere, since it is kept.
#[derive(Debug, thiserror::Error)]
#[error("used an import in describe")]
pub(crate) struct UsedInDescribe;

impl Drop for CallState {
    fn drop(&mut self) {
        if self.phase == Phase::Run && !self.closed {
            // The call is over either way; nothing more happens that would have to be logged.
            let _ = self.close(Some("cancelled"));
        }
    }
}

impl CallState {
    pub(crate) fn new(
        shared: Arc<Shared>,
        phase: Phase,
        call: &str,
        tool: &str,
        plugin: Arc<PluginId>,
        clock: Clock,
        limiter: Limiter,
    ) -> CallState {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits::MAX_HANDLES);
        CallState {
            session: shared.session(),
            shared,
            phase,
            call: call.to_owned(),
            tool: tool.to_owned(),
            arguments: Value::Null,
            actions: Vec::new(),
            declared: Vec::new(),
            plugin,
            ceiling: None,
            ask: None,
            progress: None,
            clock,
            table,
            limiter,
            messages: log::Messages::default(),
            progressed: chat::Throttle::default(),
            questions: 0,
            text_questions: 0,
            prompts: 0,
            embeddings: 0,
            uses: Vec::new(),
            audit_room: AuditRoom::new(limits::MAX_AUDIT_BYTES),
            decided: HashMap::new(),
            commands: 0,
            fetches: 0,
            line: None,
            note: None,
            has_failed: false,
            refused: None,
            go_on: None,
            line_to_server: None,
            machine: wasi::Machine::default(),
            closed: false,
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
}

/// Wires every interface into a linker. One line for each.
pub(crate) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    use crate::bindings::dunlin::tool;
    tool::files::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    tool::process::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    tool::web::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    tool::search::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    tool::tree::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    tool::store::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    tool::background::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    tool::embedding::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    tool::log::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    tool::chat::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    tool::mcp::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    Ok(())
}
