//! Holds the reading of simple commands, and of chains of them, against what shells really do.
//!
//! A line that is read is run by `sh` and by `bash`, in an empty environment and a folder with a few files, with a search path
//! in which every name there is stands for the same probe. The probe writes down the words it was started with, its folder
//! and some variables, and succeeds. Each command has to have run, with exactly the words that were read, but those behind
//! `||`.
//!
//! Shared by a test, which takes a fixed number of seeded lines, and by the bench `fuzz_commands`, which goes on for
//! as long as it is told. Lines worth keeping go to [`KEPT`].

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// A command as it is read.
pub struct Command {
    /// What stands before it.
    pub separator: &'static str,
    /// Set for it.
    pub variables: Vec<(String, String)>,
    /// Its name first.
    pub words: Vec<String>,
    /// The places of those words that are patterns.
    pub patterns: Vec<usize>,
    /// Whether `$?` in its words is a number.
    pub shows_status: bool,
    /// Whether the shell carries it out.
    pub is_of_shell: bool,
}

/// Reads a line into its commands; `None` when it is more than almost simple commands.
pub type Read = fn(&str) -> Option<Vec<Command>>;

/// Files in the folder, and in a folder in it.
const FILES: &[&str] = &["-f", ".h", "9a", "Z0", "a", "a.b"];

/// A folder in the folder.
const FOLDER: &str = "sub";

/// Variables that the probe writes down.
const VARIABLES: &[&str] = &["CI", "LC_ALL", "RUST_LOG"];

/// What may stand in front of a command.
const FRONTS: &[&str] = &[
    "CI=1 ",
    "CI=1  RUST_LOG=a,b=c ",
    "LC_ALL=C ",
    "RUST_LOG=a:b ",
    "RUST_LOG=a:~ ",
    "CI=$x ",
    "CI=$(p) ",
    "CI='1' ",
    "CI=\"a b\" ",
    "CI=* ",
    "CI= ",
    "CI+=1 ",
    "FOO=1 ",
    "PATH=. ",
    "cd sub && ",
    "cd ./sub && ",
    "cd sub; ",
    "cd .. && ",
    "cd - && ",
    "cd '' && ",
    "cd sub/../sub && ",
    "echo $? && ",
    "echo \"=== $? ===\"; ",
    "echo $?$(p); ",
    "true && ",
];

/// Words that are patterns, or look like some.
const PATTERNS: &[&str] = &[
    "*", "?", "**", "*.b", "a*", "./*", "./?", "sub/*", "sub/a*", "*/a", "-*", "x*", ".*", "../*",
    "/*", "'*'", "*'a'", "\\*", "$?", "a$?", "\"$?\"", "'$?'", "$?*", "$$", "$1", "$#", "[a]", "[",
    "]",
];

/// Names of the probe: usual ones, and some that shells take for their own.
const NAMES: &[&str] = &[
    "probe", "p", "a.b", "x_1", "g++", "a-b", "Z", "0", "7z", "..x", "a+", "cargo", "rm", "if",
    "then", "time", "do", "select", "function", "coproc", "echo", "test", "[", "[[", "true",
    "false", "pwd", "cd", "eval", "exec", "source", ".", ":", "set", "read", "trap", "local",
    "let", "type", "hash", "jobs", "kill", "wait", "fg", "printf", "export", "command", "builtin",
    "alias", "enable", "shopt", "mapfile", "compgen", "umask", "times", "getopts", "chdir", "help",
    "history", "fc", "dirs", "pushd", "popd", "declare", "typeset", "suspend", "logout", "bind",
    "complete", "caller", "disown", "ulimit", "unset", "shift", "return", "break", "continue",
    "exit", "readonly", "newgrp",
];

