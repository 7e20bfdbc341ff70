//! A command line among the actions of a plan.

use super::PlannedActions;
use crate::ask::Scope;
use crate::bindings::declared::DeclaredCommand;
use crate::call::{Action, Failure, PlanStatus};
use crate::capability::Shared;
use crate::command::CommandLine;
use crate::display::chain;
use crate::permission::Caller;
use crate::target::Need;

/// Adds one command. One that names secrets or needs the network is asked about even where it is granted.
pub(super) fn look_at(
    shared: &Shared,
    caller: &Caller<'_>,
    command: DeclaredCommand,
    planned_actions: &mut PlannedActions,
) -> Result<(), Failure> {
    let DeclaredCommand { line, network } = command;
    let command = CommandLine::read(line, network, &shared.permissions);
    let command = command.map_err(|e| Failure::Action { message: chain(&e) })?;
    let needs = command.needs();
    let has_network = shared.commands.network;
    let conditions = &mut planned_actions.conditions;
    let is_allowed = |it: &_| shared.permissions.allows_command(caller, it);
    conditions
        .notices
        .extend(command.notices(has_network, &is_allowed));
    conditions.longest = conditions.longest.min(command.longest(has_network));
    if command.is_sensitive(has_network) {
        conditions.each_time.extend(needs.iter().cloned());
    }
    planned_actions.needs.extend(needs);
    planned_actions.actions.push(Action::Command(command));
    Ok(())
}

/// What the actions of a plan ask for beyond what the permission store says of their needs.
#[derive(Debug)]
pub(crate) struct Conditions {
    /// Asked about whatever is granted, and for this once.
    each_time: Vec<Need>,
    /// The longest that a yes may hold.
    longest: Scope,
    notices: Vec<String>,
}

impl Default for Conditions {
    fn default() -> Conditions {
        Conditions {
            each_time: Vec::new(),
            longest: Scope::Always,
            notices: Vec::new(),
        }
    }
}

impl Conditions {
    /// Adds something that the user has to know before answering.
    pub(super) fn warn(&mut self, warning: Option<String>) {
        self.notices.extend(warning);
    }

    /// Makes the plan's status as strict as the actions require.
    pub(crate) fn apply(self, status: PlanStatus) -> PlanStatus {
        match status {
            PlanStatus::Allowed if self.each_time.is_empty() => PlanStatus::Allowed,
            PlanStatus::Allowed => PlanStatus::Ask {
                needs: self.each_time,
                notices: self.notices,
                lasting: Vec::new(),
                longest: Scope::Once,
            },
            PlanStatus::Ask {
                mut needs,
                notices,
                lasting,
                longest,
            } => {
                for need in self.each_time {
                    if !needs.contains(&need) {
                        needs.push(need);
                    }
                }
                let mut all = self.notices;
                all.extend(notices);
                PlanStatus::Ask {
                    needs,
                    notices: all,
                    lasting,
                    longest: longest.min(self.longest),
                }
            }
            PlanStatus::Denied { .. } => status,
        }
    }
}
