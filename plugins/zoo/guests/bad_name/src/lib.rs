//! Has a tool whose name moves the cursor and breaks the line. It must be refused, with the name
//! escaped.

use dunlin_sdk::{Call, Failure, Output, Parameters, Plan, Plugin, PluginInfo, ToolInfo};

struct BadName;

impl Plugin for BadName {
    fn describe() -> PluginInfo {
        PluginInfo::new(vec![ToolInfo::new(
            "read\u{1b}[2Jfile\nallowed".to_owned(),
            "Has an odd name.".to_owned(),
            Parameters::NONE,
        )])
    }

    fn prepare(_call: Call) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_call: Call) -> Result<Output, Failure> {
        Ok("never".into())
    }
}

dunlin_sdk::export_plugin!(BadName);
