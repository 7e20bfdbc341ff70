//! What the repositories of a project were like before the commands that run in it.
//!
//! Commands overlap: what one of them has made and Dunlin has not looked at yet must not count as the user's own for
//! another one that starts meanwhile. So each command writes down what it compares with at its end, and the others take
//! that over. A command whose end nobody could look at leaves its file behind: the next one compares with that.
//!
//! A server in the sandbox runs as long as the session. What the user makes meanwhile would never become the user's own
//! if commands took its baseline over, so they do that only once it was killed.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

use super::Repositories;

/// What is locked while a command looks at the repositories or has looked, so that none starts or ends in between.
const LOCK: &str = "lock";

/// The end of the names of the files of servers.
const SERVER: &str = ".server";

/// The end of the names of files that are not written yet.
const UNFINISHED: &str = ".new";

/// What a command compares the repositories with when it has ended.
#[derive(Debug)]
pub(in crate::process) struct Baseline {
    /// The folder of all baselines of the project.
    folder: PathBuf,
    file: PathBuf,
    /// Locked as long as the command runs.
    _held: File,
    /// Those of the oldest command that runs or was not looked at; `None`: there is no other.
    earlier: Option<Repositories>,
    /// The files of those that ran or were killed when this one started.
    others: Vec<PathBuf>,
}

impl Baseline {
    /// Looks at the repositories below `roots` before a command starts, and returns them as they are now.
    ///
    /// # Errors
    /// `folder`, that of all projects, cannot be written, or what another command has written cannot be read.
    pub(in crate::process) fn take(
        folder: &Path,
        project: &Path,
        roots: &[&Path],
        is_server: bool,
    ) -> io::Result<(Baseline, Repositories)> {
        let digest = Sha256::digest(project.as_os_str().as_bytes());
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = folder.join(name);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
        let _lock = lock(&folder)?;
        let others = baselines(&folder)?;
        let found = Repositories::find(roots);
        let mut earlier: Option<Repositories> = None;
        for other in &others {
            let other = read(other)?;
            // Each may have looked at less than this command can change.
            earlier = Some(match earlier {
                Some(earlier) => earlier.with_others(&other),
                None => other,
            });
        }
        let earlier = earlier.map(|earlier| earlier.with_others(&found));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        // As wide as the numbers of centuries: the names sort as the commands started.
        let kind = if is_server { SERVER } else { "" };
        let name = format!("{:039}{kind}", now.unwrap_or_default().as_nanos());
        let file = folder.join(&name);
        let unfinished = folder.join(name + UNFINISHED);
        let mut held = private().create_new(true).open(&unfinished)?;
        flock(&held, FlockOperation::LockExclusive)?;
        let text = serde_json::to_vec(earlier.as_ref().unwrap_or(&found))?;
        held.write_all(&text)?;
        fs::rename(&unfinished, &file)?;
        let baseline = Baseline {
            folder,
            file,
            _held: held,
            earlier,
            others,
        };
        Ok((baseline, found))
    }

    /// What the repositories are compared with at the end, where the command itself found these.
    pub(in crate::process) fn before<'a>(&'a self, found: &'a Repositories) -> &'a Repositories {
        self.earlier.as_ref().unwrap_or(found)
    }

    /// What commands left that were killed, if everything that they could change is looked at, from now on, below `roots`.
    pub(in crate::process) fn left_behind(&self, roots: &[&Path]) -> Vec<PathBuf> {
        let _lock = lock(&self.folder);
        let is_below = |folder: &OsString| {
            let mut roots = roots.iter();
            roots.any(|root| Path::new(folder).starts_with(root))
        };
        let mut left = baselines(&self.folder).unwrap_or_default();
        left.retain(|other| {
            // A command that started later has taken this over; a server that was killed meanwhile has not.
            let is_taken_over = !is_of_server(other) || self.others.contains(other);
            let is_covered = || read(other).is_ok_and(|it| it.roots.iter().all(is_below));
            *other != self.file && is_taken_over && !is_held(other) && is_covered()
        });
        left
    }

    /// Everything was looked at: nobody has to compare with this any more, nor with what was left behind.
    pub(in crate::process) fn is_reviewed(&self, left_behind: &[PathBuf]) {
        let _lock = lock(&self.folder);
        for file in left_behind.iter().chain([&self.file]) {
            let _ = fs::remove_file(file);
        }
    }
}

