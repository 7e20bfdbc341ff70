//! What the user chose for all tools together, until the session ends.
//!
//! `Plan` refuses whatever is more than reading, also what is granted: it stands before every answer and every rule. A command
//! is decided about as otherwise, and runs in a sandbox in which it can write nothing and has no network.
//! `AcceptEdits` answers one of the questions that a default would ask, the one about a change of an ordinary file in the
//! project, and only to the built-in tools that make such changes. It stands behind everything else: every no, every answer
//! and every key of the permission file that names the file is stronger. A file that an allowed command, a hook or an MCP
//! server runs is asked about: its content is what was allowed.

use std::fmt;
use std::path::{Component, Path};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::key::{Decided, Key};
use super::{Caller, Permissions, Rule, SessionAnswer, State, ToolMode};
use crate::command::{Line, state_of};
use crate::target::{CommandKey, Need, Operation, Target};

/// The built-in plugins whose edits are accepted: each changes the text of the files that its call names. What other
/// plugins, servers and apps write is asked about.
const EDITORS: [&str; 2] = ["edit_file", "write_file"];

/// What holds for all tools in this session. The less is allowed, the smaller.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// Nothing is written. Commands run where they can change nothing.
    Plan,
    /// Rules and answers decide.
    #[default]
    Ask,
    /// The same, and edits of ordinary files in the project need no answer.
    AcceptEdits,
}

impl SessionMode {
    /// All of them, in the order in which a key goes through them.
    pub const ALL: [SessionMode; 3] = [
        SessionMode::Ask,
        SessionMode::AcceptEdits,
        SessionMode::Plan,
    ];

    /// The word that a person types for it.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionMode::Plan => "plan",
            SessionMode::Ask => "ask",
            SessionMode::AcceptEdits => "accept-edits",
        }
    }

    /// The one that follows, from the last to the first.
    #[must_use]
    pub fn next(self) -> SessionMode {
        match self {
            SessionMode::Ask => SessionMode::AcceptEdits,
            SessionMode::AcceptEdits => SessionMode::Plan,
            SessionMode::Plan => SessionMode::Ask,
        }
    }
}

impl fmt::Display for SessionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The word is none of the three.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a mode; use ask, accept-edits or plan")]
pub struct SessionModeError(pub String);

impl std::str::FromStr for SessionMode {
    type Err = SessionModeError;

    fn from_str(text: &str) -> Result<SessionMode, SessionModeError> {
        let mut modes = SessionMode::ALL.into_iter();
        let mode = modes.find(|mode| mode.as_str() == text);
        mode.ok_or_else(|| SessionModeError(text.to_owned()))
    }
}

/// Holds the mode of a session. Clones are the same switch: whoever made the host turns it, and the permission store looks at
/// it at each use. Tools and models have no way to it.
#[derive(Debug, Clone)]
pub struct ModeSwitch(Arc<watch::Sender<SessionMode>>);

impl Default for ModeSwitch {
    fn default() -> ModeSwitch {
        ModeSwitch::new(SessionMode::default())
    }
}

impl ModeSwitch {
    /// Begins with a mode.
    pub fn new(mode: SessionMode) -> ModeSwitch {
        ModeSwitch(Arc::new(watch::Sender::new(mode)))
    }

    /// The mode at this moment.
    pub fn get(&self) -> SessionMode {
        *self.0.borrow()
    }

    /// Counts from the next use on, also in calls that are running. Commands that can change something end with the beginning
    /// of [`SessionMode::Plan`].
    pub fn set(&self, mode: SessionMode) {
        self.0.send_replace(mode);
    }

    /// Wakes those who watch for what ends commands.
    pub(super) fn wake(&self) {
        self.0.send_modify(|_| {});
    }
}

/// What is known of a file that is to be changed in a mode that accepts that.
pub(super) struct ToChange {
    /// The digest of what it holds; `None`: that cannot be read.
    content: Option<String>,
    /// Whether a line may run it that is started without a question, whatever the file holds.
    is_run_unasked: bool,
}

impl Permissions {
    /// The mode of the session.
    pub fn session_mode(&self) -> SessionMode {
        self.mode.get()
    }

    /// Becomes ready when the mode changes, or that of a tool.
    pub(crate) fn modes(&self) -> watch::Receiver<SessionMode> {
        self.mode.0.subscribe()
    }

    /// Whether a command that this tool has started is to end. `is_read_only`: it can change nothing, so plan mode leaves it.
    pub(crate) fn ends_commands(&self, tool: &str, is_read_only: bool) -> bool {
        let is_plan_mode = self.mode.get() == SessionMode::Plan;
        is_plan_mode && !is_read_only || self.tool_mode(tool) == ToolMode::Never
    }

    /// The rule that refuses a call of an MCP server's tool as a whole: only the server knows what it does, and what it says
    /// of that counts for nothing.
    pub(crate) fn refusal_of_server(&self, tool: &str) -> Option<Rule> {
        if self.tool_mode(tool) == ToolMode::Never {
            return Some(Rule::ToolNever(tool.to_owned()));
        }
        (self.mode.get() == SessionMode::Plan).then_some(Rule::Plan)
    }

