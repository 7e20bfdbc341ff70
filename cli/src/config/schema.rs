//! Which keys a configuration file may have, and the error for every other one.
//!
//! The files are read twice: here for their keys, so that a mistyped one is answered with the nearest
//! known one, then by serde for their values. A value that a later version will honour is named
//! too: to accept it and not honour it would be worse than an error.

use dunlin_host::nearest::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a key may hold.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// A plain value. serde checks its type.
    Value,
    /// A plain value, of which these texts are not supported yet.
    ValueExcept(&'static [&'static str]),
    /// A table with these keys.
    Table(&'static [Key]),
    /// A table of tables under names of the user's choice, each with these keys.
    Named(&'static [Key]),
}

#[derive(Debug, Clone, Copy)]
struct Key {
    name: &'static str,
    shape: Shape,
}

const fn key(name: &'static str, shape: Shape) -> Key {
    Key { name, shape }
}

/// The whole file.
const FILE: &[Key] = &[
    key("default_agent", Shape::Value),
    key("on_denial", Shape::Value),
    key("show_intermediate_steps", Shape::Value),
    key("placeholder", Shape::Value),
    key("empty_state", Shape::Value),
    key("request_editor", Shape::Table(REQUEST_EDITOR)),
    key("limits", Shape::Table(LIMITS)),
    key("commands", Shape::Table(COMMANDS)),
    key("keys", Shape::Named(KEY)),
    key("agents", Shape::Named(AGENT)),
    key("mcp", Shape::Table(MCP)),
    key("web_search", Shape::Table(WEB_SEARCH)),
    key("codebase_search", Shape::Table(CODEBASE_SEARCH)),
    key("web_fetch", Shape::Table(WEB_FETCH)),
];

const REQUEST_EDITOR: &[Key] = &[
    key("mode", Shape::Value),
    key("preview_limit", Shape::Value),
    key("metadata", Shape::Value),
];

const LIMITS: &[Key] = &[
    key("max_tool_rounds", Shape::Value),
    key("request_timeout_secs", Shape::Value),
    key("max_retries", Shape::Value),
    key("max_history_lines", Shape::Value),
    key("max_history_tokens", Shape::Value),
    key("compact_at", Shape::Value),
    key("command_timeout_secs", Shape::Value),
];

const COMMANDS: &[Key] = &[
    key("network", Shape::Value),
    key("write", Shape::Value),
    key("environment", Shape::Value),
];

const KEY: &[Key] = &[
    key("env", Shape::Value),
    key("file", Shape::Value),
    key("keyring", Shape::Value),
];

const AGENT: &[Key] = &[
    key("kind", Shape::ValueExcept(&["app"])),
    key("api", Shape::Value),
    key("base_url", Shape::Value),
    key("model", Shape::Value),
    key("api_key", Shape::Value),
    key("temperature", Shape::Value),
    key("max_tokens", Shape::Value),
    key("context_window", Shape::Value),
    key("top_p", Shape::Value),
    key("system_prompt", Shape::Value),
    key("tools", Shape::Value),
    key("files", Shape::Value),
    key("endpoint", Shape::Table(ENDPOINT)),
];

const ENDPOINT: &[Key] = &[
    key("content_beside_calls", Shape::Value),
    key("max_tokens_field", Shape::Value),
    key("reasoning", Shape::Value),
    key("stream_usage", Shape::Value),
    key("native_tools", Shape::Value),
];

const WEB_SEARCH: &[Key] = &[
    key("engine", Shape::Value),
    key("base_url", Shape::Value),
    key("api_key", Shape::Value),
    key("engine_id", Shape::Value),
];

const CODEBASE_SEARCH: &[Key] = &[
    key("meaning", Shape::Value),
    key("base_url", Shape::Value),
    key("model", Shape::Value),
    key("api_key", Shape::Value),
];

const WEB_FETCH: &[Key] = &[key("auth", Shape::Named(SITE))];

const SITE: &[Key] = &[key("headers", Shape::Value)];

const MCP: &[Key] = &[key("servers", Shape::Named(SERVER))];

const SERVER: &[Key] = &[
    key("command", Shape::Value),
    key("args", Shape::Value),
    key("env", Shape::Value),
    key("cwd", Shape::Value),
    key("roots", Shape::Value),
    key("sandbox", Shape::Value),
    key("url", Shape::Value),
    key("api_key", Shape::Value),
    key("client_id", Shape::Value),
    key("client_secret", Shape::Value),
    key("issuer", Shape::Value),
    key("client_credentials", Shape::Value),
    key("headers", Shape::Value),
    key("description", Shape::Value),
    key("ask", Shape::Value),
    key("ask_tools", Shape::Value),
    key("timeout_secs", Shape::Value),
    key("enabled", Shape::Value),
];

/// What is wrong with a key, and where: an offset into the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Misfit {
    /// Bytes from the start of the file.
    pub offset: usize,
    /// What is wrong, in words.
    pub problem: String,
    /// The way out, if there is a good guess.
    pub hint: Option<String>,
}

