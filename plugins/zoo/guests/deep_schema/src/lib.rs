//! Has parameters nested 100,000 levels deep. It must be refused, and no parser may overflow its
//! stack.

use dunlin_sdk::{Call, Failure, Output, Parameters, Plan, Plugin, PluginInfo, ToolInfo};

const DEPTH: usize = 100_000;

struct DeepSchema;

impl Plugin for DeepSchema {
    fn describe() -> PluginInfo {
        let schema = [
            r#"{"type":"object","properties":{"a":"#.repeat(DEPTH),
            "{}".to_owned(),
            "}}".repeat(DEPTH),
        ]
        .concat();
        PluginInfo::new(vec![ToolInfo::new(
            "deep_schema".to_owned(),
            "Has deep parameters.".to_owned(),
            Parameters::of_text(schema),
        )])
    }

    fn prepare(_call: Call) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_call: Call) -> Result<Output, Failure> {
        Ok("never".into())
    }
}

dunlin_sdk::export_plugin!(DeepSchema);
