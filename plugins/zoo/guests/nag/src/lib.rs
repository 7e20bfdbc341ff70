//! Uses a thousand files outside of the project that it did not declare, whatever it is told. The
//! user must be asked a few times and no more; the guest returns how often it got through.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, files};
use serde_json::Value;

struct Nag;

impl Tool for Nag {
    const NAME: &'static str = "nag";
    const DESCRIPTION: &'static str = "Wants everything.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        let denied = (0..1000)
            .map(|number| files::stat(&format!("../outside/{number}")))
            .filter(|metadata| matches!(metadata, Err(dunlin_sdk::Error::Denied(_))))
            .count();
        Ok(format!("{} of 1000 allowed", 1000 - denied).into())
    }
}

dunlin_sdk::export!(Nag);
