//! Holds the reading of simple commands, and of chains of them, against what shells really do.
//!
//! A line that is read is run by `sh` and by `bash`, in an empty environment and a folder with a few files, with a search path
//! in which every name there is stands for the same probe. The probe writes down the words it was started with, its folder
//! and some variables, and succeeds. Each command has to have run, with exactly the words that were read, but those behind
//! `||`.
//!
//! Shared by a test, which takes a fixed number of seeded lines, and by the bench `fuzz_commands`, which goes on for
//! as long as it is told; each brings what reads a line into scope. Lines worth keeping go to `KEPT`.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

#[path = "fuzz/lines.rs"]
pub mod lines;

use self::lines::{KEPT, NAMES, any_line, chain, command};
use super::{SimpleCommand, chained_commands, simple_words};

/// Files in the folder, and in a folder in it.
const FILES: &[&str] = &["-f", ".h", "9a", "Z0", "a", "a.b"];

/// A folder in the folder.
const FOLDER: &str = "sub";

/// Variables that the probe writes down.
const VARIABLES: &[&str] = &["CI", "LC_ALL", "RUST_LOG"];

/// How many lines were tried.
#[derive(Debug, Default)]
pub struct Tried {
    /// All of them.
    pub lines: u64,
    /// Those of one command.
    pub simple: u64,
    /// Those of several.
    pub chains: u64,
}

/// The commands of a line; `None` when it is more than almost simple commands.
fn read(line: &str) -> Option<Vec<SimpleCommand>> {
    let commands = chained_commands(line)?;
    if let (Ok(words), [command]) = (simple_words(line), commands.as_slice()) {
        assert_eq!(words, command.words, "{line:?}");
    }
    Some(commands)
}

/// A folder with the probe, and the shells to try.
pub struct Range {
    folder: tempfile::TempDir,
    shells: Vec<&'static Path>,
}

impl Range {
    /// Sets it up. Only those shells are tried that there are.
    pub fn new() -> io::Result<Range> {
        let folder = tempfile::tempdir()?;
        let names = folder.path().join("names");
        fs::create_dir_all(&names)?;
        let files = folder.path().join("files");
        for place in [&files, &files.join(FOLDER)] {
            fs::create_dir_all(place)?;
            for name in FILES {
                fs::write(place.join(name), "file")?;
            }
        }
        let probe = names.join("probe");
        let log = folder.path().join("log");
        let variables: Vec<String> = VARIABLES
            .iter()
            .map(|name| format!("\"${{{name}-}}\""))
            .collect();
        // Each word ends with a NUL, each start with a newline: neither can be in a word. Written at once, since those of a
        // pipe run side by side.
        let script = format!(
            "#!/bin/sh\nprintf '%s\\0' \"${{0##*/}}\" \"$@\" \"${{PWD##*/}}\" {} '\n' >>'{}'\n",
            variables.join(" "),
            log.display()
        );
        fs::write(&probe, script)?;
        fs::set_permissions(&probe, fs::Permissions::from_mode(0o755))?;
        for name in NAMES
            .iter()
            .filter(|name| !matches!(**name, "probe" | "." | "time"))
        {
            symlink("probe", names.join(name))?;
        }
        // As the program of this name does.
        let time = names.join("time");
        fs::write(&time, "#!/bin/sh\n[ \"$1\" != -p ] || shift\nexec \"$@\"\n")?;
        fs::set_permissions(&time, fs::Permissions::from_mode(0o755))?;
        let shells = ["/bin/sh", "/bin/dash", "/bin/bash", "/bin/busybox"];
        let shells = shells
            .map(Path::new)
            .into_iter()
            .filter(|shell| shell.exists());
        Ok(Range {
            folder,
            shells: shells.collect(),
        })
    }

    /// How many shells run each line.
    pub fn shells(&self) -> usize {
        self.shells.len()
    }

