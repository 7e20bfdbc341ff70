//! Compiles the hostile guests and embeds them.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use dunlin_guest_build::{MadeFor, script};

/// One folder for each behaviour.
const GUESTS: &str = "guests";

fn main() -> ExitCode {
    script::main(|| {
        let packages = packages();
        let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
        let built = script::build_for(MadeFor::Trial, Path::new(".."), &packages)?;
        script::embed(&built, "guests.rs", behaviour)
    })
}

/// The packages of all guests: the folder `loop_forever` holds the package `guest-loop-forever`.
fn packages() -> Vec<String> {
    // A new folder is a new guest.
    println!("cargo::rerun-if-changed={GUESTS}");
    fs::read_dir(GUESTS)
        .expect("the folder of the guests")
        .map(|entry| {
            entry
                .expect("an entry of the folder of the guests")
                .file_name()
        })
        .map(|name| format!("guest-{}", name.to_string_lossy().replace('_', "-")))
        .collect()
}

/// The folder of a guest.
fn behaviour(package: &str) -> String {
    package
        .strip_prefix("guest-")
        .unwrap_or(package)
        .replace('-', "_")
}