    /// Whether the mode refuses this, whatever allows it.
    pub(super) fn refused_by_mode(&self, need: &Need) -> bool {
        let changes_nothing = match need.target.command() {
            // Its sandbox sees to that. A server has another one.
            Some(command) => !command.is_server(),
            None => need.operation == Operation::Read,
        };
        self.mode.get() == SessionMode::Plan && !changes_nothing
    }

    /// Whether the mode answers the question that this default asks.
    pub(super) fn accepts_edit(
        &self,
        state: &State,
        caller: &Caller<'_>,
        need: &Need,
        default: &Rule,
    ) -> bool {
        *default == Rule::Writing
            && self.may_accept(caller, need)
            && matches!(&need.target, Target::Path(path) if !self.leaves_open(state, path))
    }

    /// The same, as far as nothing depends on what was decided.
    fn may_accept(&self, caller: &Caller<'_>, need: &Need) -> bool {
        let Target::Path(path) = &need.target else {
            return false;
        };
        self.mode.get() == SessionMode::AcceptEdits
            && need.operation == Operation::Write
            && caller.declared
            && caller.plugin.built_in
            && EDITORS.contains(&caller.plugin.name.as_str())
            && is_visible(path, &self.places.project)
            && !self.is_secret(path)
    }

    /// Looks at a file that is to be changed, where the mode may accept that. Blocks for the file system.
    pub(super) fn look_at_change(&self, caller: &Caller<'_>, need: &Need) -> Option<ToChange> {
        let path = need
            .target
            .path()
            .filter(|_| self.may_accept(caller, need))?;
        let may_run = |line: &Line| line.may_run(path, self);
        let is_allowed = |key: &CommandKey| match key {
            CommandKey::Below(folder) => path.starts_with(folder),
            key => Line::of_key(key).as_ref().is_some_and(may_run),
        };
        Some(ToChange {
            content: state_of(path).ok(),
            is_run_unasked: self.run_unasked.iter().any(may_run)
                || self.allowed_by_hand().iter().any(is_allowed),
        })
    }

    /// What a person allowed to run by hand, or with an option of the command line: whatever the files in it hold.
    fn allowed_by_hand(&self) -> Vec<CommandKey> {
        let mut state = self.lock();
        // What cannot be read allows nothing, which the decision finds out, too.
        let _ = self.refresh(&mut state);
        let stored = state.stored.iter().filter(|(_, entry)| {
            entry.bits.get(Operation::Execute) == Decided::Allow
                && !entry.grants.contains_key(&Operation::Execute.into())
        });
        let is_by_hand = |answer: &SessionAnswer| answer.allow && answer.plugin.is_none();
        let session = state.session.iter().filter(|((_, operation), answers)| {
            *operation == Operation::Execute && answers.iter().any(is_by_hand)
        });
        let keys = stored.map(|(key, _)| key);
        let keys = keys.chain(session.map(|((key, _), _)| key));
        let commands = keys.filter_map(|key| match key {
            Key::Command(key) => Some(key.clone()),
            Key::Exact(_) | Key::Below(_) | Key::Url(_) | Key::UrlBelow(_) => None,
        });
        commands.collect()
    }

    /// Whether a command that the user allowed, a hook or a server runs this file as it is: whoever writes it decides what
    /// runs. A yes that has ended, since the file has changed, counts for nothing. `change`: what is known of the file; `None`:
    /// nothing.
    pub(super) fn is_bound(&self, state: &State, need: &Need, change: Option<&ToChange>) -> bool {
        let (Target::Path(path), Some(change)) = (&need.target, change) else {
            return true;
        };
        let stored = state
            .stored
            .values()
            .flat_map(|entry| entry.grants.values());
        let stored = stored.flatten().filter_map(|grant| grant.runs.as_ref());
        let session = state.session.values().flatten();
        let session = session.filter_map(|answer| answer.runs.as_ref());
        let lasting = stored
            .chain(session)
            .filter_map(|runs| runs.files.get(path));
        let once = state.once.values().flat_map(|of_call| of_call.values());
        let once = once.flat_map(|needs| needs.keys());
        let once = once.filter_map(|need| need.target.command()?.contents.get(path));
        let mut bound = lasting.chain(once).peekable();
        let content = change.content.as_ref();
        change.is_run_unasked
            || self.run_by_hooks.contains(path)
            || bound.peek().is_some() && content.is_none_or(|now| bound.any(|before| before == now))
    }

    /// Whether the permission file names the file, or a folder around it in the project, and leaves writing open.
    fn leaves_open(&self, state: &State, path: &Path) -> bool {
        let keys = Key::candidates(&Target::Path(path.to_owned()));
        let names = |key: &Key| match key {
            Key::Exact(path) | Key::Below(path) => path.starts_with(&self.places.project),
            Key::Url(_) | Key::UrlBelow(_) | Key::Command(_) => false,
        };
        let mut named = keys.into_iter().filter(names);
        named.any(|key| {
            let entry = state.stored.get(&key);
            entry.is_some_and(|entry| entry.bits.get(Operation::Write) == Decided::Open)
        })
    }
}

/// Whether neither the file nor a folder of the project that it is in is hidden: what is hidden is settings of programs,
/// git's and Dunlin's own among them, and some of it names what runs by itself.
fn is_visible(path: &Path, project: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(project) else {
        return false;
    };
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.as_encoded_bytes().starts_with(b"."),
        _ => false,
    };
    inside.components().all(is_plain)
}
