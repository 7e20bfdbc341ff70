//! `plugin.toml`: what has to be known of the folder of a plugin to build and try it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use dunlin_guest_build::Way;
use dunlin_host::declared_permissions::DeclaredPermissions;
use dunlin_host::metadata::Metadata;
use dunlin_host::nearest::misspelt;
use serde::Deserialize;

use super::installed::is_name;
use super::played_web::PlayedWeb;
use super::read_regular;

/// The name of the file.
pub const FILE: &str = "plugin.toml";

/// Bytes of it that are read.
const MAX_BYTES: u64 = 1024 * 1024;

/// The languages that a plugin can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Rust, with Dunlin's SDK
    Rust,
    /// JavaScript, with componentize-js
    Js,
    /// Python, with componentize-py
    Python,
    /// C, with clang
    C,
}

impl Language {
    /// The word for it in the file.
    pub fn word(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::Js => "js",
            Language::Python => "python",
            Language::C => "c",
        }
    }
}

/// What Rust is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Target {
    /// Imports what the plugin uses, and nothing else. `std::fs` and the like do not work.
    #[serde(rename = "wasm32-unknown-unknown")]
    Bare,
    /// Imports WASI as well: `std::fs`, `std::time` and `println!` work.
    #[serde(rename = "wasm32-wasip2")]
    Wasi,
}

impl Target {
    /// The compilers that can do it, the best first.
    pub fn ways(self) -> Vec<Way> {
        match self {
            Target::Bare => vec![Way::Installed, Way::BuildStd],
            Target::Wasi => vec![Way::Wasi],
        }
    }
}

/// What the file says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What the plugin is called.
    pub name: String,
    /// What it is written in.
    pub language: Language,
    /// What it is compiled for, if it is Rust and that matters; without it, whatever the toolchain has.
    pub target: Option<Target>,
    /// Its version and what else it says of itself, where the manifest of the language does not.
    version: Option<String>,
    description: Option<String>,
    #[serde(default)]
    authors: Vec<String>,
    license: Option<String>,
    homepage: Option<String>,
    repository: Option<String>,
    /// What it may ever ask for; without it, whatever its imports reach.
    #[serde(rename = "may")]
    pub declared_permissions: Option<BTreeMap<String, String>>,
    /// Tests.
    #[serde(default)]
    pub test: Vec<Trial>,
}

/// A test: one call, or several one after the other in the same project.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// What it is called; the tool if that is left out.
    name: Option<String>,
    tool: Option<String>,
    #[serde(default)]
    arguments: toml::Table,
    expect: Option<String>,
    fails: Option<String>,
    #[serde(default)]
    calls: Vec<TrialCall>,
    /// Files of the project that it is called in.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// What is allowed beyond the project, as in the permission file.
    #[serde(default)]
    pub allow: BTreeMap<String, String>,
    /// What servers answer, each under an address or, for another method than GET, `POST https://example.com/notes`. They may
    /// be used, and with them nothing leaves the machine.
    #[serde(default)]
    pub web: BTreeMap<String, WebAnswer>,
    /// What the user has set for the plugin.
    #[serde(default)]
    pub settings: toml::Table,
    /// What the user answers when the plugin asks for a text, in order.
    #[serde(default)]
    pub answers: Vec<String>,
    /// Files that are there after the calls, with what they hold.
    #[serde(default)]
    pub after: BTreeMap<String, String>,
    /// A text that is in what the plugin has logged and printed.
    pub logs: Option<String>,
}

/// What a server answers in a test.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebAnswer {
    /// The status; 200 if that is left out.
    pub status: Option<u16>,
    /// Headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(default)]
    pub body: String,
    /// A text that the body of the request has to contain.
    pub sent: Option<String>,
}

/// A call of a test.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialCall {
    /// Of which tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: toml::Table,
    expect: Option<String>,
    fails: Option<String>,
}

