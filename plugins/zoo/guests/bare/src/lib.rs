//! Well-behaved: reads one small file in one piece and returns it. The measure of what a call
//! costs.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, files::File, parameters};
use serde_json::Value;

struct Bare;

impl Tool for Bare {
    const NAME: &'static str = "bare";
    const DESCRIPTION: &'static str = "Reads a small file.";
    const PARAMETERS: Parameters = parameters!("@param path {string} [required] The file");
    type Arguments = Value;

    fn prepare(arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask(format!("Read {}?", path(arguments))).reads(path(arguments)))
    }

    fn run(arguments: Value) -> Result<Output, Failure> {
        let bytes = File::open(path(&arguments))?.read_at(0, 64 * 1024)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned().into())
    }
}

dunlin_sdk::export!(Bare);

fn path(arguments: &Value) -> &str {
    arguments["path"].as_str().unwrap_or_default()
}
