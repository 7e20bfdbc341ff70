//! What guests can reach, and the one function that decides whether they may.
//!
//! Each ability is one interface of the contract and one module here. Every function that touches
//! something outside the sandbox resolves its target, calls [`CallState::authorise`], and only then
//! acts, on exactly what was authorised: there is no other way to a file, an address or a program.

pub(crate) mod background;
pub(crate) mod chat;
pub(crate) mod edit;
pub(crate) mod embedding;
pub(crate) mod files;
pub(crate) mod lines;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod open;
pub(crate) mod process;
pub(crate) mod sampling;
pub(crate) mod search;
pub(crate) mod store;
pub(crate) mod tree;
pub(crate) mod wasi;
pub(crate) mod web;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde_json::Value;
use tokio::sync::OnceCell;
use wasmtime::component::{HasSelf, Linker, ResourceTable};

use crate::CommandOptions;
use crate::HistoryBook;
use crate::Progress;
use crate::ask::{Ask, Origin, Question, Scope};
use crate::audit::{self, Event, JsonLines, Record};
use crate::bindings::dunlin::tool::types;
use crate::call::Action;
use crate::ceiling::Ceiling;
use crate::display;
use crate::egress::{Egress, SiteHeaders};
use crate::embedding::Embedder;
use crate::engine::clock::Clock;
use crate::engine::limiter::Limiter;
use crate::limits;
use crate::permission::{Caller, Decision, Permissions, PluginId, Rule, Verdict};
use crate::process::Cage;
use crate::resolve::ResolveError;
use crate::search::{SearchOptions, Window};
use crate::target::{Need, Operation};
use crate::undo::Journal;

/// What a host function answers instead of a value.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The guest is told and goes on.
    Guest(types::Error),
    /// The guest ends here.
    Trap(wasmtime::Error),
}

impl From<types::Error> for Refusal {
    fn from(error: types::Error) -> Self {
        Refusal::Guest(error)
    }
}

impl From<wasmtime::Error> for Refusal {
    fn from(error: wasmtime::Error) -> Self {
        Refusal::Trap(error)
    }
}

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

/// What was done with one target under one rule and does not stand in the audit log yet.
struct Use {
    target: String,
    operation: Operation,
    times: u64,
    /// Shared with the streams that were made under it.
    bytes: Arc<AtomicU64>,
}

/// A decision that stands in the audit log.
struct Noted {
    rule: String,
    /// `None`: it was denied.
    under: Option<UseId>,
}

