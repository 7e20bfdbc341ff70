//! One configured server: what is known of it, and its bridge while there is one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::bridge::Bridge;
use super::connection::{Consent, Terms};
use super::offered::{Listed, Offered, OfferedTool};
use super::options::{McpServer, ServerAt, ServerInfo, ServerReport};
use crate::limits::MAX_RESTARTS;
use crate::permission::PluginId;
use crate::sha256_hex;

/// Files, and the digest of what each holds.
pub(crate) type Contents = BTreeMap<PathBuf, String>;

/// One configured server.
pub(crate) struct Server {
    pub(crate) config: McpServer,
    /// As whom it is granted things: another command line is somebody else.
    pub(crate) id: Arc<PluginId>,
    /// Held while a connection is made.
    pub(crate) connecting: tokio::sync::Mutex<()>,
    /// What the files of its command line held when it was started last, whichever session that was for. `None`: it was not
    /// started since this program was.
    started_with: Mutex<Option<Contents>>,
    /// Whether it may ask the chat's model.
    consent: Mutex<Consent>,
    state: Mutex<ServerState>,
}

#[derive(Default)]
struct ServerState {
    /// Whether the session uses it.
    is_used: bool,
    bridge: Option<Arc<Bridge>>,
    server_info: ServerInfo,
    connected_in: Option<Duration>,
    offered: Arc<Offered>,
    /// The list that `offered` was made of.
    listed: Option<Arc<Listed>>,
    /// How often it was started in this session.
    starts: u32,
    /// Whether the user disabled it until the session ends.
    is_disabled: bool,
}

