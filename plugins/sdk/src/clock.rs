//! The time. It needs no permission, and works in `prepare` as well.

use std::time::SystemTime;

use crate::bindings::dunlin::tool::clock as host;

/// Milliseconds since 1970-01-01 UTC.
pub fn now_ms() -> u64 {
    if cfg!(target_arch = "wasm32") {
        return host::now_ms();
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    })
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
    match cfg!(target_arch = "wasm32") {
        true => host::utc_offset_minutes(at_ms),
        false => 0,
    }
}
