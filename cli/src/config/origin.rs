//! Values that remember the layer they come from.

use std::fmt;
use std::path::PathBuf;

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    pub value: T,
    /// Where it comes from.
    pub origin: Origin,
}

/// A layer; each wins over those before it, but for the project's file, which only narrows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// A configuration file and the line in it.
    File(PathBuf, usize),
    /// An environment variable.
    Environment(&'static str),
    /// A flag.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(path, line) => write!(f, "{}:{line}", path.display()),
            Origin::Environment(name) => write!(f, "${name}"),
            Origin::Flag(name) => f.write_str(name),
        }
    }
}

impl<T> From<T> for Sourced<T> {
    /// A value that is built in.
    fn from(value: T) -> Sourced<T> {
        Sourced {
            value,
            origin: Origin::Default,
        }
    }
}
