//! From the actions of a plan, as a tool declares them, to what the user is asked about.

mod command;

use std::time::Duration;

pub(crate) use self::command::Conditions;
use crate::bindings::declared::DeclaredAction;
use crate::bindings::dunlin::tool::types as wire;
use crate::call::{Action, Call, Failure};
use crate::capability::Shared;
use crate::capability::edit::LookError;
use crate::display::{chain, shown};
use crate::edit::LineEdit;
use crate::limits;
use crate::permission::Caller;
use crate::plugin::Registered;
use crate::target::Need;

/// What the actions of a plan come to.
pub(crate) struct Looked {
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

/// Works out what the actions of a plan come to. Gives way between them: each may take some tenths of a
/// second.
pub(crate) async fn look(
    shared: &Shared,
    call: &Call,
    plugin: &Registered,
    planned: Vec<DeclaredAction>,
) -> Result<Looked, Failure> {
    let mut looked = Looked {
        actions: Vec::with_capacity(planned.len()),
        needs: Vec::new(),
        wording: match planned.len() {
            0 => format!("Run {}?", call.tool),
            count if planned.iter().all(is_edit) => format!("Edit {count} files?"),
            _ => in_one_question(&planned),
        },
        conditions: Conditions::default(),
        is_binding: !planned.iter().all(is_edit),
    };
    let is_only = planned.len() == 1;
    let mut bytes = 0;
    // All files of a question together: it must not wait for each.
    let mut left = limits::SYNTAX_TIME;
    for action in planned {
        let (path, edits) = match action {
            DeclaredAction::Edit { path, edits } => (path, edits),
            DeclaredAction::Command(command) => {
                command::look_at(shared, command, &mut looked)?;
                continue;
            }
        };
        tokio::task::yield_now().await;
        let wording = wording(&path, edits.len());
        let created = format!("Create file '{path}'?");
        let edit = (path.as_str(), edits);
        bytes += look_at_edit(shared, call, plugin, edit, &mut looked, &mut left).await?;
        if bytes > limits::MAX_EDITED_BYTES {
            let most = limits::MAX_EDITED_BYTES / (1024 * 1024);
            return Err(Failure::Action {
                message: format!(
                    "the files to edit have more than {most} MiB together; edit fewer at once"
                ),
            });
        }
        if is_only {
            looked.wording = match looked.actions.last() {
                Some(Action::Edit(edit)) if edit.base.is_none() => created,
                _ => wording,
            };
        }
    }
    Ok(looked)
}

/// Adds one edit. Returns how many bytes it is about. `left` is how long it may take to find out whether the file parses.
async fn look_at_edit(
    shared: &Shared,
    call: &Call,
    plugin: &Registered,
    (written, edits): (&str, Vec<wire::LineEdit>),
    looked: &mut Looked,
    left: &mut Duration,
) -> Result<usize, Failure> {
    let target = shared.permissions.resolve_path(written);
    let target = target.map_err(|e| Failure::Arguments {
        tool: call.tool.clone(),
        problem: chain(&e),
    })?;
    let Some(path) = target.path() else {
        return Ok(0);
    };
    let is_this = |action: &Action| matches!(action, Action::Edit(other) if other.path == path);
    if looked.actions.iter().any(is_this) {
        return Err(Failure::Fault {
            tool: call.tool.clone(),
            problem: format!("wants to edit {} twice at once", shown(path)),
        });
    }
    let edits: Vec<LineEdit> = edits.into_iter().map(LineEdit::from).collect();
    let caller = Caller {
        call: &call.id,
        tool: &call.tool,
        plugin: &plugin.id,
        ceiling: plugin.ceiling(),
        // Only refusals count here; whether the file may be read is not what the tool declares.
        declared: false,
    };
    match shared.look_at_edit(&caller, path, &edits, true) {
        Ok(mut prepared) => {
            shared.syntax.check(&mut prepared, left).await;
            looked.needs.extend(prepared.edit.needs());
            looked.actions.push(Action::Edit(prepared.edit));
            Ok(prepared.new.len() + prepared.base.map_or(0, |base| base.len()))
        }
        // A rule refuses it: so will the plan. Or the user is asked first.
        Err(LookError::Denied(need) | LookError::Unseen(need)) => {
            looked.needs.push(need);
            Ok(0)
        }
        Err(LookError::Permission(error)) => Err(Failure::Host(chain(&error))),
        Err(LookError::Prepare(error)) => Err(Failure::Action {
            message: chain(&error),
        }),
    }
}

fn is_edit(action: &DeclaredAction) -> bool {
    matches!(action, DeclaredAction::Edit { .. })
}

/// Commands and edits together, each named: `Run command: cargo build?`
fn in_one_question(planned: &[DeclaredAction]) -> String {
    let parts: Vec<String> = planned
        .iter()
        .map(|action| match action {
            DeclaredAction::Command(command) => format!("run command: {}", command.line),
            DeclaredAction::Edit { path, .. } => format!("edit file '{path}'"),
        })
        .collect();
    let mut question = parts.join(", and ") + "?";
    // The first letter is ours, and ASCII.
    if let Some(first) = question.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    question
}

fn wording(path: &str, edits: usize) -> String {
    match edits {
        1 => format!("Edit file '{path}' with 1 edit?"),
        count => format!("Edit file '{path}' with {count} edits?"),
    }
}
