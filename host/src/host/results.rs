//! Between the texts of guests and the host: arguments that fit, and results.

use std::time::Duration;

use serde_json::Value;

use crate::bindings::declared::{DeclaredFailure, DeclaredOutput, DeclaredPart};
use crate::bindings::dunlin::tool::tool_types::FailureKind;
use crate::call::{Failure, Success};
use crate::limits;
use crate::plugin::DescribedTool;
use crate::{arguments, display, trap};

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
            let problem = display::escape(&display::chain(&problem)).into_owned();
            bad(display::shorten(&problem, limits::MAX_FAILURE_BYTES).into_owned())
        })?;
        arguments.to_string()
    };
    Ok(text)
}

pub(super) fn success(
    tool: &str,
    output: DeclaredOutput,
    max_bytes: usize,
) -> Result<Success, Failure> {
    let mut success = Success::default();
    let mut bytes = 0;
    let mut texts: Vec<String> = Vec::new();
    for part in output.parts {
        match part {
            DeclaredPart::Text(text) => {
                bytes += text.len();
                texts.push(text);
            }
            DeclaredPart::Blob {
                media_type,
                bytes: blob,
            } => {
                bytes += blob.len();
                success.blobs.push((media_type, blob));
            }
        }
    }
    if let Some(structured) = output.structured {
        bytes += structured.len();
        success.structured = Some(serde_json::from_str(&structured).map_err(|e| {
            fault(
                tool,
                format!("returned a structured result that is not JSON: {e}"),
            )
        })?);
        if texts.is_empty() {
            texts.push(structured);
        }
    }
    success.text = texts.join("\n");
    if bytes > max_bytes {
        return Err(fault(
            tool,
            format!("returned {bytes} bytes; at most {max_bytes} are allowed"),
        ));
    }
    Ok(success)
}

/// A failure that the tool declared, bounded and harmless.
pub(super) fn declared(tool: &str, failure: DeclaredFailure) -> Failure {
    let mut message = failure.message;
    message.truncate(message.floor_char_boundary(limits::MAX_FAILURE_BYTES));
    let mut message = display::escape_multiline(&message).into_owned();
    if let Some(milliseconds) = failure.retry_after_ms {
        let time = trap::seconds(Duration::from_millis(milliseconds));
        message.push_str(&format!(" (the same call may work after {time})"));
    }
    match failure.kind {
        FailureKind::InvalidArguments => Failure::Arguments {
            tool: tool.to_owned(),
            problem: message,
        },
        FailureKind::Denied => Failure::Denied { question: message },
        FailureKind::Cancelled => Failure::Cancelled,
        FailureKind::NotFound
        | FailureKind::TooLarge
        | FailureKind::Conflict
        | FailureKind::TimedOut
        | FailureKind::Unavailable
        | FailureKind::Unsupported
        | FailureKind::Failed => Failure::Tool {
            tool: tool.to_owned(),
            message,
        },
    }
}

pub(super) fn fault(tool: &str, problem: String) -> Failure {
    Failure::Fault {
        tool: tool.to_owned(),
        problem,
    }
}
