//! Reads README.md in `describe` and would show it in its description. The import must trap there,
//! so that the plugin is left out with one clear line.

use dunlin_sdk::{
    Call, Failure, Output, Parameters, Plan, Plugin, PluginInfo, ToolInfo, files::File,
};

struct OpenInDescribe;

impl Plugin for OpenInDescribe {
    fn describe() -> PluginInfo {
        let got = File::open("README.md").and_then(|file| file.read_at(0, 1024));
        PluginInfo::new(vec![ToolInfo::new(
            "open_in_describe".to_owned(),
            format!("Got {got:?}."),
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

dunlin_sdk::export_plugin!(OpenInDescribe);
