//! The files of a project that the command of a hook names.
//!
//! A project's hook is trusted as it was when the user was asked. A script of the project that it runs can be changed by
//! tools, and with it what the hook does, so the script counts only as it was then. Which words of a line are read or run as a
//! file is not known of every program: each word counts that is the name of a file, or of a module as interpreters find it in
//! the project.
//!
//! A hook fails once such a file has changed, so this is less than what a yes to a command is bound to, which depends on names
//! in other folders and on whatever a name can be completed to: `go vet` does not run `go.mod`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::command::{is_executable, is_script_file, modules, pieces_of, state_of, words_of};
use crate::display::shown;

/// The endings that interpreters put behind the name of a module: Python, Node and what is like it, Perl, Ruby, Lua.
const ENDINGS: [&str; 16] = [
    "py", "pyc", "so", "js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx", "pm", "pl", "rb",
    "lua", "node",
];

/// What is run of a folder that is named as a module, without the ending.
const PARTS: [&str; 3] = ["__init__", "__main__", "index"];

/// Where the names in a command line lead.
#[derive(Debug, Clone, Copy)]
pub struct HookPlaces<'a> {
    /// The project, in which hooks run. Without links.
    pub project: &'a Path,
    /// What a shell puts in the place of `~`.
    pub home: Option<&'a Path>,
    /// Where programs are searched for.
    pub search_path: &'a [PathBuf],
}

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
pub fn pins(places: HookPlaces<'_>, line: &str) -> Vec<Pinned> {
    let project = places.project;
    let searched = places.search_path.iter();
    let searched = searched.filter_map(|it| it.canonicalize().ok());
    let mut folders: Vec<PathBuf> = searched.filter(|it| it.starts_with(project)).collect();
    folders.push(project.to_owned());
    let words = words_of(line);
    let pieces = words.iter().flat_map(|word| pieces_of(word));
    let pieces = pieces.map(|(piece, _)| piece);
    let names: HashSet<&str> = words.iter().map(String::as_str).chain(pieces).collect();
    let modules: HashSet<String> = words.iter().flat_map(|word| modules(word)).collect();
    let in_folders = |name: &str| {
        let at_home = name.strip_prefix("~/").zip(places.home);
        let at_home = at_home.map(|(below, home)| home.join(below));
        let inside = folders.iter().map(|folder| folder.join(name));
        inside.chain(at_home).collect::<Vec<PathBuf>>()
    };
    let is_name = |name: &&str| !name.is_empty() && !name.contains('\0');
    let named = names.into_iter().filter(is_name).flat_map(in_folders);
    let modules = modules.iter().map(String::as_str).filter(is_name);
    let modules = modules.flat_map(in_folders).flat_map(files_of_module);
    let mut paths: Vec<PathBuf> = named
        .chain(modules)
        // Most are not there, which one look tells.
        .filter(|path| path.is_file())
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| path.starts_with(project))
        .collect();
    paths.sort();
    paths.dedup();
    let pin = |path: PathBuf| Pinned {
        digest: state_of(&path).ok(),
        path,
    };
    paths.into_iter().map(pin).collect()
}

/// The files in which interpreters look for the module that is called so.
fn files_of_module(path: PathBuf) -> Vec<PathBuf> {
    let parts = PARTS.iter().filter(|_| path.is_dir());
    let parts: Vec<PathBuf> = parts.map(|part| path.join(part)).collect();
    let with = |stem: &PathBuf, ending: &str| {
        let mut file = stem.clone().into_os_string();
        file.push(".");
        file.push(ending);
        PathBuf::from(file)
    };
    let stems = std::iter::once(&path).chain(&parts);
    let files = stems.flat_map(|stem| ENDINGS.map(|ending| with(stem, ending)));
    files.collect()
}

