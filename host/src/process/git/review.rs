//! What a command made of the repositories: looked at after it has ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::judge::{is_harmless, is_of_worktree, is_trustworthy};
use super::read::{MAX_FOLDERS, make_readable};
use super::{COMMON, GitFolder, GitLink, Mark, Repositories, SUFFIX, Unread, settings};
use crate::process::access::Access;
use crate::process::mounts::{self, Entry};

/// How many settings of one name can be set aside in one folder.
const MAX_ASIDE: usize = 1_000;

/// Sentences about one command. More of them nobody reads; everything is set aside nevertheless.
const MAX_SENTENCES: usize = 20;

/// Characters of a path in a sentence: all sentences must fit into what is heard of a supervisor.
const MAX_PATH_CHARS: usize = 200;

/// What is known of a command whose work is reviewed.
#[derive(Debug, Clone, Copy)]
pub(in crate::process) struct Means {
    /// The settings that were there could not be changed, so that a change is the user's own.
    pub(in crate::process) is_protected: bool,
    /// Neither it nor another command meanwhile was meant to make a repository.
    pub(in crate::process) is_plain: bool,
}

/// What a review has come to.
#[derive(Debug)]
pub(in crate::process) struct Reviewed {
    /// A sentence for the user about each thing that was found.
    pub(in crate::process) sentences: Vec<String>,
    /// Whether everything that a command may have made was looked at, and set aside where it can do harm.
    pub(in crate::process) is_complete: bool,
}

