//! The files of a project that the command of a hook names.
//!
//! A project's hook is trusted as it was when the user was asked. A script of the project that it runs can be changed by
//! tools, and with it what the hook does, so the script counts only as it was then. Which words of a line are read or run as a
//! file is not known of every program: each word counts that is the name of a file.

use std::path::{Path, PathBuf};

use crate::command::{is_executable, is_script_file, state_of, words_of};
use crate::display::shown;

/// Letters of one word that stand for options.
const MAX_LETTERS: usize = 64;

/// A file, and what it held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// Without links.
    pub path: PathBuf,
    /// SHA-256, in hex; `None`: it could not be read.
    pub digest: Option<String>,
}

/// The files of a project that a command line names, as they are now: also a program that is found in a folder of the project
/// among those in which programs are searched for, as in an environment of Python.
pub fn pins(project: &Path, search_path: &[PathBuf], line: &str) -> Vec<Pinned> {
    let searched = search_path.iter().filter_map(|it| it.canonicalize().ok());
    let mut folders: Vec<PathBuf> = searched.filter(|it| it.starts_with(project)).collect();
    folders.push(project.to_owned());
    let words = words_of(line);
    let mut paths: Vec<PathBuf> = words
        .iter()
        .flat_map(|word| parts_of(word))
        .filter(|part| !part.is_empty() && !part.contains('\0'))
        .flat_map(|part| folders.iter().map(move |folder| folder.join(part)))
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| path.starts_with(project) && path.is_file())
        .collect();
    paths.sort();
    paths.dedup();
    let pin = |path: PathBuf| Pinned {
        digest: state_of(&path).ok(),
        path,
    };
    paths.into_iter().map(pin).collect()
}

/// What of a word may be a name: all of it, the value in `--config=FILE`, and what stands behind any letter of `-fFILE`.
fn parts_of(word: &str) -> impl Iterator<Item = &str> {
    let letters = match word.strip_prefix('-') {
        Some(letters) if !letters.starts_with('-') => letters,
        _ => "",
    };
    let behind = letters.char_indices().skip(1).map(|(at, _)| &letters[at..]);
    std::iter::once(word)
        .chain(word.split('=').skip(1))
        .chain(behind.take(MAX_LETTERS))
}

impl Pinned {
    /// Whether the file is a program: it may be run, or begins like a script. One that is not can be a script all the same, if
    /// an interpreter is told to run it.
    pub fn is_program(&self) -> bool {
        is_executable(&self.path) || is_script_file(&self.path)
    }
}

/// What is different now from what was pinned, in words; `None`: nothing.
pub(super) fn difference(
    project: &Path,
    search_path: &[PathBuf],
    line: &str,
    pinned: &[Pinned],
) -> Option<String> {
    let now = pins(project, search_path, line);
    let all = pinned.iter().chain(&now);
    let is_same =
        |file: &&Pinned| file.digest.is_some() && pinned.contains(file) && now.contains(file);
    let mut changed = all.filter(|file| !is_same(file));
    let Pinned { path, .. } = changed.next()?;
    let is_among = |files: &[Pinned]| files.iter().any(|file| file.path == *path);
    let what = match (is_among(pinned), is_among(&now)) {
        (false, true) => "is new",
        (true, false) => "is gone",
        _ => "changed",
    };
    let path = shown(path.strip_prefix(project).unwrap_or(path));
    Some(format!(
        "its command names {path}, which {what} since Dunlin started. Restart Dunlin to accept that; a hook about edited files \
         takes their names from its input (dunlin help hooks)"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_of_the_project_are_found_among_the_words() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let project = root.join("project");
        fs::create_dir_all(project.join("scripts")).unwrap();
        for file in ["scripts/check.sh", "a.json", "b c"] {
            fs::write(project.join(file), file).unwrap();
        }
        fs::write(root.join("outside.sh"), "").unwrap();
        let check = |line: &str, expected: &[&str]| {
            let pins = pins(&project, &[], line);
            let found: Vec<&Path> = pins
                .iter()
                .map(|pin| pin.path.strip_prefix(&project).unwrap())
                .collect();
            let expected: Vec<&Path> = expected.iter().map(Path::new).collect();
            assert_eq!(found, expected, "{line}");
            assert!(pins.iter().all(|pin| pin.digest.is_some()), "{line}");
        };
        check("cargo fmt", &[]);
        check("./scripts/check.sh", &["scripts/check.sh"]);
        check("sh scripts/check.sh", &["scripts/check.sh"]);
        check("lint --config=a.json 'b c'", &["a.json", "b c"]);
        check("sh scripts/../scripts/check.sh", &["scripts/check.sh"]);
        check(
            "cat a.json | sh scripts/check.sh && true",
            &["a.json", "scripts/check.sh"],
        );
        check(
            "if true; then sh scripts/check.sh; fi",
            &["scripts/check.sh"],
        );
        check("sh ../outside.sh scripts", &[]);
        check("", &[]);
        check("awk -fa.json x", &["a.json"]);
        check("awk -xvfa.json", &["a.json"]);
        // In a folder of the project that is searched for programs.
        let searched = [project.join("scripts"), root.clone()];
        let found = super::pins(&project, &searched, "check.sh . outside.sh");
        assert_eq!(found, super::pins(&project, &[], "sh scripts/check.sh"));
        let whole = format!("{} -x", project.join("a.json").display());
        check(&whole, &["a.json"]);
    }

    #[test]
    fn what_is_different_is_named() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().canonicalize().unwrap();
        let line = "sh check.sh";
        let differs = |pinned: &[Pinned], what: &str| {
            let why = difference(&project, &[], line, pinned).unwrap();
            let expected =
                format!("its command names check.sh, which {what} since Dunlin started.");
            assert!(why.starts_with(&expected), "{why}");
        };
        let nothing = pins(&project, &[], line);
        fs::write(project.join("check.sh"), "exit 0").unwrap();
        let pinned = pins(&project, &[], line);
        assert_eq!(difference(&project, &[], line, &pinned), None);
        // One that was not there is none that was looked at.
        differs(&nothing, "is new");
        fs::write(project.join("check.sh"), "exit 1").unwrap();
        differs(&pinned, "changed");
        fs::remove_file(project.join("check.sh")).unwrap();
        differs(&pinned, "is gone");
    }

    #[test]
    fn programs_are_told_from_other_files() {
        use std::os::unix::fs::PermissionsExt;

        let root = tempfile::tempdir().unwrap();
        let project = root.path().canonicalize().unwrap();
        let check = |name: &str, text: &str, mode: u32, expected: bool| {
            let path = project.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let pins = pins(&project, &[], name);
            assert_eq!(pins.len(), 1);
            assert_eq!(pins[0].is_program(), expected, "{name}");
        };
        check("a", "", 0o755, true);
        check("b.sh", "#!/bin/sh\n", 0o644, true);
        check("main.rs", "fn main() {}\n", 0o644, false);
        check("empty", "", 0o644, false);
    }
}
