//! Tools of servers: they go the way of all calls, and end at a bridge instead of a guest.

use std::sync::Arc;
use std::time::Instant;

use super::Host;
use super::wording::{checked_arguments, fault, success};
use crate::Progress;
use crate::ask::{Answer, Ask, Scope};
use crate::audit::{self, Event, Record};
use crate::bindings::bridge::exports::dunlin::tool::mcp_client as bridge;
use crate::bindings::exports::dunlin::tool::tool as wire;
use crate::call::{Call, Failure, Outcome, Plan, Standing, Success};
use crate::capability::{self, chain};
use crate::display;
use crate::limits::MAX_FAILURE_BYTES;
use crate::mcp::bridge::{Asked, BridgeError, Reply, Request};
use crate::mcp::offered::{Does, Offered, OfferedTool};
use crate::mcp::{Server, ServerAt};
use crate::permission::{Caller, Decision, Rule, ToolMode, Verdict};
use crate::plugin::Tool;
use crate::target::{Need, Operation, Target};

/// What the user is told of a tool whose server says so.
const DESTRUCTIVE: &str = "The server says that this may destroy something.";

/// Something that a call may name beside the plugins' tools.
pub(super) enum Served {
    /// The tool that connects servers.
    Loader,
    /// A tool of a server, at a place among those it offers.
    Tool(Arc<Server>, Arc<Offered>, usize),
}

impl Host {
    /// The tools of the servers that this session uses, by now.
    pub fn joined(&self) -> Vec<Tool> {
        let is_free = |name: &str| {
            let described = self.0.plugins.iter();
            let described = described.filter_map(|plugin| plugin.described.get()?.as_ref().ok());
            let mut tools = described.flat_map(|described| &described.tools);
            tools.all(|other| other.tool.name != name)
        };
        let mut tools = Vec::new();
        for server in self.0.servers.all.iter().filter(|it| it.is_used()) {
            let offered = self.offered_by(server);
            let offered = offered.tools.iter().map(|it| &it.described.tool);
            tools.extend(offered.filter(|tool| is_free(&tool.name)).cloned());
        }
        tools
    }

