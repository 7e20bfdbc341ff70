//! Plugins from a registry of containers, the same that everybody keeps images in: `ghcr.io/who/tool:1.0`.
//!
//! References and manifests are those of the maintained `oci-spec`, the login is docker's. The requests are our own: the known
//! client for registries reads manifests and tokens however large they are, and follows wherever a registry leads. Here
//! everything has a limit before it is read, whatever comes is held against its digest, nothing is fetched unencrypted but
//! from this machine, and a login goes to the registry it was given for and to whoever that names, never further.

mod connection;
mod error;
mod login;
mod newest;
mod push;
mod signed;

use std::path::Path;

use dunlin_host::sha256_hex;
use oci_spec::distribution::Reference;
use oci_spec::image::{Descriptor, ImageManifest};

use url::Url;

use super::MAX_COMPONENT_BYTES;
use super::index::MAX_INDEX_BYTES;
use connection::{Access, Connection};
pub use error::FetchError;
pub use newest::{Newer, is_later, newer};
pub use push::{Published, publish};
pub use signed::signatures;

/// Bytes of a manifest: it is a short list.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// What can be looked for in a registry.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// What it is, in words.
    what: &'static str,
    /// How its publisher may call it: whole names, and beginnings that end with a dot.
    kinds: &'static [&'static str],
    /// How many bytes are taken.
    max_bytes: u64,
}

/// A plugin: the plain name of its kind, and the older ones.
const PLUGIN: Wanted = Wanted {
    what: "a plugin",
    kinds: &["application/wasm", "application/vnd.wasm."],
    max_bytes: MAX_COMPONENT_BYTES,
};

/// An index of plugins.
const INDEX: Wanted = Wanted {
    what: "an index of plugins",
    kinds: &["application/json", "application/vnd.dunlin.index."],
    max_bytes: MAX_INDEX_BYTES,
};

/// What is asked for: an image as everybody makes them. The list of images for several machines is asked for so that it can be
/// named.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.oci.image.index.v1+json";

/// What came from a registry.
#[derive(Debug)]
pub struct Fetched {
    pub bytes: Vec<u8>,
    /// What it will be called.
    pub name: String,
    /// The digest of the image's manifest, which is what is signed.
    pub digest: String,
    /// What was asked for and what that was, so that the very same can be had again.
    pub source: String,
}

/// What is meant, if it is something in a registry: it begins with a host. Only how it is written decides. A file that has
/// such a name must not take its place: whoever brings the file has no digest and no key to answer for.
///
/// # Errors
/// It begins like one and is none.
pub fn reference(text: &str) -> Option<Result<Reference, FetchError>> {
    let marked = text.strip_prefix("oci://");
    if marked.is_none() && !begins_with_host(text) {
        return None;
    }
    let parsed = marked.unwrap_or(text).parse();
    Some(parsed.map_err(|source| FetchError::Reference {
        given: text.to_owned(),
        source,
    }))
}

fn begins_with_host(text: &str) -> bool {
    let Some((host, rest)) = text.split_once('/') else {
        return false;
    };
    let is_host = host == "localhost" || host.contains(':') || host.contains('.');
    is_host && !host.starts_with(['.', '~']) && !rest.is_empty()
}

/// Fetches a plugin. Dropping the future leaves nothing behind.
///
/// # Errors
/// Says what is in the way.
pub async fn fetch(reference: &Reference, home: Option<&Path>) -> Result<Fetched, FetchError> {
    let (bytes, digest) = only_layer(reference, home, PLUGIN).await?;
    Ok(Fetched {
        bytes,
        name: name_of(reference),
        source: match reference.tag() {
            Some(tag) => format!(
                "{}/{}:{tag}@{digest}",
                reference.registry(),
                reference.repository()
            ),
            None => reference.to_string(),
        },
        digest,
    })
}

/// Fetches the index of plugins that has this reference.
///
/// # Errors
/// Says what is in the way.
pub async fn fetch_index(
    reference: &Reference,
    home: Option<&Path>,
) -> Result<Vec<u8>, FetchError> {
    let (bytes, _) = only_layer(reference, home, INDEX).await?;
    Ok(bytes)
}

/// Fetches an address of the web. Where it leads, only encrypted servers on the internet are asked.
///
/// # Errors
/// Says what is in the way.
pub async fn fetch_page(url: &Url) -> Result<Vec<u8>, FetchError> {
    Connection::of_page(url).page(url, MAX_INDEX_BYTES).await
}

/// What stands in the only layer of an image, and the digest of its manifest.
async fn only_layer(
    reference: &Reference,
    home: Option<&Path>,
    wanted: Wanted,
) -> Result<(Vec<u8>, String), FetchError> {
    let mut connection = Connection::new(reference, home, Access::Pull)?;
    let what = match reference.digest() {
        Some(digest) => digest,
        None => reference.tag().unwrap_or("latest"),
    };
    let manifest = connection
        .get(&format!("manifests/{what}"), MANIFESTS, MAX_MANIFEST_BYTES)
        .await?;
    let digest = format!("sha256:{}", sha256_hex(&manifest));
    // Others than SHA-256 are not computed here, so they are not believed.
    if let Some(expected) = reference.digest() {
        same(&reference.to_string(), &digest, expected)?;
    }
    let layer = layer(reference, &manifest, wanted)?;
    let expected = layer.digest().to_string();
    let bytes = connection
        .get(&format!("blobs/{expected}"), "*/*", layer.size())
        .await?;
    let found = format!("sha256:{}", sha256_hex(&bytes));
    same("the component", &found, &expected)?;
    Ok((bytes, digest))
}

