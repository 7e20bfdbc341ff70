//! Makes bridges: the component that speaks the protocol, ready to be instantiated, and what an instance runs in.

use std::sync::Arc;

use wasmtime::Store;

use crate::bindings::bridge::{McpBridge, McpBridgePre};
use crate::capability::CallState;
use crate::engine::Running;
use crate::engine::cache::Cache;
use crate::engine::error::EngineError;
use crate::limits::Limits;
use crate::machine::Machine;
use crate::plugin::Plugin;
use crate::trap::explain;

/// The name under which a host introduces itself to servers.
const CLIENT_NAME: &str = "dunlin";

/// What bridges are made with. Holds the engine and nothing else of a host, so that neither keeps the other alive.
pub(crate) struct BridgeEngine {
    machine: Arc<Machine>,
    pre: McpBridgePre<CallState>,
    limits: Limits,
    version: String,
}

impl std::fmt::Debug for BridgeEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BridgeEngine").finish_non_exhaustive()
    }
}

impl BridgeEngine {
    /// Compiles or loads the component `bridge`. Blocks.
    pub(crate) fn new(
        machine: Arc<Machine>,
        cache: &Cache,
        bridge: &Plugin,
        limits: Limits,
        version: &str,
    ) -> Result<BridgeEngine, EngineError> {
        let code = bridge.code()?;
        let component = cache.component(machine.ticking.engine(), &bridge.digest, &code)?;
        let pre = machine
            .linker
            .instantiate_pre(&component)
            .and_then(McpBridgePre::new)?;
        Ok(BridgeEngine {
            machine,
            pre,
            limits,
            version: version.to_owned(),
        })
    }

    /// Says that a guest runs.
    pub(crate) fn running(&self) -> Running<'_> {
        self.machine.ticking.running()
    }

    /// A store within its limits.
    pub(crate) fn store(&self, state: CallState) -> Store<CallState> {
        self.machine.store(state)
    }

    /// A new instance.
    pub(crate) async fn instantiate(
        &self,
        store: &mut Store<CallState>,
    ) -> wasmtime::Result<McpBridge> {
        self.pre.instantiate_async(store).await
    }

    /// What a trap means, as the end of a sentence.
    pub(crate) fn explain(&self, error: &wasmtime::Error, state: &CallState) -> String {
        explain(error, state, &self.limits)
    }

    /// How the host introduces itself: name and version.
    pub(crate) fn introduction(&self) -> (&str, &str) {
        (CLIENT_NAME, &self.version)
    }
}
