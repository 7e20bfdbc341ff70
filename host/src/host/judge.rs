//! What the permission store says of the needs of a call, and the note of a denial.

use super::Host;
use crate::ask::Scope;
use crate::audit::{self, Event, Record};
use crate::bindings::dunlin::tool::types;
use crate::call::{Call, Failure, Standing};
use crate::capability;
use crate::display::chain;
use crate::permission::{Caller, Decision, Verdict};
use crate::plugin::Registered;
use crate::resolve;
use crate::target::{Need, Target};

impl Host {
    pub(super) fn resolve(&self, tool: &str, need: types::Need) -> Result<Need, Failure> {
        let permissions = self.permissions();
        let target = match &need.target {
            types::Target::Path(path) => permissions.resolve_path(path),
            types::Target::Url(url) => resolve::url(url),
            types::Target::Program(program) => permissions.resolve_program(program),
        };
        let target: Target = target.map_err(|e| Failure::Arguments {
            tool: tool.to_owned(),
            problem: chain(&e),
        })?;
        Ok(Need {
            target,
            operation: need.operation.into(),
        })
    }

    pub(super) fn standing(
        &self,
        call: &Call,
        plugin: &Registered,
        needs: &[Need],
    ) -> Result<Standing, Failure> {
        let caller = Caller {
            call: &call.id,
            tool: &call.tool,
            plugin: &plugin.id,
            declared: true,
            ceiling: plugin.ceiling(),
        };
        let mut open = Vec::new();
        let mut notices = Vec::new();
        for need in needs {
            let Decision { verdict, rule } = self
                .permissions()
                .decide(&caller, need)
                .map_err(|e| Failure::Host(chain(&e)))?;
            match verdict {
                Verdict::Allow => {}
                Verdict::Deny => {
                    return Ok(Standing::Denied {
                        need: need.clone(),
                        revert: rule.revert(need.operation),
                        rule: rule.to_string(),
                    });
                }
                Verdict::Ask => {
                    open.push(need.clone());
                    for notice in capability::notices(&rule) {
                        if !notices.contains(&notice) {
                            notices.push(notice);
                        }
                    }
                }
            }
        }
        Ok(if open.is_empty() {
            Standing::Allowed
        } else {
            Standing::Ask {
                needs: open,
                notices,
                longest: Scope::Always,
            }
        })
    }

    pub(super) fn note_denied(
        &self,
        call: &Call,
        plugin: &Registered,
        needs: &[Need],
        rule: &str,
    ) -> Result<(), Failure> {
        let session = self.0.shared.session();
        let targets: Vec<String> = needs.iter().map(|need| need.target.to_string()).collect();
        let records: Vec<Record<'_>> = needs
            .iter()
            .zip(&targets)
            .map(|(need, target)| Record {
                time: audit::now(),
                session: &session,
                call: &call.id,
                tool: &call.tool,
                plugin: &plugin.id.name,
                digest: &plugin.id.digest,
                event: Event::Denied,
                target: Some(target),
                operation: Some(need.operation.verb()),
                rule: Some(rule),
                times: None,
                bytes: None,
                duration_us: None,
                line: None,
                error: None,
            })
            .collect();
        self.0
            .shared
            .audit
            .append(&records)
            .map_err(|e| Failure::Host(chain(&e)))
    }
}
