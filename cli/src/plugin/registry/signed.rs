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

/// How many signatures of an image are read: the last ones, since each new one is written behind those that there are.
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
    let statements = manifest.layers().iter().filter_map(|layer| {
        let signature = layer.annotations().as_ref()?.get(SIGNATURE)?;
        let is_statement = layer.media_type().to_string() == STATEMENT;
        (is_statement && layer.size() <= MAX_STATEMENT_BYTES).then_some((layer, signature))
    });
    let statements: Vec<_> = statements.collect();
    let first = statements.len().saturating_sub(MAX_SIGNATURES);
    let mut signatures = Vec::new();
    for (layer, signature) in &statements[first..] {
        let expected = layer.digest().to_string();
        let part = format!("blobs/{expected}");
        let statement = match connection.get(&part, "*/*", layer.size()).await {
            Ok(statement) => statement,
            // Somebody's statement is lost; the signer's own may be there.
            Err(FetchError::NotFound { .. }) => continue,
            Err(error) => return Err(error),
        };
        let found = format!("sha256:{}", sha256_hex(&statement));
        same("the signature", &found, &expected)?;
        signatures.push(Signature {
            statement,
            signature: (*signature).clone(),
        });
    }
    Ok(signatures)
}
