//! Hooks: commands that the user has configured to run before a call, after an edit and at the end of a turn.
//!
//! All calls of models, of clients of the MCP server and of the user pass through [`Host::prepare`](crate::Host::prepare) and
//! [`Host::run`](crate::Host::run), so their hooks are run there, and no path of a call can miss them. A hook may only narrow
//! what is allowed: it can deny a call, and nothing that it answers replaces a question or a rule.
//!
//! A hook runs in the command sandbox (`run`). What it reads and answers is in `contract`; what it changes in files that were
//! just edited belongs to the edit (`rewritten`, `ended`).

mod contract;
mod ended;
mod hook;
mod pinned;
mod rewritten;
mod run;
mod runs;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use tokio::sync::watch;

pub use self::contract::TurnOutcome;
use self::contract::{About, Input, Planned, denial, edited, message, planned};
use self::ended::Ended;
pub use self::hook::{Hook, HookEvent};
pub use self::pinned::{HookPlaces, Pinned, pins};
pub use self::runs::{Ran, Runs, Slow};
use self::runs::{SlowHookListener, SlowHooks};
use crate::Progress;
use crate::call::{Call, Failure, Outcome, Plan};
use crate::capability::Shared;
use crate::display::{one_line, shorten};
use crate::engine::cache::sha256_hex;

/// Characters of what a hook says that the user is shown.
const MAX_SHOWN_CHARS: usize = 300;

/// The hooks of a host.
pub(crate) struct Hooks {
    shared: Arc<Shared>,
    all: Vec<Counted>,
    state: Mutex<State>,
    slow: SlowHooks,
}

/// A hook, and how often it ran.
struct Counted {
    hook: Hook,
    runs: Mutex<Runs>,
}

impl Counted {
    fn begins(&self) {
        let mut runs = self.runs.lock();
        runs.count += 1;
        runs.last = None;
    }

    fn ends(&self, ran: Ran) {
        self.runs.lock().last = Some(ran);
    }
}

#[derive(Default)]
struct State {
    /// The calls that no hook denies, by their ids.
    passed: HashMap<String, Passed>,
    /// How often a call has begun or ended: what hooks look at may be different after each.
    moves: u64,
    /// How calls ended whose hooks were interrupted, by their ids.
    interrupted: HashMap<String, Outcome>,
}

/// A call that runs: its end counts, however it comes.
pub(crate) struct Begun<'a>(&'a Hooks);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.state.lock().moves += 1;
    }
}

/// What a hook says after something.
struct HookMessage {
    /// For the user: the beginning of it, or why the hook has failed.
    line: String,
    /// All of it; `None`: the hook has failed.
    message: Option<String>,
}

/// What no hook denied.
struct Passed {
    /// The digest of the tool, the arguments and the files.
    form: String,
    /// How often calls had begun or ended when the hooks were asked.
    moves: u64,
}

impl Hooks {
    pub(crate) fn new(shared: Arc<Shared>, all: Vec<Hook>) -> Hooks {
        let counted = |hook| Counted {
            hook,
            runs: Mutex::default(),
        };
        Hooks {
            shared,
            all: all.into_iter().map(counted).collect(),
            state: Mutex::default(),
            slow: SlowHooks::default(),
        }
    }

    /// Learns of each hook that takes longer than a moment while no call runs.
    pub(crate) fn slow(&self) -> watch::Receiver<Vec<Slow>> {
        self.slow.subscribe()
    }

    /// The hooks, in the order in which they run, and how often they did.
    pub(crate) fn list(&self) -> Vec<(Hook, Runs)> {
        let hooks = self.all.iter();
        hooks
            .map(|one| (one.hook.clone(), one.runs.lock().clone()))
            .collect()
    }

    /// Asks the hooks about a call that is being prepared: whoever is asked about it afterwards need not be asked in vain.
    ///
    /// # Errors
    /// A hook denies the call, or has failed.
    pub(crate) async fn before_question(&self, call: &Call, plan: &Plan) -> Result<(), Failure> {
        let files = planned(plan);
        let form = form_of(call, &files);
        if self.state.lock().has_passed(call, &form, None) {
            return Ok(());
        }
        let listener = SlowHookListener::Listeners(Some(&call.id));
        self.ask(call, files, form, listener).await
    }

