//! The engine and what components are linked with.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use wasmtime::Store;
use wasmtime::component::{Component, Linker};

use crate::capability::{self, CallState, wasi};
use crate::engine::error::EngineError;
use crate::engine::{LazyEngine, Ticking};

/// The machine, made at the first need.
pub(crate) struct LazyMachine {
    engine: Arc<LazyEngine>,
    made: OnceLock<Result<Arc<Machine>, EngineError>>,
}

impl LazyMachine {
    pub(crate) fn new(engine: Arc<LazyEngine>) -> LazyMachine {
        LazyMachine {
            engine,
            made: OnceLock::new(),
        }
    }

    /// Takes some milliseconds at the first call.
    pub(crate) fn get(&self) -> Result<&Arc<Machine>, &EngineError> {
        let make = || {
            let ticking = self.engine.get().map_err(Clone::clone)?;
            Machine::new(Arc::clone(ticking)).map(Arc::new)
        };
        self.made.get_or_init(make).as_ref()
    }
}

/// The engine and the linker, made at the first need.
pub(crate) struct Machine {
    pub(crate) ticking: Arc<Ticking>,
    pub(crate) linker: Linker<CallState>,
    /// The same with WASI; made when the first component wants that.
    wasi: OnceLock<Result<Linker<CallState>, EngineError>>,
}

impl Machine {
    fn new(ticking: Arc<Ticking>) -> Result<Machine, EngineError> {
        let mut linker = Linker::new(ticking.engine());
        capability::link(&mut linker)?;
        Ok(Machine {
            ticking,
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
        self.ticking.store(state, |state| &mut state.limiter)
    }
}
