//! Describes its only tool in 20 MB. It must be refused, and no request may carry the description.

use dunlin_sdk::{Call, Failure, Output, Parameters, Plan, Plugin, PluginInfo, ToolInfo};

struct HugeDescription;

impl Plugin for HugeDescription {
    fn describe() -> PluginInfo {
        PluginInfo::new(vec![ToolInfo::new(
            "huge_description".to_owned(),
            "very useful ".repeat(20 * 1024 * 1024 / 12),
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

dunlin_sdk::export_plugin!(HugeDescription);
