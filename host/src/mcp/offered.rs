//! What a server says of itself and of its tools, made fit for a model.
//!
//! All of it is foreign text that goes out with every request: names become names that models take, descriptions are
//! bounded and escaped, schemas are checked as those of plugins are. What does not pass is left out by name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::options::ServerInfo;
use crate::bindings::bridge::exports::dunlin::tool::mcp_client as bridge;
use crate::display;
use crate::limits::{MAX_INSTRUCTIONS_CHARS, MAX_SERVER_DESCRIPTION_CHARS, MAX_SERVER_TOOLS_BYTES};
use crate::plugin::{Annotations, DescribedTool, Tool};
use crate::schema::{self, SchemaError};
use crate::sha256_hex;

/// What stands between the name of a server and that of a tool.
pub const SEPARATOR: &str = "__";

/// The longest name of a tool that models take.
const MAX_NAME_CHARS: usize = 64;

/// Characters of a digest that tell two names apart.
const DIGEST_CHARS: usize = 6;

/// Characters of a name that are shown.
const MAX_SHOWN_NAME_CHARS: usize = 60;

pub(crate) fn server_info(server: bridge::Server) -> ServerInfo {
    let instructions = server.instructions.map(|text| {
        let text = display::escape_multiline(text.trim()).into_owned();
        display::shorten(&text, MAX_INSTRUCTIONS_CHARS).into_owned()
    });
    ServerInfo {
        name: short(&server.name),
        version: short(&server.version),
        protocol: short(&server.protocol),
        instructions: instructions.filter(|text| !text.is_empty()),
        has_tools: server.has_tools,
        has_resources: server.has_resources,
        has_prompts: server.has_prompts,
    }
}

/// The tools of a server, as it describes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) definitions: Vec<Definition>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Definition {
    name: String,
    title: Option<String>,
    description: String,
    schema: String,
    read_only: Option<bool>,
    destructive: Option<bool>,
}

pub(crate) fn listed(definitions: Vec<bridge::Tool>) -> Listed {
    let definitions = definitions.into_iter().map(|it| Definition {
        name: it.name,
        title: it.title,
        description: it.description,
        schema: it.input_schema,
        read_only: it.read_only,
        destructive: it.destructive,
    });
    Listed {
        definitions: definitions.collect(),
    }
}

/// What of it the model is offered.
#[derive(Default)]
pub(crate) struct Offered {
    pub(crate) listed: Listed,
    pub(crate) tools: Vec<OfferedTool>,
    /// What is not, and why.
    pub(crate) left_out: Vec<String>,
}

/// What a tool asks of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Calls the server's tool.
    Call,
    /// Lists what can be read.
    ListResources,
    /// Reads it.
    ReadResource,
}

/// One tool of a server, under the name that the model knows.
pub(crate) struct OfferedTool {
    pub(crate) own_name: String,
    pub(crate) does: Does,
    pub(crate) described: DescribedTool,
    /// Whether the server says that it may destroy something.
    pub(crate) is_destructive: bool,
    /// Of all that the server says of it.
    pub(crate) digest: String,
}

