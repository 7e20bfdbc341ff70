//! Which tools are offered, and what is said of them.

use std::sync::Arc;

use dunlin_host::Tool;
use rmcp::model::{Tool as Offered, ToolAnnotations};
use serde_json::Value;

/// Tools that are of no use to another program: one opens the servers of Dunlin's own configuration, which the client
/// has means of its own for, one needs a chat, and one writes down what only a chat shows. And one does what others do, in the
/// words that some models know.
const NOT_OFFERED: [&str; 4] = ["apply_patch", "mcp_loader", "run_subagent", "todo"];

/// The tool that speaks with the user. Only clients that let a server ask can be offered it.
const ASKS_USER: &str = "ask_user";

/// Built-in tools that look or ask, and change nothing. Of no other tool is that claimed: a plugin's word is not proof,
/// and whether it is granted more than reading is for the user to say.
const READ_ONLY: [&str; 6] = [
    "ask_user",
    "codebase_search",
    "list_files",
    "read_file",
    "search_text",
    "web_search",
];

/// Imports that lead out of this machine, or into any program.
const OPEN: [&str; 4] = ["mcp", "process", "search", "web"];

/// Whether a tool of this name is offered. `asks`: the client lets the server ask its user.
pub(super) fn is_offered(name: &str, allowed: Option<&[String]>, asks: bool) -> bool {
    !NOT_OFFERED.contains(&name)
        && (asks || name != ASKS_USER)
        && allowed.is_none_or(|names| names.iter().any(|allowed| allowed == name))
}

/// A tool in the words of the protocol.
pub(super) fn offer(tool: &Tool) -> Offered {
    let schema = match &tool.parameters {
        Value::Object(schema) => schema.clone(),
        // The host has checked that it describes an object; this says no more than that.
        _ => serde_json::Map::from_iter([("type".to_owned(), Value::from("object"))]),
    };
    let mut offered = Offered::new(tool.name.clone(), tool.description.clone(), schema)
        .with_annotations(annotations(tool));
    offered.title.clone_from(&tool.annotations.title);
    if let Some(Value::Object(schema)) = &tool.annotations.output_schema {
        offered.output_schema = Some(Arc::new(schema.clone()));
    }
    offered
}

/// What a tool may do to the world.
fn annotations(tool: &Tool) -> ToolAnnotations {
    let is_read_only = tool.plugin == tool.name && READ_ONLY.contains(&tool.name.as_str());
    // The host has read the imports out of the component: they are all that it can ever use.
    let is_open = tool
        .imports
        .iter()
        .any(|name| OPEN.contains(&name.as_str()));
    let mut annotations = ToolAnnotations::new()
        .read_only(is_read_only)
        .open_world(is_open);
    // The protocol gives these a meaning for tools that change something.
    if !is_read_only {
        annotations.destructive_hint = Some(tool.annotations.is_destructive.unwrap_or(true));
        annotations.idempotent_hint = tool.annotations.is_idempotent;
    }
    annotations
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin_host::Annotations;
    use serde_json::json;

    fn tool(name: &str, plugin: &str, imports: &[&str]) -> Tool {
        Tool {
            name: name.to_owned(),
            plugin: plugin.to_owned(),
            description: "Does things.".to_owned(),
            parameters: json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            imports: imports.iter().map(|&import| import.to_owned()).collect(),
            annotations: Annotations::default(),
        }
    }

    #[test]
    fn hints_follow_from_abilities() {
        let check = |name, plugin, imports: &[&str], expected: Value| {
            let offered = offer(&tool(name, plugin, imports));
            let said = serde_json::to_value(offered.annotations).unwrap();
            assert_eq!(said, expected, "{name} {imports:?}");
        };
        let reads = |open: bool| json!({"readOnlyHint": true, "openWorldHint": open});
        let changes = |open: bool| json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": open});
        check("read_file", "read_file", &["files", "log"], reads(false));
        check("edit_file", "edit_file", &["files"], changes(false));
        check(
            "run_terminal_command",
            "run_terminal_command",
            &["process"],
            changes(true),
        );
        check("ask_user", "ask_user", &["chat", "files"], reads(false));
        check("web_fetch", "web_fetch", &["web"], changes(true));
        check("web_search", "web_search", &["search"], reads(true));
        // A plugin's tool that only bears the name.
        check("read_file", "other", &["files"], changes(false));
    }

    #[test]
    fn the_schema_is_the_tools_own() {
        let offered = serde_json::to_value(offer(&tool("t", "t", &[]))).unwrap();
        assert_eq!(offered["inputSchema"]["properties"]["a"]["type"], "string");
        assert_eq!(offered["description"], "Does things.");
        assert_eq!(offered.get("title"), None);
        let titled = Tool {
            annotations: Annotations {
                title: Some("Do things".to_owned()),
                output_schema: Some(json!({"type": "object"})),
                is_destructive: Some(false),
                is_idempotent: Some(true),
            },
            ..tool("t", "t", &[])
        };
        let offered = serde_json::to_value(offer(&titled)).unwrap();
        assert_eq!(offered["title"], "Do things");
        assert_eq!(offered["outputSchema"], json!({"type": "object"}));
        let hints = &offered["annotations"];
        assert_eq!(
            (&hints["destructiveHint"], &hints["idempotentHint"]),
            (&json!(false), &json!(true))
        );
    }

    #[test]
    fn lists_narrow() {
        let names = [
            "read_file".to_owned(),
            "mcp_loader".to_owned(),
            "run_subagent".to_owned(),
            "todo".to_owned(),
            "ask_user".to_owned(),
        ];
        let check = |name, asks, some, all| {
            assert_eq!(is_offered(name, Some(&names), asks), some, "{name}");
            assert_eq!(is_offered(name, None, asks), all, "{name}");
        };
        check("read_file", false, true, true);
        check("edit_file", false, false, true);
        check("mcp_loader", true, false, false);
        check("run_subagent", true, false, false);
        check("todo", true, false, false);
        check("ask_user", false, false, false);
        check("ask_user", true, true, true);
    }
}
