//! Writes to the log without end. The log must stay small, and the time limit must stop the guest.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, log};
use serde_json::Value;

struct LogForever;

impl Tool for LogForever {
    const NAME: &'static str = "log_forever";
    const DESCRIPTION: &'static str = "Writes to the log without end.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        let message = "noise ".repeat(10_000);
        loop {
            log::info(&message);
        }
    }
}

dunlin_sdk::export!(LogForever);
