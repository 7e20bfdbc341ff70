//! A call of a server's tool before it runs: what the user is asked, and what was answered.

use std::path::Path;
use std::sync::Arc;

use super::note::Note;
use super::{McpTools, ServerTool};
use crate::ask::{Answer, Scope};
use crate::audit::Event;
use crate::call::{Action, Call, Failure, Plan, PlanStatus};
use crate::display;
use crate::display::chain;
use crate::host::results::checked_arguments;
use crate::mcp::transport::TransportError;
use crate::mcp::{Program, Server, ServerAt};
use crate::permission::key::Key;
use crate::permission::{Caller, Change, Decision, Rule, ToolMode, Verdict};
use crate::target::{CommandTarget, Need, Operation, Target};

/// What the user is told of a tool whose server says so.
const DESTRUCTIVE: &str = "The server says that this may destroy something.";

impl ServerTool {
    /// What the user is asked about a call of it.
    pub(super) fn question(&self) -> String {
        let name = display::escape(&self.tool().own_name);
        let name = display::shorten(&name, 100);
        format!("Call '{name}' of the MCP server '{}'?", self.server.name())
    }
}

impl McpTools {
    pub(in crate::host) fn prepare_tool(
        &self,
        call: &Call,
        named: &ServerTool,
    ) -> Result<Plan, Failure> {
        let (server, tool) = (&*named.server, named.tool());
        checked_arguments(&tool.described, &call.arguments)?;
        let mut question = named.question();
        let mut needs = Vec::new();
        let permissions = &self.shared.permissions;
        let mut status = match permissions.refusal_of_server(&call.tool) {
            Some(rule) => PlanStatus::Denied {
                need: Some(self.server_need(server)),
                revert: rule.revert(Operation::Execute),
                rule: rule.to_string(),
            },
            None => {
                let is_asked = server.asks(tool)
                    && permissions.tool_mode(&call.tool) == ToolMode::Prompt
                    && !permissions.allows_calls(&call.tool, &tool.digest)
                    && !self.servers.state().answered.contains(&call.id);
                match is_asked {
                    true => PlanStatus::Ask {
                        needs: Vec::new(),
                        notices: Vec::new(),
                        lasting: Vec::new(),
                        longest: Scope::Session,
                    },
                    false => PlanStatus::Allowed,
                }
            }
        };
        // A session that is gone on with names tools of servers that do not run yet.
        if server.bridge().is_none() && !matches!(status, PlanStatus::Denied { .. }) {
            let (start, rules) = self.start_of(call, server)?;
            if let Start::Asks(need) | Start::Denied(need) | Start::Allowed(need) = &start {
                needs.push(need.clone());
            }
            match (start, &mut status) {
                (Start::Denied(need), _) => {
                    status = PlanStatus::Denied {
                        revert: rules.revert(need.operation),
                        need: Some(need),
                        rule: rules.to_string(),
                    };
                }
                (Start::Asks(need), _) => {
                    let outside = match &server.config.at {
                        ServerAt::Program(program) if !program.sandbox => ", without a sandbox",
                        _ => "",
                    };
                    question = format!(
                        "{question} It has to be started first{outside}: {}",
                        server.place()
                    );
                    let needs = vec![need];
                    let longest = match status {
                        PlanStatus::Allowed => Scope::Always,
                        _ => Scope::Session,
                    };
                    status = PlanStatus::Ask {
                        longest: longest.min(longest_start(&needs)),
                        lasting: needs.clone(),
                        needs,
                        notices: self.notices_of_start(server, &rules),
                    };
                }
                // The call fails, and says why.
                (Start::Missing(_), _) => {}
                (Start::Allowed(_) | Start::Needless, _) => {}
            }
        }
        if let PlanStatus::Ask { notices, .. } = &mut status
            && tool.is_destructive
        {
            notices.push(DESTRUCTIVE.to_owned());
        }
        if let PlanStatus::Denied { need, rule, .. } = &status {
            let note = match need {
                Some(need) if needs.contains(need) => Note::denied(need, rule),
                _ => Note::decided(Event::Denied, rule),
            };
            self.log(call, server, &note)?;
        }
        let mut state = self.servers.state();
        state.prepared.insert(call.id.clone(), tool.digest.clone());
        Ok(Plan {
            question,
            needs,
            actions: vec![Action::ServerCall],
            status,
            runs_in_parallel: false,
        })
    }

    /// Why a call that runs may run, as the audit log has it.
    pub(super) fn why_allowed(&self, call: &Call, named: &ServerTool) -> String {
        let tool = named.tool();
        let permissions = &self.shared.permissions;
        let yes = |scope| Answer { allow: true, scope }.in_words();
        if permissions.tool_mode(&call.tool) == ToolMode::Always {
            Rule::ToolAlways(call.tool.clone()).to_string()
        } else if !named.server.asks(tool) {
            Rule::McpServer.to_string()
        } else if permissions.allows_calls(&call.tool, &tool.digest) {
            yes(Scope::Session)
        } else {
            yes(Scope::Once)
        }
    }

