//! What in the words of a command line may be names of files, and what may be code: the text alone.

use std::borrow::Cow;
use std::collections::HashSet;

/// Pieces of the words of one line that are considered to be names.
const MAX_PIECES: usize = 10_000;

/// Dots that stand for folders: `.`, `..`, and `./...` for all below it.
const MAX_DOTS: usize = 3;

/// What stands between the paths of a word: `--file=.env`, `HEAD:.env`, `file=@.env`, `src=.env,dst=x`.
const SEPARATORS: [char; 4] = ['=', ':', '@', ','];

/// Something in a word that may be a name.
pub(super) struct Piece<'a> {
    pub(super) text: Cow<'a, str>,
    /// Names in the folder mean something to it. A name within a path is a folder of another one, unless there is such a
    /// file.
    pub(super) may_be_folder: bool,
    /// A program may complete it: `node evil` runs `evil.js`.
    pub(super) may_be_completed: bool,
}

/// Whether a path leads up only.
pub(super) fn is_way_up(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    !path.starts_with('/') && path.contains("..") && parts.all(|part| part == "..")
}

/// What in the words may be names, each once; `None`: too much.
pub(super) fn pieces(words: &[String]) -> Option<Vec<Piece<'_>>> {
    // Looked at first: each of them is read to its end below, and a word of separators has as many as it has characters.
    if words
        .iter()
        .any(|word| pieces_of(word).nth(MAX_PIECES).is_some())
    {
        return None;
    }
    let likely = words.iter().flat_map(|word| {
        let pieces: Vec<&str> = pieces_of(word).map(|(piece, _)| piece).collect();
        let modules = pieces.clone().into_iter().chain([word.as_str()]);
        let modules: Vec<String> = modules.flat_map(as_modules).collect();
        let pieces = pieces
            .into_iter()
            .map(|piece| (Cow::Borrowed(piece), true, true));
        let modules = modules
            .into_iter()
            .map(|piece| (Cow::Owned(piece), false, true));
        pieces.chain(modules)
    });
    let all = words
        .iter()
        .flat_map(|word| between(word, "_-./").map(|piece| (Cow::Borrowed(piece), true, false)));
    let within = words
        .iter()
        .flat_map(|word| between(word, "_-.").map(|piece| (Cow::Borrowed(piece), false, false)));
    // Code that looks like a name can name files between any of its characters. What is seen to be code is not stored.
    let plain = words.iter().filter(|word| is_plain(word, false));
    let every =
        plain.flat_map(|word| between_any(word).map(|piece| (Cow::Borrowed(piece), false, false)));
    let mut all = likely.chain(all).chain(within).chain(every);
    let mut seen = HashSet::new();
    let mut pieces = Vec::new();
    for (text, may_be_folder, may_be_completed) in all.by_ref().take(MAX_PIECES) {
        if !text.is_empty() && seen.insert(text.clone()) {
            pieces.push(Piece {
                text,
                may_be_folder,
                may_be_completed,
            });
        }
    }
    all.next().is_none().then_some(pieces)
}

/// What of a word may be the name of a module, as an argument, without the endings of files: `check` in `-mcheck`, `tools/gen`
/// in `-m tools.gen`.
pub(crate) fn modules(word: &str) -> Vec<String> {
    let arguments: Vec<&str> = arguments(word).collect();
    let modules = arguments.iter().flat_map(|argument| as_modules(argument));
    let modules: Vec<String> = modules.collect();
    let names = arguments.into_iter().map(str::to_owned);
    names.chain(modules).collect()
}

/// The files that a name of a module may stand for, without their endings: `tools/gen` for `tools.gen` and for `tools::gen`,
/// and `tools` for something in it.
fn as_modules(piece: &str) -> Vec<String> {
    let piece = piece.trim_start_matches('-');
    let is_dotted = |piece: &str| piece.contains('.') && !piece.contains('/');
    let slashed = match piece.contains("::") {
        true => piece.replace("::", "/"),
        false if is_dotted(piece) && !piece.starts_with('.') => piece.replace('.', "/"),
        false => return Vec::new(),
    };
    let ends = slashed.match_indices('/').map(|(at, _)| at);
    let ends = ends.chain([slashed.len()]);
    ends.map(|end| slashed[..end].to_owned()).collect()
}

/// Whether one of the words is more than an option, a number, or names between `=`, `,`, `:` and `@`. A program may read it
/// as code, and which files code uses cannot be told: `bash -c 'cd sub; sh r.sh'`, `perl -edo+q-./x-`.
///
/// Code needs few characters (quotes can be any in Perl, and `%2f` is a slash in a URL), so what is allowed is the shape of
/// names, and where code often stands, in and behind an option of one letter, one name only.
pub(super) fn may_be_code(words: &[String]) -> bool {
    let before = std::iter::once(None).chain(words.iter().map(Some));
    let mut all = words.iter().zip(before);
    all.any(|(word, before)| {
        let is_value = before.is_some_and(|before| is_letter_option(before));
        !is_plain(word, is_value)
    })
}

/// `-x`: the next word may be its value.
fn is_letter_option(word: &str) -> bool {
    let mut characters = word.chars();
    characters.next() == Some('-')
        && characters.next().is_some_and(char::is_alphabetic)
        && characters.next().is_none()
}

