//! The files that a plugin is built from.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dunlin_host::sha256_hex;

use super::manifest::{self, Language};
use super::{BUILT, read_regular};

/// Folders whose files are made by building.
const MADE: [&str; 5] = ["target", "node_modules", ".venv", ".git", CACHE];

/// Where Python keeps what it has compiled, beside the sources.
const CACHE: &str = "__pycache__";

/// Files that no component is made of.
const UNUSED: [&str; 3] = [manifest::FILE, "README.md", ".gitignore"];

const MAX_SOURCE_BYTES: u64 = 64 * 1024 * 1024;

/// Files and folders that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// What changes when a file does that a plugin is built from: how many files and folders there are, which file was written
/// last, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    count: usize,
    newest: Option<(SystemTime, PathBuf)>,
}

impl Sources {
    /// Those of a plugin's folder.
    pub fn of(folder: &Path) -> Sources {
        let mut todo = vec![folder.to_owned()];
        let mut count = 0;
        let mut newest = None;
        while let Some(folder) = todo.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let path = entry.path();
                // What is written for readers is not built.
                let is_text = path.extension().is_some_and(|end| end == "md");
                if MADE.iter().any(|made| name == *made) || name == BUILT || is_text {
                    continue;
                }
                if count == MAX_ENTRIES {
                    return Sources { count, newest };
                }
                let Ok(meta) = path.symlink_metadata() else {
                    continue;
                };
                count += 1;
                if meta.is_dir() {
                    todo.push(path);
                    continue;
                }
                newest = newest.max(meta.modified().ok().map(|time| (time, path)));
            }
        }
        Sources { count, newest }
    }

    /// The file that was written after the component was built, if one was.
    pub fn newer_than(self, component: &Path) -> Option<PathBuf> {
        let built = fs::metadata(component)
            .and_then(|meta| meta.modified())
            .ok()?;
        let (_, path) = self.newest.filter(|(time, _)| *time > built)?;
        Some(path)
    }
}

/// A digest of everything that a component of this folder is made of, its packages included; whatever `plugin.toml` and
/// `README.md` say goes into none. `None`: there is too much, or a file that cannot be read.
pub fn digest(folder: &Path, language: Language) -> Option<String> {
    let mut todo = vec![folder.to_owned()];
    let mut lines = Vec::new();
    let mut count = 0;
    while let Some(inner) = todo.pop() {
        for entry in fs::read_dir(&inner).ok()? {
            let entry = entry.ok()?;
            let (name, path) = (entry.file_name(), entry.path());
            let below = path.strip_prefix(folder).ok()?;
            // Further below, a folder of that name may hold sources.
            let is_top = inner == folder && MADE.iter().chain(&UNUSED).any(|it| name == *it);
            if is_top || name == BUILT || name == CACHE {
                continue;
            }
            if count == MAX_ENTRIES {
                return None;
            }
            count += 1;
            if fs::symlink_metadata(&path).ok()?.is_dir() {
                todo.push(path);
                continue;
            }
            let bytes = read_regular(&path, MAX_SOURCE_BYTES).ok()?;
            lines.push(format!("{below:?} {}", sha256_hex(&bytes)));
        }
    }
    lines.extend(packages(folder, language));
    lines.sort();
    // Another Dunlin may build in another way.
    lines.push(env!("CARGO_PKG_VERSION").to_owned());
    Some(sha256_hex(lines.join("\n").as_bytes()))
}

/// The packages that are installed, with their versions.
fn packages(folder: &Path, language: Language) -> Vec<String> {
    match language {
        // npm writes down there what it has installed.
        Language::Js => {
            let installed = folder.join("node_modules/.package-lock.json");
            let installed = read_regular(&installed, MAX_SOURCE_BYTES).ok();
            installed.iter().map(|bytes| sha256_hex(bytes)).collect()
        }
        // Their folders have the versions in their names.
        Language::Python => {
            let all = python_packages(folder).into_iter();
            let names =
                all.flat_map(|packages| fs::read_dir(packages).into_iter().flatten().flatten());
            names
                .map(|entry| format!("{:?}", entry.file_name()))
                .collect()
        }
        Language::Rust | Language::C => Vec::new(),
    }
}

/// Where a plugin's own environment has its packages.
pub fn python_packages(folder: &Path) -> Vec<PathBuf> {
    let versions = fs::read_dir(folder.join(".venv/lib")).into_iter().flatten();
    let packages = versions
        .flatten()
        .map(|entry| entry.path().join("site-packages"));
    packages.filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs::File;
    use std::time::Duration;

    #[test]
    fn a_digest_is_one_of_what_is_built() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let of = |language| digest(folder.path(), language).unwrap();
        write("src/app.py", "a");
        let mut last = [of(Language::Python), of(Language::Js)];
        for (name, text, changes) in [
            ("src/app.py", "a", [false, false]),
            ("README.md", "a", [false, false]),
            (manifest::FILE, "a", [false, false]),
            ("target/made", "a", [false, false]),
            ("src/target/a.py", "a", [true, true]),
            ("src/README.md", "a", [true, true]),
            ("src/__pycache__/app.pyc", "a", [false, false]),
            (BUILT, "a", [false, false]),
            ("src/app.py", "b", [true, true]),
            ("wit/world.wit", "a", [true, true]),
            ("node_modules/.package-lock.json", "a", [false, true]),
            (
                ".venv/lib/python3/site-packages/qs-1.dist-info/x",
                "a",
                [true, false],
            ),
        ] {
            write(name, text);
            let now = [of(Language::Python), of(Language::Js)];
            let changed = [now[0] != last[0], now[1] != last[1]];
            assert_eq!(changed, changes, "{name}");
            last = now;
        }
        std::os::unix::fs::symlink("/nowhere", folder.path().join("src/link")).unwrap();
        assert_eq!(digest(folder.path(), Language::Js), None);
    }

    #[test]
    fn what_is_newer_than_the_component_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, seconds: u64| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = File::create(&path).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            file.set_modified(time).unwrap();
            path
        };
        let built = at(BUILT, 50);
        at("plugin.toml", 10);
        at("target/made", 90);
        at("README.md", 90);
        let source = at("src/lib.rs", 40);
        let before = Sources::of(folder.path());
        assert_eq!(before.clone().newer_than(&built), None);
        at("src/lib.rs", 60);
        let after = Sources::of(folder.path());
        assert_ne!(before, after);
        assert_eq!(after.newer_than(&built), Some(source));
    }
}
