//! What the review does with what it finds: set aside, moved out of the project, or removed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::super::aside::{self, Entry, NotTakenOut};
use super::super::judge::{is_of_worktree, leads_out_of_refs};
use super::super::{GitFolder, MAX_SETTINGS, Mark, SUFFIX};
use super::{ASTRAY_WITHIN, HEAD, MAX_NAMED, MAX_RENAMED_LATE, Review};
use crate::process::mounts::FileId;

impl Review<'_> {
    /// Sets aside a repository as a whole, whatever is in it: what of it git trusts is a list that grows.
    pub(super) fn whole(&mut self, why: &str, path: &Path, id: FileId) {
        self.gone.insert(path.to_owned());
        let head = Entry::of_folder(path, id, OsStr::new(HEAD));
        let name = path.file_name().unwrap_or_default();
        let (Some(parent), true) = (path.parent(), name.eq_ignore_ascii_case(".git")) else {
            // The rest of it may be the user's own files. Without this one it is not a repository.
            self.rename(why, &head, "");
            if is_of_worktree(path) {
                // Git reads it nevertheless.
                self.set_aside(why, path, id, OsStr::new("gitdir"));
            }
            return;
        };
        // What is called `.git` would become a repository with the user's next `git init`, which keeps its settings. Under
        // another name it would still be one for whoever goes there.
        let head = head.set_aside();
        let folder = Entry::of_number(parent, name, id.number);
        if self.take_out(&folder) {
            return;
        }
        let and = head.map(|name| format!(", and {} in it to HEAD", name.to_string_lossy()));
        self.rename(why, &folder, &and.unwrap_or_default());
    }

    /// Moves something out of the project. `false`: that is not possible, or takes too long.
    pub(super) fn take_out(&mut self, entry: &Entry<'_>) -> bool {
        if self.is_hurried() {
            return false;
        }
        let below = entry.folder.strip_prefix(&self.access.project);
        let below = below.unwrap_or(entry.folder);
        let below = below.strip_prefix("/").unwrap_or(below);
        let path = entry.folder.join(entry.name);
        match entry.take_out(&self.place.join(below)) {
            Ok(_) => self.moved.push(path),
            Err(NotTakenOut::Failed(_)) => return false,
            Err(NotTakenOut::Stranded { place, error }) => {
                self.is_complete = false;
                self.urge(format!(
                    "Another process exchanged {} while Dunlin moved it. Dunlin could not move back what it had taken ({error}): that is {} now.",
                    self.short(Some(&path)),
                    self.short(Some(&place))
                ));
                return false;
            }
        }
        true
    }

    /// Removes the links that a command has put where git would follow them and write.
    pub(super) fn planted_links(&mut self, path: &Path, folder: &GitFolder) {
        let known = self.known(folder);
        let is_planted = |link: &&OsString| known.is_none_or(|known| !known.links.contains(*link));
        let mut planted = folder.links.iter().filter(is_planted).peekable();
        let is_gone = || path.ancestors().any(|path| self.gone.contains(path));
        if planted.peek().is_none() || self.is_frozen(path) || is_gone() {
            return;
        }
        let mut removed = Vec::new();
        let mut failed = None;
        for link in planted {
            if self.is_hurried() {
                self.make_unusable(path, folder.id);
                break;
            }
            match aside::remove_link(path, folder.id, Path::new(link)) {
                Ok(()) => removed.push(link),
                // The folder that it lies in was set aside.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => failed = Some((link, error)),
            }
        }
        let shown = removed.iter().take(MAX_NAMED);
        let shown: Vec<String> = shown
            .map(|link| self.short(Some(&path.join(link))))
            .collect();
        match (shown.as_slice(), removed.len() - shown.len()) {
            ([], _) => {}
            ([link], _) => self.changes.push(format!(
                "The command created a symbolic link that would make git write elsewhere: {link}. Dunlin removed it."
            )),
            (links, more) => self.changes.push(format!(
                "The command created symbolic links that would make git write elsewhere: {}{}. Dunlin removed them.",
                links.join(", "),
                match more {
                    0 => String::new(),
                    _ => format!(" and {more} more"),
                }
            )),
        }
        if let Some((link, error)) = failed {
            self.is_complete = false;
            let shown = self.short(Some(&path.join(link)));
            self.urge(format!(
                "The command created a symbolic link that would make git write elsewhere, and Dunlin could not remove it ({error}): remove {shown} before you run git there."
            ));
        }
    }

    /// Sets aside what a command has put among the data of a repository to lead git astray.
    pub(super) fn strays(&mut self, path: &Path, folder: &GitFolder) {
        let known = self.known(folder);
        let is_new = |(stray, mark): &(&OsString, &Mark)| {
            let known = known.and_then(|known| known.strays.get(*stray));
            // Git itself writes to a file that has shared its content with a copy of the user's all along.
            let is_kept = |known: &Mark| {
                let leads_out = || leads_out_of_refs(&path.join(stray)).unwrap_or(true);
                mark.is_of_same_file(known) && !leads_out()
            };
            known.is_none_or(|known| !known.is_like(mark) && !is_kept(known))
        };
        let mut strays = folder.strays.iter().filter(is_new).peekable();
        let is_gone = || path.ancestors().any(|path| self.gone.contains(path));
        if strays.peek().is_none() || self.is_frozen(path) || is_gone() {
            return;
        }
        let mut renamed = Vec::new();
        for (stray, _) in strays {
            if self.is_hurried() {
                self.make_unusable(path, folder.id);
                break;
            }
            let entry = Entry::of_folder(path, folder.id, stray);
            match entry.set_aside_above() {
                Ok(aside) => renamed.push((stray, aside)),
                // The folder that it lies in was set aside.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    self.is_complete = false;
                    let stray = self.short(Some(&path.join(stray)));
                    self.urge(format!(
                        "{ASTRAY_WITHIN}, which could not be set aside ({error}): remove {stray} before you run git there."
                    ));
                }
            }
        }
        let shown = renamed.iter().take(MAX_NAMED).map(|(stray, aside)| {
            let [stray, aside] = [*stray, aside].map(|name| self.short(Some(&path.join(name))));
            format!("{stray} is {aside} now")
        });
        let shown: Vec<String> = shown.collect();
        if !shown.is_empty() {
            let more = match renamed.len() - shown.len() {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            let has_branch = renamed
                .iter()
                .any(|(stray, _)| stray.as_bytes().starts_with(b"refs/heads/"));
            let reflog = match has_branch {
                true => " What a branch was before may be in its reflog.",
                false => "",
            };
            self.changes.push(format!(
                "{ASTRAY_WITHIN}: {}{more}.{reflog}",
                shown.join("; ")
            ));
        }
    }

    /// Renames a setting, or the `HEAD` of a repository, to what git does not read.
    pub(super) fn set_aside(&mut self, why: &str, folder: &Path, id: FileId, name: &OsStr) {
        self.rename(why, &Entry::of_folder(folder, id, name), "");
    }

    /// The same of so many settings that a sentence about each would hide the others.
    pub(super) fn set_aside_many(&mut self, folder: &Path, id: FileId, names: &[&OsStr]) {
        let mut renamed: usize = 0;
        let mut failed = None;
        for (number, name) in names.iter().enumerate() {
            if number >= MAX_RENAMED_LATE && self.is_late() {
                self.make_unusable(folder, id);
                break;
            }
            match Entry::of_folder(folder, id, name).set_aside() {
                Ok(_) => renamed += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => failed = Some((*name, error)),
            }
        }
        let shown = self.short(Some(folder));
        self.urge(format!(
            "The command made files and folders in {shown} that can be git settings. Dunlin renamed {renamed} of them to *{SUFFIX}. Look at them and remove what you do not need: with more than {MAX_SETTINGS} such names the repository is read-only for commands."
        ));
        if let Some((name, error)) = failed {
            self.is_complete = false;
            let name = self.short(Some(&folder.join(name)));
            self.urge(format!(
                "Not all of them could be renamed ({name}: {error}): look at {shown} before you run git there."
            ));
        }
    }

    /// Renames something to what git does not read. Says why, and how to undo it: `and` is the rest of that.
    pub(super) fn rename(&mut self, why: &str, entry: &Entry<'_>, and: &str) {
        let from = self.short(Some(&entry.folder.join(entry.name)));
        // What lies deeper is among the data of a repository, which git writes.
        let is_protected = !entry.name.as_bytes().contains(&b'/');
        let protected = match is_protected {
            true => ", where no command can change or remove it",
            false => "",
        };
        match entry.set_aside() {
            Ok(aside) => self.changes.push(format!(
                "{why}: {from}. This was set aside as {}{protected}. Look at it, then rename it back{and} to use it.",
                self.short(Some(&entry.folder.join(aside)))
            )),
            // What is not there need not be set aside.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                self.is_complete = false;
                self.urge(format!(
                    "{why}, which could not be set aside ({error}): remove {from} before you run git there."
                ));
            }
        }
    }
}
