//! The host: holds the plugins, and leads each call through its three steps.

mod behind;
mod bridging;
mod cage;
mod describe;
mod guest;
mod judge;
mod loader;
mod prompts;
mod served;
mod serving;
mod session;
mod undo;
mod wording;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use tokio::sync::{OnceCell, Semaphore};

pub(crate) use self::bridging::BridgeEngine;
use self::guest::Machine;
pub use self::prompts::ServerPrompt;
use self::wording::{checked_arguments, declared, fault, success};
use crate::ask::{Answer, Ask, Scope};
use crate::audit::{AuditRoom, JsonLines};
use crate::bindings::exports::dunlin::tool::tool as wire;
use crate::call::{Call, Failure, Outcome, Plan, Standing, Success};
use crate::capability::{self, Phase, Shared, chain, tree};
use crate::edit::prepare::hash_of;
use crate::engine::cache::Cache;
use crate::engine::clock::Clock;
use crate::limits::{self, Limits};
use crate::mcp::Servers;
use crate::notices::Notices;
use crate::permission::{PermissionError, Permissions};
use crate::plugin::{LoadError, Plugin, Registered};
use crate::resolve;
use crate::target::Need;
use crate::undo::Journal;
use crate::{AuditError, History, HistoryBook, HostOptions, Progress, actions};

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
    /// Replaced as a whole, when other ones are installed.
    plugins: RwLock<Arc<[Arc<Registered>]>>,
    /// Shared with the bridges, which outlive no engine.
    machine: Arc<OnceLock<Result<Machine, String>>>,
    servers: Servers,
    behind: behind::Behind,
    slots: Semaphore,
    /// Whether there is nobody who answers.
    alone: AtomicBool,
}

impl Host {
    /// Makes a host. Touches no wasm, no network and no large file.
    pub fn new(options: HostOptions, plugins: Vec<Plugin>) -> Result<Host, HostError> {
        let permissions = Permissions::open(&options)?;
        Ok(Host(Arc::new(Inner {
            shared: Arc::new(Shared {
                permissions,
                audit: JsonLines::new(&options.audit_file),
                log: JsonLines::bounded(&options.log_file, limits::MAX_LOG_FILE_BYTES),
                session: RwLock::new(options.session.into()),
                history: HistoryBook::default(),
                undo: Journal::new(&options.undo_dir),
                stores: options.stores_dir,
                turn: AtomicU64::new(first_turn()),
                commands: options.commands,
                notices: Notices::default(),
                egress: options.web.egress,
                sites: options.web.sites,
                search: options.web.search,
                searches: Mutex::default(),
                embedder: options.embedder,
                cage: OnceCell::new(),
            }),
            limits: options.limits,
            cache: Cache::new(&options.cache_dir),
            plugins: RwLock::new(
                plugins
                    .into_iter()
                    .map(|plugin| Arc::new(Registered::new(plugin)))
                    .collect(),
            ),
            machine: Arc::default(),
            servers: Servers::new(options.mcp),
            behind: behind::Behind::default(),
            slots: Semaphore::new(limits::MAX_PARALLEL_CALLS as usize),
            alone: AtomicBool::new(false),
        })))
    }

    /// From now on these are the plugins. What is known already of one that stays the same is kept, and calls that
    /// run go on with what they began with.
    pub fn replace_plugins(&self, plugins: Vec<Plugin>) {
        let known = self.plugins();
        let registered = |plugin: Plugin| {
            let same = known.iter().find(|known| {
                known.plugin.name == plugin.name
                    && known.plugin.digest == plugin.digest
                    && known.plugin.built_in == plugin.built_in
            });
            same.cloned()
                .unwrap_or_else(|| Arc::new(Registered::new(plugin)))
        };
        let plugins = plugins.into_iter().map(registered).collect();
        *self
            .0
            .plugins
            .write()
            .unwrap_or_else(PoisonError::into_inner) = plugins;
    }

    fn plugins(&self) -> Arc<[Arc<Registered>]> {
        let plugins = self.0.plugins.read();
        Arc::clone(&plugins.unwrap_or_else(PoisonError::into_inner))
    }

    /// The permission store.
    pub fn permissions(&self) -> &Permissions {
        &self.0.shared.permissions
    }

