//! Where a plugin comes from, as a part of its identity.
//!
//! A plugin is its origin and its name. A new version from the same origin is the same plugin: it keeps its store, and what
//! was set for it is asked about again because its digest is another. The same name from another origin is another plugin.
//!
//! The origin of a plugin from a registry is the repository, whatever the tag. That of a folder in which plugins are
//! developed is the folder, whatever is built there. That of a single file is its path.

use std::fs;
use std::path::Path;

use oci_spec::distribution::Reference;
use url::Url;

use super::BUILT;

/// The origin of what has this reference. However its host and port are spelt, it is the same: a key that is pinned to an
/// origin must not depend on that.
pub fn of_reference(reference: &Reference) -> String {
    let written = reference.registry();
    let registry = Url::parse(&format!("https://{written}/")).ok();
    let registry = registry.as_ref().and_then(|url| {
        let host = url.host_str()?.trim_end_matches('.');
        let port = url.port().map(|port| format!(":{port}"));
        Some(format!("{host}{}", port.unwrap_or_default()))
    });
    let registry = registry.unwrap_or_else(|| written.to_owned());
    format!("{registry}/{}", reference.repository())
}

/// The origin of a component in a file.
pub fn of_file(path: &Path) -> String {
    let named = match path.file_name().is_some_and(|name| name == BUILT) {
        true => path
            .parent()
            .filter(|folder| *folder != Path::new(""))
            .unwrap_or(Path::new(".")),
        false => path,
    };
    let named = fs::canonicalize(named).unwrap_or_else(|_| named.to_owned());
    named.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_one_origin() {
        let of = |text: &str| of_reference(&text.parse().unwrap());
        let digest = "a".repeat(64);
        for text in [
            "ghcr.io/who/words:1.0",
            "ghcr.io/who/words:latest",
            &format!("ghcr.io/who/words@sha256:{digest}"),
        ] {
            assert_eq!(of(text), "ghcr.io/who/words");
        }
        assert_ne!(of("ghcr.io/who/words:1.0"), of("quay.io/who/words:1.0"));
        for text in [
            "GHCR.io/who/words:1.0",
            "ghcr.io:443/who/words",
            "ghcr.io:0443/who/words",
        ] {
            assert_eq!(of(text), "ghcr.io/who/words", "{text}");
        }
        for text in [
            "127.0.0.1:05000/words",
            "127.1:5000/words",
            "0x7f.1:5000/words",
        ] {
            assert_eq!(of(text), "127.0.0.1:5000/words", "{text}");
        }

        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let folder = root.join("words");
        fs::create_dir(&folder).unwrap();
        // Before and after it is built, and however the folder is called.
        let origin = folder.to_str().unwrap();
        assert_eq!(of_file(&folder.join(BUILT)), origin);
        fs::write(folder.join(BUILT), "").unwrap();
        assert_eq!(of_file(&folder.join("../words").join(BUILT)), origin);
        fs::write(root.join("other.wasm"), "").unwrap();
        assert_eq!(
            of_file(&root.join("other.wasm")),
            root.join("other.wasm").to_str().unwrap()
        );
    }
}
