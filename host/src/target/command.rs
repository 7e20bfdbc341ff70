//! Names command lines: what is decided about, and the key that an answer is stored under.
//!
//! A grant must never be wider than what the user saw. So a key says how much it covers by its first character, and
//! a person who reads the permission file can tell:
//!
//! | Key | Covers |
//! | --- | --- |
//! | `/usr/bin/wc` | the program, with any arguments |
//! | `$ /usr/bin/cargo test` | these words, with any arguments behind them |
//! | `= /usr/bin/python3 gen.py` | exactly this line |
//! | `mcp /usr/bin/npx -y server .` | starting an MCP server with exactly this command line, outside the sandbox |
//! | `mcp-sandboxed /usr/bin/env A=sha256:… /usr/bin/npx server` | the same in the sandbox, with exactly these variables |
//!
//! The first word is the path of the program as it was called: the folder is free of links, the name is the one
//! that was typed. A link that leads to `rustup` is a different key from `rustup`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use crate::command::{NotStorable, simple_words};
use crate::display::listed;

/// How much of a command line an answer covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CommandKey {
    /// The program at this path, with any arguments.
    Program(PathBuf),
    /// All programs in this folder and below it, with any arguments.
    Below(PathBuf),
    /// The path of the program and its leading words, with any arguments behind them.
    Words(Vec<String>),
    /// Exactly these words, the path of the program first.
    Line(Vec<String>),
    /// Exactly this text, which is more than one simple command. It can be denied, and allowed until the session
    /// ends; an allow is never stored.
    Text(String),
    /// Starting an MCP server outside the sandbox with exactly these words.
    Server(Vec<String>),
    /// Starting an MCP server in the sandbox with exactly these words, which begin with the variables that are set for it.
    /// No command line has such a key: the digest of a variable's value would be its value there.
    SandboxedServer(Vec<String>),
}

/// The text is not a key for a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key:?} is not a command: {problem}")]
pub struct CommandKeyError {
    /// The text.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
}

const WORDS: &str = "$ ";
const LINE: &str = "= ";
const SERVER: &str = "mcp ";
const SANDBOXED_SERVER: &str = "mcp-sandboxed ";
const PREFIXES: [&str; 4] = [WORDS, LINE, SERVER, SANDBOXED_SERVER];

impl CommandKey {
    /// Whether a text begins like a key for a command, as opposed to a path or a URL.
    pub fn is_command(text: &str) -> bool {
        CommandKey::split(text).is_some()
    }

    /// Splits a key into the part that says how much it covers and the command.
    pub(crate) fn split(text: &str) -> Option<(&'static str, &str)> {
        PREFIXES
            .into_iter()
            .find_map(|prefix| Some((prefix, text.strip_prefix(prefix)?)))
    }

    /// Whether a yes under a key that begins like this holds in one folder alone, unless a person wrote it.
    pub(crate) fn is_of_a_folder(prefix: &str) -> bool {
        [LINE, SANDBOXED_SERVER].contains(&prefix)
    }

    /// Makes a key of its first part and words that were read already.
    pub(crate) fn of_words(prefix: &str, words: Vec<String>) -> CommandKey {
        match prefix {
            WORDS => CommandKey::Words(words),
            SERVER => CommandKey::Server(words),
            SANDBOXED_SERVER => CommandKey::SandboxedServer(words),
            _ => CommandKey::Line(words),
        }
    }

    /// The words of the command, the path of its program first; empty for a folder and for a text.
    pub fn words(&self) -> &[String] {
        match self {
            CommandKey::Words(words)
            | CommandKey::Line(words)
            | CommandKey::Server(words)
            | CommandKey::SandboxedServer(words) => words,
            CommandKey::Program(_) | CommandKey::Below(_) | CommandKey::Text(_) => &[],
        }
    }

    /// The path of the program, as it is called.
    pub fn program(&self) -> Option<&Path> {
        match self {
            CommandKey::Program(path) => Some(path),
            key => key.words().first().map(Path::new),
        }
    }

    /// Whether reading the key back from the permission file gives the same key. What a key cannot express is not
    /// stored.
    pub(crate) fn is_storable(&self) -> bool {
        match self {
            CommandKey::Program(path) => path.to_str().is_some(),
            CommandKey::Below(_) => true,
            key => key.to_string().parse().as_ref() == Ok(key),
        }
    }

    /// The name of the program and the words behind it: `cargo test`. Not escaped.
    pub fn short(&self) -> String {
        let name = self.program().and_then(Path::file_name);
        let name = name.map(|name| name.to_string_lossy().into_owned());
        let words = self.words().iter().skip(1).map(|word| quote(word));
        name.into_iter().chain(words).collect::<Vec<_>>().join(" ")
    }

