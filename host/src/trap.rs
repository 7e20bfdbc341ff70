//! Why a guest ended, in words.

use std::time::Duration;

use wasmtime::{Trap, WasmBacktrace};

use crate::capability::declared::DeclaredTooMuch;
use crate::capability::wasi::{Ended, LastWords};
use crate::capability::{CallState, UsedInDescribe};
use crate::display;
use crate::engine::error::one_line;
use crate::engine::memory_limit::Refused;
use crate::limits::{self, Limits};

/// Characters of what a guest printed last that are repeated when it broke.
const MAX_LAST_WORDS_CHARS: usize = 300;

/// The functions of a guest that are named when it broke.
const MAX_FUNCTIONS: usize = 3;

/// Bytes of the name of one: what the bindings of C make of a long name.
const MAX_FUNCTION_BYTES: usize = 80;

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
    // Why, in a language of its own: an exception, a panic, the last line.
    let crash = state.context.crash.clone().map(|text| LastWords {
        text,
        has_place: true,
    });
    let said = crash.or_else(|| state.machine.last_words());
    let place = match &said {
        Some(said) if said.has_place => String::new(),
        _ => functions(error),
    };
    let said = said.map_or_else(String::new, |said| {
        let words = display::escape(&said.text).into_owned();
        format!(": {}", display::shorten(&words, MAX_LAST_WORDS_CHARS))
    });
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => {
            format!("ran out of stack: it called itself too deeply{place}")
        }
        Some(Trap::UnreachableCodeReached) => format!("crashed{said}{place}"),
        Some(trap) => format!("crashed: {trap}{said}{place}"),
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

/// The functions that a trap came by, the innermost first, for the end of a clause. Nothing without the names that a compiler
/// leaves in a component.
fn functions(error: &wasmtime::Error) -> String {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else {
        return String::new();
    };
    // As an author writes them: the others are of the compiler and of libraries.
    let is_plain = |name: &&str| {
        (1..=MAX_FUNCTION_BYTES).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let frames = backtrace.frames().iter();
    let names = frames.filter_map(|frame| frame.func_name());
    let mut names: Vec<&str> = names.filter(is_plain).take(MAX_FUNCTIONS).collect();
    names.dedup();
    match names.as_slice() {
        [] => String::new(),
        names => format!(" (in {})", names.join(", called by ")),
    }
}

pub(crate) fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
