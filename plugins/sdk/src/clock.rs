//! The time. It needs no permission, and works in `prepare` as well.

use crate::host::clock as host;

/// Milliseconds since 1970-01-01 UTC.
pub fn now_ms() -> u64 {
    host::now_ms()
}

/// How many minutes the user's local time is ahead of UTC at a time in milliseconds since 1970-01-01 UTC; negative where it
/// is behind. 0 where the machine does not know, and outside of a component.
///
/// With the crate `jiff`, today's date is:
///
/// ```text
/// fn today() -> Result<jiff::civil::Date, jiff::Error> {
///     let now = clock::now_ms();
///     let offset = jiff::tz::Offset::from_seconds(clock::utc_offset_minutes(now) * 60)?;
///     Ok(offset.to_datetime(jiff::Timestamp::from_millisecond(now as i64)?).date())
/// }
/// ```
pub fn utc_offset_minutes(at_ms: u64) -> i32 {
    host::utc_offset_minutes(at_ms)
}
