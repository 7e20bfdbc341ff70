//! Reads a file in `prepare`, before anything was decided. Only an error may come of it; the guest
//! shows in its question what it got.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, files::File, parameters};
use serde_json::Value;

struct OpenInPrepare;

impl Tool for OpenInPrepare {
    const NAME: &'static str = "open_in_prepare";
    const DESCRIPTION: &'static str = "Reads a file too early.";
    const PARAMETERS: Parameters = parameters!("@param path {string} [required] The file");
    type Arguments = Value;

    fn prepare(arguments: &Value) -> Result<Plan, Failure> {
        let got = match File::open(path(arguments)).and_then(|file| file.read_at(0, 1024)) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => format!("nothing: {error}"),
        };
        Ok(Plan::ask(format!("Got {got}?")))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        Ok("done".into())
    }
}

dunlin_sdk::export!(OpenInPrepare);

fn path(arguments: &Value) -> &str {
    arguments["path"].as_str().unwrap_or_default()
}
