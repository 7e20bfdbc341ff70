//! Counts tokens as the model at hand would, as far as that can be known.
//!
//! The model's own vocabulary counts best, where it came with the program; the estimate serves for all others, and
//! until the vocabulary is unfolded. Both leave out what a server puts between messages, and the estimate errs: the
//! server's count of a request is set beside ours, and what is between them is taken into account from then on.

use dunlin_host::Tool;
use serde::{Deserialize, Serialize};

use crate::tokens::{self, Vocabulary};

/// How is counted for one model.
#[derive(Debug, Clone)]
pub struct Measure {
    model: String,
    vocabulary: Option<Vocabulary>,
    /// Whether the vocabulary counts; it may have been unfolded since, which [`Measure::is_sharper`] notices once.
    is_exact: bool,
    /// Their tokens for a thousand of ours.
    per_mille: u64,
    /// Whether the server has ever said a number.
    is_calibrated: bool,
    /// Our count for the last request.
    sent: u64,
}

/// How is counted, for another process. The protocol of `dunlin inspect` sends it in this form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    pub model: String,
    /// Whether its vocabulary counts, and not the estimate.
    pub is_exact: bool,
    /// The server's tokens for a thousand of ours.
    pub per_mille: u64,
}

/// What a request comes to, and how that was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    pub tokens: u64,
    pub scale: Scale,
    /// The context window, as far as known.
    pub window: Option<u64>,
}

impl Default for Measure {
    fn default() -> Measure {
        Measure {
            model: String::new(),
            vocabulary: None,
            is_exact: false,
            per_mille: 1000,
            is_calibrated: false,
            sent: 0,
        }
    }
}

/// What is believed of a server that counts otherwise than we do, in thousandths. Beyond that its count is not a count of
/// what was sent: some leave out what they had read before, some cut the request in silence.
const CREDIBLE: std::ops::RangeInclusive<u64> = 500..=3000;

/// Requests below this many tokens are mostly marks, and say nothing about text.
const ENOUGH: u64 = 200;

impl Measure {
    /// Sets up for this model; `true`: it is another than before, and what was learned of that one does not hold.
    pub fn is_for(&mut self, model: &str) -> bool {
        if self.model == model {
            return false;
        }
        let is_another = !self.model.is_empty();
        *self = Measure {
            model: model.to_owned(),
            vocabulary: Vocabulary::of(model),
            ..Measure::default()
        };
        is_another
    }

    /// Counts as another process does: for this model, and by what its server's count has set right. Waits until the
    /// vocabulary is unfolded where that process used it.
    pub fn restored(scale: &Scale) -> Measure {
        let vocabulary = Vocabulary::of(&scale.model).filter(|_| scale.is_exact);
        Measure {
            vocabulary,
            is_exact: vocabulary.is_some_and(Vocabulary::unfold),
            per_mille: scale.per_mille.clamp(*CREDIBLE.start(), *CREDIBLE.end()),
            model: scale.model.clone(),
            ..Measure::default()
        }
    }

    /// What another process needs to count in the same way.
    pub fn scale(&self) -> Scale {
        Scale {
            model: self.model.clone(),
            is_exact: self.is_exact,
            per_mille: self.per_mille,
        }
    }

    /// Begins to unfold the model's vocabulary, if there is one.
    pub fn sharpen(&self) {
        if let Some(vocabulary) = self.vocabulary {
            vocabulary.unfold_beside();
        }
    }

    /// Whether the vocabulary counts from now on and did not before: what was counted has to be counted anew.
    pub fn is_sharper(&mut self) -> bool {
        let is_exact = self.vocabulary.is_some_and(Vocabulary::is_unfolded);
        if is_exact == self.is_exact {
            return false;
        }
        self.is_exact = is_exact;
        self.per_mille = 1000;
        self.is_calibrated = false;
        true
    }

