//! The words of a decision: what holds, and which rule says so.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::key::{Decided, Key};
use crate::target::{CommandKey, Need, Operation, Target};

/// What holds for one need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Refuse.
    Deny,
    /// Ask the user.
    Ask,
}

/// Which layer, and which rule in it, gave the verdict. `Display` says it in words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// Dunlin's own folders.
    Protected,
    /// An answer for this call.
    Once,
    /// An answer for this session, given for this key.
    Session(String),
    /// An option of the command line, as it was typed: it holds for one run.
    Option(String),
    /// The permission file, under this key; the plugins it was given to, if not all.
    Stored {
        /// The deciding key.
        key: String,
        /// Names of the plugins; empty when set by hand.
        plugins: Vec<String>,
    },
    /// Each command of a compound line is allowed, by these.
    Parts(Vec<Rule>),
    /// The default for reading inside the project.
    InsideProject,
    /// The default for files that look like secrets.
    Secret,
    /// The default for everything outside the project.
    OutsideProject,
    /// The default where Dunlin was started in a folder that is not a project.
    NoProject,
    /// The default for writing.
    Writing,
    /// The default for writing what an allowed command, a hook or a server runs, in a mode that accepts other edits.
    WritingBound,
    /// The default for writing what git keeps of a repository.
    WritingGit,
    /// The default for programs.
    Executing,
    /// The default for starting MCP servers outside of the sandbox.
    Starting,
    /// The default for the web.
    Web,
    /// The default for servers on this machine.
    ThisMachine,
    /// The default for addresses of private networks.
    PrivateNetwork,
    /// Addresses that lead where no tool has any business; says what they are.
    Unreachable(&'static str),
    /// The configuration names this search engine.
    SearchEngine,
    /// The configuration names this MCP server by its address.
    McpServer,
    /// The tool was set to `always` for the session.
    ToolAlways(String),
    /// The tool was set to `never` for the session.
    ToolNever(String),
    /// The session's mode refuses everything that changes something.
    Plan,
    /// The command was allowed for this call in plan mode, which has ended.
    PlanModeEnded,
    /// The session's mode accepts edits.
    AcceptEdits,
    /// The plugin itself says that it never asks for that.
    NotDeclared(String),
    /// A stored allow was given to another version of the plugin.
    PluginChanged {
        /// The key it stands under.
        key: String,
        /// The default that holds instead.
        default: Box<Rule>,
    },
    /// A yes to this command, under this key, no longer holds.
    CommandChanged(String, Change),
    /// Not all that the command runs was made out, so that it may get round a no under this key.
    MayHide(String),
}

/// What takes a rule that a person made back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Revert {
    /// The permission file has it.
    Stored(WayOut),
    /// It was answered until the session ends, under this key.
    Session(String),
    /// This tool is set to `never` until the session ends.
    ToolMode(String),
    /// It is the mode of the session.
    SessionMode,
}

impl Rule {
    /// What takes the rule back; `None`: nobody can.
    pub fn revert(&self, operation: Operation) -> Option<Revert> {
        match self {
            Rule::Stored { key, .. } => Some(Revert::Stored(WayOut {
                target: key.clone(),
                operation,
                decided: Decided::Open,
            })),
            Rule::Session(key) => Some(Revert::Session(key.clone())),
            Rule::ToolNever(tool) | Rule::ToolAlways(tool) => Some(Revert::ToolMode(tool.clone())),
            Rule::Plan | Rule::AcceptEdits => Some(Revert::SessionMode),
            _ => None,
        }
    }
}

/// What [`super::Permissions::set_one`] has to be told to turn a verdict around.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayOut {
    /// The target as a person types it. It may hold anything a file name can.
    pub target: String,
    /// Which operation.
    pub operation: Operation,
    /// What is to hold for it.
    pub decided: Decided,
}

impl WayOut {
    /// What decides about just this need. `None`: its target cannot be typed.
    pub fn of(need: &Need, decided: Decided) -> Option<WayOut> {
        let target = match &need.target {
            // As it is typed, `/` means all that is below it.
            Target::Path(path) | Target::Program(path) if path == Path::new("/") => {
                Key::exact(&need.target).to_string()
            }
            Target::Path(path) | Target::Program(path) => path.to_str()?.to_owned(),
            Target::Folder(path) => format!("{}/", path.to_str()?.trim_end_matches('/')),
            Target::Url(_) | Target::Site(_) => Key::exact(&need.target).to_string(),
            Target::Command(command) => typed(&command.key)?,
        };
        Some(WayOut {
            target,
            operation: need.operation,
            decided,
        })
    }
}

/// A key as a person types it. A path is stored with its odd bytes encoded, and typed as it is.
fn typed(key: &CommandKey) -> Option<String> {
    match key {
        CommandKey::Program(path) => path.to_str().map(str::to_owned),
        key => Some(key.to_string()),
    }
}

