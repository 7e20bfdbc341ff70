//! Has parameters whose schema refers to itself, so that checking arguments never comes to an end.
//! The host must neither hang nor overflow its stack.

use dunlin_sdk::{Call, Failure, Output, Parameters, Plan, Plugin, PluginInfo, ToolInfo};

struct EndlessSchema;

impl Plugin for EndlessSchema {
    fn describe() -> PluginInfo {
        PluginInfo::new(vec![ToolInfo::new(
            "endless_schema".to_owned(),
            "Has endless parameters.".to_owned(),
            Parameters::json_schema(
                r##"{"type":"object","allOf":[{"$ref":"#/$defs/a"}],
                    "$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}"##,
            ),
        )])
    }

    fn prepare(_call: Call) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_call: Call) -> Result<Output, Failure> {
        Ok("done".into())
    }
}

dunlin_sdk::export_plugin!(EndlessSchema);
