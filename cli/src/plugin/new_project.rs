//! The projects that `dunlin plugin new` writes: a small tool that builds at once, with its tests.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use super::manifest::Language;

/// What a file of a project is called, and what stands in it, with `{{…}}` for what differs.
type Template = (&'static str, &'static str);

const RUST: [Template; 7] = [
    ("Cargo.toml", include_str!("templates/rust/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("templates/rust/lib.rs.txt")),
    (
        "vendor/dunlin-sdk/Cargo.toml",
        include_str!("templates/rust/sdk.toml.txt"),
    ),
    (
        "vendor/dunlin-sdk-macros/Cargo.toml",
        include_str!("templates/rust/sdk_macros.toml.txt"),
    ),
    (
        "vendor/dunlin-params/Cargo.toml",
        include_str!("templates/rust/params.toml.txt"),
    ),
    ("README.md", include_str!("templates/README.rust.md")),
    (".gitignore", "/target\n/plugin.wasm\n"),
];

const JS: [Template; 18] = [
    (
        "package.json",
        include_str!("templates/js/package.json.txt"),
    ),
    ("jsconfig.json", include_str!("templates/js/jsconfig.json")),
    ("build.mjs", include_str!("templates/js/build.mjs")),
    ("src/tool.js", include_str!("templates/js/tool.js")),
    ("src/words.js", include_str!("templates/js/words.js")),
    (
        "src/words.test.js",
        include_str!("templates/js/words.test.js"),
    ),
    (
        "dunlin/build.mjs",
        include_str!("templates/js/dunlin/build.mjs"),
    ),
    (
        "dunlin/contract.d.ts",
        include_str!("templates/js/dunlin/contract.d.ts"),
    ),
    (
        "dunlin/entry.js",
        include_str!("templates/js/dunlin/entry.js"),
    ),
    (
        "dunlin/fetch.js",
        include_str!("templates/js/dunlin/fetch.js"),
    ),
    (
        "dunlin/globals.js",
        include_str!("templates/js/dunlin/globals.js"),
    ),
    (
        "dunlin/node-fs.js",
        include_str!("templates/js/dunlin/node-fs.js"),
    ),
    (
        "dunlin/wasi/clocks.wit",
        include_str!("../../../host/wit/deps/clocks.wit"),
    ),
    (
        "dunlin/wasi/filesystem.wit",
        include_str!("../../../host/wit/deps/filesystem.wit"),
    ),
    (
        "dunlin/wasi/io.wit",
        include_str!("../../../host/wit/deps/io.wit"),
    ),
    ("wit/world.wit", include_str!("templates/world.wit")),
    ("README.md", include_str!("templates/README.js.md")),
    (".gitignore", "/node_modules\n/target\n/plugin.wasm\n"),
];

const PYTHON: [Template; 6] = [
    (
        "pyproject.toml",
        include_str!("templates/python/pyproject.toml.txt"),
    ),
    ("src/app.py", include_str!("templates/python/app.py")),
    (
        "src/test_app.py",
        include_str!("templates/python/test_app.py"),
    ),
    ("wit/world.wit", include_str!("templates/world.wit")),
    ("README.md", include_str!("templates/README.python.md")),
    (".gitignore", "/.venv\n__pycache__\n/target\n/plugin.wasm\n"),
];

const C: [Template; 7] = [
    ("src/tool.c", include_str!("templates/c/tool.c")),
    ("src/words.c", include_str!("templates/c/words.c")),
    ("src/words.h", include_str!("templates/c/words.h")),
    ("test/test.c", include_str!("templates/c/test.c")),
    ("Makefile", include_str!("templates/c/Makefile.txt")),
    ("README.md", include_str!("templates/README.c.md")),
    (".gitignore", "/target\n/plugin.wasm\n"),
];

/// What the manifest of a plugin in C says of it.
const C_ABOUT: &str = "\
# `dunlin plugin build` writes this into the component, and license, homepage, repository and authors, too.
version = \"0.1.0\"
description = \"Counts the words of a text file\"
";

const MANIFEST: &str = include_str!("templates/plugin.toml.txt");

/// What a plugin's folder has of this Dunlin: the contract, and what was made of it.
fn given(language: Language) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let templates = templates(language).iter();
    // What a plugin imports is its author's.
    let given =
        templates.filter(|(path, _)| path.starts_with("vendor/") || path.starts_with("dunlin/"));
    files.extend(given.map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())));
    if language == Language::C {
        let bindings = dunlin_plugins::author::C.iter();
        files.extend(bindings.map(|(name, bytes)| (format!("bindings/{name}"), bytes.to_vec())));
    }
    for (path, text) in dunlin_plugins::author::TEXTS {
        let path = match (language, path.strip_prefix("wit/")) {
            (Language::Rust, _) | (Language::C, Some(_)) => (*path).to_owned(),
            (_, Some(file)) => format!("wit/deps/dunlin-tool/{file}"),
            // The SDK is Rust.
            (_, None) => continue,
        };
        files.push((path, text.as_bytes().to_vec()));
    }
    files
}

