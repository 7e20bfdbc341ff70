//! The segments that count, and how they follow the files.

mod manifest;
mod update;

use crate::frame;
use crate::segment::{self, Tables, Words};
use crate::store::{Store, StoreError};

pub(crate) use manifest::Entry;

/// What is known of a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMetadata {
    /// Its path, with `/`; this is what hits and globs name it by.
    pub path: String,
    pub size: u64,
    /// When it was last changed, in any unit that tells two moments apart.
    pub modified: u64,
}

/// How far the index follows the files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many files there are.
    pub files: usize,
    /// How many of them are in the index as they are now, those that are not worth reading included.
    pub indexed: usize,
    /// How many bytes there are, without those files that are too large to be read.
    pub bytes: u64,
    /// How many of them are in the index.
    pub indexed_bytes: u64,
    /// How many files are left out because the index is as large as it may be.
    pub left_out: usize,
}

impl Progress {
    /// Whether there is nothing left to read.
    pub fn is_complete(&self) -> bool {
        self.indexed + self.left_out >= self.files
    }
}

/// A segment, and which of its files count.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) entry: Entry,
    pub(crate) tables: Tables,
}

impl Segment {
    pub(crate) fn is_live(&self, file: usize) -> bool {
        self.entry.live.get(file).copied().unwrap_or(false)
    }
}

/// An index that was opened.
#[derive(Debug, Default)]
pub struct Index {
    pub(crate) segments: Vec<Segment>,
    /// The number of the next segment.
    next: u64,
}

impl Index {
    /// Opens the index of a store. Where there is none, or what is there cannot be trusted, an empty one.
    pub fn open(store: &dyn Store) -> Result<Self, StoreError> {
        let Some(blob) = store.get(manifest::NAME)? else {
            return Ok(Self::default());
        };
        let Some((next, entries)) = manifest::decode(&blob) else {
            return Ok(Self::default());
        };
        let mut index = Self {
            segments: Vec::with_capacity(entries.len()),
            next,
        };
        for entry in entries {
            // Files of a segment that is damaged are not there, and are read again at the next update.
            let blob = store.get(&segment::tables_name(entry.id))?;
            let blob = blob.filter(|blob| frame::sum(blob) == entry.sums[0]);
            let tables = blob.as_deref().and_then(Tables::decode);
            if let Some(tables) = tables
                && tables.files.len() == entry.live.len()
            {
                index.segments.push(Segment { entry, tables });
            }
        }
        Ok(index)
    }

    /// How many files the index has, those that are not worth reading not counted.
    pub fn files(&self) -> usize {
        self.segments
            .iter()
            .flat_map(|segment| segment.tables.files.iter().zip(&segment.entry.live))
            .filter(|(file, live)| **live && file.chunks > 0)
            .count()
    }

    /// Forgets everything, also in the store.
    pub fn clear(&mut self, store: &mut dyn Store) -> Result<(), StoreError> {
        self.segments.clear();
        store.remove(manifest::NAME)?;
        self.sweep(store)
    }

    /// The words of a segment, `None` if they are damaged.
    pub(crate) fn words(segment: &Segment, store: &dyn Store) -> Result<Option<Words>, StoreError> {
        let blob = store.get(&segment::words_name(segment.entry.id))?;
        let blob = blob.filter(|blob| frame::sum(blob) == segment.entry.sums[1]);
        Ok(blob.and_then(Words::decode))
    }

    /// Drops a segment whose words turned out to be damaged.
    pub(crate) fn drop_segment(
        &mut self,
        id: u64,
        store: &mut dyn Store,
    ) -> Result<(), StoreError> {
        self.segments.retain(|segment| segment.entry.id != id);
        self.save(store)
    }

    fn save(&self, store: &mut dyn Store) -> Result<(), StoreError> {
        let entries: Vec<&Entry> = self.segments.iter().map(|s| &s.entry).collect();
        store.put(manifest::NAME, &manifest::encode(self.next, &entries))
    }

    /// Removes the blobs that no segment needs any more.
    fn sweep(&self, store: &mut dyn Store) -> Result<(), StoreError> {
        for name in store.list()? {
            let is_needed = name == manifest::NAME
                || self.segments.iter().any(|segment| {
                    name == segment::tables_name(segment.entry.id)
                        || name == segment::words_name(segment.entry.id)
                });
            // Only what is named like a segment's blob is ours.
            let is_ours = name.ends_with(".tables") || name.ends_with(".words");
            if is_ours && !is_needed {
                store.remove(&name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
