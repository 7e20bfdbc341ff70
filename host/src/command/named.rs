//! Files that a command line names plainly: those that are guarded (secrets, and what belongs to Dunlin), and those
//! whose content a lasting yes is bound to.
//!
//! This sees what stands in the line. What a command can read at all is for the sandbox.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{Changeable, Names};
use crate::secrets::looks_secret;
use crate::target::ProgramFile;

/// Files of one line that a lasting yes can be bound to. Each is read at every use.
const MAX_COVERED: usize = 16;

/// Files of one line that are found, of either kind. Each guarded one is a need, and those are counted.
const MAX_FOUND: usize = 16;

/// Different paths of one line that are looked up.
const MAX_LOOK_UPS: usize = 4_000;

/// Pieces of the words of one line that are considered to be names.
const MAX_PIECES: usize = 10_000;

/// What stands between the paths of a word: `--file=.env`, `HEAD:.env`, `file=@.env`, `src=.env,dst=x`.
const SEPARATORS: [char; 4] = ['=', ':', '@', ','];

/// What of the words is guarded, each once; `None`: there is too much to look at.
pub(super) fn guarded<'a>(
    words: impl Iterator<Item = &'a str>,
    names: &dyn Names,
) -> Option<Vec<PathBuf>> {
    named(words, |part| names.guarded(part))
}

/// What a lasting yes to a line is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bound {
    /// Files whose content counts, and whatever else is named through a link that can be made to lead elsewhere.
    pub(super) files: Vec<PathBuf>,
    /// Whether all that the line names can be watched, so that a yes to it can be stored.
    pub(super) can_be_stored: bool,
}

impl Bound {
    pub(super) fn nothing() -> Bound {
        Bound {
            files: Vec::new(),
            can_be_stored: true,
        }
    }

    fn add(&mut self, path: PathBuf) {
        if self.files.contains(&path) {
            return;
        }
        self.can_be_stored &= self.files.len() < MAX_COVERED;
        if self.files.len() < MAX_COVERED {
            self.files.push(path);
        }
    }
}

/// What a yes to a simple command is bound to: whatever commands can change of what it names, its own program included.
///
/// Names mean something in the project, in the folder where it runs if that is another one, and in each folder that it
/// names (`env -C sub sh r.sh`).
pub(super) fn bound(
    program: &ProgramFile,
    arguments: &[String],
    folder: Option<&str>,
    names: &dyn Names,
) -> Bound {
    let mut bound = Bound::nothing();
    if names.is_writable(program) {
        bound.add(program.real.clone());
    }
    // A name within a path is a folder of another one, unless there is such a file.
    let mut pieces: Vec<(&str, bool)> = Vec::new();
    let mut seen = HashSet::new();
    let words = || arguments.iter();
    let likely = words().flat_map(|word| pieces_of(word).map(|(piece, _)| (piece, true)));
    let all = words().flat_map(|word| between(word, "_-./").map(|piece| (piece, true)));
    let within = words().flat_map(|word| between(word, "_-.").map(|piece| (piece, false)));
    let mut all = likely.chain(all).chain(within);
    for (piece, may_be_folder) in all.by_ref().take(MAX_PIECES) {
        if !piece.is_empty() && seen.insert(piece) {
            pieces.push((piece, may_be_folder));
        }
    }
    bound.can_be_stored &= all.next().is_none();
    // The project, which relative names begin in, has no name of its own.
    let mut folders = vec![String::new()];
    folders.extend(folder.map(|folder| format!("{folder}/")));
    let mut left = MAX_LOOK_UPS;
    let mut at = 0;
    while let Some(folder) = folders.get(at).cloned() {
        at += 1;
        for (piece, may_be_folder) in &pieces {
            if left == 0 {
                bound.can_be_stored = false;
                return bound;
            }
            left -= 1;
            let is_relative = !piece.starts_with('/');
            if !is_relative && at > 1 {
                continue;
            }
            // `~` is a home only to a shell: the word may also be a name that begins like this.
            let home = (piece.starts_with('~') && at == 1).then(|| format!("./{piece}"));
            for written in std::iter::once(format!("{folder}{piece}")).chain(home) {
                let is_folder = match names.changeable(&written) {
                    Some(Changeable::File(path)) => {
                        bound.add(path);
                        false
                    }
                    Some(Changeable::Folder) => *may_be_folder,
                    Some(Changeable::Other { path, is_folder }) if *may_be_folder || !is_folder => {
                        bound.add(path);
                        bound.can_be_stored = false;
                        is_folder
                    }
                    _ => false,
                };
                let is_other = piece.chars().any(|c| !"./".contains(c));
                if is_folder && is_other && folders.len() <= MAX_FOUND {
                    folders.push(format!("{written}/"));
                } else if is_folder && is_other {
                    bound.can_be_stored = false;
                }
            }
        }
    }
    bound
}

