//! What git keeps of a rebase, a cherry-pick or `git am` that has stopped, as after a conflict.
//!
//! It says what git does next, also which programs it runs. A line that runs git may make such a state, which is judged
//! afterwards. So a later line may go on with a state that passes the same judgement, and what it leaves is judged again.
//!
//! Git does half of its work before it notices that it cannot change or remove a state: it resets the worktree or commits,
//! and then fails. So any other state is not read-only but hidden. Git takes an empty folder for a state, too, and stops when it
//! cannot read it, which it does first.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Where git keeps it in the folder of a repository.
const STATES: [&str; 3] = ["rebase-apply", "rebase-merge", "sequencer"];

/// Why a state is hidden from a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// It would not pass the judgement if a command had made it.
    Unsafe,
    /// The user's git may read it again at any moment, as after the message of a commit was written.
    InUse,
    /// The line does not run git itself.
    NotGit,
}

/// Which states a command may change, and which not.
#[derive(Debug, Clone, Default)]
pub(super) struct States {
    pub(super) open: BTreeSet<PathBuf>,
    pub(super) hidden: Vec<(Why, PathBuf)>,
}

/// Whether something of this name in the folder of a repository is such a state. Some file systems find it by other spellings.
pub(super) fn is_state(name: &OsStr) -> bool {
    STATES.iter().any(|state| name.eq_ignore_ascii_case(state))
}
