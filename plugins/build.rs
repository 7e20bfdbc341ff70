//! Compiles the built-in tools and embeds them.

use std::path::Path;
use std::process::ExitCode;

use dunlin_guest_build::{MadeFor, script};

/// The packages of the built-in tools.
const GUESTS: [&str; 6] = [
    "dunlin-ask-user",
    "dunlin-edit-file",
    "dunlin-read-file",
    "dunlin-run-terminal-command",
    "dunlin-web-fetch",
    "dunlin-web-search",
];

/// What a project of somebody else's needs of this one: where it stands here, and where it stands there.
const TEXTS: [(&str, &str); 3] = [
    ("../wit", "wit"),
    ("sdk/src", "vendor/dunlin-sdk/src"),
    ("sdk/examples", "vendor/dunlin-sdk/examples"),
];

/// Those that compute.
const COMPUTING: [&str; 1] = ["dunlin-codebase-search"];

/// The component that is no tool. Compiled apart, so that what its libraries want of common ones changes no tool.
const BRIDGE: [&str; 1] = ["dunlin-mcp-bridge"];

fn main() -> ExitCode {
    script::main(|| {
        let mut built = script::build(Path::new(".."), &GUESTS)?;
        let computing = script::build_for(MadeFor::Speed, Path::new(".."), &COMPUTING)?;
        built.components.extend(computing.components);
        script::embed_described(&built, "embedded.rs", plugin_name)?;
        let built = script::build(Path::new(".."), &BRIDGE)?;
        script::embed_described(&built, "bridge.rs", plugin_name)?;
        script::embed_texts(&TEXTS, "texts.rs")
    })
}

/// `dunlin-read-file` is the plugin `read_file`, after the folder it stands in.
fn plugin_name(package: &str) -> String {
    package
        .strip_prefix("dunlin-")
        .unwrap_or(package)
        .replace('-', "_")
}
