//! Reads files into a new segment.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::tables::{ChunkRow, FileRow, Tables};
use super::words::{Posting, Words};
use crate::FileMetadata;
use crate::chunks::{self, Line, LineKind};
use crate::kind::Kind;
use crate::words::{self, Stems, Term};

/// Bytes that building takes from which on a segment is full: some 10 MB of source. An index is built in 64 MiB.
const FULL_BYTES: usize = 32 * MIB;

/// Bytes from which on names that were not met before are passed over: only a file of nothing but new names gets there.
const MAX_BYTES: usize = 40 * MIB;

/// What a posting takes at most until the segment is finished: in a list that grows, and sorted.
const POSTING_BYTES: usize = 24;

/// What a term takes: its number, its place, its list, and what it is written as.
const TERM_BYTES: usize = 100;

/// What a name takes.
const NAME_BYTES: usize = 48;

/// Files from which on it is full, however small they are.
const FULL_FILES: usize = 20_000;

/// Terms of one path that are kept.
const MAX_PATH_TERMS: usize = 64;

/// Words of one name that are paired with each other. Names of more are read by nobody to the end.
const MAX_PAIRED: usize = 5;

/// How often a term occurs in the chunk that is being read.
#[derive(Debug, Clone, Copy)]
struct Count {
    term: u32,
    code: u32,
    comment: u32,
    declared: bool,
}

/// That a term has a posting, in the order of reading.
#[derive(Debug, Clone, Copy)]
struct Found {
    term: u32,
    posting: Posting,
}

/// Where in the list of terms those of a name stand.
#[derive(Debug, Clone, Copy)]
struct Named {
    start: u32,
    /// How many words the name is joined of that say something.
    words: u16,
    /// How many terms it has: the words, and each pair of them.
    terms: u16,
}

const MIB: usize = 1024 * 1024;

/// A segment in the making.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    tables: Tables,
    stems: Stems,
    /// The number of each term.
    numbers: HashMap<Term, u32, Plain>,
    /// Each term by its number.
    terms: Vec<Term>,
    /// What each name is joined of; names repeat, so this is most of the speed.
    names: HashMap<u64, Named, Plain>,
    named: Vec<u32>,
    found: Vec<Found>,
    /// What the chunk that is being read has.
    counts: Vec<Count>,
    /// For each term, the place of its count, and of which chunk it is.
    places: Vec<(u32, u32)>,
}

