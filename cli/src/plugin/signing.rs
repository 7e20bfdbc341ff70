//! Who signs plugins: keys that the user pins to origins, and what such a key has signed.
//!
//! A signature is a statement about the digest of an image's manifest, and the ECDSA signature of that statement, as
//! `cosign sign --key` makes them. Source: cosign, `specs/SIGNATURE_SPEC.md` ("simple signing").

use std::io;
use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_STANDARD, Engine};
use dunlin_host::sha256_hex;
use oci_spec::distribution::Reference;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::{self, PemObject};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::origin::of_reference;
use crate::config::json_file;
use crate::error::CliError;

/// What stands before the point of a P-256 key in its DER form: the algorithm, which is the same for all of them. Source:
/// RFC 5480, section 2.
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Bytes of a point that is not compressed.
const POINT_BYTES: usize = 65;

/// The kind of statement that a signature of an image is about.
const STATEMENT: &str = "cosign container image signature";

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("it holds no public key (-----BEGIN PUBLIC KEY-----)")]
    NoKey(#[source] pem::Error),
    /// It is the half that nobody else may have.
    #[error(
        "it holds a private key: pin the public one, which `cosign generate-key-pair` writes to cosign.pub"
    )]
    Private,
    /// It is for another algorithm.
    #[error("it is not a P-256 key, which `cosign generate-key-pair` makes")]
    OtherKind,
}

/// Why a plugin is not installed.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// There is no signature at all.
    #[error("{origin} is not signed, and its signer's key is pinned")]
    NotSigned {
        /// Where it comes from.
        origin: String,
    },
    /// There are signatures, and none can be believed.
    #[error("{origin} is not signed with the pinned key: {problem}")]
    OtherSigner {
        /// Where it comes from.
        origin: String,
        /// What the signatures are.
        problem: String,
    },
    /// Only signed plugins are installed here.
    #[error("every plugin has to be signed, and no signer's key is pinned for {origin}")]
    NotPinned {
        /// Where it comes from.
        origin: String,
    },
    /// The file with the keys cannot be read: who has signed what is not known then.
    #[error("cannot read {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the key that is pinned for {origin} cannot be used")]
    Key {
        /// Whose key.
        origin: String,
        source: KeyError,
    },
}

impl From<SignatureError> for CliError {
    fn from(error: SignatureError) -> CliError {
        let hint = match &error {
            // What lies in a folder here has no registry that could hold a signature.
            SignatureError::NotPinned { origin } if origin.starts_with('/') => Some(
                "only a plugin from a registry can be signed; dunlin plugin key require off installs it without a signature",
            ),
            SignatureError::NotSigned { .. } => Some(
                "its publisher signs it with cosign sign --key; dunlin plugin key list shows what is pinned",
            ),
            SignatureError::OtherSigner { .. } => Some(
                "if its publisher has told you of a new key, dunlin plugin key remove and add pin that one",
            ),
            SignatureError::NotPinned { .. } => Some(
                "dunlin plugin key add ORIGIN FILE pins a key; dunlin plugin key require off installs it without one",
            ),
            SignatureError::Key { .. } | SignatureError::File { .. } => None,
        };
        CliError::failed(error).with_hint(hint.map(str::to_owned))
    }
}

/// The keys that the user has pinned, as they are stored. A file with less in it, or more, is refused: a misspelt `required`
/// would read as no rule at all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedKeys {
    /// Whether only what is signed with a pinned key is installed.
    pub required: bool,
    /// One for each origin and key.
    pub keys: Vec<PinnedKey>,
}

/// A key that signs whatever comes from an origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedKey {
    /// A repository in a registry (`ghcr.io/who/words`), or all below a path that ends with `/`.
    #[serde(deserialize_with = "read_origin")]
    pub origin: String,
    /// The public key, PEM.
    pub key: String,
}

/// A signature, as it comes from a registry.
#[derive(Debug, Clone)]
pub struct Signature {
    /// What is signed: JSON.
    pub statement: Vec<u8>,
    /// The signature of it: base64 of the ASN.1 form.
    pub signature: String,
}

