//! Fails with a message of 10 MB. What the model and the user get of it must be short.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool};
use serde_json::Value;

struct HugeError;

impl Tool for HugeError {
    const NAME: &'static str = "huge_error";
    const DESCRIPTION: &'static str = "Fails with a message of 10 MB.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        Err(Failure::failed("sorry ".repeat(10 * 1024 * 1024 / 6)))
    }
}

dunlin_sdk::export!(HugeError);