/// Why a yes to a command no longer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// It was given to another version of the plugin.
    Plugin,
    /// It covered a whole program, which is more than what was shown.
    Wider,
    /// It was an answer to the start of a server outside of the sandbox, which holds for one start now.
    Server,
    /// The path of the program leads to another file.
    Program,
    /// It was given to this line in another project.
    Elsewhere,
    /// It was given to this line in all projects.
    Everywhere,
    /// The line names other files.
    Files,
    /// A name in the line is something else, or another program.
    Names,
    /// This file has another content.
    Content(PathBuf),
}

/// A sentence for the user.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Plugin => f.write_str(
                "You allowed this before, to another version of the plugin or with other settings of the server.",
            ),
            Change::Wider => f.write_str(
                "You allowed this program before. Dunlin now remembers only what it shows, so it asks once more.",
            ),
            Change::Server => f.write_str(
                "You allowed this before. What a server runs may change, so Dunlin asks at each start now.",
            ),
            Change::Program => f.write_str(
                "You allowed this before, but the program's path leads to another file now.",
            ),
            Change::Elsewhere => f.write_str("You allowed this before, in another project."),
            Change::Everywhere => f.write_str(
                "You allowed this line before. Dunlin now stores it for one project, so it asks once more.",
            ),
            Change::Files => f.write_str("You allowed this before, but it names other files now."),
            Change::Names => f.write_str(
                "You allowed this before, but a name in it is another file, folder or program now, or was not remembered.",
            ),
            Change::Content(path) => write!(
                f,
                "You allowed this before, but {} has changed since.",
                path.display()
            ),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Protected => f.write_str("Dunlin's own files are never granted"),
            Rule::Once => f.write_str("answered for this call"),
            Rule::Session(key) => write!(f, "answered for this session, for {key}"),
            Rule::Option(option) => write!(f, "allowed for this run by the option {option}"),
            Rule::Stored { key, plugins } if plugins.is_empty() => write!(f, "stored under {key}"),
            Rule::Stored { key, plugins } => {
                write!(f, "stored under {key}, for {}", plugins.join(", "))
            }
            Rule::Parts(rules) => {
                let all: BTreeSet<String> = rules.iter().map(Rule::to_string).collect();
                let all: Vec<String> = all.into_iter().collect();
                write!(f, "each of its commands is allowed: {}", all.join("; "))
            }
            Rule::InsideProject => f.write_str("default: reading inside the project is allowed"),
            Rule::Secret => f.write_str("default: what looks like a secret is asked"),
            Rule::OutsideProject => f.write_str("default: outside the project is asked"),
            Rule::NoProject => f.write_str(
                "default: a home folder, what lies above one, and / are not projects, so everything asks",
            ),
            Rule::Writing => f.write_str("default: writing is asked"),
            Rule::WritingBound => f.write_str(
                "default: changing a file that an allowed command, a hook or an MCP server runs asks, also in mode accept-edits",
            ),
            Rule::WritingGit => f.write_str(
                "default: files of a git repository itself are asked, also in a folder that may be written",
            ),
            Rule::Executing => f.write_str("default: commands are asked"),
            Rule::Starting => f.write_str(
                "default: each start of a server without a sandbox is asked; a key that is set by hand allows it beforehand",
            ),
            Rule::Web => f.write_str("default: addresses are asked"),
            Rule::ThisMachine => f.write_str("default: servers on this machine are asked"),
            Rule::PrivateNetwork => f.write_str("default: private networks are asked"),
            Rule::Unreachable(what) => write!(f, "{what} is never granted"),
            Rule::SearchEngine => f.write_str("the search engine of the configuration"),
            Rule::McpServer => f.write_str("an MCP server of the configuration"),
            Rule::ToolAlways(tool) => write!(f, "{tool} is set to always for this session"),
            Rule::ToolNever(tool) => write!(
                f,
                "{tool} is set to never for this session; /tools {tool} prompt changes that"
            ),
            Rule::Plan => f.write_str("mode plan: nothing is changed"),
            Rule::PlanModeEnded => {
                f.write_str("default: Dunlin asks before a command, even after a yes in plan mode")
            }
            Rule::AcceptEdits => f.write_str("mode accept-edits: edits in the project are accepted"),
            Rule::NotDeclared(plugin) => {
                write!(
                    f,
                    "the plugin {plugin} declares that it never does this ([may] in its plugin.toml)"
                )
            }
            Rule::PluginChanged { key, .. } => {
                write!(f, "stored under {key} for an earlier version of the plugin")
            }
            Rule::CommandChanged(key, change) => write!(f, "stored under {key}. {change}"),
            Rule::MayHide(key) => write!(
                f,
                "default: commands are asked, also those under a broader permission that may run what {key} denies"
            ),
        }
    }
}

/// A verdict and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What holds.
    pub verdict: Verdict,
    /// Why.
    pub rule: Rule,
}
