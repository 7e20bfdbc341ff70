//! Whether a registry has a newer version of what was fetched from it.

use std::path::Path;

use dunlin_host::sha256_hex;
use oci_spec::distribution::Reference;
use semver::Version;
use serde::Deserialize;

use super::connection::{Access, Connection};
use super::{FetchError, MANIFESTS, MAX_MANIFEST_BYTES};

/// Tags that are asked for. A repository with more has many for each version.
const MAX_TAGS: usize = 1_000;

/// Characters of a tag, as the OCI distribution specification has it.
const MAX_TAG_CHARS: usize = 128;

/// Bytes of a list of so many tags.
const MAX_LIST_BYTES: u64 = 256 * 1024;

/// The tags of a repository.
#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    tags: Option<Vec<String>>,
}

/// What a registry has that is newer.
#[derive(Debug, Clone, PartialEq)]
pub enum Newer {
    /// A later version has a tag of its own.
    Tag(Reference),
    /// The tag names another image than before: its digest.
    Moved(Reference, String),
}

/// Looks for a newer version of what is installed from this reference: a tag with a later version, or else another image under
/// its own tag. What was installed by its digest alone has no newer version.
///
/// # Errors
/// Says what is in the way.
pub async fn newer(
    installed: &Reference,
    home: Option<&Path>,
) -> Result<Option<Newer>, FetchError> {
    let Some(tag) = installed.tag() else {
        return Ok(None);
    };
    let mut connection = Connection::new(installed, home, Access::Pull)?;
    let with_tag = |tag: &str| {
        Reference::with_tag(
            installed.registry().to_owned(),
            installed.repository().to_owned(),
            tag.to_owned(),
        )
    };
    if let Some(version) = version(tag) {
        let part = format!("tags/list?n={MAX_TAGS}");
        let list = connection
            .get(&part, "application/json", MAX_LIST_BYTES)
            .await?;
        let list: Option<Tags> = serde_json::from_slice(&list).ok();
        let list = list.ok_or_else(|| connection.odd("the list of tags"))?;
        if let Some(tag) = latest(&version, &list.tags.unwrap_or_default()) {
            return Ok(Some(Newer::Tag(with_tag(tag))));
        }
    }
    let part = format!("manifests/{tag}");
    let manifest = connection.get(&part, MANIFESTS, MAX_MANIFEST_BYTES).await?;
    let digest = format!("sha256:{}", sha256_hex(&manifest));
    let is_same = installed.digest().is_none_or(|known| known == digest);
    Ok((!is_same).then(|| Newer::Moved(with_tag(tag), digest)))
}

/// The tag with the latest version, if that is later. Versions before a release are for those who ask for them.
fn latest<'a>(than: &Version, tags: &'a [String]) -> Option<&'a String> {
    let tags = tags.iter().filter(|tag| is_tag(tag));
    let versions = tags.filter_map(|tag| Some((version(tag)?, tag)));
    versions
        .filter(|(version, _)| version.pre.is_empty() && version > than)
        .max()
        .map(|(_, tag)| tag)
}

/// Whether a registry can have a tag like this: anything else in its answer is not one.
fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= MAX_TAG_CHARS
        && tag.bytes().next().is_some_and(is_word)
        && tag
            .bytes()
            .all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

/// Whether a component that states the version `offered` is later than one that states `installed`. What is stated nowhere,
/// or is no version, is not later than anything.
pub fn is_later(installed: Option<&str>, offered: Option<&str>) -> bool {
    match (installed.map(version), offered.and_then(version)) {
        // Whoever begins to state versions does so in a later one.
        (None, Some(_)) => true,
        (Some(Some(installed)), Some(offered)) => offered.cmp_precedence(&installed).is_gt(),
        _ => false,
    }
}

/// `1.0`, `v1.0.2` and the like as a version.
fn version(text: &str) -> Option<Version> {
    let plain = text.strip_prefix('v').unwrap_or(text);
    let full = match plain.split('.').count() {
        1 => format!("{plain}.0.0"),
        2 => format!("{plain}.0"),
        _ => plain.to_owned(),
    };
    Version::parse(&full).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_version_is_found() {
        let check = |installed: &str, tags: &[&str], expected: Option<&str>| {
            let tags: Vec<String> = tags.iter().map(|&tag| tag.to_owned()).collect();
            let found = latest(&version(installed).unwrap(), &tags);
            assert_eq!(found.map(String::as_str), expected, "{installed} {tags:?}");
        };
        check("1.0", &["0.9", "1.0", "latest"], None);
        check("1.0", &["1.10.0", "1.9.0", "v1.2"], Some("1.10.0"));
        check("v1.0.0", &["v1.0.1", "v2.0.0-rc.1"], Some("v1.0.1"));
        check("1.0.0-rc.1", &["1.0.0"], Some("1.0.0"));
        check("1", &["sha256-abc.sig", "", "2"], Some("2"));
        for tag in ["latest", "", "main", "1.2.3.4"] {
            assert_eq!(version(tag), None, "{tag}");
        }
    }

    #[test]
    fn what_no_registry_can_have_as_a_tag_is_none() {
        let long = |length: usize| format!("2.0.0-{}", "x".repeat(length - 6));
        for tag in ["1", "v1.0.0", "_x", "1.0.0-rc.1", &long(128)] {
            assert!(is_tag(tag), "{tag}");
        }
        for tag in [
            "",
            ".1",
            "-1",
            "5.0.0+a",
            "7.0.0/../x",
            "8.0.0?x=1",
            "6.0.0\x1b]0;x\x07",
            "é",
            &long(129),
        ] {
            assert!(!is_tag(tag), "{tag}");
        }
        let tags = ["5.0.0+x".to_owned(), "2.0.0".to_owned()];
        let found = latest(&version("1").unwrap(), &tags);
        assert_eq!(found.map(String::as_str), Some("2.0.0"));
    }

    #[test]
    fn a_later_version_is_one_that_the_component_states() {
        for (installed, offered, expected) in [
            (Some("1.0.0"), Some("1.0.1"), true),
            (Some("1.0"), Some("v1.1"), true),
            (Some("1.0.0-rc.1"), Some("1.0.0"), true),
            (None, Some("0.1.0"), true),
            (Some("1.0.0"), Some("0.5.0"), false),
            (Some("1.0.0"), Some("1.0.0"), false),
            (Some("1.0.0+a"), Some("1.0.0+b"), false),
            (Some("1.0.0"), None, false),
            (Some("1.0.0"), Some("newest"), false),
            (Some("newest"), Some("1.0.0"), false),
            (None, None, false),
        ] {
            assert_eq!(
                is_later(installed, offered),
                expected,
                "{installed:?} {offered:?}"
            );
        }
    }
}