impl Builder {
    /// Whether it should be finished and another one begun.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes() >= FULL_BYTES || self.tables.files.len() >= FULL_FILES
    }

    /// What building takes, by estimate.
    fn bytes(&self) -> usize {
        let names = self.names.len() * NAME_BYTES + self.named.len() * size_of::<u32>();
        self.found.len() * POSTING_BYTES + self.terms.len() * TERM_BYTES + names
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.files.is_empty()
    }

    /// The files in it.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.tables.files.iter().map(|file| file.path.as_str())
    }

    /// Reads a file. What is not worth reading is noted without its words.
    pub(crate) fn add(&mut self, metadata: &FileMetadata, text: &[u8]) -> Kind {
        let kind = Kind::of(&metadata.path, text);
        let first_chunk = self.tables.chunks.len() as u32;
        let mut words = 0;
        if kind != Kind::Skipped {
            let lines = chunks::lines(&metadata.path, text);
            for chunk in chunks::chunks(&lines) {
                words += self.chunk(chunk, &lines[chunk.start..chunk.end]);
            }
            self.path(&metadata.path);
        }
        self.tables.files.push(FileRow {
            path: metadata.path.clone(),
            size: metadata.size,
            modified: metadata.modified,
            kind,
            first_chunk,
            chunks: self.tables.chunks.len() as u32 - first_chunk,
            words,
        });
        kind
    }

    /// Notes a file that is left out, so that it is not read again.
    pub(crate) fn skip(&mut self, metadata: &FileMetadata) {
        self.tables.files.push(FileRow {
            path: metadata.path.clone(),
            size: metadata.size,
            modified: metadata.modified,
            kind: Kind::Skipped,
            first_chunk: self.tables.chunks.len() as u32,
            chunks: 0,
            words: 0,
        });
    }

    /// The tables, and the blobs of tables and words.
    pub(crate) fn finish(self) -> (Tables, Vec<u8>, Vec<u8>) {
        let mut starts = vec![0_usize; self.terms.len() + 1];
        for found in &self.found {
            starts[found.term as usize + 1] += 1;
        }
        for number in 1..starts.len() {
            starts[number] += starts[number - 1];
        }
        let mut next = starts.clone();
        let mut sorted = vec![Posting { at: 0, weights: 0 }; self.found.len()];
        for found in &self.found {
            let place = &mut next[found.term as usize];
            sorted[*place] = found.posting;
            *place += 1;
        }
        drop(self.found);
        let lists = self
            .terms
            .iter()
            .enumerate()
            .map(|(number, term)| (*term, &sorted[starts[number]..starts[number + 1]]))
            .collect();
        let words = Words::encode(lists);
        let tables = self.tables.encode();
        (self.tables, tables, words)
    }

    /// Reads a chunk and returns how many words it has.
    fn chunk(&mut self, chunk: chunks::Chunk, lines: &[Line<'_>]) -> u32 {
        let number = self.tables.chunks.len() as u32;
        self.counts.clear();
        let mut words = 0;
        for line in lines {
            let comment = line.kind == LineKind::Comment;
            let declared = line.name().map(<[u8]>::as_ptr_range);
            words::names(line.text, |name| {
                let declares = declared
                    .as_ref()
                    .is_some_and(|range| range.start <= name.as_ptr() && name.as_ptr() < range.end);
                words += self.name(name, number, comment, declares);
            });
        }
        for count in &self.counts {
            let weights = Posting::pack(count.code, count.comment, count.declared);
            self.found.push(Found {
                term: count.term,
                posting: Posting {
                    at: number,
                    weights,
                },
            });
        }
        self.tables.chunks.push(ChunkRow {
            start: chunk.start as u32,
            lines: (chunk.end - chunk.start) as u32,
            words,
            is_test: chunk.is_test,
        });
        words
    }

    /// Counts what a name is joined of.
    fn name(&mut self, name: &[u8], chunk: u32, comment: bool, declared: bool) -> u32 {
        let key = words::hash(name);
        let named = match self.names.get(&key) {
            Some(named) => *named,
            None if self.bytes() >= MAX_BYTES => return 0,
            None => self.split(name, key),
        };
        let start = named.start as usize;
        for at in start..start + usize::from(named.terms) {
            let term = self.named[at];
            let place = &mut self.places[term as usize];
            if place.1 != chunk + 1 {
                *place = (self.counts.len() as u32, chunk + 1);
                self.counts.push(Count {
                    term,
                    code: 0,
                    comment: 0,
                    declared: false,
                });
            }
            let count = &mut self.counts[place.0 as usize];
            if comment {
                count.comment += 1;
            } else {
                count.code += 1;
            }
            count.declared |= declared;
        }
        u32::from(named.words)
    }

    /// Splits a name that was not met before.
    fn split(&mut self, name: &[u8], key: u64) -> Named {
        let start = self.named.len() as u32;
        let mut terms = Vec::new();
        words::parts(name, |part| terms.extend(self.stems.term(part)));
        for term in &terms {
            let number = self.number(*term);
            self.named.push(number);
        }
        for (at, first) in terms.iter().enumerate().take(MAX_PAIRED) {
            for second in terms.iter().take(MAX_PAIRED).skip(at + 1) {
                if first != second {
                    let number = self.number(words::pair(*first, *second));
                    self.named.push(number);
                }
            }
        }
        let named = Named {
            start,
            words: terms.len() as u16,
            terms: (self.named.len() - start as usize) as u16,
        };
        self.names.insert(key, named);
        named
    }

    /// Notes the words of a path.
    fn path(&mut self, path: &str) {
        let at = self.tables.files.len() as u32;
        let mut all: Vec<(Term, bool)> = Vec::new();
        for (term, is_name) in path_terms(&self.stems, path) {
            match all.iter_mut().find(|(known, _)| *known == term) {
                Some((_, known)) => *known |= is_name,
                None => all.push((term, is_name)),
            }
        }
        for (term, is_name) in all {
            let term = self.number(term);
            let posting = Posting {
                at,
                weights: Posting::pack(1, 0, is_name),
            };
            self.found.push(Found { term, posting });
        }
    }

    fn number(&mut self, term: Term) -> u32 {
        let next = self.terms.len() as u32;
        *self.numbers.entry(term).or_insert_with(|| {
            self.terms.push(term);
            self.places.push((0, 0));
            next
        })
    }
}

/// The terms of a path, each with whether it is of the name of the file itself.
pub(crate) fn path_terms(stems: &Stems, path: &str) -> Vec<(Term, bool)> {
    let name_start = path.rfind('/').map_or(0, |slash| slash + 1);
    let stem_end = path
        .rfind('.')
        .filter(|dot| *dot > name_start)
        .unwrap_or(path.len());
    let mut terms = Vec::new();
    for (text, is_name) in [
        (&path[name_start..stem_end], true),
        (&path[..name_start], false),
    ] {
        words::names(text.as_bytes(), |name| {
            words::parts(name, |part| {
                let term = stems.term(part).map(words::in_path);
                terms.extend(term.map(|term| (term, is_name)));
            });
        });
    }
    terms.truncate(MAX_PATH_TERMS);
    terms
}

/// Takes a key that is a hash already as it is.
#[derive(Debug, Default, Clone, Copy)]
struct PlainHasher(u64);

type Plain = BuildHasherDefault<PlainHasher>;

impl Hasher for PlainHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = words::hash(bytes);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}