    /// Checks a call and asks its tool what it would touch. Never asks the user, never runs it.
    ///
    /// Dropping the future leaves nothing behind.
    pub async fn prepare(&self, call: &Call) -> Result<Plan, Failure> {
        let (plugin, described, index) = match self.find(&call.tool).await {
            Ok(found) => found,
            Err(unknown) => return self.prepare_served(call, unknown).await,
        };
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
            match needs.iter_mut().find(|other| **other == need) {
                // Of one address with both schemes the question shows the one without encryption.
                Some(other) if need.target.is_plain() => *other = need,
                Some(_) => {}
                None => needs.push(need),
            }
        }
        // Before anybody is asked about a search that cannot be made.
        let root = self.permissions().project();
        let imports = &described.tools[index].tool.imports;
        let lists_files = imports.iter().any(|import| import == tree::IMPORT)
            && needs.iter().any(|need| need.target.path() == Some(root));
        if lists_files && !self.permissions().is_project() {
            return Err(Failure::Action {
                message: tree::not_searched(root),
            });
        }
        let looked = actions::look(&self.0.shared, call, &plugin, plan.actions).await?;
        for need in looked.needs {
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        let mut question = plan.question;
        question.truncate(question.floor_char_boundary(limits::MAX_QUESTION_BYTES));
        if question.trim().is_empty() || looked.is_binding {
            question = looked.wording;
        }
        let standing = self.standing(call, &plugin, &needs)?;
        let mut standing = looked.conditions.apply(standing);
        if let Standing::Ask { notices, .. } = &mut standing {
            notices.extend(self.gaps_of_commands(&looked.actions).await);
        }
        if let Standing::Denied { need, rule, .. } = &standing {
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
        let (plugin, ..) = match self.find(&call.tool).await {
            Ok(found) => found,
            Err(unknown) => return self.answer_served(call, plan, answer, unknown),
        };
        let (open, longest) = match &plan.standing {
            Standing::Ask { needs, longest, .. } => (needs.as_slice(), *longest),
            Standing::Allowed | Standing::Denied { .. } => (&[][..], Scope::Once),
        };
        let answer = answer.at_most(longest);
        if !answer.allow {
            self.note_denied(call, &plugin, open, &self.described(answer))?;
        }
        self.permissions()
            .remember(&call.id, &plugin.id, open, answer)
            .map_err(|e| Failure::Host(chain(&e)))
    }

    /// From now on nobody answers: the audit log says so of what is denied for that reason.
    pub fn nobody_answers(&self) {
        self.0.alone.store(true, Ordering::Relaxed);
    }

    /// An answer in the words of the audit log.
    fn described(&self, answer: Answer) -> String {
        match self.0.alone.load(Ordering::Relaxed) && answer == Answer::DENY {
            true => crate::NOBODY.to_owned(),
            false => crate::describe_answer(answer),
        }
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
        if let Some(tool) = self.served(&call.tool).await {
            let outcome = self.run_served(call, tool, ask, progress).await;
            self.cancelled(call);
            return outcome;
        }
        let clock = Clock::start(self.0.limits.run_time);
        let room = AuditRoom::new(limits::MAX_AUDIT_BYTES);
        let result = self.run_on(call, plan, ask, progress, &clock, &room).await;
        self.permissions().forget_call(&call.id);
        let result = result.map(|(success, more)| {
            if let Some(arguments) = more {
                self.go_on(call, plan, &arguments, room);
            }
            success
        });
        Outcome {
            result,
            duration: clock.spent(),
        }
    }

    /// Forgets what was answered for one call, after it was dropped or will not be run.
    pub fn cancelled(&self, call: &Call) {
        self.permissions().forget_call(&call.id);
        self.forget_served(&call.id);
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

    /// The result, and the arguments with which the tool wants to be run once more.
    async fn run_on(
        &self,
        call: &Call,
        plan: &Plan,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
        clock: &Clock,
        audit_room: &AuditRoom,
    ) -> Result<(Success, Option<String>), Failure> {
        let (plugin, described, index) = self.find(&call.tool).await?;
        let arguments = checked_arguments(&described.tools[index], &call.arguments)?;
        let mut state = self.state(Phase::Run, &call.id, &call.tool, &plugin, clock);
        state.arguments = call.arguments.clone();
        state.actions = plan.actions.clone();
        state.declared = plan.needs.clone();
        state.ceiling.clone_from(&described.ceiling);
        state.ask = Some(ask);
        state.progress = Some(progress);
        state.audit_room = audit_room.clone();
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
        let mut result = match refused {
            Some(question) => Err(Failure::Denied { question }),
            None => result,
        };
        if let (Ok(success), Some(state)) = (&mut result, &mut state) {
            success.note = state.note.take();
            success.has_failed = state.has_failed;
        }
        if let Some(state) = &mut state {
            state.write_messages();
            let error = result.as_ref().err().map(ToString::to_string);
            // What was done is done; that the log has a gap must still be known.
            state
                .close(error.as_deref())
                .map_err(|e| Failure::Host(chain(&e)))?;
        }
        let more = state.and_then(|mut state| state.go_on.take());
        result.map(|success| (success, more))
    }
}

/// A number that no turn had when the host was made some other time.
fn first_turn() -> u64 {
    let now = jiff::Timestamp::now().as_millisecond();
    u64::try_from(now).unwrap_or_default()
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plugins = self.plugins();
        let plugins: Vec<&str> = plugins
            .iter()
            .map(|plugin| plugin.id.name.as_str())
            .collect();
        f.debug_struct("Host")
            .field("plugins", &plugins)
            .finish_non_exhaustive()
    }
}
