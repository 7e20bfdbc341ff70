//! Which token comes next.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// How many of the likeliest tokens are considered at all. Below them is what a small model gets wrong.
const CONSIDERED: usize = 40;

/// Small models fall into saying the same again and again. What a reply has said within so many tokens counts this much
/// less, once it is longer than a call or a short answer, which have to repeat what was asked.
const LOOKED_BACK: usize = 64;
const PENALTY: f32 = 1.1;
const UNPUNISHED: usize = 40;

/// How tokens are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// 0 always takes the likeliest token; 1 takes them as likely as the model finds them.
    pub temperature: f64,
    /// The share of likelihood within which tokens are chosen, from the likeliest on: 0 to 1.
    pub top_p: f64,
    /// Equal seeds and prompts give equal replies. Without one each reply is another, as whoever asks again wants it.
    pub seed: Option<u64>,
}

impl Default for Sampling {
    /// What the makers of SmolLM2 recommend; small models in general stray with more.
    fn default() -> Sampling {
        Sampling {
            temperature: 0.2,
            top_p: 0.9,
            seed: None,
        }
    }
}

/// Chooses tokens of one reply.
pub(crate) struct Sampler {
    sampling: Sampling,
    chance: StdRng,
    /// The reply until now.
    said: Vec<u32>,
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling) -> Sampler {
        Sampler {
            sampling,
            chance: StdRng::seed_from_u64(sampling.seed.unwrap_or_else(rand::random)),
            said: Vec::new(),
        }
    }

    /// The next token. `None`: there are no scores, or none that is a number.
    pub(crate) fn choose(&mut self, mut scores: Vec<f32>) -> Option<u32> {
        if self.said.len() >= UNPUNISHED {
            let recent = self.said.iter().rev().take(LOOKED_BACK);
            let recent: BTreeSet<usize> = recent.map(|token| *token as usize).collect();
            for token in recent {
                if let Some(score) = scores.get_mut(token) {
                    *score = if *score > 0.0 {
                        *score / PENALTY
                    } else {
                        *score * PENALTY
                    };
                }
            }
        }
        let token = self.draw(&scores)?;
        self.said.push(token);
        Some(token)
    }

    fn draw(&mut self, scores: &[f32]) -> Option<u32> {
        let mut candidates: Vec<(u32, f32)> = (0..)
            .zip(scores.iter().copied())
            .filter(|(_, score)| !score.is_nan())
            .collect();
        // Among equals the first, so that nothing depends on the order of sorting.
        let by_score = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if self.sampling.temperature <= 0.0 {
            return candidates
                .into_iter()
                .min_by(by_score)
                .map(|(token, _)| token);
        }
        if candidates.len() > CONSIDERED {
            candidates.select_nth_unstable_by(CONSIDERED, by_score);
            candidates.truncate(CONSIDERED);
        }
        candidates.sort_unstable_by(by_score);
        let best = candidates.first()?.1;
        let weigh = |score: f32| (f64::from(score - best) / self.sampling.temperature).exp();
        let weights: Vec<f64> = candidates.iter().map(|(_, score)| weigh(*score)).collect();
        let total: f64 = weights.iter().sum();
        let mut kept = 0.0;
        let within = weights
            .iter()
            .take_while(|weight| {
                let goes_on = kept < self.sampling.top_p * total;
                kept += **weight;
                goes_on
            })
            .count()
            .max(1);
        let (candidates, weights) = (candidates.get(..within)?, weights.get(..within)?);
        let mut point = self.chance.random::<f64>() * weights.iter().sum::<f64>();
        for ((token, _), weight) in candidates.iter().zip(weights) {
            point -= weight;
            if point < 0.0 {
                return Some(*token);
            }
        }
        candidates.last().map(|(token, _)| *token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(temperature: f64, top_p: f64, scores: &[f32]) -> Vec<u32> {
        let mut sampler = Sampler::new(Sampling {
            temperature,
            top_p,
            seed: Some(7),
        });
        let mut drawn: Vec<u32> = (0..500).filter_map(|_| sampler.draw(scores)).collect();
        assert_eq!(drawn.len(), 500);
        drawn.sort_unstable();
        drawn.dedup();
        drawn
    }

    #[test]
    fn without_temperature_the_likeliest_wins() {
        let check = |scores: &[f32], expected| {
            let mut sampler = Sampler::new(Sampling {
                temperature: 0.0,
                ..Sampling::default()
            });
            assert_eq!(sampler.draw(scores), expected, "{scores:?}");
        };
        check(&[0.1, 3.0, -2.0], Some(1));
        check(&[f32::NAN, -1.0, f32::NEG_INFINITY], Some(1));
        check(&[2.0, 2.0], Some(0));
        check(&[f32::NAN], None);
        check(&[], None);
    }

    #[test]
    fn chance_stays_within_its_bounds() {
        let scores = [1.0, 0.9, 0.8, -50.0];
        assert_eq!(drawn(1.0, 1.0, &scores), [0, 1, 2]);
        assert_eq!(drawn(1.0, 0.0, &scores), [0]);
        assert_eq!(drawn(1.0, 0.5, &scores), [0, 1]);
        assert_eq!(drawn(0.01, 1.0, &scores), [0]);
        let many: Vec<f32> = vec![0.0; 100];
        assert!(drawn(1.0, 1.0, &many).iter().all(|token| *token < 40));
    }

    #[test]
    fn what_was_said_counts_less_in_a_long_reply() {
        let greedy = Sampling {
            temperature: 0.0,
            ..Sampling::default()
        };
        let mut sampler = Sampler::new(greedy);
        let scores = vec![1.05, 1.0, -1.0];
        let said: Vec<u32> = (0..UNPUNISHED + 2)
            .filter_map(|_| sampler.choose(scores.clone()))
            .collect();
        let (short, long) = said.split_at(UNPUNISHED);
        assert!(short.iter().all(|token| *token == 0));
        assert_eq!(long, [1, 0]);
    }

    #[test]
    fn a_seed_decides() {
        let draw = |seed: Option<u64>| {
            let mut sampler = Sampler::new(Sampling {
                temperature: 1.0,
                top_p: 1.0,
                seed,
            });
            let scores = [0.0; 64];
            (0..40)
                .filter_map(|_| sampler.draw(&scores))
                .collect::<Vec<u32>>()
        };
        assert_eq!(draw(Some(1)), draw(Some(1)));
        assert_ne!(draw(Some(1)), draw(Some(2)));
        assert_ne!(draw(None), draw(None));
    }
}
