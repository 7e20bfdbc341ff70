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
    /// The way that was asked for does not exist on this machine.
    #[error(
        "the way `{way}` was asked for ({} or plugin.toml), and is unavailable here: {reason}",
        crate::script::WAY_VARIABLE
    )]
    WayMissing {
        /// The way.
        way: Way,
        /// What is missing, and how to get it.
        reason: String,
    },
    /// There is no way of that name.
    #[error("there is no way to compile for wasm named {name:?}: use `installed` or `build-std`")]
    UnknownWay {
        /// What was asked for.
        name: String,
    },
    /// Not run by cargo as a build script.
    #[error("the variable {name} is not set: this has to run as a build script of cargo")]
    NotABuildScript {
        /// The variable.
        name: &'static str,
    },
    /// A tool could not be started.
    #[error("cannot run {}", program.display())]
    Start {
        /// The tool.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The guests do not compile.
    #[error("the guests do not compile: {packages}\n\n{output}")]
    Compile {
        /// Their packages.
        packages: String,
        /// What the compiler said.
        output: String,
    },
    /// Nothing compiles C for wasm.
    #[error(
        "no C compiler for wasm: install clang with llvm-ar beside it \
         (on Debian `apt-get install clang-19 llvm-19`; `make setup` does it)"
    )]
    NoClang,
    /// A package that C needs is not among the dependencies.
    #[error("the C headers for wasm are unavailable: no package {package} in the lock file")]
    NoHeaders {
        /// The package.
        package: &'static str,
    },
    /// What the tools say of themselves cannot be read.
    #[error("cannot read the descriptions of the tools of {package}")]
    Describe {
        /// The package.
        package: String,
        /// What is wrong.
        source: DescribedError,
    },
    /// The package compiles, and no module comes out of it.
    #[error("{package} gives no WebAssembly module {}: has its library crate-type = [\"cdylib\"]?", path.display())]
    NoModule {
        /// The package.
        package: String,
        /// Where the module should be.
        path: PathBuf,
    },
    /// The module is not a plugin.
    #[error(
        "{package} compiles, but no component can be made of it: does it call dunlin_sdk::export!?"
    )]
    Encode {
        /// The package.
        package: String,
        /// What `wit-component` said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file could not be used.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
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
