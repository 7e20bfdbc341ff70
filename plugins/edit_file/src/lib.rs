//! The tool `edit_file`: lets a model change the lines of a text file, or create one.
//!
//! The tool itself changes nothing: it turns what the model wrote into edits, declares them, and hands the
//! same to the host, which shows the user the difference, applies it and writes the file. What is left is to
//! be clear to the model: an error names the edit by its number, and the answer shows where the new lines
//! stand now, so that the next edit has the right numbers without reading the file again.

pub mod arguments;
pub mod report;

use dunlin_sdk::{Error, Failure, Output, Parameters, Plan, Tool, files};

use arguments::Arguments;

/// The tool.
#[derive(Debug)]
pub struct EditFile;

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const TITLE: Option<&'static str> = Some("Edit a file");
    const IS_DESTRUCTIVE: Option<bool> = Some(true);
    const IS_IDEMPOTENT: Option<bool> = Some(false);

    const DESCRIPTION: &'static str = "Replaces, inserts or removes lines of a text file, or creates a file. \
        Read the file with read_file first: an edit of a file that was not read, or that changed since, is \
        refused. Line numbers count from 1 and are those of the file before the call; the end of a range is \
        not part of it. range [5, 6] replaces line 5; [5, 8] replaces lines 5, 6 and 7; [5, 5] inserts before \
        line 5; for a file of 20 lines [21, 21] appends; an empty replacement removes the lines. A new file is \
        created with the one edit [1, 1]. Put all changes of a file into one call, sorted by line, without overlaps. \
        The replacement is whole lines without line numbers, with the indentation they need.";

    const PARAMETERS: Parameters = Parameters::json_schema(
        r#"{
  "type": "object",
  "properties": {
    "file_path": {
      "type": "string",
      "description": "Path of the file, relative to the project folder or absolute"
    },
    "edits": {
      "type": "array",
      "minItems": 1,
      "description": "The changes, sorted by line, without overlaps",
      "items": {
        "type": "object",
        "properties": {
          "range": {
            "type": "array",
            "items": { "type": "integer", "minimum": 1 },
            "minItems": 2,
            "maxItems": 2,
            "description": "[first line that is replaced, first line that stays]"
          },
          "replacement": {
            "type": "string",
            "description": "The new lines; empty to remove"
          }
        },
        "required": ["range", "replacement"],
        "additionalProperties": false
      }
    }
  },
  "required": ["file_path", "edits"],
  "additionalProperties": false
}"#,
    );

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        let path = arguments.path()?;
        let edits = arguments.edits()?;
        // Reading is for the answer, which shows the new lines with some around them.
        Ok(Plan::of_actions().reads(path).edits(path, edits))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let path = arguments.path()?;
        let edits = arguments.edits()?;
        let edited = files::edit(path, edits.clone())?;
        // It has happened: what fails from here on only makes the answer shorter.
        let file = files::File::open(path);
        let text = report::report(path, &edits, edited, |first, count| {
            let file = file.as_ref().map_err(Error::clone)?;
            let lines = file.read_lines(first, count, report::MAX_BYTES, report::MAX_LINE_BYTES)?;
            Ok(lines.lines)
        });
        Ok(text.into())
    }
}

dunlin_sdk::export!(EditFile);

#[cfg(test)]
mod tests;