/// Brings the contract, and in Rust the SDK, of a plugin's folder to those of this Dunlin; the files that changed.
///
/// # Errors
/// A file cannot be written; what was written until then stays.
pub fn upgrade(folder: &Path, language: Language) -> io::Result<Vec<String>> {
    let root = openat(CWD, folder, FOLDER, Mode::empty())?;
    let mut changed = Vec::new();
    for (path, bytes) in given(language) {
        let problem = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
        if put(&root, &path, &bytes).map_err(problem)? {
            changed.push(path);
        }
    }
    Ok(changed)
}

/// How a folder is opened.
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Writes a file below a folder, and says whether it was another one before. No link is followed: the folder may be of
/// somebody who wants a file elsewhere to be overwritten.
fn put(root: &OwnedFd, path: &str, bytes: &[u8]) -> io::Result<bool> {
    let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
    let mut folder = openat(root, ".", FOLDER, Mode::empty())?;
    for part in above.split('/') {
        match mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder = openat(&folder, part, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(old) = openat(&folder, name, flags, Mode::empty()) {
        let mut text = Vec::new();
        let old = File::from(old).take(bytes.len() as u64 + 1);
        if { old }.read_to_end(&mut text).is_ok() && text == bytes {
            return Ok(false);
        }
    }
    // The open folder, whatever is called like it by now. A link at the name itself is replaced.
    let open = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
    let mut file = tempfile::Builder::new()
        .prefix(".new.")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(&open)?;
    file.write_all(bytes)?;
    file.persist(open.join(name)).map_err(|error| error.error)?;
    Ok(true)
}

fn templates(language: Language) -> &'static [Template] {
    match language {
        Language::Rust => &RUST,
        Language::Js => &JS,
        Language::Python => &PYTHON,
        Language::C => &C,
    }
}

/// Writes a project into a folder.
///
/// # Errors
/// A file cannot be written; what was written until then stays.
pub fn write(folder: &Path, name: &str, language: Language) -> io::Result<()> {
    let put = |path: &str, text: &[u8]| {
        let path = folder.join(path);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        fs::write(path, text)
    };
    // The others have a manifest of their own for it.
    let about = match language {
        Language::C => C_ABOUT,
        _ => "",
    };
    let fill = |text: &str| {
        text.replace("{{name}}", &tool_name(name))
            .replace("{{crate}}", &crate_name(name))
            .replace("{{language}}", language.word())
            .replace("{{about}}", about)
    };
    put(super::manifest::FILE, fill(MANIFEST).as_bytes())?;
    for (path, text) in templates(language) {
        put(path, fill(text).as_bytes())?;
    }
    upgrade(folder, language)?;
    Ok(())
}

/// `word-count` → `word_count`, as tools are called.
fn tool_name(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

/// `word_count` → `word-count`, as packages are.
pub fn crate_name(name: &str) -> String {
    let name = name.replace('_', "-").to_ascii_lowercase();
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => name,
        false => format!("tool-{}", name.trim_start_matches('-')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::os::unix::fs::symlink;

    #[test]
    fn names_fit_where_they_stand() {
        for (name, tool, package) in [
            ("word_count", "word_count", "word-count"),
            ("Words", "words", "words"),
            ("7zip", "7zip", "tool-7zip"),
            ("-x", "_x", "tool-x"),
        ] {
            assert_eq!(tool_name(name), tool);
            assert_eq!(crate_name(name), package);
        }
    }

    #[test]
    fn an_upgrade_writes_to_nothing_that_a_link_leads_to() {
        let elsewhere = tempfile::tempdir().unwrap();
        let thesis = elsewhere.path().join("thesis");
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(folder.path(), "word_count", Language::C).unwrap();
        let ours = fs::read(at("bindings/plugin.h")).unwrap();
        for hard in [false, true] {
            fs::write(&thesis, "long work").unwrap();
            fs::remove_file(at("bindings/plugin.h")).unwrap();
            match hard {
                true => fs::hard_link(&thesis, at("bindings/plugin.h")).unwrap(),
                false => symlink(&thesis, at("bindings/plugin.h")).unwrap(),
            }
            let changed = upgrade(folder.path(), Language::C).unwrap();
            assert_eq!(changed, ["bindings/plugin.h"]);
            assert_eq!(fs::read(at("bindings/plugin.h")).unwrap(), ours);
            assert_eq!(fs::read(&thesis).unwrap(), b"long work");
        }
        fs::remove_dir_all(at("wit")).unwrap();
        symlink(elsewhere.path(), at("wit")).unwrap();
        let error = upgrade(folder.path(), Language::C).unwrap_err().to_string();
        assert!(error.starts_with("wit/"), "{error}");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_upgrade_changes_what_is_ours_and_nothing_else() {
        for language in [Language::Rust, Language::Js, Language::Python, Language::C] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), "word_count", language).unwrap();
            assert_eq!(upgrade(folder.path(), language).unwrap(), [""; 0]);
            let wit = match language {
                Language::Rust | Language::C => "wit/tool.wit",
                _ => "wit/deps/dunlin-tool/tool.wit",
            };
            let ours = fs::read(folder.path().join(wit)).unwrap();
            fs::write(folder.path().join(wit), "an older one").unwrap();
            for own in ["README.md", "wit/world.wit"] {
                fs::write(folder.path().join(own), "of the author").unwrap();
            }
            let build = folder.path().join("dunlin/build.mjs");
            assert_eq!(build.is_file(), language == Language::Js);
            let is_ours = matches!(language, Language::Rust | Language::C);
            let changed = upgrade(folder.path(), language).unwrap();
            let expected: &[&str] = if is_ours {
                &[wit, "wit/world.wit"]
            } else {
                &[wit]
            };
            assert_eq!(changed, expected);
            assert_eq!(fs::read(folder.path().join(wit)).unwrap(), ours);
            let readme = fs::read(folder.path().join("README.md")).unwrap();
            assert_eq!(readme, b"of the author");
            // Where the contract is apart, the plugin's own world is its author's.
            let world = fs::read(folder.path().join("wit/world.wit")).unwrap();
            assert_eq!(world == b"of the author", !is_ours);
        }
    }

    /// The text of comments, whatever marks their lines.
    fn unmarked<'a>(lines: impl Iterator<Item = &'a str>) -> String {
        let words = lines.flat_map(|line| {
            line.trim()
                .trim_start_matches(['/', '*'])
                .split_whitespace()
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// JavaScript has its declarations of each function of the contract, with what the contract says of the function.
    #[test]
    fn the_declarations_are_those_of_the_contract() {
        let declared = include_str!("templates/js/dunlin/contract.d.ts");
        let mut functions = 0;
        for (path, text) in dunlin_plugins::author::TEXTS {
            let Some(file) = path.strip_prefix("wit/") else {
                continue;
            };
            let name = file.trim_end_matches(".wit");
            // The world has no functions, and no plugin has the bridge of MCP, subagents or the page of an app.
            if matches!(name, "world" | "mcp" | "subagent" | "app") {
                continue;
            }
            let start = format!("declare module 'dunlin:tool/{name}@0.1.0' {{");
            let module = declared.split(&start).nth(1).expect(name);
            let module = module.split("\ndeclare module").next().unwrap();
            let comments = unmarked(module.lines());
            let mut about = Vec::new();
            for line in text.lines().map(str::trim) {
                if line.starts_with("///") {
                    about.push(line);
                    continue;
                }
                if line.starts_with('@') {
                    continue;
                }
                let said = unmarked(about.drain(..));
                let Some((function, _)) = line.split_once(": func(") else {
                    continue;
                };
                assert!(comments.contains(&said), "{name}: {function}: {said}");
                let mut words = function.split('-');
                let mut camel = words.next().unwrap().to_owned();
                for word in words {
                    let (first, rest) = word.split_at(1);
                    camel += &first.to_ascii_uppercase();
                    camel += rest;
                }
                assert!(module.contains(&format!("{camel}(")), "{name}: {camel}");
                functions += 1;
            }
        }
        assert!(functions > 50, "{functions}");
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        for language in [Language::Rust, Language::Js, Language::Python, Language::C] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), "word_count", language).unwrap();
            let manifest = crate::plugin::manifest::Manifest::read(folder.path()).unwrap();
            assert_eq!(manifest.language, language);
            let wit = match language {
                Language::Rust | Language::C => "wit",
                _ => "wit/deps/dunlin-tool",
            };
            assert!(folder.path().join(wit).join("tool.wit").is_file());
            let mut todo = vec![folder.path().to_owned()];
            while let Some(path) = todo.pop() {
                if path.is_dir() {
                    todo.extend(
                        fs::read_dir(path)
                            .unwrap()
                            .map(|entry| entry.unwrap().path()),
                    );
                } else if path.components().all(|part| part.as_os_str() != "vendor") {
                    let text = fs::read(&path).unwrap();
                    let text = String::from_utf8_lossy(&text);
                    assert!(!text.contains("{{"), "{}", path.display());
                }
            }
        }
    }

    /// The SDK is given away with the versions that it is tested with here.
    #[test]
    fn the_sdk_depends_on_the_same() {
        let ours = include_str!("../../../Cargo.toml");
        let of = |text: &str, name: &str| {
            let start = format!("{name} = ");
            let line = text.lines().rev().find(|line| line.starts_with(&start));
            line.map(str::to_owned)
        };
        let crates = [
            (
                include_str!("../../../plugins/sdk/Cargo.toml"),
                include_str!("templates/rust/sdk.toml.txt"),
            ),
            (
                include_str!("../../../plugins/sdk/macros/Cargo.toml"),
                include_str!("templates/rust/sdk_macros.toml.txt"),
            ),
            (
                include_str!("../../../plugins/libraries/params/Cargo.toml"),
                include_str!("templates/rust/params.toml.txt"),
            ),
        ];
        for (here, theirs) in crates {
            let here = here.split("[dev-dependencies]").next().unwrap();
            let dependencies = here.split("[dependencies]").nth(1).unwrap();
            let names = dependencies
                .lines()
                .filter_map(|line| line.strip_suffix(".workspace = true"));
            let names: Vec<&str> = names.filter(|name| *name != "workspace").collect();
            assert!(names.len() > 1, "{names:?}");
            for name in names {
                let expected = match name.starts_with("dunlin-") {
                    true => Some(format!("{name} = {{ path = \"../{name}\" }}")),
                    false => of(ours, name),
                };
                assert_eq!(of(theirs, name), expected, "{name}");
            }
        }
    }
}
