//! Decides: goes through the layers, and the first that has an answer gives it.

use std::path::Path;

use super::grantee::grantee;
use super::key::{Decided, Key};
use super::{
    Decision, PermissionError, Permissions, PluginId, Rule, SessionAnswer, Verdict, secret,
};
use crate::target::{Need, Operation, Target};

impl Permissions {
    /// Decides about one need of one call.
    pub(crate) fn decide(
        &self,
        call: &str,
        plugin: &PluginId,
        need: &Need,
    ) -> Result<Decision, PermissionError> {
        self.decide_for(Some((call, plugin)), need)
    }

    /// Whether the target lies in one of Dunlin's own folders.
    pub(crate) fn is_protected(&self, target: &Target) -> bool {
        target.path().is_some_and(|path| {
            self.protected.iter().any(|own| path.starts_with(own)) || is_own_thread(path)
        })
    }

    /// `who`: the call and the plugin; `None` for explaining.
    pub(super) fn decide_for(
        &self,
        who: Option<(&str, &PluginId)>,
        need: &Need,
    ) -> Result<Decision, PermissionError> {
        let decided = |verdict, rule| Ok(Decision { verdict, rule });
        if self.is_protected(&need.target) {
            return decided(Verdict::Deny, Rule::Protected);
        }
        let mut state = self.lock();
        self.refresh(&mut state)?;
        if let Some((call, _)) = who
            && let Some(allow) = state.once.get(call).and_then(|once| once.get(need))
        {
            return decided(
                if *allow {
                    Verdict::Allow
                } else {
                    Verdict::Deny
                },
                Rule::Once,
            );
        }
        let candidates = Key::candidates(&need.target);
        if !state.session.is_empty() {
            for key in &candidates {
                let Some(answers) = state.session.get(&(key.clone(), need.operation)) else {
                    continue;
                };
                let holds = |answer: &&SessionAnswer| match (&answer.plugin, who) {
                    (None, _) | (_, None) => true,
                    (Some(granted), Some((_, plugin))) => granted == plugin,
                };
                if let Some(answer) = answers.iter().rev().find(holds) {
                    let verdict = if answer.allow {
                        Verdict::Allow
                    } else {
                        Verdict::Deny
                    };
                    return decided(verdict, Rule::Session(key.to_string()));
                }
            }
        }
        let mut changed = None;
        for key in &candidates {
            let Some(entry) = state.stored.get(key) else {
                continue;
            };
            match entry.bits.get(need.operation) {
                Decided::Open => {}
                Decided::Deny => {
                    let rule = Rule::Stored {
                        key: entry.key.clone(),
                        plugins: Vec::new(),
                    };
                    return decided(Verdict::Deny, rule);
                }
                Decided::Allow => {
                    let grantees = entry.grants.get(&need.operation.into());
                    let plugins: Vec<String> = grantees
                        .into_iter()
                        .flatten()
                        .map(|g| g.plugin.clone())
                        .collect();
                    let holds = match (grantees, who) {
                        (None, _) | (_, None) => true,
                        (Some(grantees), Some((_, plugin))) => {
                            let holds = grantees.contains(&grantee(plugin));
                            if !holds && grantees.iter().any(|g| g.plugin == plugin.name) {
                                changed.get_or_insert_with(|| entry.key.clone());
                            }
                            holds
                        }
                    };
                    if holds {
                        return decided(
                            Verdict::Allow,
                            Rule::Stored {
                                key: entry.key.clone(),
                                plugins,
                            },
                        );
                    }
                }
            }
        }
        let default = self.default_for(need);
        match (default.verdict, changed) {
            (Verdict::Ask, Some(key)) => decided(Verdict::Ask, Rule::PluginChanged { key }),
            _ => Ok(default),
        }
    }

    fn default_for(&self, need: &Need) -> Decision {
        let ask = |rule| Decision {
            verdict: Verdict::Ask,
            rule,
        };
        let inside = |path: &Path| path.starts_with(&self.places.project);
        match (&need.target, need.operation) {
            (_, Operation::Execute) => ask(Rule::Executing),
            (Target::Url(_), _) => ask(Rule::Web),
            (Target::Path(path) | Target::Program(path), Operation::Read) => {
                if secret::looks_secret(path) {
                    ask(Rule::Secret)
                } else if inside(path) {
                    Decision {
                        verdict: Verdict::Allow,
                        rule: Rule::InsideProject,
                    }
                } else {
                    ask(Rule::OutsideProject)
                }
            }
            (Target::Path(path) | Target::Program(path), Operation::Write) => {
                ask(if inside(path) {
                    Rule::Writing
                } else {
                    Rule::OutsideProject
                })
            }
        }
    }
}

/// Whether a path is below `/proc/<number>` of a thread of this process: each has such a folder beside
/// the process's own, which no listing shows and which holds the same memory and environment.
fn is_own_thread(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix("/proc") else {
        return false;
    };
    match below.components().next() {
        Some(number) => Path::new("/proc/self/task").join(number).exists(),
        None => false,
    }
}
