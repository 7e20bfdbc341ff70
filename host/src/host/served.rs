//! Tools of servers: they go the way of all calls, and end at a bridge instead of a guest.

use std::sync::Arc;

use super::Host;
use super::serving::Note;
use super::wording::checked_arguments;
use crate::ask::{Answer, Scope};
use crate::call::{Call, Failure, Plan, Standing};
use crate::capability::{self, chain};
use crate::display;
use crate::limits;
use crate::mcp::offered::{Offered, OfferedTool};
use crate::mcp::{Program, Server, ServerAt};
use crate::permission::{Caller, Decision, Revert, Rule, ToolMode, Verdict};
use crate::plugin::Tool;
use crate::target::{CommandTarget, Need, Operation, Target};

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
            let plugins = self.plugins();
            let described = plugins.iter();
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

    /// What happened to servers, and what commands left behind whose calls had ended, one line each; each once.
    pub fn take_notices(&self) -> Vec<String> {
        self.0.shared.notices.take()
    }

    /// Waits until commands whose calls were interrupted have ended and their repositories were looked at, but not longer
    /// than [`limits::REVIEW_TIME`].
    pub async fn commands_ended(&self) {
        self.0.shared.notices.settled(limits::REVIEW_TIME).await;
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
            self.0.shared.notices.push(notice);
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
                revert: Some(Revert::ToolMode(call.tool.clone())),
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
                    standing = Standing::Denied {
                        revert: rules.revert(need.operation),
                        need,
                        rule: rules.to_string(),
                    };
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
        let caller = Caller {
            call: &call.id,
            tool: &call.tool,
            plugin: &server.id,
            declared: true,
            ceiling: None,
        };
        let program = match &server.config.at {
            ServerAt::Program(program) => program,
            ServerAt::Web { url, .. } => {
                // The user wrote it down: nobody is asked. A no is stronger.
                let need = Need {
                    target: crate::resolve::url(url).map_err(|e| Failure::Host(chain(&e)))?,
                    operation: Operation::Write,
                };
                let decided = self.permissions().decide(&caller, &need);
                let Decision { verdict, rule } = decided.map_err(|e| Failure::Host(chain(&e)))?;
                return Ok(match verdict {
                    Verdict::Deny => (Start::Denied(need), rule),
                    Verdict::Allow | Verdict::Ask => (Start::Needless, Rule::Web),
                });
            }
        };
        if program.path().is_none() {
            // Starting it says so.
            return Ok((Start::Needless, Rule::Executing));
        }
        let target = self.start_target(program)?;
        let need = Need {
            target: Target::Command(Arc::new(target)),
            operation: Operation::Execute,
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

    /// Starting a server is a permission of its own, for its whole command line: what a program may do in the sandbox
    /// of commands says nothing about what it may do outside of it.
    fn start_target(&self, program: &Program) -> Result<CommandTarget, Failure> {
        let fail = |e: &dyn std::error::Error| Failure::Host(chain(e));
        let path = program.path().unwrap_or_default();
        let called = path.to_str().ok_or_else(|| {
            Failure::Host(format!(
                "cannot start {}: the path of its program is not UTF-8",
                path.display()
            ))
        })?;
        let words: Vec<String> = std::iter::once(called.to_owned())
            .chain(program.arguments.iter().cloned())
            .collect();
        let folder = &program.folder;
        CommandTarget::of_server(&words, folder, program.sandbox, self.permissions())
            .map_err(|e| fail(&e))
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
        let meant = match loader {
            true => self.meant(call)?,
            false => Vec::new(),
        };
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
                // What was shown is what was agreed to: the server may have changed it while the question stood.
                let shown = state.prepared.get(&call.id) == Some(&tool.digest);
                if answer.scope != Scope::Once && shown {
                    let key = (call.tool.clone(), tool.digest.clone());
                    state.allowed.insert(key);
                }
            }
            if tool.is_some() && !answer.allow && answer.scope != Scope::Once {
                // There is no target to keep a lasting no under: it is one to the tool, until the session ends.
                self.permissions()
                    .set_tool_mode(&call.tool, ToolMode::Never);
            }
            // Servers may share a program, and each is asked about by itself.
            if tool.is_none() && !meant.iter().any(|it| Arc::ptr_eq(it, server)) {
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
                let rule = self.described(answer);
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
pub(super) fn server_need(server: &Server) -> Need {
    let program = match &server.config.at {
        ServerAt::Program(program) => program.path(),
        ServerAt::Web { .. } => None,
    };
    Need {
        target: match program {
            Some(path) => Target::Program(path),
            None => Target::Url(server.place().into()),
        },
        operation: Operation::Execute,
    }
}