/// The first key of the file that this version does not honour.
pub(super) fn first_misfit(document: &DeTable<'_>) -> Option<Misfit> {
    let mut misfits = Vec::new();
    check_table(document, FILE, "", &mut misfits);
    misfits.into_iter().min_by_key(|misfit| misfit.offset)
}

fn check_table(table: &DeTable<'_>, keys: &[Key], path: &str, misfits: &mut Vec<Misfit>) {
    for (name, value) in table.iter() {
        let offset = name.span().start;
        let name = name.get_ref().as_ref();
        let place = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        };
        let Some(key) = keys.iter().find(|key| key.name == name) else {
            misfits.push(unknown(name, keys, path, offset));
            continue;
        };
        check_value(value, key.shape, &place, offset, misfits);
    }
}

fn check_value(
    value: &Spanned<DeValue<'_>>,
    shape: Shape,
    place: &str,
    offset: usize,
    misfits: &mut Vec<Misfit>,
) {
    let table = value.get_ref().as_table();
    match shape {
        Shape::Value => {}
        Shape::ValueExcept(later) => {
            if let Some(text) = value.get_ref().as_str().filter(|text| later.contains(text)) {
                let problem = format!("{place} = {text:?} is not supported by this version");
                misfits.push(Misfit {
                    offset,
                    problem,
                    hint: None,
                });
            }
        }
        // Something else than a table is left to serde, which says what it expected.
        Shape::Table(keys) => {
            if let Some(table) = table {
                check_table(table, keys, place, misfits);
            }
        }
        Shape::Named(keys) => {
            for (name, entry) in table.into_iter().flat_map(|table| table.iter()) {
                if let Some(entry) = entry.get_ref().as_table() {
                    check_table(entry, keys, &format!("{place}.{}", name.get_ref()), misfits);
                }
            }
        }
    }
}

/// Keys that earlier versions knew, and what they are called now.
const RENAMED: [(&str, &str); 1] = [("condense_at", "compact_at")];

fn unknown(name: &str, keys: &[Key], path: &str, offset: usize) -> Misfit {
    let place = if path.is_empty() {
        String::new()
    } else {
        format!(" in [{path}]")
    };
    let renamed = RENAMED.iter().find(|(old, _)| *old == name);
    if let Some((_, new)) = renamed.filter(|(_, new)| keys.iter().any(|key| key.name == *new)) {
        return Misfit {
            offset,
            problem: format!("unknown key {name:?}{place}"),
            hint: Some(format!("it is called {new:?} now")),
        };
    }
    let hint = match nearest(name, keys.iter().map(|key| key.name)) {
        Some(near) => format!("the nearest known key is {near:?}"),
        None => {
            let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
            format!("known keys{place}: {}", names.join(", "))
        }
    };
    Misfit {
        offset,
        problem: format!("unknown key {name:?}{place}"),
        hint: Some(hint),
    }
}
