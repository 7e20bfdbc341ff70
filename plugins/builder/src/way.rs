//! Finds a compiler that can make wasm, or says why there is none.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use crate::{BuildError, Request};

/// The target of modules that import nothing but what their author used.
const BARE: &str = "wasm32-unknown-unknown";

/// The target whose standard library speaks WASI, and whose linker makes components.
const WASI: &str = "wasm32-wasip2";

/// Where Debian's packages `rustc-web` and `cargo-web` put a compiler that stands beside its source.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";

/// Where linkers and compilers of C are looked for.
pub(crate) const LINKER_FOLDERS: [&str; 2] = ["/usr/bin", "/usr/local/bin"];

/// How to come by a standard library for wasm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The toolchain has it: `rustup target add wasm32-unknown-unknown` was run.
    Installed,
    /// The toolchain has the one for WASI: `rustup target add wasm32-wasip2` was run. Its components import WASI, too.
    Wasi,
    /// It is compiled from its source, which stands beside a compiler: rustup's component `rust-src`,
    /// or Debian's `rustc-web`, `cargo-web` and `rust-web-src` with the linker of `lld`.
    BuildStd,
}

impl Way {
    /// The name of the way, as it is written on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Wasi => "wasip2",
            Self::BuildStd => "build-std",
        }
    }

    /// What is compiled for.
    pub(crate) const fn target(self) -> &'static str {
        match self {
            Self::Installed | Self::BuildStd => BARE,
            Self::Wasi => WASI,
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Way {
    type Err = BuildError;

    fn from_str(name: &str) -> Result<Self, BuildError> {
        // What comes with Dunlin imports no more than it uses, so WASI is none of its ways.
        [Self::Installed, Self::BuildStd]
            .into_iter()
            .find(|way| way.name() == name)
            .ok_or_else(|| BuildError::UnknownWay {
                name: name.to_owned(),
            })
    }
}

/// A compiler for wasm.
#[derive(Debug, Clone)]
pub(crate) struct Compiler {
    pub(crate) way: Way,
    pub(crate) cargo: PathBuf,
    pub(crate) rustc: PathBuf,
    /// A linker for wasm, where the compiler brings none of its own.
    pub(crate) linker: Option<PathBuf>,
}

/// Finds the compiler: the first of the ways that there is.
pub(crate) fn find(request: &Request) -> Result<Compiler, BuildError> {
    let found = |way: &Way| match way {
        Way::Installed | Way::Wasi => installed(request, *way),
        Way::BuildStd => build_std(request),
    };
    match request.ways.as_slice() {
        [way] => found(way),
        // Which of the ways lacks what is of no use to somebody who has none.
        ways => ways
            .iter()
            .find_map(|way| found(way).ok())
            .ok_or(BuildError::NoWay),
    }
}

fn installed(request: &Request, way: Way) -> Result<Compiler, BuildError> {
    let target = way.target();
    let folder = ask(
        &request.rustc,
        &["--print", "target-libdir", "--target", target],
    )?;
    if !Path::new(&folder).is_dir() {
        return Err(BuildError::WayMissing {
            way,
            reason: format!(
                "{} has no {target}; run `rustup target add {target}`",
                request.rustc.display()
            ),
        });
    }
    let (cargo, rustc) = (request.cargo.clone(), request.rustc.clone());
    Ok(Compiler {
        way,
        cargo,
        rustc,
        linker: None,
    })
}

fn build_std(request: &Request) -> Result<Compiler, BuildError> {
    let active = (request.cargo.clone(), request.rustc.clone());
    let debian = (PathBuf::from(DEBIAN_CARGO), PathBuf::from(DEBIAN_RUSTC));
    [active, debian]
        .into_iter()
        .find_map(|(cargo, rustc)| with_source(cargo, rustc))
        .ok_or_else(|| BuildError::WayMissing {
            way: Way::BuildStd,
            reason: "no compiler has its source beside it and a linker for wasm; on Debian run \
                     `apt-get install rustc-web cargo-web rust-web-src lld-22`"
                .to_owned(),
        })
}

/// This compiler, if it can compile its own standard library for wasm and link the outcome.
fn with_source(cargo: PathBuf, rustc: PathBuf) -> Option<Compiler> {
    let sysroot = PathBuf::from(ask(&rustc, &["--print", "sysroot"]).ok()?);
    let rustlib = sysroot.join("lib/rustlib");
    if !rustlib.join("src/rust/library/std/Cargo.toml").is_file()
        || ask(&cargo, &["--version"]).is_err()
    {
        return None;
    }
    let host = ask(&rustc, &["--print", "host-tuple"]).ok()?;
    let linker = if rustlib.join(host).join("bin/rust-lld").is_file() {
        None
    } else {
        Some(wasm_linker()?)
    };
    Some(Compiler {
        way: Way::BuildStd,
        cargo,
        rustc,
        linker,
    })
}

/// The newest `wasm-ld` of the system: `wasm-ld` itself, or Debian's `wasm-ld-22`.
fn wasm_linker() -> Option<PathBuf> {
    let entries = LINKER_FOLDERS
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| Some((linker_version(entry.file_name().to_str()?)?, entry.path())))
        .max()
        .map(|(_, path)| path)
}

/// The version in the name of a linker for wasm; the name without a version is the system's choice.
pub(crate) fn linker_version(name: &str) -> Option<u32> {
    match name.strip_prefix("wasm-ld")? {
        "" => Some(u32::MAX),
        rest => rest.strip_prefix('-')?.parse().ok(),
    }
}

/// What a tool prints, without the newline at its end.
fn ask(program: &Path, arguments: &[&str]) -> Result<String, BuildError> {
    let start = |source| BuildError::Start {
        program: program.to_owned(),
        source,
    };
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(start)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(start(std::io::Error::other(said)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
