//! Names what can be granted: operations, targets and the three characters that stand for a decision.

mod address;
mod command;

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::address::Address;
pub use self::command::{CommandKey, CommandKeyError, CommandTarget, ProgramFile};

/// What is done with a target. Write does not imply read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Reading a file, listing a folder, GET of a URL.
    Read,
    /// Creating, changing, renaming, removing; sending data to a URL.
    Write,
    /// Running a program.
    Execute,
}

impl Operation {
    /// All operations in the order of their characters in the three characters of a grant.
    pub const ALL: [Operation; 3] = [Operation::Read, Operation::Write, Operation::Execute];

    /// The verb for messages: `read`, `write`, `execute`.
    pub fn verb(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Execute => "execute",
        }
    }

    /// The character that stands for it in the three characters of a grant.
    pub fn letter(self) -> char {
        match self {
            Operation::Read => 'r',
            Operation::Write => 'w',
            Operation::Execute => 'x',
        }
    }
}

/// A resolved target: what is checked, asked about and logged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// An absolute path without symbolic links and `..`.
    Path(PathBuf),
    /// A folder with everything below it. A plan names one; what is used is always a file.
    Folder(PathBuf),
    /// A URL without query and fragment.
    Url(Address),
    /// A URL that ends with `/`, with everything below it. A plan names one; what is used is always a URL.
    Site(Address),
    /// The real path of a program that a tool names without a command line. Running anything takes a command.
    Program(PathBuf),
    /// A command line, or the start of an MCP server.
    Command(Arc<CommandTarget>),
}

impl Target {
    /// The path of a file, folder or program, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Target::Path(path) | Target::Folder(path) | Target::Program(path) => Some(path),
            Target::Url(_) | Target::Site(_) | Target::Command(_) => None,
        }
    }

    /// The target as a person has to see it: an address with the scheme that is used. Not escaped.
    pub fn shown(&self) -> Cow<'_, str> {
        match self {
            Target::Url(address) => Cow::Borrowed(address.shown()),
            Target::Site(address) => Cow::Owned(format!("{} and all below", address.shown())),
            Target::Folder(_) => Cow::Owned(format!("{self} and all below")),
            Target::Path(_) | Target::Program(_) | Target::Command(_) => {
                Cow::Owned(self.to_string())
            }
        }
    }

    /// Whether it is an address that is reached over `http`.
    pub fn is_plain(&self) -> bool {
        matches!(self, Target::Url(address) | Target::Site(address) if address.is_plain())
    }

    /// The command, if it is one.
    pub fn command(&self) -> Option<&CommandTarget> {
        match self {
            Target::Command(command) => Some(command),
            _ => None,
        }
    }
}

/// The target as stored and logged. Not escaped: what shows it to a person has to do that.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Path(path) | Target::Program(path) => path.display().fmt(f),
            Target::Folder(path) if path == Path::new("/") => f.write_str("/"),
            Target::Folder(path) => write!(f, "{}/", path.display()),
            Target::Url(url) | Target::Site(url) => url.fmt(f),
            Target::Command(command) => command.key.fmt(f),
        }
    }
}

/// A target and what is to be done with it, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Need {
    /// The resolved target.
    pub target: Target,
    /// What is to be done with it.
    pub operation: Operation,
}

impl Need {
    /// One need for each of the [parts](CommandTarget::parts) of a compound line, or the need itself if it has none.
    pub(crate) fn in_parts(&self) -> Vec<Need> {
        let parts = match self.target.command() {
            Some(command) if !command.parts.is_empty() => &command.parts,
            _ => return vec![self.clone()],
        };
        let need = |part: &Arc<CommandTarget>| Need {
            target: Target::Command(Arc::clone(part)),
            operation: self.operation,
        };
        parts.iter().map(need).collect()
    }

    /// Whether a server is asked for something under it, in requests that do no more than read.
    pub fn asks_server(&self) -> bool {
        self.operation == Operation::Read && matches!(self.target, Target::Url(_) | Target::Site(_))
    }

    /// Whether something is sent to a server under it, in requests that do more than read.
    pub fn sends(&self) -> bool {
        self.operation == Operation::Write
            && matches!(self.target, Target::Url(_) | Target::Site(_))
    }
}
