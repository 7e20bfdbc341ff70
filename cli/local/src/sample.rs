//! Which token comes next.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// How many of the likeliest tokens are considered at all. Below them is what a small model gets wrong.
const CONSIDERED: usize = 40;

/// How tokens are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// 0 always takes the likeliest token; 1 takes them as likely as the model finds them.
    pub temperature: f64,
    /// The share of likelihood within which tokens are chosen, from the likeliest on: 0 to 1.
    pub top_p: f64,
    /// Equal seeds and prompts give equal replies.
    pub seed: u64,
}

impl Default for Sampling {
    /// What the makers of SmolLM2 recommend; small models in general stray with more.
    fn default() -> Sampling {
        Sampling {
            temperature: 0.2,
            top_p: 0.9,
            seed: 0,
        }
    }
}

/// Chooses tokens of one reply.
pub(crate) struct Sampler {
    sampling: Sampling,
    chance: StdRng,
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling) -> Sampler {
        Sampler {
            sampling,
            chance: StdRng::seed_from_u64(sampling.seed),
        }
    }

    /// The next token. `None`: there are no scores, or none that is a number.
    pub(crate) fn choose(&mut self, scores: &[f32]) -> Option<u32> {
        let mut candidates: Vec<(u32, f32)> = (0..)
            .zip(scores.iter().copied())
            .filter(|(_, score)| !score.is_nan())
            .collect();
        // Among equals the first, so that nothing depends on the order of sorting.
        let by_score = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if self.sampling.temperature <= 0.0 {
            return candidates.into_iter().min_by(by_score).map(|(token, _)| token);
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
            seed: 7,
        });
        let mut drawn: Vec<u32> = (0..500).filter_map(|_| sampler.choose(scores)).collect();
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
            assert_eq!(sampler.choose(scores), expected, "{scores:?}");
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
    fn a_seed_decides() {
        let draw = |seed| {
            let mut sampler = Sampler::new(Sampling {
                temperature: 1.0,
                top_p: 1.0,
                seed,
            });
            let scores = [0.0; 16];
            (0..20).filter_map(|_| sampler.choose(&scores)).collect::<Vec<u32>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