/// What a call has to come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected<'a> {
    /// A result that contains this.
    Result(&'a str),
    /// A failure whose message contains this.
    Failure(&'a str),
}

impl Trial {
    /// What it is called.
    pub fn name(&self) -> &str {
        let first = self.calls.first().map(|call| call.tool.as_str());
        self.name.as_deref().or(first).unwrap_or_default()
    }

    /// Its calls, one after the other. At least one.
    pub fn calls(&self) -> &[TrialCall] {
        &self.calls
    }

    /// Makes the call that stands in the test itself one of `calls`, and checks the rest.
    fn check(&mut self) -> Result<(), String> {
        if let Some(tool) = self.tool.take() {
            if !self.calls.is_empty() {
                return Err("a test has a tool or calls, not both".to_owned());
            }
            self.calls.push(TrialCall {
                tool,
                arguments: std::mem::take(&mut self.arguments),
                expect: self.expect.take(),
                fails: self.fails.take(),
            });
        } else if self.expect.is_some() || self.fails.is_some() || !self.arguments.is_empty() {
            return Err("arguments, expect and fails of a test need a tool".to_owned());
        }
        if self.calls.is_empty() {
            return Err("a test needs a tool, or calls".to_owned());
        }
        for call in &self.calls {
            let problem = match (&call.expect, &call.fails) {
                (None, None) => "has to say what it gives (expect) or how it fails (fails)",
                (Some(_), Some(_)) => "either gives something (expect) or fails (fails), not both",
                _ => continue,
            };
            return Err(format!("a call of {} {problem}", call.tool));
        }
        PlayedWeb::of(&self.web).map_err(|error| error.to_string())?;
        for name in self.files.keys().chain(self.after.keys()) {
            let mut parts = Path::new(name).components();
            let is_inside = parts.all(|part| matches!(part, Component::Normal(_)));
            if !is_inside || name.is_empty() {
                return Err(format!(
                    "a file of a test cannot be {name:?}: it takes a path within the project, such as \"notes/a.txt\""
                ));
            }
        }
        Ok(())
    }
}

impl TrialCall {
    /// What it has to come to.
    pub fn expected(&self) -> Expected<'_> {
        match (&self.expect, &self.fails) {
            (_, Some(text)) => Expected::Failure(text),
            (text, None) => Expected::Result(text.as_deref().unwrap_or_default()),
        }
    }
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// There is none.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It says something else.
    #[error("{} cannot be used: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Line and problem.
        problem: String,
    },
}

impl Manifest {
    /// Reads the file of a folder.
    ///
    /// # Errors
    /// There is none, or it makes no sense.
    pub fn read(folder: &Path) -> Result<Manifest, ManifestError> {
        let path = folder.join(FILE);
        let text = read_regular(&path, MAX_BYTES)
            .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
            .map_err(|source| ManifestError::Read {
                path: path.clone(),
                source,
            })?;
        Manifest::parse(&text).map_err(|problem| ManifestError::Invalid { path, problem })
    }

    /// What it says of the plugin for people.
    pub fn metadata(&self) -> Metadata {
        Metadata {
            version: self.version.clone(),
            description: self.description.clone(),
            authors: (!self.authors.is_empty()).then(|| self.authors.join(", ")),
            licenses: self.license.clone(),
            homepage: self.homepage.clone(),
            source: self.repository.clone(),
        }
    }

    fn parse(text: &str) -> Result<Manifest, String> {
        let mut manifest: Manifest = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text[..at].matches('\n').count() + 1;
            if text[at..].starts_with("[test]") {
                return format!("line {line}: [test] has to be [[test]], for there may be several");
            }
            format!("line {line}: {}", in_words(&text[..at], error.message()))
        })?;
        if manifest.target.is_some() && manifest.language != Language::Rust {
            return Err(format!(
                "target is for Rust; {} has one only",
                manifest.language.word()
            ));
        }
        // Before anything is built, which may take half a minute.
        if let Some(declared_permissions) = &manifest.declared_permissions {
            DeclaredPermissions::new(declared_permissions.clone())
                .map_err(|error| format!("in [may], {error}"))?;
        }
        manifest.test.iter_mut().try_for_each(Trial::check)?;
        if !is_name(&manifest.name) {
            return Err(format!(
                "a plugin cannot be called {:?}: it takes 1 to 64 of a-z A-Z 0-9 _ -",
                manifest.name
            ));
        }
        Ok(manifest)
    }
}

