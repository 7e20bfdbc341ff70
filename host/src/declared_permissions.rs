//! What a plugin may ever ask for, as its author wrote it down.
//!
//! It stands in the component itself, in a section of its own, so it is part of what is installed and of the digest,
//! and is read without running anything. It grants nothing. Whatever a plugin asks for beyond it is refused without
//! a question: an author who writes it down makes the plugin worth less to whoever takes it over. A plugin without
//! one can ask for whatever its imports reach.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::permission::key::{Bits, Decided};
use crate::sections;
use crate::target::Operation;

/// The name of the section.
pub const SECTION: &str = "dunlin:permissions";

/// What earlier builds called it.
const EARLIER_SECTION: &str = "dunlin:ceiling";

/// Bytes of the section: it is read at every installation and kept with the list of tools.
const MAX_BYTES: usize = 16 * 1024;

/// Targets in it. What has more is not narrow.
const MAX_TARGETS: usize = 64;

/// The addresses of the web, all of them.
pub(crate) const ANY_ADDRESS: &str = "https://*/";

/// Targets, as an author writes them, and three characters for each: `r`, `w`, `x`, or `-` for never.
///
/// `./` is the project (`src/` is `./src/`) and `~/` the user's home; a `/` at the end means all below; an address is one, or with `/` at
/// its end all below it, or `https://*/` for any; a word without a slash is a program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredPermissions {
    may: BTreeMap<String, String>,
}

/// Why the declared permissions cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeclaredPermissionsError {
    /// It is too much.
    #[error("it is larger than {MAX_BYTES} bytes or has more than {MAX_TARGETS} targets")]
    TooLarge,
    /// It is something else.
    #[error("it is not of the form {{\"may\": {{\"./\": \"r--\"}}}}")]
    Form {
        /// What the reader says.
        source: serde_json::Error,
    },
    /// The three characters are others.
    #[error(
        "{target:?} has {bits:?}: it takes r or -, then w or -, then x or -, such as \"r--\" for reading"
    )]
    Bits {
        /// Of which target.
        target: String,
        /// What stands there.
        bits: String,
    },
    /// One target in two spellings.
    #[error("{target:?} is there twice, in two spellings, the other one with {bits:?}")]
    Twice {
        /// One of the spellings.
        target: String,
        /// The characters of the other.
        bits: String,
    },
    /// A program can only be run.
    #[error(
        "{target:?} is the name of a program, for which only x counts; a file or folder of the project is \"./{target}\""
    )]
    Program {
        /// The target.
        target: String,
    },
    /// An address that is not written as one would be the name of a file.
    #[error("{target:?} is not an address as it is written; the address is \"{meant}\"")]
    Address {
        /// As written.
        target: String,
        /// As it was most likely meant.
        meant: String,
    },
    /// It is no target.
    #[error(
        "{target:?} is not a target: ./ and what is below, ~/, an absolute path, an address, or the name of a program"
    )]
    Target {
        /// As written.
        target: String,
    },
    /// The component is damaged, or there are two of them.
    #[error("the sections of the component cannot be read")]
    Sections,
}

impl DeclaredPermissions {
    /// Checks what an author wrote.
    ///
    /// # Errors
    /// Says what cannot be used.
    pub fn new(
        may: BTreeMap<String, String>,
    ) -> Result<DeclaredPermissions, DeclaredPermissionsError> {
        if may.len() > MAX_TARGETS {
            return Err(DeclaredPermissionsError::TooLarge);
        }
        let mut read: BTreeMap<String, String> = BTreeMap::new();
        for (target, bits) in may {
            if let Some(meant) = meant_address(&target) {
                return Err(DeclaredPermissionsError::Address { target, meant });
            }
            if let Some(twice) = read.insert(one_spelling(&target), bits) {
                return Err(DeclaredPermissionsError::Twice {
                    target,
                    bits: twice,
                });
            }
        }
        let may = read;
        for (target, bits) in &may {
            let known = bits.parse::<Bits>().is_ok() && !bits.contains('?');
            if !known {
                return Err(DeclaredPermissionsError::Bits {
                    target: target.clone(),
                    bits: bits.clone(),
                });
            }
            if !is_target(target) {
                return Err(DeclaredPermissionsError::Target {
                    target: target.clone(),
                });
            }
            // Whoever writes a file without ./ would have a program of that name, which is never read.
            let is_program = !target.contains('/');
            if is_program && (bits.contains('r') || bits.contains('w')) {
                return Err(DeclaredPermissionsError::Program {
                    target: target.clone(),
                });
            }
        }
        Ok(DeclaredPermissions { may })
    }