/// Keeps other commands from starting and from ending until it is dropped.
fn lock(folder: &Path) -> io::Result<File> {
    let lock = private()
        .create(true)
        .truncate(false)
        .open(folder.join(LOCK))?;
    flock(&lock, FlockOperation::LockExclusive)?;
    Ok(lock)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn is_of_server(file: &Path) -> bool {
    file.as_os_str().as_bytes().ends_with(SERVER.as_bytes())
}

/// Whether the command still runs that wrote this.
fn is_held(file: &Path) -> bool {
    let lock = |file: File| flock(&file, FlockOperation::NonBlockingLockShared);
    File::open(file).is_ok_and(|file| lock(file).is_err())
}

/// What a new command compares with, unless it is the only one: the files of those that run or were killed, the oldest
/// first.
fn baselines(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name: OsString = entry?.file_name();
        let file = folder.join(&name);
        let name = name.as_bytes();
        let number = name.strip_suffix(SERVER.as_bytes()).unwrap_or(name);
        let counts = !is_of_server(&file) || !is_held(&file);
        if number.iter().all(u8::is_ascii_digit) && counts {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> io::Result<Repositories> {
    let parsed = serde_json::from_slice(&fs::read(path)?);
    parsed.map_err(|e| {
        io::Error::other(format!(
            "{} is not what this version of Dunlin writes ({e}); look for new .git folders in the project, then remove it",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_repository(path: &Path) {
        fs::create_dir_all(path.join(".git/refs")).unwrap();
        fs::write(path.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(path.join(".git/config"), "[core]\n").unwrap();
    }

    #[test]
    fn what_was_not_looked_at_is_no_part_of_the_next_baseline() {
        let folder = tempfile::tempdir().unwrap();
        let (state, project) = (folder.path().join("state"), folder.path().join("project"));
        // A name that is no text.
        let odd = project.join(std::ffi::OsStr::from_bytes(b"\xff"));
        make_repository(&odd);
        let take = || Baseline::take(&state, &project, &[&project], false).unwrap();
        let count = |repositories: &Repositories| repositories.folders().count();

        let (first, found) = take();
        assert_eq!((count(&found), count(first.before(&found))), (1, 1));
        make_repository(&project.join("new"));
        let (second, found) = take();
        assert_eq!((count(&found), count(second.before(&found))), (2, 1));
        assert!(second.before(&found).folders().eq([odd.join(".git")]));
        // It was killed.
        drop(second);
        first.is_reviewed(&first.left_behind(&[&project]));
        let (third, found) = take();
        assert_eq!(count(third.before(&found)), 2, "everything was looked at");
        drop(third);
        make_repository(&project.join("newer"));
        let (fourth, found) = take();
        assert_eq!(count(fourth.before(&found)), 2, "nothing was looked at");
        fourth.is_reviewed(&fourth.left_behind(&[&project]));
        let (fifth, found) = take();
        assert_eq!(count(fifth.before(&found)), 3);
        fifth.is_reviewed(&fifth.left_behind(&[&project]));

        let (server, _) = Baseline::take(&state, &project, &[&project], true).unwrap();
        make_repository(&project.join("newest"));
        let (sixth, found) = take();
        assert_eq!(count(sixth.before(&found)), 4, "the server runs");
        sixth.is_reviewed(&sixth.left_behind(&[&project]));
        drop(server);
        let (seventh, found) = take();
        assert_eq!(count(seventh.before(&found)), 3, "the server was killed");
    }

    #[test]
    fn what_an_earlier_command_could_not_change_is_looked_at_now() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (state, project, other) = (at("state"), at("project"), at("other"));
        fs::create_dir(&project).unwrap();
        make_repository(&other);
        let killed = Baseline::take(&state, &project, &[&project], false).unwrap();
        drop(killed);
        let roots = [project.as_path(), other.as_path()];
        let (wide, found) = Baseline::take(&state, &project, &roots, false).unwrap();
        assert!(wide.before(&found).folders().eq([other.join(".git")]));
        drop(wide);
        let (narrow, _) = Baseline::take(&state, &project, &[&project], false).unwrap();
        // What the other one could change is not looked at.
        assert_eq!(narrow.left_behind(&[&project]).len(), 1);
    }

    #[test]
    fn a_baseline_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let project = folder.path();
        let (taken, _) = Baseline::take(&state, project, &[project], false).unwrap();
        fs::write(&taken.file, "{}").unwrap();
        let error = Baseline::take(&state, project, &[project], false).unwrap_err();
        assert!(error.to_string().contains("then remove it"), "{error}");
    }
}
