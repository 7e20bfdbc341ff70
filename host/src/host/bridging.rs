//! Makes bridges: the component that speaks the protocol, ready to be instantiated, and what an instance runs in.

use std::sync::{Arc, OnceLock};

use wasmtime::Store;

use super::Host;
use super::guest::Machine;
use super::wording::explain;
use crate::bindings::bridge::{McpBridge, McpBridgePre};
use crate::capability::CallState;
use crate::engine::Running;
use crate::limits::Limits;
use crate::plugin::one_line;

/// The name under which a host introduces itself to servers.
const CLIENT_NAME: &str = "dunlin";

/// What bridges are made with. Holds the engine and nothing else of a host, so that neither keeps the other alive.
pub(crate) struct BridgeEngine {
    machine: Arc<OnceLock<Result<Machine, String>>>,
    pre: McpBridgePre<CallState>,
    limits: Limits,
    version: String,
}

impl std::fmt::Debug for BridgeEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BridgeEngine").finish_non_exhaustive()
    }
}

impl Host {
    /// What bridges are made with; compiled or loaded at the first call.
    pub(super) async fn bridge_engine(&self) -> Result<Arc<BridgeEngine>, String> {
        let make = || async {
            let host = self.clone();
            let made = tokio::task::spawn_blocking(move || host.make_bridge_engine()).await;
            made.unwrap_or_else(|_| Err("the compiler gave up".to_owned()))
                .map(Arc::new)
        };
        self.0.servers.engine.get_or_init(make).await.clone()
    }

    fn make_bridge_engine(&self) -> Result<BridgeEngine, String> {
        let servers = &self.0.servers;
        let plugin = servers
            .bridge
            .as_ref()
            .ok_or("this Dunlin has no bridge to servers")?;
        let machine = self.machine().map_err(str::to_owned)?;
        let code = plugin.code().map_err(|e| e.to_string())?;
        let component = self
            .0
            .cache
            .component(machine.ticking.engine(), &plugin.digest, &code)
            .map_err(|e| one_line(&e))?;
        let pre = machine
            .linker
            .instantiate_pre(&component)
            .and_then(McpBridgePre::new)
            .map_err(|e| one_line(&e))?;
        Ok(BridgeEngine {
            machine: Arc::clone(&self.0.machine),
            pre,
            limits: self.0.limits,
            version: servers.version.clone(),
        })
    }
}

impl BridgeEngine {
    /// Says that a guest runs.
    pub(crate) fn running(&self) -> Option<Running<'_>> {
        self.machine().ok().map(|machine| machine.ticking.running())
    }

    /// A store within its limits.
    pub(crate) fn store(&self, state: CallState) -> Result<Store<CallState>, String> {
        Ok(self.machine()?.store(state))
    }

    /// A fresh instance.
    pub(crate) async fn instantiate(
        &self,
        store: &mut Store<CallState>,
    ) -> Result<McpBridge, String> {
        let made = self.pre.instantiate_async(&mut *store).await;
        made.map_err(|error| explain(&error, store.data(), &self.limits))
    }

    /// What a trap means, as the end of a sentence.
    pub(crate) fn explain(&self, error: &wasmtime::Error, state: &CallState) -> String {
        explain(error, state, &self.limits)
    }

    /// How the host introduces itself: name and version.
    pub(crate) fn introduction(&self) -> (&str, &str) {
        (CLIENT_NAME, &self.version)
    }

    fn machine(&self) -> Result<&Machine, String> {
        match self.machine.get() {
            Some(Ok(machine)) => Ok(machine),
            Some(Err(problem)) => Err(problem.clone()),
            None => Err("the engine is not there".to_owned()),
        }
    }
}
