//! Asks the user while it is being prepared, when nothing was decided yet. Nobody must be asked.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, chat};
use serde_json::Value;

struct AskInPrepare;

impl Tool for AskInPrepare {
    const NAME: &'static str = "ask_in_prepare";
    const DESCRIPTION: &'static str = "Asks too early.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        match chat::ask("Already?", &[]) {
            Ok(answer) => Ok(Plan::ask(format!("You said {answer}?"))),
            Err(error) => Err(error.into()),
        }
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        Ok("ran".into())
    }
}

dunlin_sdk::export!(AskInPrepare);
