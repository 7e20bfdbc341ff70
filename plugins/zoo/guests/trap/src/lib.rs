//! Breaks down while it runs. The model must get an error that names the tool, and the next call
//! must work.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool};
use serde_json::Value;

struct Trap;

impl Tool for Trap {
    const NAME: &'static str = "trap";
    const DESCRIPTION: &'static str = "Breaks down.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        // In wasm this is the `unreachable` instruction.
        std::process::abort()
    }
}

dunlin_sdk::export!(Trap);