    /// What an answer under this key covers, in words: `cargo test, with any arguments`. Not escaped.
    pub fn describe(&self) -> String {
        match self {
            CommandKey::Program(_) | CommandKey::Words(_) => {
                format!("{}, with any arguments", self.short())
            }
            CommandKey::Below(folder) => format!("all programs in {}", folder.display()),
            CommandKey::Line(_) | CommandKey::Text(_) => "exactly this line".to_owned(),
            CommandKey::Server(_) => {
                "starting this server without a sandbox, with exactly this command line".to_owned()
            }
            CommandKey::SandboxedServer(_) => {
                "starting this server, with exactly this command line and these variables"
                    .to_owned()
            }
        }
    }
}

/// The key as it is stored.
impl fmt::Display for CommandKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self {
            CommandKey::Program(path) => return f.write_str(&crate::resolve::path_to_key(path)),
            CommandKey::Below(folder) => {
                let folder = crate::resolve::path_to_key(folder);
                return write!(f, "{}/", folder.trim_end_matches('/'));
            }
            CommandKey::Text(text) => return write!(f, "{LINE}{text}"),
            CommandKey::Words(_) => WORDS,
            CommandKey::Line(_) => LINE,
            CommandKey::Server(_) => SERVER,
            CommandKey::SandboxedServer(_) => SANDBOXED_SERVER,
        };
        let words: Vec<String> = self.words().iter().map(|word| quote(word)).collect();
        write!(f, "{prefix}{}", words.join(" "))
    }
}

impl FromStr for CommandKey {
    type Err = CommandKeyError;

    fn from_str(text: &str) -> Result<CommandKey, CommandKeyError> {
        let fail = |problem: &str| CommandKeyError {
            key: text.to_owned(),
            problem: problem.to_owned(),
        };
        let (prefix, rest) = CommandKey::split(text)
            .ok_or_else(|| fail("it begins with none of $, =, mcp and mcp-sandboxed"))?;
        match simple_words(rest) {
            Ok(words) if words[0].starts_with('/') => Ok(CommandKey::of_words(prefix, words)),
            // A compound line may begin with anything.
            Err(_) if prefix == LINE && !rest.trim().is_empty() => {
                Ok(CommandKey::Text(rest.to_owned()))
            }
            Ok(_) => Err(fail("its program needs an absolute path")),
            Err(why) => Err(fail(&format!("it is not one simple command ({why})"))),
        }
    }
}

/// A word as `simple_words` reads it back.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:=+@%^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else if !word.contains('\'') {
        format!("'{word}'")
    } else {
        let mut quoted = String::from("\"");
        for c in word.chars() {
            if "\"\\$`".contains(c) {
                quoted.push('\\');
            }
            quoted.push(c);
        }
        quoted.push('"');
        quoted
    }
}

/// A program of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramFile {
    /// Its path as it is called: a folder without links and the name that was typed.
    pub called: PathBuf,
    /// The file that the path leads to.
    pub real: PathBuf,
}

/// A command line as a target.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandTarget {
    /// What a lasting answer would be stored under.
    pub key: CommandKey,
    /// Whether a lasting yes can be stored under it.
    pub is_storable: bool,
    /// The words of the command that the key is about, its program first; empty for a compound line.
    pub subject: Vec<String>,
    /// The programs that it runs as far as they can be made out, the shell of a compound line included: a deny for one of
    /// them refuses the line.
    pub programs: Vec<ProgramFile>,
    /// Programs whose names stand among its other words: only a deny for one of them counts.
    pub mentioned: Vec<ProgramFile>,
    /// The commands that it may run beside its own, as far as their words are known: only a no to one of them counts.
    pub commands: Vec<Vec<String>>,
    /// Whether more may be run than was made out: then a no to one of its programs may have been missed.
    pub is_incomplete: bool,
    /// Whether the name of a program that it runs is known only when it runs, as in `bash -c '$x'`.
    pub hides_program: bool,
    /// Programs that it may run and whose subcommand was not made out, as in `git -c alias.x=push x`, by all their paths.
    pub unread: Vec<PathBuf>,
    /// Files that commands can change and that it names, its own program included, resolved: a lasting yes holds for
    /// their content.
    pub covers: Vec<PathBuf>,
    /// What each of them held when the line was read, as a digest: a yes is one to this. What could not be read is missing.
    pub contents: BTreeMap<PathBuf, String>,
    /// The digest of the names that it was looked up by, and of what each of them is: a lasting yes ends when one becomes
    /// something else. `None`: no names count.
    pub looked_up: Option<String>,
    /// Whether not all that it runs or reads was made out, so that a yes holds only once.
    pub only_once: bool,
    /// Why a yes to it cannot be stored, or holds only once, where the line itself does not say that.
    pub not_storable: Option<NotStorable>,
    /// Whether the command may find something else than Dunlin under one of its names: then no yes that was given before
    /// covers it.
    pub is_unclear: bool,
    /// The commands of a compound line that does no more than run them, if something is known of each: a yes to each of
    /// them covers the line, and a permanent yes to the line is one to each of them. Empty: the line counts as a whole.
    pub parts: Vec<Arc<CommandTarget>>,
    /// The folder in which it runs, if a lasting yes is to exactly this line: what the line does depends on the folder, so
    /// the yes holds there alone.
    pub folder: Option<PathBuf>,
}