fn same(what: &str, found: &str, expected: &str) -> Result<(), FetchError> {
    match found == expected {
        true => Ok(()),
        false => Err(FetchError::Digest {
            what: what.to_owned(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        }),
    }
}

/// The only layer of a manifest, if it is of the kind and of a size that is taken.
fn layer(reference: &Reference, manifest: &[u8], wanted: Wanted) -> Result<Descriptor, FetchError> {
    let other = |problem: String| FetchError::Other {
        reference: reference.to_string(),
        wanted: wanted.what,
        problem,
    };
    let parsed: Result<ImageManifest, _> = serde_json::from_slice(manifest);
    let manifest = parsed.map_err(|error| {
        let value: serde_json::Value = serde_json::from_slice(manifest).unwrap_or_default();
        match value.get("manifests") {
            Some(_) => other("it is a list of images for several machines".to_owned()),
            None => FetchError::Odd {
                registry: reference.registry().to_owned(),
                problem: format!("the manifest: {error}"),
            },
        }
    })?;
    let kinds: Vec<String> = manifest
        .layers()
        .iter()
        .map(|layer| layer.media_type().to_string())
        .collect();
    let is_wanted = |kind: &String| {
        wanted.kinds.iter().any(|known| match known.ends_with('.') {
            true => kind.starts_with(known),
            false => kind == known,
        })
    };
    match (manifest.layers().as_slice(), kinds.as_slice()) {
        ([layer], [kind]) if is_wanted(kind) => {
            if layer.size() > wanted.max_bytes {
                return Err(FetchError::TooLarge {
                    what: reference.to_string(),
                    most: wanted.max_bytes,
                });
            }
            Ok(layer.clone())
        }
        ([_], [kind]) => Err(other(format!("it holds {kind}"))),
        (layers, _) => Err(other(format!(
            "it has {} layers, and {} is one",
            layers.len(),
            wanted.what
        ))),
    }
}

/// `ghcr.io/who/word-count` is `word_count`: names are what the tools have.
pub fn name_of(reference: &Reference) -> String {
    let last = reference.repository().rsplit('/').next();
    last.unwrap_or_default().replace(['-', '.'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_references_are_told_apart() {
        for (given, expected) in [
            ("ghcr.io/who/tool:1.0", Some("ghcr.io/who/tool:1.0")),
            ("ghcr.io/who/tool", Some("ghcr.io/who/tool:latest")),
            ("localhost:5000/tool", Some("localhost:5000/tool:latest")),
            ("localhost/tool:1", Some("localhost/tool:1")),
            ("oci://who/tool", Some("docker.io/who/tool:latest")),
            ("tool", None),
            ("who/tool", None),
            ("./who.io/tool", None),
            ("../a/b", None),
            ("~/a.b/c", None),
            ("/a.b/c", None),
            ("a.b/", None),
            ("./build.d/tool.wasm", None),
            (
                "ghcr.io/who/tool.wasm",
                Some("ghcr.io/who/tool.wasm:latest"),
            ),
        ] {
            let found = reference(given);
            let found = found.map(|found| found.unwrap().to_string());
            assert_eq!(found.as_deref(), expected, "{given}");
        }
        for bad in [
            "ghcr.io/Who/tool",
            "ghcr.io/a b",
            "oci://",
            "ghcr.io/a@sha256:12",
        ] {
            assert!(reference(bad).unwrap().is_err(), "{bad}");
        }
        let word_count = "ghcr.io/who/word-count:1".parse().unwrap();
        assert_eq!(name_of(&word_count), "word_count");
    }

    #[test]
    fn a_plugin_is_one_layer() {
        let reference: Reference = "ghcr.io/who/tool:1".parse().unwrap();
        let digest = format!("sha256:{}", "a".repeat(64));
        let manifest = |layers: &[(&str, u64)]| {
            let layer = |&(kind, size): &(&str, u64)| serde_json::json!({ "mediaType": kind, "digest": digest, "size": size });
            let layers: Vec<_> = layers.iter().map(layer).collect();
            serde_json::json!({
                "schemaVersion": 2,
                "config": { "mediaType": "application/vnd.wasm.config.v0+json", "digest": digest, "size": 2 },
                "layers": layers,
            })
            .to_string()
        };
        for (text, expected) in [
            (manifest(&[("application/wasm", 9)]), None),
            (
                manifest(&[("application/vnd.wasm.content.layer.v1+wasm", 9)]),
                None,
            ),
            (
                manifest(&[("application/wasm", 1 << 40)]),
                Some("ghcr.io/who/tool:1 is larger than 67 MB"),
            ),
            (
                manifest(&[("application/vnd.oci.image.layer.v1.tar+gzip", 9)]),
                Some("is not a plugin: it holds application/vnd.oci.image.layer.v1.tar+gzip"),
            ),
            (
                manifest(&[("application/wasm", 9), ("application/wasm", 9)]),
                Some("is not a plugin: it has 2 layers, and a plugin is one"),
            ),
            (manifest(&[]), Some("it has 0 layers")),
            (
                r#"{"schemaVersion":2,"manifests":[]}"#.to_owned(),
                Some("is not a plugin: it is a list of images for several machines"),
            ),
            (
                "[]".to_owned(),
                Some("ghcr.io answers what no registry does: the manifest:"),
            ),
        ] {
            let found = layer(&reference, text.as_bytes(), PLUGIN);
            match expected {
                None => assert_eq!(found.unwrap().size(), 9),
                Some(expected) => {
                    let error = found.unwrap_err().to_string();
                    assert!(error.contains(expected), "{error}");
                }
            }
        }
    }
}