/// Compares the repositories before and after a command, and sets aside what it must not have made: any repository, or
/// the settings that can do harm.
pub(in crate::process) fn review(
    access: &Access,
    before: &Repositories,
    after: &Repositories,
    means: Means,
) -> Reviewed {
    let mut review = Review {
        access,
        before,
        after,
        means,
        sentences: Vec::new(),
        is_complete: before.is_incomplete || !after.is_incomplete,
    };
    if before.is_incomplete || after.is_incomplete {
        review.say(format!(
            "There are more than {MAX_FOLDERS} folders, too many repositories or too long paths: not all git settings were protected. Look for new .git folders before you run git here."
        ));
    }
    for path in &after.opened {
        review.say(format!(
            "The command made {} unreadable. Dunlin made it readable, to look for git settings there.",
            review.short(Some(path))
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
    Reviewed {
        sentences: review.sentences,
        is_complete: review.is_complete,
    }
}

/// Why something is set aside.
const UNEXPECTED: &str = "A git repository appeared, though the command line runs no git";
const HARMFUL: &str =
    "The command made git settings that can run programs or lead out of the project";
const ASTRAY: &str = "The command made a git file that names files outside of the worktree";
const LED_AWAY: &str = "The command led the worktree of a git repository elsewhere";
const UNREAD: &str = "The command made a git repository that cannot be looked at";

/// The file without which git takes a folder for no repository.
const HEAD: &str = "HEAD";

struct Review<'a> {
    access: &'a Access,
    before: &'a Repositories,
    after: &'a Repositories,
    means: Means,
    sentences: Vec<String>,
    is_complete: bool,
}

impl<'a> Review<'a> {
    fn say(&mut self, sentence: String) {
        self.sentences.push(sentence);
    }

    /// The same repository before the command. It may have been moved together with a folder that it lies in.
    fn known(&self, folder: &GitFolder) -> Option<&'a GitFolder> {
        let before = self.before;
        let mut known = before.folders.iter();
        let known = known.find(|(path, known)| {
            // What was no repository can hold what was set aside before, or what another command has prepared.
            known.id == folder.id && (known.has_head || before.is_shared(path))
        });
        known.map(|(_, known)| known)
    }

    /// Whether a folder was there before the command, with the same settings.
    fn was_there(&self, folder: &GitFolder) -> bool {
        let mut before = self.before.folders.values();
        before.any(|known| known.id == folder.id && known.settings == folder.settings)
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
        let is_known = known.any(|known| known.id == unread.id);
        let is_repository = unread.is_git && path.join(HEAD).symlink_metadata().is_ok();
        // Nothing in it could be changed, or its HEAD was set aside before.
        if is_known && (self.means.is_protected || unread.is_git && !is_repository) {
            return;
        }
        match is_repository {
            true => self.set_aside(UNREAD, path, OsStr::new(HEAD), ""),
            false => self.say(format!(
                "Dunlin could not look for git settings in {}: look at it before you run git there.",
                self.short(Some(path))
            )),
        }
    }

    fn link(&mut self, path: &Path, link: &GitLink) {
        let target = link.target();
        let is_judged = target.is_some_and(|target| self.is_judged(target));
        // It may have been moved together with a folder that it lies in.
        let was_there = self.before.links.values().any(|known| known == link);
        // It may lead to what was there before, also outside of what a command can change.
        let is_outside = target.is_none_or(|target| !self.after.folders.contains_key(target));
        if was_there && (is_judged || is_outside) {
            return;
        }
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) if self.means.is_plain => {
                self.set_aside(UNEXPECTED, folder, name, "");
            }
            (Some(folder), Some(name)) if !is_judged => self.set_aside(HARMFUL, folder, name, ""),
            _ => self.say(format!(
                "New git worktree or submodule: {}.",
                self.short(path.parent())
            )),
        }
    }

    /// What a command has made or changed in a folder and can do harm. Without `commondir`.
    fn harmful<'f>(&self, path: &Path, folder: &'f GitFolder) -> Vec<&'f OsStr> {
        let known = self.known(folder);
        let is_allowed = |name: &OsString, mark: &Mark| {
            let known = known.and_then(|known| known.settings.get(name));
            self.is_users_own(known, mark)
                || self.access.writable.contains(&path.join(name))
                || !mark.has_other_names() && is_harmless(path, name, &self.access.project)
        };
        let settings = folder.settings.iter();
        let settings = settings.filter(|(name, mark)| *name != COMMON && !is_allowed(name, mark));
        let was_there = |name: &OsString, mark: &Mark| {
            known.is_some_and(|known| known.verified.get(name) == Some(mark))
        };
        let verified = folder.verified.iter().filter(|(name, mark)| {
            !was_there(name, mark) && (mark.has_other_names() || !is_trustworthy(path, name))
        });
        let harmful = settings.chain(verified);
        harmful.map(|(name, _)| name.as_os_str()).collect()
    }

    /// Whether a setting is as it was, or could be changed by nobody but the user.
    fn is_users_own(&self, known: Option<&Mark>, mark: &Mark) -> bool {
        known.is_some_and(|known| {
            known == mark || self.means.is_protected && !known.has_other_names()
        })
    }

    /// Whether the worktree that a folder's settings name is another one than before, and none of the project's.
    fn leads_elsewhere(&self, folder: &GitFolder) -> bool {
        let known = self.known(folder);
        let was_there = |worktree: &Path| {
            known.is_some_and(|known| known.worktrees().any(|known| known == worktree))
        };
        let mut worktrees = folder.worktrees();
        worktrees.any(|it| !was_there(it) && !settings::is_inside(it, &self.access.project))
    }

    /// Whether a command has made a repository with harmful settings here, or led one elsewhere.
    fn is_made_harmful(&self, path: &Path, folder: &GitFolder) -> bool {
        let is_new = self.known(folder).is_none();
        self.leads_elsewhere(folder) || is_new && !self.harmful(path, folder).is_empty()
    }

    /// Whether the repository that this one shares settings with is none that a command could have made or changed.
    fn shares_safely(&self, path: &Path, folder: &GitFolder) -> bool {
        let is_within = |common: &Path| {
            let mut roots = self.access.roots().into_iter();
            roots.any(|root| common.starts_with(root))
        };
        let known = self.known(folder);
        let known = known.and_then(|known| known.settings.get(OsStr::new(COMMON)));
        let mark = folder.settings.get(OsStr::new(COMMON));
        let is_known = mark.is_some_and(|mark| self.is_users_own(known, mark));
        match folder.common() {
            None => !folder.has_common,
            Some(common) if !is_within(common) => is_known,
            Some(common) => {
                let is_safe = self.is_judged(common)
                    && self
                        .after
                        .folders
                        .get(common)
                        .is_some_and(|shared| !self.is_made_harmful(common, shared));
                is_safe && (is_known || is_harmless(path, OsStr::new(COMMON), &self.access.project))
            }
        }
    }

    fn folder(&mut self, path: &Path, folder: &GitFolder) {
        for link in &folder.links {
            self.planted_link(path, folder, link);
        }
        let known = self.known(folder);
        let is_new = known.is_none();
        let name = path.file_name().unwrap_or_default();
        // Git looks at what is noted of worktrees whatever is missing there.
        let is_git = name.eq_ignore_ascii_case(".git") || is_of_worktree(path);
        let is_one = folder.has_head || self.after.is_shared(path);
        // What is called `.git` becomes a repository with the user's next `git init`, which keeps its settings.
        let may_become_one = is_git && !self.was_there(folder);
        if is_new && folder.is_reference || !is_one && !may_become_one {
            // No repository. What leads there is set aside.
            return;
        }
        let is_root = self.access.roots().contains(&path);
        if is_new && self.means.is_plain {
            self.unexpected(path);
            return;
        }
        let had_settings = known.is_some_and(|known| !known.settings.is_empty());
        let mut harmful = self.harmful(path, folder);
        if !self.shares_safely(path, folder) {
            harmful.push(OsStr::new(COMMON));
        }
        let looks_like_one = is_root && !had_settings && (is_new || !folder.settings.is_empty());
        let is_bad = self.leads_elsewhere(folder) || is_new && !harmful.is_empty();
        if looks_like_one || is_bad && folder.has_head {
            let what = match self.leads_elsewhere(folder) && !is_new {
                true => LED_AWAY,
                false => HARMFUL,
            };
            // The rest of it may be the user's own files. Without this one it is no repository.
            self.set_aside(what, path, OsStr::new(HEAD), "");
            if !is_git {
                return;
            }
        }
        for name in &harmful {
            let is_setting = folder.settings.contains_key(*name);
            self.set_aside(if is_setting { HARMFUL } else { ASTRAY }, path, name, "");
        }
        for (name, mark) in &folder.settings {
            let before = known.and_then(|known| known.settings.get(name));
            let is_changed = before.is_some_and(|before| before != mark);
            let is_named = harmful.contains(&name.as_os_str());
            if is_changed && !is_named && !is_harmless(path, name, &self.access.project) {
                let shown = self.short(Some(&path.join(name)));
                self.say(format!(
                    "{shown} changed while the command ran. If you did not change it, look at it before you run git there."
                ));
            }
        }
        // A worktree is told of by the `.git` that leads there.
        if is_new && harmful.is_empty() && folder.has_head && !folder.has_common {
            self.say(format!("New git repository: {}.", self.short(Some(path))));
        }
    }

    /// Sets aside a repository that nobody has asked for, whatever is in it: what of it git trusts is a list that grows.
    fn unexpected(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default();
        let (Some(parent), true) = (path.parent(), name.eq_ignore_ascii_case(".git")) else {
            // The rest of it may be the user's own files. Without this one it is no repository.
            return self.set_aside(UNEXPECTED, path, OsStr::new(HEAD), "");
        };
        // What is called `.git` would become a repository with the user's next `git init`, which keeps its settings. Under
        // another name it would still be one for whoever goes there.
        match self.rename(path, OsStr::new(HEAD)) {
            Ok(head) => {
                let and = format!(", and {} in it to HEAD", head.to_string_lossy());
                self.set_aside(UNEXPECTED, parent, name, &and);
            }
            Err(_) => self.set_aside(UNEXPECTED, parent, name, ""),
        }
    }

    /// Removes a link that a command has put where git would follow it and write.
    fn planted_link(&mut self, path: &Path, folder: &GitFolder, link: &OsStr) {
        let known = self.known(folder);
        if known.is_some_and(|known| known.links.contains(link)) {
            return;
        }
        let link = path.join(link);
        let target = std::fs::read_link(&link).unwrap_or_default();
        let target = self.short(Some(&target));
        let shown = self.short(Some(&link));
        let removed = std::fs::remove_file(&link).or_else(|error| {
            make_readable(link.parent().ok_or(error)?)?;
            std::fs::remove_file(&link)
        });
        self.is_complete &= removed.is_ok();
        let sentence = match removed {
            Ok(()) => format!(
                "The command put a link to {target} where git would write to it: {shown}. This was removed."
            ),
            Err(error) => format!(
                "The command put a link to {target} where git would write to it, which could not be removed ({error}): remove {shown} before you run git there."
            ),
        };
        self.say(sentence);
    }

    /// Renames a setting, or the `HEAD` of a repository, to what git does not read. Says why, and how to undo it: `and` is
    /// the rest of that.
    fn set_aside(&mut self, why: &str, folder: &Path, name: &OsStr, and: &str) {
        let from = self.short(Some(&folder.join(name)));
        let sentence = match self.rename(folder, name) {
            // What is not there need not be set aside.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Ok(aside) => format!(
                "{why}: {from}. This was set aside as {}; rename it back{and} to use it.",
                self.short(Some(&folder.join(aside)))
            ),
            Err(error) => format!(
                "{why}, which could not be set aside ({error}): remove {from} before you run git there."
            ),
        };
        self.say(sentence);
    }

    fn rename(&mut self, folder: &Path, name: &OsStr) -> io::Result<OsString> {
        let renamed = rename_aside(folder, name).or_else(|error| {
            if error.kind() != io::ErrorKind::PermissionDenied {
                return Err(error);
            }
            make_readable(folder)?;
            rename_aside(folder, name)
        });
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        self.is_complete &= renamed.as_ref().err().is_none_or(is_gone);
        renamed
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