/// The public key in this text, in its DER form.
///
/// # Errors
/// It is none, or not a P-256 key.
pub fn read_key(text: &str) -> Result<Vec<u8>, KeyError> {
    let is_private = text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----");
    let der = SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes());
    let der = der.map_err(|error| match is_private {
        true => KeyError::Private,
        false => KeyError::NoKey(error),
    })?;
    match der.len() == P256_PREFIX.len() + POINT_BYTES && der.starts_with(&P256_PREFIX) {
        true => Ok(der.to_vec()),
        false => Err(KeyError::OtherKind),
    }
}

/// A repository, or all below a path that ends with `/`, in the spelling of origins; `None`: it is neither. A tag, or a part
/// that a reference may leave out, would never be one of an origin.
pub fn pinned_origin(written: &str) -> Option<String> {
    // All below a path: as of one repository in it.
    let end = if written.ends_with('/') { "x" } else { "" };
    let parsed: Reference = format!("{written}{end}").parse().ok()?;
    let (_, repository) = written.split_once('/')?;
    if parsed.repository() != format!("{repository}{end}") {
        return None;
    }
    let mut origin = of_reference(&parsed);
    origin.truncate(origin.len() - end.len());
    Some(origin)
}

/// An origin as it is stored: by hand, or by an earlier build. A key whose origin nothing can have would protect nothing,
/// without a word.
fn read_origin<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let written = String::deserialize(from)?;
    let problem = || D::Error::custom(format!("{written:?} is not an origin of plugins"));
    pinned_origin(&written).ok_or_else(problem)
}

/// A key in its PEM form, with nothing else that its file held.
pub fn to_pem(der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
}

/// What a key is called: the SHA-256 of its DER form.
pub fn fingerprint(der: &[u8]) -> String {
    sha256_hex(der)
}

impl PinnedKeys {
    /// The keys in a file; none where there is no file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> Result<PinnedKeys, SignatureError> {
        json_file::read(path).map_err(|source| SignatureError::File {
            path: path.to_owned(),
            source,
        })
    }

    /// The keys for an origin: those of the longest path that it is at or below.
    pub fn of(&self, origin: &str) -> Vec<&PinnedKey> {
        let is_of = |pinned: &&PinnedKey| match pinned.origin.ends_with('/') {
            true => origin.starts_with(&pinned.origin),
            false => origin == pinned.origin,
        };
        let all: Vec<_> = self.keys.iter().filter(is_of).collect();
        let longest = all.iter().map(|pinned| pinned.origin.len()).max();
        let is_longest = |pinned: &&PinnedKey| Some(pinned.origin.len()) == longest;
        all.into_iter().filter(is_longest).collect()
    }

    /// The fingerprint of the pinned key that has signed the image of this digest.
    ///
    /// # Errors
    /// None has.
    pub fn signer(
        &self,
        origin: &str,
        digest: &str,
        signatures: &[Signature],
    ) -> Result<String, SignatureError> {
        let mut problem = None;
        for pinned in self.of(origin) {
            let der = read_key(&pinned.key).map_err(|source| SignatureError::Key {
                origin: pinned.origin.clone(),
                source,
            })?;
            for signature in signatures {
                if !has_signed(&der, signature) {
                    continue;
                }
                match other_subject(&signature.statement, origin, digest) {
                    None => return Ok(fingerprint(&der)),
                    Some(other) => problem = Some(other),
                }
            }
        }
        let origin = origin.to_owned();
        if signatures.is_empty() {
            return Err(SignatureError::NotSigned { origin });
        }
        Err(SignatureError::OtherSigner {
            origin,
            problem: problem.unwrap_or_else(|| "its signatures are of other keys".to_owned()),
        })
    }

    /// Whether something may be installed that was signed with the key of this fingerprint, or with none.
    ///
    /// # Errors
    /// It may not.
    pub fn admit(&self, origin: &str, signer: Option<&str>) -> Result<(), SignatureError> {
        let pinned = self.of(origin);
        if pinned.is_empty() {
            let origin = origin.to_owned();
            return match self.required {
                true => Err(SignatureError::NotPinned { origin }),
                false => Ok(()),
            };
        }
        let is_signer = |pinned: &&PinnedKey| {
            read_key(&pinned.key).is_ok_and(|der| signer == Some(&*fingerprint(&der)))
        };
        match (pinned.iter().any(is_signer), signer) {
            (true, _) => Ok(()),
            (false, None) => Err(SignatureError::NotSigned {
                origin: origin.to_owned(),
            }),
            (false, Some(_)) => Err(SignatureError::OtherSigner {
                origin: origin.to_owned(),
                problem: "it was signed with a key that was pinned before".to_owned(),
            }),
        }
    }
}

