//! The engine and what components are linked with.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use wasmtime::component::{Component, Linker};
use wasmtime::{ResourceLimiter, Store, UpdateDeadline};

use crate::capability::{self, CallState, wasi};
use crate::code::CodeError;
use crate::engine::Ticking;
use crate::limits::{self, Limits};
use crate::trap::one_line;

/// Why there is no engine on this machine, or why a component cannot be linked: a clause.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EngineError(String);

impl EngineError {
    pub(crate) fn new(problem: &str) -> EngineError {
        EngineError(problem.to_owned())
    }
}

impl From<wasmtime::Error> for EngineError {
    fn from(error: wasmtime::Error) -> EngineError {
        EngineError(one_line(&error))
    }
}

impl From<CodeError> for EngineError {
    fn from(error: CodeError) -> EngineError {
        EngineError(error.to_string())
    }
}

/// The machine, made at the first need.
pub(crate) struct LazyMachine {
    limits: Limits,
    made: OnceLock<Result<Arc<Machine>, EngineError>>,
}

impl LazyMachine {
    pub(crate) fn new(limits: Limits) -> LazyMachine {
        LazyMachine {
            limits,
            made: OnceLock::new(),
        }
    }

    /// Takes some milliseconds at the first call.
    pub(crate) fn get(&self) -> Result<&Arc<Machine>, &EngineError> {
        self.made
            .get_or_init(|| Machine::new(&self.limits).map(Arc::new))
            .as_ref()
    }
}

/// The engine and the linker, made at the first need.
pub(crate) struct Machine {
    pub(crate) ticking: Ticking,
    /// What one instance may have, see [`Limits::memory_bytes`].
    pub(crate) memory_bytes: usize,
    pub(crate) linker: Linker<CallState>,
    /// The same with WASI; made when the first component wants that.
    wasi: OnceLock<Result<Linker<CallState>, EngineError>>,
}

impl Machine {
    /// Starts an engine. The error says why there is none on this machine.
    pub(crate) fn new(limits: &Limits) -> Result<Machine, EngineError> {
        let ticking = Ticking::new(limits)?;
        let mut linker = Linker::new(ticking.engine());
        capability::link(&mut linker)?;
        Ok(Machine {
            ticking,
            memory_bytes: limits.memory_bytes,
            linker,
            wasi: OnceLock::new(),
        })
    }

    /// What a component is linked with: the contract, and where it imports WASI, that, too.
    pub(crate) fn linker_for(
        &self,
        component: &Component,
    ) -> Result<Cow<'_, Linker<CallState>>, EngineError> {
        let engine = self.ticking.engine();
        let ty = component.component_type();
        if !ty.imports(engine).any(|(name, _)| wasi::is_wasi(name)) {
            return Ok(Cow::Borrowed(&self.linker));
        }
        let made = self.wasi.get_or_init(|| {
            let mut linker = self.linker.clone();
            wasi::link(&mut linker)?;
            Ok(linker)
        });
        let mut linker = made.clone()?;
        wasi::refuse(&mut linker, engine, component)?;
        Ok(Cow::Owned(linker))
    }

    /// A store within its limits.
    pub(crate) fn store(&self, state: CallState) -> Store<CallState> {
        self.store_of(state, |state| &mut state.limiter)
    }

    /// The same for a component that is not a tool.
    pub(crate) fn store_of<T: Send + 'static>(
        &self,
        state: T,
        limiter: fn(&mut T) -> &mut dyn ResourceLimiter,
    ) -> Store<T> {
        let mut store = Store::new(self.ticking.engine(), state);
        store.limiter(limiter);
        store.set_hostcall_fuel(limits::MAX_COPY_BYTES);
        // Give way at every tick, so that the clock and the user's Ctrl-C are seen.
        store.set_epoch_deadline(1);
        // Through the runtime, which looks after its timers and signals before it comes back; being woken
        // at once would keep them waiting for 61 ticks where this is the only task of its thread.
        store.epoch_deadline_callback(|_| {
            let turn = Box::pin(tokio::task::yield_now());
            Ok(UpdateDeadline::YieldCustom(1, turn))
        });
        store
    }
}
