//! Runs guests: the engine, the loading of components, and one function within its limits.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::Store;

use super::Host;
use crate::capability::{CallState, Phase};
use crate::ceiling::Ceiling;
use crate::engine::clock::Clock;
use crate::engine::limiter::Limiter;
use crate::limits;
use crate::machine::Machine;
use crate::plugin::{LoadError, Loaded, Registered};
use crate::trap::{explain, one_line, seconds};

impl Host {
    /// Runs one function of a guest in a fresh instance, within its limits. The error is the end of a
    /// sentence that starts with the tool's name. The state comes back unless time ran out.
    pub(super) async fn guest<T>(
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
        let mut store = machine.store(state);
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

    /// Loads a plugin, once for all who need it: compiled off the threads that wait, so that several compile side by
    /// side.
    pub(super) async fn load<'a>(
        &self,
        plugin: &'a Arc<Registered>,
    ) -> Result<&'a Loaded, LoadError> {
        let load = async || {
            let host = self.clone();
            let registered = Arc::clone(plugin);
            let loaded = tokio::task::spawn_blocking(move || host.load_blocking(&registered)).await;
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
            return Err(fail("it is no WebAssembly file".to_owned()));
        }
        let machine = self.machine().map_err(|problem| fail(problem.to_owned()))?;
        let engine = machine.ticking.engine();
        let component = self
            .0
            .cache
            .component(engine, &plugin.id.digest, &code)
            .map_err(|e| fail(one_line(&e)))?;
        let ceiling = Ceiling::of_component(&code).map_err(|e| LoadError::Ceiling {
            plugin: name.clone(),
            problem: crate::display::chain(&e),
        })?;
        let linker = machine.linker_for(&component).map_err(fail)?;
        Loaded::new(name, engine, &linker, &component, ceiling)
    }

    pub(super) fn machine(&self) -> Result<&Arc<Machine>, &str> {
        self.0
            .machine
            .get_or_init(|| Machine::new(&self.0.limits).map(Arc::new))
            .as_ref()
            .map_err(String::as_str)
    }

    pub(super) fn state(
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
}
