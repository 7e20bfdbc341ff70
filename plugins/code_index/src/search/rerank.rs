//! Lets a model of meaning order the best candidates anew.

use super::weights::Weights;

/// A piece of a file that may become a hit.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// The file.
    pub path: String,
    /// The function, type or heading that it is or stands in.
    pub symbol: Option<String>,
    /// Its first line, counted from 1.
    pub start_line: u64,
    /// Its last line.
    pub end_line: u64,
    /// The lines.
    pub text: String,
    /// How well its words fit, the best of the answer 1.
    pub score: f32,
}

impl Passage {
    /// A number for what it says, the same wherever and whenever it says so: under it a vector can be kept.
    pub fn digest(&self) -> u64 {
        crate::words::hash(self.text.as_bytes())
    }
}

/// A model of meaning.
pub trait Rerank {
    /// How near each passage is to the question, in any unit; more is nearer. `None` where the model cannot say, then
    /// the words alone decide.
    fn scores(&mut self, question: &str, passages: &[Passage]) -> Option<Vec<f32>>;
}

/// Mixes meaning and words, each brought to the span from 0 to 1.
pub(super) fn apply(
    mut passages: Vec<Passage>,
    question: &str,
    rerank: &mut dyn Rerank,
    weights: &Weights,
) -> Vec<Passage> {
    let Some(scores) = rerank.scores(question, &passages) else {
        return passages;
    };
    if scores.len() != passages.len() || !scores.iter().all(|score| score.is_finite()) {
        return passages;
    }
    let least = scores.iter().copied().fold(f32::INFINITY, f32::min);
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let span = (most - least).max(f32::MIN_POSITIVE);
    let best = passages
        .iter()
        .map(|passage| passage.score)
        .fold(f32::MIN_POSITIVE, f32::max);
    for (passage, score) in passages.iter_mut().zip(scores) {
        let meaning = (score - least) / span;
        passage.score = (1.0 - weights.meaning) * passage.score / best + weights.meaning * meaning;
    }
    passages.sort_by(|a, b| b.score.total_cmp(&a.score));
    passages
}
