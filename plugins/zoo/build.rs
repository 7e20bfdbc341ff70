//! Compiles the hostile guests and embeds them in one piece: they are made of the same libraries, so all of them together take
//! hardly more room than a few.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use dunlin_guest_build::{BuildError, Built, MadeFor, script};

/// One folder for each behaviour.
const GUESTS: &str = "guests";

/// Of 0 to 11. Build scripts are not optimised: 11 would take a minute to gain another fifth.
const QUALITY: u32 = 5;

/// The logarithm of how far back a repetition is found: all guests together fit.
const WINDOW_BITS: u32 = 22;

/// Bytes that are handed on at once.
const BUFFER_BYTES: usize = 64 * 1024;

fn main() -> ExitCode {
    script::main(|| {
        let packages = packages();
        let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
        let built = script::build_for(MadeFor::Trial, Path::new("../.."), &packages)?;
        pack(&built)
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

/// Writes the components as `guests.br`, and beside it `guests.rs`, which says where each lies: its name, its end, its
/// digest.
fn pack(built: &Built) -> Result<(), BuildError> {
    let mut guests: Vec<_> = built
        .components
        .iter()
        .map(|component| (behaviour(&component.package), component))
        .collect();
    guests.sort_by(|(left, _), (right, _)| left.cmp(right));
    let mut all = Vec::new();
    let mut text = String::from("const PACKED: &[(&str, usize, &str)] = &[\n");
    for (name, component) in guests {
        let path = &component.path;
        all.extend(fs::read(path).map_err(|source| failed("read", path, source))?);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "    ({name:?}, {}, {:?}),",
            all.len(),
            component.digest
        );
    }
    text.push_str("];\n");
    let mut packed = Vec::new();
    let mut writer = brotli::CompressorWriter::new(&mut packed, BUFFER_BYTES, QUALITY, WINDOW_BITS);
    writer.write_all(&all).expect("memory takes all of it");
    drop(writer);
    write("guests.br", &packed)?;
    write("guests.rs", text.as_bytes())
}

fn write(file: &str, bytes: &[u8]) -> Result<(), BuildError> {
    let path = script::out_folder()?.join(file);
    fs::write(&path, bytes).map_err(|source| failed("write", &path, source))
}

fn failed(action: &'static str, path: &Path, source: std::io::Error) -> BuildError {
    BuildError::File {
        action,
        path: path.to_owned(),
        source,
    }
}

/// The folder of a guest.
fn behaviour(package: &str) -> String {
    package
        .strip_prefix("guest-")
        .unwrap_or(package)
        .replace('-', "_")
}
