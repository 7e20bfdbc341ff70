//! Fetches from the segments what they have of a question.

use super::query::{Filter, Question};
use crate::index::Index;
use crate::segment::Posting;
use crate::store::{Store, StoreError};

/// What a segment has of a question.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Which of the index's segments it is.
    pub(crate) segment: usize,
    /// For each chunk the number of its file, `u32::MAX` where that does not count.
    pub(crate) file_of: Vec<u32>,
    /// For each word or pair that is wanted, the chunks that have it.
    pub(crate) chunks: Vec<Vec<Posting>>,
    /// For each, the files whose path has it.
    pub(crate) paths: Vec<Vec<Posting>>,
}

/// What all segments have.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) found: Vec<Found>,
    /// Files that count.
    pub(crate) files: usize,
    /// Chunks of those.
    pub(crate) chunks: usize,
    /// Words of those.
    pub(crate) words: u64,
    /// For each that is wanted, how many files have it.
    pub(crate) frequency: Vec<usize>,
    /// For each, how many paths.
    pub(crate) path_frequency: Vec<usize>,
    /// Whether a segment was damaged, and dropped.
    pub(crate) damaged: bool,
}

/// Reads the words of all segments, one after the other.
pub(crate) fn gather(
    index: &mut Index,
    store: &mut dyn Store,
    question: &Question,
    filter: &Filter,
) -> Result<Gathered, StoreError> {
    let mut gathered = Gathered {
        frequency: vec![0; question.wanted.len()],
        path_frequency: vec![0; question.wanted.len()],
        ..Gathered::default()
    };
    let mut number = 0;
    while let Some(segment) = index.segments.get(number) {
        let Some(words) = Index::words(segment, &*store)? else {
            gathered.damaged = true;
            let id = segment.entry.id;
            index.drop_segment(id, store)?;
            continue;
        };
        let mut found = Found {
            segment: number,
            file_of: vec![u32::MAX; segment.tables.chunks.len()],
            ..Found::default()
        };
        let mut counts = vec![false; segment.tables.files.len()];
        for (file, row) in segment.tables.files.iter().enumerate() {
            if row.chunks == 0 || !segment.is_live(file) || !filter.takes(&row.path) {
                continue;
            }
            counts[file] = true;
            gathered.files += 1;
            gathered.chunks += row.chunks as usize;
            gathered.words += u64::from(row.words);
            let first = row.first_chunk as usize;
            found.file_of[first..first + row.chunks as usize].fill(file as u32);
        }
        for (number, wanted) in question.wanted.iter().enumerate() {
            let mut chunks = words.postings(wanted.term, segment.tables.chunks.len() as u32);
            chunks.retain(|posting| found.file_of[posting.at as usize] != u32::MAX);
            let mut last = u32::MAX;
            for posting in &chunks {
                let file = found.file_of[posting.at as usize];
                gathered.frequency[number] += usize::from(file != last);
                last = file;
            }
            let mut paths = Vec::new();
            if !wanted.is_pair {
                paths = words.postings(wanted.in_path, segment.tables.files.len() as u32);
                paths.retain(|posting| counts[posting.at as usize]);
                gathered.path_frequency[number] += paths.len();
            }
            found.chunks.push(chunks);
            found.paths.push(paths);
        }
        gathered.found.push(found);
        number += 1;
    }
    Ok(gathered)
}
