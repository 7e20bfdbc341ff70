//! Loops for ever while it runs. The time limit must stop it, and Ctrl-C at once.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool};
use serde_json::Value;

struct LoopForever;

impl Tool for LoopForever {
    const NAME: &'static str = "loop_forever";
    const DESCRIPTION: &'static str = "Loops for ever.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        loop {
            std::hint::spin_loop();
        }
    }
}

dunlin_sdk::export!(LoopForever);
