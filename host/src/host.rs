//! The host: holds the plugins, and leads each call through its three steps.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use wasmtime::component::Linker;
use wasmtime::{Store, Trap, UpdateDeadline};

use crate::ask::{Answer, Ask};
use crate::audit::{self, Event, JsonLines, Record};
use crate::bindings::dunlin::tool::types;
use crate::bindings::exports::dunlin::tool::tool as wire;
use crate::call::{Call, Failure, Outcome, Plan, Standing, Success};
use crate::capability::{self, CallState, Phase, Shared, UsedInDescribe, chain};
use crate::edit::prepare::hash_of;
use crate::engine::Ticking;
use crate::engine::cache::Cache;
use crate::engine::clock::Clock;
use crate::engine::limiter::{Limiter, Refused};
use crate::limits::{self, Limits};
use crate::permission::{Decision, PermissionError, Permissions, PluginId, Verdict};
use crate::plugin::{
    Described, DescribedTool, LoadError, Loaded, Plugin, Registered, Tool, one_line,
};
use crate::resolve;
use crate::target::{Need, Operation, Target};
use crate::undo::{Journal, UndoError, Undone};
use crate::{AuditError, History, HistoryBook, HostOptions, Progress, actions, arguments, display};

/// Why the host, rather than a tool, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A plugin cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The permission store cannot be used.
    #[error(transparent)]
    Permission(#[from] PermissionError),
    /// The audit log cannot be written.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The engine cannot be made on this machine.
    #[error("the WebAssembly engine does not start: {0}")]
    Engine(String),
}

/// Holds the plugins and runs their tools. Clones are the same host.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    limits: Limits,
    cache: Cache,
    plugins: Vec<Arc<Registered>>,
    machine: OnceLock<Result<Machine, String>>,
    slots: Semaphore,
}

/// The engine and the linker, made at the first need.
struct Machine {
    ticking: Ticking,
    linker: Linker<CallState>,
}

impl Host {
    /// Makes a host. Touches no wasm, no network and no large file.
    pub fn new(options: HostOptions, plugins: Vec<Plugin>) -> Result<Host, HostError> {
        let permissions = Permissions::open(&options)?;
        Ok(Host(Arc::new(Inner {
            shared: Arc::new(Shared {
                permissions,
                audit: JsonLines::new(&options.audit_file),
                log: JsonLines::new(&options.log_file),
                session: options.session,
                history: HistoryBook::default(),
                undo: Journal::new(&options.undo_dir),
                turn: AtomicU64::new(0),
            }),
            limits: options.limits,
            cache: Cache::new(&options.cache_dir),
            plugins: plugins
                .into_iter()
                .map(|plugin| Arc::new(Registered::new(plugin)))
                .collect(),
            machine: OnceLock::new(),
            slots: Semaphore::new(limits::MAX_PARALLEL_CALLS as usize),
        })))
    }

    /// The permission store.
    pub fn permissions(&self) -> &Permissions {
        &self.0.shared.permissions
    }

