//! The signatures of an image: an image of its own, whose tag is made of the digest of the signed one.

use std::path::Path;

use oci_spec::distribution::Reference;
use oci_spec::image::ImageManifest;

use super::connection::{Access, Connection};
use super::{FetchError, MANIFESTS, MAX_MANIFEST_BYTES, same, sha256_hex};
use crate::plugin::signing::Signature;

/// The kind of a layer that is a signed statement.
const STATEMENT: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The annotation with the signature of a statement.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// Bytes of a statement, which names an image.
const MAX_STATEMENT_BYTES: u64 = 64 * 1024;

/// How many signatures of an image are read.
const MAX_SIGNATURES: usize = 16;

/// The signatures of the image with this digest in the repository of a reference; none is an answer, too.
///
/// # Errors
/// Says what is in the way.
pub async fn signatures(
    reference: &Reference,
    digest: &str,
    home: Option<&Path>,
) -> Result<Vec<Signature>, FetchError> {
    let mut connection = Connection::new(reference, home, Access::Pull)?;
    let part = format!("manifests/{}.sig", digest.replace(':', "-"));
    let manifest = match connection.get(&part, MANIFESTS, MAX_MANIFEST_BYTES).await {
        Ok(manifest) => manifest,
        Err(FetchError::NotFound { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let parsed: Result<ImageManifest, _> = serde_json::from_slice(&manifest);
    let manifest = parsed.map_err(|error| FetchError::Odd {
        registry: reference.registry().to_owned(),
        problem: format!("the manifest of the signatures: {error}"),
    })?;
    let mut signatures = Vec::new();
    for layer in manifest.layers() {
        let annotations = layer.annotations().as_ref();
        let signature = annotations.and_then(|all| all.get(SIGNATURE));
        let is_statement = layer.media_type().to_string() == STATEMENT
            && layer.size() <= MAX_STATEMENT_BYTES
            && signatures.len() < MAX_SIGNATURES;
        let Some(signature) = signature.filter(|_| is_statement) else {
            continue;
        };
        let expected = layer.digest().to_string();
        let part = format!("blobs/{expected}");
        let statement = connection.get(&part, "*/*", layer.size()).await?;
        let found = format!("sha256:{}", sha256_hex(&statement));
        same("the signature", &found, &expected)?;
        signatures.push(Signature {
            statement,
            signature: signature.clone(),
        });
    }
    Ok(signatures)
}
