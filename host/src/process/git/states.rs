//! What git keeps of a rebase, a cherry-pick or `git am` that has stopped, as after a conflict.
//!
//! It says what git does next, also which programs it runs. A line that runs git may make such a state, which is judged
//! afterwards. So a later line may go on with a state that passes the same judgement, and what it leaves is judged again.
//!
//! Git does half of its work before it notices that it cannot change or remove a state: it resets the worktree or commits,
//! and then fails. So any other state is not read-only but hidden. Git takes an empty folder for a state, too, and stops when it
//! cannot read it, which it does first.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::mark::Mark;

/// Where git keeps it in the folder of a repository.
const STATES: [&str; 3] = ["rebase-apply", "rebase-merge", "sequencer"];

/// Why a state is hidden from a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// It would not pass the judgement if a command had made it.
    Unsafe,
    /// No command has left it as it is: it is the user's own, or the user's git has continued it. That git may read it again at
    /// any moment, as after the message of a commit was written, and would run what a command has put into it.
    Own,
    /// The same where a git can be seen to run.
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

/// The states that commands have left, as they were then. A state that is another by now was changed by somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(in crate::process) struct LeftStates(Vec<(OsString, Mark)>);

impl LeftStates {
    /// Whether a state is as a command has left it.
    pub(super) fn has(&self, path: &Path, mark: &Mark) -> bool {
        let mut left = self.0.iter();
        left.any(|(of, left)| path == of && left == mark)
    }

    /// Those of them of which this is true.
    pub(super) fn only(&self, is_kept: impl Fn(&Path) -> bool) -> LeftStates {
        let kept = self.0.iter().filter(|(of, _)| is_kept(Path::new(of)));
        LeftStates(kept.cloned().collect())
    }

    pub(super) fn add(&mut self, path: PathBuf, mark: Mark) {
        self.0.push((path.into_os_string(), mark));
    }
}
