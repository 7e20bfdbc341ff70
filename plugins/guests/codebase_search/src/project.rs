//! The files and the store that the host gives, as the index wants them.

use std::cell::{Cell, RefCell};

use dunlin_code_index::{FileMetadata, Store, StoreError};
use dunlin_sdk::{Error, store, tree};

/// The files of the project.
pub struct Project<'a> {
    folder: &'a tree::Folder,
    files: Vec<FileMetadata>,
    /// What ended the reading: a file that is not there is nothing, but a call that was interrupted must not go on.
    error: RefCell<Option<Error>>,
    is_over: Cell<bool>,
}

impl<'a> Project<'a> {
    /// The files that were listed.
    pub fn new(folder: &'a tree::Folder, files: Vec<tree::Entry>) -> Self {
        let metadata = |file: tree::Entry| FileMetadata {
            path: file.path,
            size: file.size_bytes,
            modified: file.version,
        };
        Self {
            folder,
            files: files.into_iter().map(metadata).collect(),
            error: RefCell::default(),
            is_over: Cell::default(),
        }
    }

    pub fn files(&self) -> &[FileMetadata] {
        &self.files
    }

    /// A file as it is now.
    pub fn read(&self, path: &str) -> Option<Vec<u8>> {
        if self.is_over.get() {
            return None;
        }
        match self.folder.read_file(path) {
            Ok(bytes) => bytes,
            // Something is wrong with this file, and the others may be read.
            Err(Error::Failed(_) | Error::Invalid(_)) => None,
            Err(error) => {
                self.is_over.set(true);
                self.error.replace(Some(error));
                None
            }
        }
    }

    /// What ended the reading, if anything did.
    pub fn error(&self) -> Option<Error> {
        self.error.take()
    }
}

/// The tool's own store.
#[derive(Debug)]
pub struct OwnStore;

impl Store for OwnStore {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        store::get(name).map_err(said)
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        store::put(name, bytes).map_err(said)
    }

    fn remove(&mut self, name: &str) -> Result<(), StoreError> {
        store::remove(name).map_err(said)
    }

    fn list(&self) -> Result<Vec<String>, StoreError> {
        let entries = store::entries().map_err(said)?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }
}

fn said(error: Error) -> StoreError {
    StoreError(error.to_string())
}