    /// Runs this many lines of each kind as far as they can be read, and those that were kept.
    ///
    /// # Errors
    /// The smallest line that a shell understands in another way.
    pub fn try_lines(&self, seed: [u8; 32], cases: u32, tried: &mut Tried) -> Result<(), String> {
        for line in KEPT {
            self.check(line).map_err(|e| format!("{line:?}: {e}"))?;
        }
        let kinds = [command().boxed(), any_line().boxed(), chain().boxed()];
        let tried = RefCell::new(tried);
        for kind in kinds {
            let config = Config {
                cases,
                failure_persistence: None,
                ..Config::default()
            };
            let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
            // One that has had its cases runs none any more.
            let mut runner = TestRunner::new_with_rng(config, rng);
            let check = |line: String| {
                let commands = self.check(&line)?;
                let mut tried = tried.borrow_mut();
                tried.lines += 1;
                tried.simple += u64::from(commands == 1);
                tried.chains += u64::from(commands > 1);
                Ok(())
            };
            runner.run(&kind, check).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Runs a line if it can be read. Returns of how many commands it is.
    fn check(&self, line: &str) -> Result<usize, TestCaseError> {
        let Some(commands) = read(line) else {
            return Ok(0);
        };
        // Only what leads to the probe is run: never a program of this machine.
        let is_probe = |command: &SimpleCommand| {
            NAMES.contains(&command.words[0].as_str()) && !command.is_of_shell
        };
        let Some((start, commands)) = folder(&commands) else {
            return Ok(0);
        };
        let prints = |command: &SimpleCommand| {
            command.is_of_shell && matches!(command.words[0].as_str(), "echo" | "true")
        };
        if !commands.iter().all(|it| is_probe(it) || prints(it)) {
            return Ok(0);
        }
        // In quotes it is none, and then it cannot be told which is which.
        let is_quoted = line.contains('\'') || line.contains('\\');
        if is_quoted && commands.iter().any(|command| command.shows_status) {
            return Ok(0);
        }
        let count = commands.len();
        let mut expected = Vec::new();
        let mut is_skipped = false;
        for command in commands {
            // All have succeeded. What is skipped is skipped to the end of its pipe.
            is_skipped = command.separator == "||" || command.separator == "|" && is_skipped;
            if !is_skipped && is_probe(command) {
                let ran = ran(command, start);
                expected.push(ran.into_iter().map(|word| word + "\0").collect::<String>());
            }
        }
        // Those of a pipe are in no order.
        expected.sort();
        for shell in &self.shells {
            let ran = self
                .run(shell, line)
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            let ran = String::from_utf8_lossy(&ran);
            let mut ran: Vec<&str> = ran.split_terminator("\n\0").collect();
            ran.sort_unstable();
            prop_assert_eq!(
                &ran,
                &expected,
                "{} ran something else for {:?}",
                shell.display(),
                line
            );
        }
        Ok(count)
    }

    fn run(&self, shell: &Path, line: &str) -> io::Result<Vec<u8>> {
        let log = self.log();
        fs::write(&log, "")?;
        let mut command = std::process::Command::new(shell);
        if shell.ends_with("busybox") {
            command.arg("sh");
        }
        command
            .args(["-c", line])
            .env_clear()
            .env("PATH", self.folder.path().join("names"))
            .current_dir(self.folder.path().join("files"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        let mut ran = fs::read(&log)?;
        let files = self.folder.path().join("files");
        for (place, most) in [(files.join(FOLDER), FILES.len()), (files, FILES.len() + 1)] {
            let is_same = |name: &&str| fs::read(place.join(name)).is_ok_and(|it| it == b"file");
            if fs::read_dir(&place)?.count() != most || !FILES.iter().all(is_same) {
                ran.extend(b"and changed a file");
            }
        }
        Ok(ran)
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

/// The folder in which the commands of a line run, and those behind the `cd` into it; `None`: it is another line.
fn folder(commands: &[SimpleCommand]) -> Option<(&'static str, &[SimpleCommand])> {
    let [first, rest @ ..] = commands else {
        return None;
    };
    if !first.is_of_shell || first.words[0] != "cd" {
        return Some(("files", commands));
    }
    let is_plain = first.patterns.is_empty() && !first.shows_status;
    let is_folder = is_plain && ["sub", "./sub"].contains(&first.words.get(1)?.as_str());
    let is_all = first.words.len() == 2 && rest.first()?.separator == "&&";
    (is_folder && is_all).then_some((FOLDER, rest))
}

/// What the probe writes down for a command.
fn ran(command: &SimpleCommand, folder: &str) -> Vec<String> {
    let mut ran = Vec::new();
    for (at, word) in command.words.iter().enumerate() {
        match command.patterns.contains(&at) {
            true => ran.extend(expanded(word, folder)),
            false if command.shows_status => ran.push(word.replace("$?", "0")),
            false => ran.push(word.clone()),
        }
    }
    ran.push(folder.to_owned());
    ran.extend(VARIABLES.iter().map(|name| {
        let set = command.variables.iter().rev();
        let mut set = set.filter(|(set, _)| set == name);
        set.next()
            .map(|(_, value)| value.clone())
            .unwrap_or_default()
    }));
    ran
}

/// What a shell puts in the place of a pattern.
fn expanded(pattern: &str, folder: &str) -> Vec<String> {
    let all = FILES.iter().map(|name| (*name).to_owned());
    let mut all: Vec<String> = match folder == FOLDER {
        true => all.collect(),
        false => {
            let below = FILES.iter().map(|name| format!("{FOLDER}/{name}"));
            all.chain([FOLDER.to_owned()]).chain(below).collect()
        }
    };
    let (start, pattern) = match pattern.strip_prefix("./") {
        Some(rest) => ("./", rest),
        None => ("", pattern),
    };
    all.retain(|path| matches_pattern(pattern.as_bytes(), path, true));
    all.sort();
    match all.is_empty() {
        true => vec![format!("{start}{pattern}")],
        false => all
            .into_iter()
            .map(|path| format!("{start}{path}"))
            .collect(),
    }
}

/// `is_start`: a name begins here, and a hidden one matches no pattern.
fn matches_pattern(pattern: &[u8], path: &str, is_start: bool) -> bool {
    let next = path.as_bytes().first();
    match (pattern.split_first(), next) {
        (None, next) => next.is_none(),
        (Some((b'*' | b'?', _)), Some(b'.')) if is_start => false,
        (Some((b'*', rest)), next) => {
            matches_pattern(rest, path, false)
                || next.is_some_and(|c| *c != b'/' && matches_pattern(pattern, tail(path), false))
        }
        (Some((b'?', rest)), Some(c)) => *c != b'/' && matches_pattern(rest, tail(path), false),
        (Some((c, rest)), Some(next)) => {
            // An ASCII character, and others do not stand in patterns.
            c == next && matches_pattern(rest, tail(path), *c == b'/')
        }
        (Some(_), None) => false,
    }
}

/// What is behind the first character.
fn tail(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next();
    characters.as_str()
}
