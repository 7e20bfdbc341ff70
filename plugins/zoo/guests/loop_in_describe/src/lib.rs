//! Loops for ever in `describe`. It must be left out with one clear line, and the other tools must
//! work.

use dunlin_sdk::{Call, Failure, Output, Plan, Plugin, PluginInfo};

struct LoopInDescribe;

impl Plugin for LoopInDescribe {
    fn describe() -> PluginInfo {
        loop {
            std::hint::spin_loop();
        }
    }

    fn prepare(_call: Call) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_call: Call) -> Result<Output, Failure> {
        Ok("never".into())
    }
}

dunlin_sdk::export_plugin!(LoopInDescribe);