    /// Finds the declared permissions of a component; `None`: it has none.
    ///
    /// # Errors
    /// They cannot be used. Such a plugin is refused: what its author wanted is not known.
    pub fn of_component(
        bytes: &[u8],
    ) -> Result<Option<DeclaredPermissions>, DeclaredPermissionsError> {
        let custom = |name| sections::custom(bytes, name).ok_or(DeclaredPermissionsError::Sections);
        let mut found = custom(SECTION)?;
        if found.is_empty() {
            found = custom(EARLIER_SECTION)?;
        }
        let content = match found.as_slice() {
            [] => return Ok(None),
            [content] => *content,
            _ => return Err(DeclaredPermissionsError::Sections),
        };
        if content.len() > MAX_BYTES {
            return Err(DeclaredPermissionsError::TooLarge);
        }
        let declared_permissions: DeclaredPermissions = serde_json::from_slice(content)
            .map_err(|source| DeclaredPermissionsError::Form { source })?;
        DeclaredPermissions::new(declared_permissions.may).map(Some)
    }

    /// The component with these declared permissions, in place of one that it may have.
    ///
    /// # Errors
    /// The bytes are not a component.
    pub fn put_into(&self, component: &[u8]) -> Result<Vec<u8>, DeclaredPermissionsError> {
        let content =
            serde_json::to_vec(self).map_err(|source| DeclaredPermissionsError::Form { source })?;
        sections::with(component, SECTION, Some(&content)).ok_or(DeclaredPermissionsError::Sections)
    }

    /// The targets and their three characters, sorted by target.
    pub fn targets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.may
            .iter()
            .map(|(target, bits)| (target.as_str(), bits.as_str()))
    }

    /// The targets for which an operation may be asked for.
    pub(crate) fn with(&self, operation: Operation) -> impl Iterator<Item = &str> {
        self.targets().filter_map(move |(target, bits)| {
            let bits = bits.parse::<Bits>().ok()?;
            (bits.get(operation) == Decided::Allow).then_some(target)
        })
    }
}

/// `src/` is `./src/`, and an address with `http` that with `https`, as in all rules.
fn one_spelling(target: &str) -> String {
    if let Some(rest) = target.strip_prefix("http://") {
        return format!("https://{rest}");
    }
    let is_relative = target.contains('/')
        && !target.contains("://")
        && !["./", "../", "~", "/"]
            .iter()
            .any(|start| target.starts_with(start));
    match is_relative {
        true => format!("./{target}"),
        false => target.to_owned(),
    }
}

/// The address that a target was meant to be: `http//x`, `https:/x` and `example.com./` are none, or none that is ever asked for.
fn meant_address(target: &str) -> Option<String> {
    if let Some((scheme, rest)) = target.split_once("://") {
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = host.strip_suffix('.')?;
        return Some(format!("{scheme}://{host}/{path}"));
    }
    let rest = target.strip_prefix("http")?;
    let rest = rest.strip_prefix('s').unwrap_or(rest);
    let rest = rest
        .strip_prefix("//")
        .or_else(|| rest.strip_prefix(":/"))
        .or_else(|| rest.strip_prefix(':'))?;
    Some(format!("https://{}", rest.trim_start_matches('/')))
}