/// What is wrong in the words of TOML, where the reader says it in those of Rust. `before`: the text up to the place.
fn in_words(before: &str, message: &str) -> String {
    if let Some((found, expected)) = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.rsplit_once(", expected "))
    {
        let line = before.rsplit('\n').next().unwrap_or_default();
        let key = line.rsplit_once('=').map(|(key, _)| key.trim_end());
        let key = key.and_then(|key| key.rsplit(['{', ',', '[']).next());
        let key = key.map_or_else(|| "this".to_owned(), |key| key.trim().to_owned());
        return format!("{key} takes {}, not {}", taken(expected), given(found));
    }
    if let Some((key, known)) = unknown_key(message) {
        let names = keys(known);
        let near = misspelt(key, names).map(|near| format!("did you mean {near}?"));
        let of_test = is_key_of_test(key).then(|| format!("{key} is a key of a [[test]]"));
        let known = known.replace('`', "");
        let more = near
            .or(of_test)
            .unwrap_or_else(|| format!("there are {known}"));
        return format!("there is no key {key} here; {more}");
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("the key {} is missing", key.trim_matches('`'));
    }
    if let Some((word, known)) = message
        .strip_prefix("unknown variant ")
        .and_then(|rest| rest.split_once(", expected "))
    {
        let known = known.trim_start_matches("one of ").replace('`', "\"");
        return format!("{} is unknown; there are {known}", word.replace('`', "\""));
    }
    message.to_owned()
}

/// The key that a message calls unknown, and those that it says there are.
fn unknown_key(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("unknown field `")?;
    rest.split_once("`, expected one of ")
}

fn keys(known: &str) -> impl Iterator<Item = &str> {
    known.split(", ").map(|name| name.trim_matches('`'))
}

/// Whether a test has this key, for who writes it elsewhere. The reader itself says which a test has.
fn is_key_of_test(key: &str) -> bool {
    let Err(error) = toml::from_str::<Trial>("\"\" = 0") else {
        return false;
    };
    // A plugin has a name of its own.
    let known = unknown_key(error.message()).map(|(_, known)| known);
    known.is_some_and(|known| keys(known).any(|known| known == key && key != "name"))
}

/// What a key takes, with how it is written.
fn taken(expected: &str) -> String {
    match expected {
        "a map" => "a table, such as { \"name\" = … }".to_owned(),
        "a sequence" => "a list, [ … ] or several [[ ]]".to_owned(),
        "a string" => "text, in quotes".to_owned(),
        "u16" => "a number from 0 to 65535".to_owned(),
        other if other.starts_with("struct ") => "a table, { … }".to_owned(),
        other => other.to_owned(),
    }
}

