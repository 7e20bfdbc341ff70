//! Between the texts of guests and the host: arguments that fit, results, and faults in words.

use std::time::Duration;

use serde_json::Value;
use wasmtime::Trap;

use crate::bindings::exports::dunlin::tool::tool as wire;
use crate::call::{Failure, Success};
use crate::capability::wasi::Ended;
use crate::capability::{CallState, UsedInDescribe};
use crate::engine::limiter::Refused;
use crate::limits::{self, Limits};
use crate::plugin::{DescribedTool, one_line};
use crate::{arguments, display};

/// Characters of what a guest printed last that are repeated when it broke.
const MAX_LAST_WORDS_CHARS: usize = 300;

/// The arguments as the guest gets them, once they fit the schema.
pub(super) fn checked_arguments(
    tool: &DescribedTool,
    arguments: &Value,
) -> Result<String, Failure> {
    let bad = |problem: String| Failure::Arguments {
        tool: tool.tool.name.clone(),
        problem,
    };
    // First: checking takes time with the size.
    let bytes = arguments.to_string().len();
    if bytes > limits::MAX_ARGUMENT_BYTES {
        return Err(bad(format!(
            "{bytes} bytes; at most {} are allowed",
            limits::MAX_ARGUMENT_BYTES
        )));
    }
    let mended = arguments::mend(arguments, &tool.tool.parameters);
    let text = if tool.check_arguments(&mended).is_ok() {
        mended.to_string()
    } else {
        // What is said is said of the original: that is what the model wrote.
        tool.check_arguments(arguments).map_err(|problem| {
            let problem = display::escape(&problem).into_owned();
            bad(display::shorten(&problem, limits::MAX_FAILURE_BYTES).into_owned())
        })?;
        arguments.to_string()
    };
    Ok(text)
}

pub(super) fn success(
    tool: &str,
    content: Vec<wire::Content>,
    max_bytes: usize,
) -> Result<Success, Failure> {
    let mut success = Success::default();
    let mut first = true;
    let mut bytes = 0;
    for part in content {
        match part {
            wire::Content::Text(text) => {
                bytes += text.len();
                if !std::mem::take(&mut first) {
                    success.text.push('\n');
                }
                success.text.push_str(&text);
            }
            wire::Content::Blob(blob) => {
                bytes += blob.bytes.len();
                success.blobs.push((blob.media_type, blob.bytes));
            }
        }
    }
    if bytes > max_bytes {
        return Err(fault(
            tool,
            format!("returned {bytes} bytes; at most {max_bytes} are allowed"),
        ));
    }
    Ok(success)
}

/// A failure that the tool declared, bounded and harmless.
pub(super) fn declared(tool: &str, failure: wire::Failure) -> Failure {
    let mut message = failure.message;
    message.truncate(message.floor_char_boundary(limits::MAX_FAILURE_BYTES));
    let message = display::escape_multiline(&message).into_owned();
    match failure.kind {
        wire::FailureKind::InvalidArguments => Failure::Arguments {
            tool: tool.to_owned(),
            problem: message,
        },
        wire::FailureKind::Denied => Failure::Denied { question: message },
        wire::FailureKind::Cancelled => Failure::Cancelled,
        wire::FailureKind::NotFound | wire::FailureKind::TooLarge | wire::FailureKind::Failed => {
            Failure::Tool {
                tool: tool.to_owned(),
                message,
            }
        }
    }
}

pub(super) fn fault(tool: &str, problem: String) -> Failure {
    Failure::Fault {
        tool: tool.to_owned(),
        problem,
    }
}

/// What a trap means, as the end of a sentence that starts with the tool's name.
pub(super) fn explain(error: &wasmtime::Error, state: &CallState, limits: &Limits) -> String {
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
    let said = state
        .machine
        .last_words()
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

pub(super) fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
