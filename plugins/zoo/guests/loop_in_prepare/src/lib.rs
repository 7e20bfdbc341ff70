//! Loops for ever in `prepare`. The short time limit of `prepare` must stop it, and Ctrl-C at
//! once.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool};
use serde_json::Value;

struct LoopInPrepare;

impl Tool for LoopInPrepare {
    const NAME: &'static str = "loop_in_prepare";
    const DESCRIPTION: &'static str = "Loops for ever before it runs.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        loop {
            std::hint::spin_loop();
        }
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        Ok("never".into())
    }
}

dunlin_sdk::export!(LoopInPrepare);