/// Pieces of lines: what is plain, what looks plain, and everything that means something.
const PIECES: &[&str] = &[
    "a",
    "Z",
    "0",
    "1",
    "2",
    "9",
    "-",
    "--",
    "_",
    ".",
    "/",
    ",",
    ":",
    "=",
    "+",
    "@",
    "%",
    "^",
    "~",
    "a~1",
    "HEAD~2",
    "x=y",
    "a=~",
    "a:~",
    "-f",
    "--flag=value",
    "é",
    "日本",
    "ß",
    "🦀",
    "\u{a0}",
    "\u{200b}",
    "\u{202e}",
    "\u{3000}",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r",
    "\u{7f}",
    "\u{1}",
    "'",
    "''",
    "'a b'",
    "'$x'",
    "'\\'",
    "'|;&'",
    "\"",
    "\"\"",
    "\"a b\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\$x\"",
    "\"\\`\"",
    "\"\\n\"",
    "\"a'b\"",
    "'a\"b'",
    "\"$x\"",
    "\"$(p)\"",
    "\"!\"",
    "\"#\"",
    "\"*\"",
    "\"~\"",
    "\\",
    "\\ ",
    "\\n",
    "$",
    "$x",
    "${x}",
    "$(p)",
    "$((1))",
    "$'a'",
    "$\"a\"",
    "`p`",
    "|",
    "||",
    "&",
    "&&",
    ";",
    ";;",
    "(",
    ")",
    "{",
    "}",
    "{a,b}",
    "{1..3}",
    "*",
    "?",
    "[a]",
    "[",
    "]",
    "!",
    "#",
    "#c",
    "<",
    ">",
    ">>",
    ">&1",
    "2>&1",
    "1>&2",
    ">&2",
    ">&-",
    "2>",
    ">/dev/null",
    "> /dev/null",
    "2>/dev/null",
    "2> /dev/null",
    ">>/dev/null",
    "</dev/null",
    "0</dev/null",
    "< /dev/null",
    "&>/dev/null",
    "3>/dev/null",
    "12>&1",
    ">|/dev/null",
    "<>/dev/null",
    "/dev/null",
    ">f",
    "<<E",
    "<<<a",
    "<(p)",
    ">(p)",
    "%1",
    "p",
];

/// How simple commands may end.
const ENDS: &[&str] = &[
    ">/dev/null",
    "2>/dev/null",
    "2>&1",
    "> /dev/null 2>&1",
    "</dev/null",
    ">&2",
    " ",
];

/// Any pieces, one after the other.
pub fn any_line() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..8).prop_map(|pieces| pieces.concat())
}

/// A command with words of any pieces, as it is mostly simple but for one or two of them.
pub fn command() -> impl Strategy<Value = String> {
    command_of(NAMES, 0.4)
}

/// `disturbed`: how likely something stands in it that does not belong there.
fn command_of(names: &'static [&'static str], disturbed: f64) -> impl Strategy<Value = String> {
    let plain = prop::sample::select(&PIECES[..27]);
    let piece = prop_oneof![
        5 => plain.prop_map(str::to_owned),
        2 => "[ -&(-~]{0,6}".prop_map(|text| format!("'{text}'")),
        2 => "([ -!#%-\\[\\]-_a-~]|\\\\[\"$`\\\\na!]){0,6}".prop_map(|text| format!("\"{text}\"")),
        1 => "\\PC{0,3}".prop_map(|text| format!("'{}'", text.replace('\'', ""))),
    ];
    let word = prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat());
    let pattern = prop::sample::select(PATTERNS).prop_map(str::to_owned);
    let word = prop_oneof![8 => word, 1 => pattern];
    let front = prop::option::weighted(0.15, prop::sample::select(FRONTS));
    let words = prop::collection::vec(word, 0..4);
    let end = prop::collection::vec(prop::sample::select(ENDS), 0..2);
    let disturbance = prop::option::weighted(
        disturbed,
        (prop::sample::select(PIECES), any::<prop::sample::Index>()),
    );
    (front, prop::sample::select(names), words, end, disturbance).prop_map(
        |(front, name, words, end, disturbance)| {
            let mut line = front.unwrap_or_default().to_owned();
            line.push_str(name);
            for part in words.iter().map(String::as_str).chain(end) {
                line.push(' ');
                line.push_str(part);
            }
            if let Some((piece, at)) = disturbance {
                let at = line.floor_char_boundary(at.index(line.len() + 1));
                line.insert_str(at, piece);
            }
            line
        },
    )
}

