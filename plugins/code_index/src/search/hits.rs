//! Cuts hits from the files as they are now: whole functions where that is possible, none twice.

use std::collections::{BTreeSet, HashMap};

use dunlin_code::{Source, language_of};

use super::Hit;
use super::features::Candidate;
use super::query::Question;
use super::rerank::Passage;
use super::weights::Weights;
use crate::chunks::{self, Line};
use crate::index::Index;
use crate::words::{self, Stems, Term};

/// Lines of the longest hit. A longer function is shown around what was found in it.
const MAX_LINES: usize = 80;

/// Bytes of the longest hit.
const MAX_BYTES: usize = 6_000;

/// Passages that a model of meaning is given.
const MAX_PASSAGES: usize = 50;

/// Bytes of source that one question parses. More would take longer than the search itself.
const MAX_PARSED_BYTES: usize = 400_000;

/// By what a further chunk of a file is multiplied: other files come first.
const FURTHER: f32 = 0.7;

/// How much of their words two hits may share and still be two.
const MAX_SHARED: f32 = 0.85;

/// Finds the hits of a question.
pub(super) struct Finder<'a> {
    wanted: HashMap<Term, f32>,
    stems: Stems,
    read: &'a mut dyn FnMut(&str) -> Option<Vec<u8>>,
    parsed: usize,
}

impl<'a> Finder<'a> {
    pub(super) fn new(
        question: &Question,
        read: &'a mut dyn FnMut(&str) -> Option<Vec<u8>>,
    ) -> Self {
        let words = question.wanted.iter().filter(|wanted| !wanted.is_pair);
        Self {
            wanted: words.map(|wanted| (wanted.term, wanted.weight)).collect(),
            stems: Stems::default(),
            read,
            parsed: 0,
        }
    }

    /// The passages of the best candidates, best first: more than are wanted, because some will be alike.
    pub(super) fn passages(
        &mut self,
        index: &Index,
        candidates: Vec<Candidate>,
        limit: usize,
        weights: &Weights,
    ) -> Vec<Passage> {
        let _ = weights;
        let best = candidates
            .first()
            .map_or(1.0, |candidate| candidate.score.max(f32::MIN_POSITIVE));
        let mut passages = Vec::new();
        // Twice as many files as hits leave room for those that are alike or gone.
        for candidate in candidates
            .into_iter()
            .take((2 * limit).clamp(10, MAX_PASSAGES))
        {
            self.file(index, &candidate, best, &mut passages);
        }
        passages.sort_by(|a: &Passage, b| b.score.total_cmp(&a.score));
        passages.truncate((3 * limit).clamp(20, MAX_PASSAGES));
        passages
    }