/// What stands there.
fn given(found: &str) -> String {
    for (rust, toml) in [
        ("string ", "the text "),
        ("integer ", "the number "),
        ("floating point ", "the number "),
        ("boolean ", ""),
    ] {
        if let Some(value) = found.strip_prefix(rust) {
            return format!("{toml}{}", value.trim_matches('`'));
        }
    }
    match found {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_its_place_holds_nothing_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        for leads_to in ["/dev/zero", "/dev/null", "/proc/self/environ/none"] {
            std::os::unix::fs::symlink(leads_to, &path).unwrap();
            let error = Manifest::read(folder.path()).unwrap_err();
            assert!(matches!(error, ManifestError::Read { .. }), "{error:?}");
            std::fs::remove_file(&path).unwrap();
        }
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(Manifest::read(folder.path()).is_err());
    }

    #[test]
    fn the_words_are_those_of_toml() {
        let start = "name = \"a\"\nlanguage = \"c\"\n";
        let test = "[[test]]\ntool = \"a\"\nexpect = \"b\"\n";
        for (text, expected) in [
            (
                "[test]\ntool = \"a\"\n",
                "line 3: [test] has to be [[test]], for there may be several",
            ),
            (
                "authors = \"me\"",
                "line 3: authors takes a list, [ … ] or several [[ ]], not the text \"me\"",
            ),
            (
                "version = 1",
                "line 3: version takes text, in quotes, not the number 1",
            ),
            (
                "[may]\n\"./\" = true",
                "line 4: \"./\" takes text, in quotes, not true",
            ),
            (
                &format!("{test}web = \"hello\""),
                "line 6: web takes a table, such as { \"name\" = … }, not the text \"hello\"",
            ),
            (
                &format!("{test}web = {{ \"https://a.example/\" = \"hello\" }}"),
                "line 6: \"https://a.example/\" takes a table, { … }, not the text \"hello\"",
            ),
            (
                &format!("{test}files = [\"a\"]"),
                "line 6: files takes a table, such as { \"name\" = … }, not a list",
            ),
            (
                "web = \"hello\"",
                "line 3: there is no key web here; web is a key of a [[test]]",
            ),
            (
                "autors = []",
                "line 3: there is no key autors here; did you mean authors?",
            ),
            (
                "[may]\n\"http//x\" = \"r--\"",
                "in [may], \"http//x\" is not an address as it is written; the address is \"https://x\"",
            ),
            (
                "[may]\nweb = \"hello\"",
                "in [may], \"web\" has \"hello\": it takes r or -, then w or -, then x or -, such as \"r--\" for reading",
            ),
        ] {
            let problem = Manifest::parse(&format!("{start}{text}\n")).unwrap_err();
            assert_eq!(problem, expected);
        }
        let problem = Manifest::parse("name = \"a\"\n").unwrap_err();
        assert_eq!(problem, "line 1: the key language is missing");
        let problem = Manifest::parse("name = \"a\"\nlanguage = \"cobol\"").unwrap_err();
        assert_eq!(
            problem,
            "line 2: \"cobol\" is unknown; there are \"rust\", \"js\", \"python\", \"c\""
        );
    }

    #[test]
    fn what_makes_no_sense_is_said_with_its_line() {
        let text = "name = \"a\"\nlanguage = \"rust\"\n[may]\n\"./\" = \"r--\"\n[[test]]\ntool = \"a\"\nexpect = \"b\"\n";
        let manifest = Manifest::parse(text).unwrap();
        assert_eq!(
            (manifest.test.len(), manifest.language),
            (1, Language::Rust)
        );
        for (text, said) in [
            ("name = \"a\"\nlanguage = \"cobol\"\n", "line 2"),
            ("name = \"a b\"\nlanguage = \"js\"\n", "cannot be called"),
            ("name = \"a\"\nlanguage = \"js\"\nmore = 1\n", "line 3"),
            (
                "name = \"a\"\nlanguage = \"js\"\ntarget = \"wasm32-wasip2\"\n",
                "target is for Rust",
            ),
            (
                "name = \"a\"\nlanguage = \"c\"\n[[test]]\ntool = \"a\"\nexpect = \"b\"\nfiles = { \"/tmp/x\" = \"\" }\n",
                "a file of a test cannot be \"/tmp/x\"",
            ),
            (
                "name = \"a\"\nlanguage = \"c\"\n[[test]]\ntool = \"a\"\nexpect = \"b\"\nfiles = { \"a/../../x\" = \"\" }\n",
                "a file of a test cannot be",
            ),
            (
                "name = \"a\"\nlanguage = \"c\"\n[[test]]\ntool = \"a\"\nexpect = \"b\"\nweb = { \"example.com\" = {} }\n",
                "is not an address",
            ),
            (
                "name = \"a\"\nlanguage = \"c\"\n[[test]]\ntool = \"a\"\nexpect = \"b\"\nweb = { \"post https://a.example\" = {} }\n",
                "write the method as POST",
            ),
            (
                "name = \"a\"\nlanguage = \"c\"\n[[test]]\ntool = \"a\"\nexpect = \"b\"\nweb = { \"https://a.example\" = { status = 9 } }\n",
                "the answer of \"https://a.example\"",
            ),
            (
                "name = \"a\"\nlanguage = \"c\"\n[[test]]\ntool = \"a\"\n",
                "a call of a has to say what it gives (expect) or how it fails (fails)",
            ),
            (
                "name = \"a\"\nlanguage = \"c\"\n[[test]]\nexpect = \"a\"\n",
                "need a tool",
            ),
            (
                "name = \"a\"\nlanguage = \"c\"\n[[test]]\nname = \"a\"\n",
                "a test needs a tool, or calls",
            ),
            (
                "name = \"a\"\nlanguage = \"rust\"\ntarget = \"x86\"\n",
                "line 3",
            ),
        ] {
            let problem = Manifest::parse(text).unwrap_err();
            assert!(problem.contains(said), "{problem}");
        }
    }

    #[test]
    fn the_keys_of_a_test_are_known() {
        for key in ["tool", "arguments", "calls", "web", "logs"] {
            assert!(is_key_of_test(key), "{key}");
        }
        for key in ["name", "language", "", "autors"] {
            assert!(!is_key_of_test(key), "{key}");
        }
    }
}
