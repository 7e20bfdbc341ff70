//! Has parameters that are checked twice by the next rule, which is checked twice by the next, thirty
//! times over. The host must not spend the rest of its life on them.

use dunlin_sdk::{Call, Failure, Output, Parameters, Plan, Plugin, PluginInfo, ToolInfo};

const LEVELS: usize = 30;

struct ExplosiveSchema;

impl Plugin for ExplosiveSchema {
    fn describe() -> PluginInfo {
        let level = |level: usize| {
            let next = format!(r##"{{"$ref":"#/$defs/l{}"}}"##, level + 1);
            format!(r#""l{level}":{{"allOf":[{next},{next}]}}"#)
        };
        let levels: Vec<String> = (0..LEVELS).map(level).collect();
        let schema = format!(
            r##"{{"type":"object","$ref":"#/$defs/l0","$defs":{{{},"l{LEVELS}":{{}}}}}}"##,
            levels.join(",")
        );
        PluginInfo::new(vec![ToolInfo::new(
            "explosive_schema".to_owned(),
            "Has explosive parameters.".to_owned(),
            Parameters::of_text(schema),
        )])
    }

    fn prepare(_call: Call) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_call: Call) -> Result<Output, Failure> {
        Ok("done".into())
    }
}

dunlin_sdk::export_plugin!(ExplosiveSchema);
