//! Files of the project that have further names elsewhere.
//!
//! uv and pnpm link the files of packages from their caches instead of copying them, where both are on one file system. A
//! command that writes to such a file in place changes what other projects use. A read-only mount for each would keep the
//! command from removing and replacing it, which is how packages are updated, and there are tens of thousands. So Dunlin
//! looks afterwards for those that have changed: a new change time cannot be set back. A command can give no second name to
//! a file that it may not write, so those that there are were made by the user's own programs.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, RawDir, StatxFlags, statx};
use rustix::time::{ClockId, clock_gettime};

use super::Access;
use super::git::{named, open_folder};

/// How long it may take: a project of 50,000 files takes a tenth of a second.
const MAX_TIME: Duration = Duration::from_secs(1);

/// Bytes of a part of a listing as the system gives it.
const LISTING_BYTES: usize = 32 * 1024;

/// A time by the clock of change times, in seconds and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChangeTime(i64, i64);

impl ChangeTime {
    /// What changes from now on has this time or a later one.
    pub(super) fn now() -> ChangeTime {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        ChangeTime(now.tv_sec, now.tv_nsec)
    }
}

/// A sentence about the files that a command can have changed elsewhere, too, since it started.
pub(super) fn review(access: &Access, since: ChangeTime, until: Instant) -> Option<String> {
    let until = until.min(Instant::now() + MAX_TIME);
    let (mut changed, is_whole) = changed(access, since, until);
    changed.sort();
    let paths = changed.iter().map(PathBuf::as_path);
    let named = named(&access.project, paths, "");
    match (named.is_empty(), is_whole) {
        (true, true) => None,
        (true, false) => Some(
            "The project has so many files that Dunlin did not look at all of them for changes in files with further names elsewhere (hard links).".to_owned(),
        ),
        (false, _) => Some(format!(
            "These files changed while the command ran, and are the same files under other names outside of what it may change (hard links), such as in the cache of uv or pnpm: {named}. Other projects may use them. If you do not know the change, empty that cache and install the packages again."
        )),
    }
}

/// The files of the project, and whether all were looked at. What else may be changed was granted by its path, and may be
/// as large as a cache: names there are only counted where the project has such files.
fn changed(access: &Access, since: ChangeTime, until: Instant) -> (Vec<PathBuf>, bool) {
    let refused = access.read_only.iter().chain(&access.hidden);
    let mut refused: HashSet<&Path> = refused.map(PathBuf::as_path).collect();
    let mut search = Search {
        since,
        found: HashMap::new(),
        is_counting: false,
        buffer: Vec::with_capacity(LISTING_BYTES),
    };
    let written = access.written().filter(|path| *path == access.project);
    let is_whole = search.walk(written, &refused, until);
    if search.found.values().any(Changed::is_elsewhere) {
        search.is_counting = true;
        // One of the others may hold it, and no name counts twice.
        refused.insert(&access.project);
        let others = access.roots().into_iter();
        let others = others.filter(|path| !path.starts_with(&access.project));
        search.walk(others, &refused, until);
    }
    let found = search.found.into_values();
    let elsewhere = found.filter(Changed::is_elsewhere).map(|it| it.path);
    (elsewhere.collect(), is_whole)
}

struct Search {
    since: ChangeTime,
    /// By device and number.
    found: HashMap<(u32, u32, u64), Changed>,
    /// Whether only further names are looked for.
    is_counting: bool,
    buffer: Vec<u8>,
}

/// A file that has changed, and has several names.
struct Changed {
    path: PathBuf,
    links: u32,
    /// How many of its names were found.
    names: u32,
}

impl Changed {
    fn is_elsewhere(&self) -> bool {
        self.names < self.links
    }
}

