//! Compiles the built-in tools and embeds them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use wit_bindgen_core::Files;
use wit_parser::Resolve;

use dunlin_guest_build::{BuildError, MadeFor, script};

/// The packages of the built-in tools.
const GUESTS: [&str; 10] = [
    "dunlin-ask-user",
    "dunlin-edit-file",
    "dunlin-list-files",
    "dunlin-read-file",
    "dunlin-run-subagent",
    "dunlin-run-terminal-command",
    "dunlin-todo",
    "dunlin-web-fetch",
    "dunlin-web-search",
    "dunlin-write-file",
];

/// The contract.
const WIT: &str = "../wit";

/// What a project of somebody else's needs of this one: where it stands here, and where it stands there.
const TEXTS: [(&str, &str); 6] = [
    (WIT, "wit"),
    ("sdk/src", "vendor/dunlin-sdk/src"),
    ("sdk/src/memory", "vendor/dunlin-sdk/src/memory"),
    ("sdk/examples", "vendor/dunlin-sdk/examples"),
    ("sdk/macros/src", "vendor/dunlin-sdk-macros/src"),
    ("libraries/params/src", "vendor/dunlin-params/src"),
];

/// Those that compute.
const COMPUTING: [&str; 2] = ["dunlin-codebase-search", "dunlin-search-text"];

/// The component that is not a tool. Compiled apart, so that what its libraries want of common ones changes no tool.
const BRIDGE: [&str; 1] = ["dunlin-mcp-bridge"];

/// The component that runs the programs of apps.
const SCRIPTS: [&str; 1] = ["dunlin-js-engine"];

fn main() -> ExitCode {
    script::main(|| {
        let mut built = script::build(Path::new(".."), &GUESTS)?;
        let computing = script::build_for(MadeFor::Speed, Path::new(".."), &COMPUTING)?;
        built.components.extend(computing.components);
        script::embed_described(&built, "embedded.rs", plugin_name)?;
        let built = script::build(Path::new(".."), &BRIDGE)?;
        script::embed_described(&built, "bridge.rs", plugin_name)?;
        let built = script::build_for(MadeFor::Scripts, Path::new(".."), &SCRIPTS)?;
        script::embed_described(&built, "app_engine.rs", plugin_name)?;
        script::embed_texts(&TEXTS, "texts.rs")?;
        c_bindings()
    })
}

/// Writes the contract as C sees it, for the projects of plugin authors.
fn c_bindings() -> Result<(), BuildError> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(WIT).expect("the contract is valid");
    let world = resolve.select_world(&[package], Some("plugin"));
    let world = world.expect("the contract has a world for plugins");
    let mut files = Files::default();
    let mut generator = wit_bindgen_c::Opts::default().build();
    generator
        .generate(&mut resolve, world, &mut files)
        .expect("the contract can be said in C");
    let out = script::out_folder()?;
    let mut text = String::from("/// Names and contents.\npub const C: &[(&str, &[u8])] = &[\n");
    for (name, bytes) in files.iter() {
        let path = out.join(name);
        fs::write(&path, bytes).map_err(|source| BuildError::File {
            action: "write",
            path: path.clone(),
            source,
        })?;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    ({name:?}, include_bytes!({path:?})),");
    }
    text.push_str("];\n");
    let path = out.join("c.rs");
    fs::write(&path, text).map_err(|source| BuildError::File {
        action: "write",
        path,
        source,
    })
}

/// `dunlin-read-file` is the plugin `read_file`, after the folder it stands in.
fn plugin_name(package: &str) -> String {
    package
        .strip_prefix("dunlin-")
        .unwrap_or(package)
        .replace('-', "_")
}
