//! The files that a plugin is built from.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::BUILT;

/// Folders whose files are made by building.
const MADE: [&str; 5] = ["target", "node_modules", ".venv", ".git", "__pycache__"];

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

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs::File;
    use std::time::Duration;

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
