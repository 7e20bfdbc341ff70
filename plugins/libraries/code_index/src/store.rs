//! Where the index lies: blobs under names. In the product that is the tool's private store.

use std::collections::BTreeMap;
use std::fmt;

/// A place that keeps blobs under names of lower-case letters, digits, `-` and `.`.
///
/// A blob that was put is found whole or not at all by whoever asks later; in which order several of them reach the
/// disk does not matter, because nothing is believed that another blob does not confirm.
pub trait Store {
    /// The blob of a name, `None` where there is none.
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Keeps a blob under a name, in place of what was there.
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Forgets a blob. One that is not there is no error.
    fn remove(&mut self, name: &str) -> Result<(), StoreError>;

    /// All names.
    fn list(&self) -> Result<Vec<String>, StoreError>;
}

/// Why a store failed, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError(pub String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the index's store failed: {}", self.0)
    }
}

impl std::error::Error for StoreError {}

/// A store in memory, for tests and for one question.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    /// What is kept.
    pub blobs: BTreeMap<String, Vec<u8>>,
}

impl Store for MemoryStore {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.blobs.get(name).cloned())
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.blobs.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), StoreError> {
        self.blobs.remove(name);
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.blobs.keys().cloned().collect())
    }
}
