//! Calls itself without end. The overflow of its stack must be a fault of the call and of nothing
//! else.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool};
use serde_json::Value;

struct DeepRecursion;

impl Tool for DeepRecursion {
    const NAME: &'static str = "deep_recursion";
    const DESCRIPTION: &'static str = "Calls itself without end.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        Ok(dive(0).to_string().into())
    }
}

dunlin_sdk::export!(DeepRecursion);

fn dive(depth: u64) -> u64 {
    match std::hint::black_box(depth) {
        u64::MAX => depth,
        depth => dive(depth + 1).wrapping_add(depth),
    }
}
