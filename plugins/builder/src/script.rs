//! The side of a build script: what cargo tells it, and what it tells cargo.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::{BuildError, Built, Component, Description, MadeFor, Request, ToolTexts, Way};

/// The variable that forces a [`Way`]: `installed` or `build-std`.
pub const WAY_VARIABLE: &str = "DUNLIN_WASM";

/// Runs a build script and prints its error for people to read.
///
/// ```no_run
/// use dunlin_guest_build::script;
///
/// fn main() -> std::process::ExitCode {
///     script::main(|| {
///         let built = script::build("..".as_ref(), &["my-guest"])?;
///         script::embed(&built, "embedded.rs", |package| package.replace('-', "_"))
///     })
/// }
/// ```
#[expect(
    clippy::print_stderr,
    reason = "cargo shows what a failing build script writes there"
)]
pub fn main(script: impl FnOnce() -> Result<(), BuildError>) -> ExitCode {
    let Err(error) = script() else {
        return ExitCode::SUCCESS;
    };
    eprintln!("{error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  because: {error}");
        cause = error.source();
    }
    ExitCode::FAILURE
}

/// Builds guests from within a build script, and tells cargo when to run it again: when a file
/// changed that went into them, and only then.
pub fn build(workspace: &Path, packages: &[&str]) -> Result<Built, BuildError> {
    build_for(MadeFor::Size, workspace, packages)
}

/// Like [`build`], for what guests are made for.
#[expect(
    clippy::print_stdout,
    reason = "that is how a build script talks to cargo"
)]
pub fn build_for(
    made_for: MadeFor,
    workspace: &Path,
    packages: &[&str],
) -> Result<Built, BuildError> {
    println!("cargo::rerun-if-env-changed={WAY_VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    let out = folder("OUT_DIR")?;
    let request = Request {
        workspace: fs::canonicalize(workspace)
            .map_err(|source| BuildError::file("find", workspace, source))?,
        packages: packages.iter().map(|&package| package.to_owned()).collect(),
        made_for,
        cargo: folder("CARGO")?,
        rustc: folder("RUSTC")?,
        ways: ways()?,
        scratch: target_folder(&out).to_owned(),
        out,
    };
    let built = crate::build(&request)?;
    for input in &built.inputs {
        println!("cargo::rerun-if-changed={}", input.display());
    }
    println!("compiled for wasm by the way `{}`", built.way);
    Ok(built)
}

/// Writes a Rust file into `OUT_DIR` that embeds the components, for `include!`.
///
/// It holds `ALL: &[Embedded]`, sorted by name, and `WAY: &str`. `Embedded { name, bytes, digest }`
/// is the including module's own struct; `name_of` makes a name of a package. What the tools say of themselves is
/// left out.
pub fn embed(
    built: &Built,
    file: &str,
    name_of: impl Fn(&str) -> String,
) -> Result<(), BuildError> {
    write(built, file, name_of, |_| String::new())
}

/// Like [`embed`], with a field `description: Option<Description>` more, so that the tools are known before a component
/// was loaded. `Description { contract, imports, tools }` and `ToolTexts { name, description, parameters, title, output_schema, hints }` are
/// the including module's own, of `&'static str`s.
pub fn embed_described(
    built: &Built,
    file: &str,
    name_of: impl Fn(&str) -> String,
) -> Result<(), BuildError> {
    write(built, file, name_of, |component| {
        format!(", description: {}", literal(component.description.as_ref()))
    })
}

/// A description as a Rust expression.
fn literal(description: Option<&Description>) -> String {
    let Some(Description {
        contract,
        imports,
        tools,
    }) = description
    else {
        return "None".to_owned();
    };
    let mut list = String::new();
    for tool in tools {
        let ToolTexts {
            name,
            description,
            parameters,
            title,
            output_schema,
            hints,
        } = tool;
        // Writing to a string cannot fail.
        let _ = write!(
            list,
            "ToolTexts {{ name: {name:?}, description: {description:?}, parameters: {parameters:?}, title: {title:?}, \
             output_schema: {output_schema:?}, hints: {hints:?} }}, "
        );
    }
    format!(
        "Some(Description {{ contract: {contract:?}, imports: &{imports:?}, tools: &[{list}] }})"
    )
}

fn write(
    built: &Built,
    file: &str,
    name_of: impl Fn(&str) -> String,
    more: impl Fn(&Component) -> String,
) -> Result<(), BuildError> {
    let mut entries: Vec<_> = built
        .components
        .iter()
        .map(|component| (name_of(&component.package), component))
        .collect();
    entries.sort_by(|(left, _), (right, _)| left.cmp(right));

    let mut text =
        String::from("/// All of them, sorted by name.\npub const ALL: &[Embedded] = &[\n");
    for (name, component) in entries {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "    Embedded {{ name: {name:?}, bytes: include_bytes!({:?}), digest: {:?}{} }},",
            component.path,
            component.digest,
            more(component)
        );
    }
    let _ = write!(
        text,
        "];\n\n/// How they were compiled for wasm.\npub const WAY: &str = {:?};\n",
        built.way.name()
    );
    crate::write_if_different(&folder("OUT_DIR")?.join(file), text.as_bytes())
}

/// Writes a Rust file into `OUT_DIR` that embeds the text files of folders, for `include!`: `TEXTS: &[(&str, &str)]`,
/// each the path that it has in the second folder, and what stands in it.
///
/// # Errors
/// A folder cannot be read.
#[expect(
    clippy::print_stdout,
    reason = "that is how a build script talks to cargo"
)]
pub fn embed_texts(folders: &[(&str, &str)], file: &str) -> Result<(), BuildError> {
    let mut text = String::from("/// Paths and texts.\npub const TEXTS: &[(&str, &str)] = &[\n");
    for (from, to) in folders {
        println!("cargo::rerun-if-changed={from}");
        let given = Path::new(from);
        let failed = |source| BuildError::file("read", given, source);
        let from = fs::canonicalize(given).map_err(failed)?;
        let mut names = Vec::new();
        for entry in fs::read_dir(&from).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.path().is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        for name in names {
            let path = from.join(&name);
            println!("cargo::rerun-if-changed={}", path.display());
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "    ({:?}, include_str!({:?})),",
                format!("{to}/{name}"),
                path
            );
        }
    }
    text.push_str("];\n");
    crate::write_if_different(&folder("OUT_DIR")?.join(file), text.as_bytes())
}

/// Where cargo wants what a build script makes.
///
/// # Errors
/// This is not a build script.
pub fn out_folder() -> Result<PathBuf, BuildError> {
    folder("OUT_DIR")
}

/// The outer target folder, or the folder of its target if it is a cross build: the output of a build
/// script is `<there>/<profile>/build/<package>-<hash>/out`.
pub(crate) fn target_folder(out: &Path) -> &Path {
    out.ancestors().nth(4).unwrap_or(out)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is how cargo talks to a build script"
)]
fn folder(name: &'static str) -> Result<PathBuf, BuildError> {
    std::env::var_os(name)
        .map(PathBuf::from)
        .ok_or(BuildError::NotABuildScript { name })
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is how people talk to a build script"
)]
fn ways() -> Result<Vec<Way>, BuildError> {
    match std::env::var_os(WAY_VARIABLE) {
        Some(name) if !name.is_empty() => Ok(vec![name.to_string_lossy().parse()?]),
        _ => Ok(vec![Way::Installed, Way::BuildStd]),
    }
}
