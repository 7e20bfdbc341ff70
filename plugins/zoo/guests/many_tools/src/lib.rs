//! Offers 100,000 tools. It must be refused in one clear line.

use dunlin_sdk::{Call, Failure, Output, Parameters, Plan, Plugin, PluginInfo, ToolInfo};

struct ManyTools;

impl Plugin for ManyTools {
    fn describe() -> PluginInfo {
        let tools = (0..100_000).map(|number| {
            ToolInfo::new(
                format!("tool_{number}"),
                "One of many.".to_owned(),
                Parameters::NONE,
            )
        });
        PluginInfo::new(tools.collect())
    }

    fn prepare(_call: Call) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_call: Call) -> Result<Output, Failure> {
        Ok("never".into())
    }
}

dunlin_sdk::export_plugin!(ManyTools);
