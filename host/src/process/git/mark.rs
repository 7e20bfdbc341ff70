//! What tells whether something was changed.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::read::{list, real_path};

/// Entries of a setting that is a folder, such as `hooks`.
const MAX_ENTRIES: usize = 1_000;

/// What tells whether a file or folder was changed, and the same of what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub(super) struct Mark(Vec<Status>);

/// What tells whether one file or folder was changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Status {
    name: OsString,
    number: u64,
    /// Nanoseconds since 1970; 0 for a folder.
    changed: i64,
    bytes: u64,
    /// How many names the file has; 0 for a folder.
    names: u64,
}

impl Mark {
    /// Whether there is nothing.
    pub(super) fn is_of_nothing(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this can be changed through another name, which no mount protects.
    pub(super) fn has_other_names(&self) -> bool {
        self.0.iter().any(|status| status.names > 1)
    }

    /// Looks at a file or folder as it is now. What a link leads to counts as well.
    pub(super) fn of(path: &Path) -> Mark {
        Mark::look(path, true)
    }

    /// The same, where what a link leads to does not count: it may lead through many others.
    pub(super) fn without_target(path: &Path) -> Mark {
        Mark::look(path, false)
    }

    fn look(path: &Path, follows: bool) -> Mark {
        let Ok(meta) = path.symlink_metadata() else {
            return Mark::default();
        };
        let time_of = |meta: &Metadata| {
            let time = meta.ctime().wrapping_mul(1_000_000_000);
            time.wrapping_add(meta.ctime_nsec())
        };
        let one = |name: &OsStr, meta: &Metadata| {
            // Whoever reads a folder or makes a placeholder in it does not change it.
            let of_file = u64::from(!meta.is_dir());
            Status {
                name: name.to_owned(),
                number: meta.ino(),
                changed: if meta.is_dir() { 0 } else { time_of(meta) },
                bytes: meta.len() * of_file,
                names: meta.nlink() * of_file,
            }
        };
        let mut parts = vec![one(OsStr::new(""), &meta)];
        let is_followed = follows && meta.is_symlink();
        let target = is_followed.then(|| real_path(path).ok()).flatten();
        let target = target.and_then(|path| Some((path.symlink_metadata().ok()?, path)));
        parts.extend(target.iter().map(|(meta, _)| one(OsStr::new(""), meta)));
        let (meta, path) = match &target {
            Some((meta, path)) => (meta, path.as_path()),
            None => (&meta, path),
        };
        if meta.is_dir() {
            let entries = list(path).ok().filter(|it| it.len() <= MAX_ENTRIES);
            match entries {
                Some(entries) => {
                    for (name, _) in entries {
                        if let Ok(meta) = path.join(&name).symlink_metadata() {
                            parts.push(one(&name, &meta));
                        }
                    }
                }
                // Then any change counts.
                None => parts.push(Status {
                    changed: time_of(meta),
                    ..one(OsStr::new(""), meta)
                }),
            }
            parts.sort();
        }
        Mark(parts)
    }
}
