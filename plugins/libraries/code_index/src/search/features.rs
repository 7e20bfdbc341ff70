//! What speaks for a file, and how much.

use std::collections::HashSet;

use super::gather::{Found, Gathered};
use super::query::Question;
use super::weights::{FEATURES, Weights};
use crate::index::{Index, Segment};
use crate::kind::Kind;
use crate::segment::path_terms;
use crate::words::Stems;

const BEST: usize = 0;
const SECOND: usize = 1;
const THIRD: usize = 2;
const FILE: usize = 3;
const PATH: usize = 4;
const DECLARED: usize = 5;
const COVERED: usize = 6;
const FILE_COVERED: usize = 7;
const PAIRS: usize = 8;
const DECLARED_PAIRS: usize = 9;
const NAMED: usize = 10;
const AREA: usize = 11;

/// How many candidates are kept.
const MAX_CANDIDATES: usize = 200;

/// Chunks of a file that are kept.
const MAX_CHUNKS: usize = 3;

/// A file that has something of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Which of the index's segments has it.
    pub(crate) segment: usize,
    /// The number of the file in it.
    pub(crate) file: usize,
    pub path: String,
    pub kind: Kind,
    /// Its best chunks with their scores, best first.
    pub(crate) chunks: Vec<(u32, f32)>,
    /// What speaks for it, each between 0 and 1 within the answer.
    pub features: [f32; FEATURES],
    /// All of that together.
    pub score: f32,
}

/// What a chunk has of a question.
#[derive(Debug, Clone, Copy, Default)]
struct Scored {
    words: f32,
    pairs: f32,
    declared: f32,
    declared_pairs: f32,
    covered: f32,
}

impl Scored {
    fn scaled(self, share: f32) -> Self {
        Self {
            words: share * self.words,
            pairs: share * self.pairs,
            declared: share * self.declared,
            declared_pairs: share * self.declared_pairs,
            covered: share * self.covered,
        }
    }

    fn sum(self, weights: &Weights) -> f32 {
        self.words + weights.pair * self.pairs
    }
}

/// What a file has of a question.
#[derive(Debug, Clone, Default)]
struct Scores {
    whole: f32,
    path: f32,
    covered: f32,
    chunks: Vec<(u32, f32)>,
    features: [f32; FEATURES],
}

/// The files that have anything of a question, and what its words count.
pub(crate) struct Ranked {
    /// Best first.
    pub(crate) candidates: Vec<Candidate>,
    /// How rare each wanted word is, times its weight.
    pub(crate) rarity: Vec<f32>,
    /// The rarity of all words together.
    pub(crate) all: f32,
}

/// Orders the files that have anything of the question.
pub(crate) fn rank(
    index: &Index,
    gathered: &Gathered,
    question: &Question,
    weights: &Weights,
) -> Ranked {
    let frame = Frame::new(gathered, question, weights);
    let mut candidates = Vec::new();
    for found in &gathered.found {
        if let Some(segment) = index.segments.get(found.segment) {
            frame.segment(found, segment, &mut candidates);
        }
    }
    let mut most = [f32::MIN_POSITIVE; FEATURES];
    for candidate in &candidates {
        for (most, feature) in most.iter_mut().zip(candidate.features) {
            *most = most.max(feature);
        }
    }
    // Second and third are measured by the same as the best.
    most[SECOND] = most[BEST];
    most[THIRD] = most[BEST];
    most[COVERED] = frame.all;
    most[FILE_COVERED] = frame.all;
    for candidate in &mut candidates {
        for (feature, most) in candidate.features.iter_mut().zip(most) {
            *feature /= most;
        }
        let sum: f32 = candidate
            .features
            .iter()
            .zip(weights.features)
            .map(|(f, w)| f * w)
            .sum();
        candidate.score = sum / frame.weight_sum * question.prior(candidate.kind, weights);
    }
    best_first(&mut candidates);
    candidates.truncate(MAX_CANDIDATES);
    // What takes longer to tell is told of the best only.
    let stems = Stems::default();
    for candidate in &mut candidates {
        let fit = frame.fit(&stems, &candidate.path);
        candidate.features[NAMED] = fit.0;
        candidate.features[AREA] = fit.1;
        let more = weights.features[NAMED] * fit.0 + weights.features[AREA] * fit.1;
        candidate.score += more / frame.weight_sum * question.prior(candidate.kind, weights);
    }
    demote_headers(&mut candidates, weights);
    best_first(&mut candidates);
    Ranked {
        candidates,
        all: frame.all,
        rarity: frame.rarity,
    }
}

pub(super) fn best_first(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.path.cmp(&b.path))
    });
}

