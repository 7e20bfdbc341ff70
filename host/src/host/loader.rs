//! `mcp_loader`: the tool that connects servers, and the connecting itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Host;
use super::served::{Start, server_need};
use super::serving::Note;
use super::wording::checked_arguments;
use crate::Progress;
use crate::ask::{Ask, Scope};
use crate::audit::{Event, JsonLines};
use crate::call::{Call, Failure, Plan, Standing, Success};
use crate::capability::sampling::model_of;
use crate::capability::{self, Phase, chain};
use crate::display;
use crate::engine::clock::Clock;
use crate::engine::limiter::Limiter;
use crate::limits::{CLOSE_TIME, MAX_LOG_MESSAGE_BYTES, MAX_RESTARTS};
use crate::mcp::bridge::{Asked, Bridge, BridgeError};
use crate::mcp::offered::{Facts, Listed, Offered, some_of};
use crate::mcp::transport::ServerLog;
use crate::mcp::{Server, ServerAt};
use crate::permission::{Rule, ToolMode};
use crate::plugin::Tool;
use crate::target::{Need, Operation, Target};

impl Host {
    /// The tool that connects servers, if there are any.
    pub(super) fn loader_tool(&self) -> Option<Tool> {
        let loader = self.0.servers.loader.as_ref()?;
        Some(loader.tool.clone())
    }

    /// The servers that a call means, those that are connected left out.
    pub(super) fn meant(&self, call: &Call) -> Result<Vec<Arc<Server>>, Failure> {
        let servers = &self.0.servers;
        if let Some(loader) = &servers.loader {
            checked_arguments(loader, &call.arguments)?;
        }
        let name = call.arguments.get("server").and_then(|name| name.as_str());
        let named = servers
            .all
            .iter()
            .find(|server| name == Some(server.name()));
        if let Some(server) = named.filter(|server| server.is_disabled()) {
            return Err(Failure::Action {
                message: format!(
                    "the user disabled the MCP server {} for this session",
                    server.name()
                ),
            });
        }
        let meant = servers.all.iter().filter(|server| {
            name.is_none_or(|name| name == server.name())
                && server.bridge().is_none()
                && !server.is_disabled()
        });
        Ok(meant.cloned().collect())
    }

