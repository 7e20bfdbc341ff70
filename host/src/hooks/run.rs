//! Runs the command of a hook.
//!
//! It has what a command has to which the user said yes, and no more: the same sandbox, the same environment, the same no to
//! what is denied. That it stands in the configuration of the user, or in one that the user trusted, is the yes. In plan mode
//! it writes nothing and reaches no network, whatever commands may do otherwise; one that may write ends when plan mode
//! begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio::task::JoinSet;

use super::contract::MAX_ANSWER_BYTES;
use super::pinned::{HookPlaces, difference};
use super::{Hook, Hooks};
use crate::audit::{Event, Record};
use crate::call::{Call, Failure};
use crate::capability::Shared;
use crate::command::CommandLine;
use crate::display::{chain, escape, one_line, shorten};
use crate::engine::cache::sha256_hex;
use crate::limits::MAX_LOGGED_LINE_CHARS;
use crate::permission::{PluginId, SessionMode};
use crate::process::{CommandOptions, End, Running, Stop, Stream, linked_worktree};
use crate::target::Operation;

/// Bytes of what a hook says on its standard error that are kept: its end, in which programs say why they failed.
const MAX_ERROR_BYTES: usize = 2 * 1024;

/// Characters of it that are shown.
const MAX_ERROR_CHARS: usize = 300;

/// Why a hook has failed that plan mode ends.
const PLAN_BEGAN: &str = "stopped, since plan mode began";

/// What the audit log calls the plugin of a hook.
const PLUGIN: &str = "hook";

impl Hooks {
    /// Runs a hook; what it printed, or why it failed. Dropping the future ends the command.
    pub(super) async fn run_command(
        &self,
        hook: &Hook,
        call: Option<&Call>,
        input: &[u8],
    ) -> Result<Vec<u8>, String> {
        let begin = Instant::now();
        let log = Log {
            hooks: self,
            hook,
            call,
        };
        let (running, watch) = match self.start(hook, &log, input).await {
            Ok(started) => started,
            Err(problem) => {
                log.write(Event::Denied, None, Some(&problem))?;
                return Err(problem);
            }
        };
        let ended = printed(running, hook).await;
        // Whoever is stopped cannot say so: its supervisor only ends.
        let ended = ended.map_err(|problem| match watch.has_stopped() {
            true => PLAN_BEGAN.to_owned(),
            false => problem,
        });
        log.write(
            Event::Used,
            Some(begin),
            ended.as_ref().err().map(String::as_str),
        )?;
        ended
    }

    async fn start(
        &self,
        hook: &Hook,
        log: &Log<'_>,
        input: &[u8],
    ) -> Result<(Running, Watch), String> {
        let shared = &self.shared;
        let permissions = &shared.permissions;
        let places = HookPlaces {
            project: permissions.project(),
            home: permissions.home(),
            search_path: permissions.search_path(),
        };
        let changed = difference(places, &hook.command, &hook.pinned);
        if let Some(changed) = changed {
            return Err(changed);
        }
        let command = CommandLine::read(hook.command.clone(), false, permissions);
        let command = command.map_err(|e| chain(&e))?;
        if let Some(denied) = command.needs().iter().find(|need| permissions.denies(need)) {
            let (verb, target) = (denied.operation.verb(), denied.target.to_string());
            return Err(format!(
                "permission denied: {verb} {}",
                shorten(&escape(&target), MAX_LOGGED_LINE_CHARS)
            ));
        }
        let worktree = linked_worktree(permissions.project())
            .filter(|it| command.repository_elsewhere.as_ref() == Some(&it.repository));
        let access = permissions.access_of_commands(&shared.commands, worktree.as_ref());
        let mut access = access.map_err(|e| chain(&e))?;
        access.may_change_repository = command.may_change_repository;
        let options = CommandOptions {
            time_limit: hook.time_limit,
            ..shared.commands.clone()
        };
        let announced = shared.announced_sandbox().await.map_err(|e| chain(&e))?;
        if command.is_read_only {
            access = access.read_only();
        }
        // What cannot be logged does not happen.
        log.write(Event::Allowed, None, None)?;
        let (line, notices) = (command.line, &shared.notices);
        let network = !command.is_read_only && options.network;
        let started =
            Running::start_reading(&options, &announced, line, network, access, notices, input);
        let running = started.await.map_err(|e| chain(&e))?;
        let mut watch = Watch::default();
        if !command.is_read_only {
            let stop = running.stop().map_err(|e| chain(&e))?;
            watch.begin(Arc::clone(shared), stop);
        }
        Ok((running, watch))
    }

