//! Files that a command line names plainly: those that are guarded (secrets, and what belongs to Dunlin), and those
//! whose content a lasting yes is bound to.
//!
//! This sees what stands in the line. What a command can read at all is for the sandbox.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Names;
use crate::secrets::looks_secret;
use crate::target::ProgramFile;

/// Files of one line that a lasting yes can be bound to. Each is read at every use.
const MAX_COVERED: usize = 16;

/// Files of one line that are found, of either kind. Each guarded one is a need, and those are counted.
const MAX_FOUND: usize = 16;

/// Different paths of one line that are looked up.
const MAX_LOOK_UPS: usize = 4_000;

/// What stands between the paths of a word: `--file=.env`, `HEAD:.env`, `file=@.env`, `src=.env,dst=x`.
const SEPARATORS: [char; 4] = ['=', ':', '@', ','];

/// What of the words is guarded, each once; `None`: there is too much to look at.
pub(super) fn guarded<'a>(
    words: impl Iterator<Item = &'a str>,
    names: &dyn Names,
) -> Option<Vec<PathBuf>> {
    named(words, |part| names.guarded(part))
}

/// Files that commands can change and that a simple command names, its own program included; `None`: too many to be
/// looked at each time.
pub(super) fn writable(
    program: &ProgramFile,
    arguments: &[String],
    names: &dyn Names,
) -> Option<Vec<PathBuf>> {
    let words = arguments.iter().map(String::as_str);
    let mut files = named(words, |part| names.writable_file(part))?;
    if names.is_writable(program) && !files.contains(&program.real) {
        files.insert(0, program.real.clone());
    }
    (files.len() <= MAX_COVERED).then_some(files)
}

/// What `look_up` finds for the words and for their parts, each once; `None`: there is too much to look at.
pub(super) fn named<'a>(
    words: impl Iterator<Item = &'a str>,
    look_up: impl Fn(&str) -> Option<PathBuf>,
) -> Option<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut seen = HashSet::new();
    for word in words {
        let before = found.len();
        let all = parts(word).map(|part| (part, true));
        // A name may hold a separator itself.
        let all = all.chain(wholes(word).map(|part| (part, false)));
        for (part, is_part) in all {
            if part.is_empty() || (!is_part && found.len() > before) || !seen.insert(part) {
                continue;
            }
            if seen.len() > MAX_LOOK_UPS || found.len() > MAX_FOUND {
                return None;
            }
            if let Some(path) = look_up(part)
                && !found.contains(&path)
            {
                found.push(path);
            }
        }
    }
    Some(found)
}

/// What of a word may be a path: `--file=.env`, `-f.env`, `HEAD:.env`, `src=.env,dst=x`.
pub(super) fn parts(word: &str) -> impl Iterator<Item = &str> {
    let short = word
        .strip_prefix('-')
        .filter(|rest| !rest.starts_with('-'))
        .and_then(|rest| rest.get(1..));
    word.split(SEPARATORS).chain(short)
}

/// A word, and all that stands behind each of its separators.
fn wholes(word: &str) -> impl Iterator<Item = &str> {
    let behind = word
        .match_indices(SEPARATORS)
        .map(|(at, separator)| &word[at + separator.len()..]);
    behind.chain(std::iter::once(word))
}

/// Whether a path looks like a secret. A bare word like `secrets` is one only where there is such a file.
pub(super) fn is_secret(written: &str, path: &Path) -> bool {
    let looks = looks_secret(path) || looks_secret(&path.join("x"));
    looks && (written.contains(['.', '/']) || path.exists())
}
