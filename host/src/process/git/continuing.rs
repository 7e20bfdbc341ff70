//! Decides which of git's operations that have stopped a command may continue, and hides the others from it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::judge::is_harmless;
use super::read::list;
use super::states::{LeftStates, States, Why, is_state};
use super::{Mark, Repositories, named};
use crate::process::access::{Access, Trees};
use crate::process::mounts::FileId;

impl Repositories {
    /// Decides which states this command may change: those that commands have left, if its line runs git. To be called before
    /// it starts.
    pub(in crate::process) fn decide_on_states(&mut self, access: &Access, left: &LeftStates) {
        let read_only = self.read_only(access);
        let read_only = Trees::new(&read_only);
        let mut states = States::default();
        let mut in_use = None;
        let in_place = self
            .guarded()
            .filter(|(path, folder)| !folder.is_kept_aside(path, access));
        for (folder, it) in in_place {
            if read_only.hold(folder) {
                continue;
            }
            for (name, mark) in it.settings.iter().filter(|(name, _)| is_state(name)) {
                let path = folder.join(name);
                if access.writable.contains(&path) {
                    continue;
                }
                let is_safe = !mark.has_other_names()
                    && has_files_only(&path)
                    && is_harmless(folder, name, &access.project);
                let mut is_in_use = || *in_use.get_or_insert_with(|| git_runs_in(&access.roots()));
                let why = match is_safe {
                    _ if !access.may_change_repository => Why::NotGit,
                    false => Why::Unsafe,
                    true if !left.has(&path, mark) => Why::Own,
                    true if is_in_use() => Why::InUse,
                    true => {
                        states.open.insert(path);
                        continue;
                    }
                };
                states.hidden.push((why, path));
            }
        }
        self.states = states;
    }

    /// The states that commands have left once this one has ended, which found `self`, and when it had ended, `after`.
    pub(in crate::process) fn left_states(
        &self,
        after: &Repositories,
        before: &LeftStates,
    ) -> LeftStates {
        let is_hidden = |path: &Path| self.hidden_states().any(|hidden| hidden == path);
        let mut left = before.only(is_hidden);
        for (folder, it) in after.guarded() {
            for (name, mark) in it.settings.iter().filter(|(name, _)| is_state(name)) {
                let path = folder.join(name);
                if !is_hidden(&path) {
                    left.add(path, mark.clone());
                }
            }
        }
        left
    }

    /// The states that this command can neither see nor change.
    pub(in crate::process) fn hidden_states(&self) -> impl Iterator<Item = &Path> {
        let hidden = self.states.hidden.iter();
        hidden.map(|(_, path)| path.as_path())
    }

    /// Whether a command may change this state.
    pub(super) fn is_open(&self, path: &Path) -> bool {
        self.states.open.contains(path)
    }

    /// Whether a setting was as `before` when a command started that could not change it. That of a state says little: another
    /// command may have been able to.
    pub(super) fn has_kept(&self, folder: FileId, name: &OsStr, before: &Mark) -> bool {
        if !is_state(name) {
            return true;
        }
        let mut folders = self.folders.iter();
        let same = folders.find(|(_, it)| it.id == folder);
        same.is_some_and(|(path, it)| {
            let is_same = |mark: &Mark| mark.is_like(before);
            !self.is_open(&path.join(name)) && it.settings.get(name).is_some_and(is_same)
        })
    }

    /// What the user and the model are told of hidden states, a sentence for each reason.
    pub(in crate::process) fn say_hidden_states(&self, access: &Access) -> Vec<String> {
        // Who does not run git need not hear it with every line.
        let reasons = [
            (
                Why::Unsafe,
                "it can run programs, or holds what Dunlin does not know",
            ),
            (
                Why::Own,
                "it is your own, or was changed since a command has left it",
            ),
            (
                Why::InUse,
                "your own git runs in this project at the moment",
            ),
        ];
        let say = |(reason, why): (Why, &str)| {
            let all = self.states.hidden.iter();
            let paths = all.filter(|(it, _)| *it == reason).map(|(_, path)| path);
            let paths = named(&access.project, paths.map(PathBuf::as_path), "");
            (!paths.is_empty()).then(|| {
                format!(
                    "A rebase, cherry-pick, revert or git am is in progress that commands can neither see nor change, as {why}: {paths}. Git refuses to continue it here. Finish or abort it in your own terminal, where git status says how."
                )
            })
        };
        reasons.into_iter().filter_map(say).collect()
    }
}

/// Whether a path is a folder with nothing but files in it: a mark says nothing of what lies deeper.
fn has_files_only(folder: &Path) -> bool {
    list(folder).is_ok_and(|entries| {
        let mut kinds = entries.iter().map(|(_, kind)| kind);
        kinds.all(|kind| *kind == FileType::RegularFile)
    })
}

/// Whether a git of this user works in one of these folders. One that waits for an editor has none of its files locked.
fn git_runs_in(folders: &[&Path]) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut processes = processes.map(|process| process.path());
    processes.any(|process| {
        let name = std::fs::read(process.join("comm")).unwrap_or_default();
        let is_git = name.trim_ascii_end() == b"git" || name.starts_with(b"git-");
        let place = || std::fs::read_link(process.join("cwd"));
        is_git && place().is_ok_and(|place| folders.iter().any(|it| place.starts_with(it)))
    })
}
