//! Makes a component of the folder of a plugin, with the tools of its language.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use dunlin_guest_build::{BuildError, Request, Way, said};
use dunlin_host::declared_permissions::{DeclaredPermissions, DeclaredPermissionsError};
use dunlin_host::sha256_hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::about;
use super::manifest::{Language, Manifest, ManifestError, Target};
use super::new_project::crate_name;
use super::sources::{digest, python_packages};
use super::{BUILT, MAX_COMPONENT_BYTES, read_regular};
use crate::config::json_file;

/// Characters of what a tool said that are repeated.
const MAX_SAID_CHARS: usize = 4_000;

/// Where the WASI SDK is, by its own instructions.
const WASI_SDK: &str = "/opt/wasi-sdk/bin/clang";

/// For a library that a host calls, small, with what the contract looks like in C.
/// The names of functions stay, so that a crash can say where.
const C_FLAGS: [&str; 7] = [
    "--target=wasm32-wasi",
    "-mexec-model=reactor",
    "-Os",
    "-Wl,--strip-debug",
    "-Wall",
    "-Wextra",
    "-Ibindings",
];

/// An access through a null pointer ends the plugin, in [`C_NULL`].
const C_CHECKS: [&str; 2] = ["-fsanitize=null", "-fno-sanitize-recover=null"];

/// Tells the host of such an access, with its place.
const C_NULL: &str = include_str!("null.c");

/// How everything is had that C needs.
const C_PACKAGES: &str = "on Debian, apt-get install clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32 installs all that is needed";

/// Compiles the source of Python, to say at once what is wrong with it.
const PYTHON_SYNTAX: &str = include_str!("syntax.py");

/// The status with which that ends where something is wrong.
const WRONG_SYNTAX: i32 = 3;

/// How componentize-py is had.
const COMPONENTIZE_PY: &str =
    "python3 -m venv .venv && .venv/bin/pip install componentize-py, in the folder of the plugin";

/// The same where there is one that cannot be started.
const STALE_VENV: &str = "the python3 that .venv was made with is gone, or the folder has moved: rm -r .venv && python3 -m venv \
                          .venv && .venv/bin/pip install componentize-py, in the folder of the plugin, recreates it";

/// A source that needs the headers, the linker and the libraries, and nothing of the plugin.
const C_PROBE: &str = "#include <stdlib.h>\nint probe(int value) { return abs(value); }\n";

/// Why there is no component.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildFailed {
    /// The folder is not that of a plugin.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Rust could not be compiled.
    #[error(transparent)]
    Rust(#[from] BuildError),
    #[error("{tool} cannot be started")]
    Missing {
        tool: String,
        /// How to come by it.
        hint: &'static str,
        source: io::Error,
    },
    #[error("{tool} failed")]
    Tool {
        tool: String,
        /// What it said, in lines.
        said: String,
        /// What may help.
        hint: Option<&'static str>,
    },
    /// What it may ask for makes no sense.
    #[error("[may] in plugin.toml cannot be used")]
    DeclaredPermissions(#[from] DeclaredPermissionsError),
    /// What is said of the plugin cannot be read.
    #[error("cannot read the metadata in {}: {problem}", path.display())]
    Metadata {
        /// The manifest of the language.
        path: PathBuf,
        /// Why, with the line.
        problem: String,
    },
    /// The language's tools have made something else.
    #[error("{} is not a component", path.display())]
    NoComponent {
        /// What they have made.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("cannot use {}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl BuildFailed {
    /// What a tool said of it, in lines.
    pub fn said(&self) -> Option<&str> {
        match self {
            BuildFailed::Tool { said, .. } => Some(said),
            _ => None,
        }
    }

    /// The way out, if it is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            BuildFailed::Missing { hint, .. } => Some(hint),
            BuildFailed::Tool { hint, .. } => *hint,
            BuildFailed::Manifest(ManifestError::Read { .. }) => {
                Some("dunlin plugin new NAME writes the folder of a plugin")
            }
            _ => None,
        }
    }
}

