//! Plugins that somebody has signed: signatures as cosign keeps them in a registry, made with a key of the test's.

use std::fs;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use dunlin_tests::guests::guest;
use dunlin_tests::{Environment, Page, Site, program};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;

use super::registry::{WASM, digest, manifest};

/// What stands before the point of a P-256 key in its DER form, in hexadecimal. Source: RFC 5480, section 2.
const PREFIX: &str = "3059301306072a8648ce3d020106082a8648ce3d030107034200";

/// A pair of keys; the public one is in a file.
struct Key {
    pair: Arc<EcdsaKeyPair>,
    folder: tempfile::TempDir,
}

impl Key {
    fn new() -> Key {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let made = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, made.as_ref(), &random).expect("the key");
        let byte = |at| u8::from_str_radix(&PREFIX[at..at + 2], 16).expect("a byte");
        let mut der: Vec<u8> = (0..PREFIX.len()).step_by(2).map(byte).collect();
        der.extend_from_slice(pair.public_key().as_ref());
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, kind: &str, bytes: &[u8]| {
            let text = BASE64_STANDARD.encode(bytes);
            let text = format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n");
            fs::write(folder.path().join(name), text).expect("a key");
        };
        write("key.pub", "PUBLIC KEY", &der);
        write("key", "PRIVATE KEY", made.as_ref());
        Key {
            pair: Arc::new(pair),
            folder,
        }
    }

    fn file(&self, name: &str) -> String {
        let file = self.folder.path().join(name);
        file.into_os_string().into_string().expect("UTF-8")
    }
}

