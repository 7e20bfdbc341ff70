//! Files that a command line names plainly: those that are guarded (secrets, and what belongs to Dunlin), and those
//! whose content a lasting yes is bound to.
//!
//! This sees what stands in the line. What a command can read at all is for the sandbox.

use std::path::{Path, PathBuf};

use super::Names;
use crate::secrets::looks_secret;
use crate::target::ProgramFile;

/// Guarded files of one line that are listed. Each is a need, and those are counted.
const MAX_GUARDED: usize = 16;

/// Files of one line that a lasting yes can be bound to. Each is read at every use.
const MAX_COVERED: usize = 16;

/// Files of one line that are found, of either kind.
const MAX_FOUND: usize = 32;

/// Paths of one line that are looked up.
const MAX_LOOK_UPS: usize = 2_000;

/// What stands between the paths of a word: `--file=.env`, `HEAD:.env`, `file=@.env`, `src=.env,dst=x`.
const SEPARATORS: [char; 4] = ['=', ':', '@', ','];

/// What of the words is guarded, each once.
pub(super) fn guarded<'a>(words: impl Iterator<Item = &'a str>, names: &dyn Names) -> Vec<PathBuf> {
    let mut guarded = named(words, |part| names.guarded(part));
    guarded.truncate(MAX_GUARDED);
    guarded
}

/// Files that commands can change and that a simple command names, its own program included; `None`: too many to be
/// looked at each time.
pub(super) fn writable(
    program: &ProgramFile,
    arguments: &[String],
    names: &dyn Names,
) -> Option<Vec<PathBuf>> {
    let words = arguments.iter().map(String::as_str);
    let mut files = named(words, |part| names.writable_file(part));
    if names.is_writable(program) && !files.contains(&program.real) {
        files.insert(0, program.real.clone());
    }
    (files.len() <= MAX_COVERED).then_some(files)
}

/// What `look_up` finds for the words and for their parts, each once.
fn named<'a>(
    words: impl Iterator<Item = &'a str>,
    look_up: impl Fn(&str) -> Option<PathBuf>,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut look_ups = MAX_LOOK_UPS;
    for word in words {
        let before = found.len();
        let mut add = |part: &str, found: &mut Vec<PathBuf>| {
            if look_ups == 0 || found.len() > MAX_FOUND || part.is_empty() {
                return;
            }
            look_ups -= 1;
            if let Some(path) = look_up(part)
                && !found.contains(&path)
            {
                found.push(path);
            }
        };
        for part in word.split(SEPARATORS) {
            add(part, &mut found);
        }
        // `-f.env`
        if word.starts_with('-') && !word.starts_with("--") {
            add(word.get(2..).unwrap_or_default(), &mut found);
        }
        // A name may hold a separator itself.
        if found.len() == before {
            for (at, separator) in word.match_indices(SEPARATORS) {
                add(&word[at + separator.len()..], &mut found);
            }
            add(word, &mut found);
        }
    }
    found
}

/// Whether a path looks like a secret. A bare word like `secrets` is one only where there is such a file.
pub(super) fn is_secret(written: &str, path: &Path) -> bool {
    let looks = looks_secret(path) || looks_secret(&path.join("x"));
    looks && (written.contains(['.', '/']) || path.exists())
}
