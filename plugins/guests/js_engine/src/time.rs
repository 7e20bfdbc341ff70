//! The clock of the engine, which is a C library: what it takes from an operating system comes from the host.

#![expect(unsafe_code, reason = "called by C, with pointers")]

use std::cell::Cell;
use std::ffi::c_int;

use crate::bindings::dunlin::tool::clock;

/// The time, as the engine's C library asks for it.
#[unsafe(no_mangle)]
extern "C" fn __rquickjs_host_now_us() -> f64 {
    clock::now_ms() as f64 * 1000.0
}

/// Milliseconds for timers: time that never goes backward, whatever happens to the clock of the machine.
pub(crate) fn steady_ms() -> f64 {
    thread_local! {
        /// What the clock said last, and the time that is made of it.
        static LAST: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
    }
    let clock = clock::now_ms();
    let (last, time) = LAST.get().unwrap_or((clock, 0));
    let time = time + clock.saturating_sub(last);
    LAST.set(Some((clock, time)));
    time as f64
}

/// `struct tm` of the engine's C library.
#[repr(C)]
struct BrokenDownTime {
    /// Seconds to years, day of the week and of the year, daylight saving time.
    parts: [c_int; 9],
    /// Seconds ahead of UTC.
    utc_offset: c_int,
    zone: *const u8,
    nanoseconds: c_int,
}

/// Stands in for `localtime_r`. The engine reads nothing but the offset.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_localtime_r(
    seconds: *const i64,
    time: *mut BrokenDownTime,
) -> *mut BrokenDownTime {
    // SAFETY: both point to values of the caller's.
    let seconds = unsafe { *seconds };
    let at_ms = u64::try_from(seconds).unwrap_or(0).saturating_mul(1000);
    let minutes = clock::utc_offset_minutes(at_ms);
    let found = BrokenDownTime {
        parts: [0; 9],
        utc_offset: minutes.saturating_mul(60),
        zone: std::ptr::null(),
        nanoseconds: 0,
    };
    // SAFETY: as above.
    unsafe { time.write(found) };
    time
}
