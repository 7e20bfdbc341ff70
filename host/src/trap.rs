//! Why a guest ended, in words.

use std::time::Duration;

use wasmtime::Trap;

use crate::capability::declared::DeclaredTooMuch;
use crate::capability::wasi::Ended;
use crate::capability::{CallState, UsedInDescribe};
use crate::display;
use crate::engine::error::one_line;
use crate::engine::memory_limit::Refused;
use crate::limits::{self, Limits};

/// Characters of what a guest printed last that are repeated when it broke.
const MAX_LAST_WORDS_CHARS: usize = 300;

/// What a trap means, as the end of a sentence that starts with the tool's name.
pub(crate) fn explain(error: &wasmtime::Error, state: &CallState, limits: &Limits) -> String {
    // A guest whose memory may not grow ends in a trap of its own making; the limit is the cause.
    match state.limiter.refused() {
        Some(Refused::Memory) => {
            let mebibytes = limits.memory_bytes / (1024 * 1024);
            return format!("needed more than {mebibytes} MiB of memory");
        }
        Some(Refused::Tables) => {
            let elements = limits::MAX_TABLE_ELEMENTS;
            return format!("needed more than {elements} table elements");
        }
        None => {}
    }
    // Why, in a language of its own: the last line of a traceback, of a panic.
    let crash = state.context.crash.clone();
    let said = crash
        .or_else(|| state.machine.last_words())
        .map_or_else(String::new, |words| {
            let words = display::escape(&words).into_owned();
            format!(": {}", display::shorten(&words, MAX_LAST_WORDS_CHARS))
        });
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => "ran out of stack: it called itself too deeply".into(),
        Some(Trap::UnreachableCodeReached) => format!("crashed{said}"),
        Some(trap) => format!("crashed: {trap}{said}"),
        None => {
            if let Some(misuse) = error.downcast_ref::<UsedInDescribe>() {
                return misuse.to_string();
            }
            if let Some(excess) = error.downcast_ref::<DeclaredTooMuch>() {
                return excess.to_string();
            }
            if let Some(ended) = error.downcast_ref::<Ended>() {
                return format!("{ended}{said}");
            }
            let text = one_line(error);
            if text.contains("fuel allocated for hostcalls") {
                return format!(
                    "handed over more than {} MiB at once",
                    limits::MAX_COPY_BYTES / (1024 * 1024)
                );
            }
            format!("failed: {text}")
        }
    }
}

pub(crate) fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