/// What came of a build.
#[derive(Debug)]
pub struct Built {
    pub path: PathBuf,
    /// Whether it stood there already.
    pub is_unchanged: bool,
}

/// Builds the plugin of a folder and gives the component, which stands in the folder as well. `tell` gets each line that a
/// tool of the language says; `notes` is the file in which Dunlin keeps what it has built.
///
/// # Errors
/// Says what is missing, or what the tools of the language said.
pub fn build(
    folder: &Path,
    notes: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<Built, BuildFailed> {
    let folder = &fs::canonicalize(folder).map_err(|source| io_failed(folder, source))?;
    let manifest = Manifest::read(folder)?;
    let about = about::of_folder(folder, &manifest)?;
    let path = folder.join(BUILT);
    // An engine of a language is a picture of its memory, which is never the same twice: what is built of the same is not
    // built again, or it would be another version each time.
    let made_of = match manifest.language {
        Language::Js | Language::Python => digest(folder, manifest.language),
        Language::Rust | Language::C => None,
    };
    // What is not said any more has to go.
    let is_said = |(_, text): (_, Option<&str>)| if text.is_some() { '1' } else { '0' };
    let said: String = about.texts().map(is_said).collect();
    let made_of = made_of.map(|digest| {
        format!(
            "{digest} {said}{}",
            u8::from(manifest.declared_permissions.is_some())
        )
    });
    let unchanged = made_of.as_ref().and_then(|made_of| {
        let bytes = read_regular(&path, MAX_COMPONENT_BYTES).ok()?;
        let known: Notes = json_file::read(notes).ok()?;
        let known = known.0.get(&sha256_hex(&bytes))?.as_str();
        (known == Some(made_of)).then_some(bytes)
    });
    let is_unchanged = unchanged.is_some();
    let bytes = match unchanged {
        Some(bytes) => bytes,
        None => component(folder, &manifest, tell)?,
    };
    let mut bytes = about
        .put_into(&bytes)
        .ok_or_else(|| BuildFailed::NoComponent { path: path.clone() })?;
    if let Some(declared_permissions) = manifest.declared_permissions {
        bytes = DeclaredPermissions::new(declared_permissions)?.put_into(&bytes)?;
    }
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&bytes)?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|source| io_failed(&path, source))?;
    if let Some(made_of) = made_of {
        json_file::update(notes, |known: &mut Notes| {
            known.add(sha256_hex(&bytes), made_of)
        })
        .map_err(|source| io_failed(notes, source))?;
    }
    Ok(Built { path, is_unchanged })
}

/// What the components were made of that were built here: by their SHA-256, a digest of their sources; the last one was built
/// last. Kept where no project writes: a component that says of itself what it was made of may be anybody's.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Notes(Map<String, Value>);

impl Notes {
    /// Components that are known; one that is not is built again.
    const MAX: usize = 500;

    fn add(&mut self, component: String, made_of: String) {
        self.0.shift_remove(&component);
        let dropped = (self.0.len() + 1).saturating_sub(Notes::MAX);
        let oldest: Vec<String> = self.0.keys().take(dropped).cloned().collect();
        for component in oldest {
            self.0.shift_remove(&component);
        }
        self.0.insert(component, made_of.into());
    }
}