/// Several commands with something between them that often separates two.
pub fn chain() -> impl Strategy<Value = String> {
    let between = prop::sample::select(
        &[
            "|", " | ", " || ", "||", " && ", "&&", "; ", ";", " ; ", "&", "|&", ";;", " & ", "\n",
        ][..],
    );
    // Most of the other names are the shell's.
    let command = command_of(&NAMES[..13], 0.1);
    prop::collection::vec((command, between), 2..4).prop_map(|all| {
        let mut line: String = all
            .into_iter()
            .flat_map(|(c, b)| [c, b.to_owned()])
            .collect();
        // Mostly it does not end with what was put between.
        let end = line.trim_end_matches(['|', '&', ';', ' ', '\n']).len();
        line.truncate(end);
        line
    })
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
        for name in NAMES.iter().filter(|name| !matches!(**name, "probe" | ".")) {
            symlink("probe", names.join(name))?;
        }
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

    /// Runs a line if it can be read. Returns of how many commands it is.
    pub fn check(&self, line: &str, read: Read) -> Result<usize, TestCaseError> {
        let Some(commands) = read(line) else {
            return Ok(0);
        };
        // Only what leads to the probe is run: never a program of this machine.
        let is_probe =
            |command: &Command| NAMES.contains(&command.words[0].as_str()) && !command.is_of_shell;
        let Some((start, commands)) = folder(&commands) else {
            return Ok(0);
        };
        let prints = |command: &Command| {
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
fn folder(commands: &[Command]) -> Option<(&'static str, &[Command])> {
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
fn ran(command: &Command, folder: &str) -> Vec<String> {
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

/// Lines at the edges of what is read, kept for good.
pub const KEPT: &[&str] = &[
    "probe",
    "  probe  a   b  ",
    "probe 'a b' \"c d\" e'f'\"g\"",
    "probe '' \"\"",
    "probe 'it'\\''s'",
    "probe \"a\\\"b\\\\c\\$d\\`e\\nf\\!\"",
    "probe '\\' \"'\" '\"'",
    "probe '$x `p` $(p) *' \"!#*?~{a,b}\"",
    "probe HEAD~1 HEAD^ a@b stash@0 x=y --f=~ a=b:c",
    "probe HEAD^~2 v1.0~~",
    "probe a=~",
    "probe a:~",
    "probe ''~",
    "probe 2 >/dev/null",
    "probe 2>/dev/null",
    "probe 2>/dev/null 3",
    "probe 2 2>&1",
    "probe a2>&1",
    "probe 12>&1",
    "probe >/dev/null2",
    "probe >/dev/null/",
    "probe >&12",
    "probe >&1 >&2 </dev/null",
    "probe 0</dev/null",
    "probe '2'>/dev/null",
    "probe %1",
    "%1 probe",
    "probe a#b",
    "probe '#'",
    "probe é",
    "probe 'é日🦀'",
    "probe \"é\\\\\"",
    "probe --",
    "probe -",
    "7z a",
    "0 >/dev/null",
    "probe\u{a0}a",
    "\"probe\" a",
    "pro'be' a",
    "if probe",
    "time probe",
    "probe {",
    "probe }",
    "probe !",
    "probe ]",
    "probe a,b {a,b}",
    "probe a|p b",
    "probe a | p b | Z c",
    "probe a && p b || Z c | 7z d && x_1 e; g++ f",
    "probe 'a|b;c&&d' ; p \"||\"",
    "probe 2>&1|p",
    "probe 2>&1 | p",
    "probe >/dev/null;p",
    "probe 2>/dev/null||p",
    "probe |& p",
    "probe || | p",
    "probe ;; p",
    "probe &",
    "probe & p",
    "probe;",
    "probe |",
    "| probe",
    "probe a~|p",
    "probe ~|p",
    "probe|~1",
    "probe;p=1 Z",
    "probe && { p; }",
    "probe | ! p",
    "probe; if p",
    "probe 2|p",
    "A=\"./x\" probe",
    "A='b/c' probe | p",
    "probe a;2>/dev/null p",
    "CI=1 probe a",
    "CI=1 CI=2 LC_ALL=C probe | RUST_LOG=a p",
    "CI=1; probe",
    "CI=1 >/dev/null probe",
    "CI='1' probe",
    "CI=1 'a' probe",
    "probe CI=1",
    "cd sub && probe a* | p && Z ./*",
    "cd sub && CI=1 probe 2>&1; p || Z",
    "cd ./sub && probe",
    "cd sub probe",
    "CI=1 cd sub && probe",
    "echo $? && probe $? \"a$?b\"$?",
    "echo \"=== done $? ===\"; probe",
    "true || probe | p; Z",
    "probe * ? *.b ./* sub/* sub/.* a*",
    "probe a*b*c x*=? -* --a=*",
    "probe sub/* */a ./*/*",
    "probe a*~",
    "probe '*' \"?\" a'*'",
    "* probe",
    "CI=* probe",
    "[ -f a ] && probe",
    "[ -f a ]&& probe",
    "probe [ a ]",
    "probe $?? $?*",
];
