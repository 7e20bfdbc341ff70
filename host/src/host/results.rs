//! Between the texts of guests and the host: arguments that fit, and results.

use serde_json::Value;

use crate::bindings::exports::dunlin::tool::tool as wire;
use crate::call::{Failure, Success};
use crate::limits;
use crate::plugin::DescribedTool;
use crate::{arguments, display};

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
