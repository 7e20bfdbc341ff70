//! Whether a request that failed is sent again, and when: a pure policy.
//!
//! Only what fails before the first byte of a reply is repeated: after it the answer may have been paid for
//! and shown. Only what can be otherwise a moment later is repeated: no connection, a server that is busy,
//! starting or broken, a limit of requests in a time. A refusal stays one, however often one asks.

use std::time::Duration;

use super::error::{ProviderError, Waiting};

/// How often and how patiently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most requests altogether: the first and its repetitions.
    pub attempts: u32,
    /// The longest wait before the second request; it doubles each time.
    pub first_wait: Duration,
    /// The longest wait that is sat out. A server that wants more is given up, and what it wants is said.
    pub longest_wait: Duration,
}

/// Repetitions unless the configuration says otherwise. Most hiccups are over after one or two; who waits in
/// front of a screen should learn of the others soon.
pub const DEFAULT_RETRIES: u32 = 3;

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy::with_retries(DEFAULT_RETRIES)
    }
}

impl RetryPolicy {
    /// Repeats up to `retries` times: after 2, 4 and 8 s at most, and waits a minute if a server asks for it.
    pub fn with_retries(retries: u32) -> RetryPolicy {
        RetryPolicy {
            attempts: retries.saturating_add(1),
            first_wait: Duration::from_secs(2),
            longest_wait: Duration::from_secs(60),
        }
    }

    /// How long to wait before the next request, after `attempt` (from 1) has failed with this error. `None`:
    /// no more. `seed` is any number: it spreads those who failed together over the second half of the wait.
    pub fn wait(&self, attempt: u32, error: &ProviderError, seed: u64) -> Option<Duration> {
        if attempt >= self.attempts || !is_worth_repeating(error) {
            return None;
        }
        let doublings = attempt.saturating_sub(1).min(16);
        let backoff = self
            .first_wait
            .saturating_mul(1 << doublings)
            .min(self.longest_wait);
        let share = share(seed, attempt);
        match asked_for(error) {
            // What the server asks for is the least it gets; a little more, so that not all come at once.
            Some(asked) if asked > self.longest_wait => None,
            Some(asked) => {
                let more = backoff.min(Duration::from_secs(1).max(asked / 10));
                Some(asked + more.mul_f64(share))
            }
            None => Some(backoff.mul_f64(0.5 + share / 2.0)),
        }
    }
}