    /// What happened to servers and was not told yet, one line each.
    pub fn take_server_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.0.servers.state().notices)
    }

    /// The servers that were configured.
    pub fn servers(&self) -> Vec<crate::mcp::ServerReport> {
        let servers = self.0.servers.all.iter();
        servers.map(|server| server.report()).collect()
    }

    pub(super) fn served_names(&self) -> Vec<String> {
        let loader = self.loader_tool().map(|tool| tool.name);
        let joined = self.joined().into_iter().map(|tool| tool.name);
        joined.chain(loader).collect()
    }

    /// What a server offers by now; a change is told.
    pub(super) fn offered_by(&self, server: &Server) -> Arc<Offered> {
        let (offered, difference) = server.offered();
        if let Some(difference) = difference {
            let name = server.name();
            let notice = format!("the tools of the MCP server {name} changed: {difference}");
            self.0.servers.notice(notice);
        }
        offered
    }

    /// Finds what no plugin has.
    pub(super) async fn served(&self, name: &str) -> Option<Served> {
        if self.0.servers.all.is_empty() || self.find(name).await.is_ok() {
            return None;
        }
        if self.loader_tool().is_some_and(|loader| loader.name == name) {
            return Some(Served::Loader);
        }
        let mut servers = self.0.servers.all.iter().filter(|it| it.is_used());
        servers.find_map(|server| {
            let offered = self.offered_by(server);
            let index = offered
                .tools
                .iter()
                .position(|tool| tool.described.tool.name == name)?;
            Some(Served::Tool(Arc::clone(server), offered, index))
        })
    }

    pub(super) async fn prepare_served(
        &self,
        call: &Call,
        unknown: Failure,
    ) -> Result<Plan, Failure> {
        match self.served(&call.tool).await {
            None => Err(unknown),
            Some(Served::Loader) => self.prepare_loader(call),
            Some(Served::Tool(server, offered, index)) => {
                self.prepare_tool(call, &server, &offered.tools[index])
            }
        }
    }

    fn prepare_tool(
        &self,
        call: &Call,
        server: &Server,
        tool: &OfferedTool,
    ) -> Result<Plan, Failure> {
        checked_arguments(&tool.described, &call.arguments)?;
        let name = display::escape(&tool.own_name);
        let name = display::shorten(&name, 100);
        let mut question = format!("Call '{name}' of the MCP server '{}'?", server.name());
        let mut needs = Vec::new();
        let mut standing = match self.permissions().tool_mode(&call.tool) {
            ToolMode::Never => Standing::Denied {
                need: server_need(server),
                rule: Rule::ToolNever(call.tool.clone()).to_string(),
            },
            mode => {
                let state = self.0.servers.state();
                let key = (call.tool.clone(), tool.digest.clone());
                let is_asked = server.asks(tool)
                    && mode == ToolMode::Prompt
                    && !state.allowed.contains(&key)
                    && !state.answered.contains(&call.id);
                match is_asked {
                    true => Standing::Ask {
                        needs: Vec::new(),
                        notices: Vec::new(),
                        longest: Scope::Session,
                    },
                    false => Standing::Allowed,
                }
            }
        };
        // A session that is gone on with names tools of servers that do not run yet.
        if server.bridge().is_none() && !matches!(standing, Standing::Denied { .. }) {
            let (start, rules) = self.start_of(call, server)?;
            if let Start::Asks(need) | Start::Denied(need) | Start::Allowed(need) = &start {
                needs.push(need.clone());
            }
            match (start, &mut standing) {
                (Start::Denied(need), _) => {
                    let rule = rules.to_string();
                    standing = Standing::Denied { need, rule };
                }
                (Start::Asks(need), _) => {
                    question = format!("{question} It has to be started first: {}", server.place());
                    standing = Standing::Ask {
                        needs: vec![need],
                        notices: capability::notices(&rules),
                        longest: match standing {
                            Standing::Allowed => Scope::Always,
                            _ => Scope::Session,
                        },
                    };
                }
                (Start::Allowed(_) | Start::Needless, _) => {}
            }
        }
        if let Standing::Ask { notices, .. } = &mut standing
            && tool.is_destructive
        {
            notices.push(DESTRUCTIVE.to_owned());
        }
        let mut state = self.0.servers.state();
        state.prepared.insert(call.id.clone(), tool.digest.clone());
        Ok(Plan {
            question,
            needs,
            actions: Vec::new(),
            standing,
        })
    }

    /// What holds for starting a server, and which rule says so.
    pub(super) fn start_of(&self, call: &Call, server: &Server) -> Result<(Start, Rule), Failure> {
        let ServerAt::Program(program) = &server.config.at else {
            return Ok((Start::Needless, Rule::Web));
        };
        let Some(path) = program.path() else {
            // Starting it says so.
            return Ok((Start::Needless, Rule::Executing));
        };
        let path = crate::resolve::real_path(&path).map_err(|e| Failure::Host(chain(&e)))?;
        let need = Need {
            target: Target::Program(path),
            operation: Operation::Execute,
        };
        let caller = Caller {
            call: &call.id,
            tool: &call.tool,
            plugin: &server.id,
            declared: true,
        };
        let Decision { verdict, rule } = self
            .permissions()
            .decide(&caller, &need)
            .map_err(|e| Failure::Host(chain(&e)))?;
        let start = match verdict {
            Verdict::Allow => Start::Allowed(need),
            Verdict::Deny => Start::Denied(need),
            Verdict::Ask => Start::Asks(need),
        };
        Ok((start, rule))
    }

    pub(super) fn answer_served(
        &self,
        call: &Call,
        plan: &Plan,
        answer: Answer,
        unknown: Failure,
    ) -> Result<(), Failure> {
        let (open, longest) = match &plan.standing {
            Standing::Ask { needs, longest, .. } => (needs.as_slice(), *longest),
            Standing::Allowed | Standing::Denied { .. } => (&[][..], Scope::Once),
        };
        let answer = answer.at_most(longest);
        let loader = self.loader_tool().is_some_and(|it| it.name == call.tool);
        let mut is_known = loader;
        for server in &self.0.servers.all {
            let offered = self.offered_by(server);
            let mut tools = offered.tools.iter();
            let tool = tools.find(|tool| tool.described.tool.name == call.tool);
            is_known |= tool.is_some();
            if let Some(tool) = tool
                && answer.allow
            {
                let mut state = self.0.servers.state();
                state.answered.insert(call.id.clone());
                if answer.scope != Scope::Once {
                    let key = (call.tool.clone(), tool.digest.clone());
                    state.allowed.insert(key);
                }
            }
            if tool.is_some() && !answer.allow && answer.scope != Scope::Once {
                // There is no target to keep a lasting no under: it is one to the tool, until the session ends.
                self.permissions()
                    .set_tool_mode(&call.tool, ToolMode::Never);
            }
            if tool.is_none() && !loader {
                continue;
            }
            // Each server is granted its own program: another one gains nothing by it.
            let (Start::Asks(need), _) = self.start_of(call, server)? else {
                continue;
            };
            if !open.contains(&need) {
                continue;
            }
            if !answer.allow {
                let rule = crate::describe_answer(answer);
                self.log_served(call, server, &Note::denied(&need, &rule))?;
            }
            self.permissions()
                .remember(&call.id, &server.id, &[need], answer)
                .map_err(|e| Failure::Host(chain(&e)))?;
        }
        match is_known {
            true => Ok(()),
            false => Err(unknown),
        }
    }

    pub(super) fn forget_served(&self, call: &str) {
        let mut state = self.0.servers.state();
        state.prepared.remove(call);
        state.answered.remove(call);
    }

    pub(super) async fn run_served(
        &self,
        call: &Call,
        tool: Served,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Outcome {
        let begin = Instant::now();
        let result = match tool {
            Served::Loader => self.run_loader(call, ask, progress).await,
            Served::Tool(server, offered, index) => {
                let tool = &offered.tools[index];
                self.run_tool(call, &server, tool, ask, progress).await
            }
        };
        Outcome {
            result,
            duration: begin.elapsed(),
        }
    }

    async fn run_tool(
        &self,
        call: &Call,
        server: &Arc<Server>,
        tool: &OfferedTool,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Result<Success, Failure> {
        let asked = || Asked {
            call: call.id.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            ask: Arc::clone(&ask),
            progress: Arc::clone(&progress),
        };
        let begin = Instant::now();
        let was_connected = server.bridge().is_some();
        if !was_connected {
            let text = format!("connecting to the MCP server {}", server.name());
            progress.progress(&call.id, &text, None);
        }
        let bridge = self.connection_to(call, server, asked()).await;
        let bridge = bridge.map_err(|why| said(call, server, why))?;
        let offered = self.offered_by(server);
        let mut tools = offered.tools.iter();
        let current = tools.find(|it| it.described.tool.name == call.tool);
        let shown = self.0.servers.state().prepared.get(&call.id).cloned();
        if current.map(|it| &it.digest) != shown.as_ref() || shown.as_ref() != Some(&tool.digest) {
            return Err(Failure::Action {
                message: format!(
                    "the MCP server {} changed its tool {} since this call was written; call it again as it is \
                     described now",
                    server.name(),
                    call.tool
                ),
            });
        }
        let arguments = checked_arguments(&tool.described, &call.arguments)?;
        let request = match tool.does {
            Does::Call => Request::CallTool {
                name: tool.own_name.clone(),
                arguments,
            },
            Does::ListResources => Request::ListResources,
            Does::ReadResource => {
                let uri = call.arguments.get("uri").and_then(|uri| uri.as_str());
                Request::ReadResource(uri.unwrap_or_default().to_owned())
            }
        };
        let answered = bridge.request(request, asked()).await;
        let result = match answered {
            Ok(Reply::Content(content)) => {
                let max_bytes = self.0.limits.result_bytes;
                success(
                    &call.tool,
                    content.into_iter().map(of_bridge).collect(),
                    max_bytes,
                )
            }
            Ok(Reply::Resources(things)) => Ok(Success {
                text: of_things(&things),
                ..Success::default()
            }),
            Ok(Reply::Prompts(_)) => Err(fault(&call.tool, "answered something else".to_owned())),
            Err(why) => Err(said(call, server, why)),
        };
        let result = result.map(|mut success| {
            if !was_connected {
                success.note = Some(format!("{} connected", server.name()));
            }
            success
        });
        let error = result.as_ref().err().map(ToString::to_string);
        let note = Note {
            duration_us: u64::try_from(begin.elapsed().as_micros()).ok(),
            error: error.as_deref(),
            ..Note::ended()
        };
        self.log_served(call, server, &note)?;
        result
    }

    /// Writes into the audit log what a call did with a server.
    pub(super) fn log_served(
        &self,
        call: &Call,
        server: &Server,
        note: &Note<'_>,
    ) -> Result<(), Failure> {
        let session = self.0.shared.session();
        let target = note.need.map(|need| need.target.to_string());
        let record = Record {
            time: audit::now(),
            session: &session,
            call: &call.id,
            tool: &call.tool,
            plugin: &server.id.name,
            digest: &server.id.digest,
            event: note.event,
            target: target.as_deref(),
            operation: note.need.map(|need| need.operation.verb()),
            rule: note.rule,
            times: None,
            bytes: None,
            duration_us: note.duration_us,
            line: note.line,
            error: note.error,
        };
        let logged = self.0.shared.audit.append(&[record]);
        logged.map_err(|e| Failure::Host(chain(&e)))
    }
}

/// What is noted of a call in the audit log.
pub(super) struct Note<'a> {
    pub(super) event: Event,
    pub(super) need: Option<&'a Need>,
    pub(super) rule: Option<&'a str>,
    pub(super) line: Option<&'a str>,
    pub(super) duration_us: Option<u64>,
    pub(super) error: Option<&'a str>,
}

