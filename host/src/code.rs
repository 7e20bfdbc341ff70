//! Where the component of a plugin is: in memory, or in a file that is read when it is needed.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often is looked whether a file is still there: as long as the call of a removed plugin may go on.
const LOOK: Duration = Duration::from_millis(500);

/// Where a component is.
#[derive(Debug, Clone)]
pub enum Code {
    /// In memory.
    Bytes(Cow<'static, [u8]>),
    /// In this file, which is read when it has to be compiled, and has to have the digest of its plugin then. The plugin is
    /// removed with it: what runs is ended, and nothing is kept for it any more. Installed again, it has another file.
    File(PathBuf),
}

impl Code {
    /// The file whose end is that of the plugin, if there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Code::Bytes(_) => None,
            Code::File(path) => Some(path),
        }
    }

    /// Whether it can still be had: the file of a plugin goes when that is removed.
    pub(crate) fn is_there(&self) -> bool {
        self.file().is_none_or(Path::exists)
    }

    /// Waits until it cannot be had any more.
    pub(crate) async fn gone(&self) {
        if let Some(path) = self.file() {
            while path.exists() {
                tokio::time::sleep(LOOK).await;
            }
            return;
        }
        std::future::pending().await
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
