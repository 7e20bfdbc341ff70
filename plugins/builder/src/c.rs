//! What C in a guest needs: a compiler for wasm, an archiver that knows its objects, and headers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::way::{Compiler, LINKER_FOLDERS};
use crate::{BuildError, Request};

/// The package that carries the headers of the little C library which tree-sitter brings for wasm.
const HEADERS_PACKAGE: &str = "tree-sitter-language";

/// Where they lie in it.
const HEADERS: &str = "wasm/include";

/// Parsers are tables: a higher level takes minutes and gains nothing. The scanner of C++ relies on what other C libraries
/// declare in passing.
const FLAGS: &str = "-O1 -include stddef.h -Dstatic_assert=_Static_assert";

/// The variables for the crate `cc`, for C that takes its headers from elsewhere.
pub(crate) fn tools() -> Result<Vec<(&'static str, OsString)>, BuildError> {
    let clang = newest("clang").ok_or(BuildError::NoClang)?;
    let archiver = newest("llvm-ar").ok_or(BuildError::NoClang)?;
    Ok(vec![
        ("CC_wasm32_unknown_unknown", clang.into_os_string()),
        ("AR_wasm32_unknown_unknown", archiver.into_os_string()),
    ])
}

/// The variables for the crate `cc`, for the grammars.
pub(crate) fn variables(
    request: &Request,
    compiler: &Compiler,
) -> Result<Vec<(&'static str, OsString)>, BuildError> {
    let mut variables = tools()?;
    let mut flags = OsString::from(FLAGS);
    flags.push(" -isystem ");
    flags.push(headers(request, compiler)?);
    variables.push(("CFLAGS_wasm32_unknown_unknown", flags));
    Ok(variables)
}

/// The newest tool of this name: `clang`, or Debian's `clang-19`.
pub fn newest(name: &str) -> Option<PathBuf> {
    let entries = LINKER_FOLDERS
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| {
            let version = version(name, entry.file_name().to_str()?)?;
            Some((version, entry.path()))
        })
        .max()
        .map(|(_, path)| path)
}

/// The version in the name of a tool; the name without a version is the system's choice.
pub(crate) fn version(tool: &str, name: &str) -> Option<u32> {
    match name.strip_prefix(tool)? {
        "" => Some(u32::MAX),
        rest => rest.strip_prefix('-')?.parse().ok(),
    }
}

/// Where cargo has unpacked the headers.
fn headers(request: &Request, compiler: &Compiler) -> Result<PathBuf, BuildError> {
    let mut command = Command::new(&compiler.cargo);
    command
        .current_dir(&request.workspace)
        .env("RUSTC", &compiler.rustc)
        .args(["metadata", "--locked", "--format-version", "1"]);
    let output = command.output().map_err(|source| BuildError::Start {
        program: compiler.cargo.clone(),
        source,
    })?;
    let metadata = String::from_utf8_lossy(&output.stdout);
    manifests(&metadata)
        .filter_map(Path::parent)
        .map(|package| package.join(HEADERS))
        .find(|headers| headers.is_dir())
        .ok_or(BuildError::NoHeaders {
            package: HEADERS_PACKAGE,
        })
}

/// The manifests in cargo's metadata that may be the package's: strings that end like one, below a folder of its name.
pub(crate) fn manifests(metadata: &str) -> impl Iterator<Item = &Path> {
    metadata
        .split('"')
        .filter(|text| text.ends_with("/Cargo.toml") && text.contains(HEADERS_PACKAGE))
        .map(Path::new)
}
