//! Loops for ever: the deadline of the host has to end it.

use dunlin_sdk::{Call, Failure, Output, Parameters, Plan, Plugin, PluginInfo, ToolInfo};

struct LoopForever;

impl Plugin for LoopForever {
    fn describe() -> PluginInfo {
        PluginInfo::new(vec![ToolInfo {
            name: "loop_forever".to_owned(),
            description: "Loops for ever".to_owned(),
            parameters: Parameters::NONE,
            annotations: Vec::new(),
        }])
    }

    fn prepare(_call: Call) -> Result<Plan, Failure> {
        Ok(Plan::ask("Loop for ever?"))
    }

    fn run(_call: Call) -> Result<Output, Failure> {
        loop {
            std::hint::spin_loop();
        }
    }
}

dunlin_sdk::export_plugin!(LoopForever);
