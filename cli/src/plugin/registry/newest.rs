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
    let versions = tags.iter().filter_map(|tag| Some((version(tag)?, tag)));
    versions
        .filter(|(version, _)| version.pre.is_empty() && version > than)
        .max()
        .map(|(_, tag)| tag)
}

/// `1.0`, `v1.0.2` and the like as a version.
fn version(tag: &str) -> Option<Version> {
    let plain = tag.strip_prefix('v').unwrap_or(tag);
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
}