    /// What holds for starting a server, and which rule says so.
    pub(super) fn start_of(&self, call: &Call, server: &Server) -> Result<(Start, Rule), Failure> {
        let caller = Caller {
            call: &call.id,
            tool: &call.tool,
            plugin: &server.id,
            declared: true,
            declared_permissions: None,
        };
        let program = match &server.config.at {
            ServerAt::Program(program) => program.now(&self.shared.permissions),
            ServerAt::Web { url, .. } => {
                // The user wrote it down: nobody is asked. A no is stronger.
                let need = Need {
                    target: crate::resolve::url(url).map_err(|e| Failure::Host(chain(&e)))?,
                    operation: Operation::Write,
                };
                let decided = self.shared.permissions.decide(&caller, &need);
                let Decision { verdict, rule } = decided.map_err(|e| Failure::Host(chain(&e)))?;
                return Ok(match verdict {
                    Verdict::Deny => (Start::Denied(need), rule),
                    Verdict::Allow | Verdict::Ask => (Start::Needless, Rule::McpServer),
                });
            }
        };
        // It is looked up here and nowhere else: what is decided about is what is started.
        let Some(path) = program.path() else {
            let why = TransportError::NoProgram(program.command.clone());
            return Ok((Start::Missing(why), Rule::Executing));
        };
        // A link in a folder of the search path may lead into the project. Whoever configured a path knows where it leads.
        let is_found = !program.sandbox && !program.command.contains('/');
        if is_found && self.shared.permissions.can_commands_change(&path) {
            let why = TransportError::Changeable(path);
            return Ok((Start::Missing(why), Rule::Executing));
        }
        let target = self.start_target(&program, &path)?;
        let need = Need {
            target: Target::Command(Arc::new(target)),
            operation: Operation::Execute,
        };
        let Decision { verdict, rule } = self
            .shared
            .permissions
            .decide(&caller, &need)
            .map_err(|e| Failure::Host(chain(&e)))?;
        // What was allowed beforehand is the start of what was there then.
        let changed = match (verdict, &rule) {
            (
                Verdict::Allow,
                Rule::Stored { .. } | Rule::Option(_) | Rule::Session(_) | Rule::ToolAlways(_),
            ) => self.changed_since_start(server).into_iter().next(),
            _ => None,
        };
        if let Some(path) = changed {
            let key = Key::exact(&need.target).to_string();
            let rule = Rule::CommandChanged(key, Change::Content(path));
            return Ok((Start::Asks(need), rule));
        }
        let start = match verdict {
            Verdict::Allow => Start::Allowed(need),
            Verdict::Deny => Start::Denied(need),
            Verdict::Ask => Start::Asks(need),
        };
        Ok((start, rule))
    }

    /// Starting a server is a permission of its own, for its whole command line: what a program may do in the sandbox
    /// of commands says nothing about what it may do outside of it.
    fn start_target(&self, program: &Program, path: &Path) -> Result<CommandTarget, Failure> {
        let fail = |e: &dyn std::error::Error| Failure::Host(chain(e));
        let called = path.to_str().ok_or_else(|| {
            Failure::Host(format!(
                "cannot start {}: the path of its program is not UTF-8",
                path.display()
            ))
        })?;
        let words: Vec<String> = std::iter::once(called.to_owned())
            .chain(program.arguments.iter().cloned())
            .collect();
        let (variables, folder) = (&program.own_variables, &program.folder);
        let permissions = &self.shared.permissions;
        CommandTarget::of_server(&words, variables, folder, program.sandbox, permissions)
            .map_err(|e| fail(&e))
    }

    /// Remembers an answer to a call of this tool, or to the start of its server: to a question that names the start, a
    /// lasting answer is one to the start.
    pub(in crate::host) fn answer_tool(
        &self,
        call: &Call,
        named: &ServerTool,
        open: &[Need],
        answer: Answer,
        rule: &str,
    ) -> Result<(), Failure> {
        let tool = named.tool();
        if !answer.allow && open.is_empty() {
            self.log(call, &named.server, &Note::decided(Event::Denied, rule))?;
        }
        if answer.allow {
            let mut state = self.servers.state();
            state.answered.insert(call.id.clone());
            // What was shown is what was agreed to: the server may have changed it while the question stood.
            let shown = state.prepared.get(&call.id) == Some(&tool.digest);
            drop(state);
            if answer.scope != Scope::Once && shown && open.is_empty() {
                let permissions = &self.shared.permissions;
                permissions.allow_calls(&call.tool, &tool.digest);
            }
        } else if answer.scope != Scope::Once && open.is_empty() {
            // There is no target to keep a lasting no under: it is one to the tool, until the session ends.
            self.shared
                .permissions
                .set_tool_mode(&call.tool, ToolMode::Never);
        }
        self.answer_start(call, &named.server, open, answer, rule)
    }

    /// Remembers an answer to the start of a server, if that was open. Each server is granted its own program: another
    /// one gains nothing by it.
    pub(super) fn answer_start(
        &self,
        call: &Call,
        server: &Server,
        open: &[Need],
        answer: Answer,
        rule: &str,
    ) -> Result<(), Failure> {
        let (Start::Asks(need), _) = self.start_of(call, server)? else {
            return Ok(());
        };
        if !open.contains(&need) {
            return Ok(());
        }
        if !answer.allow {
            self.log(call, server, &Note::denied(&need, rule))?;
        }
        self.shared
            .permissions
            .remember(&call.id, &server.id, &[need], answer)
            .map_err(|e| Failure::Host(chain(&e)))
    }
}

/// The longest that a yes to starting servers may hold.
pub(super) fn longest_start(needs: &[Need]) -> Scope {
    let mut commands = needs.iter().filter_map(|need| need.target.command());
    match commands.any(CommandTarget::is_server) {
        true => Scope::Once,
        false => Scope::Always,
    }
}

/// What holds for starting a server.
pub(super) enum Start {
    /// There is nothing to be started: the server is at a URL.
    Needless,
    /// It cannot be started: there is no such program. A program that appears later was not decided about.
    Missing(TransportError),
    Allowed(Need),
    Asks(Need),
    Denied(Need),
}

impl McpTools {
    /// What stands for a server where a need has to be named.
    pub(super) fn server_need(&self, server: &Server) -> Need {
        let program = match &server.config.at {
            ServerAt::Program(program) => program.now(&self.shared.permissions).path(),
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
}