impl Server {
    pub(crate) fn new(config: McpServer) -> Arc<Server> {
        let identity = match &config.at {
            ServerAt::Program(program) => format!(
                "{:?}",
                (
                    &program.command,
                    &program.arguments,
                    &program.folder,
                    &program.own_variables,
                    // One that is let out of the sandbox is somebody else.
                    program.sandbox,
                )
            ),
            ServerAt::Web { url, .. } => url.clone(),
        };
        let id = Arc::new(PluginId {
            name: format!("mcp.{}", config.name),
            origin: None,
            digest: sha256_hex(identity.as_bytes()),
            built_in: false,
        });
        Arc::new(Server {
            config,
            id,
            connecting: tokio::sync::Mutex::new(()),
            started_with: Mutex::default(),
            consent: Mutex::default(),
            state: Mutex::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    /// The command line or the address, for people, models and logs: what stands behind a `?` is often a key.
    pub(crate) fn place(&self) -> String {
        match &self.config.at {
            ServerAt::Program(program) => program.line(),
            ServerAt::Web { url, .. } => match url.split_once('?') {
                Some((before, _)) => format!("{before}?…"),
                None => url.clone(),
            },
        }
    }

    /// Whether the session knows what it offers.
    pub(crate) fn is_known(&self) -> bool {
        self.lock().listed.is_some()
    }

    /// Its bridge, if that can still be used.
    pub(crate) fn bridge(&self) -> Option<Arc<Bridge>> {
        let state = self.lock();
        state.bridge.clone().filter(|bridge| bridge.is_alive())
    }

    /// What it offers by now, and how that differs from what it offered before, if the session knew it.
    pub(crate) fn offered(&self) -> (Arc<Offered>, Option<String>) {
        let mut state = self.lock();
        let current = state
            .bridge
            .as_ref()
            .map(|bridge| bridge.tools.borrow().clone());
        let Some(current) = current else {
            return (Arc::clone(&state.offered), None);
        };
        let is_known = state
            .listed
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, &current));
        if is_known {
            return (Arc::clone(&state.offered), None);
        }
        let has_resources = state.server_info.has_resources;
        let offered = Offered::new(&self.config.name, (*current).clone(), has_resources);
        let offered = Arc::new(offered);
        let knew = state.listed.is_some();
        let difference = offered.difference(&state.offered).filter(|_| knew);
        state.offered = Arc::clone(&offered);
        state.listed = Some(current);
        (offered, difference)
    }

    /// Offers what was offered some other time, until it is connected.
    pub(crate) fn remember(&self, server_info: ServerInfo, listed: Listed) {
        let mut state = self.lock();
        let has_resources = server_info.has_resources;
        let offered = Offered::new(&self.config.name, listed.clone(), has_resources);
        state.offered = Arc::new(offered);
        state.listed = Some(Arc::new(listed));
        state.server_info = server_info;
    }

    pub(crate) fn connected(&self, bridge: Arc<Bridge>, took: Duration) {
        let mut state = self.lock();
        state.connected_in = Some(took);
        state.server_info = bridge.server_info.clone();
        state.bridge = Some(bridge);
        state.is_used = true;
    }

    /// Lets go of its connection, if there is one; the session goes on using it.
    pub(crate) fn disconnect(&self) -> Option<Arc<Bridge>> {
        self.lock().bridge.take()
    }

    /// Takes its tools out of the session and lets go of its connection, if there is one.
    pub(crate) fn withdraw(&self) -> Option<Arc<Bridge>> {
        let mut state = self.lock();
        state.is_used = false;
        // Whoever takes it out by hand does not need to be told that it is started again.
        state.starts = 0;
        state.bridge.take()
    }

    /// Whether the user disabled it until the session ends.
    pub(crate) fn is_disabled(&self) -> bool {
        self.lock().is_disabled
    }

    pub(crate) fn set_disabled(&self, is_disabled: bool) {
        self.lock().is_disabled = is_disabled;
    }

    /// Whether it was connected in this session.
    pub(crate) fn was_connected(&self) -> bool {
        self.lock().connected_in.is_some()
    }

    /// Notes what the files of its command line hold as it is started.
    pub(crate) fn note_files(&self, files: Contents) {
        *self.started_with.lock() = Some(files);
    }

    /// Which of these files are not what they were when it was started last. None for the first start.
    pub(crate) fn changed_files(&self, now: &Contents) -> Vec<PathBuf> {
        let before = self.started_with.lock();
        let Some(before) = &*before else {
            return Vec::new();
        };
        let all: BTreeSet<&PathBuf> = before.keys().chain(now.keys()).collect();
        let changed = all
            .into_iter()
            .filter(|path| before.get(*path) != now.get(*path));
        changed.cloned().collect()
    }

    /// Counts a start, unless there were too many; how many there were before.
    pub(crate) fn start(&self) -> u32 {
        let mut state = self.lock();
        let before = state.starts;
        if before <= MAX_RESTARTS {
            state.starts += 1;
        }
        before
    }

    /// Counts its starts anew: the user wants it once more.
    pub(crate) fn forgive(&self) {
        self.lock().starts = 0;
    }

    /// The session uses it from now on, connected or not.
    pub(crate) fn set_used(&self) {
        self.lock().is_used = true;
    }

    pub(crate) fn is_used(&self) -> bool {
        self.lock().is_used
    }

    pub(crate) fn server_info(&self) -> ServerInfo {
        self.lock().server_info.clone()
    }

    /// Ends the connection, and forgets everything.
    pub(crate) fn forget(&self) {
        *self.lock() = ServerState::default();
        *self.consent.lock() = Consent::default();
    }

    /// What holds for a connection to it.
    pub(crate) fn terms(&self, has_model: bool) -> Terms {
        let consent = self.consent.lock();
        Terms {
            name: self.config.name.clone(),
            roots: self.config.roots.clone(),
            consent: consent.clone(),
            has_model,
        }
    }

    /// Whether a call of this tool is asked about.
    pub(crate) fn asks(&self, tool: &OfferedTool) -> bool {
        self.config.ask || self.config.ask_tools.contains(&tool.own_name)
    }

    pub(crate) fn report(&self) -> ServerReport {
        let (offered, _) = self.offered();
        let is_connected = self.bridge().is_some();
        let state = self.lock();
        ServerReport {
            name: self.config.name.clone(),
            place: self.place(),
            is_used: state.is_used,
            is_connected,
            is_disabled: state.is_disabled,
            connected_in: state.connected_in,
            server_info: state.server_info.clone(),
            tools: offered
                .tools
                .iter()
                .map(|it| (it.described.tool.name.clone(), it.is_destructive))
                .collect(),
            left_out: offered.left_out.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock()
    }
}
