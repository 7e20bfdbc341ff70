//! Connects servers, and lets go of them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::McpTools;
use super::note::Note;
use super::tool::Start;
use crate::audit::{Event, JsonLines};
use crate::call::Call;
use crate::capability::sampling::model_of;
use crate::capability::{CallState, Phase};
use crate::display::chain;
use crate::engine::error::EngineError;
use crate::engine::memory_limit::Limiter;
use crate::engine::time_limit::Clock;
use crate::limits::{CLOSE_TIME, MAX_LOG_MESSAGE_BYTES, MAX_RESTARTS};
use crate::mcp::ServerInfo;
use crate::mcp::bridge::{Bridge, BridgeError};
use crate::mcp::connection::ServerCall;
use crate::mcp::engine::BridgeEngine;
use crate::mcp::offered::{Listed, Offered};
use crate::mcp::transport::{ServerLog, TransportError};
use crate::mcp::{Program, Server, ServerAt};
use crate::target::{CommandTarget, Need, Operation, Target};

impl McpTools {
    /// Ends the connection to a server, within [`CLOSE_TIME`], and takes its tools out of the session until it is
    /// connected again. `false`: it was not in use.
    pub(in crate::host) async fn disconnect(&self, name: &str) -> bool {
        let mut servers = self.servers.all.iter();
        let Some(server) = servers.find(|server| server.name() == name) else {
            return false;
        };
        let was_used = server.is_used();
        let bridge = server.withdraw();
        if let Some(bridge) = &bridge {
            // What is not gone by then goes with the bridge.
            let _ = tokio::time::timeout(CLOSE_TIME, bridge.close()).await;
        }
        was_used || bridge.is_some()
    }

    /// Counts the starts of a server anew.
    pub(in crate::host) fn forgive(&self, name: &str) {
        let mut servers = self.servers.all.iter();
        if let Some(server) = servers.find(|server| server.name() == name) {
            server.forgive();
        }
    }

    /// Disables a server until the session ends, or enables it again.
    pub(in crate::host) fn set_disabled(&self, name: &str, is_disabled: bool) {
        let mut servers = self.servers.all.iter();
        if let Some(server) = servers.find(|server| server.name() == name) {
            server.set_disabled(is_disabled);
        }
    }

    /// The connection to a server, made if there is none. Whatever was decided is looked at again.
    pub(super) async fn connection_to(
        &self,
        call: &Call,
        server: &Arc<Server>,
        server_call: ServerCall,
    ) -> Result<Arc<Bridge>, BridgeError> {
        let _alone = server.connecting.lock().await;
        if let Some(bridge) = server.bridge() {
            return Ok(bridge);
        }
        let broken = |why: String| BridgeError::Broken(why);
        // This can take seconds, in which commands may change programs: it comes before what is decided.
        let engine = self.engine().await.map_err(|why| {
            broken(format!(
                "cannot be connected: the bridge does not start: {why}"
            ))
        })?;
        let (start, rule) = self
            .start_of(call, server)
            .map_err(|e| broken(e.to_string()))?;
        let line = server.place();
        let need = match start {
            Start::Needless => Need {
                target: Target::Url(line.as_str().into()),
                operation: Operation::Write,
            },
            Start::Allowed(need) => need,
            Start::Missing(why) => return Err(broken(chain(&why))),
            Start::Asks(need) | Start::Denied(need) => {
                let rule = rule.to_string();
                let _ = self.log(call, server, &Note::denied(&need, &rule));
                return Err(broken("may not be started: permission denied".to_owned()));
            }
        };
        let before = server.start();
        let was_there = server.was_connected();
        if before > MAX_RESTARTS {
            let what = match was_there {
                true => "ended",
                false => "could not be connected",
            };
            let why = format!(
                "{what} {before} times in this session and is left alone now; the user can start it again with \
                 /mcp connect {}",
                server.name()
            );
            return Err(broken(why));
        }
        if before > 0 && was_there {
            let name = server.name();
            let notice = format!("The MCP server {name} is started again.");
            self.shared.notices.push(notice);
        }
        let rule = rule.to_string();
        let note = Note {
            event: Event::Used,
            need: Some(&need),
            rule: Some(&rule),
            line: Some(&line),
            ..Note::ended()
        };
        // What cannot be logged does not happen.
        self.log(call, server, &note)
            .map_err(|e| broken(e.to_string()))?;
        server.note_files(self.files_of_start(server));
        let begin = Instant::now();
        let knew = server.is_known();
        let path = need.target.command().and_then(CommandTarget::started);
        let bridge = Arc::new(self.connect(engine, server, path, server_call).await?);
        server.connected(Arc::clone(&bridge), begin.elapsed());
        let offered = self.offered_by(server);
        // What changed since another session.
        if let (false, Some((server_info, listed))) = (knew, self.kept_definitions(server)) {
            let before = Offered::new(server.name(), listed, server_info.has_resources);
            if let Some(difference) = offered.difference(&before) {
                let name = server.name();
                let notice = format!(
                    "the tools of the MCP server {name} changed since it was used last: {difference}"
                );
                self.shared.notices.push(notice);
            }
        }
        self.keep_definitions(server, &bridge);
        Ok(bridge)
    }