/// A number from 0 to 1 that follows from the seed and the attempt.
fn share(seed: u64, attempt: u32) -> f64 {
    // SplitMix64: neighbouring seeds give unlike numbers.
    let mut z = seed.wrapping_add(u64::from(attempt).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    f64::from(u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

fn asked_for(error: &ProviderError) -> Option<Duration> {
    match error {
        ProviderError::Status(refusal) => refusal.retry_after,
        _ => None,
    }
}

/// Whether the same request may do better a moment later. Only about failures before the first byte of a
/// reply.
fn is_worth_repeating(error: &ProviderError) -> bool {
    match error {
        ProviderError::Status(refusal) => {
            // No money and no room do not come by waiting.
            let hopeless = refusal.is_out_of_funds();
            matches!(refusal.status, 408 | 425 | 429 | 500..=599)
                && refusal.status != 501
                && !hopeless
                && refusal.overflow.is_none()
        }
        // On this machine nobody will come by waiting: the server does not run, and that is quickly said.
        ProviderError::Connect { local, .. } => !local,
        ProviderError::TimedOut { what, .. } => *what == Waiting::Connection,
        // The connection broke before the answer began.
        ProviderError::Incomplete { .. } => true,
        _ => false,
    }
}

/// What is told of a wait while it lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrying {
    /// What went wrong, in a few words that are safe to show.
    pub reason: String,
    /// How long it still takes.
    pub remaining: Duration,
    /// The number of the request that comes next, from 2.
    pub attempt: u32,
    /// Most requests altogether.
    pub attempts: u32,
}

impl Retrying {
    /// One line, without the way to stop it.
    pub fn line(&self) -> String {
        let seconds = self.remaining.as_secs_f64().ceil();
        format!(
            "{} · trying again in {seconds} s · attempt {} of {}",
            self.reason, self.attempt, self.attempts
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::error::Overflow;
    use crate::provider::error::{Cause, Endpoint, Refusal};

    fn endpoint() -> Endpoint {
        Endpoint::of(&"http://127.0.0.1:1/v1".parse().unwrap())
    }

    fn status(status: u16, retry_after: Option<u64>) -> ProviderError {
        refusal(Refusal {
            status,
            retry_after: retry_after.map(Duration::from_secs),
            ..Refusal::sample()
        })
    }

    fn refusal(refusal: Refusal) -> ProviderError {
        ProviderError::Status(Box::new(refusal))
    }

    #[test]
    fn only_what_can_be_otherwise_a_moment_later_is_repeated() {
        let policy = RetryPolicy::default();
        let check = |error: ProviderError, again: bool| {
            assert_eq!(policy.wait(1, &error, 7).is_some(), again, "{error}");
        };
        for code in [408, 425, 429, 500, 502, 503, 504, 520, 529] {
            check(status(code, None), true);
        }
        for code in [301, 400, 401, 402, 403, 404, 405, 409, 413, 422, 501] {
            check(status(code, None), false);
        }
        let coded = |code: &str| {
            refusal(Refusal {
                status: 429,
                code: Some(code.to_owned()),
                ..Refusal::sample()
            })
        };
        check(coded("rate_limit_exceeded"), true);
        check(coded("insufficient_quota"), false);
        check(
            refusal(Refusal {
                status: 500,
                overflow: Some(Overflow::default()),
                ..Refusal::sample()
            }),
            false,
        );
        let connect = |local| ProviderError::Connect {
            endpoint: endpoint(),
            local,
            source: Cause::new("refused"),
        };
        check(connect(false), true);
        check(connect(true), false);
        let timed_out = |what| ProviderError::TimedOut {
            endpoint: endpoint(),
            what,
            after: Duration::from_secs(10),
        };
        check(timed_out(Waiting::Connection), true);
        check(timed_out(Waiting::Answer), false);
        check(
            ProviderError::Incomplete {
                endpoint: endpoint(),
                source: None,
            },
            true,
        );
        check(
            ProviderError::Tls {
                endpoint: endpoint(),
                source: Cause::new("no"),
            },
            false,
        );
    }

    #[test]
    fn waits_grow_and_end() {
        let policy = RetryPolicy::default();
        for seed in 0..1000 {
            let wait = |attempt| policy.wait(attempt, &status(503, None), seed);
            for (attempt, from, to) in [(1, 1.0, 2.0), (2, 2.0, 4.0), (3, 4.0, 8.0)] {
                let wait = wait(attempt).unwrap().as_secs_f64();
                assert!((from..=to).contains(&wait), "attempt {attempt}: {wait} s");
            }
            assert_eq!(wait(4), None);
            assert_eq!(wait(u32::MAX), None);
        }
        let none = RetryPolicy::with_retries(0);
        assert_eq!(none.wait(1, &status(503, None), 1), None);
        let many = RetryPolicy::with_retries(u32::MAX);
        let late = many.wait(1_000_000, &status(503, None), 1).unwrap();
        assert!(late <= many.longest_wait);
        let spread: std::collections::BTreeSet<_> = (0..100)
            .filter_map(|seed| policy.wait(1, &status(503, None), seed))
            .collect();
        assert!(spread.len() > 90, "{spread:?}");
    }

    #[test]
    fn retry_after_is_the_least_and_too_much_of_it_is_given_up() {
        let policy = RetryPolicy::default();
        for seed in 0..100 {
            for (asked, at_most) in [(0, 1.0), (7, 8.0), (30, 33.0), (60, 66.0)] {
                let wait = policy.wait(1, &status(429, Some(asked)), seed).unwrap();
                assert!(wait >= Duration::from_secs(asked), "{asked}: {wait:?}");
                assert!(wait.as_secs_f64() <= at_most, "{asked}: {wait:?}");
            }
        }
        assert_eq!(policy.wait(1, &status(429, Some(61)), 1), None);
        assert_eq!(policy.wait(1, &status(429, Some(u64::MAX)), 1), None);
    }

    #[test]
    fn a_wait_is_one_line() {
        let retrying = Retrying {
            reason: "429 too many requests".to_owned(),
            remaining: Duration::from_millis(11_200),
            attempt: 2,
            attempts: 4,
        };
        assert_eq!(
            retrying.line(),
            "429 too many requests · trying again in 12 s · attempt 2 of 4"
        );
    }
}
