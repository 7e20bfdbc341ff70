//! Reports progress a million times and then succeeds. The terminal must stay calm, and the result
//! must come.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, chat};
use serde_json::Value;

struct ProgressFlood;

impl Tool for ProgressFlood {
    const NAME: &'static str = "progress_flood";
    const DESCRIPTION: &'static str = "Reports progress a million times.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        for step in 0..1_000_000_u32 {
            chat::progress(&format!("step {step}"), Some((step / 10_000) as u8));
        }
        Ok("done".into())
    }
}

dunlin_sdk::export!(ProgressFlood);
