//! `process`: commands of the machine.
//!
//! What the user agreed to is a line, so that is what is compared: a command runs as it was declared, or is asked
//! about again, even where it is granted. It is decided about once more at this
//! moment. What the command may then do to files and to the network is [`crate::process`]'s business.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use wasmtime::component::Resource;

use super::context::View;
use super::refusal::Refusal;
use super::resources::{Shown, StartedCommand, UseId};
use super::shared::Shared;
use crate::ask::Origin;
use crate::bindings::declared::DeclaredCommand;
use crate::bindings::dunlin::tool::process::{self, Chunk, End as WireEnd, Source};
use crate::bindings::dunlin::tool::types::{Error, Target as WrittenTarget};
use crate::call::Action;
use crate::command::{CommandError as LineError, CommandLine};
use crate::display::chain;
use crate::limits::{MAX_COMMANDS, MAX_SHOWN_OUTPUT_BYTES, PROGRESS_PERIOD};
use crate::permission::{Rule, SessionMode, Verdict};
use crate::process::{CommandError, End, Running, Stream, linked_worktree};

/// The key that changes the mode passes through plan mode. Longer than this is a choice.
const PASSING_THROUGH: Duration = Duration::from_secs(1);

/// How often what a command runs may change while the user is asked about it.
const MOST_CHANGES: usize = 3;

/// The commands of a call.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    started: usize,
    /// What the user should see beside the call although it completed.
    pub(crate) note: Option<String>,
    /// Whether the one that ended last has failed.
    pub(crate) has_failed: bool,
}

impl Shown {
    /// Takes output over; of what nobody saw yet only the end is kept.
    fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(MAX_SHOWN_OUTPUT_BYTES)..];
        self.waiting.extend_from_slice(bytes);
        let more = self.waiting.len().saturating_sub(MAX_SHOWN_OUTPUT_BYTES);
        self.waiting.drain(..more);
    }

    /// When what waits may be shown.
    fn due(&self) -> Option<Instant> {
        let now = Instant::now();
        let due = self.last.map_or(now, |last| last + PROGRESS_PERIOD);
        (!self.waiting.is_empty()).then_some(due)
    }
}

impl process::Host for View<'_, Commands> {
    async fn start(
        &mut self,
        written: Resource<DeclaredCommand>,
    ) -> Result<Resource<StartedCommand>, Refusal> {
        let written = self.context.take_command(written)?;
        self.only_in_run()?;
        if self.own.started == MAX_COMMANDS {
            return Err(Error::TooLarge(format!(
                "this call has started {MAX_COMMANDS} commands; no more are possible"
            ))
            .into());
        }
        self.own.started += 1;
        let shared = Arc::clone(&self.shared);
        let (line, network) = (written.line, written.network);
        let read = || CommandLine::read(line.clone(), network, &shared.permissions);
        let mut command = read()?;
        let mut under = self.authorise_command(&command).await?;
        // What was decided about is what starts, whatever was written while a question stood.
        for _ in 0..MOST_CHANGES {
            let now = read()?;
            if now == command {
                break;
            }
            command = now;
            under = self.authorise_command(&command).await?;
        }
        if read()? != command {
            return Err(Error::Failed(
                "what the command runs changed again and again while it was decided about".into(),
            )
            .into());
        }
        let options = &self.shared.commands;
        let permissions = &self.shared.permissions;
        // Still the one that was decided about.
        let worktree = linked_worktree(permissions.project())
            .filter(|it| command.repository_elsewhere.as_ref() == Some(&it.repository));
        let access = permissions.access_of_commands(options, worktree.as_ref());
        let mut access = access.map_err(|e| Error::Failed(chain(&e)))?;
        access.may_change_repository = command.may_change_repository;
        let announced = self
            .shared
            .announced_sandbox()
            .await
            .map_err(|e| Error::Failed(chain(&e)))?;
        let is_read_only = command.is_read_only;
        if is_read_only {
            access = access.read_only();
        }
        let network = !is_read_only && (command.network || options.network);
        let line = command.line;
        let running = Running::start(
            options,
            &announced,
            line,
            network,
            access,
            &self.shared.notices,
        );
        let running = running.await?;
        self.log_use(under)?;
        let started = StartedCommand {
            _watch: watch_over(&running, &self.shared, &self.caller.tool, is_read_only)?,
            running,
            under,
            shown: Shown::default(),
            left_behind: Vec::new(),
            is_told: false,
        };
        // At most a handful of handles: see above.
        let handle = self
            .handles
            .table
            .push(started)
            .map_err(wasmtime::Error::from)?;
        Ok(handle)
    }
}

