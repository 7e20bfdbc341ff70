//! How long a server asks to wait: the headers `retry-after-ms` and `retry-after`.

use std::time::{Duration, SystemTime};

/// How long the server asks to wait, in milliseconds.
pub(super) fn milliseconds(header: &str) -> Option<Duration> {
    let milliseconds = header.trim().parse::<f64>().ok()?;
    Duration::try_from_secs_f64(milliseconds / 1000.0).ok()
}

/// How long the server asks to wait: seconds, or a date of HTTP. `now` is the time to count from.
pub(super) fn seconds_or_date(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(header).ok()?;
    let date = SystemTime::from(date.timestamp());
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_in_milliseconds() {
        for (header, expected) in [
            ("1500", Some(1500)),
            ("0", Some(0)),
            ("-1", None),
            ("x", None),
        ] {
            assert_eq!(
                milliseconds(header),
                expected.map(Duration::from_millis),
                "{header}"
            );
        }
    }

    #[test]
    fn waiting_times() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (header, seconds) in [
            ("7", Some(7)),
            ("Sun, 06 Nov 1994 08:49:40 GMT", Some(3)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
        ] {
            assert_eq!(
                seconds_or_date(header, now),
                seconds.map(Duration::from_secs),
                "{header}"
            );
        }
    }
}