    /// Writes that a hook denies a call.
    pub(super) fn log_denial(&self, hook: &Hook, call: &Call, reason: &str) -> Result<(), Failure> {
        let log = Log {
            hooks: self,
            hook,
            call: Some(call),
        };
        log.write(Event::Denied, None, Some(reason))
            .map_err(Failure::Host)
    }
}

/// Ends a hook when plan mode begins, as long as this lives.
#[derive(Default)]
struct Watch {
    tasks: JoinSet<()>,
    has_stopped: Arc<AtomicBool>,
}

impl Watch {
    fn begin(&mut self, shared: Arc<Shared>, stop: Stop) {
        let has_stopped = Arc::clone(&self.has_stopped);
        let mut modes = shared.permissions.modes();
        // Plan mode may have begun meanwhile: the first look is at once.
        self.tasks.spawn(async move {
            while shared.permissions.session_mode() != SessionMode::Plan {
                if modes.changed().await.is_err() {
                    return;
                }
            }
            has_stopped.store(true, Ordering::Relaxed);
            stop.now(PLAN_BEGAN);
        });
    }

    fn has_stopped(&self) -> bool {
        self.has_stopped.load(Ordering::Relaxed)
    }
}

/// Waits for the end of a hook; what it printed, or why it failed.
async fn printed(mut running: Running, hook: &Hook) -> Result<Vec<u8>, String> {
    let (mut printed, mut errors) = (Vec::new(), Vec::new());
    loop {
        match running.read().await.map_err(|e| chain(&e))? {
            None => break,
            Some((Stream::Stdout, bytes)) if printed.len() + bytes.len() > MAX_ANSWER_BYTES => {
                let most = MAX_ANSWER_BYTES / 1024;
                return Err(format!("it printed more than {most} KiB"));
            }
            Some((Stream::Stdout, bytes)) => printed.extend(bytes),
            Some((Stream::Stderr, bytes)) => {
                errors.extend(bytes);
                let surplus = errors.len().saturating_sub(MAX_ERROR_BYTES);
                errors.drain(..surplus);
            }
        }
    }
    let how = match running.wait().await.map_err(|e| chain(&e))? {
        End::Exited(0) => return Ok(printed),
        End::Exited(status) => format!("exit status {status}"),
        End::Killed(signal) => format!("ended by signal {signal}"),
        End::TimedOut => format!("stopped after {} s", hook.time_limit.as_secs()),
        End::Stopped => PLAN_BEGAN.to_owned(),
    };
    let errors = one_line(String::from_utf8_lossy(&errors).trim());
    Err(match errors.is_empty() {
        true => how,
        false => format!("{how}: {}", shorten(&errors, MAX_ERROR_CHARS)),
    })
}

/// What the audit log is told of a hook.
struct Log<'a> {
    hooks: &'a Hooks,
    hook: &'a Hook,
    call: Option<&'a Call>,
}

impl Log<'_> {
    fn write(
        &self,
        event: Event,
        begin: Option<Instant>,
        error: Option<&str>,
    ) -> Result<(), String> {
        let Hook {
            command, origin, ..
        } = self.hook;
        let shared = &self.hooks.shared;
        let session = shared.session();
        let plugin = PluginId {
            name: PLUGIN.to_owned(),
            origin: None,
            digest: sha256_hex(command.as_bytes()),
            built_in: false,
        };
        let (id, tool) = match self.call {
            Some(call) => (call.id.as_str(), call.tool.as_str()),
            None => ("", self.hook.event.as_str()),
        };
        let rule = format!("{} hook of {origin}", self.hook.event.as_str());
        let line = escape(command);
        let line = shorten(&line, MAX_LOGGED_LINE_CHARS);
        let duration = begin.map(|begin| u64::try_from(begin.elapsed().as_micros()));
        let record = Record {
            operation: Some(Operation::Execute.verb()),
            rule: Some(&rule),
            line: Some(&line),
            duration_us: duration.map(Result::unwrap_or_default),
            error,
            ..Record::new(event, &session, id, tool, &plugin)
        };
        let written = shared.audit.append(&[record]);
        written.map_err(|e| chain(&e))
    }
}
