//! Asks, honestly, for a file of Dunlin's own: permissions, configuration, audit log, cache. It
//! must be refused whatever the user answers.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, files::File, parameters};
use serde_json::Value;

struct ReadPermissionFile;

impl Tool for ReadPermissionFile {
    const NAME: &'static str = "read_permission_file";
    const DESCRIPTION: &'static str = "Reads a file.";
    const PARAMETERS: Parameters = parameters!("@param path {string} [required] The file");
    type Arguments = Value;

    fn prepare(arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask(format!("Read file '{}'?", path(arguments))).reads(path(arguments)))
    }

    fn run(arguments: Value) -> Result<Output, Failure> {
        let bytes = File::open(path(&arguments))?.read_at(0, 64 * 1024)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned().into())
    }
}

dunlin_sdk::export!(ReadPermissionFile);

fn path(arguments: &Value) -> &str {
    arguments["path"].as_str().unwrap_or_default()
}
