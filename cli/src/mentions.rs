//! Files that a message mentions: `@src/main.rs`, `@"a name with spaces.md"`.
//!
//! An `@` begins a mention at the start of a word only, so that addresses of people stay what they are; and a
//! mention counts only where there is such a file or somebody plainly meant one.

use std::path::{Path, PathBuf};

/// What a sentence may put behind a path without meaning it to be part of it.
const PUNCTUATION: &[char] = &[
    '.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '\'', '"', '`', '*', '…',
];

/// What may stand right before a mention, beside white space.
const OPENING: &[char] = &['(', '[', '{', '<', '\'', '"', '`', '*', ','];

/// A mention as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention<'a> {
    /// Where its `@` stands, in bytes.
    pub start: usize,
    /// The path, as far as it can go; without quotes.
    pub path: &'a str,
    /// Whether it was quoted: then it is a path and nothing else.
    pub quoted: bool,
}

/// What a mention is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MentionTarget {
    /// A file, in the words of the message.
    File(String),
    /// A folder, in the words of the message.
    Folder(String),
    /// Nothing that is there, though a path was meant.
    Missing(String),
    /// No path: text like other text.
    Text,
}

/// The mentions of a message, in order.
pub fn find(text: &str) -> Vec<Mention<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('@').map(|at| from + at) {
        from = at + 1;
        let before = text[..at].chars().next_back();
        if !before.is_none_or(|c| c.is_whitespace() || OPENING.contains(&c)) {
            continue;
        }
        let rest = &text[from..];
        let (path, quoted, length) = match rest.strip_prefix('"') {
            Some(inner) => match inner.split(['"', '\n']).next() {
                // A quote without an end is none.
                Some(path) if inner[path.len()..].starts_with('"') => (path, true, path.len() + 2),
                _ => continue,
            },
            None => {
                let path = rest.split(char::is_whitespace).next().unwrap_or_default();
                (path, false, path.len())
            }
        };
        if !path.is_empty() {
            found.push(Mention {
                start: at,
                path,
                quoted,
            });
            from += length;
        }
    }
    found
}

/// The mention that is being typed at the end of a text: where what replaces it begins, and what there is of its
/// path.
pub fn unfinished(text: &str) -> Option<(usize, &str)> {
    let quoted = text
        .rfind("@\"")
        .filter(|at| !text[at + 2..].contains(['"', '\n']));
    let at = quoted.or_else(|| {
        let word = text.rfind(char::is_whitespace).map_or(0, |at| {
            at + text[at..].chars().next().map_or(1, char::len_utf8)
        });
        Some(word + text[word..].find('@')?)
    })?;
    let before = text[..at].chars().next_back();
    let begins = before.is_none_or(|c| c.is_whitespace() || OPENING.contains(&c));
    let path = &text[at + 1..];
    begins.then(|| (at, path.strip_prefix('"').unwrap_or(path)))
}

/// A path as a mention of it is typed. `None`: whatever is typed, it would be read as something else, such as several
/// mentions.
pub fn typed(path: &str) -> Option<String> {
    let plain = !path.contains(char::is_whitespace) && !path.ends_with(PUNCTUATION);
    let text = match plain {
        true => format!("@{path}"),
        false => format!("@\"{path}\""),
    };
    let is_read_back =
        matches!(find(&text).as_slice(), [only] if only.start == 0 && only.path == path);
    is_read_back.then_some(text)
}

impl Mention<'_> {
    /// Whether it is about this path. Behind it may stand what ends a sentence.
    pub fn means(&self, path: &str) -> bool {
        let behind = self.path.strip_prefix(path);
        behind.is_some_and(|end| {
            end.is_empty() || !self.quoted && end.chars().all(|c| PUNCTUATION.contains(&c))
        })
    }

    /// What it is about. Looks at names only.
    pub fn target(&self, project: &Path, home: Option<&Path>) -> MentionTarget {
        let mut path = self.path;
        // Three dots of a sentence are not a folder.
        if !self.quoted && path.trim_matches('.').is_empty() {
            return MentionTarget::Text;
        }
        loop {
            if let Some(place) = place(path, project, home) {
                match place.metadata() {
                    Ok(found) if found.is_dir() => return MentionTarget::Folder(path.to_owned()),
                    Ok(_) => return MentionTarget::File(path.to_owned()),
                    Err(_) => {}
                }
            }
            // The sentence's, if not the path's.
            match path.strip_suffix(PUNCTUATION) {
                Some(shorter) if !self.quoted && !shorter.is_empty() => path = shorter,
                _ => break,
            }
        }
        match self.quoted || is_meant_as_path(path, project) {
            true => MentionTarget::Missing(path.to_owned()),
            false => MentionTarget::Text,
        }
    }
}

