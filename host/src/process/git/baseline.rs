//! What the repositories of a project were like before the commands that run in it.
//!
//! Commands overlap: what one of them has made and Dunlin has not looked at yet must not count as the user's own for
//! another one that starts meanwhile. So each command writes down what it compares with at its end, and the others take
//! that over. A command whose end nobody could look at leaves its file behind: the next one compares with that.
//!
//! A repository is only set aside unread if no command can have made it whose line runs git. So such commands leave word
//! of when they ended.
//!
//! A server in the sandbox runs as long as the session. What the user makes meanwhile would never become the user's own
//! if commands took its baseline over, so they do that only once it was killed.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

use super::Repositories;
use super::states::LeftStates;
use crate::files::make_private;

/// What is locked while a command looks at the repositories or has looked, so that none starts or ends in between.
const LOCK: &str = "lock";

/// The file that holds when the last command has ended whose line runs git, as the names of baselines do.
const LAST_GIT: &str = "last-git";

/// The file with the paths of the repositories that the last whole search has found. They are looked at first: whatever a
/// command adds to the project, it does not hide these.
const KNOWN: &str = "known";

/// The file with what nobody has heard yet.
const UNHEARD: &str = "unheard";

/// The file with the states of git's operations that commands have left.
const LEFT_STATES: &str = "left-states";

/// Sentences that are kept there.
const MAX_UNHEARD: usize = 200;

/// The end of the names of files that are not written yet.
const UNFINISHED: &str = ".new";

/// What may make repositories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::process) enum Kind {
    /// A command whose line does not run git: it makes none.
    Plain,
    /// A command whose line runs git.
    Git,
    /// A server: nobody knows what it does for its user.
    Server,
}

impl Kind {
    /// The end of the names of its baselines.
    fn suffix(self) -> &'static str {
        match self {
            Kind::Plain => "",
            Kind::Git => ".git",
            Kind::Server => ".server",
        }
    }

    fn of(baseline: &Path) -> Kind {
        let extension = baseline.extension().unwrap_or_default();
        match extension.as_bytes() {
            b"git" => Kind::Git,
            b"server" => Kind::Server,
            _ => Kind::Plain,
        }
    }
}

