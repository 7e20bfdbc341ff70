//! Why guests could not be built.

use std::path::{Path, PathBuf};

use crate::described::DescribedError;
use crate::way::Way;

/// Why guests could not be built. `Display` covers one level only.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no way to compile for wasm on this machine.
    #[error(
        "no compiler for WebAssembly: run `rustup target add wasm32-unknown-unknown`, \
         or on Debian `apt-get install rustc-web cargo-web rust-web-src lld-22`"
    )]
    NoWay,
    #[error(
        "the way `{way}` was asked for ({} or plugin.toml), and is unavailable here: {reason}",
        crate::script::WAY_VARIABLE
    )]
    WayMissing {
        way: Way,
        /// What is missing, and how to get it.
        reason: String,
    },
    #[error("there is no way to compile for wasm named {name:?}: use `installed` or `build-std`")]
    UnknownWay { name: String },
    #[error("the variable {name} is not set: this has to run as a build script of cargo")]
    NotABuildScript { name: &'static str },
    /// A tool could not be started.
    #[error("cannot run {}", program.display())]
    Start {
        program: PathBuf,
        source: std::io::Error,
    },
    #[error("the guests do not compile: {packages}\n\n{output}")]
    Compile { packages: String, output: String },
    #[error(
        "no C compiler for wasm: install clang with llvm-ar beside it \
         (on Debian `apt-get install clang-19 llvm-19`; `make setup` does it)"
    )]
    NoClang,
    #[error("the C headers for wasm are unavailable: no package {package} in the lock file")]
    NoHeaders { package: &'static str },
    #[error("cannot read the descriptions of the tools of {package}")]
    Describe {
        package: String,
        source: DescribedError,
    },
    #[error("{package} gives no WebAssembly module {}: has its library crate-type = [\"cdylib\"]?", path.display())]
    NoModule {
        package: String,
        /// Where the module should be.
        path: PathBuf,
    },
    /// The module is not a plugin.
    #[error(
        "{package} compiles, but no component can be made of it: does it call dunlin_sdk::export!?"
    )]
    Encode {
        package: String,
        /// What `wit-component` said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file could not be used.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
}

impl BuildError {
    pub(crate) fn file(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::File {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
