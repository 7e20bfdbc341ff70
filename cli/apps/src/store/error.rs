//! Why an app cannot be read or changed.

use std::path::{Path, PathBuf};

/// Why an app cannot be read or changed. The texts are not escaped.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No app has this name.
    #[error("there is no app '{0}'")]
    Unknown(String),
    /// A file or folder cannot be read or written.
    #[error("cannot use {}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What is known of an app cannot be understood.
    #[error("cannot read {}: {why}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        why: String,
    },
    /// It comes from another version of the program.
    #[error("{} has the format {format}, which this version of Dunlin does not know", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// A file is larger than Dunlin writes it.
    #[error("{} has more than {max_bytes} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        max_bytes: u64,
    },
    /// Another app has its id, and so what it was granted and has stored.
    #[error(
        "the apps '{name}' and '{other}' have the same id, so neither of them is used; remove the one that is a copy from {}",
        folder.display()
    )]
    SameId {
        /// The app.
        name: String,
        /// The other one.
        other: String,
        /// The folder of all apps.
        folder: PathBuf,
    },
    /// The files of a version are gone.
    #[error("there is no part of the app in {}", .0.display())]
    NoParts(PathBuf),
    /// All names are taken.
    #[error("too many apps have a name like '{0}'; `dunlin app delete` removes one")]
    TooMany(String),
}

/// Says which file an error is about.
pub(super) fn io(path: &Path) -> impl Fn(std::io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io {
        path: path.clone(),
        source,
    }
}
