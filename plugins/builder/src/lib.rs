//! Compiles guests for WebAssembly and makes components of them.
//!
//! A guest is a library of the workspace with `crate-type = ["cdylib"]`. One nested `cargo build`
//! compiles all guests asked for to `wasm32-unknown-unknown`; `wit-component` turns each module into a
//! component, and checks it on the way. There is no WASI and no adapter in between, so what a
//! component imports is exactly what its author used. Where somebody's toolchain has `wasm32-wasip2` alone, its linker
//! makes the component, which imports what the standard library wants of WASI as well.
//!
//! The nested build has a target folder of its own beside the outer one's profiles, because the outer
//! cargo holds the lock of its folder. It inherits nothing of the outer build that could change its
//! outcome: the same sources give the same bytes under `cargo build`, `cargo clippy` and `cargo doc`,
//! whichever runs first. Nothing is ever installed here; see [`Way`] for what is looked for.
//!
//! A build script calls [`script::main`] and [`script::build`]; anything else calls [`build`].

mod c;
mod cargo;
mod described;
mod error;
mod inputs;
mod request;
pub mod said;
pub mod script;
mod way;

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wit_component::ComponentEncoder;

pub use c::newest;
pub use described::{DescribedError, Description, ToolTexts};
pub use error::BuildError;
pub use request::{MadeFor, Request};
pub use way::Way;

/// The outcome of a build.
#[derive(Debug, Clone)]
pub struct Built {
    /// The way that was taken.
    pub way: Way,
    /// In the order in which they were asked for.
    pub components: Vec<Component>,
    /// Every file and folder of the workspace that went into them.
    pub inputs: Vec<PathBuf>,
}

/// One component.
#[derive(Debug, Clone)]
pub struct Component {
    /// The package it was built from.
    pub package: String,
    /// The file it was written to.
    pub path: PathBuf,
    /// SHA-256 of the file, lower-case hexadecimal.
    pub digest: String,
    /// What its tools say of themselves; nothing for a guest that writes its exports by hand.
    pub description: Option<Description>,
}

/// Builds the guests. Blocks until the nested cargo has ended.
///
/// A component file that would not change is not touched.
pub fn build(request: &Request) -> Result<Built, BuildError> {
    build_telling(request, &mut |_| ())
}

/// The same, and tells each line that cargo says.
pub fn build_telling(request: &Request, tell: &mut dyn FnMut(&str)) -> Result<Built, BuildError> {
    let compiler = way::find(request)?;
    let modules = cargo::compile(request, &compiler, tell)?;
    let components = request
        .packages
        .iter()
        .zip(&modules)
        .map(|(package, file)| encode(package, compiler.way, file, &request.out))
        .collect::<Result<_, _>>()?;
    let inputs = inputs::of(&request.workspace, &modules)?;
    Ok(Built {
        way: compiler.way,
        components,
        inputs,
    })
}

/// Makes a component of what the compiler left, and writes it.
fn encode(package: &str, way: Way, file: &Path, out: &Path) -> Result<Component, BuildError> {
    let compiled = fs::read(file).map_err(|source| BuildError::file("read", file, source))?;
    let no_plugin = |source: Box<dyn std::error::Error + Send + Sync>| BuildError::Encode {
        package: package.to_owned(),
        source,
    };
    let describe = |source| BuildError::Describe {
        package: package.to_owned(),
        source,
    };
    let bytes = match way {
        Way::Installed | Way::BuildStd => ComponentEncoder::default()
            .validate(true)
            .module(&compiled)
            .and_then(|mut encoder| encoder.encode())
            .map_err(|source| no_plugin(source.into()))?,
        // The linker has made a component, of whatever there was.
        Way::Wasi if described::exports(&compiled).map_err(describe)? => compiled.clone(),
        Way::Wasi => return Err(no_plugin("it exports nothing".into())),
    };
    let description = described::read(&compiled, &bytes).map_err(describe)?;
    let path = out.join(format!("{package}.wasm"));
    write_if_different(&path, &bytes)?;
    Ok(Component {
        package: package.to_owned(),
        path,
        digest: hex(&Sha256::digest(&bytes)),
        description,
    })
}

/// Makes a component of a module that was compiled against a C library for WASI.
///
/// # Errors
/// The module is not a plugin.
pub fn component_of_wasi(package: &str, module: &[u8]) -> Result<Vec<u8>, BuildError> {
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    let name = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME;
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|encoder| encoder.adapter(name, adapter))
        .and_then(|mut encoder| encoder.encode())
        .map_err(|source| BuildError::Encode {
            package: package.to_owned(),
            source: source.into(),
        })
}

/// Keeps the time stamp of a file that has this content already, so that nothing behind it is rebuilt.
fn write_if_different(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).map_err(|source| BuildError::file("write", path, source))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