    /// Ends the connection to a server, within [`CLOSE_TIME`], and takes its tools out of the session until it is
    /// connected again. `false`: it was not in use.
    pub async fn disconnect_server(&self, name: &str) -> bool {
        let mut servers = self.0.servers.all.iter();
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

    /// Disables a server until the session ends, or enables it again. A disabled server is not connected, whoever asks
    /// for it; one that is connected has to be disconnected as well.
    pub fn set_server_disabled(&self, name: &str, is_disabled: bool) {
        let mut servers = self.0.servers.all.iter();
        if let Some(server) = servers.find(|server| server.name() == name) {
            server.set_disabled(is_disabled);
        }
    }

    pub(super) fn prepare_loader(&self, call: &Call) -> Result<Plan, Failure> {
        let meant = self.meant(call)?;
        let is_off = self.permissions().tool_mode(&call.tool) == ToolMode::Never;
        if let (true, Some(server)) = (is_off, meant.first()) {
            let rule = Rule::ToolNever(call.tool.clone());
            return Ok(Plan {
                question: "Connect the MCP servers?".to_owned(),
                needs: Vec::new(),
                actions: Vec::new(),
                standing: Standing::Denied {
                    need: server_need(server),
                    revert: rule.revert(Operation::Execute),
                    rule: rule.to_string(),
                },
            });
        }
        let mut needs: Vec<Need> = Vec::new();
        let mut open: Vec<Need> = Vec::new();
        let mut notices: Vec<String> = Vec::new();
        let mut denied = None;
        for server in &meant {
            match self.start_of(call, server)? {
                (Start::Needless, _) => {}
                (Start::Allowed(need), _) => needs.push(need),
                // Of several the others can still be connected.
                (Start::Denied(need), rule) => denied = Some((need, rule)),
                (Start::Asks(need), rule) => {
                    for notice in capability::notices(&rule) {
                        if !notices.contains(&notice) {
                            notices.push(notice);
                        }
                    }
                    needs.push(need.clone());
                    if !open.contains(&need) {
                        open.push(need);
                    }
                }
            }
        }
        let places = meant.iter().map(|server| {
            // Whole, as of one alone: it is what the answer is given to.
            let place = display::escape(&server.place()).into_owned();
            match &server.config.at {
                ServerAt::Program(program) if program.sandbox => {
                    format!(
                        "{} runs in the sandbox for commands: {place}",
                        server.name()
                    )
                }
                ServerAt::Program(_) => {
                    format!("{} runs without a sandbox: {place}", server.name())
                }
                ServerAt::Web { .. } => format!("{} is at {place}", server.name()),
            }
        });
        let places: Vec<String> = places.collect();
        let question = match (places.as_slice(), meant.first()) {
            ([_], Some(server)) => match &server.config.at {
                // Whole: it is what the answer is given to.
                ServerAt::Program(program) => format!(
                    "Start the MCP server '{}'? {}: {}",
                    server.name(),
                    match program.sandbox {
                        true => "It runs in the sandbox for commands",
                        false =>
                            "It runs without a sandbox, with access to all that you have access to",
                    },
                    server.place()
                ),
                ServerAt::Web { .. } => format!(
                    "Connect to the MCP server '{}' at {}?",
                    server.name(),
                    server.place()
                ),
            },
            ([], _) => "Connect the MCP servers? There is nothing to connect.".to_owned(),
            _ => {
                // A row for each server.
                notices.splice(0..0, places.iter().cloned());
                format!("Connect {} MCP servers?", places.len())
            }
        };
        let standing = match (denied, meant.len()) {
            (Some((need, rule)), 1) => Standing::Denied {
                revert: rule.revert(need.operation),
                need,
                rule: rule.to_string(),
            },
            _ if open.is_empty() => Standing::Allowed,
            _ => Standing::Ask {
                needs: open,
                notices,
                longest: Scope::Always,
            },
        };
        Ok(Plan {
            question,
            needs,
            actions: Vec::new(),
            standing,
        })
    }

    pub(super) async fn run_loader(
        &self,
        call: &Call,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Result<Success, Failure> {
        let meant = self.meant(call)?;
        if meant.is_empty() {
            return Ok(Success {
                text: self.what_is_connected(call),
                ..Success::default()
            });
        }
        let names: Vec<String> = meant.iter().map(|it| it.name().to_owned()).collect();
        let text = format!("connecting to {}", some_of(&names));
        progress.progress(&call.id, &text, None);
        let connections = meant.iter().map(|server| {
            let asked = Asked {
                call: call.id.clone(),
                tool: call.tool.clone(),
                arguments: call.arguments.clone(),
                ask: Arc::clone(&ask),
                progress: Arc::clone(&progress),
            };
            async move {
                let begin = Instant::now();
                let connected = self.connection_to(call, server, asked).await;
                (server, connected, begin.elapsed())
            }
        });
        let mut parts = Vec::new();
        let mut failed: Vec<String> = Vec::new();
        for (server, connected, took) in futures::future::join_all(connections).await {
            match connected {
                Ok(_) => parts.push(self.introduced(server, took)),
                Err(why) => {
                    failed.push(server.name().to_owned());
                    parts.push(format!(
                        "{} is not available: it {}.",
                        server.name(),
                        in_words(&why)
                    ));
                }
            }
        }
        if failed.len() == parts.len() {
            return Err(Failure::Tool {
                tool: call.tool.clone(),
                message: parts.join("\n"),
            });
        }
        let note = match failed.as_slice() {
            [] => format!("{} connected", some_of(&names)),
            failed => format!("not connected: {}", some_of(failed)),
        };
        Ok(Success {
            text: parts.join("\n"),
            note: Some(note),
            ..Success::default()
        })
    }

    /// What a server brings, for the model.
    fn introduced(&self, server: &Server, took: Duration) -> String {
        let offered = self.offered_by(server);
        let facts = server.facts();
        let names = offered.tools.iter();
        let names: Vec<String> = names.map(|it| it.described.tool.name.clone()).collect();
        let mut text = format!(
            "{} is connected ({} {}, {} ms). ",
            server.name(),
            facts.name,
            facts.version,
            took.as_millis()
        );
        text += &match names.len() {
            0 => "It offers no tools.".to_owned(),
            1 => format!("Its tool can be called now: {}.", names[0]),
            _ => format!("Its tools can be called now: {}.", names.join(", ")),
        };
        if !offered.left_out.is_empty() {
            text += &format!(" Not offered: {}.", some_of(&offered.left_out));
        }
        if let Some(instructions) = &facts.instructions {
            text += &format!("\nIt says about its use: {instructions}");
        }
        text
    }

    fn what_is_connected(&self, call: &Call) -> String {
        let name = call.arguments.get("server").and_then(|name| name.as_str());
        let servers = self.0.servers.all.iter();
        let meant = servers
            .filter(|it| name.is_none_or(|name| name == it.name()))
            .filter(|it| !it.is_disabled());
        let texts = meant.map(|server| {
            let offered = self.offered_by(server);
            let names = offered.tools.iter();
            let names: Vec<&str> = names.map(|it| it.described.tool.name.as_str()).collect();
            format!(
                "{} is connected already: {}.",
                server.name(),
                names.join(", ")
            )
        });
        match texts.collect::<Vec<_>>().join("\n") {
            none if none.is_empty() => {
                "The user disabled all MCP servers for this session.".to_owned()
            }
            texts => texts,
        }
    }

    /// The connection to a server, made if there is none. Whatever was decided is looked at again.
    pub(super) async fn connection_to(
        &self,
        call: &Call,
        server: &Arc<Server>,
        asked: Asked,
    ) -> Result<Arc<Bridge>, BridgeError> {
        let _alone = server.connecting.lock().await;
        if let Some(bridge) = server.bridge() {
            return Ok(bridge);
        }
        let broken = |why: String| BridgeError::Broken(why);
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
            Start::Asks(need) | Start::Denied(need) => {
                let rule = rule.to_string();
                let _ = self.log_served(call, server, &Note::denied(&need, &rule));
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
            let why = format!("{what} {before} times in this session and is left alone now");
            return Err(broken(why));
        }
        if before > 0 && was_there {
            let name = server.name();
            let notice = format!("the MCP server {name} is started again");
            self.0.shared.notices.push(notice);
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
        self.log_served(call, server, &note)
            .map_err(|e| broken(e.to_string()))?;
        let begin = Instant::now();
        let knew = server.is_known();
        let bridge = Arc::new(self.connect(server, asked).await?);
        server.connected(Arc::clone(&bridge), begin.elapsed());
        let offered = self.offered_by(server);
        // What changed since another session.
        if let (false, Some((facts, listed))) = (knew, self.kept_definitions(server)) {
            let before = Offered::new(server.name(), listed, facts.has_resources);
            if let Some(difference) = offered.difference(&before) {
                let name = server.name();
                let notice = format!(
                    "the tools of the MCP server {name} changed since it was used last: {difference}"
                );
                self.0.shared.notices.push(notice);
            }
        }
        self.keep_definitions(server, &bridge);
        Ok(bridge)
    }

    async fn connect(&self, server: &Server, asked: Asked) -> Result<Bridge, BridgeError> {
        let limit = server.config.timeout;
        let engine = self.bridge_engine().await;
        let engine = engine.map_err(|why| {
            BridgeError::Broken(format!(
                "cannot be connected: the bridge does not start: {why}"
            ))
        })?;
        let log = PluginLog {
            lines: Arc::clone(&self.0.shared),
            plugin: server.id.name.clone(),
        };
        let connecting = async {
            match &server.config.at {
                ServerAt::Program(program) if program.sandbox => {
                    let options = &self.0.shared.commands;
                    let announced = self.cage_of_commands().await;
                    let announced = announced.map_err(|e| format!("cannot be started: {e}"))?;
                    let access = self.permissions().access_of_commands(options);
                    let access = access.map_err(|e| format!("cannot be started: {}", chain(&e)))?;
                    program
                        .connect_caged(&log, options, &announced, access, &self.0.shared.notices)
                        .await
                }
                ServerAt::Program(program) => {
                    crate::mcp::transport::Connect::connect(program, &log).await
                }
                ServerAt::Web { connect, .. } => connect.connect(&log).await,
            }
        };
        let connection = tokio::time::timeout(limit, connecting)
            .await
            .map_err(|_| BridgeError::TimedOut(limit))?
            .map_err(BridgeError::Broken)?;
        let mut state = crate::capability::CallState::new(
            Arc::clone(&self.0.shared),
            Phase::Run,
            &asked.call,
            &asked.tool,
            Arc::clone(&server.id),
            Clock::start(limit),
            Limiter::new(self.0.limits.memory_bytes),
        );
        let terms = server.terms(model_of(asked.ask.as_ref()).is_some());
        state.begin_call(asked);
        Bridge::connect(engine, state, connection, terms, limit).await
    }

    /// Keeps what a server offers, so that a session can be gone on with before it is connected again.
    fn keep_definitions(&self, server: &Server, bridge: &Bridge) {
        let listed = bridge.tools.borrow().clone();
        if let Ok(bytes) = serde_json::to_vec(&(&bridge.facts, &*listed)) {
            self.0.cache.keep_tools(&server.id.digest, &bytes);
        }
    }

    /// What it offered the last time.
    fn kept_definitions(&self, server: &Server) -> Option<(Facts, Listed)> {
        self.0.cache.tools(&server.id.digest, |bytes| {
            serde_json::from_slice::<(Facts, Listed)>(bytes).ok()
        })
    }

    /// The session goes on that used these servers. They are connected when one of their tools is called; until then what
    /// they offered the last time is offered.
    pub fn use_servers(&self, names: &[String]) {
        for name in names {
            let mut servers = self.0.servers.all.iter();
            let Some(server) = servers.find(|server| server.name() == name) else {
                let notice = format!(
                    "this session used the MCP server {name}, which is not configured any more"
                );
                self.0.shared.notices.push(notice);
                continue;
            };
            if server.is_used() {
                continue;
            }
            let notice = match self.kept_definitions(server) {
                Some((facts, listed)) => {
                    server.remember(facts, listed);
                    server.set_used();
                    format!(
                        "this session uses the MCP server {name}: it is connected when a tool of it is called"
                    )
                }
                None => {
                    format!("this session used the MCP server {name}: mcp_loader connects it again")
                }
            };
            self.0.shared.notices.push(notice);
        }
    }

    /// The servers that the session uses, by name.
    pub fn used_servers(&self) -> Vec<String> {
        let used = self.0.servers.all.iter().filter(|it| it.is_used());
        used.map(|it| it.name().to_owned()).collect()
    }

    /// Whether any server is connected.
    pub fn has_connections(&self) -> bool {
        let mut servers = self.0.servers.all.iter();
        servers.any(|server| server.bridge().is_some())
    }

    /// Takes leave of all servers, side by side, and waits until they are gone, within a second. Those that take longer are
    /// cut off. A server is connected again when a tool of it is called.
    pub async fn close_servers(&self) {
        let servers = self.0.servers.all.iter();
        let bridges: Vec<Arc<Bridge>> = servers.filter_map(|it| it.disconnect()).collect();
        let closing = futures::future::join_all(bridges.iter().map(|bridge| bridge.close()));
        // What is not gone by then goes with the bridges.
        let _ = tokio::time::timeout(CLOSE_TIME, closing).await;
    }

    /// Ends all connections: another session begins.
    pub(super) fn forget_servers(&self) {
        for server in &self.0.servers.all {
            server.forget();
        }
        *self.0.servers.state() = crate::mcp::State::default();
    }
}

pub(super) fn in_words(why: &BridgeError) -> String {
    match why {
        BridgeError::Broken(why) => display::escape(why).into_owned(),
        BridgeError::Refused(text) | BridgeError::Tool(text) => {
            format!("refused: {}", display::escape(text))
        }
        BridgeError::TimedOut(limit) => {
            format!("did not answer within {} s (timeout_secs)", limit.as_secs())
        }
        BridgeError::Cancelled => "was interrupted".to_owned(),
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
