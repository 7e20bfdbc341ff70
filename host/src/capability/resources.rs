//! What stands behind the handles of the contract.

use std::fs::File;
use std::path::PathBuf;

use bytes::Bytes;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::lines::Lines;
use crate::egress::Body;
use crate::process::Running;
use crate::walk::Also;

/// The number of a use that the audit log counts, kept by whoever acts under it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UseId(pub(super) usize);

/// What stands behind the contract's `file`.
#[derive(Debug)]
pub struct OpenFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) lines: Lines,
    pub(super) under: UseId,
}

/// What stands behind the contract's `command`.
#[derive(Debug)]
pub struct StartedCommand {
    pub(super) running: Running,
    /// Ends with the handle.
    pub(super) _watch: JoinSet<()>,
    pub(super) under: UseId,
    pub(super) shown: Shown,
    /// What the user is to know of what the command left behind; known once it has ended.
    pub(super) left_behind: Vec<String>,
    /// Whether the guest was told that.
    pub(super) is_told: bool,
}

/// The newest output, on its way to whoever watches.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) waiting: Vec<u8>,
    /// When something was shown last.
    pub(super) last: Option<Instant>,
}

/// What stands behind the contract's `folder`.
#[derive(Debug)]
pub struct OpenFolder {
    pub(super) root: PathBuf,
    /// What is listed of it beside the rest.
    pub(super) also: Also,
    pub(super) under: UseId,
}

/// What stands behind the contract's `response`.
#[derive(Debug)]
pub struct OpenResponse {
    pub(super) status: u16,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
    /// What came and was not given yet.
    pub(super) piece: Bytes,
    pub(super) under: UseId,
}

/// What stands behind the contract's `line`: there is one for each bridge, so the handle holds nothing.
#[derive(Debug)]
pub struct OpenConnection;