/// Lets a header stand behind the file that defines what it declares.
fn demote_headers(candidates: &mut [Candidate], weights: &Weights) {
    let stem = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.split('.').next().unwrap_or(name).to_owned()
    };
    let defining: HashSet<String> = candidates
        .iter()
        .filter(|c| !is_header(&c.path))
        .map(|c| stem(&c.path))
        .collect();
    for candidate in candidates {
        if is_header(&candidate.path) && defining.contains(&stem(&candidate.path)) {
            candidate.score *= weights.header;
        }
    }
}

fn is_header(path: &str) -> bool {
    [".h", ".hh", ".hpp", ".hxx", ".d.ts", ".pxd", ".pyi"]
        .iter()
        .any(|end| path.ends_with(end))
}

/// What all files are measured by.
struct Frame<'a> {
    question: &'a Question,
    weights: &'a Weights,
    /// How rare each wanted word is, times its weight.
    rarity: Vec<f32>,
    path_rarity: Vec<f32>,
    /// How rare a word of a path is that one path in fifty has.
    path_middle: f32,
    /// Mean words of a chunk.
    chunk_words: f32,
    /// Mean words of a file.
    file_words: f32,
    /// How much a test counts.
    test_share: f32,
    /// The rarity of all words together.
    all: f32,
    weight_sum: f32,
}

impl<'a> Frame<'a> {
    fn new(gathered: &Gathered, question: &'a Question, weights: &'a Weights) -> Self {
        let files = gathered.files as f32;
        let rarity = |frequency: &usize| {
            let frequency = *frequency as f32;
            (1.0 + (files - frequency + 0.5) / (frequency + 0.5)).ln()
        };
        let wanted = question.wanted.iter();
        let rarity_of: Vec<f32> = wanted
            .clone()
            .zip(&gathered.frequency)
            .map(|(wanted, frequency)| wanted.weight * rarity(frequency))
            .collect();
        let path_rarity = wanted
            .clone()
            .zip(&gathered.path_frequency)
            .map(|(wanted, frequency)| wanted.path_weight * rarity(frequency))
            .collect();
        // A word that is nowhere cannot be covered.
        let all = wanted
            .zip(&rarity_of)
            .zip(&gathered.frequency)
            .filter(|((wanted, _), frequency)| !wanted.is_pair && **frequency > 0)
            .map(|((_, rarity), _)| *rarity)
            .sum::<f32>();
        Self {
            question,
            weights,
            rarity: rarity_of,
            path_rarity,
            path_middle: rarity(&(gathered.files / 50)),
            chunk_words: (gathered.words as f32 / gathered.chunks.max(1) as f32).max(1.0),
            test_share: question.prior(Kind::Test, weights),
            file_words: (gathered.words as f32 / files.max(1.0)).max(1.0),
            all: all.max(f32::MIN_POSITIVE),
            weight_sum: weights.features.iter().sum::<f32>().max(f32::MIN_POSITIVE),
        }
    }

    /// How much of the name of a file is asked for, and how well its path fits the area.
    fn fit(&self, stems: &Stems, path: &str) -> (f32, f32) {
        let terms = path_terms(stems, path);
        let wanted = &self.question.wanted;
        let (mut named, mut of_name) = (0.0, 0.0);
        for (term, _) in terms.iter().filter(|(_, is_name)| *is_name) {
            let asked = wanted.iter().position(|wanted| wanted.in_path == *term);
            let rarity = asked.map(|number| self.path_rarity[number]);
            // A word that is asked for is measured as it is; another as one of the middle.
            of_name += rarity.unwrap_or(self.path_middle);
            named += rarity.unwrap_or(0.0);
        }
        let (mut found, mut of_area) = (0.0, 0.0);
        for (wanted, rarity) in wanted.iter().zip(&self.path_rarity) {
            if wanted.is_area {
                of_area += rarity;
                if terms.iter().any(|(term, _)| *term == wanted.in_path) {
                    found += rarity;
                }
            }
        }
        let recall = if of_area > 0.0 { found / of_area } else { 0.0 };
        let precision = if of_name > 0.0 { named / of_name } else { 0.0 };
        (precision, recall * (0.5 + 0.5 * precision))
    }