impl<'a> Note<'a> {
    pub(super) fn ended() -> Note<'a> {
        Note {
            event: Event::Ended,
            need: None,
            rule: None,
            line: None,
            duration_us: None,
            error: None,
        }
    }

    pub(super) fn denied(need: &'a Need, rule: &'a str) -> Note<'a> {
        Note {
            event: Event::Denied,
            need: Some(need),
            rule: Some(rule),
            ..Note::ended()
        }
    }
}

/// What holds for starting a server.
pub(super) enum Start {
    /// There is nothing to be started.
    Needless,
    Allowed(Need),
    Asks(Need),
    Denied(Need),
}

/// What stands for a server where a need has to be named.
fn server_need(server: &Server) -> Need {
    let program = match &server.config.at {
        ServerAt::Program(program) => program.path(),
        ServerAt::Web { .. } => None,
    };
    Need {
        target: match program {
            Some(path) => Target::Program(path),
            None => Target::Url(server.place()),
        },
        operation: Operation::Execute,
    }
}

fn of_bridge(content: bridge::Content) -> wire::Content {
    match content {
        bridge::Content::Text(text) => wire::Content::Text(text),
        bridge::Content::Blob(blob) => wire::Content::Blob(wire::Blob {
            media_type: display::escape(&blob.media_type).into_owned(),
            bytes: blob.bytes,
        }),
    }
}