impl CommandTarget {
    /// What a lasting yes to each of these commands of a line covers, in words. Not escaped.
    pub fn describe_all(commands: &[&CommandTarget]) -> String {
        match commands {
            [only] => only.describe(),
            several => {
                let names: Vec<String> = several.iter().map(|it| it.key.short()).collect();
                format!("{}, each with harmless arguments", listed(&names))
            }
        }
    }

    /// What a lasting yes covers, in words: `cargo test, with harmless arguments`. Not escaped.
    pub fn describe(&self) -> String {
        if !self.parts.is_empty() {
            let mut parts: Vec<&CommandTarget> = Vec::new();
            for part in &self.parts {
                if !parts.iter().any(|it| it.key == part.key) {
                    parts.push(part);
                }
            }
            return CommandTarget::describe_all(&parts);
        }
        let names = distinct_ends(&self.covers);
        // A yes that is given to what was shown covers less than a key that a person wrote.
        let covers = match self.key {
            CommandKey::Program(_) | CommandKey::Words(_) => {
                format!("{}, with harmless arguments", self.key.short())
            }
            _ => self.key.describe(),
        };
        match names.as_slice() {
            // Whatever the program reads may change.
            [] if matches!(self.key, CommandKey::Line(_)) => {
                format!("{covers}, even if files that it reads change")
            }
            [] => covers,
            [name] => format!("{covers}, as long as {name} is unchanged"),
            names => format!(
                "{covers}, as long as these files are unchanged: {}",
                names.join(", ")
            ),
        }
    }
}

/// The shortest end of each path that no other path has: `gen.py`, or `a/gen.py` and `b/gen.py`.
fn distinct_ends(paths: &[PathBuf]) -> Vec<String> {
    let end = |path: &Path| {
        let parts: Vec<_> = path.components().collect();
        let mut ends = (1..=parts.len()).map(|count| {
            let end = parts.iter().skip(parts.len() - count);
            end.collect::<PathBuf>()
        });
        let is_only = |end: &PathBuf| paths.iter().filter(|it| it.ends_with(end)).count() == 1;
        let end = ends.find(is_only);
        end.unwrap_or_else(|| path.to_owned()).display().to_string()
    };
    paths.iter().map(|path| end(path)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn bound_files_are_named_so_that_they_can_be_told_apart() {
        let ends = |paths: &[&str]| {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            distinct_ends(&paths).join(" ")
        };
        assert_eq!(ends(&["/p/gen.py", "/p/a.sh"]), "gen.py a.sh");
        assert_eq!(ends(&["/p/gen", "/p/tools/gen"]), "p/gen tools/gen");
        assert_eq!(ends(&["/gen", "/p/gen"]), "/gen p/gen");
    }

    #[test]
    fn keys_say_how_much_they_cover() {
        for (text, key, covers) in [
            (
                "$ /usr/bin/cargo test",
                CommandKey::Words(words(&["/usr/bin/cargo", "test"])),
                "cargo test, with any arguments",
            ),
            (
                "= /usr/bin/python3 'a b.py' \"it's\"",
                CommandKey::Line(words(&["/usr/bin/python3", "a b.py", "it's"])),
                "exactly this line",
            ),
            (
                "= cargo build | sort",
                CommandKey::Text("cargo build | sort".to_owned()),
                "exactly this line",
            ),
            (
                "mcp /usr/bin/npx -y server .",
                CommandKey::Server(words(&["/usr/bin/npx", "-y", "server", "."])),
                "starting this server without a sandbox, with exactly this command line",
            ),
            (
                "mcp-sandboxed /usr/bin/env A=sha256:0 /usr/bin/npx server",
                CommandKey::SandboxedServer(words(&[
                    "/usr/bin/env",
                    "A=sha256:0",
                    "/usr/bin/npx",
                    "server",
                ])),
                "starting this server, with exactly this command line and these variables",
            ),
        ] {
            assert_eq!(text.parse(), Ok(key.clone()), "{text}");
            assert_eq!(key.to_string(), text);
            assert_eq!(key.describe(), covers);
            assert!(key.is_storable());
        }
        for wrong in [
            "/usr/bin/cargo",
            "$ cargo test",
            "$ /a | b",
            "$ ",
            "= ",
            "mcp npx",
            "mcp ",
            "mcp-sandboxed npx",
        ] {
            assert!(wrong.parse::<CommandKey>().is_err(), "{wrong:?}");
        }
    }

    proptest! {
        /// A key that is stored means the same when it is read again.
        #[test]
        fn what_is_stored_is_read_back(words in prop::collection::vec("\\PC{0,8}", 0..4)) {
            let mut all = vec!["/usr/bin/probe".to_owned()];
            all.extend(words);
            for key in [
                CommandKey::Words(all.clone()),
                CommandKey::Line(all.clone()),
                CommandKey::Server(all.clone()),
                CommandKey::SandboxedServer(all.clone()),
            ] {
                if key.is_storable() {
                    prop_assert_eq!(key.to_string().parse::<CommandKey>(), Ok(key));
                }
            }
        }
    }
}
