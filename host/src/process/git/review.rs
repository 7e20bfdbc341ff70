//! What a command made of the repositories: looked at after it has ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::judge::is_harmless;
use super::search::MAX_FOLDERS;
use super::{GitFolder, GitLink, Mark, Repositories, Unread};
use crate::process::access::Access;
use crate::process::mounts::{self, Entry};

/// What is added to the name of a setting that is set aside. Git reads nothing of such a name.
const SUFFIX: &str = ".set-aside";

/// How many settings of one name can be set aside in one folder.
const MAX_ASIDE: usize = 1_000;

/// Sentences about one command. More of them nobody reads; everything is set aside nevertheless.
const MAX_SENTENCES: usize = 20;

/// Characters of a path in a sentence: all sentences must fit into what is heard of a supervisor.
const MAX_PATH_CHARS: usize = 200;

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
        before,
        after,
        is_protected,
        sentences: Vec::new(),
    };
    if before.is_incomplete || after.is_incomplete {
        review.say(format!(
            "There are more than {MAX_FOLDERS} folders, too many repositories or too long paths: not all git settings were protected."
        ));
    }
    for (path, unread) in &after.unread {
        review.unread(path, unread);
    }
    for (path, link) in &after.links {
        review.link(path, link);
    }
    // Inner ones first: an outer one may be set aside as a whole.
    for (path, folder) in after.folders.iter().rev() {
        review.folder(path, folder);
    }
    let more = review.sentences.len().saturating_sub(MAX_SENTENCES);
    if more > 0 {
        review.sentences.truncate(MAX_SENTENCES);
        review.sentences.push(format!("And {more} more."));
    }
    review.sentences
}

/// What is wrong with what is set aside.
const HARMFUL: &str = "git settings that can run programs";
const UNREAD: &str = "a git repository that cannot be looked at";

struct Review<'a> {
    access: &'a Access,
    before: &'a Repositories,
    after: &'a Repositories,
    is_protected: bool,
    sentences: Vec<String>,
}

impl Review<'_> {
    fn say(&mut self, sentence: String) {
        self.sentences.push(sentence);
    }

    /// The same folder before the command. It may have been moved together with a folder that it lies in.
    fn known(&self, folder: &GitFolder) -> Option<&GitFolder> {
        let mut known = self.before.folders.values();
        known.find(|known| known.id == folder.id)
    }

    /// Whether the settings in a folder were protected, or are judged by themselves.
    fn is_judged(&self, path: &Path) -> bool {
        let folder = self.after.folders.get(path);
        folder.is_some_and(|folder| {
            let is_known = self.known(folder).is_some();
            is_known || !folder.is_reference && !self.access.roots().contains(&path)
        })
    }

    fn unread(&mut self, path: &Path, unread: &Unread) {
        let mut known = self.before.unread.values();
        // Nothing in it could be changed, or it was set aside before.
        let is_aside = path.to_string_lossy().contains(SUFFIX);
        if known.any(|known| known.id == unread.id) && (self.is_protected || is_aside) {
            return;
        }
        match (unread.is_git, path.file_name()) {
            (true, Some(name)) => self.set_aside(UNREAD, path.parent(), name),
            _ => self.say(format!(
                "Dunlin could not look for git settings in {}: look at it before you run git there.",
                self.short(Some(path))
            )),
        }
    }

    fn link(&mut self, path: &Path, link: &GitLink) {
        let target = link.target.as_deref();
        let is_judged = target.is_some_and(|target| self.is_judged(target));
        let was_there = self.before.links.get(path) == Some(link);
        // It may lead to what was there before, also outside of what a command can change.
        let is_outside = target.is_none_or(|target| !self.after.folders.contains_key(target));
        if was_there && (is_judged || is_outside) {
            return;
        }
        match path.file_name() {
            Some(name) if !is_judged => self.set_aside(HARMFUL, path.parent(), name),
            _ => self.say(format!(
                "New git worktree or submodule: {}.",
                self.short(path.parent())
            )),
        }
    }

    fn folder(&mut self, path: &Path, folder: &GitFolder) {
        let known = self.known(folder);
        let is_new = known.is_none();
        if is_new && folder.is_reference {
            // No repository; what leads there is set aside.
            return;
        }
        let is_root = self.access.roots().contains(&path);
        let had_settings = known.is_some_and(|known| !known.settings.is_empty());
        if is_root && !had_settings && (is_new || !folder.settings.is_empty()) {
            // It holds the user's files: without this file it is no repository.
            return self.set_aside(HARMFUL, Some(path), OsStr::new("HEAD"));
        }
        let common = folder.common.as_deref();
        let leads_to_judged = common.is_some_and(|common| self.is_judged(common));
        let leads_to_unjudged = common
            .is_some_and(|common| self.after.folders.contains_key(common))
            && !leads_to_judged;
        let is_allowed = |name: &OsString, mark: &Mark| {
            let known = known.and_then(|known| known.settings.get(name));
            let is_known = known.is_some_and(|known| self.is_protected || known == mark)
                || self.access.writable.contains(&path.join(name));
            match name == "commondir" {
                true => is_known && !leads_to_unjudged,
                false => is_known,
            }
        };
        let is_harmless = |name: &OsString| {
            is_harmless(path, name, &self.access.project)
                && (name != "commondir" || leads_to_judged)
        };
        let settings = folder.settings.iter();
        let harmful: Vec<&OsString> = settings
            .filter(|(name, mark)| !is_allowed(name, mark) && !is_harmless(name))
            .map(|(name, _)| name)
            .collect();
        // A folder that was made to look like a repository may hold the user's files, and what a rule protects.
        let is_in_git = path.iter().any(|part| part == ".git");
        if is_new && !is_in_git && !harmful.is_empty() {
            return self.set_aside(HARMFUL, Some(path), OsStr::new("HEAD"));
        }
        for name in &harmful {
            self.set_aside(HARMFUL, Some(path), name);
        }
        // A worktree is told of by the `.git` that leads there.
        if is_new && harmful.is_empty() && !folder.has_common {
            self.say(format!("New git repository: {}.", self.short(Some(path))));
        }
    }

    /// Renames a setting to what git does not read.
    fn set_aside(&mut self, what: &str, folder: Option<&Path>, name: &OsStr) {
        let Some(folder) = folder else { return };
        let from = self.short(Some(&folder.join(name)));
        let sentence = match rename_aside(folder, name) {
            Ok(aside) => format!(
                "The command made {what}: {from}. This was set aside as {}; rename it back to use it.",
                self.short(Some(&folder.join(aside)))
            ),
            Err(error) => format!(
                "The command made {what}, which could not be set aside ({error}): remove {from} before you run git there."
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
        let short = short.to_string_lossy();
        let escaped = crate::display::escape(&short);
        crate::display::shorten(&escaped, MAX_PATH_CHARS).into_owned()
    }
}

fn rename_aside(folder: &Path, name: &OsStr) -> io::Result<OsString> {
    let Entry::Folder(opened) = mounts::look(folder)? else {
        return Err(io::Error::other("its folder is not there any more"));
    };
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
