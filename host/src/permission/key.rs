//! Keys and bits of the permission file: `{"/project/src/main.rs": "rw-", "/usr/bin/git": "--x"}`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::resolve::{UrlKey, key_to_path, path_to_key};
use crate::target::{CommandKey, Need, Operation, Target};

/// What is decided about one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Decided {
    /// The letter of the operation.
    Allow,
    /// `-`.
    Deny,
    /// `?`.
    #[default]
    Open,
}

/// Three characters, one for each of read, write and execute: its letter (allowed), `-` (denied) or
/// `?` (not decided).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bits([Decided; 3]);

impl Bits {
    /// What is decided about an operation.
    pub fn get(self, operation: Operation) -> Decided {
        self.0[index(operation)]
    }

    /// The same bits with one decision replaced.
    #[must_use]
    pub fn with(mut self, operation: Operation, decided: Decided) -> Bits {
        self.0[index(operation)] = decided;
        self
    }

    /// Whether anything is decided at all.
    pub fn is_open(self) -> bool {
        self.0.iter().all(|decided| *decided == Decided::Open)
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for operation in Operation::ALL {
            let c = match self.get(operation) {
                Decided::Allow => operation.letter(),
                Decided::Deny => '-',
                Decided::Open => '?',
            };
            write!(f, "{c}")?;
        }
        Ok(())
    }
}

/// The text is not three characters of the known ones.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not three characters: r or - or ?, then w or - or ?, then x or - or ? (for example \"rw-\")"
)]
pub struct BitsError(pub String);

impl FromStr for Bits {
    type Err = BitsError;

    fn from_str(text: &str) -> Result<Bits, BitsError> {
        let fail = || BitsError(text.to_owned());
        let mut bits = Bits::default();
        let mut characters = text.chars();
        for operation in Operation::ALL {
            let decided = match characters.next() {
                Some('-') => Decided::Deny,
                Some('?') => Decided::Open,
                Some(c) if c == operation.letter() => Decided::Allow,
                _ => return Err(fail()),
            };
            bits = bits.with(operation, decided);
        }
        match characters.next() {
            None => Ok(bits),
            Some(_) => Err(fail()),
        }
    }
}

/// A key, resolved: one target, or everything below a folder or a host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// Exactly this file or program.
    Exact(PathBuf),
    /// This folder and all below it.
    Below(PathBuf),
    /// Exactly this address.
    Url(String),
    /// All addresses that start with this one, which ends with `/`.
    UrlBelow(String),
    /// Commands. Programs have keys of their own, since they are granted by the path that is called.
    Command(CommandKey),
}

impl Key {
    /// The key that means this target and no more.
    pub fn exact(target: &Target) -> Key {
        match target {
            Target::Path(path) | Target::Program(path) => Key::Exact(path.clone()),
            Target::Folder(path) => Key::Below(path.clone()),
            Target::Url(url) => Key::Url(url.to_string()),
            Target::Site(url) => Key::UrlBelow(url.to_string()),
            Target::Command(command) => Key::Command(command.key.clone()),
        }
    }

    /// The folder or site, as a plan names it, if the key means all below one.
    pub(super) fn all_below(self) -> Option<Target> {
        match self {
            Key::Below(path) => Some(Target::Folder(path)),
            Key::UrlBelow(url) => Some(Target::Site(url.into())),
            Key::Exact(_) | Key::Url(_) | Key::Command(_) => None,
        }
    }

    /// All keys that speak about the target, the most specific first. Which keys speak about a command is for
    /// the module `command_lines` to say.
    pub fn candidates(target: &Target) -> Vec<Key> {
        match target {
            Target::Path(path) | Target::Program(path) => {
                let mut keys = Vec::with_capacity(8);
                keys.push(Key::Exact(path.clone()));
                keys.extend(path.ancestors().map(|folder| Key::Below(folder.to_owned())));
                keys
            }
            Target::Folder(path) => path
                .ancestors()
                .map(|folder| Key::Below(folder.to_owned()))
                .collect(),
            Target::Url(url) => {
                let mut keys = vec![Key::Url(url.to_string())];
                keys.extend(folders_of(url));
                keys
            }
            Target::Site(url) => folders_of(url).collect(),
            Target::Command(command) => vec![Key::Command(command.key.clone())],
        }
    }
}

/// Whether a need is one for all below a folder or a site that another one lies in.
pub(crate) fn covers(around: &Need, need: &Need) -> bool {
    let is_around = |key: Key| key.all_below().as_ref() == Some(&around.target);
    around.operation == need.operation
        && matches!(around.target, Target::Folder(_) | Target::Site(_))
        && Key::candidates(&need.target).into_iter().any(is_around)
}

impl From<UrlKey> for Key {
    fn from(UrlKey { url, below }: UrlKey) -> Key {
        if below {
            Key::UrlBelow(url)
        } else {
            Key::Url(url)
        }
    }
}

/// The keys for all that an address lies below, the nearest first.
fn folders_of(url: &str) -> impl Iterator<Item = Key> {
    // Everything before the path's first slash is scheme and host: no key is shorter.
    let host_end = url.find("://").map_or(0, |at| at + 3);
    url.char_indices()
        .rev()
        .filter(move |(at, c)| *c == '/' && *at >= host_end)
        .map(|(at, _)| Key::UrlBelow(url[..=at].to_owned()))
}

/// The key as it is stored.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A key that ends with `/` means all below; these targets end with one themselves.
            Key::Exact(path) if path == Path::new("/") => f.write_str("/."),
            Key::Url(url) if url.ends_with('/') => write!(f, "{url}."),
            Key::Exact(path) => f.write_str(&path_to_key(path)),
            Key::Below(folder) if folder == Path::new("/") => f.write_str("/"),
            Key::Below(folder) => write!(f, "{}/", path_to_key(folder)),
            Key::Url(url) | Key::UrlBelow(url) => f.write_str(url),
            Key::Command(key) => key.fmt(f),
        }
    }
}

/// Whether a stored key is an address.
pub(super) fn is_url(key: &str) -> bool {
    key.starts_with("https://") || key.starts_with("http://")
}

/// The path that a stored key names, unresolved.
pub(super) fn stored_path(key: &str) -> PathBuf {
    key_to_path(key)
}

fn index(operation: Operation) -> usize {
    match operation {
        Operation::Read => 0,
        Operation::Write => 1,
        Operation::Execute => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_three_known_characters() {
        for text in ["rwx", "r--", "???", "r?-", "-w?"] {
            assert_eq!(text.parse::<Bits>().unwrap().to_string(), text);
        }
        for text in ["", "r", "rw", "rwxr", "xwr", "RW-", "r w", "🦀--"] {
            assert_eq!(text.parse::<Bits>(), Err(BitsError(text.to_owned())));
        }
    }

    #[test]
    fn candidates_go_from_the_target_outwards() {
        let keys = |target: Target| -> Vec<String> {
            Key::candidates(&target)
                .iter()
                .map(Key::to_string)
                .collect()
        };
        assert_eq!(
            keys(Target::Path("/a/b/c".into())),
            ["/a/b/c", "/a/b/c/", "/a/b/", "/a/", "/"]
        );
        assert_eq!(
            keys(Target::Url("https://h:8080/x/y".into())),
            ["https://h:8080/x/y", "https://h:8080/x/", "https://h:8080/"]
        );
        assert_eq!(
            keys(Target::Url("https://h/".into())),
            ["https://h/.", "https://h/"]
        );
    }
}