    /// The hits: the first of passages that are alike, and no two that overlap.
    pub(super) fn hits(&self, passages: Vec<Passage>, limit: usize) -> Vec<Hit> {
        let mut kept: Vec<(Passage, BTreeSet<u64>)> = Vec::new();
        for passage in passages {
            if kept.len() >= limit {
                break;
            }
            let words = word_set(&passage.text);
            let is_new = kept.iter().all(|(other, others)| {
                let overlaps = other.path == passage.path
                    && other.start_line <= passage.end_line
                    && passage.start_line <= other.end_line;
                !overlaps && shared(others, &words) <= MAX_SHARED
            });
            if is_new {
                kept.push((passage, words));
            }
        }
        kept.into_iter()
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

    fn file(&mut self, index: &Index, candidate: &Candidate, best: f32, to: &mut Vec<Passage>) {
        let Some(bytes) = (self.read)(&candidate.path) else {
            return;
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines = chunks::lines(&candidate.path, text.as_bytes());
        if lines.is_empty() {
            return;
        }
        let source = self.parse(&candidate.path, &text);
        let tables = index
            .segments
            .get(candidate.segment)
            .map(|segment| &segment.tables);
        let first_score = candidate.chunks.first().map_or(1.0, |(_, score)| *score);
        // What only its path speaks for is shown from its start.
        let mut places: Vec<(usize, usize, f32)> = Vec::new();
        for (chunk, score) in &candidate.chunks {
            if let Some(row) = tables.and_then(|tables| tables.chunks.get(*chunk as usize)) {
                places.push((row.start as usize, row.lines as usize, score / first_score));
            }
        }
        if places.is_empty() {
            places.push((0, 30, 1.0));
        }
        for (rank, (start, length, share)) in places.into_iter().enumerate() {
            let start = start.min(lines.len() - 1);
            let end = (start + length.max(1)).min(lines.len());
            let line = self.best_line(&lines, start, end);
            let piece = widen(source.as_ref(), &lines, start, end, line);
            let score = candidate.score / best * if rank == 0 { 1.0 } else { FURTHER * share };
            to.push(Passage {
                path: candidate.path.clone(),
                symbol: piece.symbol,
                start_line: piece.start as u64 + 1,
                end_line: piece.end as u64,
                text: cut(&lines[piece.start..piece.end]),
                score,
            });
        }
    }

    fn parse(&mut self, path: &str, text: &str) -> Option<Source> {
        let language = language_of(path)?;
        if self.parsed + text.len() > MAX_PARSED_BYTES {
            return None;
        }
        self.parsed += text.len();
        Source::parse(language, text)
    }

    /// The line of a chunk about which most of what is wanted stands.
    fn best_line(&self, lines: &[Line<'_>], start: usize, end: usize) -> usize {
        let scores: Vec<f32> = lines[start..end]
            .iter()
            .map(|line| {
                let mut score = 0.0;
                words::names(line.text, |name| {
                    words::parts(name, |part| {
                        let term = self.stems.term(part);
                        score += term.and_then(|term| self.wanted.get(&term)).unwrap_or(&0.0);
                    });
                });
                if line.declares.is_some() {
                    1.5 * score
                } else {
                    score
                }
            })
            .collect();
        let around = |at: usize| -> f32 {
            let near = at.saturating_sub(2)..(at + 3).min(scores.len());
            2.0 * scores[at] + scores[near].iter().sum::<f32>()
        };
        let best =
            (0..scores.len()).max_by(|a, b| around(*a).total_cmp(&around(*b)).then(b.cmp(a)));
        start + best.unwrap_or(0)
    }
}

/// Some lines and what they are.
struct Piece {
    start: usize,
    end: usize,
    symbol: Option<String>,
}

/// Widens or narrows a chunk to the function about a line of it.
fn widen(
    source: Option<&Source>,
    lines: &[Line<'_>],
    start: usize,
    end: usize,
    line: usize,
) -> Piece {
    let symbol = source.and_then(|source| source.enclosing(line as u64 + 1));
    let Some(symbol) = symbol else {
        return Piece {
            start,
            end: end.min(start + MAX_LINES),
            symbol: declared_above(lines, line),
        };
    };
    let first = (symbol.start_line as usize).saturating_sub(1).min(line);
    let last = (symbol.end_line as usize).clamp(line + 1, lines.len());
    let (start, end) = if last - first <= MAX_LINES {
        (first, last)
    } else {
        // The chunk, as far as it lies in the function.
        let start = start.clamp(first, line);
        (
            start,
            end.clamp(line + 1, last)
                .min(start + MAX_LINES)
                .max(line + 1),
        )
    };
    Piece {
        start,
        end,
        symbol: Some(symbol.name),
    }
}

/// The name declared in a line or the nearest above that is indented no more.
fn declared_above(lines: &[Line<'_>], line: usize) -> Option<String> {
    let indent = |line: &Line<'_>| line.text.len() - line.text.trim_ascii_start().len();
    let mut most = usize::MAX;
    for line in lines[..=line].iter().rev() {
        if line.text.trim_ascii().is_empty() {
            continue;
        }
        if let Some(name) = line.name()
            && indent(line) <= most
        {
            return Some(String::from_utf8_lossy(name).into_owned());
        }
        most = most.min(indent(line));
    }
    None
}

/// The lines as text, no longer than a hit may be.
fn cut(lines: &[Line<'_>]) -> String {
    let mut text = String::new();
    for line in lines {
        if text.len() + line.text.len() > MAX_BYTES && !text.is_empty() {
            break;
        }
        let line = String::from_utf8_lossy(line.text);
        let end = (0..=line.len().min(MAX_BYTES))
            .rev()
            .find(|at| line.is_char_boundary(*at));
        text.push_str(&line[..end.unwrap_or(0)]);
        text.push('\n');
    }
    text
}

/// The names of a text and how each follows another.
fn word_set(text: &str) -> BTreeSet<u64> {
    let mut set = BTreeSet::new();
    let mut last = 0;
    words::names(text.as_bytes(), |name| {
        let word = words::hash(name);
        set.insert(words::pair(last, word));
        last = word;
    });
    set
}

/// How much of both two sets share.
fn shared(a: &BTreeSet<u64>, b: &BTreeSet<u64>) -> f32 {
    let both = a.intersection(b).count();
    let all = a.len() + b.len() - both;
    if all == 0 {
        1.0
    } else {
        both as f32 / all as f32
    }
}
