//! Says what is stored, what was answered for the session, and what holds for a target and why.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::command_lines::lapsed;
use super::grantee::describe_grantee;
use super::key::{Bits, Decided, Key};
use super::mode::ToolMode;
use super::stored::resolved_key;
use super::{Change, Decision, PermissionError, Permissions, Rule, Verdict, WayOut};
use crate::command::{CommandError, NotSimple, simple_words};
use crate::target::{CommandKey, CommandTarget, Need, Operation, ProgramFile, Target};

/// One stored line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The key as it stands in the file.
    pub key: String,
    /// Three characters: `rw-`, `r??`.
    pub bits: String,
    /// Which plugins its allows were given to, in words, perhaps none; `None`: they hold for every tool.
    pub bound_to: Option<String>,
    /// Why its allow holds no longer, if nobody has one that does.
    pub lapsed: Option<Change>,
}

/// What holds for one operation on a target, for `permissions explain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The operation.
    pub operation: Operation,
    /// What holds.
    pub verdict: Verdict,
    /// Which rule decided.
    pub rule: Rule,
    /// What would change it; `None` where nothing does.
    pub way_out: Option<WayOut>,
}

/// How a command line is read, and what holds for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedCommand {
    /// What is decided about.
    pub command: Arc<CommandTarget>,
    /// Why it is more than one simple command; `None`: it is one.
    pub compound: Option<NotSimple>,
    /// Why a yes to it cannot be stored, as the end of a sentence: `because of git push`. `None`: it can.
    pub obstacle: Option<String>,
    /// Whether it may run, and which rule says so.
    pub execute: Explained,
    /// Secrets, and files of Dunlin's own, that it names: with one of the former it is asked each time, with one
    /// of the latter refused.
    pub guarded: Vec<PathBuf>,
}

impl Permissions {
    /// What is stored, sorted by key.
    pub fn list(&self) -> Result<Vec<Stored>, PermissionError> {
        let contents = self.files.load()?;
        let mut list: Vec<Stored> = contents
            .entries
            .iter()
            .map(|(key, bits)| {
                let grants = contents.digests.grants.get(key);
                let mut names: Vec<String> = grants
                    .into_iter()
                    .flat_map(|g| g.values().flatten())
                    .map(|grant| {
                        let runs = grant.runs.as_ref();
                        let plugin = describe_grantee(grant);
                        match runs.and_then(|runs| runs.folder.as_ref()) {
                            Some(folder) => format!("{plugin} in {}", folder.display()),
                            None => plugin,
                        }
                    })
                    .collect();
                names.sort();
                names.dedup();
                let bound_to = grants.map(|_| match names.is_empty() {
                    true => "nobody: tool.digests.json names no plugin".to_owned(),
                    false => names.join(", "),
                });
                Stored {
                    key: key.clone(),
                    bits: bits.to_string(),
                    bound_to,
                    lapsed: lapsed(
                        grants.into_iter().flat_map(|g| g.values().flatten()),
                        CommandKey::split(key)
                            .is_some_and(|(prefix, _)| CommandKey::is_of_a_folder(prefix)),
                    ),
                }
            })
            .collect();
        list.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(list)
    }

    /// What was answered for this session, sorted by key. The key of calls of an MCP server's tool is the tool's name.
    pub fn session_answers(&self) -> Vec<Stored> {
        let state = self.lock();
        let mut merged: HashMap<&Key, (Bits, Vec<String>)> = HashMap::new();
        for ((key, operation), answers) in &state.session {
            let Some(last) = answers.last() else { continue };
            let entry = merged.entry(key).or_default();
            let decided = if last.allow {
                Decided::Allow
            } else {
                Decided::Deny
            };
            entry.0 = entry.0.with(*operation, decided);
            entry
                .1
                .extend(last.plugin.iter().map(|plugin| plugin.name.clone()));
        }
        let mut list: Vec<Stored> = merged
            .into_iter()
            .map(|(key, (bits, mut names))| {
                names.sort();
                names.dedup();
                Stored {
                    key: key.to_string(),
                    bits: bits.to_string(),
                    bound_to: (!names.is_empty()).then(|| names.join(", ")),
                    lapsed: None,
                }
            })
            .collect();
        list.extend(state.calls.keys().map(|tool| {
            Stored {
                key: tool.clone(),
                bits: Bits::default()
                    .with(Operation::Execute, Decided::Allow)
                    .to_string(),
                bound_to: Some("calls of this tool of an MCP server".to_owned()),
                lapsed: None,
            }
        }));
        list.sort_by(|a, b| a.key.cmp(&b.key));
        list
    }

    /// The tools that have a mode of their own for this session, sorted by name.
    pub fn tool_modes(&self) -> Vec<(String, ToolMode)> {
        let state = self.lock();
        let modes = state.modes.iter();
        let mut modes: Vec<(String, ToolMode)> =
            modes.map(|(tool, mode)| (tool.clone(), *mode)).collect();
        modes.sort_by(|a, b| a.0.cmp(&b.0));
        modes
    }

    /// Resolves what a person typed and says, for each operation, what holds and which rule decided.
    /// A stored allow counts whichever plugin it was given to; the rule names it.
    pub fn explain(&self, typed: &str) -> Result<(Target, Vec<Explained>), PermissionError> {
        let target = self.typed_target(typed)?;
        let mut explained = Vec::new();
        for operation in Operation::ALL {
            let target = match (&target, operation) {
                (Target::Path(path) | Target::Program(path), Operation::Execute) => {
                    self.any_use_of(typed, path)
                }
                (target, _) => target.clone(),
            };
            explained.push(self.explain_need(Need { target, operation })?);
        }
        Ok((target, explained))
    }

