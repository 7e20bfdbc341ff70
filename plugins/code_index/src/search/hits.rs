//! Cuts hits from the files as they are now: whole functions where that is possible, none twice.

use std::collections::HashMap;

use super::Hit;
use super::features::Candidate;
use super::query::Question;
use super::rerank::Passage;
use super::text::Text;
use super::weights::Weights;
use crate::index::Index;
use crate::words::{self, Stems, Term};

/// Files that are read for an answer.
const MAX_FILES: usize = 64;

/// Bytes of their texts that are kept for further places in them.
const MAX_KEPT_BYTES: usize = 8 * 1024 * 1024;

/// How much of their words two hits may share and still be two.
const MAX_SHARED: f32 = 0.85;

/// Lines that are shown of a file for which only its path speaks.
const HEAD_LINES: u32 = 30;

/// A chunk of a candidate, as good as it is.
struct Place<'a> {
    candidate: &'a Candidate,
    /// The number of the chunk, `None` for the start of the file.
    chunk: Option<u32>,
    score: f32,
}

/// Finds the hits of a question.
pub(super) struct Finder<'a> {
    index: &'a Index,
    wanted: HashMap<Term, f32>,
    stems: Stems,
    read: &'a mut dyn FnMut(&str) -> Option<Vec<u8>>,
    texts: HashMap<String, Option<Text>>,
    /// How many were read.
    files: usize,
    /// Bytes of the texts that are kept.
    kept: usize,
    /// Bytes of source that may still be parsed.
    parse: usize,
}

impl<'a> Finder<'a> {
    pub(super) fn new(
        index: &'a Index,
        question: &Question,
        read: &'a mut dyn FnMut(&str) -> Option<Vec<u8>>,
    ) -> Self {
        let words = question.wanted.iter().filter(|wanted| !wanted.is_pair);
        Self {
            index,
            wanted: words.map(|wanted| (wanted.term, wanted.weight)).collect(),
            stems: Stems::default(),
            read,
            texts: HashMap::new(),
            files: 0,
            kept: 0,
            parse: Text::MAX_PARSED_BYTES,
        }
    }

    /// So many passages of the best candidates, best first, whether alike or not.
    pub(super) fn passages(
        &mut self,
        candidates: &[Candidate],
        count: usize,
        weights: &Weights,
    ) -> Vec<Passage> {
        let places = places(candidates, weights);
        places
            .iter()
            .filter_map(|place| self.passage(place))
            .take(count)
            .collect()
    }

    /// The hits of the best candidates. No more files are read than that takes.
    pub(super) fn best(
        &mut self,
        candidates: &[Candidate],
        limit: usize,
        weights: &Weights,
    ) -> Vec<Hit> {
        let places = places(candidates, weights);
        let mut kept = Kept::default();
        for place in &places {
            if kept.passages.len() >= limit || self.files >= MAX_FILES {
                break;
            }
            if let Some(passage) = self.passage(place) {
                kept.add(passage);
            }
        }
        kept.hits()
    }

    /// The hits of passages that were ordered: the first of those that are alike, and no two that overlap.
    pub(super) fn hits(passages: Vec<Passage>, limit: usize) -> Vec<Hit> {
        let mut kept = Kept::default();
        for passage in passages {
            if kept.passages.len() >= limit {
                break;
            }
            kept.add(passage);
        }
        kept.hits()
    }

    fn passage(&mut self, place: &Place<'_>) -> Option<Passage> {
        let path = &place.candidate.path;
        if !self.texts.contains_key(path) {
            let bytes = (self.read)(path);
            self.files += 1;
            let more = bytes.as_ref().map_or(0, Vec::len);
            if self.kept + more > MAX_KEPT_BYTES {
                self.texts.clear();
                self.kept = 0;
            }
            self.kept += more;
            let text = bytes.and_then(|bytes| Text::new(path, bytes));
            self.texts.insert(path.clone(), text);
        }
        let text = self.texts.get(path)?.as_ref()?;
        let tables = &self.index.segments.get(place.candidate.segment)?.tables;
        let row = place
            .chunk
            .and_then(|chunk| tables.chunks.get(chunk as usize));
        let (start, lines) = row.map_or((0, HEAD_LINES), |row| (row.start, row.lines));
        let (wanted, stems) = (&self.wanted, &self.stems);
        let fit = |line: &[u8]| {
            let mut score = 0.0;
            words::names(line, |name| {
                words::parts(name, |part| {
                    let term = stems.term(part);
                    score += term.and_then(|term| wanted.get(&term)).unwrap_or(&0.0);
                });
            });
            score
        };
        let piece = text.piece(start as usize, lines as usize, &fit, &mut self.parse);
        Some(Passage {
            path: path.clone(),
            symbol: piece.symbol,
            start_line: piece.start as u64 + 1,
            end_line: piece.end as u64,
            text: piece.text,
            score: place.score,
        })
    }
}

/// The chunks of all candidates, best first.
fn places<'a>(candidates: &'a [Candidate], weights: &Weights) -> Vec<Place<'a>> {
    let best = candidates
        .first()
        .map_or(1.0, |candidate| candidate.score.max(f32::MIN_POSITIVE));
    let mut places = Vec::new();
    for candidate in candidates {
        let score = candidate.score / best;
        // What only its path speaks for is shown from its start.
        let Some((first, first_score)) = candidate.chunks.first() else {
            places.push(Place {
                candidate,
                chunk: None,
                score,
            });
            continue;
        };
        places.push(Place {
            candidate,
            chunk: Some(*first),
            score,
        });
        for (chunk, chunk_score) in &candidate.chunks[1..] {
            places.push(Place {
                candidate,
                chunk: Some(*chunk),
                score: score * weights.further * chunk_score / first_score,
            });
        }
    }
    places.sort_by(|a, b| b.score.total_cmp(&a.score));
    places
}

/// Passages that are different.
#[derive(Default)]
struct Kept {
    passages: Vec<(Passage, Vec<u64>)>,
}

impl Kept {
    /// Keeps a passage unless one that is kept says or shows the same.
    fn add(&mut self, passage: Passage) {
        let words = word_set(&passage.text);
        let is_new = self.passages.iter().all(|(other, others)| {
            let overlaps = other.path == passage.path
                && other.start_line <= passage.end_line
                && passage.start_line <= other.end_line;
            !overlaps && shared(others, &words) <= MAX_SHARED
        });
        if is_new {
            self.passages.push((passage, words));
        }
    }

    fn hits(self) -> Vec<Hit> {
        self.passages
            .into_iter()
            .map(|(passage, _)| Hit {
                path: passage.path,
                start_line: passage.start_line,
                end_line: passage.end_line,
                symbol: passage.symbol,
                score: passage.score,
                text: passage.text,
            })
            .collect()
    }
}

/// The names of a text and how each follows another, sorted.
fn word_set(text: &str) -> Vec<u64> {
    let mut set = Vec::new();
    let mut last = 0;
    words::names(text.as_bytes(), |name| {
        let word = words::hash(name);
        set.push(words::pair(last, word));
        last = word;
    });
    set.sort_unstable();
    set.dedup();
    set
}

/// How much of both two sets share.
fn shared(a: &[u64], b: &[u64]) -> f32 {
    let both = a
        .iter()
        .filter(|word| b.binary_search(word).is_ok())
        .count();
    let all = a.len() + b.len() - both;
    if all == 0 {
        1.0
    } else {
        both as f32 / all as f32
    }
}