/// Whether a word is more than a name, a number or an option: spaces, quotes, brackets, what shells replace. A program may
/// read it as code, and which files code uses cannot be told: `bash -c 'cd sub; sh r.sh'`, `python3 -c 'exec(…)'`.
pub(super) fn may_be_code(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./,:=+@%^~".contains(c);
    !word.chars().all(is_plain)
}

/// What `look_up` finds for the words and for their pieces, each once; `None`: there is too much to look at.
fn named<'a>(
    words: impl Iterator<Item = &'a str>,
    look_up: impl Fn(&str) -> Option<PathBuf>,
) -> Option<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut seen = HashSet::new();
    for word in words {
        let before = found.len();
        for (piece, is_part) in pieces_of(word) {
            // What only may be a name counts where there is such a file.
            let is_likely = is_part || found.len() == before && is_whole(piece, word);
            let must_exist = !is_likely || piece.contains(char::is_whitespace);
            if piece.is_empty() || !seen.insert((piece, must_exist)) {
                continue;
            }
            if seen.len() > MAX_LOOK_UPS || found.len() > MAX_FOUND {
                return None;
            }
            if let Some(path) = look_up(piece)
                && (!must_exist || path.exists())
                && !found.contains(&path)
            {
                found.push(path);
            }
        }
    }
    Some(found)
}

/// Whether a piece is the word, or all behind one of its separators.
fn is_whole(piece: &str, word: &str) -> bool {
    let before = word.strip_suffix(piece);
    before.is_some_and(|before| before.is_empty() || before.ends_with(SEPARATORS))
}

/// What of a word may be a path, and whether it stands as an argument does: `--file=.env`, `-f.env`, `HEAD:.env`,
/// `src=.env,dst=x`. The others stand in code, or in a name that holds a separator itself.
fn pieces_of(word: &str) -> impl Iterator<Item = (&str, bool)> {
    let parts = parts(word).map(|part| (part, true));
    let between = |delimits: fn(char) -> bool| word.split(delimits).map(|piece| (piece, false));
    parts
        .chain(wholes(word).map(|whole| (whole, false)))
        .chain(between(|c| matches!(c, '"' | '\'' | '`')))
        .chain(between(|c| {
            c.is_whitespace() || "\"'`;|&()<>{}[]$*?!\\#".contains(c)
        }))
        .chain(between(|c| !c.is_alphanumeric() && !"_-.+/~".contains(c)))
}

/// All that stands between two characters of a word that are neither letters nor digits nor of `usual`.
fn between<'a>(word: &'a str, usual: &'a str) -> impl Iterator<Item = &'a str> {
    let is_special = move |c: char| !c.is_alphanumeric() && !usual.contains(c);
    let starts = word.match_indices(is_special);
    let starts = std::iter::once(0).chain(starts.map(|(at, special)| at + special.len()));
    starts.flat_map(move |start| {
        let rest = &word[start..];
        let ends = rest.match_indices(is_special).map(|(at, _)| at);
        ends.map(move |end| &rest[..end])
            .chain(std::iter::once(rest))
    })
}

/// What stands between the separators of a word, or directly behind the letter of an option.
fn parts(word: &str) -> impl Iterator<Item = &str> {
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