    /// How a text comes out in our own counts.
    pub fn count(&self, text: &str) -> u64 {
        let exact = self.vocabulary.filter(|_| self.is_exact);
        exact
            .and_then(|vocabulary| vocabulary.count(text))
            .unwrap_or_else(|| tokens::estimate(text))
    }

    /// What the declaration of a tool comes to, in our own counts.
    pub fn tool(&self, tool: &Tool) -> u64 {
        /// The marks around a declaration.
        const MARKS: u64 = 12;
        let parameters = tool.parameters.to_string();
        MARKS + self.count(&tool.name) + self.count(&tool.description) + self.count(&parameters)
    }

    /// Takes note of what a request comes to, in our own counts.
    pub fn sends(&mut self, ours: u64) {
        self.sent = ours;
    }

    /// What the last request came to, as far as known.
    pub fn sent(&self) -> u64 {
        self.real(self.sent)
    }

    /// Takes note of the server's count for the last request.
    pub fn measured(&mut self, theirs: u64) {
        if self.sent < ENOUGH {
            return;
        }
        let per_mille = theirs.saturating_mul(1000) / self.sent;
        if CREDIBLE.contains(&per_mille) {
            self.per_mille = per_mille;
            self.is_calibrated = true;
        }
    }

    /// The last request came to more than this, by the server's count.
    pub fn at_least(&mut self, theirs: u64) {
        if self.sent < ENOUGH || self.sent() >= theirs {
            return;
        }
        let per_mille = theirs.saturating_mul(1000) / self.sent;
        self.per_mille = per_mille.min(*CREDIBLE.end());
    }

    /// Our count of what they count.
    pub fn ours(&self, theirs: u64) -> u64 {
        scaled(theirs, 1000, self.per_mille)
    }

    /// Their count of what we count.
    pub fn real(&self, ours: u64) -> u64 {
        scaled(ours, self.per_mille, 1000)
    }

    /// How is counted, for people.
    pub fn about(&self) -> String {
        let how = match self.vocabulary.filter(|_| self.is_exact) {
            Some(vocabulary) => format!("counted with the vocabulary {}", vocabulary.name()),
            None => "estimated".to_owned(),
        };
        match self.is_calibrated {
            true => format!("{how}, set right by the server's own count"),
            false => how,
        }
    }
}

fn scaled(value: u64, by: u64, of: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(by) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_count_sets_ours_right() {
        let mut measure = Measure::default();
        measure.sends(1000);
        let mut check = |theirs: u64, real: u64| {
            measure.measured(theirs);
            assert_eq!(measure.real(1000), real, "{theirs}");
            assert_eq!(measure.ours(real), 1000, "{theirs}");
        };
        check(1200, 1200);
        check(800, 800);
        // Not believed.
        check(0, 800);
        check(20, 800);
        check(100_000, 800);
        measure.sends(100);
        measure.measured(150);
        assert_eq!(measure.real(1000), 800, "too short to tell");
    }

    #[test]
    fn another_model_counts_otherwise() {
        let mut measure = Measure::default();
        assert!(!measure.is_for("small"));
        measure.sends(1000);
        measure.measured(1500);
        assert!(!measure.is_for("small"));
        assert_eq!(measure.real(1000), 1500);
        assert!(measure.is_for("other"));
        assert_eq!(measure.real(1000), 1000);
        assert_eq!(measure.about(), "estimated");
    }

    #[test]
    fn a_vocabulary_is_used_once_it_is_there() {
        let mut measure = Measure::default();
        measure.is_for("llama3.2");
        let text = "3f786850e387550fdab836ed7e6dc881de23001b";
        assert_eq!(measure.count(text), tokens::estimate(text));
        assert!(Vocabulary::Llama3.unfold());
        assert!(measure.is_sharper());
        assert!(!measure.is_sharper());
        assert_eq!(measure.count(text), 20);
        assert_eq!(measure.about(), "counted with the vocabulary Llama 3");
    }
}
