//! The read_file tool.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, files::File};
use serde::Deserialize;

/// The tool.
#[derive(Debug)]
pub struct ReadFile;

/// What it takes.
#[derive(Debug, Deserialize)]
pub struct Arguments {
    file_path: String,
    #[serde(default, deserialize_with = "dunlin_sdk::lenient::integer")]
    start_line: Option<i64>,
    #[serde(default, deserialize_with = "dunlin_sdk::lenient::integer")]
    end_line: Option<i64>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Reads lines of a text file.";
    const PARAMETERS: Parameters = Parameters::lines(
        "@param file_path {string} [required] The file\n\
         @param start_line {integer} [optional] First line\n\
         @param end_line {integer} [optional] Last line\n\
         @param read_entire_file {boolean} [optional] All of it",
    );
    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        let path = &arguments.file_path;
        let question = match (arguments.start_line, arguments.end_line) {
            (Some(first), Some(last)) => format!("Read file '{path}' (lines {first}-{last})?"),
            _ => format!("Read file '{path}'?"),
        };
        Ok(Plan::ask(question).reads(path))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let file = File::open(&arguments.file_path)?;
        let first = arguments.start_line.unwrap_or(1).max(1) as u64;
        let lines = file.read_lines(first, 250, 100 * 1024, 1024)?;
        let text: Vec<String> = lines.lines.into_iter().map(|line| line.text).collect();
        Ok(text.join("\n").into())
    }
}

dunlin_sdk::export!(ReadFile);
