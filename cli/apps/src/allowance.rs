//! What comes too often to be shown each time.

use std::time::{Duration, Instant};

/// Lets a few of many things pass at once, then one each time an interval has passed, and counts the others.
#[derive(Debug)]
pub struct Allowance {
    burst: u32,
    interval: Duration,
    left: u32,
    counted: Instant,
    omitted: u64,
}

impl Allowance {
    /// So many at once, and one more for each interval.
    pub fn new(burst: u32, interval: Duration, now: Instant) -> Allowance {
        Allowance {
            burst,
            interval,
            left: burst,
            counted: now,
            omitted: 0,
        }
    }

    /// Whether one more may pass, and how many did not before it.
    pub fn take(&mut self, now: Instant) -> Option<u64> {
        let passed = now.duration_since(self.counted).as_millis() / self.interval.as_millis();
        if passed > 0 {
            let passed = u32::try_from(passed).unwrap_or(u32::MAX);
            self.left = self.left.saturating_add(passed).min(self.burst);
            self.counted = now;
        }
        if self.left == 0 {
            self.omit(1);
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.omitted))
    }

    /// So many more did not pass.
    pub fn omit(&mut self, count: u64) {
        self.omitted = self.omitted.saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_a_few_pass_and_the_rest_is_counted() {
        let (begun, interval) = (Instant::now(), Duration::from_millis(400));
        let mut allowance = Allowance::new(5, interval, begun);
        let passed = (0..100).filter_map(|_| allowance.take(begun)).count();
        assert_eq!(passed, 5);
        assert_eq!(allowance.take(begun + interval), Some(95));
        assert_eq!(allowance.take(begun + interval), None);
        allowance.omit(2);
        let later = begun + interval * 1000;
        assert_eq!(allowance.take(later), Some(3));
        assert_eq!(allowance.left, 4, "no more than at the beginning");
    }
}
