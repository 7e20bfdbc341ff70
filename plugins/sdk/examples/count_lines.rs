//! Counts the lines of a file: the whole of a small plugin.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Schema, Tool, files::File};
use serde::Deserialize;

struct CountLines;

#[derive(Deserialize, Schema)]
struct Arguments {
    /// The file, relative to the project
    file_path: String,
}

impl Tool for CountLines {
    const NAME: &'static str = "count_lines";
    const DESCRIPTION: &'static str = "Counts the lines of a text file.";
    const PARAMETERS: Parameters = Parameters::of::<Arguments>();
    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        let path = &arguments.file_path;
        Ok(Plan::ask(format!("Count the lines of '{path}'?")).reads(path))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let count = File::open(&arguments.file_path)?.count_lines()?;
        Ok(format!("{count} lines").into())
    }
}

dunlin_sdk::export!(CountLines);
