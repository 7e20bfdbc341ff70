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

/// The result of a tool, if it is what the tool has promised.
pub(super) fn success(
    described: &DescribedTool,
    output: DeclaredOutput,
    max_bytes: usize,
) -> Result<Success, Failure> {
    let tool = &described.tool.name;
    let (mut text, mut blobs) = (output.structured.as_ref().map_or(0, String::len), 0);
    for part in &output.parts {
        match part {
            DeclaredPart::Text(part) => text += part.len(),
            DeclaredPart::Blob { media_type, bytes } => {
                text += media_type.len();
                blobs += bytes.len();
            }
        }
    }
    // First: reading takes time with the size.
    for (bytes, max_bytes, what) in [
        (text, max_bytes, ""),
        (blobs, limits::MAX_RESULT_BLOB_BYTES, " that are not text"),
    ] {
        if bytes > max_bytes {
            return Err(fault(
                tool,
                format!("returned {bytes} bytes{what}; at most {max_bytes} are allowed"),
            ));
        }
    }
    let mut success = Success::default();
    let mut texts: Vec<String> = Vec::new();
    for part in output.parts {
        match part {
            DeclaredPart::Text(text) => texts.push(text),
            DeclaredPart::Blob { media_type, bytes } => success.blobs.push((media_type, bytes)),
        }
    }
    success.structured = match &output.structured {
        Some(structured) => Some(read_structured(described, structured)?),
        None if described.tool.annotations.output_schema.is_some() => {
            let problem = "has an output schema and returned no structured result";
            return Err(fault(tool, problem.to_owned()));
        }
        None => None,
    };
    if texts.is_empty() {
        texts.extend(output.structured);
    }
    success.text = texts.join("\n");
    Ok(success)
}

fn read_structured(described: &DescribedTool, json: &str) -> Result<Value, Failure> {
    let bad = |problem: String| {
        let problem = display::escape(&problem);
        let problem = display::shorten(&problem, limits::MAX_FAILURE_BYTES);
        fault(
            &described.tool.name,
            format!("returned a structured result that {problem}"),
        )
    };
    let value: Value = serde_json::from_str(json).map_err(|e| bad(format!("is not JSON: {e}")))?;
    if !value.is_object() {
        return Err(bad("is not a JSON object".to_owned()));
    }
    described.check_structured(&value).map_err(|e| {
        bad(format!(
            "does not fit its output schema: {}",
            display::chain(&e)
        ))
    })?;
    Ok(value)
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
        FailureKind::Denied => Failure::Denied {
            question: message,
            by_user: false,
        },
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plugin::Tool;

    fn tool(output_schema: Option<Value>) -> DescribedTool {
        let mut tool: Tool = serde_json::from_value(json!({
            "name": "t", "plugin": "p", "description": "", "imports": [],
            "parameters": {"type": "object"},
        }))
        .unwrap();
        tool.annotations.output_schema = output_schema;
        DescribedTool::new(tool)
    }

    fn output(texts: &[&str], structured: Option<&str>) -> DeclaredOutput {
        let text = |text: &&str| DeclaredPart::Text((*text).to_owned());
        DeclaredOutput {
            parts: texts.iter().map(text).collect(),
            structured: structured.map(str::to_owned),
        }
    }

    #[test]
    fn a_structured_result_fits_its_schema() {
        let schema = json!({
            "type": "object",
            "properties": {"count": {"type": "integer"}},
            "required": ["count"],
        });
        for (schema, structured, expected) in [
            (
                Some(&schema),
                Some(r#"{"count": 1}"#),
                Ok(r#"{"count": 1}"#),
            ),
            (None, Some(r#"{"any": [1]}"#), Ok(r#"{"any": [1]}"#)),
            (None, None, Ok("")),
            (
                Some(&schema),
                None,
                Err("has an output schema and returned no structured result"),
            ),
            (
                Some(&schema),
                Some(r#"{"count": "one"}"#),
                Err(
                    "returned a structured result that does not fit its output schema: \"one\" is not of type \"integer\" (at /count)",
                ),
            ),
            (
                None,
                Some("[1]"),
                Err("returned a structured result that is not a JSON object"),
            ),
            (
                None,
                Some("{"),
                Err(
                    "returned a structured result that is not JSON: EOF while parsing an object at line 1 column 1",
                ),
            ),
            (
                None,
                Some(&"1".repeat(101)),
                Err("returned 101 bytes; at most 100 are allowed"),
            ),
        ] {
            let found = success(&tool(schema.cloned()), output(&[], structured), 100);
            let found = found.map(|success| {
                let is_kept = success.structured.is_some();
                assert_eq!(is_kept, structured.is_some());
                success.text
            });
            let expected = expected.map(str::to_owned);
            let expected = expected.map_err(|problem| fault("t", problem.to_owned()).to_string());
            assert_eq!(found.map_err(|failure| failure.to_string()), expected);
        }
        let both = success(&tool(None), output(&["a", "b"], Some("{}")), 100).unwrap();
        assert_eq!(
            (both.text.as_str(), both.structured),
            ("a\nb", Some(json!({})))
        );
    }
}
