//! Puts a component into a registry, in the form that [`super::fetch`] reads and that other tools for components do.

use std::path::Path;

use dunlin_host::metadata::Metadata;
use dunlin_host::sha256_hex;
use oci_spec::distribution::Reference;
use reqwest::Method;
use serde_json::{Map, json};

use super::connection::{Access, Connection, Upload};
use super::{FetchError, MANIFESTS, MAX_MANIFEST_BYTES, PLUGIN};

/// The kind of the small part that describes the component.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// The kind of the manifest.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The names under which registries show metadata, beside those of [`Metadata::texts`].
const ANNOTATIONS: [&str; 6] = [
    "version",
    "description",
    "authors",
    "licenses",
    "url",
    "source",
];

/// What is published.
#[derive(Debug, Clone, Copy)]
pub struct Published<'a> {
    pub component: &'a [u8],
    /// What the registry shows of it.
    pub metadata: &'a Metadata,
    /// When it was made, in RFC 3339.
    pub created: &'a str,
    /// Whether a tag may be moved that names something else by now.
    pub replace: bool,
}

/// Publishes a component under a tag. Returns the digest of the manifest: who has it gets exactly this component.
///
/// # Errors
/// Says what is in the way. The tag is written last, so a failure leaves it as it was.
pub async fn publish(
    reference: &Reference,
    published: Published<'_>,
    home: Option<&Path>,
) -> Result<String, FetchError> {
    let tag = reference.tag().unwrap_or("latest");
    let mut connection = Connection::new(reference, home, Access::Push)?;
    let layer = format!("sha256:{}", sha256_hex(published.component));
    let config = config(published, &layer);
    let manifest = manifest(published, &layer, &config);
    let digest = format!("sha256:{}", sha256_hex(&manifest));
    let part = format!("manifests/{tag}");
    let before = connection.get(&part, MANIFESTS, MAX_MANIFEST_BYTES).await;
    let before = match before {
        Ok(bytes) => Some(bytes),
        Err(FetchError::NotFound { .. }) => None,
        Err(error) => return Err(error),
    };
    if let Some(before) = before {
        // Times differ; what counts is the component.
        let same = super::layer(reference, &before, PLUGIN)
            .is_ok_and(|it| it.digest().to_string() == layer);
        if same {
            return Ok(format!("sha256:{}", sha256_hex(&before)));
        }
        if !published.replace {
            return Err(FetchError::TagTaken {
                reference: reference.to_string(),
            });
        }
    }
    for bytes in [published.component, &config] {
        upload(&mut connection, bytes).await?;
    }
    let upload = Upload {
        method: Method::PUT,
        kind: MANIFEST,
        bytes: manifest,
    };
    let url = connection.url(&part)?;
    connection.upload(&url, upload).await?;
    Ok(digest)
}

/// Puts one part there, unless it is there already.
async fn upload(connection: &mut Connection, bytes: &[u8]) -> Result<(), FetchError> {
    let digest = format!("sha256:{}", sha256_hex(bytes));
    if connection.has(&format!("blobs/{digest}")).await? {
        return Ok(());
    }
    let begin = Upload {
        method: Method::POST,
        kind: "application/octet-stream",
        bytes: Vec::new(),
    };
    let url = connection.url("blobs/uploads/")?;
    let to = connection.upload(&url, begin).await?;
    let mut to = to.ok_or_else(|| connection.odd("where a part is to be put"))?;
    to.query_pairs_mut().append_pair("digest", &digest);
    let all = Upload {
        method: Method::PUT,
        kind: "application/octet-stream",
        bytes: bytes.to_vec(),
    };
    connection.upload(&to, all).await.map(drop)
}

fn config(published: Published<'_>, layer: &str) -> Vec<u8> {
    let config = json!({
        "created": published.created,
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [layer],
    });
    config.to_string().into_bytes()
}

fn manifest(published: Published<'_>, layer: &str, config: &[u8]) -> Vec<u8> {
    let texts = ANNOTATIONS.into_iter().zip(published.metadata.texts());
    let mut annotations: Map<_, _> = texts
        .filter_map(|(name, (_, text))| {
            Some((format!("org.opencontainers.image.{name}"), json!(text?)))
        })
        .collect();
    annotations.insert(
        "org.opencontainers.image.created".to_owned(),
        json!(published.created),
    );
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {
            "mediaType": CONFIG,
            "digest": format!("sha256:{}", sha256_hex(config)),
            "size": config.len(),
        },
        "layers": [{
            "mediaType": PLUGIN.kinds[0],
            "digest": layer,
            "size": published.component.len(),
        }],
        "annotations": annotations,
    });
    manifest.to_string().into_bytes()
}
