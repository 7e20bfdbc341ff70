//! What could not be looked at: of the user's repositories, git uses none of which not everything is known.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use rustix::fs::FileType;

use super::super::aside::Entry;
use super::super::extent::MAX_PART_FOLDERS;
use super::super::judge::{is_of_worktree, is_plain};
use super::super::{MAX_SETTINGS, Unread};
use super::{HEAD, Review, UNREAD, could_change};
use crate::process::mounts::{self, FileId};

impl Review<'_> {
    /// Says which repositories a line that runs git could not change for the number of what is in them.
    pub(super) fn too_much_to_protect(&mut self) {
        let Some(found) = self
            .means
            .protected
            .filter(|_| self.access.may_change_repository)
        else {
            return;
        };
        for path in found.crowded(self.access) {
            self.urge(format!(
                "{} was read-only for the command: more than {MAX_SETTINGS} files and folders are in it that git does not need for commits. Remove what you do not need there.",
                self.short(Some(path))
            ));
        }
        for (path, unread) in &found.unread {
            let mut around = path.ancestors();
            let is_of_one = unread.is_git || around.any(|it| found.folders.contains_key(it));
            if is_of_one && !self.access.writable.contains(path) {
                self.urge(format!(
                    "{} was read-only for the command: too much is in it to look for what could harm, such as more than {MAX_PART_FOLDERS} folders. Remove what you do not need there; \"git pack-refs --all\" makes one file of all references.",
                    self.short(Some(path))
                ));
            }
        }
    }

    /// The repositories of the user that the search has not reached any more.
    pub(super) fn not_reached(&mut self) {
        if !self.after.is_incomplete {
            return;
        }
        for (path, folder) in &self.before.folders {
            let is_seen =
                self.after.folders.contains_key(path) || self.after.unread.contains_key(path);
            let is_there = || mounts::id_at(path).is_ok_and(|id| id == folder.id);
            let is_own = !folder.is_reference && !self.frozen.contains(&folder.id);
            if is_own && !is_seen && is_there() {
                self.make_unusable(path, folder.id);
            }
        }
    }

    /// Keeps git from using a repository of which not everything could be looked at, together with those that share its
    /// settings.
    pub(super) fn make_unusable(&mut self, path: &Path, id: FileId) {
        // Later commands look again, also once it is put back.
        self.is_complete = false;
        if !self.unusable.insert(path.to_owned()) {
            return;
        }
        let after = self.after;
        let access = self.access;
        // Git needs no HEAD but that of the worktree itself.
        let sharing = self.sharing.get(path).cloned().unwrap_or_default();
        let sharing = sharing
            .into_iter()
            .filter(|other| *other != path && could_change(access, other));
        let sharing = sharing.filter_map(|path| Some((path, after.folders.get(path)?.id)));
        for (path, id) in std::iter::once((path, id)).chain(sharing) {
            let mut renamed = Vec::new();
            let mut failed = None;
            // Git reads what is noted of a worktree also without the first.
            let names = [HEAD, "gitdir"];
            let most = match could_change(access, path) {
                true => 1 + usize::from(is_of_worktree(path)),
                // Other worktrees are not the command's.
                false => 0,
            };
            for name in names.iter().take(most) {
                match Entry::of_folder(path, id, OsStr::new(name)).set_aside() {
                    Ok(aside) => renamed.push(format!("{name} to {}", aside.to_string_lossy())),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => failed = Some(error),
                }
            }
            let shown = self.short(Some(path));
            let done = match (failed, renamed.is_empty()) {
                (Some(error), _) => format!(
                    "It could not be set aside ({error}): do not run git there before you have looked at it."
                ),
                (None, true) => "Look at it before you run git there.".to_owned(),
                (None, false) => format!(
                    "So that git does not use it, Dunlin renamed {} in it. Look at it and remove what does not belong there, then undo that.",
                    renamed.join(" and ")
                ),
            };
            self.urge(format!(
                "Dunlin could not check everything in the git repository {shown}. {done}"
            ));
        }
    }

    /// Sets aside a part of a repository that could not be looked at. `false`: it belongs to none, is not what git itself
    /// keeps there, or the command could not change it.
    ///
    /// What there was no time for may be as it was: of that repository nothing but its `HEAD` is renamed.
    fn unread_part(&mut self, path: &Path, is_unreached: bool) -> bool {
        let after = self.after;
        let mut around = path.ancestors().skip(1);
        let repository = around.find_map(|path| Some((path, after.folders.get(path)?)));
        let Some((repository, folder)) = repository else {
            return false;
        };
        let part = path.strip_prefix(repository).ok();
        let Some(part) = part.and_then(|part| part.components().next()) else {
            return false;
        };
        let part = part.as_os_str();
        if !is_plain(part, FileType::Directory) {
            return false;
        }
        let from = repository.join(part);
        if !could_change(self.access, path) {
            return false;
        }
        // Into many repositories it may take long to look, and each of them may be as it was.
        if is_unreached && after.unguarded.contains(repository) {
            return false;
        }
        self.is_complete = false;
        if is_unreached {
            self.make_unusable(repository, folder.id);
            return true;
        }
        let entry = Entry::of_folder(repository, folder.id, part);
        let shown = self.short(Some(&from));
        match entry.set_aside() {
            Ok(aside) => self.urge(format!(
                "Dunlin could not look at everything in {shown}, which git uses. It was set aside as {}. Look at it and remove what does not belong there, then rename it back.",
                self.short(Some(&repository.join(aside)))
            )),
            // Another folder in it was the reason before.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.urge(format!(
                "Dunlin could not look at everything in {shown}, which git uses, and could not set it aside ({error}): do not run git there before you have looked at it."
            )),
        }
        true
    }

    /// Judges what could not be looked at.
    pub(super) fn unread(&mut self, path: &Path, unread: &Unread) {
        let mut around = path.ancestors().skip(1);
        let is_within = around.any(|it| self.after.unread.get(it).is_some_and(|it| it.is_git));
        if is_within && !unread.is_git {
            // That repository is dealt with as a whole.
            return;
        }
        let is_known = self.index.unread.contains(&unread.id);
        let is_repository = unread.is_git && path.join(HEAD).symlink_metadata().is_ok();
        let was_one = || {
            let mut known = self.index.folders(unread.id);
            known.any(|(_, known)| !known.is_reference)
        };
        // Also where nothing in it could be changed, git would look into what is new.
        if unread.names_unseen && (is_known && is_repository || was_one()) {
            return self.make_unusable(path, unread.id);
        }
        // Nothing in it could be changed, or its HEAD was set aside before.
        let is_protected = self.protected_unread.contains(&unread.id);
        if is_known && (is_protected || unread.is_git && !is_repository)
            || self.is_within_frozen(path)
        {
            return;
        }
        if !is_known {
            if was_one() {
                return self.make_unusable(path, unread.id);
            }
            if !unread.is_git && self.unread_part(path, unread.is_unreached) {
                return;
            }
        }
        let name = path.file_name().unwrap_or_default();
        let is_read = name.eq_ignore_ascii_case(".git") || is_of_worktree(path);
        let is_read = unread.is_git && is_read;
        let is_users_own = self.index.folders.contains_key(&unread.id);
        match is_repository {
            true if is_known => self.set_aside(UNREAD, path, unread.id, OsStr::new(HEAD)),
            // The next `git init` would make one of it.
            _ if !is_users_own && (is_repository || is_read && !is_known) => {
                self.whole(UNREAD, path, unread.id);
            }
            _ => self.unseen.push(path.to_owned()),
        }
    }
}
