//! What is said after a command.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use super::super::GitFolder;
use super::super::judge::is_harmless;
use super::{MAX_NAMED, MAX_PATH_CHARS, Review, could_change};
use crate::process::mounts::FileId;

/// Bytes that are said after one command.
pub(in crate::process) const MAX_SAID_BYTES: usize = 48 * 1024;

/// Bytes of each of the three kinds of sentences.
const MAX_BYTES: usize = MAX_SAID_BYTES / 3;

/// Sentences of one kind: as many as may be said, and how many there are beside them. A command can give reason for any
/// number.
#[derive(Debug)]
pub(super) struct Sentences {
    kept: Vec<String>,
    bytes: usize,
    most: usize,
    more: usize,
}

impl Sentences {
    pub(super) fn at_most(most: usize) -> Sentences {
        Sentences {
            kept: Vec::new(),
            bytes: 0,
            most,
            more: 0,
        }
    }

    pub(super) fn push(&mut self, sentence: String) {
        let bytes = self.bytes + sentence.len();
        if self.more == 0 && self.kept.len() < self.most && bytes <= MAX_BYTES {
            self.bytes = bytes;
            self.kept.push(sentence);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn into_all(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("And {} more.", self.more));
        }
        self.kept
    }
}

impl Review<'_> {
    /// Says which repositories there was no time for.
    pub(super) fn say_what_is_left(&mut self) {
        let Some(first) = self.left.first() else {
            return;
        };
        self.is_complete = false;
        self.urge(format!(
            "The command made so many git repositories that Dunlin had no time to look at {} of them, such as {}: do not run git in new folders before another command has run here.",
            self.left.len(),
            self.short(Some(first))
        ));
        // Git would look into those that an index names as submodules, also where the index could not be changed.
        for (path, folder) in &self.after.folders {
            let is_known = self.known(folder).is_some_and(|known| !known.is_reference);
            if is_known && folder.has_head && could_change(self.access, path) {
                self.make_unusable(path, folder.id);
            }
        }
    }

    /// The first of some paths, and how many more there are. Empty: there are none.
    pub(super) fn named<'p>(&self, paths: impl Iterator<Item = &'p Path>, before: &str) -> String {
        named(&self.access.project, paths, before)
    }

    /// Says which settings are others than before: those that are harmless only where nothing protected them.
    pub(super) fn say_what_changed(
        &mut self,
        path: &Path,
        folder: &GitFolder,
        known: Option<&GitFolder>,
        harmful: &[&OsStr],
    ) {
        let Some(known) = known else {
            return;
        };
        let is_protected = self.protected.contains(&folder.id);
        for (name, mark) in &folder.settings {
            let before = known.settings.get(name);
            let is_changed = before.is_some_and(|before| !before.is_like(mark));
            let is_named = harmful.contains(&name.as_os_str());
            let is_harmless = || !self.is_late() && is_harmless(path, name, &self.access.project);
            if is_changed && !is_named && !(is_protected && is_harmless()) {
                let shown = self.short(Some(&path.join(name)));
                self.urge(format!(
                    "{shown} changed while the command ran. If you did not change it, look at it before you run git there."
                ));
            }
        }
        for name in ["config", "config.worktree", "hooks", "info"].map(OsStr::new) {
            let is_gone = known.settings.contains_key(name) && !folder.settings.contains_key(name);
            if is_gone && !is_protected {
                let shown = self.short(Some(&path.join(name)));
                self.urge(format!("{shown} is gone since the command ran."));
            }
        }
    }

    /// Says which repositories are gone that nothing protected.
    pub(super) fn say_what_is_gone(&mut self) {
        let ids: BTreeSet<FileId> = self.after.ids().collect();
        let gone = self.before.folders.iter().filter(|(path, folder)| {
            let is_one = folder.has_head && !folder.is_aside && !folder.is_reference;
            let is_left = ids.contains(&folder.id) || self.after.unread.contains_key(*path);
            is_one && !is_left && !self.protected.contains(&folder.id)
        });
        let gone: Vec<&Path> = gone.map(|(path, _)| path.as_path()).collect();
        if self.after.is_whole() && !gone.is_empty() {
            let named = self.named(gone.into_iter(), "");
            self.urge(format!(
                "These git repositories are gone since the command ran: {named}."
            ));
        }
    }

    /// A path as the user writes it: within the project without the project.
    pub(super) fn short(&self, path: Option<&Path>) -> String {
        let project = &self.access.project;
        short(project, path.unwrap_or(project))
    }
}

/// The first of some paths, and how many more there are. Empty: there are none.
pub(in crate::process) fn named<'p>(
    project: &Path,
    paths: impl Iterator<Item = &'p Path>,
    before: &str,
) -> String {
    let mut paths = paths.peekable();
    if paths.peek().is_none() {
        return String::new();
    }
    let shown: Vec<String> = paths
        .by_ref()
        .take(MAX_NAMED)
        .map(|path| short(project, path))
        .collect();
    let more = match paths.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{before}{}{more}", shown.join(", "))
}

fn short(project: &Path, path: &Path) -> String {
    let short = path.strip_prefix(project).unwrap_or(path);
    let short = match short.as_os_str().is_empty() {
        true => Path::new("."),
        false => short,
    };
    let short = short.to_string_lossy();
    let escaped = crate::display::escape(&short);
    let shown = crate::display::shorten(&escaped, MAX_PATH_CHARS).into_owned();
    // Any other name could go on with the sentence.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    match shown.chars().all(is_plain) && !shown.ends_with('.') || shown == "." {
        true => shown,
        false => format!("'{}'", shown.replace('\'', "\\'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_counted() {
        let mut few = Sentences::at_most(2);
        for text in ["a", "b", "c", "d"] {
            few.push(text.to_owned());
        }
        assert_eq!(few.into_all(), ["a", "b", "And 2 more."]);
        let mut long = Sentences::at_most(2);
        long.push("x".repeat(MAX_BYTES + 1));
        long.push("a".to_owned());
        assert_eq!(long.into_all(), ["And 2 more."]);
    }
}
