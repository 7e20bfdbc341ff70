//! What an app may use up of what it shares with others, for as long as it is open and in all its instances.

use std::time::Duration;

use tokio::time::Instant;

use crate::audit::LogQuota;
use crate::capability::{AppAllowance, AppCounts};
use crate::limits::{APP_AUDIT_PERIOD, APP_COUNT_PERIOD, MAX_APP_LOG_BYTES, MAX_AUDIT_BYTES};

pub(super) struct Budget {
    counting: Period,
    logging: Period,
    audit_quota: LogQuota,
    message_quota: LogQuota,
    counts: AppCounts,
}

impl Budget {
    pub(super) fn new() -> Budget {
        Budget {
            counting: Period(None),
            logging: Period(None),
            audit_quota: LogQuota::new(MAX_AUDIT_BYTES),
            message_quota: LogQuota::new(MAX_APP_LOG_BYTES),
            counts: AppCounts::default(),
        }
    }

    /// What an event that begins now may use up.
    pub(super) fn begin_event(&mut self, now: Instant) -> AppAllowance {
        if self.logging.is_over(APP_AUDIT_PERIOD, now) {
            self.audit_quota = LogQuota::new(MAX_AUDIT_BYTES);
            self.message_quota = LogQuota::new(MAX_APP_LOG_BYTES);
        }
        if self.counting.is_over(APP_COUNT_PERIOD, now) {
            self.counts = AppCounts::default();
        }
        AppAllowance {
            audit_quota: self.audit_quota.clone(),
            message_quota: self.message_quota.clone(),
            counts: self.counts,
        }
    }

    /// What was asked and sent when the event ended, however it did.
    pub(super) fn end_event(&mut self, counts: AppCounts) {
        self.counts = counts;
    }
}

/// When it began.
struct Period(Option<Instant>);

impl Period {
    /// Whether the next one begins.
    fn is_over(&mut self, length: Duration, now: Instant) -> bool {
        let is_over = self.0.is_none_or(|since| now - since >= length);
        if is_over {
            self.0 = Some(now);
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quota_of_the_logs_is_of_an_hour() {
        let start = Instant::now();
        let mut budget = Budget::new();
        let first = budget.begin_event(start);
        first.audit_quota.take(MAX_AUDIT_BYTES);
        first.message_quota.take(MAX_APP_LOG_BYTES);
        let second = Duration::from_secs(1);
        for (age, is_used_up) in [
            (second, true),
            (APP_AUDIT_PERIOD - second, true),
            (APP_AUDIT_PERIOD, false),
        ] {
            let now = budget.begin_event(start + age);
            let quotas = [now.audit_quota, now.message_quota].map(|quota| quota.is_used_up());
            assert_eq!(quotas, [is_used_up; 2], "{age:?}");
        }
    }

    #[test]
    fn questions_and_requests_are_counted_by_the_minute() {
        let start = Instant::now();
        let mut budget = Budget::new();
        for (seconds, counted) in [(0, 0), (59, 1), (60, 0), (119, 1), (500, 0)] {
            let now = start + Duration::from_secs(seconds);
            let mut counts = budget.begin_event(now).counts;
            assert_eq!(counts.questions, counted, "{seconds} s");
            counts.questions += 1;
            budget.end_event(counts);
        }
    }
}