/// Why a tool is not offered.
#[derive(Debug, thiserror::Error)]
enum LeftOut {
    #[error("the server has two tools of this name")]
    SameName,
    #[error("the server's tools take more than {} KiB", MAX_SERVER_TOOLS_BYTES / 1024)]
    TooMuch,
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl Offered {
    /// `has_resources`: the server has something to be read, so there are two tools more.
    pub(crate) fn new(server: &str, listed: Listed, has_resources: bool) -> Offered {
        let mut offered = Offered::default();
        let mut bytes = 0;
        for definition in &listed.definitions {
            match offered.check(server, definition, &mut bytes) {
                Ok(tool) => offered.tools.push(tool),
                Err(why) => {
                    let (name, why) = (short(&definition.name), display::chain(&why));
                    offered.left_out.push(format!("{name}: {why}"));
                }
            }
        }
        if has_resources {
            offered.offer_resources(server);
        }
        offered.listed = listed;
        offered
    }

    /// Servers describe what can be read and leave it to the host how it is offered.
    fn offer_resources(&mut self, server: &str) {
        let uri = serde_json::json!({"type": "string", "description": "As it was listed"});
        let tools = [
            (
                Does::ListResources,
                "list_resources",
                format!(
                    "Lists what the MCP server {server} has to read: address, name, description."
                ),
                serde_json::json!({"type": "object", "properties": {}, "additionalProperties": false}),
            ),
            (
                Does::ReadResource,
                "read_resource",
                format!("Reads one of the resources of the MCP server {server}."),
                serde_json::json!({
                    "type": "object",
                    "properties": {"uri": uri},
                    "required": ["uri"],
                    "additionalProperties": false,
                }),
            ),
        ];
        for (does, own_name, description, parameters) in tools {
            let name = format!("{server}{SEPARATOR}{own_name}");
            // The server's own tool of this name was meant to do the same.
            if self.tools.iter().any(|it| it.described.tool.name == name) {
                continue;
            }
            let tool = Tool {
                name,
                plugin: format!("mcp.{server}"),
                description,
                parameters,
                imports: vec!["mcp".to_owned()],
                annotations: Annotations::default(),
            };
            self.tools.push(OfferedTool {
                own_name: own_name.to_owned(),
                does,
                described: DescribedTool::new(tool),
                is_destructive: false,
                digest: String::new(),
            });
        }
    }

    fn check(
        &self,
        server: &str,
        definition: &Definition,
        bytes: &mut usize,
    ) -> Result<OfferedTool, LeftOut> {
        if self.tools.iter().any(|it| it.own_name == definition.name) {
            return Err(LeftOut::SameName);
        }
        let description = display::escape_multiline(definition.description.trim());
        let description = display::shorten(&description, MAX_SERVER_DESCRIPTION_CHARS);
        let parameters = schema::parse(&definition.schema)?;
        let sum = *bytes + description.len() + definition.schema.len();
        if sum > MAX_SERVER_TOOLS_BYTES {
            return Err(LeftOut::TooMuch);
        }
        *bytes = sum;
        let is_free = |name: &str| self.tools.iter().all(|it| it.described.tool.name != name);
        let tool = Tool {
            name: tool_name(server, &definition.name, is_free),
            plugin: format!("mcp.{server}"),
            description: match description.is_empty() {
                true => definition.title.as_deref().map(short).unwrap_or_default(),
                false => description.into_owned(),
            },
            parameters,
            imports: vec!["mcp".to_owned()],
            annotations: Annotations {
                title: definition.title.as_deref().map(short),
                ..Annotations::default()
            },
        };
        let digest = serde_json::to_vec(definition).unwrap_or_default();
        Ok(OfferedTool {
            own_name: definition.name.clone(),
            does: Does::Call,
            described: DescribedTool::new(tool),
            // What only reads destroys nothing, whatever else it says.
            is_destructive: definition.destructive == Some(true)
                && definition.read_only != Some(true),
            digest: sha256_hex(&digest),
        })
    }

    /// What is different from an earlier offer, in words; `None`: nothing.
    pub(crate) fn difference(&self, earlier: &Offered) -> Option<String> {
        let find = |offered: &Offered, name: &str| {
            let mut tools = offered.tools.iter();
            tools
                .find(|it| it.own_name == name)
                .map(|it| it.digest.clone())
        };
        let names = |tools: &[OfferedTool], keep: &dyn Fn(&OfferedTool) -> bool| {
            let kept = tools.iter().filter(|it| keep(it));
            kept.map(|it| short(&it.own_name)).collect::<Vec<_>>()
        };
        let added = names(&self.tools, &|it| find(earlier, &it.own_name).is_none());
        let gone = names(&earlier.tools, &|it| find(self, &it.own_name).is_none());
        let other = names(&self.tools, &|it| {
            find(earlier, &it.own_name).is_some_and(|digest| digest != it.digest)
        });
        let parts = [("new", added), ("gone", gone), ("changed", other)];
        let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = parts
            .map(|(word, names)| format!("{word}: {}", some_of(&names)))
            .collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// The first of some names, and how many there are.
pub(crate) fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names.len() > SHOWN {
        true => format!(
            "{} and {} more",
            names[..SHOWN].join(", "),
            names.len() - SHOWN
        ),
        false => names.join(", "),
    }
}

/// The name under which a model knows a tool: `server__tool`, in characters that models take.
fn tool_name(server: &str, own: &str, is_free: impl Fn(&str) -> bool) -> String {
    let plain: String = own
        .chars()
        .map(
            |c| match c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                true => c,
                false => '_',
            },
        )
        .collect();
    let name = format!("{server}{SEPARATOR}{plain}");
    if name.len() <= MAX_NAME_CHARS && is_free(&name) && !plain.is_empty() {
        return name;
    }
    // Only ASCII by now, so bytes are characters.
    let digest = sha256_hex(own.as_bytes());
    let most = MAX_NAME_CHARS - DIGEST_CHARS - 1;
    format!(
        "{}_{}",
        &name[..name.len().min(most)],
        &digest[..DIGEST_CHARS]
    )
}

fn short(text: &str) -> String {
    display::shorten(&display::escape(text.trim()), MAX_SHOWN_NAME_CHARS).into_owned()
}

/// The tool that connects servers, over these names and descriptions.
pub(crate) fn loader(servers: &[(&str, Option<&str>)]) -> Tool {
    let mut description = "Connects the MCP servers that the user configured; their tools can be called from then on. \
         Use it when one of them may help and its tools are not there yet. The servers:"
        .to_owned();
    for (name, about) in servers {
        description += &format!("\n- {name}");
        if let Some(about) = about {
            description += &format!(": {about}");
        }
    }
    let names: Vec<Value> = servers.iter().map(|(name, _)| (*name).into()).collect();
    Tool {
        name: LOADER.to_owned(),
        plugin: "mcp".to_owned(),
        description,
        parameters: serde_json::json!({
            "type": "object",
            "properties": {
                "server": {
                    "type": "string",
                    "enum": names,
                    "description": "The one to connect; without it all of them",
                },
            },
            "additionalProperties": false,
        }),
        imports: vec!["mcp".to_owned()],
        annotations: Annotations::default(),
    }
}

/// What it is called.
pub const LOADER: &str = "mcp_loader";

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, description: &str) -> Definition {
        Definition {
            name: name.to_owned(),
            title: None,
            description: description.to_owned(),
            schema: "{\"type\":\"object\"}".to_owned(),
            read_only: None,
            destructive: None,
        }
    }

    fn offer(definitions: Vec<Definition>) -> Offered {
        Offered::new("git", Listed { definitions }, false)
    }

    #[test]
    fn names_are_those_that_models_take() {
        let long = "x".repeat(200);
        let names = ["status", "a b", "a.b", "", "über", &long, "status"];
        let offered = offer(names.iter().map(|name| definition(name, "")).collect());
        let found: Vec<&str> = offered
            .tools
            .iter()
            .map(|it| it.described.tool.name.as_str())
            .collect();
        assert_eq!(&found[..2], ["git__status", "git__a_b"]);
        for name in &found {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            assert!(
                (1..=64).contains(&name.len()) && name.chars().all(plain),
                "{name}"
            );
            assert_eq!(found.iter().filter(|it| it == &name).count(), 1, "{name}");
        }
        assert_eq!(
            offered.left_out,
            ["status: the server has two tools of this name"]
        );
    }

    #[test]
    fn what_is_too_much_or_no_schema_is_left_out() {
        let mut bad = definition("bad", "");
        bad.schema = "[]".to_owned();
        let mut huge = definition("huge", "");
        huge.schema = format!("{{\"type\":\"object\",\"x\":\"{}\"}}", "y".repeat(100_000));
        let offered = offer(vec![bad, huge, definition("ok", "\u{1b}[2J red\u{202e}")]);
        assert_eq!(offered.tools.len(), 1);
        assert_eq!(offered.left_out.len(), 2);
        let description = &offered.tools[0].described.tool.description;
        assert!(
            !description.contains(['\u{1b}', '\u{202e}']),
            "{description}"
        );
    }

    #[test]
    fn what_can_be_read_is_read_by_tools() {
        let listed = Listed {
            definitions: vec![definition("read_resource", "its own")],
        };
        let offered = Offered::new("git", listed, true);
        let found: Vec<(&str, Does)> = offered
            .tools
            .iter()
            .map(|it| (it.described.tool.name.as_str(), it.does))
            .collect();
        assert_eq!(
            found,
            [
                ("git__read_resource", Does::Call),
                ("git__list_resources", Does::ListResources),
            ]
        );
    }

    #[test]
    fn differences_are_named() {
        let earlier = offer(vec![definition("a", "1"), definition("b", "1")]);
        let now = offer(vec![definition("a", "2"), definition("c", "1")]);
        assert_eq!(
            now.difference(&earlier).as_deref(),
            Some("new: c; gone: b; changed: a")
        );
        assert_eq!(now.difference(&now), None);
    }
}
