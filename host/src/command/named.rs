//! Files that a command line names plainly and that are guarded: secrets, and what belongs to Dunlin.
//!
//! This sees what stands in the line. It is for the question; what a command can read at all is for the cage.

use std::path::{Path, PathBuf};

use super::Names;
use crate::secrets::looks_secret;

/// Guarded files of one line that are listed. Each is a need, and those are counted.
const MAX_GUARDED: usize = 16;

/// Paths of one line that are looked up.
const MAX_LOOK_UPS: usize = 2_000;

/// What stands between the paths of a word: `--file=.env`, `HEAD:.env`, `file=@.env`, `src=.env,dst=x`.
const SEPARATORS: [char; 4] = ['=', ':', '@', ','];

/// What of the words is guarded, each once.
pub(super) fn guarded<'a>(words: impl Iterator<Item = &'a str>, names: &dyn Names) -> Vec<PathBuf> {
    let mut guarded = Vec::new();
    let mut look_ups = MAX_LOOK_UPS;
    for word in words {
        let before = guarded.len();
        let mut add = |part: &str, guarded: &mut Vec<PathBuf>| {
            if look_ups == 0 || guarded.len() >= MAX_GUARDED || part.is_empty() {
                return;
            }
            look_ups -= 1;
            if let Some(path) = names.guarded(part)
                && !guarded.contains(&path)
            {
                guarded.push(path);
            }
        };
        for part in word.split(SEPARATORS) {
            add(part, &mut guarded);
        }
        // `-f.env`
        if word.starts_with('-') && !word.starts_with("--") {
            add(word.get(2..).unwrap_or_default(), &mut guarded);
        }
        // A name may hold a separator itself.
        if guarded.len() == before {
            for (at, separator) in word.match_indices(SEPARATORS) {
                add(&word[at + separator.len()..], &mut guarded);
            }
            add(word, &mut guarded);
        }
    }
    guarded
}

/// Whether a path looks like a secret. A bare word like `secrets` is one only where there is such a file.
pub(super) fn is_secret(written: &str, path: &Path) -> bool {
    let looks = looks_secret(path) || looks_secret(&path.join("x"));
    looks && (written.contains(['.', '/']) || path.exists())
}
