//! A part of the index: some files, read once and never changed.
//!
//! Two blobs. The tables say which files and chunks there are; that is all an update has to read. The words say which
//! chunk has which term how often; a question reads them too.

mod build;
mod tables;
mod words;

pub(crate) use build::{Builder, path_terms};
pub(crate) use tables::Tables;
pub(crate) use words::{Posting, Words};

/// The name of the blob with a segment's tables.
pub(crate) fn tables_name(id: u64) -> String {
    format!("{id:016x}.tables")
}

/// The name of the blob with a segment's words.
pub(crate) fn words_name(id: u64) -> String {
    format!("{id:016x}.words")
}