/// What can be read, a line each, for the model.
fn of_things(things: &[bridge::Thing]) -> String {
    let lines = things.iter().map(|thing| {
        let parts = [&thing.name, &thing.media_type, &thing.description];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let about: Vec<String> = parts.map(|it| display::escape(it).into_owned()).collect();
        format!("{}  {}", display::escape(&thing.uri), about.join(" · "))
    });
    match things.is_empty() {
        true => "There is nothing to read.".to_owned(),
        false => lines.collect::<Vec<_>>().join("\n"),
    }
}

/// Why a server gave nothing, as the model and the user are told.
fn said(call: &Call, server: &Server, why: BridgeError) -> Failure {
    let name = server.name();
    let bounded = |text: String| {
        let mut text = text;
        text.truncate(text.floor_char_boundary(MAX_FAILURE_BYTES));
        display::escape_multiline(&text).into_owned()
    };
    let tool = call.tool.clone();
    match why {
        BridgeError::Tool(text) => Failure::Tool {
            tool,
            message: bounded(text),
        },
        BridgeError::Refused(text) => Failure::Tool {
            tool,
            message: format!("the MCP server {name} refused: {}", bounded(text)),
        },
        BridgeError::Broken(why) => Failure::Tool {
            tool,
            message: format!("the MCP server {name} {}", bounded(why)),
        },
        BridgeError::TimedOut(limit) => Failure::Tool {
            tool,
            message: format!(
                "the MCP server {name} did not answer within {} s (timeout_secs)",
                limit.as_secs()
            ),
        },
        BridgeError::Cancelled => Failure::Cancelled,
    }
}
