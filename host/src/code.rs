//! Where the component of a plugin is: in memory, or in a file that is read when it is needed.

use std::borrow::Cow;
use std::path::PathBuf;

/// Where a component is.
#[derive(Debug, Clone)]
pub enum Code {
    /// In memory.
    Bytes(Cow<'static, [u8]>),
    /// In this file, which is read when it has to be compiled, and has to have the digest of its plugin then.
    File(PathBuf),
}

impl Code {
    /// Whether it can still be had: the file of a plugin goes when that is removed.
    pub(crate) fn is_there(&self) -> bool {
        match self {
            Code::Bytes(_) => true,
            Code::File(path) => path.exists(),
        }
    }
}

impl From<&'static [u8]> for Code {
    fn from(bytes: &'static [u8]) -> Code {
        Code::Bytes(bytes.into())
    }
}

impl From<Vec<u8>> for Code {
    fn from(bytes: Vec<u8>) -> Code {
        Code::Bytes(bytes.into())
    }
}

/// Why the bytes of a component cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is another one than was installed.
    #[error("{} is not the component that was installed", path.display())]
    Other {
        /// The file.
        path: PathBuf,
    },
}
