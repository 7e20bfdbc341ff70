//! Reads from offsets and lines at the ends of their types. Each must be an empty answer or an
//! error, never an overflow in the host; the guest returns them.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, files::File, parameters};
use serde_json::Value;

struct WrongRange;

impl Tool for WrongRange {
    const NAME: &'static str = "wrong_range";
    const DESCRIPTION: &'static str = "Reads where nothing is.";
    const PARAMETERS: Parameters = parameters!("@param path {string} [required] The file");
    type Arguments = Value;

    fn prepare(arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask(format!("Read {}?", path(arguments))).reads(path(arguments)))
    }

    fn run(arguments: Value) -> Result<Output, Failure> {
        let file = File::open(path(&arguments))?;
        let answers = [
            format!("{:?}", file.read_at(u64::MAX, 10)),
            format!("{:?}", file.read_at(0, 0)),
            format!("{:?}", file.read_lines(0, 10, 1024, 1024)),
            format!("{:?}", file.read_lines(u64::MAX, u32::MAX, 1024, 1024)),
            format!("{:?}", file.read_lines(1, 0, 1024, 1024)),
            format!("{:?}", file.read_lines(1, 10, 0, 1024)),
            format!("{:?}", file.read_lines(1, 10, 1024, 0)),
        ];
        Ok(answers.join("\n").into())
    }
}

dunlin_sdk::export!(WrongRange);

fn path(arguments: &Value) -> &str {
    arguments["path"].as_str().unwrap_or_default()
}
