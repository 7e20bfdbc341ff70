//! What all calls of a host share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::OnceCell;

use crate::audit::JsonLines;
use crate::edit::syntax::Checker;
use crate::egress::{Egress, SiteHeaders};
use crate::embedding::Embedder;
use crate::file_history::HistoryBook;
use crate::notices::Notices;
use crate::permission::Permissions;
use crate::process::{self, CommandOptions, CommandSandbox, SandboxError};
use crate::search::{SearchOptions, Window};
use crate::settings::SettingsFile;
use crate::undo::Journal;

/// What all calls of a host share.
pub(crate) struct Shared {
    pub(crate) permissions: Permissions,
    pub(crate) audit: JsonLines,
    pub(crate) log: JsonLines,
    pub(crate) session: RwLock<Arc<str>>,
    pub(crate) history: HistoryBook,
    pub(crate) undo: Journal,
    /// Where plugins keep what is theirs.
    pub(crate) stores: PathBuf,
    /// What the user has set for plugins.
    pub(crate) settings: SettingsFile,
    /// Which turn it is, counted from the time at which the host was made: a session may be gone on with, and
    /// its turns are not those of the last time.
    pub(crate) turn: AtomicU64,
    pub(crate) commands: CommandOptions,
    /// What the user is to know, and no call is left to tell.
    pub(crate) notices: Notices,
    /// The way out.
    pub(crate) egress: Egress,
    /// The user's own headers for certain sites.
    pub(crate) sites: Arc<SiteHeaders>,
    /// The search engine.
    pub(crate) search: SearchOptions,
    pub(crate) searches: Mutex<Window>,
    /// The embedding model.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// What knows whether a file parses.
    pub(crate) syntax: Checker,
    /// What commands run in, once that was found out.
    pub(crate) sandbox: OnceCell<Result<CommandSandbox, SandboxError>>,
}

impl Shared {
    /// The id of the session, for the audit log.
    pub(crate) fn session(&self) -> Arc<str> {
        Arc::clone(&self.session.read())
    }

    /// Another session begins.
    pub(crate) fn set_session(&self, id: &str) {
        *self.session.write() = id.into();
    }

    /// The searches of the last while.
    pub(crate) fn searches(&self) -> MutexGuard<'_, Window> {
        self.searches.lock()
    }

    /// The sandbox that the user is told of and that every command gets; the error says why none can run.
    pub(crate) async fn announced_sandbox(&self) -> Result<CommandSandbox, SandboxError> {
        let found = self
            .sandbox
            .get_or_init(|| process::in_force(&self.commands));
        found.await.clone()
    }
}
