//! `clock`: the time here and now.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::context::CallContext;
use crate::bindings::dunlin::tool::clock;

impl clock::Host for CallContext {
    fn now_ms(&mut self) -> wasmtime::Result<u64> {
        self.not_in_describe()?;
        let now = Timestamp::now().as_millisecond();
        Ok(u64::try_from(now).unwrap_or(0))
    }

    fn utc_offset_minutes(&mut self, at_ms: u64) -> wasmtime::Result<i32> {
        self.not_in_describe()?;
        // Times that the calendar does not have are as good as the nearest one.
        let at = i64::try_from(at_ms).unwrap_or(i64::MAX);
        let at = Timestamp::from_millisecond(at).unwrap_or(Timestamp::MAX);
        Ok(TimeZone::system().to_offset(at).seconds() / 60)
    }
}
