//! From the actions of a plan, as a tool declares them, to what the user is asked about.

mod command;
mod wording;

use std::error::Error;
use std::path::Path;
use std::time::Duration;

pub(crate) use self::command::Conditions;
use self::wording::Step;
use crate::arguments::is_of;
use crate::bindings::declared::{DeclaredAction, DeclaredGet};
use crate::bindings::dunlin::tool::types;
use crate::call::{Action, Call, Failure};
use crate::capability::edit::LookError;
use crate::capability::{Shared, web};
use crate::display::{chain, escape, shorten, shown};
use crate::edit::FileChange;
use crate::egress::EgressError;
use crate::limits;
use crate::permission::{Caller, Verdict};
use crate::plugin::Registered;
use crate::target::{Need, Operation};

/// Characters of a path or an address that are repeated of a plan.
const MAX_WRITTEN_CHARS: usize = 60;

/// What the actions of a plan come to.
pub(crate) struct PlannedActions {
    pub(crate) actions: Vec<Action>,
    /// What they need, and what of that was refused before anything was looked at.
    pub(crate) needs: Vec<Need>,
    /// The question in the host's own words.
    pub(crate) wording: String,
    /// What the actions want beyond the rules about their needs.
    pub(crate) conditions: Conditions,
    /// The wording stands, whatever the tool says: what happens can be said in no other words.
    pub(crate) is_binding: bool,
}

impl PlannedActions {
    /// Adds the requests that a plan announces, and those that its needs are.
    pub(crate) fn add_requests(
        &mut self,
        call: &Call,
        needs: &[types::Need],
        mut gets: Vec<DeclaredGet>,
    ) -> Result<(), Failure> {
        for need in needs {
            if let types::Target::Url(url) = &need.target
                && need.operation == types::Operation::Read
                && !gets.iter().any(|get| get.url == *url)
            {
                let (url, headers) = (url.clone(), Vec::new());
                gets.push(DeclaredGet { url, headers });
            }
        }
        for get in gets {
            let url = get.url.clone();
            let request = web::announced(get).map_err(|error| match error {
                EgressError::Header { .. } => mistake_of_plugin(call, &url, &error),
                error => mistake_in_plan(call, &url, &error),
            })?;
            self.needs.extend(request.need());
            let action = Action::Request(request);
            if !self.actions.contains(&action) {
                self.actions.push(action);
            }
        }
        Ok(())
    }
}

/// Works out what the actions of a plan come to. Gives way between them: each may take some tenths of a
/// second.
pub(crate) async fn look(
    shared: &Shared,
    call: &Call,
    plugin: &Registered,
    planned: Vec<DeclaredAction>,
) -> Result<PlannedActions, Failure> {
    let mut planned_actions = PlannedActions {
        actions: Vec::with_capacity(planned.len()),
        needs: Vec::new(),
        wording: String::new(),
        conditions: Conditions::default(),
        is_binding: !planned.iter().all(is_edit),
    };
    let mut steps = Vec::with_capacity(planned.len());
    let mut bytes = 0;
    // All files of a question together: it must not wait for each.
    let mut left = limits::SYNTAX_TIME;
    for action in planned {
        let mut step = Step::of(&action);
        let (path, change) = match action {
            DeclaredAction::Edit { path, change } => (path, change),
            DeclaredAction::EditLater { path } => {
                let target = shared.permissions.resolve_path(&path);
                let target = target.map_err(|e| mistake_in_plan(call, &path, &e))?;
                let Some(path) = target.path().map(Path::to_owned) else {
                    continue;
                };
                let need = Need {
                    target,
                    operation: Operation::Write,
                };
                is_first(&planned_actions.actions, call, &path)?;
                steps.push(step);
                let decision = shared.permissions.decide(&caller(call, plugin), &need);
                match decision.map_err(|e| Failure::Host(chain(&e)))?.verdict {
                    Verdict::Deny => planned_actions.needs.push(need),
                    // Asked about when it is known.
                    Verdict::Allow | Verdict::Ask => {
                        planned_actions
                            .actions
                            .push(Action::EditLater { path, change: None });
                    }
                }
                continue;
            }
            DeclaredAction::Command(command) => {
                let caller = caller(call, plugin);
                command::look_at(shared, &caller, command, &mut planned_actions)?;
                steps.push(step);
                continue;
            }
        };
        tokio::task::yield_now().await;
        let known = planned_actions.actions.len();
        let edit = (path.as_str(), change);
        bytes += look_at_edit(shared, call, plugin, edit, &mut planned_actions, &mut left).await?;
        if bytes > limits::MAX_EDITED_BYTES {
            let most = limits::MAX_EDITED_BYTES / (1024 * 1024);
            return Err(Failure::Action {
                message: format!(
                    "the files to edit have more than {most} MiB together; edit fewer at once"
                ),
            });
        }
        if let Some(Action::Edit(edit)) = planned_actions.actions.get(known)
            && edit.base.is_none()
            && !edit.change.is_of_name()
        {
            step.creates(&path);
        }
        steps.push(step);
    }
    planned_actions.wording = match steps.is_empty() {
        true => format!("Run {}?", call.tool),
        false => wording::of(&steps),
    };
    Ok(planned_actions)
}