impl Pinned {
    /// Whether the file is a program: it may be run, or begins like a script. One that is not can be a script all the same, if
    /// an interpreter is told to run it.
    pub fn is_program(&self) -> bool {
        is_executable(&self.path) || is_script_file(&self.path)
    }
}

/// What is different now from what was pinned, in words; `None`: nothing.
pub(super) fn difference(places: HookPlaces<'_>, line: &str, pinned: &[Pinned]) -> Option<String> {
    let now = pins(places, line);
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
    let path = shown(path.strip_prefix(places.project).unwrap_or(path));
    Some(format!(
        "its command names {path}, which {what} since Dunlin started. Restart Dunlin to accept that; a hook about edited files \
         takes their names from its input (dunlin help hooks)"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn places<'a>(project: &'a Path, search_path: &'a [PathBuf]) -> HookPlaces<'a> {
        HookPlaces {
            project,
            home: project.parent(),
            search_path,
        }
    }

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
            let pins = pins(places(&project, &[]), line);
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
        let found = super::pins(places(&project, &searched), "check.sh . outside.sh");
        assert_eq!(
            found,
            super::pins(places(&project, &[]), "sh scripts/check.sh")
        );
        let whole = format!("{} -x", project.join("a.json").display());
        check(&whole, &["a.json"]);
        check("sh ~/project/scripts/check.sh", &["scripts/check.sh"]);
        check("sh ~/x/../project/scripts/check.sh", &[]);
    }

    #[test]
    fn modules_are_found_where_interpreters_look_for_them() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().canonicalize().unwrap();
        let files = [
            "check.py",
            "check.mjs",
            "Foo.pm",
            "go.mod",
            "tools/__init__.py",
            "tools/check.py",
            "tools/lint/__main__.py",
            "web/index.js",
            "web/package.json",
        ];
        for file in files.map(|file| project.join(file)) {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let check = |line: &str, expected: &[&str]| {
            let found = pins(places(&project, &[]), line);
            let found: Vec<&Path> = found
                .iter()
                .map(|pin| pin.path.strip_prefix(&project).unwrap())
                .collect();
            let expected: Vec<&Path> = expected.iter().map(Path::new).collect();
            assert_eq!(found, expected, "{line}");
        };
        let own = ["check.mjs", "check.py"];
        for line in [
            "python3 -m check",
            "python3 -mcheck",
            "python3 -um check",
            "node check",
            "node ./check",
            "node --require=./check",
        ] {
            check(line, &own);
        }
        check(
            "python3 -m tools.check",
            &["tools/__init__.py", "tools/check.py"],
        );
        check(
            "python3 -m tools.lint.x",
            &["tools/__init__.py", "tools/lint/__main__.py"],
        );
        check("node web", &["web/index.js"]);
        check("perl -I. -MFoo -e 0", &["Foo.pm"]);
        check("PERL5OPT='-w -MFoo' perl -e 0", &["Foo.pm"]);
        check("go vet ./...", &[]);
    }

    #[test]
    fn what_is_different_is_named() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().canonicalize().unwrap();
        let line = "sh check.sh";
        let differs = |pinned: &[Pinned], what: &str| {
            let why = difference(places(&project, &[]), line, pinned).unwrap();
            let expected =
                format!("its command names check.sh, which {what} since Dunlin started.");
            assert!(why.starts_with(&expected), "{why}");
        };
        let nothing = pins(places(&project, &[]), line);
        fs::write(project.join("check.sh"), "exit 0").unwrap();
        let pinned = pins(places(&project, &[]), line);
        assert_eq!(difference(places(&project, &[]), line, &pinned), None);
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
            let pins = pins(places(&project, &[]), name);
            assert_eq!(pins.len(), 1);
            assert_eq!(pins[0].is_program(), expected, "{name}");
        };
        check("a", "", 0o755, true);
        check("b.sh", "#!/bin/sh\n", 0o644, true);
        check("main.rs", "fn main() {}\n", 0o644, false);
        check("empty", "", 0o644, false);
    }
}
