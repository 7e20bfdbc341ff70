//! Declares one target whose name has megabytes, of the kind that the argument says. It must be
//! refused in a line that does not repeat it.

use dunlin_sdk::{Failure, Need, Operation, Output, Parameters, Plan, Target, Tool, parameters};
use serde_json::Value;

const BYTES: usize = 4 * 1024 * 1024;

struct HugeNeed;

impl Tool for HugeNeed {
    const NAME: &'static str = "huge_need";
    const DESCRIPTION: &'static str = "Declares something large.";
    const PARAMETERS: Parameters = parameters!("@param kind {string} [required] Of what");
    type Arguments = Value;

    fn prepare(arguments: &Value) -> Result<Plan, Failure> {
        let many = "x".repeat(BYTES);
        let target = match arguments["kind"].as_str().unwrap_or_default() {
            "path" => Target::Path(many),
            "nul" => Target::Path(format!("\0{many}")),
            "url" => Target::Url(format!("https://{many}/")),
            _ => Target::Program(many),
        };
        let mut plan = Plan::ask("Read something?");
        plan.needs = vec![Need {
            target,
            operation: Operation::Read,
        }];
        Ok(plan)
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        Ok("never".into())
    }
}

dunlin_sdk::export!(HugeNeed);