    /// What bridges are made with; compiled or loaded at the first call.
    async fn engine(&self) -> Result<Arc<BridgeEngine>, EngineError> {
        let servers = &self.servers;
        let make = async || {
            let bridge = servers.bridge.clone();
            let bridge = bridge.ok_or(EngineError::new("this Dunlin has no bridge to servers"))?;
            let machine = Arc::clone(self.guests.machine().map_err(Clone::clone)?);
            let (guests, version) = (Arc::clone(&self.guests), servers.version.clone());
            let make =
                move || BridgeEngine::new(machine, &guests.cache, &bridge, guests.limits, &version);
            let made = tokio::task::spawn_blocking(make).await;
            made.unwrap_or_else(|_| Err(EngineError::new("the compiler gave up")))
                .map(Arc::new)
        };
        servers.engine.get_or_init(make).await.clone()
    }

    /// Connects a server; one that is a program by starting what is at `path`, about which was decided.
    async fn connect(
        &self,
        engine: Arc<BridgeEngine>,
        server: &Server,
        path: Option<&Path>,
        server_call: ServerCall,
    ) -> Result<Bridge, BridgeError> {
        let limit = server.config.timeout;
        let log = PluginLog {
            lines: Arc::clone(&self.shared),
            plugin: server.id.name.clone(),
        };
        let connecting = async {
            let decided = |program: &Program| {
                path.ok_or_else(|| TransportError::NoProgram(program.command.clone()))
            };
            match &server.config.at {
                ServerAt::Program(program) if program.sandbox => {
                    let path = decided(program)?;
                    let options = &self.shared.commands;
                    let announced = self.shared.announced_sandbox().await;
                    let announced = announced.map_err(|e| TransportError::Start(e.into()))?;
                    let access = self.shared.permissions.access_of_commands(options, None);
                    let access = access.map_err(|e| TransportError::Start(e.into()))?;
                    let notices = &self.shared.notices;
                    program
                        .connect_sandboxed(path, &log, options, &announced, access, notices)
                        .await
                }
                ServerAt::Program(program) => {
                    let program = program.now(&self.shared.permissions);
                    program.connect(decided(&program)?, &log)
                }
                ServerAt::Web { connect, .. } => connect.connect(&log).await,
            }
        };
        let connection = tokio::time::timeout(limit, connecting)
            .await
            .map_err(|_| BridgeError::TimedOut(limit))?
            .map_err(|error| BridgeError::Broken(chain(&error)))?;
        let mut state = CallState::new(
            Arc::clone(&self.shared),
            Phase::Run,
            &server_call.call,
            &server_call.tool,
            Arc::clone(&server.id),
            Clock::start(limit),
            Limiter::new(self.guests.limits.memory_bytes),
        );
        let terms = server.terms(model_of(server_call.ask.as_ref()).is_some());
        state.begin_call(server_call);
        Bridge::connect(engine, state, connection, terms, limit).await
    }