/// What a command compares the repositories with when it has ended.
#[derive(Debug)]
pub(in crate::process) struct Baseline {
    /// The folder of all baselines of the project.
    folder: PathBuf,
    file: PathBuf,
    kind: Kind,
    /// When the command started, as in the name of the file.
    started: String,
    /// Locked as long as the command runs.
    _held: File,
    /// Those of the oldest command that runs or was not looked at; `None`: there is no other.
    earlier: Option<Repositories>,
    /// The files of those that ran or were killed when this one started.
    others: Vec<PathBuf>,
    /// Those of them that were killed.
    killed: Vec<PathBuf>,
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
        kind: Kind,
    ) -> io::Result<(Baseline, Repositories)> {
        let digest = Sha256::digest(project.as_os_str().as_bytes());
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = folder.join(name);
        make_private(&folder)?;
        let _lock = lock(&folder)?;
        let others = baselines(&folder)?;
        let known = fs::read(folder.join(KNOWN)).unwrap_or_default();
        let known: Vec<OsString> = serde_json::from_slice(&known).unwrap_or_default();
        let found = Repositories::find_known_first(&known, roots);
        if found.is_whole() {
            let paths: Vec<_> = found.paths().collect();
            fs::write(folder.join(KNOWN), serde_json::to_vec(&paths)?)?;
        }
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
        let killed: Vec<_> = others.iter().filter(|it| !is_held(it)).cloned().collect();
        let started = now();
        let name = format!("{started}{}", kind.suffix());
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
            kind,
            started,
            _held: held,
            earlier,
            others,
            killed,
        };
        Ok((baseline, found))
    }

    /// What the repositories are compared with at the end, where the command itself found these.
    pub(in crate::process) fn before<'a>(&'a self, found: &'a Repositories) -> &'a Repositories {
        self.earlier.as_ref().unwrap_or(found)
    }

    /// Whether no command since this was taken can have been meant to make a repository.
    pub(in crate::process) fn is_plain(&self) -> bool {
        // Since one was killed, the user may have made any number of repositories. Where that cannot be read, git may have run.
        self.kind == Kind::Plain && self.killed.is_empty() && !self.runs_git().unwrap_or(true)
    }

    /// Whether a command whose line runs git runs now, or has ended since this was taken.
    fn runs_git(&self) -> io::Result<bool> {
        let _lock = lock(&self.folder)?;
        let others = baselines(&self.folder)?;
        let last_git = match fs::read_to_string(self.folder.join(LAST_GIT)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        Ok(last_git >= self.started || others.iter().any(|it| Kind::of(it) == Kind::Git))
    }

    /// What commands left that were killed, if everything that they could change is looked at, from now on, below `roots`.
    pub(in crate::process) fn left_behind(&self, roots: &[&Path]) -> Vec<PathBuf> {
        // What is not found here stays for the next command.
        let Ok(_lock) = lock(&self.folder) else {
            return Vec::new();
        };
        let is_below = |folder: &OsString| {
            let mut roots = roots.iter();
            roots.any(|root| Path::new(folder).starts_with(root))
        };
        let mut left = baselines(&self.folder).unwrap_or_default();
        left.retain(|other| {
            // What others change meanwhile, and this one could not, counts as the user's own for this one.
            let is_taken_over = Kind::of(other) == Kind::Plain || self.killed.contains(other);
            let is_covered = || read(other).is_ok_and(|it| it.roots.iter().all(is_below));
            *other != self.file && is_taken_over && !is_held(other) && is_covered()
        });
        left
    }

    /// What commands came to that nobody heard: Dunlin had ended.
    pub(in crate::process) fn unheard(&self) -> Vec<String> {
        let _lock = lock(&self.folder);
        let text = fs::read(self.folder.join(UNHEARD)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// The states that commands have left. What cannot be read was left by none.
    pub(in crate::process) fn left_states(&self) -> LeftStates {
        let text = fs::read(self.folder.join(LEFT_STATES)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Keeps the states that this command has left, if its line runs git: others change none.
    ///
    /// # Errors
    /// They cannot be written. Then the next command finds none that a command has left.
    pub(in crate::process) fn keep_left_states(&self, left: &LeftStates) -> io::Result<()> {
        if self.kind != Kind::Git {
            return Ok(());
        }
        let _lock = lock(&self.folder)?;
        let mut private = private();
        let mut file = private
            .create(true)
            .truncate(true)
            .open(self.folder.join(LEFT_STATES))?;
        file.write_all(&serde_json::to_vec(left)?)
    }

    /// Keeps what nobody heard for the next command; nothing: all was heard.
    pub(in crate::process) fn keep_unheard(&self, sentences: &[String]) -> io::Result<()> {
        let _lock = lock(&self.folder);
        let file = self.folder.join(UNHEARD);
        if sentences.is_empty() {
            return match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let mut private = private();
        let mut file = private.create(true).truncate(true).open(file)?;
        let kept = sentences.get(..MAX_UNHEARD).unwrap_or(sentences);
        file.write_all(&serde_json::to_vec(kept)?)
    }

    /// Not everything was looked at: the next command compares with this, which holds what was left behind before it.
    pub(in crate::process) fn is_not_reviewed(&self, left_behind: &[PathBuf]) {
        // Without the lock the files stay: the next command compares with them, too.
        let Ok(_lock) = lock(&self.folder) else {
            return;
        };
        let taken_over = left_behind.iter().filter(|it| self.others.contains(it));
        for file in taken_over {
            let _ = fs::remove_file(file);
        }
    }

    /// Everything was looked at: nobody has to compare with this any more, nor with what was left behind.
    pub(in crate::process) fn is_reviewed(&self, left_behind: &[PathBuf]) {
        // Without the lock the files stay: the next command compares with them.
        let Ok(_lock) = lock(&self.folder) else {
            return;
        };
        if self.kind == Kind::Git {
            let _ = fs::write(self.folder.join(LAST_GIT), now());
        }
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

/// Nanoseconds since 1970, as wide as the numbers of centuries: they sort as they follow each other.
fn now() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format!("{:039}", now.unwrap_or_default().as_nanos())
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
        let kind = Kind::of(&file);
        let name = name.as_bytes();
        let number = name.strip_suffix(kind.suffix().as_bytes()).unwrap_or(name);
        let counts = kind != Kind::Server || !is_held(&file);
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
        // A name that is not text.
        let odd = project.join(std::ffi::OsStr::from_bytes(b"\xff"));
        make_repository(&odd);
        let take = || Baseline::take(&state, &project, &[&project], Kind::Plain).unwrap();
        let count = |repositories: &Repositories| repositories.folders().count();

        let (first, found) = take();
        assert_eq!((count(&found), count(first.before(&found))), (1, 1));
        make_repository(&project.join("new"));
        let (second, found) = take();
        assert_eq!((count(&found), count(second.before(&found))), (2, 1));
        let before = second.before(&found);
        assert!(
            before
                .folders()
                .map(|(path, _)| path)
                .eq([odd.join(".git")])
        );
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

        let (server, _) = Baseline::take(&state, &project, &[&project], Kind::Server).unwrap();
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
        let killed = Baseline::take(&state, &project, &[&project], Kind::Plain).unwrap();
        drop(killed);
        let roots = [project.as_path(), other.as_path()];
        let (wide, found) = Baseline::take(&state, &project, &roots, Kind::Plain).unwrap();
        let before = wide.before(&found);
        assert!(
            before
                .folders()
                .map(|(path, _)| path)
                .eq([other.join(".git")])
        );
        drop(wide);
        let (narrow, _) = Baseline::take(&state, &project, &[&project], Kind::Plain).unwrap();
        // What the other one could change is not looked at.
        assert_eq!(narrow.left_behind(&[&project]).len(), 1);
    }

    /// What it then changed counts as the user's own for others that could not change it.
    #[test]
    fn what_git_left_that_was_killed_later_stays_for_the_next_command() {
        let folder = tempfile::tempdir().unwrap();
        let (state, project) = (folder.path().join("state"), folder.path().join("project"));
        make_repository(&project);
        let take = |kind| Baseline::take(&state, &project, &[&project], kind).unwrap();
        for starts_first in [true, false] {
            let (killed, other) = match starts_first {
                true => {
                    let killed = take(Kind::Git);
                    (killed, take(Kind::Plain).0)
                }
                false => {
                    let other = take(Kind::Plain).0;
                    (take(Kind::Git), other)
                }
            };
            drop(killed);
            let left = other.left_behind(&[&project]);
            assert_eq!(left.len(), 0, "{starts_first}");
            other.is_reviewed(&left);
            let (next, _) = take(Kind::Plain);
            assert!(next.earlier.is_some(), "{starts_first}");
            let left = next.left_behind(&[&project]);
            assert_eq!(left.len(), 1, "{starts_first}");
            next.is_reviewed(&left);
        }
    }

    #[test]
    fn only_without_git_meanwhile_a_command_is_plain() {
        let folder = tempfile::tempdir().unwrap();
        let (state, project) = (folder.path().join("state"), folder.path().join("project"));
        let take = |kind| {
            let taken = Baseline::take(&state, &project, &[&project], kind);
            taken.unwrap().0
        };
        let first = take(Kind::Plain);
        let second = take(Kind::Plain);
        assert!(first.is_plain() && second.is_plain());
        let git = take(Kind::Git);
        assert!(!git.is_plain() && !first.is_plain());
        git.is_reviewed(&[]);
        drop(git);
        assert!(!first.is_plain(), "it has ended meanwhile");
        let third = take(Kind::Plain);
        assert!(third.is_plain(), "it has ended before");
        let last_git = third.folder.join(LAST_GIT);
        let text = fs::read(&last_git).unwrap();
        fs::write(&last_git, b"\xff").unwrap();
        assert!(!third.is_plain(), "that is not readable");
        fs::write(&last_git, text).unwrap();
        drop((first, second));
        assert!(!take(Kind::Plain).is_plain(), "two were killed");
    }

    #[test]
    fn what_nobody_heard_is_said_by_the_next_command() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let project = folder.path();
        let take = || {
            Baseline::take(&state, project, &[project], Kind::Plain)
                .unwrap()
                .0
        };
        take()
            .keep_unheard(&["lib/.git was moved".to_owned()])
            .unwrap();
        assert_eq!(take().unheard(), ["lib/.git was moved"]);
        take()
            .keep_unheard(&vec!["a".to_owned(); MAX_UNHEARD * 2])
            .unwrap();
        assert_eq!(take().unheard().len(), MAX_UNHEARD);
        take().keep_unheard(&[]).unwrap();
        take().keep_unheard(&[]).unwrap();
        assert_eq!(take().unheard(), [""; 0]);
    }

    #[test]
    fn a_baseline_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let project = folder.path();
        let (taken, _) = Baseline::take(&state, project, &[project], Kind::Plain).unwrap();
        fs::write(&taken.file, "{}").unwrap();
        let error = Baseline::take(&state, project, &[project], Kind::Plain).unwrap_err();
        assert!(error.to_string().contains("then remove it"), "{error}");
    }
}