/// Where a path leads that somebody typed; `None` where `~` means nothing.
pub fn place(path: &str, project: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)),
        None => Some(project.join(path)),
    }
}

/// The longest ending of a file's name that is taken for one, in characters. A longer one may be that of a host.
const MAX_ENDING_CHARS: usize = 4;

/// Whether a word that names no file can hardly have been anything else: it begins like a path, or with a folder of the
/// project, or ends like a file's name. A question too many costs less than a message without its file.
fn is_meant_as_path(path: &str, project: &Path) -> bool {
    if ["/", "./", "../", "~/"]
        .iter()
        .any(|start| path.starts_with(start))
    {
        return path.trim_matches(['/', '.', '~']).len() > 1;
    }
    match path.split_once('/') {
        Some((folder, rest)) => !rest.is_empty() && project.join(folder).is_dir(),
        None => path.rsplit_once('.').is_some_and(|(name, ending)| {
            !name.is_empty()
                && ending.len() <= MAX_ENDING_CHARS
                && ending.starts_with(|c: char| c.is_ascii_alphabetic())
                && ending.chars().all(|c| c.is_ascii_alphanumeric())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_stand_at_the_start_of_words() {
        let check = |text: &str, expected: &[&str]| {
            let paths: Vec<&str> = find(text).iter().map(|mention| mention.path).collect();
            assert_eq!(paths, expected, "{text:?}");
        };
        check("", &[]);
        check("@", &[]);
        check("@a.rs", &["a.rs"]);
        check("see @a.rs, @b/c.md!", &["a.rs,", "b/c.md!"]);
        check("(@a.rs) and `@b.rs`", &["a.rs)", "b.rs`"]);
        check("ada@example.org", &[]);
        check("@\"a b.txt\" @\"open", &["a b.txt"]);
        check("@\"a\nb\" @ x @@c", &["@c"]);
        check("über @größe.md\n@b", &["größe.md", "b"]);
    }

    #[test]
    fn the_mention_at_the_cursor_is_found() {
        let check = |text: &str, expected: Option<(usize, &str)>| {
            assert_eq!(unfinished(text), expected, "{text:?}");
        };
        check("", None);
        check("see", None);
        check("see @", Some((4, "")));
        check("see @src/m", Some((4, "src/m")));
        check("see (@src/m", Some((5, "src/m")));
        check("see @src/m ", None);
        check("ada@exam", None);
        check("see @\"a b", Some((4, "a b")));
        check("see @\"a b\" c", None);
        check("@a\u{a0}@b", Some((4, "b")));
    }

    #[test]
    fn what_is_typed_for_a_path_is_found_again() {
        for path in ["a.rs", "a b.rs", "what?", "größe/ä ö"] {
            let text = format!("see {} there", typed(path).unwrap());
            let found = find(&text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].path, path);
        }
    }

    #[test]
    fn what_would_be_read_as_something_else_is_not_typed() {
        for path in ["q\" @ok.txt \"z", "\"a", "a b\"", "\"", "a\nb c", ""] {
            assert_eq!(typed(path), None, "{path:?}");
        }
        assert_eq!(typed("a\"b").as_deref(), Some("@a\"b"));
    }

    #[test]
    fn a_mention_is_a_file_or_text() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir(project.path().join("src")).unwrap();
        for file in ["src/main.rs", "notes", "a b.txt", "odd."] {
            std::fs::write(project.path().join(file), "").unwrap();
        }
        let check = |text: &str, expected: MentionTarget| {
            let found = find(text);
            let target = found[0].target(project.path(), Some(project.path()));
            assert_eq!(target, expected, "{text:?}");
        };
        let file = |path: &str| MentionTarget::File(path.to_owned());
        let missing = |path: &str| MentionTarget::Missing(path.to_owned());
        check("@src/main.rs", file("src/main.rs"));
        check("@src/main.rs?!", file("src/main.rs"));
        check("(@src/main.rs).", file("src/main.rs"));
        check("@odd.", file("odd."));
        check("@notes", file("notes"));
        check("@~/notes", file("~/notes"));
        check("@\"a b.txt\"", file("a b.txt"));
        check("@src", MentionTarget::Folder("src".to_owned()));
        check("@src/", MentionTarget::Folder("src/".to_owned()));
        check("@src/mian.rs.", missing("src/mian.rs"));
        check("@./x.rs", missing("./x.rs"));
        check("@\"no such\"", missing("no such"));
        check("@nope.txt look", missing("nope.txt"));
        check("@nope.md, please", missing("nope.md"));
        check("@ada", MentionTarget::Text);
        check("@v1.2", MentionTarget::Text);
        check("@ada.example", MentionTarget::Text);
        check("@types/node", MentionTarget::Text);
        check("@/", MentionTarget::Folder("/".to_owned()));
        check("@...", MentionTarget::Text);
    }
}
