//! The plugins of a host: which there are, what they say of themselves, and one function of one within its limits.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use tokio::sync::Semaphore;
use wasmtime::Store;

use crate::capability::{CallState, Phase, Shared};
use crate::declared_permissions::DeclaredPermissions;
use crate::engine::cache::Cache;
use crate::engine::error::{EngineError, one_line};
use crate::engine::memory_limit::Limiter;
use crate::engine::time_limit::Clock;
use crate::limits::{self, Limits};
use crate::machine::{LazyMachine, Machine};
use crate::plugin::{Described, LoadError, Loaded, Plugin, Registered};
use crate::trap::{explain, seconds};

/// Why a function of a guest has no result: the end of a sentence that starts with the tool's name.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    /// There is nothing that it could run in, or it cannot be loaded.
    #[error("cannot run: {0}")]
    CannotRun(String),
    /// It broke off, in the words of [`explain`].
    #[error("{0}")]
    BrokeOff(String),
    /// Its plugin is not installed any more.
    #[error("was stopped: its plugin was removed")]
    Removed,
    /// Its time ran out.
    #[error("was stopped after {}", seconds(*.0))]
    TimedOut(Duration),
}

/// The plugins of a host, and what they run in.
pub(super) struct Guests {
    shared: Arc<Shared>,
    pub(super) limits: Limits,
    pub(super) cache: Cache,
    /// Replaced as a whole, when other ones are installed.
    plugins: RwLock<Arc<[Arc<Registered>]>>,
    /// Shared with the bridges and the parsers.
    machine: Arc<LazyMachine>,
    slots: Semaphore,
}

impl Guests {
    pub(super) fn new(
        shared: Arc<Shared>,
        limits: Limits,
        cache: Cache,
        machine: Arc<LazyMachine>,
        plugins: Vec<Plugin>,
    ) -> Guests {
        let registered = plugins.into_iter().map(Registered::new).map(Arc::new);
        Guests {
            shared,
            limits,
            cache,
            plugins: RwLock::new(registered.collect()),
            machine,
            slots: Semaphore::new(limits::MAX_PARALLEL_CALLS as usize),
        }
    }

    /// From now on these are the plugins. What is known already of one that stays the same is kept.
    pub(super) fn replace(&self, plugins: Vec<Plugin>) {
        let known = self.all();
        let registered = |plugin: Plugin| {
            let same = known.iter().find(|known| {
                known.plugin.name == plugin.name
                    && known.plugin.origin == plugin.origin
                    && known.plugin.digest == plugin.digest
                    && known.plugin.built_in == plugin.built_in
                    && known.plugin.tools_digest == plugin.tools_digest
                    && known.plugin.bytes.file() == plugin.bytes.file()
            });
            same.cloned()
                .unwrap_or_else(|| Arc::new(Registered::new(plugin)))
        };
        let plugins = plugins.into_iter().map(registered).collect();
        *self.plugins.write() = plugins;
    }

    pub(super) fn all(&self) -> Arc<[Arc<Registered>]> {
        Arc::clone(&self.plugins.read())
    }

    /// Finds a tool by name among the plugins: its plugin, what that says of itself, and the place of the tool there.
    pub(super) async fn find(
        self: &Arc<Self>,
        name: &str,
    ) -> Option<(Arc<Registered>, Arc<Described>, usize)> {
        for plugin in self.all().iter() {
            // A plugin that cannot be described has no tools; `Host::tools` says why.
            let Ok(described) = self.describe(plugin).await else {
                continue;
            };
            if let Some(index) = described.tools.iter().position(|d| d.tool.name == name) {
                return Some((Arc::clone(plugin), described, index));
            }
        }
        None
    }

    /// The names of all tools that are described by now.
    pub(super) fn names(&self) -> Vec<String> {
        let plugins = self.all();
        let described = plugins
            .iter()
            .filter_map(|plugin| plugin.described.get()?.as_ref().ok());
        let tools = described.flat_map(|described| &described.tools);
        tools.map(|tool| tool.tool.name.clone()).collect()
    }

    pub(super) async fn describe(
        self: &Arc<Self>,
        plugin: &Arc<Registered>,
    ) -> Result<Arc<Described>, LoadError> {
        if let Some(described) = plugin.described.get() {
            return described.clone();
        }
        let describe = async || {
            let name = &plugin.id.name;
            if let Some(known) = &plugin.plugin.description {
                return Described::check_known(name, known).map(Arc::new);
            }
            let cached = self.cache.tools(&plugin.id.digest, |bytes| {
                Described::from_bytes(name, bytes)
            });
            let described = match cached {
                Some(described) => Ok(described),
                None => self.describe_anew(plugin).await,
            };
            let described = described?;
            match &plugin.plugin.tools_digest {
                Some(agreed) if described.tools_digest() != *agreed => Err(LoadError::Changed {
                    plugin: name.clone(),
                }),
                _ => Ok(Arc::new(described)),
            }
        };
        // Boxed, as the first call of each plugin pays for it alone: every future that finds a tool holds this one.
        Box::pin(plugin.described.get_or_init(describe))
            .await
            .clone()
    }