/// Whether a word can be nothing but names. `is_value`: it stands behind an option of one letter.
pub(super) fn is_plain(word: &str, is_value: bool) -> bool {
    // `cargo +nightly`
    if let Some(toolchain) = word.strip_prefix('+') {
        return !toolchain.contains('/') && is_plain_path(toolchain);
    }
    if matches!(word, "-" | "--") {
        return true;
    }
    if let Some(long) = word.strip_prefix("--") {
        return long.split(SEPARATORS).all(is_plain_path);
    }
    if let Some(short) = word.strip_prefix('-') {
        return is_one_value(short);
    }
    match is_value {
        true => is_one_value(word),
        false => word.split(SEPARATORS).all(is_plain_path),
    }
}

/// A name, one that is set to another (`A=b`), or numbers: `8080:80`, `1,3`.
fn is_one_value(text: &str) -> bool {
    let is_numbers = text
        .chars()
        .all(|c| c.is_ascii_digit() || SEPARATORS.contains(&c) || c == '.');
    is_numbers || text.splitn(2, '=').all(is_plain_path)
}

/// A path whose parts have the usual shape of names, a number, or a revision of git.
fn is_plain_path(text: &str) -> bool {
    let text = text
        .strip_prefix('-')
        .filter(|rest| is_digits(rest))
        .unwrap_or(text);
    text.split('/').all(|part| {
        if part.chars().all(|c| c == '.') {
            return part.len() <= MAX_DOTS;
        }
        let part = part.strip_prefix('.').unwrap_or(part);
        part.split(['-', '.']).all(is_plain_name)
    })
}

/// `name`, `c++17`, `HEAD~2`.
fn is_plain_name(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    let suffix = rest.strip_prefix("++").unwrap_or(rest);
    let is_revision = |c: char| c.is_ascii_digit() || "~^".contains(c);
    rest.len() < text.len()
        && (is_digits(suffix) || suffix.is_empty() || rest.chars().all(is_revision))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// Whether a piece is the word, or all behind one of its separators.
pub(super) fn is_whole(piece: &str, word: &str) -> bool {
    let before = word.strip_suffix(piece);
    before.is_some_and(|before| before.is_empty() || before.ends_with(SEPARATORS))
}

/// What of a word may be a path, and whether it stands as an argument does: `--file=.env`, `-f.env`, `HEAD:.env`,
/// `src=.env,dst=x`. The others stand in code, or in a name that holds a separator itself.
pub(crate) fn pieces_of(word: &str) -> impl Iterator<Item = (&str, bool)> {
    let parts = parts(word).map(|part| (part, true));
    let between = |delimits: fn(char) -> bool| word.split(delimits).map(|piece| (piece, false));
    parts
        .chain(in_cluster(word).map(|value| (value, false)))
        .chain(wholes(word).map(|whole| (whole, false)))
        .chain(between(|c| matches!(c, '"' | '\'' | '`')))
        .chain(between(|c| {
            c.is_whitespace() || "\"'`;|&()<>{}[]$*?!\\#".contains(c)
        }))
        .chain(between(|c| !c.is_alphanumeric() && !"_-.+/~".contains(c)))
}

/// What of a word may be a name as an argument is one.
fn arguments(word: &str) -> impl Iterator<Item = &str> {
    parts(word).chain(in_cluster(word)).chain(wholes(word))
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

/// All that begins at or behind a character of a word that is neither letter nor digit, and ends before one.
fn between_any(word: &str) -> impl Iterator<Item = &str> {
    let marks: Vec<(usize, usize)> = word
        .match_indices(|c: char| !c.is_alphanumeric())
        .map(|(at, mark)| (at, at + mark.len()))
        .collect();
    let starts = marks.iter().flat_map(|(at, behind)| [*at, *behind]);
    let starts: Vec<usize> = std::iter::once(0).chain(starts).collect();
    starts.into_iter().flat_map(move |start| {
        let ends = marks.iter().map(|(at, _)| *at).chain([word.len()]);
        let ends: Vec<usize> = ends.filter(|end| *end > start).collect();
        ends.into_iter().map(move |end| &word[start..end])
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

/// All that may stand behind the letters of several options in one word: `-umgen` is `-u -m gen`. Options stand in values,
/// too: `PERL5OPT='-w -MFoo'`.
fn in_cluster(word: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| SEPARATORS.contains(&c) || c.is_whitespace() || "\"'`".contains(c);
    let parts = word.split(is_end).filter(|part| part.len() < word.len());
    let options = std::iter::once(word).chain(parts);
    let letters = options.filter_map(|option| option.strip_prefix('-'));
    let letters = letters.filter(|letters| !letters.starts_with('-'));
    letters.flat_map(|letters| {
        let starts = letters.char_indices().skip(1);
        starts.map(|(at, _)| &letters[at..])
    })
}

/// A word, and all that stands behind each of its separators.
fn wholes(word: &str) -> impl Iterator<Item = &str> {
    let behind = word
        .match_indices(SEPARATORS)
        .map(|(at, separator)| &word[at + separator.len()..]);
    behind.chain(std::iter::once(word))
}
