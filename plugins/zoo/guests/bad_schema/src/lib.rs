//! Has parameters that are not even JSON. It must be refused in one clear line that says where.

use dunlin_sdk::{Call, Failure, Output, Parameters, Plan, Plugin, PluginInfo, ToolInfo};

struct BadSchema;

impl Plugin for BadSchema {
    fn describe() -> PluginInfo {
        PluginInfo::new(vec![ToolInfo::new(
            "bad_schema".to_owned(),
            "Has broken parameters.".to_owned(),
            Parameters::json_schema(r#"{"type": "object", "properties": "#),
        )])
    }

    fn prepare(_call: Call) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_call: Call) -> Result<Output, Failure> {
        Ok("never".into())
    }
}

dunlin_sdk::export_plugin!(BadSchema);
