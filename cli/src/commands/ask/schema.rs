//! `ask --output-schema`: a reply that is one JSON value, checked before anybody relies on it.
//!
//! The model is told the schema in words, which every server takes; servers differ in what they accept as a schema of their own.

use std::io::Read;
use std::path::{Path, PathBuf};

use dunlin_host::files::open_regular;
use dunlin_host::{Schema, SchemaError};
use serde_json::Value;

use crate::error::CliError;

/// The largest schema in bytes. It is sent with the question, and a larger one is a mistake.
const MAX_BYTES: u64 = 256 * 1024;

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
enum OutputSchemaError {
    #[error("cannot read the schema {}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the schema {} has more than {} KiB", .0.display(), MAX_BYTES / 1024)]
    TooLarge(PathBuf),
    #[error("the schema {} is not JSON", path.display())]
    Json {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("cannot use the schema {}", path.display())]
    Schema { path: PathBuf, source: SchemaError },
}

/// What of a reply does not fit.
#[derive(Debug, thiserror::Error)]
pub enum ReplyError {
    #[error("it is not one JSON value ({0})")]
    Json(serde_json::Error),
    /// In the words of the schema's library.
    #[error("{0}")]
    Misfit(String),
}

/// What the reply has to be.
#[derive(Debug)]
pub struct OutputSchema {
    text: String,
    schema: Schema,
}

impl OutputSchema {
    /// Reads it from a file.
    ///
    /// # Errors
    /// It cannot be read, or is no schema.
    pub fn read(path: &Path) -> Result<OutputSchema, CliError> {
        OutputSchema::from_file(path).map_err(CliError::usage)
    }

    fn from_file(path: &Path) -> Result<OutputSchema, OutputSchemaError> {
        let path = || path.to_path_buf();
        let mut text = String::new();
        open_regular(path().as_path())
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
            .map_err(|source| OutputSchemaError::Read {
                path: path(),
                source,
            })?;
        if text.len() as u64 > MAX_BYTES {
            return Err(OutputSchemaError::TooLarge(path()));
        }
        let value = serde_json::from_str(&text).map_err(|source| OutputSchemaError::Json {
            path: path(),
            source,
        })?;
        let schema = Schema::new(value).map_err(|source| OutputSchemaError::Schema {
            path: path(),
            source,
        })?;
        Ok(OutputSchema { text, schema })
    }

    /// What is said below the question.
    pub fn request(&self) -> String {
        format!(
            "\n\nReply with one JSON value that fits this JSON Schema, and with nothing else:\n\n{}",
            self.text.trim()
        )
    }

    /// What is said of a reply that does not fit.
    pub fn correction(misfit: &ReplyError) -> String {
        format!(
            "That reply does not fit the schema: {misfit}. Reply again, with nothing but the JSON value."
        )
    }

    /// The value that a reply is.
    ///
    /// # Errors
    /// It does not fit.
    pub fn value(&self, reply: &str) -> Result<Value, ReplyError> {
        let value = serde_json::from_str(without_fence(reply)).map_err(ReplyError::Json)?;
        match self.schema.misfit(&value) {
            None => Ok(value),
            Some(misfit) => Err(ReplyError::Misfit(misfit)),
        }
    }
}

/// The text within a code fence, where the whole reply is one: models add it out of habit.
fn without_fence(reply: &str) -> &str {
    let reply = reply.trim();
    let inner = reply
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .and_then(|rest| rest.split_once('\n'));
    match inner {
        Some((info, inner)) if matches!(info.trim(), "" | "json") => inner.trim(),
        _ => reply,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_one_value_that_fits() {
        let text = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
        let schema = OutputSchema {
            text: text.to_owned(),
            schema: Schema::new(serde_json::from_str(text).unwrap()).unwrap(),
        };
        for fits in [
            r#"{"n":1}"#,
            " {\"n\": 1}\n",
            "```json\n{\"n\":1}\n```",
            "```\n{\"n\":1}```",
        ] {
            assert_eq!(
                schema.value(fits).unwrap(),
                serde_json::json!({"n": 1}),
                "{fits}"
            );
        }
        for (misfit, said) in [
            ("", "not one JSON value"),
            ("Here: {\"n\":1}", "not one JSON value"),
            ("{\"n\":1} {\"n\":2}", "not one JSON value"),
            ("```rust\n{\"n\":1}\n```", "not one JSON value"),
            ("{\"n\":\"1\"}", "is not of type"),
            ("{}", "\"n\" is a required property"),
        ] {
            let error = schema.value(misfit).unwrap_err().to_string();
            assert!(error.contains(said), "{misfit}: {error}");
        }
    }
}
