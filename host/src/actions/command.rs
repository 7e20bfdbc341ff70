//! A command line among the actions of a plan.

use std::path::Path;

use super::Looked;
use crate::ask::{Answer, Scope};
use crate::bindings::dunlin::tool::types::CommandLine as WireCommandLine;
use crate::call::{Action, Failure, Standing};
use crate::capability::{Shared, chain};
use crate::command::CommandLine;
use crate::permission::ToolMode;
use crate::target::{Need, Target};

/// Adds one command. What it needs is asked about even where it is granted, unless a grant can hold for it.
pub(super) fn look_at(
    shared: &Shared,
    tool: &str,
    command: WireCommandLine,
    looked: &mut Looked,
) -> Result<(), Failure> {
    let WireCommandLine { line, network } = command;
    let command = CommandLine::read(line, network, &shared.permissions);
    let command = command.map_err(|e| Failure::Action { message: chain(&e) })?;
    let needs = command.needs(&shared.commands.real_shell());
    let has_network = shared.commands.network;
    let conditions = &mut looked.conditions;
    conditions.notices.extend(command.notices(has_network));
    // Who trusts the tool for this session is not asked about lines that nobody can judge for good.
    let is_trusted = shared.permissions.tool_mode(tool) == ToolMode::Always;
    let may_be_granted = command.longest(has_network) == Scope::Always;
    conditions.is_once |= !may_be_granted;
    if command.is_sensitive(has_network) || !(may_be_granted || is_trusted) {
        conditions.each_time.extend(needs.iter().cloned());
    }
    looked.needs.extend(needs);
    looked.actions.push(Action::Command(command));
    Ok(())
}

/// What the actions of a plan ask for beyond what the permission store says of their needs.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// Asked about whatever is granted, and for this once.
    each_time: Vec<Need>,
    /// A yes holds for this call only.
    is_once: bool,
    notices: Vec<String>,
}

impl Conditions {
    /// Makes a standing as strict as the actions want it.
    pub(crate) fn apply(self, standing: Standing) -> Standing {
        match standing {
            Standing::Allowed if self.each_time.is_empty() => Standing::Allowed,
            Standing::Allowed => Standing::Ask {
                needs: self.each_time,
                notices: self.notices,
                longest: Scope::Once,
            },
            Standing::Ask {
                mut needs,
                notices,
                longest,
            } => {
                for need in self.each_time {
                    if !needs.contains(&need) {
                        needs.push(need);
                    }
                }
                let mut all = self.notices;
                all.extend(notices);
                Standing::Ask {
                    needs,
                    notices: all,
                    longest: if self.is_once { Scope::Once } else { longest },
                }
            }
            Standing::Denied { .. } => standing,
        }
    }
}

/// What a lasting no is about: everything it was asked about but the shell that would run compound commands, as long
/// as there is anything else. `None`: all of it.
pub(crate) fn without_shell(
    needs: &[Need],
    actions: &[Action],
    shell: &Path,
    answer: Answer,
) -> Option<Vec<Need>> {
    if answer.allow || answer.scope == Scope::Once {
        return None;
    }
    let commands = || {
        actions.iter().filter_map(|action| match action {
            Action::Command(command) => Some(command),
            Action::Edit(_) | Action::Prompt(_) => None,
        })
    };
    // Where a line starts the shell by its name, it is one of its programs.
    let is_meant = commands().any(|command| command.programs().iter().any(|path| path == shell));
    if is_meant || commands().next().is_none() {
        return None;
    }
    let is_shell = |need: &&Need| matches!(&need.target, Target::Program(path) if path == shell);
    let rest: Vec<Need> = needs
        .iter()
        .filter(|need| !is_shell(need))
        .cloned()
        .collect();
    (!rest.is_empty()).then_some(rest)
}
