//! MCP servers that the client wants to be used. They join those of the configuration and are under the same rules: nothing
//! is started or connected before the user was asked, with the whole command line or the URL.

use std::collections::BTreeMap;

use serde_json::Value;
use url::Url;

use super::wire::{McpServer, Pair};
use crate::config::mcp::{ServerEntry, name_problem};
use crate::config::origin::{Origin, Sourced};
use crate::settings::Settings;

/// Most servers of one session.
const MAX_SERVERS: usize = 64;

/// Adds them to the settings of a session. Returns what the user should know: which ones cannot be used, and why.
pub(super) fn join(settings: &mut Settings, servers: Vec<Value>) -> Vec<String> {
    let mut problems = Vec::new();
    let more = servers.len().saturating_sub(MAX_SERVERS);
    for server in servers.into_iter().take(MAX_SERVERS) {
        let (name, entry) = match serde_json::from_value::<McpServer>(server) {
            Ok(server) => (server.name.clone(), entry(server)),
            Err(error) => (String::new(), Err(error.to_string())),
        };
        let entry = entry.and_then(|entry| {
            let problem = name_problem(&name).or_else(|| entry.problem());
            problem.map_or(Ok(entry), Err)
        });
        match entry {
            Ok(_) if settings.mcp_servers.contains_key(&name) => problems.push(format!(
                "the editor's MCP server {name:?} is left out: the configuration has one of that name"
            )),
            Ok(value) => {
                let origin = Origin::Flag("the editor");
                settings.mcp_servers.insert(name, Sourced { value, origin });
            }
            Err(problem) => problems.push(format!(
                "the editor's MCP server {name:?} is left out: {problem}"
            )),
        }
    }
    if more > 0 {
        problems.push(format!(
            "{more} of the editor's MCP servers are left out: {MAX_SERVERS} are the most"
        ));
    }
    problems
}

/// A server as the configuration would have it.
fn entry(server: McpServer) -> Result<ServerEntry, String> {
    match server.transport.as_deref() {
        None | Some("stdio") => Ok(ServerEntry {
            command: server.command,
            args: server.args.unwrap_or_default(),
            env: map(server.env),
            ..ServerEntry::default()
        }),
        Some("http") => {
            let url = server.url.unwrap_or_default();
            let url = Url::parse(&url).map_err(|error| format!("url: {error}"))?;
            Ok(ServerEntry {
                url: Some(url),
                headers: map(server.headers),
                ..ServerEntry::default()
            })
        }
        Some(other) => Err(format!(
            "Dunlin does not speak {other:?}, only stdio and http"
        )),
    }
}

fn map(pairs: Option<Vec<Pair>>) -> BTreeMap<String, String> {
    let pairs = pairs.into_iter().flatten();
    pairs.map(|pair| (pair.name, pair.value)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(server: Value) -> Result<ServerEntry, String> {
        let server = serde_json::from_value::<McpServer>(server);
        server.map_err(|error| error.to_string()).and_then(entry)
    }

    #[test]
    fn servers_are_as_in_the_configuration() {
        let program = read(json!({
            "name": "files",
            "command": "npx",
            "args": ["-y", "x"],
            "env": [{"name": "A", "value": "b"}],
        }));
        let expected = ServerEntry {
            command: Some("npx".to_owned()),
            args: vec!["-y".to_owned(), "x".to_owned()],
            env: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
            ..ServerEntry::default()
        };
        assert_eq!(program, Ok(expected));
        let web = read(json!({
            "name": "far",
            "type": "http",
            "url": "https://example.com/mcp",
            "headers": [{"name": "X-A", "value": "b"}],
        }));
        let web = web.unwrap();
        assert_eq!(web.url.unwrap().as_str(), "https://example.com/mcp");
        assert_eq!(web.headers["X-A"], "b");
        for (broken, problem) in [
            (
                json!({"name": "a", "type": "sse", "url": "https://e.com"}),
                "does not speak",
            ),
            (json!({"name": "a", "type": "http", "url": "e"}), "url: "),
            (json!({"command": "a"}), "missing field `name`"),
            (json!({"name": "a", "command": 1}), "invalid type"),
            (json!(7), "invalid type"),
        ] {
            let error = read(broken.clone()).unwrap_err();
            assert!(error.contains(problem), "{broken}: {error}");
        }
    }
}