    /// The same for a call that begins to run. Hooks that were asked before are asked again where another call has begun or
    /// ended since: what they look at may be different.
    ///
    /// # Errors
    /// As above.
    pub(crate) async fn before_run(
        &self,
        call: &Call,
        plan: &Plan,
        progress: &dyn Progress,
    ) -> Result<Begun<'_>, Failure> {
        let files = planned(plan);
        let form = form_of(call, &files);
        if let Some(begun) = self.begin_passed(call, &form) {
            return Ok(begun);
        }
        let listener = SlowHookListener::Call(progress, &call.id);
        self.ask(call, files, form, listener).await?;
        self.state.lock().moves += 1;
        Ok(Begun(self))
    }

    /// Begins a call that nothing has to be asked about any more.
    fn begin_passed(&self, call: &Call, form: &str) -> Option<Begun<'_>> {
        let mut state = self.state.lock();
        let moves = state.moves;
        // Under one lock: no other call begins between the look and the count.
        state.has_passed(call, form, Some(moves)).then(|| {
            state.moves += 1;
            Begun(self)
        })
    }

    async fn ask(
        &self,
        call: &Call,
        files: Vec<Planned<'_>>,
        form: String,
        listener: SlowHookListener<'_>,
    ) -> Result<(), Failure> {
        let mut hooks = self.of(HookEvent::BeforeCall, &call.tool).peekable();
        if hooks.peek().is_none() {
            return Ok(());
        }
        let moves = self.state.lock().moves;
        for one in hooks {
            let about = About::Call {
                call: &call.id,
                tool: &call.tool,
                arguments: &call.arguments,
                files: files.clone(),
            };
            let hook = &one.hook;
            let printed = self.run(one, Some(call), about, listener).await;
            let answer = printed.and_then(|printed| denial(&printed).map_err(|e| e.to_string()));
            let (ran, reason) = match answer {
                Ok(None) => {
                    one.ends(Ran::Well);
                    continue;
                }
                Ok(Some(reason)) => (Ran::Denied, reason),
                // Whoever guards something with a hook does not want it to be open where the hook is broken.
                Err(problem) => {
                    let reason = format!("it failed ({}): {problem}", hook.place());
                    (Ran::Failed(problem), reason)
                }
            };
            one.ends(ran);
            self.log_denial(hook, call, &reason)?;
            let hook = hook.name();
            return Err(Failure::Hook { hook, reason });
        }
        let passed = Passed { form, moves };
        let mut state = self.state.lock();
        state.passed.insert(call.id.clone(), passed);
        Ok(())
    }

    /// Runs the hooks about what a call has changed in files. What they say and change becomes part of the outcome.
    pub(crate) async fn after_run(
        &self,
        call: &Call,
        outcome: &mut Outcome,
        progress: &dyn Progress,
    ) {
        let mut hooks = self.of(HookEvent::AfterEdit, &call.tool).peekable();
        if outcome.edits.is_empty() || hooks.peek().is_none() {
            return;
        }
        let mut ended = Ended::new(self, call, outcome);
        for one in hooks {
            ended.begins(&one.hook);
            let about = About::Edits {
                call: &call.id,
                tool: &call.tool,
                files: edited(&ended.outcome.edits),
            };
            let listener = SlowHookListener::Call(progress, &call.id);
            let said = self.say(one, Some(call), about, listener).await;
            let message = said.as_ref().and_then(|said| said.message.as_deref());
            ended.ends(message);
            if let Some(said) = said {
                self.notice(said.line);
            }
        }
    }

    /// Runs the hooks at the end of a turn; what they say, a line each, for the user.
    pub(crate) async fn turn_ended(&self, outcome: TurnOutcome) -> Vec<String> {
        let mut lines = Vec::new();
        let all = self.all.iter();
        for one in all.filter(|one| one.hook.event == HookEvent::TurnEnd) {
            let about = About::Turn { outcome };
            let said = self
                .say(one, None, about, SlowHookListener::Listeners(None))
                .await;
            lines.extend(said.map(|said| said.line));
        }
        lines
    }

    /// Whether any hook runs then.
    pub(crate) fn has(&self, event: HookEvent) -> bool {
        self.all.iter().any(|one| one.hook.event == event)
    }

    /// Forgets what was found out about a call. How it ended, if hooks were interrupted after that.
    pub(crate) fn forget_call(&self, call: &str) -> Option<Outcome> {
        let mut state = self.state.lock();
        state.passed.remove(call);
        state.interrupted.remove(call)
    }

    fn of(&self, event: HookEvent, tool: &str) -> impl Iterator<Item = &Counted> {
        let all = self.all.iter();
        all.filter(move |one| one.hook.is_about(event, tool))
    }

    /// Runs a hook about something that has happened. `None`: it says nothing.
    async fn say(
        &self,
        one: &Counted,
        call: Option<&Call>,
        about: About<'_>,
        listener: SlowHookListener<'_>,
    ) -> Option<HookMessage> {
        let printed = self.run(one, call, about, listener).await;
        let said = printed.and_then(|printed| message(&printed).map_err(|e| e.to_string()));
        one.ends(match &said {
            Ok(_) => Ran::Well,
            Err(problem) => Ran::Failed(problem.clone()),
        });
        let hook = &one.hook;
        let line = |what: &str, text: &str| {
            let text = one_line(text);
            let text = shorten(&text, MAX_SHOWN_CHARS);
            format!("the hook `{}` {what}: {text}", hook.name())
        };
        let (line, message) = match said {
            Ok(message) => (line("says", message.as_ref()?), message),
            Err(problem) => {
                let failed = format!("failed ({})", hook.place());
                (line(&failed, &problem), None)
            }
        };
        Some(HookMessage { line, message })
    }

    /// Runs a hook; what it printed, or why it failed.
    async fn run(
        &self,
        one: &Counted,
        call: Option<&Call>,
        about: About<'_>,
        listener: SlowHookListener<'_>,
    ) -> Result<Vec<u8>, String> {
        one.begins();
        let hook = &one.hook;
        let session = self.shared.session();
        let turn = self.shared.turn.load(Ordering::Relaxed);
        let project = self.shared.permissions.project();
        let input = Input::new(hook.event, (&session, turn), project, about);
        let input = input.to_bytes().map_err(|e| e.to_string())?;
        // Boxed: what holds this future would hold all of a command otherwise.
        let run = Box::pin(self.run_command(hook, call, &input));
        self.slow.notifying(hook, listener, run).await
    }

    fn notice(&self, notice: String) {
        self.shared.notices.push(notice);
    }
}