/// Adds one edit. Returns how many bytes it is about. `left` is how long it may take to find out whether the file parses.
async fn look_at_edit(
    shared: &Shared,
    call: &Call,
    plugin: &Registered,
    (written, change): (&str, FileChange),
    planned_actions: &mut PlannedActions,
    left: &mut Duration,
) -> Result<usize, Failure> {
    let names = shared.names_of(written, &change);
    let names = names.map_err(|e| mistake_in_plan(call, written, &e))?;
    for path in [Some(&names.path), names.to.as_ref()].into_iter().flatten() {
        is_first(&planned_actions.actions, call, path)?;
    }
    if let Some(to) = &names.to {
        let warning = shared.warning_of_rename(&names.path, to);
        planned_actions.conditions.warn(warning);
    }
    let caller = caller(call, plugin);
    match shared.look_at_edit(&caller, &names, &change, true) {
        Ok(mut prepared) => {
            shared.syntax.check(&mut prepared, left).await;
            let bytes = prepared.bytes();
            planned_actions.needs.extend(prepared.edit.needs());
            planned_actions.actions.push(Action::Edit(prepared.edit));
            Ok(bytes)
        }
        // A rule refuses it: so will the plan.
        Err(LookError::Denied(need)) => {
            planned_actions.needs.push(need);
            Ok(0)
        }
        // The user is asked whether it may be read, and about the difference when it was.
        Err(LookError::Unseen(need)) => {
            planned_actions.needs.push(need);
            let (path, change) = (names.path, Some(change));
            planned_actions
                .actions
                .push(Action::EditLater { path, change });
            Ok(0)
        }
        Err(LookError::Permission(error)) => Err(Failure::Host(chain(&error))),
        Err(LookError::Prepare(error)) => Err(Failure::Action {
            message: chain(&error),
        }),
    }
}

/// Something that a plan has is none. The model can correct what it wrote itself; the rest is a mistake of the plugin.
pub(crate) fn mistake_in_plan(call: &Call, written: &str, error: &dyn Error) -> Failure {
    match is_of(&call.arguments, written) {
        true => Failure::Arguments {
            tool: call.tool.clone(),
            problem: chain(error),
        },
        false => mistake_of_plugin(call, written, error),
    }
}

/// A mistake in `prepare`, for its author.
fn mistake_of_plugin(call: &Call, written: &str, error: &dyn Error) -> Failure {
    let written = escape(written);
    let written = shorten(&written, MAX_WRITTEN_CHARS);
    Failure::Fault {
        tool: call.tool.clone(),
        problem: format!(
            "is faulty: its plan names '{written}', and {}; that is for the author of the plugin to correct, in prepare",
            chain(error)
        ),
    }
}

/// Fails if a plan has a change of this file already.
fn is_first(actions: &[Action], call: &Call, path: &Path) -> Result<(), Failure> {
    match actions.iter().any(|it| it.edited_paths().contains(&path)) {
        true => Err(Failure::Fault {
            tool: call.tool.clone(),
            problem: format!("wants to edit {} twice at once", shown(path)),
        }),
        false => Ok(()),
    }
}

fn caller<'a>(call: &'a Call, plugin: &'a Registered) -> Caller<'a> {
    Caller {
        call: &call.id,
        tool: &call.tool,
        plugin: &plugin.id,
        declared_permissions: plugin.declared_permissions(),
        // Only refusals count here; whether the file may be read is not what the tool declares.
        declared: false,
    }
}

/// Whether it changes what a file holds, and no more.
fn is_edit(action: &DeclaredAction) -> bool {
    match action {
        DeclaredAction::Edit { change, .. } => !change.is_of_name(),
        DeclaredAction::EditLater { .. } => true,
        DeclaredAction::Command(_) => false,
    }
}
