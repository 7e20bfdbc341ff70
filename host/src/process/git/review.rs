//! What a command made of the repositories: looked at after it has ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::io::Errno;

use super::judge::is_harmless;
use super::search::MAX_FOLDERS;
use super::{GitFolder, Mark, Repositories};
use crate::process::access::Access;
use crate::process::mounts::{self, Entry};

/// What is added to the name of a setting that is set aside. Git reads nothing of such a name.
const SUFFIX: &str = ".set-aside";

/// How many settings of one name can be set aside in one folder.
const MAX_ASIDE: usize = 1_000;

/// Sentences about one command. More of them nobody reads; everything is set aside nevertheless.
const MAX_SENTENCES: usize = 20;

/// Compares the repositories before and after a command, and sets aside the settings that it made and that can do
/// harm. Returns a sentence for the user about each.
///
/// `is_protected`: the settings that were there could not be changed, so that a change is the user's own.
pub(in crate::process) fn review(
    access: &Access,
    before: &Repositories,
    after: &Repositories,
    is_protected: bool,
) -> Vec<String> {
    let mut review = Review {
        access,
        is_protected,
        sentences: Vec::new(),
    };
    for (path, folder) in &after.folders {
        review.folder(path, folder, before);
    }
    for (path, link) in &after.links {
        // It may lead to what was there before and is protected, or to what was looked at just now.
        let target = link.target.as_ref();
        let is_known = target.is_some_and(|target| after.folders.contains_key(target));
        let was_there = before
            .links
            .get(path)
            .is_some_and(|known| known.target == link.target && known.mark == link.mark);
        if was_there {
            continue;
        }
        match is_known {
            true => review.say(format!(
                "New git worktree or submodule: {}.",
                review.short(path.parent())
            )),
            false => review.set_aside(path.parent(), OsStr::new(".git")),
        }
    }
    if before.is_incomplete || after.is_incomplete {
        review.say(format!(
            "There are more than {MAX_FOLDERS} folders, or too many repositories: not all git settings were protected."
        ));
    }
    let more = review.sentences.len().saturating_sub(MAX_SENTENCES);
    if more > 0 {
        review.sentences.truncate(MAX_SENTENCES);
        review.sentences.push(format!("And {more} more."));
    }
    review.sentences
}

struct Review<'a> {
    access: &'a Access,
    is_protected: bool,
    sentences: Vec<String>,
}

impl Review<'_> {
    fn say(&mut self, sentence: String) {
        self.sentences.push(sentence);
    }

    fn folder(&mut self, path: &Path, folder: &GitFolder, before: &Repositories) {
        // It may have been moved together with a folder that it lies in.
        let mut known = before.folders.values();
        let known = known.find(|known| known.id == folder.id);
        let is_new = known.is_none();
        let (access, is_protected) = (self.access, self.is_protected);
        let is_allowed = |name: &OsString, mark: &Mark| {
            let known = known.and_then(|known| known.settings.get(name));
            known.is_some_and(|known| is_protected || known == mark)
                || access.writable.contains(&path.join(name))
        };
        let mut aside = false;
        for (name, mark) in &folder.settings {
            if !is_allowed(name, mark) && !is_harmless(path, name, &self.access.project) {
                self.set_aside(Some(path), name);
                aside = true;
            }
        }
        // A worktree is told of by the `.git` that leads there.
        if is_new && !aside && !folder.has_common {
            self.say(format!("New git repository: {}.", self.short(Some(path))));
        }
    }

    /// Renames a setting to what git does not read.
    fn set_aside(&mut self, folder: Option<&Path>, name: &OsStr) {
        let Some(folder) = folder else { return };
        let from = self.short(Some(&folder.join(name)));
        let sentence = match rename_aside(folder, name) {
            Ok(aside) => format!(
                "The command made git settings that can run programs: {from}. They were set aside as {}; rename them back to use them.",
                self.short(Some(&folder.join(aside)))
            ),
            Err(error) => format!(
                "The command made git settings that can run programs, and they could not be set aside ({error}): remove {from} before you run git there."
            ),
        };
        self.say(sentence);
    }

    /// A path as the user writes it: within the project without the project.
    fn short(&self, path: Option<&Path>) -> String {
        let path = path.unwrap_or(&self.access.project);
        let short = path.strip_prefix(&self.access.project).unwrap_or(path);
        let short = match short.as_os_str().is_empty() {
            true => Path::new("."),
            false => short,
        };
        crate::display::escape(&short.to_string_lossy()).to_string()
    }
}

fn rename_aside(folder: &Path, name: &OsStr) -> io::Result<OsString> {
    let Entry::Folder(opened) = mounts::look(folder)? else {
        return Err(io::Error::other("its folder is not there any more"));
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(&opened, c".", flags, Mode::empty())?;
    for number in 1..=MAX_ASIDE {
        let mut aside = name.to_owned();
        aside.push(SUFFIX);
        if number > 1 {
            aside.push(format!("-{number}"));
        }
        let fd = opened.as_fd();
        match renameat_with(fd, name, fd, &aside, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(aside),
            Err(Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Err(io::Error::other("too much was set aside here"))
}
