//! What an app may use up of what it shares with others, for as long as it is open and in all its instances.

use std::time::Duration;

use tokio::time::Instant;

use crate::audit::AuditRoom;
use crate::limits::{APP_AUDIT_PERIOD, APP_COUNT_PERIOD, MAX_AUDIT_BYTES};

pub(super) struct Budget {
    counting: Period,
    logging: Period,
    audit_room: AuditRoom,
}

impl Budget {
    pub(super) fn new() -> Budget {
        Budget {
            counting: Period(None),
            logging: Period(None),
            audit_room: AuditRoom::new(MAX_AUDIT_BYTES),
        }
    }

    /// What an event that begins now may write into the audit log, and whether questions and requests are counted anew.
    pub(super) fn begin_event(&mut self, now: Instant) -> (AuditRoom, bool) {
        if self.logging.is_over(APP_AUDIT_PERIOD, now) {
            self.audit_room = AuditRoom::new(MAX_AUDIT_BYTES);
        }
        let counts_anew = self.counting.is_over(APP_COUNT_PERIOD, now);
        (self.audit_room.clone(), counts_anew)
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
    fn the_room_in_the_audit_log_is_of_an_hour() {
        let start = Instant::now();
        let mut budget = Budget::new();
        let (room, _) = budget.begin_event(start);
        room.take(MAX_AUDIT_BYTES);
        let second = Duration::from_secs(1);
        for (age, is_used_up) in [
            (second, true),
            (APP_AUDIT_PERIOD - second, true),
            (APP_AUDIT_PERIOD, false),
        ] {
            let (room, _) = budget.begin_event(start + age);
            assert_eq!(room.is_used_up(), is_used_up, "{age:?}");
        }
    }

    #[test]
    fn questions_and_requests_are_counted_by_the_minute() {
        let start = Instant::now();
        let mut budget = Budget::new();
        for (seconds, counts_anew) in [
            (0, true),
            (59, false),
            (60, true),
            (119, false),
            (500, true),
        ] {
            let now = start + Duration::from_secs(seconds);
            assert_eq!(budget.begin_event(now).1, counts_anew, "{seconds} s");
        }
    }
}