/// A registry with the image `who/echo-tool:1.0`, which this key has signed as the image with this digest, or as itself.
fn registry(key: Option<&Key>, other: Option<String>) -> Site {
    let key = key.map(|key| Arc::clone(&key.pair));
    let echo = guest("echo");
    let layer = format!("sha256:{}", echo.digest);
    let image = manifest(WASM, echo.bytes.len(), &layer);
    let image_digest = digest(&image);
    let tag = image_digest.replace(':', "-");
    Site::start(move |request| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let part = path.strip_prefix("/v2/who/echo-tool/").unwrap_or_default();
        let lower = request.to_ascii_lowercase();
        let host = lower.lines().find_map(|line| line.strip_prefix("host: "));
        let statement = json!({
            "critical": {
                "identity": { "docker-reference": format!("{}/who/echo-tool", host.unwrap_or_default()) },
                "image": { "docker-manifest-digest": other.as_ref().unwrap_or(&image_digest) },
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let statement = statement.to_string().into_bytes();
        let manifest_of =
            |manifest: Vec<u8>| Page::of("application/vnd.oci.image.manifest.v1+json", manifest);
        if part == "manifests/1.0" || part == format!("manifests/{image_digest}") {
            manifest_of(image.clone())
        } else if part == format!("blobs/{layer}") {
            Page::of("application/octet-stream", echo.bytes.to_vec())
        } else if let Some(key) = key.as_deref()
            && part == format!("manifests/{tag}.sig")
        {
            manifest_of(signature(key, &statement))
        } else if part == format!("blobs/{}", digest(&statement)) {
            Page::of("application/octet-stream", statement)
        } else {
            Page::html("").with_status(404)
        }
    })
}

/// The image that holds the signature of a statement, behind those of others, whose statements the registry has lost.
fn signature(key: &EcdsaKeyPair, statement: &[u8]) -> Vec<u8> {
    let signature = key.sign(&SystemRandom::new(), statement);
    let text = BASE64_STANDARD.encode(signature.expect("a signature"));
    let config = json!({ "mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(b"{}"), "size": 2 });
    let layer = json!({
        "mediaType": "application/vnd.dev.cosign.simplesigning.v1+json",
        "digest": digest(statement), "size": statement.len(),
        "annotations": { "dev.cosignproject.cosign/signature": text },
    });
    let others = (0..20).map(|other: u8| {
        let mut layer = layer.clone();
        layer["digest"] = json!(digest(&[other]));
        layer
    });
    let layers: Vec<_> = others.chain([layer.clone()]).collect();
    let manifest = json!({ "schemaVersion": 2, "config": config, "layers": layers });
    manifest.to_string().into_bytes()
}

#[test]
fn a_pinned_key_decides_what_is_installed() {
    let (ours, other_key) = (Key::new(), Key::new());
    let public = ours.file("key.pub");
    let another_image = digest(b"another image");
    for (key, other, expected) in [
        (Some(&ours), None, None),
        (
            Some(&other_key),
            None,
            Some("is not signed with the pinned key: its signatures are of other keys"),
        ),
        (
            None,
            None,
            Some("is not signed, and its signer's key is pinned"),
        ),
        (
            Some(&ours),
            Some(another_image.clone()),
            Some("the signature is of sha256:"),
        ),
    ] {
        let environment = Environment::new(program!());
        let site = registry(key, other);
        let reference = format!("127.0.0.1:{}/who/echo-tool:1.0", site.port());
        // Without a key nothing is asked of signatures.
        let output = environment.run(["plugin", "check", &reference]);
        assert_eq!(output.status, Some(0), "{output}");
        assert!(!output.stdout.contains("signed"), "{output}");
        assert!(site.requests().iter().all(|it| !it.contains(".sig ")));

        let origin = format!("127.0.0.1:{}/who/", site.port());
        let output = environment.run(["plugin", "key", "add", &origin, &public]);
        assert_eq!(output.status, Some(0), "{output}");
        let output = environment.run(["plugin", "install", &reference, "--yes"]);
        match expected {
            None => {
                assert_eq!(output.status, Some(0), "{output}");
                let signed = "signed     with the pinned key sha256:";
                assert!(output.stdout.contains(signed), "{output}");
                let info = environment.run(["plugin", "info", "echo_tool"]);
                assert!(info.stdout.contains(signed), "{info}");
            }
            Some(expected) => {
                assert_eq!(output.status, Some(1), "{output}");
                assert!(output.stderr.contains(expected), "{output}");
                let list = environment.run(["plugin", "list"]);
                assert!(list.stderr.starts_with("No plugin is installed"), "{list}");
            }
        }
    }
}

#[test]
fn the_user_can_require_a_key() {
    let ours = Key::new();
    let site = registry(Some(&ours), None);
    let reference = format!("127.0.0.1:{}/who/echo-tool:1.0", site.port());
    let environment = Environment::new(program!());
    let run = |arguments: &[&str], status: i32| {
        let output = environment.run(arguments);
        assert_eq!(output.status, Some(status), "{output}");
        format!("{}{}", output.stdout, output.stderr)
    };
    let echo = environment.root().join("echo.wasm");
    fs::write(&echo, guest("echo").bytes).expect("a component");
    let echo = echo.to_str().expect("a path");
    run(&["plugin", "key", "require", "on"], 0);
    for from in [reference.as_str(), echo] {
        let said = run(&["plugin", "install", from, "--yes"], 1);
        assert!(
            said.contains("every plugin has to be signed, and no signer's key is pinned for"),
            "{said}"
        );
        let fix = match from.starts_with('/') {
            true => "only a plugin from a registry can be signed",
            false => "dunlin plugin key add ORIGIN FILE",
        };
        assert!(said.contains(fix), "{said}");
    }
    let origin = format!("127.0.0.1:{}/who/echo-tool", site.port());
    let stored = environment.config_file().with_file_name("plugin-keys.json");
    // A private key is not one to pin, nor is a tag an origin.
    let said = run(&["plugin", "key", "add", &origin, &ours.file("key")], 1);
    assert!(
        said.contains("it holds a private key: pin the public one"),
        "{said}"
    );
    let said = run(
        &["plugin", "key", "add", &reference, &ours.file("key.pub")],
        2,
    );
    assert!(said.contains("is not an origin of plugins"), "{said}");
    // Only the key is kept of what its file holds.
    let mut both = fs::read(ours.file("key")).expect("a key");
    both.extend(fs::read(ours.file("key.pub")).expect("a key"));
    fs::write(ours.file("both"), both).expect("a file");
    let said = run(&["plugin", "key", "add", &origin, &ours.file("both")], 0);
    let expected = "/who/echo-tool has to be signed with this key from now on";
    assert!(said.contains(expected), "{said}");
    let kept = fs::read_to_string(&stored).expect("the keys");
    assert!(
        kept.contains("BEGIN PUBLIC") && !kept.contains("PRIVATE"),
        "{kept}"
    );
    run(&["plugin", "install", &reference, "--yes"], 0);
    let said = run(&["plugin", "key", "list"], 0);
    assert!(said.contains("/who/echo-tool sha256:"), "{said}");
    assert!(said.contains("Only plugins that are signed"), "{said}");
    run(&["plugin", "key", "remove", &origin], 0);
    let said = run(&["plugin", "key", "remove", &origin], 2);
    assert!(said.contains("no key is pinned for"), "{said}");
    run(&["plugin", "key", "require", "off"], 0);
    run(&["plugin", "remove", "echo_tool", "--yes"], 0);
    run(&["plugin", "install", &reference, "--yes"], 0);
}

/// A file of keys that protects nothing must not look as if it did.
#[test]
fn damaged_keys_stop_installations() {
    let ours = Key::new();
    let site = registry(None, None);
    let reference = format!("127.0.0.1:{}/who/echo-tool:1.0", site.port());
    let environment = Environment::new(program!());
    let run = |arguments: &[&str], status: i32| {
        let output = environment.run(arguments);
        assert_eq!(output.status, Some(status), "{output}");
        format!("{}{}", output.stdout, output.stderr)
    };
    let stored = environment.config_file().with_file_name("plugin-keys.json");
    run(&["plugin", "key", "require", "off"], 0);
    // A key that no origin could have protects nothing.
    for (origin, expected) in [
        (
            "https://ghcr.io/who/words",
            Some("is not an origin of plugins"),
        ),
        // As an earlier build, or a hand, wrote it.
        (
            &*format!("127.0.0.1:0{}/WHO/", site.port()),
            Some("is not an origin of plugins"),
        ),
        (&*format!("127.0.0.1:0{}/who/", site.port()), None),
    ] {
        let key = fs::read_to_string(ours.file("key.pub")).expect("a key");
        let keys = json!({ "required": true, "keys": [{ "origin": origin, "key": key }] });
        fs::write(&stored, keys.to_string()).expect("keys");
        let said = run(&["plugin", "key", "list"], i32::from(expected.is_some()));
        assert!(said.contains(expected.unwrap_or("/who/ sha256:")), "{said}");
    }
    // However it is stored, it can be removed.
    let origin = format!("127.0.0.1:{}/who/", site.port());
    run(&["plugin", "key", "remove", &origin], 0);
    run(&["plugin", "key", "remove", &origin], 2);
    // What is damaged is no permission.
    for (damaged, expected) in [
        ("{}", "missing field `required`"),
        ("[]", "invalid length 0"),
        (
            "{\"requierd\": true, \"required\": false, \"keys\": []}",
            "unknown field `requierd`",
        ),
    ] {
        fs::write(&stored, damaged).expect("a damaged file");
        let said = run(&["plugin", "install", &reference, "--yes"], 1);
        assert!(
            said.contains("plugin-keys.json") && said.contains(expected),
            "{said}"
        );
    }
    fs::remove_file(&stored).expect("removed");
    std::os::unix::fs::symlink("nowhere", &stored).expect("a link");
    let said = run(&["plugin", "install", &reference, "--yes"], 1);
    assert!(said.contains("plugin-keys.json"), "{said}");
}
