//! How much a search for repositories looks at, and what ends it.

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::read::MAX_FOLDERS;

/// What one step of a search looks at, at most.
const STEP: Extent = Extent {
    folders: MAX_FOLDERS,
    entries: 5_000_000,
    time: Duration::from_secs(5),
};

/// The same for what lies outside of repositories after a command, if all of that could be seen before it. What is more is
/// the command's own, and it took longer to make than to look at.
const NEW_OUTSIDE: Extent = Extent {
    folders: 3_000_000,
    entries: 50_000_000,
    time: Duration::from_secs(8),
};

/// How long the search after a command takes, without submodules: somebody waits for it.
const AFTER: Duration = Duration::from_secs(14);

/// How long the looks take together into the repositories of the project itself, into all others that were known, and into the
/// rest, and the look into one repository or one folder within it. A supervisor is killed a minute after the time limit of its
/// command: within that it searches before the command (5 s for the folders of the project and three times this) and
/// after it, and reviews what it has found.
const LOOKING: Duration = Duration::from_secs(4);
const LOOKING_INTO_ONE: Duration = Duration::from_secs(2);

/// How long indexes are read for the submodules that they name.
const SUBMODULES: Extent = Extent {
    time: Duration::from_secs(2),
    ..STEP
};

/// Repositories that are protected, at most: each takes some mounts. The same for those that were set aside.
pub(super) const MAX_REPOSITORIES: usize = 300;

/// Repositories that are compared before and after a command, at most.
const MAX_COMPARED: usize = 3_000;

/// Symbolic links in what git writes to in one repository, at most. Git makes none.
const MAX_LINKS: usize = 1_000;

/// Folders in one folder that git writes to in a repository, such as `logs`, at most. More take too long to
/// look at where the machine is busy.
pub(super) const MAX_PART_FOLDERS: usize = 20_000;

/// What has ended a search before everything was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Limit {
    Folders,
    Repositories,
    Entries,
    Time,
    Path,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Folders => f.write_str("it has too many folders"),
            Limit::Repositories => write!(f, "more than {MAX_COMPARED} git repositories"),
            Limit::Entries => f.write_str("it has too many files"),
            Limit::Time => f.write_str("it takes too long"),
            Limit::Path => f.write_str("a path is too long"),
        }
    }
}

/// How much is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) folders: usize,
    /// Files and folders in these: one folder may hold millions.
    pub(super) entries: usize,
    pub(super) time: Duration,
}

/// How much a search looks at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// For each repository and for each folder of one that holds anything, such as `lfs`.
    pub(super) step: Extent,
    /// Outside of repositories.
    pub(super) outside: Extent,
    /// Folders in one folder of a repository that git itself writes to.
    pub(super) part_folders: usize,
    /// Symbolic links in these folders of one repository, and other things that lead git astray.
    pub(super) links: usize,
    /// Repositories that are compared.
    pub(super) compared: usize,
    /// For everything but submodules.
    pub(super) all: Duration,
    /// For each group of repositories.
    pub(super) looking: Duration,
    /// For one repository, and for one folder of one.
    pub(super) looking_into_one: Duration,
    pub(super) submodules: Extent,
}

impl Limits {
    /// For the search after a command, before which all could be seen, or not.
    pub(super) fn after(was_incomplete: bool) -> Limits {
        let outside = match was_incomplete {
            true => STEP,
            false => NEW_OUTSIDE,
        };
        Limits {
            outside,
            all: AFTER,
            ..Limits::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            step: STEP,
            outside: STEP,
            part_folders: MAX_PART_FOLDERS,
            links: MAX_LINKS,
            compared: MAX_COMPARED,
            all: STEP.time + 3 * LOOKING,
            looking: LOOKING,
            looking_into_one: LOOKING_INTO_ONE,
            submodules: SUBMODULES,
        }
    }
}

/// How much may still be looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    pub(super) folders: usize,
    pub(super) entries: usize,
    pub(super) deadline: Instant,
    /// What has used it up.
    pub(super) reached: Option<Limit>,
}

impl Budget {
    pub(super) fn new(extent: Extent) -> Budget {
        Budget {
            folders: extent.folders,
            entries: extent.entries,
            deadline: Instant::now() + extent.time,
            reached: None,
        }
    }

    pub(super) fn spend_entries(&mut self, entries: usize) {
        match self.entries.checked_sub(entries) {
            Some(left) => self.entries = left,
            None => {
                self.entries = 0;
                self.exceeds(Limit::Entries);
            }
        }
    }

    pub(super) fn exceeds(&mut self, limit: Limit) {
        self.reached.get_or_insert(limit);
    }

    pub(super) fn is_late(&mut self) -> bool {
        let is_late = Instant::now() >= self.deadline;
        if is_late {
            self.exceeds(Limit::Time);
        }
        is_late
    }
}