/// What of a command is different from what the plan of its call has shown, as a sentence; `None`: nothing.
fn changed_since(shown: &CommandLine, now: &CommandLine, project: &Path) -> Option<String> {
    let (before, after) = (&shown.target, &now.target);
    if before == after {
        return None;
    }
    let mut paths = before.contents.keys().chain(after.contents.keys());
    let is_changed = |path: &&PathBuf| before.contents.get(*path) != after.contents.get(*path);
    Some(match paths.find(is_changed) {
        Some(path) => format!(
            "{} has changed since the command was shown.",
            path.strip_prefix(project).unwrap_or(path).display()
        ),
        None => {
            "A name in the command has come to mean something else since it was shown.".to_owned()
        }
    })
}

/// Ends a command as soon as its tool may run none, or none that can change something: nothing is to change any more, whether
/// somebody waits for the command or not.
fn watch_over(
    running: &Running,
    shared: &Arc<Shared>,
    tool: &str,
    is_read_only: bool,
) -> Result<JoinSet<()>, CommandError> {
    let stop = running.stop()?;
    let (shared, tool) = (Arc::clone(shared), tool.to_owned());
    let mut modes = shared.permissions.modes();
    let mut watch = JoinSet::new();
    watch.spawn(async move {
        loop {
            while !shared.permissions.ends_commands(&tool, is_read_only) {
                if modes.changed().await.is_err() {
                    return;
                }
            }
            if is_read_only || shared.permissions.session_mode() != SessionMode::Plan {
                return stop.now("it was stopped: its tool is set to never");
            }
            tokio::time::sleep(PASSING_THROUGH).await;
            if shared.permissions.ends_commands(&tool, is_read_only) {
                return stop.now("it was stopped, since plan mode began");
            }
        }
    });
    Ok(watch)
}

impl process::HostCommand for View<'_, Commands> {
    async fn read(&mut self, handle: Resource<StartedCommand>) -> Result<Option<Chunk>, Refusal> {
        let _paused = self.clock.pause_for_work();
        let progress = self.progress.clone();
        let entry = self
            .context
            .handles
            .table
            .get_mut(&handle)
            .map_err(wasmtime::Error::from)?;
        let read = loop {
            let due = entry.shown.due();
            let flush = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = flush => {
                    entry.shown.last = Some(Instant::now());
                    let bytes = std::mem::take(&mut entry.shown.waiting);
                    if let Some(progress) = &progress {
                        progress.output(&self.context.caller.call, &bytes);
                    }
                }
                read = entry.running.read() => break read?,
            }
        };
        let Some((stream, bytes)) = read else {
            let rest = std::mem::take(&mut entry.shown.waiting);
            if let Some(progress) = progress.as_ref().filter(|_| !rest.is_empty()) {
                progress.output(&self.context.caller.call, &rest);
            }
            let end = entry.running.wait().await;
            let is_read_only = entry.running.is_read_only();
            entry.left_behind.extend(entry.running.take_notices());
            let notices = entry.left_behind.clone();
            let is_told = std::mem::replace(&mut entry.is_told, true);
            self.notify(&notices, is_told);
            self.ended(end?, is_read_only);
            if notices.is_empty() || is_told {
                return Ok(None);
            }
            let lines = notices.iter().map(|notice| format!("\n[Dunlin] {notice}"));
            return Ok(Some(Chunk {
                source: Source::Stderr,
                bytes: lines.collect::<String>().into_bytes(),
            }));
        };
        entry.shown.push(&bytes);
        let under = entry.under;
        self.count(under, bytes.len());
        Ok(Some(Chunk {
            source: match stream {
                Stream::Stdout => Source::Stdout,
                Stream::Stderr => Source::Stderr,
            },
            bytes,
        }))
    }

    async fn wait(&mut self, handle: Resource<StartedCommand>) -> Result<WireEnd, Refusal> {
        let _paused = self.clock.pause_for_work();
        let entry = self
            .context
            .handles
            .table
            .get_mut(&handle)
            .map_err(wasmtime::Error::from)?;
        let end = entry.running.wait().await;
        let is_read_only = entry.running.is_read_only();
        entry.left_behind.extend(entry.running.take_notices());
        let notices = entry.left_behind.clone();
        let is_told = std::mem::replace(&mut entry.is_told, true);
        self.notify(&notices, is_told);
        let end = end?;
        self.ended(end, is_read_only);
        Ok(match end {
            End::Exited(status) => WireEnd::Exited(status),
            End::Killed(signal) => WireEnd::Killed(signal),
            End::TimedOut => WireEnd::TimedOut,
            End::Stopped => return Err(Error::Cancelled.into()),
        })
    }

    async fn drop(&mut self, handle: Resource<StartedCommand>) -> wasmtime::Result<()> {
        self.handles.table.delete(handle)?;
        Ok(())
    }
}