    /// All tools, sorted by name: from the cache, or described by their plugins, side by side.
    ///
    /// A plugin that cannot be used is left out and stands in the second list. Of two tools with one
    /// name the one of the plugin that was given first counts.
    pub async fn tools(&self) -> (Vec<Tool>, Vec<LoadError>) {
        let described =
            futures::future::join_all(self.0.plugins.iter().map(|plugin| self.describe(plugin)))
                .await;
        let mut tools: Vec<Tool> = Vec::new();
        let mut errors = Vec::new();
        for (plugin, described) in self.0.plugins.iter().zip(described) {
            let described = match described {
                Ok(described) => described,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            for DescribedTool { tool, .. } in &described.tools {
                match tools.iter().find(|other| other.name == tool.name) {
                    Some(other) => errors.push(LoadError::Taken {
                        plugin: plugin.id.name.clone(),
                        tool: tool.name.clone(),
                        other: other.plugin.clone(),
                    }),
                    None => tools.push(tool.clone()),
                }
            }
        }
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        (tools, errors)
    }

    /// Checks a call and asks its tool what it would touch. Never asks the user, never runs it.
    ///
    /// Dropping the future leaves nothing behind.
    pub async fn prepare(&self, call: &Call) -> Result<Plan, Failure> {
        let (plugin, described, index) = self.find(&call.tool).await?;
        let arguments = checked_arguments(&described.tools[index], &call.arguments)?;
        let clock = Clock::start(self.0.limits.prepare_time);
        let state = self.state(Phase::Prepare, &call.id, &call.tool, &plugin, &clock);
        let wire_call = wire::Call {
            tool: call.tool.clone(),
            arguments,
        };
        let (result, state) = self
            .guest(
                &plugin,
                state,
                &clock,
                self.0.limits.prepare_time,
                async |instance, store| {
                    instance
                        .dunlin_tool_tool()
                        .call_prepare(store, &wire_call)
                        .await
                },
            )
            .await;
        if let Some(state) = state {
            state.write_messages();
        }
        let plan = result
            .map_err(|problem| fault(&call.tool, problem))?
            .map_err(|failure| declared(&call.tool, failure))?;
        let wanted = plan.needs.len() + plan.actions.len();
        if wanted > limits::MAX_NEEDS {
            let problem = format!(
                "wants {wanted} files, addresses and programs at once; at most {} can be judged",
                limits::MAX_NEEDS
            );
            return Err(fault(&call.tool, problem));
        }
        let mut needs: Vec<Need> = Vec::with_capacity(wanted);
        for need in plan.needs {
            let need = self.resolve(&call.tool, need)?;
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        let looked = actions::look(&self.0.shared, call, &plugin.id, plan.actions).await?;
        for need in looked.needs {
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        let mut question = plan.question;
        question.truncate(question.floor_char_boundary(limits::MAX_QUESTION_BYTES));
        if question.trim().is_empty() {
            question = looked.wording;
        }
        let standing = self.standing(&call.id, &plugin.id, &needs)?;
        if let Standing::Denied { need, rule } = &standing {
            self.note_denied(call, &plugin, std::slice::from_ref(need), rule)?;
        }
        Ok(Plan {
            question,
            needs,
            actions: looked.actions,
            standing,
        })
    }

    /// Remembers what the user answered to the needs that a plan left open. `Once` holds for this call.
    ///
    /// An answer for always is on the disk when this returns; it blocks for some milliseconds.
    pub async fn answer(&self, call: &Call, plan: &Plan, answer: Answer) -> Result<(), Failure> {
        let (plugin, ..) = self.find(&call.tool).await?;
        let open = match &plan.standing {
            Standing::Ask { needs, .. } => needs.as_slice(),
            Standing::Allowed | Standing::Denied { .. } => &[],
        };
        if !answer.allow {
            self.note_denied(call, &plugin, open, &crate::describe_answer(answer))?;
        }
        self.permissions()
            .remember(&call.id, &plugin.id, open, answer)
            .map_err(|e| Failure::Host(chain(&e)))
    }

    /// Runs a call as it was planned. Every use is checked again; `ask` is for uses that the plan did not
    /// declare and nothing decides about, and the clock of the call stands meanwhile.
    ///
    /// Dropping the future stops the guest at its next epoch, within some milliseconds, and drops
    /// everything it held. Call [`Host::cancelled`] then, so that the audit log says so.
    pub async fn run(
        &self,
        call: &Call,
        plan: &Plan,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Outcome {
        let clock = Clock::start(self.0.limits.run_time);
        let result = self.run_on(call, plan, ask, progress, &clock).await;
        self.permissions().forget_call(&call.id);
        Outcome {
            result,
            duration: clock.spent(),
        }
    }

    /// Forgets what was answered for one call, after it was dropped or will not be run.
    pub fn cancelled(&self, call: &Call) {
        self.permissions().forget_call(&call.id);
    }

    /// Marks a file as attached by the user: tools may read it whole. A path that leads nowhere is an
    /// error.
    pub fn mark_attached(&self, path: &Path) -> Result<(), PermissionError> {
        let path = resolve::real_path(&self.permissions().project().join(path))?;
        // One that cannot be read was not attached with its content: it has to be read before it is edited.
        let content = capability::open::for_reading(&path).and_then(|file| hash_of(&file));
        let content = content.ok().flatten();
        self.0
            .shared
            .history
            .mark(&path, History::ATTACHED, content);
        Ok(())
    }

    /// A turn begins: what is edited from now on is taken back together.
    pub fn begin_turn(&self) {
        self.0.shared.turn.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes back the edits of the last turn in this project that made any, whole or not at all. `None`:
    /// there is none, or it is too long ago.
    ///
    /// Files that changed since are an error that names them. Blocks until the disk has it.
    pub fn undo_last(&self) -> Result<Option<Undone>, UndoError> {
        let shared = &self.0.shared;
        let undone = shared.undo.undo_last(self.permissions().project())?;
        let targets: Vec<String> = undone
            .iter()
            .flat_map(|undone| &undone.files)
            .map(|(path, _)| path.display().to_string())
            .collect();
        let records: Vec<Record<'_>> = targets
            .iter()
            .map(|target| Record {
                time: audit::now(),
                session: &shared.session,
                call: "",
                tool: "/undo",
                plugin: "",
                digest: "",
                event: Event::Used,
                target: Some(target),
                operation: Some(Operation::Write.verb()),
                rule: Some("the user took the last edits back"),
                times: None,
                bytes: None,
                duration_us: None,
                error: None,
            })
            .collect();
        shared.audit.append(&records)?;
        Ok(undone)
    }

    async fn run_on(
        &self,
        call: &Call,
        plan: &Plan,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
        clock: &Clock,
    ) -> Result<Success, Failure> {
        let (plugin, described, index) = self.find(&call.tool).await?;
        let arguments = checked_arguments(&described.tools[index], &call.arguments)?;
        let mut state = self.state(Phase::Run, &call.id, &call.tool, &plugin, clock);
        state.arguments = call.arguments.clone();
        state.actions = plan.actions.clone();
        state.ask = Some(ask);
        state.progress = Some(progress);
        let wire_call = wire::Call {
            tool: call.tool.clone(),
            arguments,
        };
        let (result, mut state) = self
            .guest(
                &plugin,
                state,
                clock,
                self.0.limits.run_time,
                async |instance, store| {
                    instance
                        .dunlin_tool_tool()
                        .call_run(store, &wire_call)
                        .await
                },
            )
            .await;
        let result = match result {
            Err(problem) => Err(fault(&call.tool, problem)),
            Ok(Err(failure)) => Err(declared(&call.tool, failure)),
            Ok(Ok(content)) => success(&call.tool, content, self.0.limits.result_bytes),
        };
        // Whatever the guest made of it: a refusal of the user ends the call as one.
        let refused = state.as_mut().and_then(|state| state.refused.take());
        let result = match refused {
            Some(question) => Err(Failure::Denied { question }),
            None => result,
        };
        if let Some(state) = &mut state {
            state.write_messages();
            let error = result.as_ref().err().map(ToString::to_string);
            // What was done is done; that the log has a gap must still be known.
            state
                .close(error.as_deref())
                .map_err(|e| Failure::Host(chain(&e)))?;
        }
        result
    }

    /// Runs one function of a guest in a fresh instance, within its limits. The error is the end of a
    /// sentence that starts with the tool's name. The state comes back unless time ran out.
    async fn guest<T>(
        &self,
        plugin: &Arc<Registered>,
        state: CallState,
        clock: &Clock,
        limit: Duration,
        function: impl AsyncFnOnce(
            &crate::bindings::Plugin,
            &mut Store<CallState>,
        ) -> wasmtime::Result<T>,
    ) -> (Result<T, String>, Option<CallState>) {
        // Loading is not the call's time: it happens once, and compiling may take long.
        let standing = clock.pause();
        let machine = match self.machine() {
            Ok(machine) => machine,
            Err(problem) => return (Err(format!("cannot run: {problem}")), Some(state)),
        };
        let loaded = match self.load(plugin).await {
            Ok(loaded) => loaded,
            Err(error) => return (Err(format!("cannot run: {error}")), Some(state)),
        };
        // Never closed, so waiting for a slot cannot fail.
        let _slot = self.0.slots.acquire().await;
        drop(standing);

        let _running = machine.ticking.running();
        let mut store = Store::new(machine.ticking.engine(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(limits::MAX_COPY_BYTES);
        // Give way at every tick, so that the clock and the user's Ctrl-C are seen.
        store.set_epoch_deadline(1);
        // Through the runtime, which looks after its timers and signals before it comes back; being woken
        // at once would keep them waiting for 61 ticks where this is the only task of its thread.
        store.epoch_deadline_callback(|_| {
            let turn = Box::pin(tokio::task::yield_now());
            Ok(UpdateDeadline::YieldCustom(1, turn))
        });
        let outcome = {
            let work = async {
                let instance = loaded.instantiate(&mut store).await?;
                function(&instance, &mut store).await
            };
            tokio::select! {
                biased;
                outcome = work => Some(outcome),
                () = clock.expired() => None,
            }
        };
        match outcome {
            Some(Ok(value)) => (Ok(value), Some(store.into_data())),
            Some(Err(error)) => {
                let state = store.into_data();
                (Err(explain(&error, &state, &self.0.limits)), Some(state))
            }
            // A store that was stopped in the middle is not touched again, only dropped; its data is
            // plain and can be kept.
            None => {
                let problem = format!("was stopped after {}", seconds(limit));
                (Err(problem), Some(store.into_data()))
            }
        }
    }

    /// Finds a tool by name among the described plugins.
    async fn find(&self, name: &str) -> Result<(Arc<Registered>, Arc<Described>, usize), Failure> {
        for plugin in &self.0.plugins {
            // A plugin that cannot be described has no tools; `tools` says why.
            let Ok(described) = self.describe(plugin).await else {
                continue;
            };
            if let Some(index) = described.tools.iter().position(|d| d.tool.name == name) {
                return Ok((Arc::clone(plugin), described, index));
            }
        }
        let name = display::shorten(name, 100).into_owned();
        let near = self.near(&name);
        Err(Failure::UnknownTool { name, near })
    }

    /// Names of tools that resemble this one, the nearest first.
    fn near(&self, name: &str) -> Vec<String> {
        let wanted = name.to_ascii_lowercase();
        let described = self
            .0
            .plugins
            .iter()
            .filter_map(|plugin| plugin.described.get()?.as_ref().ok());
        let mut near: Vec<(usize, &str)> = described
            .flat_map(|described| &described.tools)
            .map(|d| d.tool.name.as_str())
            .map(|candidate| {
                (
                    strsim::damerau_levenshtein(&candidate.to_ascii_lowercase(), &wanted),
                    candidate,
                )
            })
            .filter(|(distance, candidate)| {
                *distance <= candidate.len() / 2
                    || candidate.contains(&wanted)
                    || wanted.contains(candidate)
            })
            .collect();
        near.sort_unstable();
        near.into_iter()
            .take(3)
            .map(|(_, name)| name.to_owned())
            .collect()
    }

    async fn describe(&self, plugin: &Arc<Registered>) -> Result<Arc<Described>, LoadError> {
        if let Some(described) = plugin.described.get() {
            return described.clone();
        }
        let name = &plugin.id.name;
        let cached = self.0.cache.tools(&plugin.id.digest, |bytes| {
            Described::from_bytes(name, bytes)
        });
        let described = match cached {
            Some(described) => Ok(described),
            None => self.describe_anew(plugin).await,
        };
        // Another task may have been faster; both say the same.
        plugin
            .described
            .get_or_init(|| described.map(Arc::new))
            .clone()
    }

    async fn describe_anew(&self, plugin: &Arc<Registered>) -> Result<Described, LoadError> {
        let name = plugin.id.name.clone();
        let imports = self.load(plugin).await?.imports();
        let clock = Clock::start(self.0.limits.describe_time);
        let state = self.state(Phase::Describe, "", "describe", plugin, &clock);
        let (result, _) = self
            .guest(
                plugin,
                state,
                &clock,
                self.0.limits.describe_time,
                async |instance, store| instance.dunlin_tool_tool().call_describe(store).await,
            )
            .await;
        let info = result.map_err(|problem| LoadError::Describe {
            plugin: name.clone(),
            problem,
        })?;
        let described = Described::check(&name, imports, info)?;
        self.0
            .cache
            .keep_tools(&plugin.id.digest, &described.to_bytes());
        Ok(described)
    }

    /// Loads a plugin: compiled off the thread that waits, so that several compile side by side.
    async fn load<'a>(&self, plugin: &'a Arc<Registered>) -> Result<&'a Loaded, LoadError> {
        if let Some(loaded) = plugin.loaded.get() {
            return Ok(loaded);
        }
        let host = self.clone();
        let registered = Arc::clone(plugin);
        let name = plugin.id.name.clone();
        let loaded = tokio::task::spawn_blocking(move || host.load_blocking(&registered)).await;
        match loaded {
            Ok(Ok(loaded)) => Ok(plugin.loaded.get_or_init(|| loaded)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(LoadError::Compile {
                plugin: name,
                problem: "the compiler gave up".into(),
            }),
        }
    }

    fn load_blocking(&self, plugin: &Registered) -> Result<Loaded, LoadError> {
        let name = &plugin.id.name;
        let fail = |problem: String| LoadError::Compile {
            plugin: name.clone(),
            problem,
        };
        let bytes = plugin.plugin.bytes.len();
        if bytes > limits::MAX_COMPONENT_BYTES {
            return Err(LoadError::TooLarge {
                plugin: name.clone(),
                bytes,
            });
        }
        let machine = self.machine().map_err(|problem| fail(problem.to_owned()))?;
        let engine = machine.ticking.engine();
        let component = self
            .0
            .cache
            .component(engine, &plugin.id.digest, &plugin.plugin.bytes)
            .map_err(|e| fail(one_line(&e)))?;
        Loaded::new(name, engine, &machine.linker, &component)
    }

    fn machine(&self) -> Result<&Machine, &str> {
        let make = || {
            let ticking = Ticking::new(&self.0.limits).map_err(|e| one_line(&e))?;
            let mut linker = Linker::new(ticking.engine());
            capability::link(&mut linker).map_err(|e| one_line(&e))?;
            Ok(Machine { ticking, linker })
        };
        self.0
            .machine
            .get_or_init(make)
            .as_ref()
            .map_err(String::as_str)
    }

    fn state(
        &self,
        phase: Phase,
        call: &str,
        tool: &str,
        plugin: &Registered,
        clock: &Clock,
    ) -> CallState {
        CallState::new(
            Arc::clone(&self.0.shared),
            phase,
            call,
            tool,
            Arc::clone(&plugin.id),
            clock.clone(),
            Limiter::new(self.0.limits.memory_bytes),
        )
    }

    fn resolve(&self, tool: &str, need: types::Need) -> Result<Need, Failure> {
        let permissions = self.permissions();
        let target = match &need.target {
            types::Target::Path(path) => permissions.resolve_path(path),
            types::Target::Url(url) => resolve::url(url),
            types::Target::Program(program) => permissions.resolve_program(program),
        };
        let target: Target = target.map_err(|e| Failure::Arguments {
            tool: tool.to_owned(),
            problem: chain(&e),
        })?;
        Ok(Need {
            target,
            operation: need.operation.into(),
        })
    }

    fn standing(&self, call: &str, plugin: &PluginId, needs: &[Need]) -> Result<Standing, Failure> {
        let mut open = Vec::new();
        let mut notices = Vec::new();
        for need in needs {
            let Decision { verdict, rule } = self
                .permissions()
                .decide(call, plugin, need)
                .map_err(|e| Failure::Host(chain(&e)))?;
            match verdict {
                Verdict::Allow => {}
                Verdict::Deny => {
                    return Ok(Standing::Denied {
                        need: need.clone(),
                        rule: rule.to_string(),
                    });
                }
                Verdict::Ask => {
                    open.push(need.clone());
                    if let Some(notice) = capability::notices(&rule)
                        && !notices.contains(&notice)
                    {
                        notices.push(notice);
                    }
                }
            }
        }
        Ok(if open.is_empty() {
            Standing::Allowed
        } else {
            Standing::Ask {
                needs: open,
                notices,
            }
        })
    }

    fn note_denied(
        &self,
        call: &Call,
        plugin: &Registered,
        needs: &[Need],
        rule: &str,
    ) -> Result<(), Failure> {
        let targets: Vec<String> = needs.iter().map(|need| need.target.to_string()).collect();
        let records: Vec<Record<'_>> = needs
            .iter()
            .zip(&targets)
            .map(|(need, target)| Record {
                time: audit::now(),
                session: &self.0.shared.session,
                call: &call.id,
                tool: &call.tool,
                plugin: &plugin.id.name,
                digest: &plugin.id.digest,
                event: Event::Denied,
                target: Some(target),
                operation: Some(need.operation.verb()),
                rule: Some(rule),
                times: None,
                bytes: None,
                duration_us: None,
                error: None,
            })
            .collect();
        self.0
            .shared
            .audit
            .append(&records)
            .map_err(|e| Failure::Host(chain(&e)))
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plugins: Vec<&str> = self
            .0
            .plugins
            .iter()
            .map(|plugin| plugin.id.name.as_str())
            .collect();
        f.debug_struct("Host")
            .field("plugins", &plugins)
            .finish_non_exhaustive()
    }
}

/// The arguments as the guest gets them, once they fit the schema.
fn checked_arguments(tool: &DescribedTool, arguments: &Value) -> Result<String, Failure> {
    let bad = |problem: String| Failure::Arguments {
        tool: tool.tool.name.clone(),
        problem,
    };
    // First: checking takes time with the size.
    let bytes = arguments.to_string().len();
    if bytes > limits::MAX_ARGUMENT_BYTES {
        return Err(bad(format!(
            "{bytes} bytes; at most {} are allowed",
            limits::MAX_ARGUMENT_BYTES
        )));
    }
    let mended = arguments::mend(arguments, &tool.tool.parameters);
    let text = if tool.check_arguments(&mended).is_ok() {
        mended.to_string()
    } else {
        // What is said is said of the original: that is what the model wrote.
        tool.check_arguments(arguments).map_err(|problem| {
            let problem = display::escape(&problem).into_owned();
            bad(display::shorten(&problem, limits::MAX_FAILURE_BYTES).into_owned())
        })?;
        arguments.to_string()
    };
    Ok(text)
}

fn success(tool: &str, content: Vec<wire::Content>, max_bytes: usize) -> Result<Success, Failure> {
    let mut success = Success::default();
    let mut first = true;
    let mut bytes = 0;
    for part in content {
        match part {
            wire::Content::Text(text) => {
                bytes += text.len();
                if !std::mem::take(&mut first) {
                    success.text.push('\n');
                }
                success.text.push_str(&text);
            }
            wire::Content::Blob(blob) => {
                bytes += blob.bytes.len();
                success.blobs.push((blob.media_type, blob.bytes));
            }
        }
    }
    if bytes > max_bytes {
        return Err(fault(
            tool,
            format!("returned {bytes} bytes; at most {max_bytes} are allowed"),
        ));
    }
    Ok(success)
}

/// A failure that the tool declared, bounded and harmless.
fn declared(tool: &str, failure: wire::Failure) -> Failure {
    let mut message = failure.message;
    message.truncate(message.floor_char_boundary(limits::MAX_FAILURE_BYTES));
    let message = display::escape_multiline(&message).into_owned();
    match failure.kind {
        wire::FailureKind::InvalidArguments => Failure::Arguments {
            tool: tool.to_owned(),
            problem: message,
        },
        wire::FailureKind::Denied => Failure::Denied { question: message },
        wire::FailureKind::Cancelled => Failure::Cancelled,
        wire::FailureKind::NotFound | wire::FailureKind::TooLarge | wire::FailureKind::Failed => {
            Failure::Tool {
                tool: tool.to_owned(),
                message,
            }
        }
    }
}

fn fault(tool: &str, problem: String) -> Failure {
    Failure::Fault {
        tool: tool.to_owned(),
        problem,
    }
}

/// What a trap means, as the end of a sentence that starts with the tool's name.
fn explain(error: &wasmtime::Error, state: &CallState, limits: &Limits) -> String {
    // A guest whose memory may not grow ends in a trap of its own making; the limit is the cause.
    match state.limiter.refused() {
        Some(Refused::Memory) => {
            let mebibytes = limits.memory_bytes / (1024 * 1024);
            return format!("needed more than {mebibytes} MiB of memory");
        }
        Some(Refused::Tables) => {
            let elements = limits::MAX_TABLE_ELEMENTS;
            return format!("needed more than {elements} table elements");
        }
        None => {}
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => "ran out of stack: it called itself too deeply".into(),
        Some(Trap::UnreachableCodeReached) => "crashed".into(),
        Some(trap) => format!("crashed: {trap}"),
        None => {
            if let Some(misuse) = error.downcast_ref::<UsedInDescribe>() {
                return misuse.to_string();
            }
            let text = one_line(error);
            if text.contains("fuel allocated for hostcalls") {
                return format!(
                    "handed over more than {} MiB at once",
                    limits::MAX_COPY_BYTES / (1024 * 1024)
                );
            }
            format!("failed: {text}")
        }
    }
}

fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
