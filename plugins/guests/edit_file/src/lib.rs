//! The tools `edit_file`, which lets a model change lines or texts of a text file, and `apply_patch`.
//!
//! The tools themselves change nothing: `edit_file` turns what the model wrote into edits, declares them, and hands the
//! same to the host, which shows the user the difference, applies it and writes the file. What is left is to
//! be clear to the model: an error names the edit by its number, and the answer shows where the new lines
//! stand now, so that the next edit has the right numbers without reading the file again.

mod apply_patch;
pub mod arguments;
mod patch;
pub mod places;
pub mod report;

use dunlin_sdk::files::{self, File, TextEdit};
use dunlin_sdk::{Error, Failure, Output, Parameters, Plan, Tool};

use apply_patch::ApplyPatch;
use arguments::{Arguments, Edits};
use places::Place;

/// Bytes of a file that can be edited.
const MAX_FILE_BYTES: usize = 8 << 20;

/// Bytes that are read of it at once.
const PIECE_BYTES: u32 = 1 << 20;

/// The tool.
#[derive(Debug)]
pub struct EditFile;

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const TITLE: Option<&'static str> = Some("Edit a file");
    const IS_DESTRUCTIVE: Option<bool> = Some(true);
    const IS_IDEMPOTENT: Option<bool> = Some(false);

    const DESCRIPTION: &'static str = "Changes parts of a text file. Use old_text for small changes: it must be in the file \
        exactly once, white space included, unless replace_all is set; add lines around it until it is. Use range for long \
        or repeated passages, after reading the file with read_file. Line numbers count from 1 and are those of the file \
        before the call; the end of a range is not part of it: [5, 6] replaces line 5; [5, 8] replaces lines 5, 6 and 7; \
        [5, 5] inserts before line 5; [21, 21] appends to a file of 20 lines; an empty replacement removes the lines. Put \
        all changes of a file into one call; they must not overlap. To create a file, or to replace all of one, use \
        write_file.";

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
      "description": "The changes: all with old_text, or all with range; ranges sorted by line",
      "items": {
        "type": "object",
        "properties": {
          "old_text": {
            "type": "string",
            "description": "Text of the file that is replaced"
          },
          "new_text": {
            "type": "string",
            "description": "What takes the place of old_text; empty to remove"
          },
          "replace_all": {
            "type": "boolean",
            "description": "Whether every occurrence of old_text is replaced; false if left out"
          },
          "range": {
            "type": "array",
            "items": { "type": "integer", "minimum": 1 },
            "minItems": 2,
            "maxItems": 2,
            "description": "[first line that is replaced, first line that stays]"
          },
          "replacement": {
            "type": "string",
            "description": "The new lines for range; empty to remove"
          }
        },
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
        Ok(arguments.edits()?.plan(path))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let path = arguments.path()?;
        let (edited, places) = match arguments.edits()? {
            Edits::Lines(edits) => {
                let places = places::of_lines(&edits);
                (files::edit(path, edits)?, places)
            }
            Edits::Texts(edits) => {
                let places = places_of_texts(path, &edits).unwrap_or_default();
                (files::replace_texts(path, edits)?, places)
            }
        };
        // It has happened: what fails from here on only makes the answer shorter.
        let file = File::open(path);
        let text = report::report(path, &places, edited, |first, count| {
            let file = file.as_ref().map_err(Error::clone)?;
            let lines = file.read_lines(first, count, report::MAX_BYTES, report::MAX_LINE_BYTES)?;
            Ok(lines.lines)
        });
        Ok(text.into())
    }
}

/// Where the new lines will be, for the answer: what cannot be found out is not shown.
fn places_of_texts(path: &str, edits: &[TextEdit]) -> Result<Vec<Place>, Error> {
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    while bytes.len() <= MAX_FILE_BYTES {
        let piece = file.read_at(bytes.len() as u64, PIECE_BYTES)?;
        if piece.is_empty() {
            break;
        }
        bytes.extend(piece);
    }
    Ok(places::of_texts(&String::from_utf8_lossy(&bytes), edits))
}

dunlin_sdk::export!(EditFile, ApplyPatch);

#[cfg(test)]
mod tests;
