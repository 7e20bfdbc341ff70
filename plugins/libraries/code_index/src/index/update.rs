//! Follows the files: reads what is new or changed, forgets what is gone.

use std::collections::HashMap;

use super::{Entry, FileMetadata, Index, Progress, Segment};
use crate::frame;
use crate::kind::{self, Kind};
use crate::segment::{self, Builder};
use crate::store::{Store, StoreError};

/// Bytes of all blobs together. A tree that needs more is searched as far as it is read.
const MAX_INDEX_BYTES: u64 = 256 << 20;

/// Bytes of blobs below which a segment is small.
const SMALL_BYTES: u64 = 512 << 10;

/// Small segments that are borne. More are read together into one: each costs a question an opening.
const MAX_SMALL: usize = 6;

/// Where a file stands in the index.
#[derive(Debug, Clone, Copy)]
struct Place {
    segment: u64,
    file: usize,
}

impl Index {
    /// Follows the files: `files` names all there are, `read` reads one and gives `None` where that fails.
    ///
    /// `go_on` is asked after each file and told how far it is; when it says no, what was read until then is kept and
    /// the next update goes on from there. Source is read first. The index in the store is whole after every step.
    pub fn update(
        &mut self,
        store: &mut dyn Store,
        files: &[FileMetadata],
        read: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Progress, StoreError> {
        let mut run = Run::new(self, files);
        let forgot = run.forget_gone();
        let pending = run.pending();
        let wrote = run.read_all(store, &pending, read, go_on)?;
        if forgot && !wrote {
            run.index.save(store)?;
            run.index.sweep(store)?;
        }
        Ok(run.progress)
    }
}

/// One update.
struct Run<'a> {
    index: &'a mut Index,
    files: &'a [FileMetadata],
    /// Where each file of the index stands.
    places: HashMap<String, Place>,
    progress: Progress,
}

impl<'a> Run<'a> {
    fn new(index: &'a mut Index, files: &'a [FileMetadata]) -> Self {
        let mut places = HashMap::new();
        for segment in &index.segments {
            for (file, row) in segment.tables.files.iter().enumerate() {
                if segment.is_live(file) {
                    let place = Place {
                        segment: segment.entry.id,
                        file,
                    };
                    places.insert(row.path.clone(), place);
                }
            }
        }
        let progress = Progress {
            files: files.len(),
            bytes: files.iter().map(readable).sum(),
            ..Progress::default()
        };
        Self {
            index,
            files,
            places,
            progress,
        }
    }

    /// Forgets the files that are not there any more. Whether there were any.
    fn forget_gone(&mut self) -> bool {
        let known: std::collections::HashSet<&str> = self
            .files
            .iter()
            .map(|metadata| metadata.path.as_str())
            .collect();
        let mut forgot = false;
        for segment in &mut self.index.segments {
            for (row, live) in segment.tables.files.iter().zip(&mut segment.entry.live) {
                if *live && !known.contains(row.path.as_str()) {
                    *live = false;
                    forgot = true;
                    self.places.remove(&row.path);
                }
            }
        }
        let before = self.index.segments.len();
        self.index
            .segments
            .retain(|segment| segment.entry.live.contains(&true));
        forgot || before != self.index.segments.len()
    }

