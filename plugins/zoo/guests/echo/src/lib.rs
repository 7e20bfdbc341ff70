//! Well-behaved: returns its argument. What every other guest is compared with.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, parameters};
use serde_json::Value;

struct Echo;

impl Tool for Echo {
    const NAME: &'static str = "echo";
    const DESCRIPTION: &'static str = "Returns its argument.";
    const PARAMETERS: Parameters = parameters!("@param text {string} [required] What to return");
    type Arguments = Value;

    fn prepare(arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask(format!("Repeat {}?", arguments["text"])))
    }

    fn run(arguments: Value) -> Result<Output, Failure> {
        Ok(arguments["text"].as_str().unwrap_or_default().into())
    }
}

dunlin_sdk::export!(Echo);