/// What the tools of the language make of a folder.
fn component(
    folder: &Path,
    manifest: &Manifest,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<u8>, BuildFailed> {
    // Dunlin itself writes nothing into the folder but the result: a link there would lead elsewhere.
    let out = tempfile::tempdir().map_err(|source| io_failed(&std::env::temp_dir(), source))?;
    let built = match manifest.language {
        Language::Rust => rust(folder, manifest.target, out.path(), tell)?,
        Language::Js => js(folder, tell)?,
        Language::Python => python(folder, out.path(), tell)?,
        Language::C => c(folder, out.path(), tell)?,
    };
    fs::read(&built).map_err(|source| io_failed(&built, source))
}

fn rust(
    folder: &Path,
    target: Option<Target>,
    out: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<PathBuf, BuildFailed> {
    let package = package_of(folder)?;
    // What was edited in Cargo.toml comes into Cargo.lock, which the build itself only reads.
    let mut cargo = Command::new("cargo");
    cargo.args(["tree", "--quiet", "--depth", "0"]);
    run(
        cargo.current_dir(folder),
        "cargo",
        "https://rustup.rs installs Rust",
        None,
        &mut |_| (),
    )?;
    let request = Request {
        workspace: folder.to_owned(),
        packages: vec![package],
        made_for: dunlin_guest_build::MadeFor::Size,
        cargo: "cargo".into(),
        rustc: "rustc".into(),
        // Of what WASI adds, most plugins need nothing.
        ways: target.map_or_else(
            || vec![Way::Installed, Way::Wasi, Way::BuildStd],
            Target::ways,
        ),
        scratch: folder.join("target"),
        out: out.to_owned(),
    };
    let built = dunlin_guest_build::build_telling(&request, tell).map_err(|error| match error {
        // One plugin, and its author knows which.
        BuildError::Compile { output, .. } => BuildFailed::Tool {
            tool: "cargo".to_owned(),
            said: output,
            hint: None,
        },
        error => BuildFailed::Rust(error),
    })?;
    let component = built.components.into_iter().next();
    component
        .map(|component| component.path)
        .ok_or_else(|| io_failed(out, io::ErrorKind::NotFound.into()))
}

/// The package in a folder's `Cargo.toml`.
fn package_of(folder: &Path) -> Result<String, BuildFailed> {
    let path = folder.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|source| io_failed(&path, source))?;
    let table: Option<toml::Table> = text.parse().ok();
    let name = table
        .as_ref()
        .and_then(|table| table.get("package")?.get("name")?.as_str());
    // Where it cannot be read, cargo says why.
    let named = folder.file_name().unwrap_or_default().to_string_lossy();
    Ok(name.map_or_else(|| crate_name(&named), str::to_owned))
}

/// The way out where the source uses an interface that the plugin does not import.
fn not_imported(failed: BuildFailed) -> BuildFailed {
    const SIGNS: [&str; 2] = [
        "Error loading module \"dunlin:tool/",
        "from 'wit_world.imports'",
    ];
    match failed {
        BuildFailed::Tool { tool, said, .. } if SIGNS.iter().any(|sign| said.contains(sign)) => {
            BuildFailed::Tool {
                tool,
                said,
                hint: Some(
                    "wit/world.wit says what the plugin imports: add a line such as  import dunlin:tool/clock@0.1.0;",
                ),
            }
        }
        failed => failed,
    }
}

/// The way out where the source uses a package that is not there. What begins with a dot or a slash is a file.
fn no_package(failed: BuildFailed) -> BuildFailed {
    const SIGN: &str = "Could not resolve \"";
    let is_package = |said: &str| {
        let mut found = said.split(SIGN).skip(1);
        found.any(|name| !name.starts_with(['.', '/']))
    };
    match failed {
        BuildFailed::Tool {
            tool,
            said,
            hint: None,
        } if is_package(&said) => BuildFailed::Tool {
            tool,
            said,
            hint: Some(
                "npm install NAME, in the folder of the plugin, adds a package that is missing",
            ),
        },
        failed => failed,
    }
}

fn js(folder: &Path, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, BuildFailed> {
    let mut node = Command::new("node");
    // With the packages there, the build itself says what is wrong and where.
    let hint = (!folder.join("node_modules").is_dir())
        .then_some("npm install, in the folder of the plugin, fetches what it is built with");
    run(
        node.arg("build.mjs").current_dir(folder),
        "node",
        "https://nodejs.org installs it",
        hint,
        tell,
    )
    .map_err(|failed| no_package(not_imported(failed)))?;
    Ok(folder.join("target/component.wasm"))
}

fn python(folder: &Path, out: &Path, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, BuildFailed> {
    let out = out.join("component.wasm");
    check_syntax(folder)?;
    let own = folder.join(".venv/bin/componentize-py");
    let is_own = own.is_file();
    let mut tool = match is_own {
        true => Command::new(own),
        false => Command::new("componentize-py"),
    };
    tool.args(["--wit-path", "wit", "--world", "plugin", "componentize"])
        .args(["-p", "src"]);
    for packages in python_packages(folder) {
        tool.arg("-p").arg(packages);
    }
    // Its own places are of no use to an author.
    tool.args(["app", "-o"])
        .arg(&out)
        .env("RUST_BACKTRACE", "0")
        .current_dir(folder);
    let missing = if is_own { STALE_VENV } else { COMPONENTIZE_PY };
    run(&mut tool, "componentize-py", missing, None, tell).map_err(|failed| match not_imported(
        failed,
    ) {
        // What the folder of the source is called while the component is made.
        BuildFailed::Tool { tool, said, hint } => BuildFailed::Tool {
            tool,
            said: said.replace("File \"/0/", "File \"src/"),
            hint,
        },
        failed => failed,
    })?;
    Ok(out)
}

/// Fails where the source is not Python, which takes a moment. Without a python3, componentize-py says so.
fn check_syntax(folder: &Path) -> Result<(), BuildFailed> {
    let own = folder.join(".venv/bin/python3");
    let python = match own.is_file() {
        true => own,
        false => "python3".into(),
    };
    let output = Command::new(python)
        .args(["-I", "-W", "ignore", "-c", PYTHON_SYNTAX])
        .current_dir(folder)
        .output();
    match output {
        Ok(output) if output.status.code() == Some(WRONG_SYNTAX) => Err(BuildFailed::Tool {
            tool: "the check of the syntax".to_owned(),
            said: String::from_utf8_lossy(&output.stderr)
                .trim_end()
                .to_owned(),
            hint: None,
        }),
        _ => Ok(()),
    }
}

fn c(folder: &Path, out: &Path, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, BuildFailed> {
    let sources = folder.join("src");
    let entries = fs::read_dir(&sources).map_err(|source| io_failed(&sources, source))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "c"));
    files.sort();
    // As the plugin says them of a crash, wherever it was built.
    let files = files
        .iter()
        .map(|path| path.strip_prefix(folder).unwrap_or(path));
    let null = out.join("null.c");
    fs::write(&null, C_NULL).map_err(|source| io_failed(&null, source))?;
    let module = out.join("module.wasm");
    let own = PathBuf::from(WASI_SDK);
    let clang = match own.is_file() {
        true => own,
        false => dunlin_guest_build::newest("clang").unwrap_or_else(|| "clang".into()),
    };
    let mut tool = Command::new(&clang);
    tool.args(C_FLAGS)
        .args(C_CHECKS)
        .args(files)
        .arg(&null)
        .args(["bindings/plugin.c", "bindings/plugin_component_type.o"])
        .arg("-o")
        .arg(&module)
        .current_dir(folder);
    run(&mut tool, "clang", C_PACKAGES, None, tell).map_err(|failed| match failed {
        // Packages do not help where the source itself is wrong.
        BuildFailed::Tool { tool, said, .. } if !compiles_c(&clang, out) => BuildFailed::Tool {
            tool,
            said,
            hint: Some(C_PACKAGES),
        },
        failed => failed,
    })?;
    let bytes = fs::read(&module).map_err(|source| io_failed(&module, source))?;
    let named = folder.file_name().unwrap_or_default().to_string_lossy();
    let component = dunlin_guest_build::component_of_wasi(&named, &bytes)?;
    let out = out.join("component.wasm");
    fs::write(&out, component).map_err(|source| io_failed(&out, source))?;
    Ok(out)
}

/// Whether clang can compile and link anything at all for WASI here.
fn compiles_c(clang: &Path, folder: &Path) -> bool {
    let source = folder.join("probe.c");
    let is_written = fs::write(&source, C_PROBE).is_ok();
    let output = Command::new(clang)
        .args(C_FLAGS)
        .arg(&source)
        .arg("-o")
        .arg(folder.join("probe.wasm"))
        .output();
    is_written && output.is_ok_and(|output| output.status.success())
}

fn run(
    command: &mut Command,
    tool: &str,
    missing: &'static str,
    hint: Option<&'static str>,
    tell: &mut dyn FnMut(&str),
) -> Result<(), BuildFailed> {
    let ran = said::run(command, tell).map_err(|source| BuildFailed::Missing {
        tool: tool.to_owned(),
        hint: missing,
        source,
    })?;
    let (status, said) = ran;
    if status.success() {
        return Ok(());
    }
    let from = said.len().saturating_sub(MAX_SAID_CHARS);
    let from = said.ceil_char_boundary(from);
    Err(BuildFailed::Tool {
        tool: tool.to_owned(),
        said: said[from..].trim().to_owned(),
        hint,
    })
}

fn io_failed(path: &Path, source: io::Error) -> BuildFailed {
    BuildFailed::Io {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(said: &str) -> Option<&'static str> {
        let failed = BuildFailed::Tool {
            tool: "node".to_owned(),
            said: said.to_owned(),
            hint: None,
        };
        no_package(not_imported(failed)).hint()
    }

    #[test]
    fn what_was_built_longest_ago_is_forgotten() {
        let mut known = Notes::default();
        for number in (0..Notes::MAX).rev() {
            known.add(format!("{number:03}"), "sources".to_owned());
        }
        known.add("499".to_owned(), "other sources".to_owned());
        known.add("new".to_owned(), "sources".to_owned());
        let has = |component| known.0.contains_key(component);
        let found = ["498", "497", "000", "499", "new"].map(has);
        assert_eq!(found, [false, true, true, true, true]);
        assert_eq!(known.0.len(), Notes::MAX);
    }

    #[test]
    fn a_missing_package_has_a_way_out() {
        let is_told = |said| hint(said).is_some_and(|hint| hint.starts_with("npm install NAME"));
        assert!(is_told("✘ [ERROR] Could not resolve \"leftpad\"\n"));
        assert!(!is_told("✘ [ERROR] Could not resolve \"./word.js\"\n"));
        assert!(!is_told("✘ [ERROR] a plugin has no node:nothing"));
    }

    #[test]
    fn what_is_not_python_is_said_before_it_is_built() {
        let version = Command::new("python3").arg("--version").output();
        let version = version.expect("this test needs python3 in the PATH");
        assert!(version.status.success());
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        fs::create_dir(&source).unwrap();
        let check = |text: &str| {
            fs::write(source.join("app.py"), text).unwrap();
            check_syntax(folder.path()).map_err(|failed| failed.said().map(str::to_owned))
        };
        // Nothing of it is run.
        assert_eq!(
            check("import nothing_of_this_name\nraise Exception\n"),
            Ok(())
        );
        let said = check("X = 1\n\ndef count(text: str) -> int\n    return 1\n").unwrap_err();
        let said = said.unwrap();
        assert!(said.contains("File \"src/app.py\", line 3\n"), "{said}");
        assert!(said.contains("SyntaxError: "), "{said}");
        // What an older Python does not know is for the one in the component to judge.
        assert_eq!(check("type Words = list[str]\n"), Ok(()));
        assert_eq!(
            check("def first[T](words: list[T]) -> T:\n    return words[0]\n"),
            Ok(())
        );
    }

    #[test]
    fn a_venv_without_its_python_has_a_way_out() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let tools = folder.path().join(".venv/bin");
        fs::create_dir_all(&tools).unwrap();
        let tool = tools.join("componentize-py");
        fs::write(&tool, "#!/nowhere/python3\n").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        let failed = python(folder.path(), folder.path(), &mut |_| ()).unwrap_err();
        assert_eq!(failed.to_string(), "componentize-py cannot be started");
        assert_eq!(failed.hint(), Some(STALE_VENV));
    }
}
