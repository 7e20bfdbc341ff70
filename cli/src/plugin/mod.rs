//! Plugins that the user installed, and what is known of one before it is.
//!
//! A plugin is a component in a file. Installing copies it below the data folder, where no tool can reach it, beside
//! a record of what was shown when it was agreed to. Nothing of it runs before it is examined, and it is examined
//! in the same sandbox that it will live in.

mod abilities;
mod about;
pub mod build;
pub mod differences;
pub mod examine;
pub mod index;
pub mod installed;
pub mod manifest;
pub mod new_project;
pub mod origin;
mod played_web;
pub mod registry;
mod sample;
pub mod signing;
pub mod sources;
pub mod trial;
pub mod wording;
pub mod zoo;

use std::io::{self, Read};
use std::path::Path;

pub use abilities::in_words;

use dunlin_host::files::open_regular;

/// Bytes of a component that is read at all. The host takes no larger one.
pub const MAX_COMPONENT_BYTES: u64 = 64 * 1024 * 1024;

/// Where the build of a plugin's folder leaves the component.
pub const BUILT: &str = "plugin.wasm";

/// Reads a regular file of a folder that somebody else filled: a pipe or a device in its place, or a file without end, is
/// an error and holds nothing up.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(format!("it has more than {most} bytes"))),
        false => Ok(bytes),
    }
}
