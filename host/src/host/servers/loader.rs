//! `mcp_loader`: the tool that connects servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::McpTools;
use super::tool::{Start, longest_start};
use crate::Progress;
use crate::ask::{Answer, Ask};
use crate::call::{Call, Failure, Plan, PlanStatus, Success};
use crate::display;
use crate::host::results::checked_arguments;
use crate::mcp::connection::ServerCall;
use crate::mcp::offered::some_of;
use crate::mcp::{Server, ServerAt};
use crate::plugin::Tool;
use crate::target::{Need, Operation};

impl McpTools {
    /// The tool that connects servers, if there are any.
    pub(in crate::host) fn loader_tool(&self) -> Option<Tool> {
        let loader = self.servers.loader.as_ref()?;
        Some(loader.tool.clone())
    }

    /// The servers that a call means, those that are connected left out.
    pub(super) fn meant(&self, call: &Call) -> Result<Vec<Arc<Server>>, Failure> {
        let servers = &self.servers;
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

    pub(in crate::host) fn prepare_loader(&self, call: &Call) -> Result<Plan, Failure> {
        let meant = self.meant(call)?;
        let refused = self.shared.permissions.refusal_of_server(&call.tool);
        if let (Some(rule), Some(server)) = (refused, meant.first()) {
            return Ok(Plan {
                question: "Connect the MCP servers?".to_owned(),
                needs: Vec::new(),
                actions: Vec::new(),
                status: PlanStatus::Denied {
                    need: Some(self.server_need(server)),
                    revert: rule.revert(Operation::Execute),
                    rule: rule.to_string(),
                },
                runs_in_parallel: false,
            });
        }
        let mut needs: Vec<Need> = Vec::new();
        let mut open: Vec<Need> = Vec::new();
        let mut notices: Vec<String> = Vec::new();
        let mut denied = None;
        for server in &meant {
            match self.start_of(call, server)? {
                (Start::Needless | Start::Missing(_), _) => {}
                (Start::Allowed(need), _) => needs.push(need),
                // Of several the others can still be connected.
                (Start::Denied(need), rule) => denied = Some((need, rule)),
                (Start::Asks(need), rule) => {
                    for notice in self.notices_of_start(server, &rule) {
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
        let status = match (denied, meant.len()) {
            (Some((need, rule)), 1) => PlanStatus::Denied {
                revert: rule.revert(need.operation),
                need: Some(need),
                rule: rule.to_string(),
            },
            _ if open.is_empty() => PlanStatus::Allowed,
            _ => PlanStatus::Ask {
                longest: longest_start(&open),
                lasting: open.clone(),
                needs: open,
                notices,
            },
        };
        Ok(Plan {
            question,
            needs,
            actions: Vec::new(),
            status,
            runs_in_parallel: false,
        })
    }

    /// Remembers an answer to the start of each server that the call means.
    pub(in crate::host) fn answer_loader(
        &self,
        call: &Call,
        open: &[Need],
        answer: Answer,
        rule: &str,
    ) -> Result<(), Failure> {
        for server in self.meant(call)? {
            self.answer_start(call, &server, open, answer, rule)?;
        }
        Ok(())
    }

    pub(in crate::host) async fn run_loader(
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
            let server_call = ServerCall {
                call: call.id.clone(),
                tool: call.tool.clone(),
                arguments: call.arguments.clone(),
                ask: Arc::clone(&ask),
                progress: Arc::clone(&progress),
            };
            async move {
                let begin = Instant::now();
                let connected = self.connection_to(call, server, server_call).await;
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
                    parts.push(format!("{} is not available: it {}.", server.name(), why));
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
        let server_info = server.server_info();
        let names = offered.tools.iter();
        let names: Vec<String> = names.map(|it| it.described.tool.name.clone()).collect();
        let mut text = format!(
            "{} is connected ({} {}, {} ms). ",
            server.name(),
            server_info.name,
            server_info.version,
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
        if let Some(instructions) = &server_info.instructions {
            text += &format!("\nIt says about its use: {instructions}");
        }
        text
    }

    fn what_is_connected(&self, call: &Call) -> String {
        let name = call.arguments.get("server").and_then(|name| name.as_str());
        let servers = self.servers.all.iter();
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
}
