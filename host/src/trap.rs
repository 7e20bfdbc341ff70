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
        let text = python_error(&said.text).unwrap_or(said.text);
        let words = display::escape(&text).into_owned();
        format!(": {}", display::shorten(&words, MAX_LAST_WORDS_CHARS))
    });
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => {
            format!("ran out of stack: it called itself too deeply{place}")
        }
        // Address 0 is one like any other, and so what a null pointer leads to has functions at address 0.
        Some(Trap::IndirectCallToNull) => format!(
            "crashed: it called a function that is not there, as with a FILE that is NULL{said}{place}"
        ),
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
            if is_no_handle(&text) {
                return format!(
                    "handed over something that does not exist ({text}): a function has to set its result before it returns \
                     true, and its failure before it returns false"
                );
            }
            format!("failed: {text}")
        }
    }
}

/// What the engine says of a handle that is none, or is one of something else: in C, where nothing was set.
fn is_no_handle(text: &str) -> bool {
    text.starts_with("unknown handle index")
        || text.starts_with("handle index") && text.contains("used with the wrong type")
}

/// The exception in what the engine of Python says in the words of Rust when a function of the bindings gets something else
/// than it takes.
fn python_error(text: &str) -> Option<String> {
    let (_, error) = text.split_once("PyErr { type: <class '")?;
    let (class, rest) = error.split_once("'>, value: ")?;
    let (value, _) = rest.rsplit_once(", traceback: ")?;
    let message = value.strip_prefix(class)?.strip_prefix('(')?;
    let message = message.strip_suffix(')')?.trim_end_matches(',');
    let quote = message.chars().next().filter(|it| matches!(it, '\'' | '"'));
    let message = quote
        .and_then(|quote| message.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(message);
    Some(format!(
        "{class}: {message}, in what the plugin gave to a function of its bindings"
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_said_in_the_words_of_python() {
        let panic = |value: &str| {
            format!(
                "called `Result::unwrap()` on an `Err` value: PyErr {{ type: <class 'TypeError'>, value: TypeError({value}), \
                 traceback: None }} (runtime/src/lib.rs:1494)"
            )
        };
        for (value, expected) in [
            (
                "\"'int' object is not an instance of 'str'\"",
                "TypeError: 'int' object is not an instance of 'str', in what the plugin gave to a function of its bindings",
            ),
            (
                "'too few, many)',",
                "TypeError: too few, many), in what the plugin gave to a function of its bindings",
            ),
            (
                "",
                "TypeError: , in what the plugin gave to a function of its bindings",
            ),
        ] {
            assert_eq!(python_error(&panic(value)).as_deref(), Some(expected));
        }
        for other in [
            "",
            "called `Option::unwrap()` on a `None` value",
            "PyErr { type: <class 'x",
        ] {
            assert_eq!(python_error(other), None);
        }
    }

    #[test]
    fn what_was_not_set_is_told_from_other_failures() {
        for (text, is) in [
            ("unknown handle index 0", true),
            (
                "handle index 1 used with the wrong type, expected guest-defined resource but found a different guest-defined resource",
                true,
            ),
            ("cannot remove owned resource while borrowed", false),
        ] {
            assert_eq!(is_no_handle(text), is, "{text}");
        }
    }
}