fn has_signed(der: &[u8], signature: &Signature) -> bool {
    let point = der.get(P256_PREFIX.len()..).unwrap_or_default();
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point);
    BASE64_STANDARD
        .decode(&signature.signature)
        .is_ok_and(|bytes| key.verify(&signature.statement, &bytes).is_ok())
}

/// What a signed statement is about, if it is about something else. Who signs several plugins has not signed one of them as
/// the other.
fn other_subject(statement: &[u8], origin: &str, digest: &str) -> Option<String> {
    let Ok(statement) = serde_json::from_slice::<serde_json::Value>(statement) else {
        return Some("what is signed is not JSON".to_owned());
    };
    let critical = &statement["critical"];
    if critical["type"] != STATEMENT {
        return Some("what is signed is not a statement about an image".to_owned());
    }
    let signed = critical["image"]["docker-manifest-digest"].as_str();
    if signed != Some(digest) {
        let signed = signed.unwrap_or("nothing");
        return Some(format!("the signature is of {signed}"));
    }
    let of = critical["identity"]["docker-reference"].as_str();
    let of = of.unwrap_or_default();
    // Its name at Docker Hub has two forms.
    let named = of.strip_prefix("index.").unwrap_or(of);
    match named == origin {
        true => None,
        false => Some(format!("the signature is of {of:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

    struct Signer(EcdsaKeyPair);

    impl Signer {
        fn new() -> Signer {
            let random = SystemRandom::new();
            let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random);
            let made = made.expect("a key");
            let pair =
                EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random);
            Signer(pair.expect("the key"))
        }

        fn pinned(&self, origin: &str) -> PinnedKey {
            let der = [&P256_PREFIX, self.0.public_key().as_ref()].concat();
            PinnedKey {
                origin: origin.to_owned(),
                key: to_pem(&der),
            }
        }

        fn signs(&self, origin: &str, digest: &str) -> Signature {
            self.signs_text(&format!(
                r#"{{"critical":{{"identity":{{"docker-reference":"{origin}"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"{STATEMENT}"}},"optional":null}}"#
            ))
        }

        fn signs_text(&self, text: &str) -> Signature {
            let signature = self.0.sign(&SystemRandom::new(), text.as_bytes());
            Signature {
                statement: text.as_bytes().to_vec(),
                signature: BASE64_STANDARD.encode(signature.expect("a signature")),
            }
        }
    }

    #[test]
    fn a_statement_is_believed_that_the_pinned_key_has_signed() {
        const WORDS: &str = "ghcr.io/who/words";
        let (ours, other) = (Signer::new(), Signer::new());
        let keys = PinnedKeys {
            required: false,
            keys: vec![ours.pinned("ghcr.io/who/")],
        };
        let good = ours.signs(WORDS, "sha256:1");
        let own = fingerprint(&read_key(&keys.keys[0].key).unwrap());
        assert_eq!(
            keys.signer(WORDS, "sha256:1", std::slice::from_ref(&good))
                .unwrap(),
            own
        );
        // Others may sign as well.
        let both = [other.signs(WORDS, "sha256:1"), good.clone()];
        assert_eq!(keys.signer(WORDS, "sha256:1", &both).unwrap(), own);
        let changed = Signature {
            statement: ours.signs(WORDS, "sha256:2").statement,
            ..good.clone()
        };
        for (signatures, expected) in [
            (
                vec![],
                "ghcr.io/who/words is not signed, and its signer's key is pinned",
            ),
            (
                vec![other.signs(WORDS, "sha256:1")],
                "its signatures are of other keys",
            ),
            (vec![changed], "its signatures are of other keys"),
            (
                vec![Signature {
                    signature: "no base64".to_owned(),
                    ..good.clone()
                }],
                "its signatures are of other keys",
            ),
            (
                vec![ours.signs(WORDS, "sha256:2")],
                "the signature is of sha256:2",
            ),
            (
                vec![ours.signs("ghcr.io/who/lines", "sha256:1")],
                "the signature is of \"ghcr.io/who/lines\"",
            ),
            (
                vec![ours.signs_text("{}")],
                "not a statement about an image",
            ),
            (vec![ours.signs_text("{")], "not JSON"),
        ] {
            let error = keys.signer(WORDS, "sha256:1", &signatures).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
        let hub = PinnedKeys {
            required: false,
            keys: vec![ours.pinned("docker.io/who/words")],
        };
        let signed = [ours.signs("index.docker.io/who/words", "sha256:1")];
        assert_eq!(
            hub.signer("docker.io/who/words", "sha256:1", &signed)
                .unwrap(),
            own
        );
    }

    #[test]
    fn the_longest_path_decides_who_signs() {
        let (wide, narrow) = (Signer::new(), Signer::new());
        let keys = PinnedKeys {
            required: true,
            keys: vec![
                wide.pinned("ghcr.io/who/"),
                narrow.pinned("ghcr.io/who/words"),
            ],
        };
        let signer = |origin: &str, by: &Signer| {
            let signed = [by.signs(origin, "sha256:1")];
            keys.signer(origin, "sha256:1", &signed)
        };
        assert!(signer("ghcr.io/who/lines", &wide).is_ok());
        assert!(signer("ghcr.io/who/words", &narrow).is_ok());
        assert!(signer("ghcr.io/who/words", &wide).is_err());
        // A name that only begins alike is another one.
        assert!(
            keys.of("ghcr.io/who/words2")
                .iter()
                .all(|it| it.origin == "ghcr.io/who/")
        );
        assert!(keys.of("ghcr.io/whoever/words").is_empty());

        let narrow = fingerprint(&read_key(&keys.keys[1].key).unwrap());
        let wide = fingerprint(&read_key(&keys.keys[0].key).unwrap());
        assert!(keys.admit("ghcr.io/who/words", Some(&narrow)).is_ok());
        for (origin, signer) in [
            ("ghcr.io/who/words", Some(wide.as_str())),
            ("ghcr.io/who/words", None),
            ("/home/ada/words", None),
        ] {
            assert!(keys.admit(origin, signer).is_err(), "{origin} {signer:?}");
        }
        let open = PinnedKeys {
            required: false,
            ..keys
        };
        assert!(open.admit("/home/ada/words", None).is_ok());
    }

    #[test]
    fn a_key_is_pinned_to_what_an_origin_can_be() {
        for (written, expected) in [
            ("ghcr.io/who/words", Some("ghcr.io/who/words")),
            ("ghcr.io/who/", Some("ghcr.io/who/")),
            ("ghcr.io/", Some("ghcr.io/")),
            ("GHCR.io:443/who/", Some("ghcr.io/who/")),
            ("LOCALHOST:05000/words", Some("localhost:5000/words")),
            ("docker.io/who/words", Some("docker.io/who/words")),
            ("ghcr.io/who/words:1.0", None),
            ("ghcr.io/who/words//", None),
            ("https://ghcr.io/who/words", None),
            ("who/words", None),
            ("docker.io/words", None),
            ("words", None),
            ("/home/ada/words", None),
            ("", None),
            ("/", None),
        ] {
            assert_eq!(pinned_origin(written).as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn keys_of_other_kinds_are_named() {
        for (text, expected) in [
            ("", "it holds no public key"),
            (
                "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
                "not a P-256 key",
            ),
            (
                "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n",
                "it holds a private key: pin the public one",
            ),
            (
                "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n",
                "it holds a private key: pin the public one",
            ),
            ("a private key", "it holds no public key"),
        ] {
            let error = read_key(text).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