impl View<'_, Commands> {
    /// Decides about a command: as it was declared it needs its programs, otherwise it is shown now.
    async fn authorise_command(&mut self, command: &CommandLine) -> Result<UseId, Refusal> {
        let declared = self.plan.actions.iter().find_map(|action| match action {
            Action::Command(declared) => Some(declared).filter(|declared| {
                declared.line == command.line && declared.network == command.network
            }),
            _ => None,
        });
        let is_declared = declared.is_some();
        let project = self.shared.permissions.project();
        let changed = declared.and_then(|declared| changed_since(declared, command, project));
        let needs = command.needs();
        // In the guest's own words: which programs it comes to is the host's knowledge.
        let written = || WrittenTarget::Program(shortened(&command.line));
        // What was shown is done once.
        let is_first = !self.questions.started.contains(&command.line);
        // The question said that it can change nothing.
        let is_over = declared.is_some_and(|it| it.is_read_only && !command.is_read_only);
        let mut asking = None;
        for need in &needs {
            let decision = self.decide(need)?;
            match decision.verdict {
                Verdict::Deny => {
                    return self.authorise(need.clone(), written()).await;
                }
                Verdict::Allow if is_declared && decision.rule != Rule::Once => {}
                Verdict::Allow if is_declared && is_first && !is_over => {}
                Verdict::Allow if is_over => asking = Some(Rule::PlanModeEnded),
                Verdict::Allow | Verdict::Ask => asking = Some(decision.rule),
            }
        }
        let answer = match asking {
            None => None,
            Some(rule) => {
                let what = match command.network {
                    true => format!("run '{}' with the network", shortened(&command.line)),
                    false => format!("run '{}'", shortened(&command.line)),
                };
                let actions = vec![Action::Command(command.clone())];
                let written = written();
                let origin = match changed {
                    None if !is_declared || !is_first => Origin::Undeclared,
                    _ => Origin::Declared,
                };
                let asked = self.ask_in_call(
                    (origin, &what),
                    &written,
                    needs.clone(),
                    actions,
                    (std::slice::from_ref(&rule), changed),
                );
                Some(asked.await?)
            }
        };
        self.log.line = Some(shortened(&command.line));
        self.questions.started.insert(command.line.clone());
        let mut under = None;
        for need in needs {
            under = Some(match &answer {
                None => self.authorise(need, written()).await?,
                Some((allowed, rule)) => self.note(need, written(), *allowed, rule.clone())?,
            });
        }
        // The command itself is always among them.
        under.ok_or_else(|| Error::Failed("a command without a program".into()).into())
    }

    /// Tells the user what a command left behind, each sentence on lines of its own: beside the mark of the call there is no
    /// room for it.
    fn notify(&self, notices: &[String], is_told: bool) {
        if !is_told {
            notices
                .iter()
                .for_each(|notice| self.shared.notices.push(notice.clone()));
        }
    }

    /// What the user is told beside the mark of the call: that a command did not end well.
    fn ended(&mut self, end: End, is_read_only: bool) {
        let how = match end {
            End::Exited(0) | End::Stopped => None,
            End::Exited(status) => Some(format!("exit status {status}")),
            End::Killed(signal) => Some(format!("killed by {}", signal_name(signal))),
            End::TimedOut => {
                let seconds = self.shared.commands.time_limit.as_secs();
                Some(format!("stopped after {seconds} s"))
            }
        };
        self.own.has_failed = how.is_some();
        // Otherwise a test that cannot write looks as if it had failed.
        self.own.note = how.map(|how| match is_read_only {
            true => format!("{how}; plan mode is read-only"),
            false => how,
        });
    }
}

/// A line for the log and for the middle of a sentence.
fn shortened(line: &str) -> String {
    let shown = crate::display::escape(line);
    crate::display::shorten(&shown, crate::limits::MAX_LOGGED_LINE_CHARS).into_owned()
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGKILL => "SIGKILL",
        libc::SIGTERM => "SIGTERM",
        libc::SIGINT => "SIGINT",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGABRT => "SIGABRT",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSYS => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

impl From<LineError> for Refusal {
    fn from(error: LineError) -> Self {
        let text = chain(&error);
        Refusal::Guest(match error {
            LineError::TooLong { .. } => Error::TooLarge(text),
            LineError::Program(_) | LineError::NoProgram { .. } => Error::NotFound(text),
            LineError::Permission(_) | LineError::NetworkInPlanMode => Error::Failed(text),
            LineError::Empty | LineError::Nul => Error::Invalid(text),
        })
    }
}

impl From<CommandError> for Refusal {
    fn from(error: CommandError) -> Self {
        let text = chain(&error);
        Refusal::Guest(match error {
            CommandError::Off => Error::Unsupported(text),
            CommandError::TooLong(_) => Error::TooLarge(text),
            CommandError::Nul => Error::Invalid(text),
            _ => Error::Failed(text),
        })
    }
}
