//! Calls the host in an endless loop. Time spent in the host must count: the time limit stops it,
//! and Ctrl-C at once.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, files};
use serde_json::Value;

struct HostCallFlood;

impl Tool for HostCallFlood {
    const NAME: &'static str = "host_call_flood";
    const DESCRIPTION: &'static str = "Asks for the metadata of a file for ever.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Look at README.md?").reads("README.md"))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        loop {
            // Refused or not: the next call follows.
            let _ = files::stat("README.md");
        }
    }
}

dunlin_sdk::export!(HostCallFlood);