/// The number of a [`Use`], kept by whoever acts under it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UseId(usize);

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
            decided: HashMap::new(),
            commands: 0,
            fetches: 0,
            line: None,
            note: None,
            refused: None,
            go_on: None,
            line_to_server: None,
            machine: wasi::Machine::default(),
            closed: false,
        }
    }

    /// Decides whether this call may use a target, at the moment of use, and asks where nothing is
    /// decided. Returns only when the use is allowed and logged.
    ///
    /// `written` is the target in the guest's own words: the refusal says no more than the guest knew.
    /// While the user is being asked the clock of the call stands. Dropping the future withdraws the
    /// question.
    pub(crate) async fn authorise(
        &mut self,
        need: Need,
        written: types::Target,
    ) -> Result<UseId, Refusal> {
        let what = format!("{} '{}'", need.operation.verb(), need.target);
        self.authorise_saying(need, written, &what).await
    }

    /// The same, with the use in words: `what` follows "now wants to".
    pub(crate) async fn authorise_saying(
        &mut self,
        need: Need,
        written: types::Target,
        what: &str,
    ) -> Result<UseId, Refusal> {
        let decision = self.decide(&need)?;
        let (allowed, rule) = match decision.verdict {
            Verdict::Allow => (true, decision.rule.to_string()),
            Verdict::Deny => (false, decision.rule.to_string()),
            Verdict::Ask => {
                let needs = vec![need.clone()];
                self.ask_undeclared(what, &written, needs, Vec::new(), &decision.rule)
                    .await?
            }
        };
        self.note(need, written, allowed, rule)
    }

    /// Decides about several needs of one use: all of them are allowed, and asked about in one question, or none is.
    ///
    /// `what` is the use in words and follows "now wants to". The answers stand in the order of the needs.
    async fn authorise_together(
        &mut self,
        needs: Vec<Need>,
        written: &str,
        what: &str,
    ) -> Result<Vec<UseId>, Refusal> {
        let written = types::Target::Path(written.to_owned());
        let mut open = Vec::new();
        let mut asking = None;
        for need in &needs {
            let decision = self.decide(need)?;
            match decision.verdict {
                Verdict::Allow => {}
                Verdict::Deny => {
                    let rule = decision.rule.to_string();
                    self.note(need.clone(), written.clone(), false, rule)?;
                }
                Verdict::Ask => {
                    asking.get_or_insert(decision.rule);
                    open.push(need.clone());
                }
            }
        }
        let answer = match &asking {
            None => None,
            Some(rule) => {
                let needs = open.clone();
                Some(
                    self.ask_undeclared(what, &written, needs, Vec::new(), rule)
                        .await?,
                )
            }
        };
        let mut under = Vec::with_capacity(needs.len());
        for need in needs {
            let written = written.clone();
            under.push(match &answer {
                Some((allowed, rule)) if open.contains(&need) => {
                    self.note(need, written, *allowed, rule.clone())?
                }
                _ => self.authorise(need, written).await?,
            });
        }
        Ok(under)
    }

    /// What holds for a need of this call.
    pub(crate) fn decide(&self, need: &Need) -> Result<Decision, Refusal> {
        let caller = self.caller(self.declared.contains(need));
        self.shared
            .permissions
            .decide(&caller, need)
            .map_err(|e| host_failed(&e))
    }

    /// This call, for the permission store.
    pub(crate) fn caller(&self, declared: bool) -> Caller<'_> {
        Caller {
            call: &self.call,
            tool: &self.tool,
            plugin: &self.plugin,
            declared,
            ceiling: self.ceiling.as_deref(),
        }
    }

    /// Writes a decision into the audit log, once as long as it stays the same. Returns only when the use
    /// is allowed.
    fn note(
        &mut self,
        need: Need,
        written: types::Target,
        allowed: bool,
        rule: String,
    ) -> Result<UseId, Refusal> {
        let operation = need.operation;
        let refusal = || {
            Refusal::Guest(types::Error::Denied(types::Need {
                target: written.clone(),
                operation: operation.into(),
            }))
        };
        if let Some(noted) = self.decided.get(&need)
            && noted.rule == rule
            && noted.under.is_some() == allowed
        {
            if let Some(entry) = noted.under.and_then(|under| self.uses.get_mut(under.0)) {
                entry.times += 1;
            }
            return noted.under.ok_or_else(refusal);
        }
        if self.decided.len() == limits::MAX_TARGETS {
            return Err(types::Error::TooLarge(format!(
                "this call has touched {} files, folders and addresses; no more are possible",
                limits::MAX_TARGETS
            ))
            .into());
        }
        let target = need.target.to_string();
        let event = if allowed {
            Event::Allowed
        } else {
            Event::Denied
        };
        self.shared
            .audit
            .append(&[self.record(event, Some((&target, operation)), Some(&rule))])
            .map_err(|e| host_failed(&e))?;
        let under = allowed.then(|| {
            self.uses.push(Use {
                target,
                operation,
                times: 1,
                bytes: Arc::default(),
            });
            UseId(self.uses.len() - 1)
        });
        self.decided.insert(need, Noted { rule, under });
        under.ok_or_else(refusal)
    }

    /// Counts bytes that went through a use.
    pub(crate) fn count(&mut self, of: UseId, bytes: usize) {
        if let Some(entry) = self.uses.get(of.0) {
            entry.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Counts something that was done under a use once more.
    pub(crate) fn count_again(&mut self, of: UseId, bytes: usize) {
        if let Some(entry) = self.uses.get_mut(of.0) {
            entry.times += 1;
            entry.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Counts the bytes of a use for whoever cannot reach the call.
    fn meter(&self, of: UseId) -> Arc<AtomicU64> {
        let entry = self.uses.get(of.0);
        entry.map_or_else(Arc::default, |entry| Arc::clone(&entry.bytes))
    }

    /// Writes a use into the audit log at once: it has changed something, and must be known even if the
    /// call is dropped in the next moment.
    fn log_use(&mut self, of: UseId) -> Result<(), Refusal> {
        let Some(entry) = self.uses.get_mut(of.0) else {
            return Ok(());
        };
        let used = Use {
            target: entry.target.clone(),
            operation: entry.operation,
            times: std::mem::take(&mut entry.times),
            bytes: Arc::new(entry.bytes.swap(0, Ordering::Relaxed).into()),
        };
        self.shared
            .audit
            .append(&[self.used(&used)])
            .map_err(|e| host_failed(&e))
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

    /// Writes what was used and how the call ended. Dropping a run that was not closed is a cancellation.
    pub(crate) fn close(&mut self, error: Option<&str>) -> Result<(), audit::AuditError> {
        self.closed = true;
        let duration_us = u64::try_from(self.clock.spent().as_micros()).ok();
        let mut records: Vec<Record<'_>> = self
            .uses
            .iter()
            .filter(|entry| entry.times > 0 || entry.bytes.load(Ordering::Relaxed) > 0)
            .map(|entry| self.used(entry))
            .collect();
        records.push(Record {
            duration_us,
            error,
            ..self.record(Event::Ended, None, None)
        });
        self.shared.audit.append(&records)
    }

    /// Asks in the host's own words about something that the tool did not declare, and remembers the answer.
    async fn ask_undeclared(
        &mut self,
        what: &str,
        written: &types::Target,
        needs: Vec<Need>,
        actions: Vec<Action>,
        rule: &Rule,
    ) -> Result<(bool, String), Refusal> {
        let Some(ask) = self.ask.clone().filter(|ask| ask.is_attended()) else {
            if let Some(ask) = &self.ask {
                ask.went_unasked(&needs);
            }
            return Ok((false, format!("{rule}; {}", crate::NOBODY)));
        };
        // The call ends as refused, whatever it does now: nobody needs to be asked again.
        if self.refused.is_some() {
            return Ok((false, format!("{rule}; refused in this call before")));
        }
        if self.questions >= limits::MAX_UNDECLARED_QUESTIONS {
            return Ok((
                false,
                format!(
                    "{rule}; this call has asked {} times already",
                    self.questions
                ),
            ));
        }
        self.questions += 1;
        let has_network = self.shared.commands.network;
        let mut longest = Scope::Always;
        let mut warnings = notices(rule);
        for action in &actions {
            if let Action::Command(command) = action {
                longest = longest.min(command.longest(has_network));
                warnings.extend(command.notices(has_network));
            }
        }
        let question = Question {
            call: self.call.clone(),
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            wording: format!(
                "{} now wants to {what}, which it did not say before. Allow?",
                self.tool
            ),
            needs: needs.clone(),
            actions,
            notices: warnings,
            longest,
            origin: Origin::Undeclared,
        };
        let answer = {
            let _standing = self.clock.pause();
            ask.ask(question).await.at_most(longest)
        };
        if !answer.allow {
            // In the guest's own words: the model hears no more than the guest knew.
            let verb = needs.first().map_or("use", |need| need.operation.verb());
            self.refused = Some(format!(
                "{} wanted to {verb} '{}'",
                self.tool,
                crate::display::escape(written_text(written))
            ));
        }
        self.shared
            .permissions
            .remember(&self.call, &self.plugin, &needs, answer)
            .map_err(|e| host_failed(&e))?;
        Ok((answer.allow, crate::describe_answer(answer)))
    }

    fn used<'a>(&'a self, entry: &'a Use) -> Record<'a> {
        Record {
            times: (entry.times > 1).then_some(entry.times),
            bytes: Some(entry.bytes.load(Ordering::Relaxed)),
            ..self.record(Event::Used, Some((&entry.target, entry.operation)), None)
        }
    }

    fn record<'a>(
        &'a self,
        event: Event,
        need: Option<(&'a str, Operation)>,
        rule: Option<&'a str>,
    ) -> Record<'a> {
        Record {
            time: audit::now(),
            session: &self.session,
            call: &self.call,
            tool: &self.tool,
            plugin: &self.plugin.name,
            digest: &self.plugin.digest,
            event,
            target: need.map(|(target, _)| target),
            operation: need.map(|(_, operation)| operation.verb()),
            rule,
            times: None,
            bytes: None,
            duration_us: None,
            error: None,
            line: match need {
                Some((_, Operation::Execute)) => self.line.as_deref(),
                _ => None,
            },
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

/// What the user should know before answering, if the rule that asks says something of importance.
pub(crate) fn notices(rule: &Rule) -> Vec<String> {
    match rule {
        Rule::Secret => vec!["This file usually holds secrets.".into()],
        Rule::OutsideProject => vec!["It lies outside the project.".into()],
        Rule::ThisMachine => vec!["This is a server on this machine, not on the internet.".into()],
        Rule::PrivateNetwork => {
            vec!["This is an address of a private network, not of the internet.".into()]
        }
        Rule::PluginChanged { default, .. } => {
            let mut notices = notices(default);
            notices.push("You allowed this before, to an earlier version of the plugin.".into());
            notices
        }
        _ => Vec::new(),
    }
}

impl types::Host for CallState {
    fn convert_error(&mut self, refusal: Refusal) -> wasmtime::Result<types::Error> {
        match refusal {
            Refusal::Guest(error) => Ok(error),
            Refusal::Trap(error) => Err(error),
        }
    }
}

impl From<Operation> for types::Operation {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Read => types::Operation::Read,
            Operation::Write => types::Operation::Write,
            Operation::Execute => types::Operation::Execute,
        }
    }
}

impl From<types::Operation> for Operation {
    fn from(operation: types::Operation) -> Self {
        match operation {
            types::Operation::Read => Operation::Read,
            types::Operation::Write => Operation::Write,
            types::Operation::Execute => Operation::Execute,
        }
    }
}

impl From<ResolveError> for Refusal {
    fn from(error: ResolveError) -> Self {
        let text = chain(&error);
        Refusal::Guest(match error {
            ResolveError::Io { .. } => types::Error::Failed(text),
            ResolveError::Program { .. } => types::Error::NotFound(text),
            _ => types::Error::Invalid(text),
        })
    }
}

/// The host's own trouble, as the guest is told.
fn host_failed(error: &dyn std::error::Error) -> Refusal {
    types::Error::Failed(chain(error)).into()
}

/// An error and its causes in one line, for places that take one string.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// A path as guests are told of it: theirs to write, so escaped like everything they could forge.
pub(crate) fn shown(path: &Path) -> String {
    display::escape(&path.to_string_lossy()).into_owned()
}

/// A target as the guest wrote it.
fn written_text(target: &types::Target) -> &str {
    match target {
        types::Target::Path(text) | types::Target::Url(text) | types::Target::Program(text) => text,
    }
}
