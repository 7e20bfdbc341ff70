//! What tells whether something was changed.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::read::{list, read_short, real_path};

/// Bytes of files with several names that are compared by their content, of one setting: an index of 100,000 files has
/// 10 MB.
const MAX_CONTENT_BYTES: u64 = 16 * 1024 * 1024;

/// Entries of a setting that is a folder, such as `hooks`. Of more, nothing says which of them have other names.
pub(super) const MAX_ENTRIES: usize = 1_000;

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
    /// The digest of a file with several names: one more, such as that of a backup, changes its time.
    #[serde(default)]
    content: Option<String>,
}

impl Status {
    fn is_like(&self, other: &Status) -> bool {
        let is_same = self.name == other.name && self.number == other.number;
        self == other || is_same && self.content.is_some() && self.content == other.content
    }
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

    /// Whether it is of the same file as another one, which had as many names or more.
    pub(super) fn is_of_same_file(&self, before: &Mark) -> bool {
        let mut pairs = self.0.iter().zip(&before.0);
        self.0.len() == before.0.len()
            && pairs.all(|(one, other)| one.number == other.number && one.names <= other.names)
    }

    /// Whether nothing was changed but the number of names.
    pub(super) fn is_like(&self, other: &Mark) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        self.0.len() == other.0.len() && pairs.all(|(one, other)| one.is_like(other))
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
        let mut left = MAX_CONTENT_BYTES;
        let mut one = |name: &OsStr, meta: &Metadata, path: &Path| {
            // Whoever reads a folder or makes a placeholder in it does not change it.
            let of_file = u64::from(!meta.is_dir());
            Status {
                name: name.to_owned(),
                number: meta.ino(),
                changed: if meta.is_dir() { 0 } else { time_of(meta) },
                bytes: meta.len() * of_file,
                names: meta.nlink() * of_file,
                content: (meta.is_file() && meta.nlink() > 1)
                    .then(|| digest(path, meta.len(), &mut left))
                    .flatten(),
            }
        };
        let mut parts = vec![one(OsStr::new(""), &meta, path)];
        let is_followed = follows && meta.is_symlink();
        let target = is_followed.then(|| real_path(path).ok()).flatten();
        let target = target.and_then(|path| Some((path.symlink_metadata().ok()?, path)));
        parts.extend(
            target
                .iter()
                .map(|(meta, path)| one(OsStr::new(""), meta, path)),
        );
        let (meta, path) = match &target {
            Some((meta, path)) => (meta, path.as_path()),
            None => (&meta, path),
        };
        if meta.is_dir() {
            let entries = list(path).ok().filter(|it| it.len() <= MAX_ENTRIES);
            match entries {
                Some(mut entries) => {
                    // The content of the same files is compared each time.
                    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
                    for (name, _) in entries {
                        let path = path.join(&name);
                        if let Ok(meta) = path.symlink_metadata() {
                            parts.push(one(&name, &meta, &path));
                        }
                    }
                }
                // Then any change counts.
                None => parts.push(Status {
                    changed: time_of(meta),
                    ..one(OsStr::new(""), meta, path)
                }),
            }
            parts.sort();
        }
        Mark(parts)
    }
}

fn digest(path: &Path, bytes: u64, left: &mut u64) -> Option<String> {
    // It may grow meanwhile.
    *left = left.checked_sub(bytes)?;
    let bytes = read_short(path, usize::try_from(bytes).ok()?).ok()?;
    let digest = Sha256::digest(bytes);
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