    /// Says how a command line is read and what holds for it. Blocks for the file system.
    pub fn explain_command(&self, line: &str) -> Result<ExplainedCommand, CommandError> {
        let (prefix, line) = CommandKey::split(line).unwrap_or(("", line));
        let (command, compound, obstacle, guarded) = match (prefix, simple_words(line)) {
            ("mcp ", Ok(words)) => {
                let server = CommandTarget::of_server(&words, &[], self.project(), false, self)?;
                (Arc::new(server), None, None, Vec::new())
            }
            _ => {
                let line = self.command_line(line)?;
                let obstacle = line.not_storable_because();
                (line.target, line.compound, obstacle, line.guarded)
            }
        };
        let execute = self.explain_need(Need {
            target: Target::Command(Arc::clone(&command)),
            operation: Operation::Execute,
        })?;
        Ok(ExplainedCommand {
            command,
            compound,
            obstacle,
            execute,
            guarded,
        })
    }

    fn explain_need(&self, need: Need) -> Result<Explained, PermissionError> {
        let Decision { verdict, rule } = self.decide_for(None, &need)?;
        let way_out = Permissions::way_out(&need, verdict, &rule);
        Ok(Explained {
            operation: need.operation,
            verdict,
            rule,
            way_out,
        })
    }

    /// The program with whatever arguments.
    fn any_use_of(&self, typed: &str, path: &Path) -> Target {
        let program = self.program_file(typed).ok();
        let program = program.filter(|program| program.real == path);
        let program = program.unwrap_or_else(|| ProgramFile {
            called: path.to_owned(),
            real: path.to_owned(),
        });
        Target::Command(Arc::new(CommandTarget {
            key: CommandKey::Program(program.called.clone()),
            is_storable: true,
            subject: vec![program.called.to_string_lossy().into_owned()],
            programs: vec![program],
            mentioned: Vec::new(),
            commands: Vec::new(),
            is_incomplete: false,
            hides_program: false,
            unread: Vec::new(),
            covers: Vec::new(),
            contents: BTreeMap::new(),
            looked_up: None,
            parts: Vec::new(),
            only_once: false,
            not_storable: None,
            is_unclear: false,
            folder: None,
        }))
    }

    /// What [`Permissions::set_one`] has to be told so that these needs are allowed. Needs that nothing can allow are left
    /// out.
    pub fn ways_to_allow(&self, needs: &[Need]) -> Vec<WayOut> {
        let needs: Vec<Need> = needs.iter().flat_map(Need::in_parts).collect();
        let can_be_stored = |need: &&Need| {
            let command = need.target.command();
            !self.is_protected(&need.target) && command.is_none_or(|it| it.is_storable)
        };
        needs
            .iter()
            .filter(can_be_stored)
            .filter_map(|need| match need.target.command() {
                // A key by hand covers more than an answer does: of a program, or of leading words, any use.
                Some(command)
                    if matches!(command.key, CommandKey::Program(_) | CommandKey::Words(_)) =>
                {
                    Some(WayOut {
                        target: CommandKey::Line(command.subject.clone()).to_string(),
                        operation: need.operation,
                        decided: Decided::Allow,
                    })
                }
                _ => WayOut::of(need, Decided::Allow),
            })
            .collect()
    }

    /// Stored keys that decide about nothing: what they name is not there. A file may yet come, so this is
    /// no more than worth knowing. One look-up a key.
    pub fn stale_keys(&self) -> Result<Vec<String>, PermissionError> {
        let contents = self.files.load()?;
        let keys = contents.entries.into_iter().map(|(key, _)| key);
        let is_gone = |key: &String| match resolved_key(key) {
            Key::Exact(path) | Key::Below(path) => !path.exists(),
            Key::Command(key) => key.program().is_some_and(|path| !path.exists()),
            Key::Url(_) | Key::UrlBelow(_) => false,
        };
        Ok(keys.filter(is_gone).collect())
    }

    fn way_out(need: &Need, verdict: Verdict, rule: &Rule) -> Option<WayOut> {
        // What holds for the session is not what is stored: setting something would not change it.
        let is_fixed = matches!(rule, Rule::Protected | Rule::Unreachable(_));
        if is_fixed || matches!(rule, Rule::Once | Rule::Session(_) | Rule::Option(_)) {
            return None;
        }
        let other = match verdict {
            Verdict::Allow => Decided::Deny,
            Verdict::Deny | Verdict::Ask => Decided::Allow,
        };
        match &need.target {
            Target::Command(command) if !command.is_storable => None,
            // A yes beside a no to a program, or to other words, changes nothing: the no has to be taken back.
            Target::Command(command) if verdict == Verdict::Deny && !is_own_key(command, rule) => {
                None
            }
            // Who names a folder, or a host, means what lies below it.
            Target::Url(url) if url.ends_with('/') => Some(WayOut {
                target: url.to_string(),
                operation: need.operation,
                decided: other,
            }),
            _ => WayOut::of(need, other),
        }
    }
}

/// Whether a rule stands under the key of the command itself, or under a folder that its program lies in: then a yes to
/// the command is the stronger one.
fn is_own_key(command: &CommandTarget, rule: &Rule) -> bool {
    let Rule::Stored { key, .. } = rule else {
        return true;
    };
    let program = command.subject.first();
    *key == command.key.to_string()
        || (key.ends_with('/') && program.is_some_and(|program| program.starts_with(key)))
}
