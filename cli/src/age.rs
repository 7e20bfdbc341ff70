//! Says how long ago something was.

use jiff::Timestamp;

/// How long ago something was, as people say it.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    match now.as_second().saturating_sub(then.as_second()) {
        ..MINUTE => "just now".to_owned(),
        seconds @ MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        seconds @ HOUR..DAY => format!("{} h ago", seconds / HOUR),
        seconds if seconds < 2 * DAY => "yesterday".to_owned(),
        seconds if seconds < 30 * DAY => format!("{} days ago", seconds / DAY),
        _ => then.strftime("%Y-%m-%d").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_do() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let check = |then: &str, expected: &str| {
            assert_eq!(ago(then.parse().unwrap(), now), expected, "{then}");
        };
        check("2026-03-01T12:00:30Z", "just now");
        check("2026-03-01T11:59:01Z", "just now");
        check("2026-03-01T11:58:00Z", "2 min ago");
        check("2026-03-01T09:00:00Z", "3 h ago");
        check("2026-02-28T11:00:00Z", "yesterday");
        check("2026-02-20T12:00:00Z", "9 days ago");
        check("2026-01-02T12:00:00Z", "2026-01-02");
    }
}