    /// Adds the files of a segment that have anything.
    fn segment(&self, found: &Found, segment: &Segment, to: &mut Vec<Candidate>) {
        let tables = &segment.tables;
        let mut chunks = vec![Scored::default(); tables.chunks.len()];
        let mut files = vec![Scores::default(); tables.files.len()];
        for number in 0..self.question.wanted.len() {
            self.word(number, found, segment, &mut chunks, &mut files);
        }
        for (file, mut scores) in files.into_iter().enumerate() {
            let row = &tables.files[file];
            let first = row.first_chunk;
            for chunk in first..first + row.chunks {
                let scored = chunks[chunk as usize].scaled(self.share(segment, chunk));
                let sum = scored.sum(self.weights);
                if sum > 0.0 {
                    scores.chunks.push((chunk, sum));
                    let features = &mut scores.features;
                    features[DECLARED] = features[DECLARED].max(scored.declared);
                    features[PAIRS] = features[PAIRS].max(scored.pairs);
                    features[DECLARED_PAIRS] = features[DECLARED_PAIRS].max(scored.declared_pairs);
                }
            }
            if scores.chunks.is_empty() && scores.path <= 0.0 {
                continue;
            }
            scores.chunks.sort_by(|a, b| b.1.total_cmp(&a.1));
            scores.chunks.truncate(MAX_CHUNKS);
            let best = |rank: usize| scores.chunks.get(rank).map_or(0.0, |(_, sum)| *sum);
            let top = scores
                .chunks
                .first()
                .map(|(chunk, _)| chunks[*chunk as usize]);
            scores.features[BEST] = best(0);
            scores.features[SECOND] = best(1);
            scores.features[THIRD] = best(2);
            scores.features[FILE] = scores.whole;
            scores.features[PATH] = scores.path;
            scores.features[COVERED] = top.map_or(0.0, |top| top.covered);
            scores.features[FILE_COVERED] = scores.covered;
            to.push(Candidate {
                segment: found.segment,
                file,
                path: row.path.clone(),
                kind: row.kind,
                chunks: scores.chunks,
                features: scores.features,
                score: 0.0,
            });
        }
    }

    /// Adds what one word or pair says.
    fn word(
        &self,
        number: usize,
        found: &Found,
        segment: &Segment,
        chunks: &mut [Scored],
        files: &mut [Scores],
    ) {
        let weights = self.weights;
        let rarity = self.rarity[number];
        let is_pair = self.question.wanted[number].is_pair;
        let mut in_file = (u32::MAX, 0.0);
        for posting in &found.chunks[number] {
            let often = f32::from(posting.code())
                + weights.comment * f32::from(posting.comment())
                + if posting.declared() {
                    weights.declared
                } else {
                    0.0
                };
            let length = segment.tables.chunks[posting.at as usize].words as f32 / self.chunk_words;
            let score = rarity * saturated(often, length, weights.k1, weights.b);
            let chunk = &mut chunks[posting.at as usize];
            if is_pair {
                chunk.pairs += score;
                if posting.declared() {
                    chunk.declared_pairs += rarity;
                }
            } else {
                chunk.words += score;
                chunk.covered += rarity;
                if posting.declared() {
                    chunk.declared += rarity;
                }
            }
            let file = found.file_of[posting.at as usize];
            if file != in_file.0 {
                self.whole(number, in_file, segment, files);
                in_file = (file, 0.0);
            }
            in_file.1 += often * self.share(segment, posting.at);
        }
        self.whole(number, in_file, segment, files);
        for posting in &found.paths[number] {
            // The name of the file says more than those of its folders.
            let share = if posting.declared() { 1.0 } else { 0.6 };
            files[posting.at as usize].path += share * self.path_rarity[number];
        }
    }

    /// How much a chunk counts: a test within a file of source stands behind what it tests.
    fn share(&self, segment: &Segment, chunk: u32) -> f32 {
        match segment.tables.chunks.get(chunk as usize) {
            Some(row) if row.is_test => self.test_share,
            _ => 1.0,
        }
    }

    /// Adds what one word says of a whole file.
    fn whole(
        &self,
        number: usize,
        (file, often): (u32, f32),
        segment: &Segment,
        files: &mut [Scores],
    ) {
        let Some(row) = segment.tables.files.get(file as usize) else {
            return;
        };
        let is_pair = self.question.wanted[number].is_pair;
        let rarity = self.rarity[number];
        let length = row.words as f32 / self.file_words;
        let score = rarity * saturated(often, length, self.weights.file_k1, self.weights.file_b);
        let scores = &mut files[file as usize];
        if is_pair {
            scores.whole += self.weights.pair * score;
        } else {
            scores.whole += score;
            scores.covered += rarity;
        }
    }
}

/// BM25: the more often the better, but ever less so, and less so in a long text.
fn saturated(often: f32, length: f32, k1: f32, b: f32) -> f32 {
    often * (k1 + 1.0) / (often + k1 * (1.0 - b + b * length))
}