    /// The files to read, source first. Counts the others.
    fn pending(&mut self) -> Vec<&'a FileMetadata> {
        let segments: HashMap<u64, &Segment> = self
            .index
            .segments
            .iter()
            .map(|segment| (segment.entry.id, segment))
            .collect();
        let mut pending = Vec::new();
        for metadata in self.files {
            let row = self
                .places
                .get(&metadata.path)
                .and_then(|place| segments.get(&place.segment)?.tables.files.get(place.file));
            match row {
                Some(row) if row.size == metadata.size && row.modified == metadata.modified => {
                    self.progress.indexed += 1;
                    self.progress.indexed_bytes += readable(metadata);
                }
                _ => pending.push(metadata),
            }
        }
        pending.sort_by_cached_key(|metadata| match Kind::of_path(&metadata.path) {
            Kind::Skipped => u8::MAX,
            kind => kind as u8,
        });
        pending
    }

    /// Reads files into new segments. Whether anything was written.
    fn read_all(
        &mut self,
        store: &mut dyn Store,
        pending: &[&FileMetadata],
        read: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<bool, StoreError> {
        let mut builder = Builder::default();
        let mut wrote = false;
        let mut stopped = false;
        for (number, metadata) in pending.iter().enumerate() {
            if self.blob_bytes() >= MAX_INDEX_BYTES {
                self.progress.left_out = pending.len() - number;
                break;
            }
            if !read_one(metadata, &mut builder, read) {
                // It cannot be read, so there is nothing to wait for; the next update tries again.
                wrote |= self.forget(&metadata.path);
            }
            self.progress.indexed += 1;
            self.progress.indexed_bytes += readable(metadata);
            if builder.is_full() {
                self.finish(std::mem::take(&mut builder), store)?;
                wrote = true;
            }
            if !go_on(&self.progress) {
                stopped = true;
                break;
            }
        }
        if !stopped && !builder.is_empty() {
            self.gather_small(&mut builder, read);
        }
        if !builder.is_empty() {
            self.finish(builder, store)?;
            return Ok(true);
        }
        if wrote {
            self.index.save(store)?;
            self.index.sweep(store)?;
        }
        Ok(wrote)
    }

    /// Reads the files of many small segments anew, so that the new segment takes their place.
    fn gather_small(
        &mut self,
        builder: &mut Builder,
        read: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
    ) {
        let is_small = |segment: &&Segment| segment.entry.blob_bytes < SMALL_BYTES;
        let small: Vec<&Segment> = self.index.segments.iter().filter(is_small).collect();
        if small.len() < MAX_SMALL {
            return;
        }
        let added: std::collections::HashSet<String> = builder.paths().map(str::to_owned).collect();
        let again: Vec<FileMetadata> = small
            .iter()
            .flat_map(|segment| {
                let rows = segment.tables.files.iter().enumerate();
                rows.filter(|(file, row)| segment.is_live(*file) && !added.contains(&row.path))
            })
            .map(|(_, row)| FileMetadata {
                path: row.path.clone(),
                size: row.size,
                modified: row.modified,
            })
            .collect();
        for metadata in again {
            if builder.is_full() {
                break;
            }
            read_one(&metadata, builder, read);
        }
    }

    fn forget(&mut self, path: &str) -> bool {
        let Some(place) = self.places.remove(path) else {
            return false;
        };
        let segment = self
            .index
            .segments
            .iter_mut()
            .find(|s| s.entry.id == place.segment);
        if let Some(live) = segment.and_then(|segment| segment.entry.live.get_mut(place.file)) {
            *live = false;
        }
        true
    }

    /// Writes a segment, then the list that makes it count.
    fn finish(&mut self, builder: Builder, store: &mut dyn Store) -> Result<(), StoreError> {
        let (tables, tables_blob, words_blob) = builder.finish();
        let id = self.index.next;
        self.index.next += 1;
        store.put(&segment::tables_name(id), &tables_blob)?;
        store.put(&segment::words_name(id), &words_blob)?;
        for (file, row) in tables.files.iter().enumerate() {
            self.forget(&row.path);
            self.places
                .insert(row.path.clone(), Place { segment: id, file });
        }
        let entry = Entry {
            id,
            blob_bytes: (tables_blob.len() + words_blob.len()) as u64,
            sums: [frame::sum(&tables_blob), frame::sum(&words_blob)],
            live: vec![true; tables.files.len()],
        };
        self.index.segments.push(Segment { entry, tables });
        self.index
            .segments
            .retain(|segment| segment.entry.live.contains(&true));
        self.index.save(store)?;
        self.index.sweep(store)
    }

    fn blob_bytes(&self) -> u64 {
        self.index.segments.iter().map(|s| s.entry.blob_bytes).sum()
    }
}

/// Reads a file. Whether it could be read.
fn read_one(
    metadata: &FileMetadata,
    builder: &mut Builder,
    read: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
) -> bool {
    if metadata.size > kind::MAX_FILE_BYTES || Kind::of_path(&metadata.path) == Kind::Skipped {
        builder.skip(metadata);
        return true;
    }
    match read(&metadata.path) {
        Some(text) => {
            builder.add(metadata, &text);
            true
        }
        None => false,
    }
}

/// Bytes of a file that are read.
fn readable(metadata: &FileMetadata) -> u64 {
    if metadata.size > kind::MAX_FILE_BYTES {
        0
    } else {
        metadata.size
    }
}
