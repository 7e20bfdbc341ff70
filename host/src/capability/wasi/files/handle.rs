//! What stands behind `descriptor`.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use super::lease::Lease;

/// What stands behind `descriptor`.
#[derive(Debug)]
pub enum Descriptor {
    /// A folder.
    Folder(Folder),
    /// A regular file.
    File(OpenFile),
}

/// A folder to start from.
#[derive(Debug)]
pub struct Folder {
    pub(super) path: PathBuf,
    /// What was checked when it was opened; `None`: one that everybody gets, and nothing was checked.
    pub(super) handle: Option<OwnedFd>,
    /// Whether C libraries take it for the root, too.
    pub(super) is_start: bool,
}

/// An open file.
#[derive(Debug)]
pub struct OpenFile {
    pub(super) file: Arc<File>,
    /// What it may be read under, and written under.
    pub(super) reads: Option<Lease>,
    pub(super) writes: Option<Lease>,
}