impl Search {
    /// Looks into all of these. `false`: there was no time for the rest.
    fn walk<'a>(
        &mut self,
        roots: impl Iterator<Item = &'a Path>,
        refused: &HashSet<&Path>,
        until: Instant,
    ) -> bool {
        let mut todo: VecDeque<PathBuf> = roots.map(PathBuf::from).collect();
        while let Some(folder) = todo.pop_front() {
            if Instant::now() >= until {
                return false;
            }
            if !refused.contains(folder.as_path()) {
                // What cannot be listed could not be before, or was made readable by the search for repositories.
                let _ = self.look_into(&folder, &mut todo);
            }
        }
        true
    }

    fn look_into(&mut self, folder: &Path, todo: &mut VecDeque<PathBuf>) -> io::Result<()> {
        let opened = open_folder(folder)?;
        let mut entries = RawDir::new(&opened, self.buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let path = || folder.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
            match entry.file_type() {
                FileType::Directory => {
                    todo.push_back(path());
                    continue;
                }
                // Some file systems do not say.
                FileType::RegularFile | FileType::Unknown => {}
                _ => continue,
            }
            let wanted = StatxFlags::BASIC_STATS;
            // It may be gone.
            let Ok(status) = statx(&opened, name, AtFlags::SYMLINK_NOFOLLOW, wanted) else {
                continue;
            };
            match FileType::from_raw_mode(status.stx_mode.into()) {
                FileType::Directory => {
                    todo.push_back(path());
                    continue;
                }
                FileType::RegularFile => {}
                _ => continue,
            }
            let time = status.stx_ctime;
            if status.stx_nlink < 2 || ChangeTime(time.tv_sec, time.tv_nsec.into()) < self.since {
                continue;
            }
            let id = (status.stx_dev_major, status.stx_dev_minor, status.stx_ino);
            if self.is_counting && !self.found.contains_key(&id) {
                continue;
            }
            let found = self.found.entry(id).or_insert_with(|| Changed {
                path: path(),
                links: status.stx_nlink,
                names: 0,
            });
            found.names += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_changes_elsewhere_too_is_found() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let project = root.join("project");
        fs::create_dir_all(project.join("a/b")).unwrap();
        for (name, other) in [("a/b/x", "../x"), ("own", "a/own"), ("kept", "../kept")] {
            fs::write(project.join(name), "1").unwrap();
            fs::hard_link(project.join(name), project.join(other)).unwrap();
        }
        let access = Access {
            project: project.clone(),
            ..Access::default()
        };
        let later = || Instant::now() + MAX_TIME;
        // Until the clock has ticked, what is new and what is old has the same time; and a file system may take change times
        // from the finer clock, which is ahead.
        let made = clock_gettime(ClockId::Realtime);
        let made = ChangeTime(made.tv_sec, made.tv_nsec);
        while ChangeTime::now() <= made {}
        let since = ChangeTime::now();
        assert_eq!(review(&access, since, later()), None);
        for name in ["a/b/x", "own"] {
            fs::write(project.join(name), "2").unwrap();
        }
        fs::write(project.join("new"), "2").unwrap();
        let (found, is_whole) = changed(&access, since, later());
        assert_eq!((found, is_whole), (vec![project.join("a/b/x")], true));
        let said = review(&access, since, later()).unwrap();
        assert!(
            said.contains("(hard links)") && said.contains(": a/b/x."),
            "{said}"
        );

        let said = review(&access, since, Instant::now()).unwrap();
        assert!(said.contains("did not look at all"), "{said}");
        let granted = Access {
            writable: vec![root.clone()],
            ..access.clone()
        };
        assert_eq!(review(&granted, since, later()), None);
        let inner = Access {
            project: project.join("a"),
            writable: vec![project.clone()],
            ..access.clone()
        };
        let (found, _) = changed(&inner, since, later());
        assert_eq!(found, [project.join("a/b/x")]);
        let read_only = Access {
            read_only: vec![project.join("a")],
            ..access
        };
        // The other name of this one is where nothing may be changed.
        let (found, _) = changed(&read_only, since, later());
        assert_eq!(found, [project.join("own")]);
    }
}
