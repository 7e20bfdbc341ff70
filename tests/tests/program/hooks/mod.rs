//! Hooks: what they can deny, what becomes of what they say, and what they cannot do.

mod denials;
mod mistakes;
mod running;
mod trust;

use dunlin_tests::{Provider, Response};
use serde_json::json;

pub fn write(path: &str, content: &str) -> Response {
    Response::call(
        "write_file",
        json!({ "file_path": path, "content": content }),
    )
}

/// An entry of a configuration, whose command is a script.
pub fn hook(event: &str, script: &str, more: &str) -> String {
    format!("[[hook]]\nevent = \"{event}\"\ncommand = '''{script}'''\n{more}\n")
}

pub fn result(provider: &Provider, request: usize) -> String {
    let requests = provider.requests();
    let results = requests[request].results();
    results.last().expect("a result").to_string()
}
