//! Declares 100,000 needs. It must be refused in one clear line: nobody can read such a question.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool};
use serde_json::Value;

struct ManyNeeds;

impl Tool for ManyNeeds {
    const NAME: &'static str = "many_needs";
    const DESCRIPTION: &'static str = "Declares 100,000 needs.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        let plan = Plan::ask("Read some files?");
        Ok((0..100_000).fold(plan, |plan, number| plan.reads(format!("file-{number}"))))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        Ok("never".into())
    }
}

dunlin_sdk::export!(ManyNeeds);
