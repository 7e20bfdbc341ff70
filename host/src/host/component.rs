//! A call of a plugin's tool: what it would touch, what the user answered, and its run.

use std::fmt::Write as _;
use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::Resource;

use super::background::BackgroundWork;
use super::guests::Guests;
use super::results::{checked_arguments, declared, fault, success};
use crate::Progress;
use crate::actions;
use crate::ask::{Answer, Ask, Scope};
use crate::audit::{Event, LogQuota, Record};
use crate::bindings::declared::ProposedCall;
use crate::bindings::dunlin::tool::types;
use crate::call::{Action, Call, Failure, Outcome, Plan, PlanStatus, Success};
use crate::capability::refusal::written_text;
use crate::capability::{
    self, BrokenFile, CallState, Edits, Phase, Shared, ShownRequest, subagent, tree,
};
use crate::display::chain;
use crate::engine::time_limit::Clock;
use crate::limits;
use crate::permission::{Caller, Decision, Rule, ToolMode, Verdict};
use crate::plugin::{Described, Registered};
use crate::process::CommandError;
use crate::resolve::{self, ResolveError};
use crate::target::{Need, Operation, Target};

/// Who answers questions while a tool runs, and who is told how far it is.
pub(super) struct CallFrontend {
    pub(super) ask: Arc<dyn Ask>,
    pub(super) progress: Arc<dyn Progress>,
    /// What it changes in files.
    pub(super) edits: Edits,
}

/// A tool that a plugin holds.
#[derive(Clone)]
pub(super) struct ComponentTool {
    pub(super) plugin: Arc<Registered>,
    pub(super) described: Arc<Described>,
    /// Its place among the plugin's tools.
    pub(super) index: usize,
}

/// Leads calls of plugins' tools through their three steps.
pub(super) struct Components {
    shared: Arc<Shared>,
    guests: Arc<Guests>,
    /// The tools that run in the background.
    pub(super) background: BackgroundWork,
}

impl Components {
    pub(super) fn new(shared: Arc<Shared>, guests: Arc<Guests>) -> Components {
        Components {
            shared,
            guests,
            background: BackgroundWork::default(),
        }
    }

