//! The tool `write_file`: lets a model create a text file, or replace all of one.
//!
//! The host shows the user the difference and writes the file. As with a range of lines, a file is replaced only if a tool has
//! opened it in the session as it is now: one that the model has never looked at is not overwritten.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Schema, Tool, files};
use serde::Deserialize;

/// The tool.
#[derive(Debug)]
pub struct WriteFile;

/// What the model says.
#[derive(Debug, Deserialize, Schema)]
pub struct Arguments {
    /// Path of the file, relative to the project folder or absolute; missing folders above it are made
    file_path: String,
    /// All of the file, without line numbers
    content: String,
}

impl Arguments {
    fn path(&self) -> Result<&str, Failure> {
        match self.file_path.as_str() {
            "" => Err(Failure::invalid_arguments(
                "file_path: it is empty; give the path of a file",
            )),
            path => Ok(path),
        }
    }
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const TITLE: Option<&'static str> = Some("Write a file");
    const IS_DESTRUCTIVE: Option<bool> = Some(true);
    const IS_IDEMPOTENT: Option<bool> = Some(true);

    const DESCRIPTION: &'static str = "Creates a text file, or replaces all of one. A file that exists must have been read with \
        read_file before. To change parts of a file use edit_file.";

    const PARAMETERS: Parameters = Parameters::of::<Arguments>();

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        let path = arguments.path()?;
        Ok(Plan::of_actions().replaces_lines(path, &arguments.content))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let path = arguments.path()?;
        let written = files::replace_lines(path, &arguments.content)?;
        let after = lines(written.lines_after);
        let text = match written.created {
            true => format!("Created '{path}' with {after}."),
            false => format!(
                "Replaced '{path}': {} before, {after} now.",
                lines(written.lines_before)
            ),
        };
        Ok(text.into())
    }
}

fn lines(count: u64) -> String {
    match count {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}

dunlin_sdk::export!(WriteFile);

#[cfg(test)]
mod tests {
    use dunlin_sdk::{FailureKind, parse_arguments};

    use super::*;

    #[test]
    fn a_call_says_all_that_the_file_will_hold() {
        let arguments = parse_arguments(r#"{"file_path":"a/b.txt","content":"x\ny\n"}"#).unwrap();
        assert_eq!(
            WriteFile::prepare(&arguments),
            Ok(Plan::of_actions().replaces_lines("a/b.txt", "x\ny\n"))
        );
        let empty = parse_arguments(r#"{"file_path":"a","content":""}"#).unwrap();
        assert!(WriteFile::prepare(&empty).is_ok());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let arguments = parse_arguments(r#"{"file_path":"","content":"x"}"#).unwrap();
        let failure = WriteFile::prepare(&arguments).unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidArguments);
        assert!(
            failure.message.starts_with("file_path: it is empty"),
            "{failure}"
        );
    }
}