    async fn describe_anew(
        self: &Arc<Self>,
        plugin: &Arc<Registered>,
    ) -> Result<Described, LoadError> {
        let name = plugin.id.name.clone();
        let loaded = self.load(plugin).await?;
        let clock = Clock::start(self.limits.describe_time);
        let state = self.state(Phase::Describe, "", "describe", plugin, &clock);
        let (result, _) = self
            .run(
                plugin,
                state,
                &clock,
                self.limits.describe_time,
                async |instance, store| {
                    let tool = instance.dunlin_tool_tool();
                    let info = tool.call_describe(&mut *store).await?;
                    store.data_mut().context.take(info)
                },
            )
            .await;
        let info = result.map_err(|error| LoadError::Describe {
            plugin: name.clone(),
            problem: error.to_string(),
        })?;
        let declared_permissions = loaded.declared_permissions().cloned();
        let described = Described::check(&name, loaded.imports(), declared_permissions, info)?;
        described.check_schemas(&name)?;
        self.cache
            .keep_tools(&plugin.id.digest, &described.to_bytes());
        Ok(described)
    }

    /// Runs one function of a guest in a fresh instance, within its limits. The state comes back unless time ran
    /// out.
    pub(super) async fn run<T>(
        self: &Arc<Self>,
        plugin: &Arc<Registered>,
        state: CallState,
        clock: &Clock,
        limit: Duration,
        function: impl AsyncFnOnce(
            &crate::bindings::Plugin,
            &mut Store<CallState>,
        ) -> wasmtime::Result<T>,
    ) -> (Result<T, RunError>, Option<CallState>) {
        // Loading is not the call's time: it happens once, and compiling may take long.
        let status = clock.pause();
        let machine = match self.machine() {
            Ok(machine) => machine,
            Err(error) => return (Err(RunError::CannotRun(error.to_string())), Some(state)),
        };
        let loaded = match self.load(plugin).await {
            Ok(loaded) => loaded,
            Err(error) => return (Err(RunError::CannotRun(error.to_string())), Some(state)),
        };
        // Never closed, so waiting for a slot cannot fail.
        let _slot = self.slots.acquire().await;
        drop(status);

        let _running = machine.ticking.running();
        let mut store = machine.store(state);
        let outcome = {
            let work = async {
                let instance = loaded.instantiate(&mut store).await?;
                function(&instance, &mut store).await
            };
            tokio::select! {
                biased;
                outcome = work => Ok(outcome),
                () = clock.expired() => Err(RunError::TimedOut(limit)),
                () = plugin.plugin.bytes.gone() => Err(RunError::Removed),
            }
        };
        match outcome {
            Ok(Ok(value)) => (Ok(value), Some(store.into_data())),
            Ok(Err(error)) => {
                let state = store.into_data();
                let why = explain(&error, &state, &self.limits);
                (Err(RunError::BrokeOff(why)), Some(state))
            }
            // A store that was stopped in the middle is not touched again, only dropped; its data is
            // plain and can be kept.
            Err(stopped) => (Err(stopped), Some(store.into_data())),
        }
    }

    /// Whether the component with this digest is compiled.
    pub(super) fn is_compiled(&self, digest: &str) -> bool {
        let machine = self.machine();
        machine.is_ok_and(|machine| self.cache.is_compiled(machine.ticking.engine(), digest))
    }

    /// Loads a plugin, once for all who need it: compiled off the threads that wait, so that several compile side by
    /// side.
    async fn load<'a>(
        self: &Arc<Self>,
        plugin: &'a Arc<Registered>,
    ) -> Result<&'a Loaded, LoadError> {
        let load = async || {
            let guests = Arc::clone(self);
            let registered = Arc::clone(plugin);
            let load = move || guests.load_blocking(&registered);
            let loaded = tokio::task::spawn_blocking(load).await;
            loaded.unwrap_or_else(|_| {
                Err(LoadError::Compile {
                    plugin: plugin.id.name.clone(),
                    problem: "the compiler gave up".into(),
                })
            })
        };
        plugin.loaded.get_or_try_init(load).await
    }

    fn load_blocking(&self, plugin: &Registered) -> Result<Loaded, LoadError> {
        let name = &plugin.id.name;
        let fail = |problem: String| LoadError::Compile {
            plugin: name.clone(),
            problem,
        };
        let code = plugin.plugin.code().map_err(|e| fail(e.to_string()))?;
        let bytes = code.len();
        if bytes > limits::MAX_COMPONENT_BYTES {
            return Err(LoadError::TooLarge {
                plugin: name.clone(),
                bytes,
            });
        }
        // Both forms of WebAssembly begin so, as text or not; the compiler's words for anything else help nobody.
        if !code.starts_with(b"\0asm") && !code.trim_ascii_start().starts_with(b"(") {
            return Err(fail("it is not a WebAssembly file".to_owned()));
        }
        let machine = self.machine().map_err(|e| fail(e.to_string()))?;
        let engine = machine.ticking.engine();
        let component = self
            .cache
            .component(engine, &plugin.id.digest, &code)
            .map_err(|e| fail(one_line(&e)))?;
        let declared_permissions = DeclaredPermissions::of_component(&code).map_err(|e| {
            LoadError::DeclaredPermissions {
                plugin: name.clone(),
                problem: crate::display::chain(&e),
            }
        })?;
        let linker = machine
            .linker_for(&component)
            .map_err(|e| fail(e.to_string()))?;
        Loaded::new(name, engine, &linker, &component, declared_permissions)
    }

    pub(super) fn machine(&self) -> Result<&Arc<Machine>, &EngineError> {
        self.machine.get()
    }

    pub(super) fn state(
        &self,
        phase: Phase,
        call: &str,
        tool: &str,
        plugin: &Registered,
        clock: &Clock,
    ) -> CallState {
        let mut state = CallState::new(
            Arc::clone(&self.shared),
            phase,
            call,
            tool,
            Arc::clone(&plugin.id),
            clock.clone(),
            Limiter::new(self.limits.memory_bytes),
        );
        state.context.caller.component = plugin.plugin.bytes.file().map(Into::into);
        state
    }
}
