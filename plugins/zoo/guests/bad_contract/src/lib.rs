//! Says that it was made for contract 9.9.9. It must be refused by name, and both versions be
//! named.

use dunlin_sdk::{Call, Failure, Output, Parameters, Plan, Plugin, PluginInfo, ToolInfo};

struct BadContract;

impl Plugin for BadContract {
    fn describe() -> PluginInfo {
        let tool = ToolInfo {
            name: "bad_contract".to_owned(),
            description: "Comes from the future.".to_owned(),
            parameters: Parameters::NONE,
            annotations: Vec::new(),
        };
        PluginInfo {
            contract: "9.9.9".to_owned(),
            ..PluginInfo::new(vec![tool])
        }
    }

    fn prepare(_call: Call) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_call: Call) -> Result<Output, Failure> {
        Ok("never".into())
    }
}

dunlin_sdk::export_plugin!(BadContract);
