//! What a component says of itself for people: its version, its licence, where it is developed.
//!
//! It stands in the custom sections that `wasm-tools metadata` reads and writes, and that registries show. Nothing of it
//! decides anything, and its author wrote it: escape it before it is shown.

use serde::{Deserialize, Serialize};

use crate::sections;

/// Bytes of one of the texts. What is longer is left out when it is read.
pub const MAX_METADATA_BYTES: usize = 4 * 1024;

/// What a component says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Its version, as a rule such as `1.2.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authors: Option<String>,
    /// Its licence, as a rule an SPDX expression such as `MIT OR Apache-2.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licenses: Option<String>,
    /// The address of a page about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// The address of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The names of the sections, in the order in which [`Metadata::texts`] gives the texts.
const SECTIONS: [&str; 6] = [
    "version",
    "description",
    "authors",
    "licenses",
    "homepage",
    "source",
];

impl Metadata {
    /// Reads what stands in a component. What is not text or too long is left out.
    pub fn of_component(component: &[u8]) -> Metadata {
        let mut metadata = Metadata::default();
        for (name, text) in SECTIONS.into_iter().zip(metadata.texts_mut()) {
            let found = sections::custom(component, name).unwrap_or_default();
            let found = found
                .last()
                .filter(|content| content.len() <= MAX_METADATA_BYTES);
            let found = found.and_then(|content| str::from_utf8(content).ok());
            *text = found
                .map(str::trim)
                .filter(|found| !found.is_empty())
                .map(str::to_owned);
        }
        metadata
    }

    /// The component with these texts in place of those that it has. What is not said here stays as it is there. `None`: the
    /// bytes are not a component.
    pub fn put_into(&self, component: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = component.to_vec();
        for (name, text) in self.texts() {
            if let Some(text) = text {
                bytes = sections::with(&bytes, name, Some(text.as_bytes()))?;
            }
        }
        Some(bytes)
    }

    /// The texts with the names of their sections.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        let texts = [
            &self.version,
            &self.description,
            &self.authors,
            &self.licenses,
            &self.homepage,
            &self.source,
        ];
        SECTIONS.into_iter().zip(texts.map(Option::as_deref))
    }

    /// The texts, to be changed.
    pub fn texts_mut(&mut self) -> [&mut Option<String>; 6] {
        [
            &mut self.version,
            &mut self.description,
            &mut self.authors,
            &mut self.licenses,
            &mut self.homepage,
            &mut self.source,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_kept_in_the_component() {
        let empty = b"\0asm\x0d\0\x01\0".to_vec();
        assert_eq!(Metadata::of_component(&empty), Metadata::default());
        let first = Metadata {
            version: Some("1.0.0".to_owned()),
            licenses: Some("MIT".to_owned()),
            ..Metadata::default()
        };
        let bytes = first.put_into(&empty).unwrap();
        // The form that other tools read: the section's kind, its length, its name, the text.
        assert!(bytes.ends_with(b"\0\x0c\x08licensesMIT"), "{bytes:?}");
        assert_eq!(Metadata::of_component(&bytes), first);
        let second = Metadata {
            version: Some("1.1.0".to_owned()),
            homepage: Some("https://example.com".to_owned()),
            ..Metadata::default()
        };
        let bytes = second.put_into(&bytes).unwrap();
        let both = Metadata {
            licenses: first.licenses,
            ..second
        };
        assert_eq!(Metadata::of_component(&bytes), both);
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        let empty = b"\0asm\x0d\0\x01\0".to_vec();
        let long = "x".repeat(MAX_METADATA_BYTES + 1);
        for content in [&b"\xff"[..], b" \n", long.as_bytes()] {
            let bytes = sections::with(&empty, "version", Some(content)).unwrap();
            assert_eq!(Metadata::of_component(&bytes), Metadata::default());
        }
        assert_eq!(Metadata::of_component(b"no component"), Metadata::default());
        let cut = [&empty[..], b"\0\x0c\x08licensesM"].concat();
        assert_eq!(Metadata::of_component(&cut), Metadata::default());
        assert_eq!(
            Metadata::default().put_into(b"\0asm"),
            Some(b"\0asm".to_vec())
        );
    }
}
