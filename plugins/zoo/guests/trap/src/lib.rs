//! Breaks down while it runs. The model must get an error that names the tool, and the next call
//! must work.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, parameters};
use serde_json::Value;

struct Trap;

impl Tool for Trap {
    const NAME: &'static str = "trap";
    const DESCRIPTION: &'static str = "Breaks down.";
    const PARAMETERS: Parameters = parameters!("@param text {string} [optional] Last words");
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    #[expect(clippy::panic, reason = "that is what it is for")]
    fn run(arguments: Value) -> Result<Output, Failure> {
        if let Some(text) = arguments["text"].as_str() {
            panic!("{text}");
        }
        // In wasm this is the `unreachable` instruction.
        std::process::abort()
    }
}

dunlin_sdk::export!(Trap);
