//! What all apps of a host share: the engine, ready to be instantiated, and the places for instances.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use wasmtime::Store;
use wasmtime::component::InstancePre;

use super::{AppError, AppOptions, AppProgram, subject};
use crate::ask::Ask;
use crate::bindings::app::{App as Bindings, AppPre};
use crate::capability::page::Page;
use crate::capability::store::store_folder;
use crate::capability::{self, CallState, Phase, Shared};
use crate::engine::cache::Cache;
use crate::engine::error::EngineError;
use crate::engine::memory_limit::Limiter;
use crate::engine::time_limit::Clock;
use crate::limits::{Limits, MAX_OPEN_APPS};
use crate::machine::{LazyMachine, Machine};
use crate::permission::PluginId;
use crate::plugin::Plugin;

/// What all apps of a host share.
pub(crate) struct Apps {
    shared: Arc<Shared>,
    pub(super) limits: Limits,
    cache: Cache,
    machine: Arc<LazyMachine>,
    component: Option<Plugin>,
    /// Made when the first app is used.
    engine: OnceCell<Result<AppEngine, EngineError>>,
    slots: Arc<Semaphore>,
    /// How many events there were.
    events: AtomicU64,
}

/// The component that runs programs.
pub(super) struct AppEngine {
    pub(super) machine: Arc<Machine>,
    pre: AppPre<CallState>,
}

/// One instance of it.
pub(super) struct Instance {
    pub(super) store: Store<CallState>,
    pub(super) bindings: Bindings,
    _slot: OwnedSemaphorePermit,
}

/// For whom an instance is made.
pub(super) struct Tenant {
    /// What stands where the name of a tool stands elsewhere.
    pub(super) caller: String,
    pub(super) id: Arc<PluginId>,
}

impl Apps {
    pub(crate) fn new(
        shared: Arc<Shared>,
        limits: Limits,
        cache: Cache,
        machine: Arc<LazyMachine>,
        component: Option<Plugin>,
    ) -> Arc<Apps> {
        Arc::new(Apps {
            shared,
            limits,
            cache,
            machine,
            component,
            engine: OnceCell::new(),
            slots: Arc::new(Semaphore::new(MAX_OPEN_APPS as usize)),
            events: AtomicU64::new(1),
        })
    }

    pub(crate) fn open(self: &Arc<Self>, options: AppOptions) -> AppProgram {
        AppProgram::new(Arc::clone(self), options)
    }

    /// Removes what the app with this id has stored.
    pub(super) fn remove_store(&self, id: &str) -> io::Result<()> {
        let stored = store_folder(&self.shared.stores, &subject(id), None);
        match fs::remove_dir_all(stored) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The id of one more event. No call of a tool has one like that: see [`Call::id`].
    pub(super) fn next_event(&self) -> String {
        format!("app {}", self.events.fetch_add(1, Ordering::Relaxed))
    }

    /// The engine: compiled, or loaded, at the first need.
    pub(super) async fn engine(self: &Arc<Self>) -> Result<&AppEngine, AppError> {
        let make = || async {
            let apps = Arc::clone(self);
            let made = tokio::task::spawn_blocking(move || apps.load()).await;
            made.unwrap_or_else(|_| Err(EngineError::new("the compiler gave up")))
        };
        let engine = self.engine.get_or_init(make).await;
        let engine = engine.as_ref();
        engine.map_err(|error| AppError::Unavailable(error.to_string()))
    }

    fn load(&self) -> Result<AppEngine, EngineError> {
        let component = self.component.as_ref();
        let component = component.ok_or_else(|| EngineError::new("there is no engine for apps"))?;
        let machine = self.machine.get().map_err(Clone::clone)?;
        let code = component.code()?;
        let engine = machine.ticking.engine();
        let compiled = self.cache.component(engine, &component.digest, &code)?;
        let mut linker = machine.linker.clone();
        capability::link_app(&mut linker)?;
        let pre: InstancePre<CallState> = linker.instantiate_pre(&compiled)?;
        Ok(AppEngine {
            machine: Arc::clone(machine),
            pre: AppPre::new(pre)?,
        })
    }

    /// A new instance, within the limits of an event.
    pub(super) async fn instantiate(
        self: &Arc<Self>,
        tenant: &Tenant,
        page: Page,
        ask: Arc<dyn Ask>,
    ) -> Result<Instance, AppError> {
        let engine = self.engine().await?;
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        let slot = slot.map_err(|_| AppError::TooManyApps(MAX_OPEN_APPS))?;
        let clock = Clock::start(self.limits.run_time);
        let mut state = CallState::new(
            Arc::clone(&self.shared),
            Phase::Run,
            "",
            &tenant.caller,
            Arc::clone(&tenant.id),
            clock,
            Limiter::new(self.limits.memory_bytes),
        );
        state.open(page, ask);
        let mut store = engine.machine.store(state);
        let _running = engine.machine.ticking.running();
        let bindings = engine.pre.instantiate_async(&mut store).await;
        let bindings = bindings.map_err(|error| {
            let why = crate::trap::explain(&error, store.data(), &self.limits);
            AppError::Crash(why)
        })?;
        Ok(Instance {
            store,
            bindings,
            _slot: slot,
        })
    }
}
