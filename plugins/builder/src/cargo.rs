//! Runs the nested cargo.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::said;
use crate::way::{Compiler, Way};
use crate::{BuildError, MadeFor, Request, c};

/// The profile of guests, but for how it optimises. Set here and not in a manifest, so that every workspace builds alike.
///
/// A panic is a trap either way, and unwinding would only add code.
const PROFILE: [&str; 5] = [
    "inherits=\"release\"",
    "panic=\"abort\"",
    "debug=false",
    "strip=true",
    "overflow-checks=true",
];

/// The name of that profile, and so of the folder in which cargo puts the modules.
const PROFILE_NAME: &str = "guest";

/// What the nested cargo may keep of [`SCRUBBED`]: where its downloads are, how to reach a registry, and
/// its share of the processors.
const KEPT: [&str; 7] = [
    "CARGO_HOME",
    "CARGO_MAKEFLAGS",
    "CARGO_HTTP_*",
    "CARGO_NET_*",
    "CARGO_REGISTRIES_*",
    "CARGO_REGISTRY_*",
    "CARGO_SOURCE_*",
];

/// Variables with which the outer build, or whoever started it, would change the nested one. A star
/// stands for any end.
const SCRUBBED: [&str; 15] = [
    "CARGO",
    "CARGO_*",
    "RUSTC*",
    "RUSTDOC*",
    "RUSTFLAGS",
    "CLIPPY_*",
    "DEP_*",
    "TARGET",
    "HOST",
    "OUT_DIR",
    "OPT_LEVEL",
    "PROFILE",
    "DEBUG",
    "NUM_JOBS",
    "MAKEFLAGS",
];

/// Separates the flags in `CARGO_ENCODED_RUSTFLAGS`.
const FLAG_SEPARATOR: &str = "\u{1f}";

/// Compiles all packages in one go; the module of each, in the same order.
pub(crate) fn compile(
    request: &Request,
    compiler: &Compiler,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>, BuildError> {
    // Other flags make other libraries: in one folder each of the two builds would undo the other.
    let made_for = match request.made_for {
        MadeFor::Size | MadeFor::Scripts | MadeFor::Trial => "",
        MadeFor::Speed => "-fast",
    };
    let target_folder = request
        .scratch
        .join(format!("guests-{}{made_for}", compiler.way));
    fs::create_dir_all(&target_folder)
        .map_err(|source| BuildError::file("create", &target_folder, source))?;

    let mut command = command(request, compiler, &target_folder)?;
    let (status, said) = said::run(&mut command, tell).map_err(|source| BuildError::Start {
        program: compiler.cargo.clone(),
        source,
    })?;
    if !status.success() {
        return Err(BuildError::Compile {
            packages: request.packages.join(", "),
            output: said.trim_end().to_owned(),
        });
    }

    let folder = target_folder.join(compiler.way.target()).join(PROFILE_NAME);
    request
        .packages
        .iter()
        .map(|package| {
            let path = folder
                .join(package.replace('-', "_"))
                .with_extension("wasm");
            if path.is_file() {
                Ok(path)
            } else {
                Err(BuildError::NoModule {
                    package: package.clone(),
                    path,
                })
            }
        })
        .collect()
}

fn command(
    request: &Request,
    compiler: &Compiler,
    target_folder: &Path,
) -> Result<Command, BuildError> {
    let mut command = Command::new(&compiler.cargo);
    command.current_dir(&request.workspace);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_scrubbed(name)) {
        command.env_remove(name);
    }
    command.env("RUSTC", &compiler.rustc);
    command.env(
        "CARGO_ENCODED_RUSTFLAGS",
        flags(request.made_for, compiler, target_folder)?,
    );
    let variables = match request.made_for {
        MadeFor::Speed => c::variables(request, compiler)?,
        MadeFor::Scripts => c::tools()?,
        MadeFor::Size | MadeFor::Trial => Vec::new(),
    };
    for (name, value) in variables {
        command.env(name, value);
    }
    let optimising = match request.made_for {
        MadeFor::Size | MadeFor::Scripts => ["opt-level=\"s\"", "lto=\"fat\"", "codegen-units=1"],
        MadeFor::Speed => ["opt-level=3", "lto=\"fat\"", "codegen-units=1"],
        MadeFor::Trial => ["opt-level=1", "lto=\"off\"", "codegen-units=4"],
    };

    command.args([
        "build",
        "--locked",
        "--target",
        compiler.way.target(),
        "--profile",
        PROFILE_NAME,
        "--target-dir",
    ]);
    command.arg(target_folder);
    for setting in PROFILE.into_iter().chain(optimising) {
        command
            .arg("--config")
            .arg(format!("profile.{PROFILE_NAME}.{setting}"));
    }
    if compiler.way == Way::BuildStd {
        // The flag is for nightly compilers only; this is how a released one is told to take it.
        command
            .env("RUSTC_BOOTSTRAP", "1")
            .arg("-Zbuild-std=std,panic_abort");
    }
    for package in &request.packages {
        command.args(["--package", package]);
    }
    Ok(command)
}

/// Flags for everything that is compiled for wasm.
fn flags(
    made_for: MadeFor,
    compiler: &Compiler,
    target_folder: &Path,
) -> Result<OsString, BuildError> {
    let mut flags = OsString::new();
    // A panic's place names the file it is in: where the sources lie must not change the bytes.
    if let Some(home) = cargo_home() {
        flags.push("--remap-path-prefix=");
        flags.push(home);
        flags.push("=cargo");
    }
    let mut add = |flag: &str, value: &OsStr| {
        if !flags.is_empty() {
            flags.push(FLAG_SEPARATOR);
        }
        flags.push(flag);
        flags.push(value);
    };
    if let Some(linker) = &compiler.linker {
        add(
            "-Clinker=",
            named_wasm_ld(linker, target_folder)?.as_os_str(),
        );
    }
    if made_for == MadeFor::Speed {
        add("-Ctarget-feature=", OsStr::new("+simd128"));
    }
    Ok(flags)
}

/// A link to the linker under the plain name: the compiler takes the kind of linker from its name.
fn named_wasm_ld(linker: &Path, folder: &Path) -> Result<PathBuf, BuildError> {
    let link = folder.join("wasm-ld");
    if fs::read_link(&link).is_ok_and(|old| old == linker) {
        return Ok(link);
    }
    // Made aside and renamed: two build scripts may be here at once.
    let aside = folder.join(format!("wasm-ld.{}", std::process::id()));
    std::os::unix::fs::symlink(linker, &aside)
        .and_then(|()| fs::rename(&aside, &link))
        .map_err(|source| BuildError::file("create the link", &link, source))?;
    Ok(link)
}

/// Where cargo unpacks what it downloads.
#[expect(
    clippy::disallowed_methods,
    reason = "the settings of cargo are in the environment"
)]
fn cargo_home() -> Option<OsString> {
    std::env::var_os("CARGO_HOME").or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME")?);
        Some(home.join(".cargo").into_os_string())
    })
}

/// Whether the nested build must not see a variable.
pub(crate) fn is_scrubbed(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let fits = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    };
    SCRUBBED.iter().any(fits) && !KEPT.iter().any(fits)
}
