//! Indexes of plugins: lists that anybody can publish, and that the user chooses.
//!
//! An index is a JSON file in a git repository, in a registry, or at an address of the web. It says where plugins are, and
//! nothing more: what is installed comes from the registry that it names, with the same question as always.

mod source;

use oci_spec::distribution::Reference;
use serde::{Deserialize, Serialize};

pub use source::{Source, SourceError};

/// Bytes of an index. With a line of text for each plugin, that is ten thousand.
pub const MAX_INDEX_BYTES: u64 = 4 * 1024 * 1024;

/// The form of an index that is read here.
const FORM: u64 = 1;

/// An index, as it is published.
#[derive(Debug, Deserialize)]
struct Index {
    dunlin_plugins: u64,
    #[serde(default)]
    plugins: Vec<Entry>,
}

/// A plugin of an index. What its publisher wrote is not escaped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub name: String,
    /// Where it is, in a registry: `ghcr.io/who/words:1.0`.
    pub reference: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub version: Option<String>,
    /// Its licence.
    #[serde(default)]
    pub license: Option<String>,
    /// The address of a page about it.
    #[serde(default)]
    pub homepage: Option<String>,
}

/// Why something cannot be read as an index: the end of a sentence that begins with the source's name.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// It is something else.
    #[error(
        "is not an index of plugins (a file such as {{\"dunlin_plugins\": 1, \"plugins\": [...]}}): {0}"
    )]
    NotAnIndex(serde_json::Error),
    #[error("is an index of form {0}, and this Dunlin reads form {FORM}")]
    OtherForm(u64),
    /// It says of a plugin that it is where none can be.
    #[error(
        "names {reference:?} as the place of {name:?}, which is not a reference such as ghcr.io/who/tool:1.0"
    )]
    NotAReference {
        /// What it names.
        reference: String,
        /// The name of the plugin.
        name: String,
    },
}

/// Reads an index.
///
/// # Errors
/// It is something else, or for a newer Dunlin.
pub fn parse(bytes: &[u8]) -> Result<Vec<Entry>, IndexError> {
    let index: Index = serde_json::from_slice(bytes).map_err(IndexError::NotAnIndex)?;
    if index.dunlin_plugins != FORM {
        return Err(IndexError::OtherForm(index.dunlin_plugins));
    }
    let is_wrong = |entry: &&Entry| entry.reference.parse::<Reference>().is_err();
    if let Some(entry) = index.plugins.iter().find(is_wrong) {
        return Err(IndexError::NotAReference {
            reference: entry.reference.clone(),
            name: entry.name.clone(),
        });
    }
    Ok(index.plugins)
}

impl Entry {
    /// Whether all of these words are in its name or its description, in any case.
    pub fn has(&self, words: &[String]) -> bool {
        let text = format!("{} {}", self.name, self.description).to_lowercase();
        words.iter().all(|word| text.contains(&word.to_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_the_documentation_is_read() {
        let page = include_str!("../../../../docs/plugins/publishing.md");
        let block = page.split("```json\n").nth(1).unwrap();
        let text = block.split("```").next().unwrap();
        let entries = parse(text.as_bytes()).unwrap();
        assert_eq!(entries[0].reference, "ghcr.io/who/words:1.0.0");
    }

    #[test]
    fn an_index_is_read() {
        let text = br#"{"dunlin_plugins": 1, "plugins": [
            {"name": "words", "reference": "ghcr.io/who/words:1.0", "description": "Counts WORDS of a file", "later": 1}]}"#;
        let entries = parse(text).unwrap();
        assert_eq!(entries.len(), 1);
        let has = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            entries[0].has(&words)
        };
        assert!(has(&[]) && has(&["count", "File"]));
        assert!(!has(&["count", "lines"]));
        for (text, said) in [
            (r#"{"dunlin_plugins": 2}"#, "is an index of form 2, and"),
            ("{}", "is not an index of plugins"),
            ("<html>", "is not an index of plugins"),
            (
                r#"{"dunlin_plugins": 1, "plugins": [{"name": "a", "reference": "../a.wasm"}]}"#,
                "names \"../a.wasm\" as the place of \"a\"",
            ),
        ] {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
