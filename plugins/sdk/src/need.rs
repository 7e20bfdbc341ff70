//! What a call will touch.

/// What a tool wants to do with a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Look at it.
    Read,
    /// Create, change, rename or remove it. Does not imply reading.
    Write,
    /// Run it.
    Execute,
}

impl Operation {
    /// The word for it: `read`, `write` or `execute`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
        }
    }
}

/// Something the user can grant, as the tool names it. The host resolves it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// A file, or a folder without what lies in it; relative paths start at the project folder.
    Path(String),
    /// A folder and everything below it, except secrets and settings of git.
    Folder(String),
    /// An absolute `http` or `https` address.
    Url(String),
    /// An address that ends with `/`, and everything below it.
    Site(String),
    /// A program: an absolute path or a bare name.
    Program(String),
}

impl Target {
    /// The tool's own spelling.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Path(text)
            | Self::Folder(text)
            | Self::Url(text)
            | Self::Site(text)
            | Self::Program(text) => text,
        }
    }
}

/// One target and what is to be done with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Need {
    /// What is touched.
    pub target: Target,
    /// What is done with it.
    pub operation: Operation,
}
