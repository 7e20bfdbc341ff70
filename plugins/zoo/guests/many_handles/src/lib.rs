//! Opens the same file until it is refused, and closes none. The limit of handles must answer with
//! an error that the guest survives; it returns how far it got.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, files::File, parameters};
use serde_json::Value;

struct ManyHandles;

impl Tool for ManyHandles {
    const NAME: &'static str = "many_handles";
    const DESCRIPTION: &'static str = "Opens a file again and again.";
    const PARAMETERS: Parameters = parameters!("@param path {string} [required] The file");
    type Arguments = Value;

    fn prepare(arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask(format!("Read {}?", path(arguments))).reads(path(arguments)))
    }

    fn run(arguments: Value) -> Result<Output, Failure> {
        let mut open = Vec::new();
        loop {
            match File::open(path(&arguments)) {
                Ok(file) => open.push(file),
                Err(error) => return Ok(format!("{} files open, then: {error}", open.len()).into()),
            }
        }
    }
}

dunlin_sdk::export!(ManyHandles);

fn path(arguments: &Value) -> &str {
    arguments["path"].as_str().unwrap_or_default()
}