    /// Keeps what a server offers, so that a session can be gone on with before it is connected again.
    fn keep_definitions(&self, server: &Server, bridge: &Bridge) {
        let listed = bridge.tools.borrow().clone();
        if let Ok(bytes) = serde_json::to_vec(&(&bridge.server_info, &*listed)) {
            self.guests.cache.keep_tools(&server.id.digest, &bytes);
        }
    }

    /// What it offered the last time.
    fn kept_definitions(&self, server: &Server) -> Option<(ServerInfo, Listed)> {
        self.guests.cache.tools(&server.id.digest, |bytes| {
            serde_json::from_slice::<(ServerInfo, Listed)>(bytes).ok()
        })
    }

    /// The session goes on that used these servers. They are connected when one of their tools is called; until then what
    /// they offered the last time is offered.
    pub(in crate::host) fn use_servers(&self, names: &[String]) {
        for name in names {
            let mut servers = self.servers.all.iter();
            let Some(server) = servers.find(|server| server.name() == name) else {
                let notice = format!(
                    "this session used the MCP server {name}, which is not configured any more"
                );
                self.shared.notices.push(notice);
                continue;
            };
            if server.is_used() {
                continue;
            }
            let notice = match self.kept_definitions(server) {
                Some((server_info, listed)) => {
                    server.remember(server_info, listed);
                    server.set_used();
                    format!(
                        "this session uses the MCP server {name}: it is connected when a tool of it is called"
                    )
                }
                None => {
                    format!("this session used the MCP server {name}: mcp_loader connects it again")
                }
            };
            self.shared.notices.push(notice);
        }
    }

    /// The servers that the session uses, by name.
    pub(in crate::host) fn used(&self) -> Vec<String> {
        let used = self.servers.all.iter().filter(|it| it.is_used());
        used.map(|it| it.name().to_owned()).collect()
    }

    /// Whether any server is connected.
    pub(in crate::host) fn has_connections(&self) -> bool {
        let mut servers = self.servers.all.iter();
        servers.any(|server| server.bridge().is_some())
    }

    /// Takes leave of all servers, side by side, and waits until they are gone, within a second. Those that take longer are
    /// cut off. A server is connected again when a tool of it is called.
    pub(in crate::host) async fn close(&self) {
        let servers = self.servers.all.iter();
        let bridges: Vec<Arc<Bridge>> = servers.filter_map(|it| it.disconnect()).collect();
        let closing = futures::future::join_all(bridges.iter().map(|bridge| bridge.close()));
        // What is not gone by then goes with the bridges.
        let _ = tokio::time::timeout(CLOSE_TIME, closing).await;
    }

    /// Ends all connections: another session begins.
    pub(in crate::host) fn forget_all(&self) {
        for server in &self.servers.all {
            server.forget();
        }
        *self.servers.state() = crate::mcp::State::default();
    }
}

/// Writes what a server says beside the protocol into the log of plugins.
struct PluginLog {
    lines: Arc<crate::capability::Shared>,
    plugin: String,
}

impl ServerLog for PluginLog {
    fn keep(&self) -> Box<dyn FnMut(&str) + Send> {
        let shared = Arc::clone(&self.lines);
        let plugin = self.plugin.clone();
        Box::new(move |text| {
            let message = &text[..text.floor_char_boundary(MAX_LOG_MESSAGE_BYTES)];
            let line = serde_json::json!({
                "time": crate::audit::now(),
                "plugin": plugin,
                "level": "info",
                "message": message,
            });
            // A convenience: failing to write it fails nothing.
            let _ = JsonLines::append(&shared.log, &[line]);
        })
    }
}
