//! Cuts hits from the files as they are now: whole functions where that is possible, none twice.

use std::collections::HashMap;

use super::features::{self, Candidate, Ranked};
use super::functions::{self, Wanted};
use super::query::Question;
use super::rerank::Passage;
use super::text::Text;
use super::weights::Weights;
use crate::index::Index;
use crate::words::{self, Stems, Term};

/// A piece of a file that answers a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub path: String,
    /// Its first line, counted from 1.
    pub start_line: u64,
    pub end_line: u64,
    /// The function, type or heading that it is or stands in, where that is known.
    pub symbol: Option<String>,
    /// How well it fits: 1 would fit in every respect. Comparable within an answer only.
    pub score: f32,
    pub text: String,
}

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
    /// The same by how rare they are.
    rare: Wanted,
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
        ranked: &Ranked,
        read: &'a mut dyn FnMut(&str) -> Option<Vec<u8>>,
    ) -> Self {
        let words = question.wanted.iter().filter(|wanted| !wanted.is_pair);
        Self {
            index,
            wanted: words.map(|wanted| (wanted.term, wanted.weight)).collect(),
            rare: Wanted::new(question, ranked),
            stems: Stems::default(),
            read,
            texts: HashMap::new(),
            files: 0,
            kept: 0,
            parse: Text::MAX_PARSED_BYTES,
        }
    }

    /// Looks closer at the files that are best so far: which of their functions are called what is asked for? Orders
    /// the candidates by that, too, and returns those functions.
    pub(super) fn functions(
        &mut self,
        candidates: &mut [Candidate],
        question: &Question,
        weights: &Weights,
    ) -> Vec<Passage> {
        let best = candidates.first().map_or(0.0, |candidate| candidate.score);
        let mut declared = Vec::new();
        let mut left = functions::MAX_BYTES;
        for candidate in candidates.iter_mut().take(functions::FILES) {
            self.load(&candidate.path);
            let Some(Some(text)) = self.texts.get(&candidate.path) else {
                continue;
            };
            let found = match left.checked_sub(text.size()) {
                Some(rest) => {
                    left = rest;
                    text.functions(&self.rare, &self.stems)
                }
                None => continue,
            };
            let Some(first) = found.first() else {
                continue;
            };
            let share = question.prior(candidate.kind, weights);
            candidate.score += best * weights.function * share * first.score;
            declared.extend(found.into_iter().map(|function| Passage {
                path: candidate.path.clone(),
                symbol: Some(function.name),
                start_line: function.line as u64 + 1,
                end_line: function.line as u64 + 1,
                text: function.signature,
                score: function.score,
            }));
        }
        features::best_first(candidates);
        declared
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

    /// Reads a file as it is now, unless that was done.
    fn load(&mut self, path: &str) {
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
            self.texts.insert(path.to_owned(), text);
        }
    }

    fn passage(&mut self, place: &Place<'_>) -> Option<Passage> {
        let path = &place.candidate.path;
        self.load(path);
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
