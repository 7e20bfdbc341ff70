//! Asks for four gigabytes at once in every way there is. It must get bounded answers or errors,
//! and return which.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, files, files::File, parameters};
use serde_json::Value;

struct BigRead;

impl Tool for BigRead {
    const NAME: &'static str = "big_read";
    const DESCRIPTION: &'static str = "Reads as much as it can.";
    const PARAMETERS: Parameters = parameters!("@param path {string} [required] The file");
    type Arguments = Value;

    fn prepare(arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask(format!("Read {}?", path(arguments)))
            .reads(path(arguments))
            .reads("."))
    }

    fn run(arguments: Value) -> Result<Output, Failure> {
        let file = File::open(path(&arguments))?;
        let bytes = file.read_at(0, u32::MAX).map(|bytes| bytes.len());
        let lines = file
            .read_lines(1, u32::MAX, u32::MAX, u32::MAX)
            .map(|lines| {
                lines
                    .lines
                    .iter()
                    .map(|line| line.text.len())
                    .sum::<usize>()
            });
        let entries = files::list_folder(".", u32::MAX).map(|listing| listing.entries.len());
        Ok(format!("bytes: {bytes:?}\nlines: {lines:?}\nentries: {entries:?}").into())
    }
}

dunlin_sdk::export!(BigRead);

fn path(arguments: &Value) -> &str {
    arguments["path"].as_str().unwrap_or_default()
}