    /// `is_attended`: whether the user can be asked while the call runs.
    pub(super) async fn prepare(
        &self,
        call: &Call,
        tool: &ComponentTool,
        is_attended: bool,
    ) -> Result<Plan, Failure> {
        let plugin = &tool.plugin;
        let arguments = checked_arguments(&tool.described.tools[tool.index], &call.arguments)?;
        let clock = Clock::start(self.guests.limits.prepare_time);
        let mut state = self
            .guests
            .state(Phase::Prepare, &call.id, &call.tool, plugin, &clock);
        let schema = &tool.described.settings_schema;
        state.context.caller.settings_schema.clone_from(schema);
        let proposed = ProposedCall {
            tool: call.tool.clone(),
            arguments,
        };
        let (result, state) = self
            .guests
            .run(
                plugin,
                state,
                &clock,
                self.guests.limits.prepare_time,
                async |instance, store| {
                    let tool = instance.dunlin_tool_tool();
                    let proposed = store.data_mut().context.hand_over(proposed)?;
                    let answer = tool.call_prepare(&mut *store, proposed).await?;
                    taken(store, answer)
                },
            )
            .await;
        let result = result.map_err(|error| error.to_string());
        if let Some(state) = state {
            state.write_messages(result.as_ref().err().map(String::as_str));
        }
        let plan = result
            .map_err(|problem| fault(&call.tool, problem))?
            .map_err(|failure| declared(&call.tool, failure))?;
        let wanted = plan.needs.len() + plan.gets.len() + plan.actions.len();
        if wanted > limits::MAX_NEEDS {
            let problem = format!(
                "wants {wanted} files, addresses and programs at once; at most {} are asked about; a plan can name a folder or a site instead",
                limits::MAX_NEEDS
            );
            return Err(fault(&call.tool, problem));
        }
        let mut needs: Vec<Need> = Vec::with_capacity(wanted);
        for need in &plan.needs {
            let need = self.resolve(call, need)?;
            match needs.iter_mut().find(|other| **other == need) {
                // Of one address with both schemes the question shows the one without encryption.
                Some(other) if need.target.is_plain() => *other = need,
                Some(_) => {}
                None => needs.push(need),
            }
        }
        // Before anybody is asked about a search that cannot be made.
        let imports = &tool.described.tools[tool.index].tool.imports;
        let lists_files = imports.iter().any(|import| import == tree::IMPORT);
        let mut folders = needs.iter().filter_map(|need| need.target.path());
        if let Some(folder) = folders.find(|it| !self.shared.permissions.is_searchable(it))
            && lists_files
        {
            return Err(Failure::Action {
                message: tree::not_searched(folder),
            });
        }
        let mut planned_actions = actions::look(&self.shared, call, plugin, plan.actions).await?;
        planned_actions.add_requests(call, &plan.needs, plan.gets)?;
        for need in planned_actions.needs {
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        let mut question = plan.question;
        question.truncate(question.floor_char_boundary(limits::MAX_QUESTION_BYTES));
        if question.trim().is_empty() || planned_actions.is_binding {
            question = planned_actions.wording;
        }
        let planned = (needs.as_slice(), planned_actions.actions.as_slice());
        let status = self.status(call, plugin, planned, is_attended)?;
        let mut status = planned_actions.conditions.apply(status);
        if let PlanStatus::Ask { notices, .. } = &mut status {
            notices.extend(self.gaps_of_commands(&planned_actions.actions).await?);
        }
        if let PlanStatus::Denied { need, rule, .. } = &status {
            self.note_denied(call, plugin, need.as_slice(), rule)?;
        }
        Ok(Plan {
            question,
            needs,
            actions: planned_actions.actions,
            status,
            runs_in_parallel: subagent::are_run_by(&plugin.id, imports),
        })
    }

    /// Remembers an answer to what the plan left open. `rule` is the answer as the audit log has it.
    pub(super) fn answer(
        &self,
        call: &Call,
        tool: &ComponentTool,
        open: &[Need],
        answer: Answer,
        rule: &str,
    ) -> Result<(), Failure> {
        if !answer.allow {
            self.note_denied(call, &tool.plugin, open, rule)?;
        }
        self.shared
            .permissions
            .remember(&call.id, &tool.plugin.id, open, answer)
            .map_err(|e| Failure::Host(chain(&e)))
    }

    pub(super) async fn run(
        self: &Arc<Self>,
        call: &Call,
        tool: ComponentTool,
        plan: &Plan,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Outcome {
        let clock = self.clock();
        let log_quota = LogQuota::new(limits::MAX_AUDIT_BYTES);
        let edits = Edits::default();
        let result = self
            .run_once(
                call,
                &tool,
                plan,
                CallFrontend {
                    ask,
                    progress,
                    edits: edits.clone(),
                },
                &clock,
                &log_quota,
            )
            .await;
        let result = result.map(|(success, more)| {
            if let Some(arguments) = more {
                self.continue_in_background(call, tool, plan, &arguments, log_quota);
            }
            success
        });
        Outcome {
            result,
            duration: clock.spent(),
            edits: edits.take(),
            said: String::new(),
        }
    }

    /// The result, and the arguments with which the tool wants to be run once more.
    pub(super) async fn run_once(
        &self,
        call: &Call,
        tool: &ComponentTool,
        plan: &Plan,
        front: CallFrontend,
        clock: &Clock,
        audit_quota: &LogQuota,
    ) -> Result<(Success, Option<String>), Failure> {
        let ComponentTool {
            plugin,
            described,
            index,
        } = tool;
        let arguments = checked_arguments(&described.tools[*index], &call.arguments)?;
        let mut state = self
            .guests
            .state(Phase::Run, &call.id, &call.tool, plugin, clock);
        state.context.caller.arguments = call.arguments.clone();
        state.context.plan.actions = plan.actions.clone();
        let shown = plan.shown_requests().into_iter();
        state.context.plan.shown_requests = shown.map(ShownRequest::planned).collect();
        state.context.plan.question.clone_from(&plan.question);
        state.context.plan.declared = plan.needs.clone();
        let edited = plan.actions.iter().flat_map(Action::edited_paths);
        state.context.plan.declared.extend(edited.map(|path| Need {
            target: Target::Path(path.to_owned()),
            operation: Operation::Write,
        }));
        state
            .context
            .caller
            .declared_permissions
            .clone_from(&described.declared_permissions);
        state
            .context
            .caller
            .settings_schema
            .clone_from(&described.settings_schema);
        state.context.ask = Some(front.ask);
        state.context.progress = Some(front.progress);
        state.context.changes.edits = front.edits;
        state.context.log.audit_quota = audit_quota.clone();
        let proposed = ProposedCall {
            tool: call.tool.clone(),
            arguments,
        };
        state.subagents.result_bytes = self.guests.limits.result_bytes;
        let (result, mut state) = self
            .guests
            .run(
                plugin,
                state,
                clock,
                self.guests.limits.run_time,
                async |instance, store| {
                    let tool = instance.dunlin_tool_tool();
                    let proposed = store.data_mut().context.hand_over(proposed)?;
                    let answer = tool.call_run(&mut *store, proposed).await?;
                    taken(store, answer)
                },
            )
            .await;
        let result = match result {
            Err(error) => Err(fault(&call.tool, error.to_string())),
            Ok(Err(failure)) => Err(declared(&call.tool, failure)),
            Ok(Ok(content)) => success(
                &described.tools[*index],
                content,
                self.guests.limits.result_bytes,
            ),
        };
        let problem = state
            .as_ref()
            .and_then(|state| state.machine.request_problem());
        let result = match problem {
            Some(problem) => result.map_err(|failure| failure.behind_request(&problem)),
            None => result,
        };
        let bad_header = state
            .as_mut()
            .and_then(|state| state.context.web.bad_header.take());
        let result = match bad_header {
            Some(problem) => result.map_err(|failure| failure.of_bad_header(&problem)),
            None => result,
        };
        // Whatever the guest made of it: a refusal of the user ends the call as one.
        let refused = state
            .as_mut()
            .and_then(|state| state.context.questions.refused.take());
        let undeclared = state
            .as_mut()
            .and_then(|state| state.context.questions.undeclared.take());
        let mut result = match (refused, undeclared) {
            (Some(question), _) => Err(Failure::Denied {
                question,
                by_user: true,
            }),
            (None, Some(what)) => result.map_err(|failure| failure.because_undeclared(what)),
            (None, None) => result,
        };
        if let (Err(Failure::Denied { by_user, .. }), Some(state)) = (&mut result, &state) {
            *by_user |= state.context.questions.nobody_asked;
        }
        if let (Ok(success), Some(state)) = (&mut result, &mut state) {
            success.note = state.commands.note.take();
            success.has_failed = state.commands.has_failed;
            report_broken_files(success, &state.context.changes.broken_files);
        }
        if let Some(state) = &mut state {
            let broken = match &result {
                Err(Failure::Fault { problem, .. }) => Some(problem.as_str()),
                _ => None,
            };
            state.write_messages(broken);
            let error = result.as_ref().err().map(ToString::to_string);
            // What was done is done; that the log has a gap must still be known.
            state
                .close(error.as_deref())
                .map_err(|e| Failure::Host(chain(&e)))?;
        }
        let more = state.and_then(|mut state| state.background.arguments.take());
        result.map(|success| (success, more))
    }

    /// A clock with the running time that a call may have.
    pub(super) fn clock(&self) -> Clock {
        Clock::start(self.guests.limits.run_time)
    }

    /// What the user should know of the sandbox before one of these actions. Nobody is asked about a command that is to change
    /// nothing where it could.
    async fn gaps_of_commands(&self, actions: &[Action]) -> Result<Vec<String>, Failure> {
        let mut commands = actions.iter().filter_map(|action| match action {
            Action::Command(command) => Some(command),
            _ => None,
        });
        let Some(first) = commands.next() else {
            return Ok(Vec::new());
        };
        match self.shared.announced_sandbox().await {
            Ok(sandbox) => match sandbox.can_change_something() {
                Some(why) if first.is_read_only => Err(Failure::Action {
                    message: CommandError::NotReadOnly(why).to_string(),
                }),
                _ => Ok(sandbox.gaps()),
            },
            // The command will not run either, and then says why.
            Err(_) => Ok(Vec::new()),
        }
    }

    fn resolve(&self, call: &Call, need: &types::Need) -> Result<Need, Failure> {
        let permissions = &self.shared.permissions;
        let target = match &need.target {
            types::Target::Path(path) => permissions.resolve_path(path),
            types::Target::Folder(path) => permissions.resolve_folder(path),
            types::Target::Url(url) => resolve::url(url),
            types::Target::Site(url) => resolve::site(url),
            types::Target::Program(program) => permissions.resolve_program(program),
        };
        let target: Target = target.map_err(|error| match error {
            // It is in order; this machine lacks it.
            ResolveError::Program { .. } => Failure::Action {
                message: chain(&error),
            },
            error => actions::mistake_in_plan(call, written_text(&need.target), &error),
        })?;
        Ok(Need {
            target,
            operation: need.operation.into(),
        })
    }

    fn status(
        &self,
        call: &Call,
        plugin: &Registered,
        (needs, actions): (&[Need], &[Action]),
        is_attended: bool,
    ) -> Result<PlanStatus, Failure> {
        // Where nothing is needed, nothing else would ask for the mode.
        let mode = self.shared.permissions.tool_mode(&call.tool);
        if needs.is_empty() && mode == ToolMode::Never {
            let rule = Rule::ToolNever(call.tool.clone());
            return Ok(PlanStatus::Denied {
                need: None,
                revert: rule.revert(Operation::Execute),
                rule: rule.to_string(),
            });
        }
        let caller = Caller {
            call: &call.id,
            tool: &call.tool,
            plugin: &plugin.id,
            declared: true,
            declared_permissions: plugin.declared_permissions(),
        };
        // Whoever accepts edits is asked about the whole of a call that also makes a file go, or gives it another name:
        // otherwise its edits would have happened before the question.
        let edits_texts = actions.iter().all(|action| match action {
            Action::Edit(edit) => edit.is_of_text(),
            _ => true,
        });
        // A command that names a secret says so itself.
        let is_named = |need: &Need| {
            actions.iter().any(|action| match action {
                Action::Command(command) => {
                    let mut guarded = command.guarded.iter();
                    guarded.any(|path| need.target.path() == Some(path))
                }
                _ => false,
            })
        };
        let mut open = Vec::new();
        let mut notices = Vec::new();
        let mut later = Vec::new();
        for need in needs {
            let Decision { verdict, rule } = self
                .shared
                .permissions
                .decide(&caller, need)
                .map_err(|e| Failure::Host(chain(&e)))?;
            match verdict {
                Verdict::Allow if rule == Rule::AcceptEdits && !edits_texts => {
                    open.push(need.clone());
                }
                Verdict::Allow => {}
                Verdict::Deny => {
                    return Ok(PlanStatus::Denied {
                        revert: rule.revert(need.operation),
                        need: Some(need.clone()),
                        rule: rule.to_string(),
                    });
                }
                // Nobody knows yet what it sends: the user is asked when that is there to be shown. Where nobody can be
                // asked, the call need not begin.
                Verdict::Ask if need.sends() && is_attended => later.push(need),
                Verdict::Ask => {
                    open.push(need.clone());
                    for notice in capability::notices(&rule) {
                        if !is_named(need) && !notices.contains(&notice) {
                            notices.push(notice);
                        }
                    }
                }
            }
        }
        if !open.is_empty() {
            let later = later.into_iter().map(|need| {
                let target = need.target.shown();
                format!("What it will send to {target} is not known yet. Dunlin asks again before it is sent.")
            });
            notices.extend(later);
        }
        Ok(if open.is_empty() {
            PlanStatus::Allowed
        } else {
            let lasting = self.shared.permissions.to_be_stored(&caller, &open);
            PlanStatus::Ask {
                lasting: lasting.map_err(|e| Failure::Host(chain(&e)))?,
                needs: open,
                notices,
                longest: Scope::Always,
            }
        })
    }

    fn note_denied(
        &self,
        call: &Call,
        plugin: &Registered,
        needs: &[Need],
        rule: &str,
    ) -> Result<(), Failure> {
        let session = self.shared.session();
        let targets: Vec<String> = needs.iter().map(|need| need.target.to_string()).collect();
        let records: Vec<Record<'_>> = needs
            .iter()
            .zip(&targets)
            .map(|(need, target)| Record {
                target: Some(target),
                operation: Some(need.operation.verb()),
                rule: Some(rule),
                ..Record::new(Event::Denied, &session, &call.id, &call.tool, &plugin.id)
            })
            .collect();
        self.shared
            .audit
            .append(&records)
            .map_err(|e| Failure::Host(chain(&e)))
    }
}

/// Takes what a function of a plugin returned out of its store.
fn taken<T: Send + 'static, E: Send + 'static>(
    store: &mut Store<CallState>,
    answer: Result<Resource<T>, Resource<E>>,
) -> wasmtime::Result<Result<T, E>> {
    let context = &mut store.data_mut().context;
    Ok(match answer {
        Ok(value) => Ok(context.take(value)?),
        Err(failure) => Err(context.take(failure)?),
    })
}

/// Tells the model which files do not parse any more, and the user of those that the plan did not know.
fn report_broken_files(success: &mut Success, broken: &[BrokenFile]) {
    for file in broken {
        if !success.text.ends_with('\n') {
            success.text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = write!(success.text, "{file}");
        if !file.was_known && success.note.is_none() {
            success.note = Some(file.to_string());
        }
    }
}