impl State {
    /// Whether no hook denies this call as it is; `moves`: and none has begun or ended since.
    fn has_passed(&self, call: &Call, form: &str, moves: Option<u64>) -> bool {
        let passed = self.passed.get(&call.id);
        passed.is_some_and(|it| it.form == form && moves.is_none_or(|moves| it.moves == moves))
    }
}

/// What hooks were asked about, as a digest.
fn form_of(call: &Call, files: &[Planned<'_>]) -> String {
    let paths: Vec<&str> = files.iter().map(Planned::path).collect();
    let form = serde_json::json!([call.tool, call.arguments, paths]);
    sha256_hex(form.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn hook(event: HookEvent, tools: &[&str]) -> Hook {
        Hook {
            event,
            command: "check".to_owned(),
            tools: Some(tools.iter().map(|&tool| tool.to_owned()).collect()),
            time_limit: std::time::Duration::from_secs(1),
            origin: String::new(),
            pinned: Vec::new(),
        }
    }

    #[test]
    fn tools_are_chosen_by_name_or_by_how_they_begin() {
        let check = |tools: &[&str], tool: &str, expected: bool| {
            let hook = hook(HookEvent::BeforeCall, tools);
            let is_about = hook.is_about(HookEvent::BeforeCall, tool);
            assert_eq!(is_about, expected, "{tools:?} {tool}");
            assert!(!hook.is_about(HookEvent::AfterEdit, tool));
        };
        let all = Hook {
            tools: None,
            ..hook(HookEvent::BeforeCall, &[])
        };
        assert!(all.is_about(HookEvent::BeforeCall, "edit_file"));
        check(&[], "edit_file", false);
        check(&["edit_file"], "edit_file", true);
        check(&["edit_file"], "edit_files", false);
        check(&["read_file", "github__*"], "github__search", true);
        check(&["read_file", "github__*"], "git__search", false);
        check(&["*"], "anything", true);
    }

    #[test]
    fn a_hook_is_named_by_its_command() {
        let named = |command: &str| {
            let hook = Hook {
                command: command.to_owned(),
                ..hook(HookEvent::TurnEnd, &[])
            };
            hook.name()
        };
        assert_eq!(named("cargo fmt"), "cargo fmt");
        assert_eq!(named("a\n\u{1b}[2J  b"), "a\\n\\u{1b}[2J b");
        assert_eq!(
            named(&"x".repeat(500)).chars().count(),
            hook::MAX_NAME_CHARS
        );
    }
}
