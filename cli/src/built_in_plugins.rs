//! The plugins that were embedded when the program was built.

use dunlin_host::{Annotations, Description, Plugin, ToolTexts};

/// The component that knows whether a file parses: the one whose tool needs the same parsers.
pub fn parsers() -> Option<Plugin> {
    let mut plugins = all().into_iter();
    plugins.find(|plugin| plugin.name == "codebase_search")
}

/// The component that runs the programs of apps.
pub fn app_engine() -> Option<Plugin> {
    dunlin_plugins::app_engine::ALL.first().map(plugin)
}

/// The components that were embedded when the program was built.
pub fn all() -> Vec<Plugin> {
    dunlin_plugins::ALL.iter().map(plugin).collect()
}

fn plugin(embedded: &dunlin_plugins::Embedded) -> Plugin {
    Plugin {
        name: embedded.name.to_owned(),
        bytes: embedded.bytes.into(),
        digest: embedded.digest.to_owned(),
        built_in: true,
        origin: None,
        description: embedded.description.as_ref().map(description),
        tools_digest: None,
    }
}

fn description(embedded: &dunlin_plugins::Description) -> Description {
    let tools = embedded.tools.iter().map(|tool| ToolTexts {
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        parameters: tool.parameters.to_owned(),
        annotations: annotations(tool),
    });
    Description {
        contract: embedded.contract.to_owned(),
        imports: embedded
            .imports
            .iter()
            .map(|&name| name.to_owned())
            .collect(),
        tools: tools.collect(),
    }
}

fn annotations(tool: &dunlin_plugins::ToolTexts) -> Annotations {
    let hint = |place: usize| match tool.hints.as_bytes().get(place) {
        Some(b'y') => Some(true),
        Some(b'n') => Some(false),
        _ => None,
    };
    Annotations {
        title: (!tool.title.is_empty()).then(|| tool.title.to_owned()),
        output_schema: serde_json::from_str(tool.output_schema).ok(),
        is_destructive: hint(0),
        is_idempotent: hint(1),
    }
}