fn is_target(target: &str) -> bool {
    if target.is_empty() || target.len() > 1024 || target.contains('\0') {
        return false;
    }
    if target == ANY_ADDRESS {
        return true;
    }
    // Nobody names a file so, and whoever writes a pattern would be refused everything.
    if target.contains('*') {
        return false;
    }
    if target.contains("://") {
        let bare = target.trim_end_matches('/');
        return target.starts_with("https://")
            && !target.contains('*')
            && crate::resolve::url(bare).is_ok();
    }
    let path = ["./", "~/", "/"]
        .iter()
        .find_map(|start| target.strip_prefix(start));
    match path {
        // Climbing out is not what it looks like.
        Some(path) => !path.split('/').any(|part| part == ".."),
        None => !target.contains(['/', ' ']) && !target.starts_with(['~', '.']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared_permissions(
        may: &[(&str, &str)],
    ) -> Result<DeclaredPermissions, DeclaredPermissionsError> {
        let own = |(target, bits): &(&str, &str)| ((*target).to_owned(), (*bits).to_owned());
        DeclaredPermissions::new(may.iter().map(own).collect())
    }

    #[test]
    fn targets_are_of_five_kinds() {
        for target in ["diary.md", "example.com"] {
            let error = declared_permissions(&[(target, "rw-")])
                .unwrap_err()
                .to_string();
            let expected = format!("a file or folder of the project is \"./{target}\"");
            assert!(error.ends_with(&expected), "{error}");
        }
        for target in [
            "./",
            "./src/",
            "./notes.txt",
            "~/",
            "~/docs/a b.txt",
            "/",
            "/etc/hosts",
            "https://*/",
            "https://docs.rs/",
            "https://api.example.com:8443/v1/",
            "src/main.rs",
            "http://docs.rs/",
        ] {
            assert!(declared_permissions(&[(target, "r--")]).is_ok(), "{target}");
        }
        assert!(declared_permissions(&[("git", "--x")]).is_ok());
        for target in [
            "",
            "../",
            "./../x",
            "src/../x",
            ".",
            "./**",
            "*.csv",
            "git status",
            "~",
            "~root/x",
            "file:///etc/",
            "https://",
            "https://*.rs/",
            "a\0b",
        ] {
            assert!(
                declared_permissions(&[(target, "r--")]).is_err(),
                "{target}"
            );
        }
        for bits in ["", "r", "r?-", "rw", "xwr", "rwxr"] {
            assert!(declared_permissions(&[("./", bits)]).is_err(), "{bits}");
        }
    }

    #[test]
    fn an_address_is_not_taken_for_a_file() {
        for (target, meant) in [
            ("http//x.example/", "https://x.example/"),
            ("https//x.example/a", "https://x.example/a"),
            ("https:/x.example/", "https://x.example/"),
            ("https:x.example", "https://x.example"),
            ("https://x.example./a", "https://x.example/a"),
        ] {
            let error = declared_permissions(&[(target, "r--")])
                .unwrap_err()
                .to_string();
            let expected = format!(
                "{target:?} is not an address as it is written; the address is \"{meant}\""
            );
            assert_eq!(error, expected);
        }
        for target in ["httpd/", "./https:x", "http"] {
            assert!(
                declared_permissions(&[(target, if target == "http" { "--x" } else { "r--" })])
                    .is_ok(),
                "{target}"
            );
        }
    }

    #[test]
    fn a_target_has_one_spelling() {
        let read =
            declared_permissions(&[("src/", "r--"), ("http://docs.rs/", "r--"), ("git", "--x")])
                .unwrap();
        let targets: Vec<_> = read.targets().map(|(target, _)| target).collect();
        assert_eq!(targets, ["./src/", "git", "https://docs.rs/"]);
        let error = declared_permissions(&[("src/", "r--"), ("./src/", "rw-")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"src/\" is there twice, in two spellings, the other one with \"rw-\""
        );
    }

    #[test]
    fn it_is_kept_in_the_component() {
        let empty = b"\0asm\x0d\0\x01\0".to_vec();
        assert_eq!(DeclaredPermissions::of_component(&empty).unwrap(), None);
        let first = declared_permissions(&[("./", "r--")]).unwrap();
        let second = declared_permissions(&[("./", "rw-"), ("git", "--x")]).unwrap();
        let with = first.put_into(&empty).unwrap();
        assert_eq!(
            DeclaredPermissions::of_component(&with).unwrap(),
            Some(first)
        );
        // There is one at most.
        let again = second.put_into(&with).unwrap();
        assert_eq!(
            DeclaredPermissions::of_component(&again).unwrap(),
            Some(second)
        );
        let content = br#"{"may": {"./": "r--"}}"#;
        let earlier = sections::with(&empty, EARLIER_SECTION, Some(content)).unwrap();
        assert_eq!(
            DeclaredPermissions::of_component(&earlier).unwrap(),
            Some(declared_permissions(&[("./", "r--")]).unwrap())
        );
        let twice: Vec<u8> = [&with[..], &with[8..]].concat();
        assert!(DeclaredPermissions::of_component(&twice).is_err());
        for damaged in [
            &with[..with.len() - 1],
            &with[..10],
            b"\0asm\x0d\0\x01\0\0\xff\xff\xff\xff\xff\xff",
        ] {
            assert!(DeclaredPermissions::of_component(damaged).is_err());
        }
        let other = br#"{"may": {"./": "r--"}, "more": 1}"#;
        let mut odd = empty.clone();
        let mut section = vec![SECTION.len() as u8];
        section.extend(SECTION.as_bytes());
        section.extend(other);
        odd.push(0);
        odd.push(section.len() as u8);
        odd.extend(section);
        assert!(matches!(
            DeclaredPermissions::of_component(&odd),
            Err(DeclaredPermissionsError::Form { .. })
        ));
    }
}
