//! The tool `read_file`: shows a model the lines of a text file.
//!
//! What a model reads costs it room for thought, so the answer to "read this file" is its beginning
//! and an [outline](mod@outline) of the rest, by which the model asks for the range it needs. A long file
//! is given whole only when the user attached it or a tool edited it: then it is the subject, not a
//! place where something might be.
//!
//! [`arguments`] says what is wanted, [`mod@media`] gives images and documents as they are, [`read`] fetches lines, [`page`] lays it out. However large the file is, only what is shown is ever in memory (and for an outline a file
//! of at most [`read::OUTLINE_FILE_BYTES`]): the host finds the lines.

pub mod arguments;
pub mod media;
pub mod outline;
pub mod page;
pub mod read;

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, files::File, parameters};

use arguments::Arguments;

/// The tool.
#[derive(Debug)]
pub struct ReadFile;

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const TITLE: Option<&'static str> = Some("Read a file");
    const IS_DESTRUCTIVE: Option<bool> = Some(false);
    const IS_IDEMPOTENT: Option<bool> = Some(true);

    const DESCRIPTION: &'static str = "Reads a text file and returns its lines with their numbers. \
        Without a range it returns the first 250 lines and an outline of the file (functions, types, \
        headings with line numbers); ask for the lines you need with start_line and end_line. Files of \
        more than 500 lines are returned whole only if they were edited or attached in this session. Images (PNG, JPEG, GIF, \
        WebP) and PDF documents are returned as they are. To find the file or the \
        line first, use list_files, search_text or codebase_search.";

    const PARAMETERS: Parameters = parameters!(
        "@param file_path {string} [required] Path of the file, relative to the project folder or absolute\n\
         @param start_line {integer} [optional] First line to read, counted from 1\n\
         @param end_line {integer} [optional] Last line to read, inclusive\n\
         @param read_entire_file {boolean} [optional] Read the whole file; ignored when a range is given",
    );

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        let path = arguments.path()?;
        Ok(Plan::ask(arguments.question()).reads(path))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let path = arguments.path()?;
        let file = File::open(path)?;
        if let Some(output) = media::read(&file, path)? {
            return Ok(output);
        }
        Ok(read::read(&file, path, arguments.selection())?.into())
    }
}

dunlin_sdk::export!(ReadFile);

#[cfg(test)]
mod tests;
