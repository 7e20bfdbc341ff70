//! Programs and subcommands about which a promise can be kept.
//!
//! A lasting yes covers more than the exact line only where one of two things is known: that the program runs nothing
//! else and writes nothing ([`INERT`]), or that the leading words run no more than the project's own code
//! ([`SUBCOMMANDS`]). Both are allow-lists. What is missing costs a question: then the exact line is remembered.
//!
//! An option counts as harmless only if it is listed with its subcommand, and its value only if it is of the listed kind. So
//! `cargo test --config …`, which names programs to run, is another line than `cargo test`, and so is whatever a later
//! version of cargo invents. An operand counts as harmless only if its subcommand says so of every word, or if it names a
//! file or folder in the project.

mod table;

use std::borrow::Cow;

use self::table::{
    FILE_NAMES, GLOBAL_OPTIONS, INERT, Inert, MULTI_CALL, Operands, SUBCOMMANDS, Subcommand, Value,
    WRAPPERS, Wrapper,
};
use super::Names;
use crate::target::ProgramFile;

pub(super) use self::table::SHELLS;

/// What is known of a program with these arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// It runs nothing else and writes nothing, nor would it with other arguments that are read as inert.
    Inert,
    /// So many leading arguments run no more than the project's own code.
    Words(usize),
    /// Nothing: the exact line has to be remembered.
    Nothing,
}

/// The name under which something may be known of a program; empty: nothing is.
///
/// A name promises nothing where it leads to another program, as `ls` to `env`.
pub(super) fn name_of(program: &ProgramFile) -> Cow<'_, str> {
    let name = program.called.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let file = program.real.file_name().unwrap_or_default();
    match is_file_of(&name, &file.to_string_lossy()) {
        true => name,
        false => Cow::Borrowed(""),
    }
}

/// Whether a program of this name may be a link to a file of that name: to its own, to one of its versions
/// (`python3.11`), or to a program that is many.
fn is_file_of(name: &str, file: &str) -> bool {
    let version = file.strip_prefix(name);
    let is_version = version.is_some_and(|version| {
        version
            .chars()
            .all(|c| c.is_ascii_digit() || ".-".contains(c))
    });
    is_version || MULTI_CALL.contains(&file) || FILE_NAMES.contains(&(name, file))
}

/// Looks up what is known of a program under its [`name_of`].
pub(super) fn known(name: &str, arguments: &[String], names: &dyn Names) -> Known {
    if name == "find" && !arguments.iter().any(|word| acts_in_find(word))
        || name == "sed" && is_reading_sed(arguments)
    {
        return Known::Inert;
    }
    if let Some(inert) = INERT.iter().find(|inert| inert.name == name) {
        return match arguments.iter().any(|word| breaks(inert, word)) {
            true => Known::Nothing,
            false => Known::Inert,
        };
    }
    let of_program = SUBCOMMANDS.iter().filter(|known| program_of(known) == name);
    let found = of_program
        .filter_map(|known| leading(known, arguments, names))
        .max();
    found.map_or(Known::Nothing, Known::Words)
}

/// The known subcommands of git that change nothing in a repository.
const LOOKING: &[&str] = &[
    "blame",
    "cat-file",
    "describe",
    "diff",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
];

/// Whether a subcommand of git is known to change nothing in a repository.
pub(super) fn only_looks(subcommand: &str) -> bool {
    LOOKING.contains(&subcommand)
}

/// Programs that take every file they are given as data, whatever their options are: they neither run it nor read
/// settings from it.
const TAKE_DATA: &[&str] = &[
    "chmod", "cp", "ln", "mkdir", "mv", "rm", "rmdir", "touch", "truncate",
];

/// Whether a program takes all files that stand in its line as data. What they hold decides nothing then, and the program
/// itself may change it.
pub(super) fn takes_data(name: &str, arguments: &[String]) -> bool {
    match name {
        "sed" => is_replacing_sed(arguments),
        "rustfmt" | "gofmt" => arguments.iter().all(|word| {
            matches!(word.as_str(), "--check" | "-l" | "-w" | "-d" | "-s") || !word.starts_with('-')
        }),
        name => TAKE_DATA.contains(&name),
    }
}

/// Whether sed only replaces text, or deletes or prints lines. Its command `e` would run what the files hold.
fn is_replacing_sed(arguments: &[String]) -> bool {
    let command = sed_command(arguments, &["-i", "-n", "-E", "-r", "-s", "-z"]);
    command.is_some_and(|command| only_prints(command) || is_substitution(command))
}

/// The only command in the script of a `sed` that has none but these options, without the lines that it is for.
fn sed_command<'a>(arguments: &'a [String], options: &[&str]) -> Option<&'a str> {
    let mut words = arguments.iter().map(String::as_str);
    let mut script = None;
    while let Some(word) = words.next() {
        match word {
            word if options.contains(&word) => {}
            "-e" if script.is_none() => script = words.next(),
            word if word.starts_with('-') => return None,
            word if script.is_none() => script = Some(word),
            _ => {}
        }
    }
    Some(script?.trim_start_matches(|c: char| c.is_ascii_digit() || ",$".contains(c)))
}

fn only_prints(command: &str) -> bool {
    matches!(command, "p" | "d" | "q" | "=")
}

/// Whether a command of sed is one substitution whose flags neither run nor write anything.
fn is_substitution(command: &str) -> bool {
    let mut characters = command.chars();
    let (Some('s'), Some(delimiter)) = (characters.next(), characters.next()) else {
        return false;
    };
    if !delimiter.is_ascii_punctuation() || delimiter == '\\' || command.contains('\n') {
        return false;
    }
    let mut parts = 0;
    let mut is_escaped = false;
    for c in characters.by_ref() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == delimiter => parts += 1,
            _ => {}
        }
        if parts == 2 {
            break;
        }
    }
    parts == 2 && characters.all(|c| c.is_ascii_digit() || "gpiI".contains(c))
}

fn program_of(known: &Subcommand) -> &str {
    known.line.split(' ').next().unwrap_or(known.line)
}

/// Where a program's subcommand stands, as `push` in `git -C . push`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SubcommandPlace {
    /// How many arguments stand before it.
    pub(super) at: usize,
    /// Whether the program may take another word for its subcommand, or run something else under its name: an option before
    /// it is not known to be harmless, or the word is known only when the line runs.
    pub(super) is_unread: bool,
}

/// Finds the subcommand behind the options that are known to stand before one; a `None` is a word that is not known yet.
///
/// Of a program without known options, the first word that is an option leaves the subcommand open.
pub(super) fn subcommand(name: &str, arguments: &[Option<String>]) -> SubcommandPlace {
    let known = GLOBAL_OPTIONS.iter().find(|known| known.name == name);
    let mut place = SubcommandPlace {
        at: 0,
        is_unread: false,
    };
    loop {
        let word = match arguments.get(place.at) {
            Some(Some(word)) if word.starts_with(['-', '+']) => word.as_str(),
            Some(Some(_)) => return place,
            next => {
                place.is_unread |= next.is_some();
                return place;
            }
        };
        let (option, has_value) = match word.split_once('=') {
            Some((option, _)) => (option, true),
            None => (word, false),
        };
        let is_in = |list: &[&str]| list.contains(&option);
        place.at += match known {
            Some(known) if is_in(known.flags) && !has_value => 1,
            Some(known) if is_in(known.valued) || is_in(known.redefining) => {
                place.is_unread |= is_in(known.redefining);
                if has_value { 1 } else { 2 }
            }
            _ => {
                place.is_unread = true;
                return place;
            }
        };
    }
}

/// Whether a program runs the command among its words.
pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.name == name)
}

/// Where the command of a wrapper begins, if the program is one and all before the command is known.
pub(super) fn behind_wrapper(name: &str, arguments: &[String]) -> Option<usize> {
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-')) {
        at += if wrapper.flags.contains(&word.as_str()) {
            1
        } else if wrapper.valued.contains(&word.as_str()) {
            2
        } else if has_value(wrapper, word) {
            1
        } else {
            return None;
        };
    }
    for _ in 0..wrapper.operands {
        arguments
            .get(at)
            .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
        at += 1;
    }
    let command = arguments.get(at)?;
    (!command.starts_with('-') && !command.contains('=')).then_some(at)
}

fn has_value(wrapper: &Wrapper, word: &str) -> bool {
    if let Some((option, value)) = word.split_once('=') {
        return word.starts_with("--") && wrapper.valued.contains(&option) && !value.is_empty();
    }
    let Some((option, value)) = word.split_at_checked(2) else {
        return false;
    };
    option != "--"
        && wrapper.valued.contains(&option)
        && value.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Whether a word may be one of the options that break the promise of an inert program. What looks like one counts
/// wherever it stands.
fn breaks(inert: &Inert, word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        return !name.is_empty() && inert.long.split(' ').any(|other| other.starts_with(name));
    }
    word.strip_prefix('-')
        .is_some_and(|letters| letters.contains(|c| inert.short.contains(c)))
}

/// Actions of `find` that run programs, write or remove.
fn acts_in_find(word: &str) -> bool {
    ["-delete", "-exec", "-fls", "-fprint", "-ok"]
        .iter()
        .any(|action| word.starts_with(action))
}

/// `sed` that only prints: `sed -n 10,20p file`.
fn is_reading_sed(arguments: &[String]) -> bool {
    sed_command(arguments, &["-n", "-E", "-r", "-s"]).is_some_and(only_prints)
}

/// How many leading arguments belong to the key; `None`: the arguments are not those of this subcommand, or one of
/// them is not known to be harmless.
fn leading(known: &Subcommand, arguments: &[String], names: &dyn Names) -> Option<usize> {
    let words = known.line.split(' ').skip(1);
    let mut length = words.clone().count();
    if arguments.len() < length || !arguments.iter().zip(words).all(|(a, b)| a == b) {
        return None;
    }
    if known.is_named {
        arguments.get(length).filter(|word| is_name(word))?;
        length += 1;
    }
    let mut words = arguments[length..].iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            let is_harmless =
                known.has_rest && words.all(|word| is_harmless_operand(known, word, names));
            return is_harmless.then_some(length);
        }
        if word.len() < 2 || !word.starts_with('-') {
            if !is_harmless_operand(known, word, names) {
                return None;
            }
            continue;
        }
        let next = words.peek().copied();
        match (harmless_option(known, word)?, next) {
            (None, _) => {}
            // A program that can do without the number reads the next word as any other.
            (Some(Value::Number), next) => {
                words.next_if(|_| next.is_some_and(|next| is_value(Value::Number, next)));
            }
            // Whether a word with a dash is the value or an option is for the program to say.
            (Some(value), Some(next)) if !next.starts_with('-') && is_value(value, next) => {
                words.next();
            }
            (Some(_), _) => return None,
        }
    }
    Some(length)
}

/// Whether a word can be the name of a script or a target, and neither sets a variable nor leads to another folder.
fn is_name(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('-')
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || "_-.:".contains(c))
}

fn is_harmless_operand(known: &Subcommand, word: &str, names: &dyn Names) -> bool {
    // Many programs read more options from a file that is named like this.
    let is_response_file = word.starts_with('@') && program_of(known) != "git";
    let path = match known.operands {
        Operands::None => return false,
        Operands::Any => return !is_response_file,
        Operands::Inside => word,
        Operands::GoPackages => word.strip_suffix("/...").unwrap_or(word),
        Operands::PytestTests => word.split("::").next().unwrap_or(word),
        Operands::PythonFiles if word.ends_with(".py") => word,
        Operands::PythonFiles => return false,
    };
    // What looks like code or like an option is none of the names that files usually have.
    let is_usual = |c: char| c.is_alphanumeric() || "_-.+/".contains(c);
    !path.starts_with('-') && path.chars().all(is_usual) && names.is_inside(path)
}

/// The value that a harmless option takes as the next word: `Some(None)` for nothing, `None` if the option is not known to
/// be harmless.
fn harmless_option(known: &Subcommand, word: &str) -> Option<Option<Value>> {
    let long = word
        .strip_prefix("--")
        .or_else(|| word.strip_prefix('-').filter(|_| known.is_single_dash));
    if let Some(long) = long {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let mut kinds = long_options(known).filter(|(long, _)| *long == name);
        return kinds.find_map(|(_, kind)| match (kind, value) {
            (Value::None | Value::Optional, None) => Some(None),
            (kind, None) => Some(Some(kind)),
            (kind, Some(value)) => is_value(kind, value).then_some(None),
        });
    }
    let letters = &word[1..];
    if is_value(Value::Number, letters) {
        // `git log -5`; a number is nothing else anywhere.
        return Some(None);
    }
    for (at, c) in letters.char_indices() {
        if let Some(kind) = short_value(known, c) {
            let value = &letters[at + c.len_utf8()..];
            return match value {
                "" => Some(Some(kind)),
                value => is_value(kind, value).then_some(None),
            };
        }
        if !known.flags.contains(c) {
            return None;
        }
    }
    Some(None)
}

/// The names of long options, and what values they take.
fn long_options(known: &Subcommand) -> impl Iterator<Item = (&str, Value)> {
    known
        .long
        .split(' ')
        .filter(|option| !option.is_empty())
        .map(|option| {
            let mark = option.chars().next_back().and_then(Value::of_mark);
            mark.map_or((option, Value::None), |value| {
                (&option[..option.len() - 1], value)
            })
        })
}

/// What value the option of this letter takes, if it takes one.
fn short_value(known: &Subcommand, letter: char) -> Option<Value> {
    let at = known.valued.find(letter)?;
    let mark = known.valued[at..].chars().nth(1);
    letter
        .is_ascii_alphabetic()
        .then(|| mark.and_then(Value::of_mark))
        .flatten()
}

fn is_value(kind: Value, value: &str) -> bool {
    let is_of = |is_usual: fn(char) -> bool| !value.is_empty() && value.chars().all(is_usual);
    match kind {
        Value::None => false,
        // Many programs read more options from a file that is named like this, also where a value stands.
        Value::Text => !value.starts_with('@'),
        Value::Number => is_of(|c| c.is_ascii_digit()),
        // Without dots, brackets and quotes nothing can be reached by evaluating it.
        Value::Names => is_of(|c| c.is_alphanumeric() || "_ ".contains(c)),
        Value::Optional => is_of(|c| c.is_ascii_alphanumeric() || "_-.,:".contains(c)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;

    use super::*;
    use crate::command::{Changeable, CommandError};

    /// A project with some files and folders.
    struct Project;

    impl Names for Project {
        fn program(&self, _: &str) -> Result<ProgramFile, CommandError> {
            Err(CommandError::Empty)
        }

        fn shell(&self) -> &Path {
            Path::new("/bin/sh")
        }

        fn is_writable(&self, _: &ProgramFile) -> bool {
            false
        }

        fn project(&self) -> &Path {
            Path::new("/project")
        }

        fn changeable(&self, _: &str) -> Option<Changeable> {
            None
        }

        fn is_inside(&self, written: &str) -> bool {
            [".", "src", "build", "tests", "tests/a.py", "a.py", "a.b"].contains(&written)
        }

        fn guarded(&self, _: &str) -> Option<PathBuf> {
            None
        }
    }

    fn of(line: &str) -> Known {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        of_words(&words)
    }

    fn of_words(words: &[String]) -> Known {
        known(&words[0], &words[1..], &Project)
    }

    #[test]
    fn reading_programs_are_inert_unless_an_option_breaks_that() {
        for line in [
            "ls -la /etc",
            "cat a b",
            "rg -n pattern src",
            "sort -u a",
            "find . -name *.rs -print",
            "sed -n 10,20p src/main.rs",
            "sed -n -e 5p f",
            "grep -rn --include=*.rs x .",
        ] {
            assert_eq!(of(line), Known::Inert, "{line}");
        }
        for line in [
            "rg --pre ./evil x",
            "rg --pre=./evil x",
            "rg -z x",
            "sort -o f a",
            "sort -uo f a",
            "sort --compress-program=./evil a",
            "sort --comp ./evil a",
            "find . -exec ./evil",
            "find . -execdir ./evil",
            "find . -okdir ./evil",
            "find . -delete",
            "find . -fprintf f x",
            "sed s/a/b/e f",
            "sed -i 1d f",
            "sed -n 1w/x f",
            "sed -n -e 1p -e 1e f",
            "sed --expression=1e f",
            "sed",
            "fd -x ./evil",
            "file -C -m x",
            "diff -l a b",
            "tree -o f",
            "date -s 0",
        ] {
            assert_eq!(of(line), Known::Nothing, "{line}");
        }
    }

    #[test]
    fn subcommands_are_known_with_their_harmless_options() {
        for (line, words) in [
            ("cargo test", 1),
            ("cargo test --release -p dunlin name", 1),
            ("cargo test --lib -- --nocapture --anything", 1),
            ("cargo build -j4 -vv", 1),
            ("cargo run -- --config x", 1),
            ("git status -sb", 1),
            ("git log --oneline -5", 1),
            ("git log -n5 --format=%H -- src", 1),
            ("git log --oneline -5", 1),
            ("git commit -m msg", 1),
            ("git commit -am msg", 1),
            ("git diff HEAD~1 -- a b", 1),
            ("npm test", 1),
            ("npm run lint", 2),
            ("npm run lint -- src", 2),
            ("make test", 1),
            ("make test -j4", 1),
            ("git diff -s -- f", 1),
            ("git show stash@{0}", 1),
            ("npm run lint src", 2),
            ("go test -run=Name -v ./...", 1),
            ("go test --count=1 ./...", 1),
            ("pytest -q -k name tests", 0),
            ("pytest -k name -m slow tests/a.py::Name::test[a.b(c)]", 0),
            ("pytest --maxfail=2 --tb short -x tests/a.py", 0),
            ("python3 -m pytest -x", 2),
            ("python3 -m unittest -v -k any.text", 2),
            ("python3 -m unittest tests/a.py a.py", 2),
            ("go test -run Name -count 1 ./... src/...", 1),
            ("go vet .", 1),
            ("go doc fmt.Println", 1),
            ("cmake --build build -j", 1),
            ("cmake --build build -j 4 -v", 1),
            ("make test -j --keep-going", 1),
            (
                "git log --stat=80,40 --decorate=short --color --word-diff=color",
                1,
            ),
            ("git log --pretty=format:%h --abbrev=8 --abbrev", 1),
            ("git status --porcelain=v2 --untracked-files=no", 1),
            ("git diff -U --stat", 1),
            ("ruff check src a.py", 1),
            ("mypy --strict src", 0),
        ] {
            assert_eq!(of(line), Known::Words(words), "{line}");
        }
    }

    #[test]
    fn whatever_is_not_listed_is_the_exact_line() {
        for line in [
            "cargo",
            "cargo --version",
            "cargo --config x test",
            "cargo +nightly test",
            "cargo install x",
            "cargo test --config build.rustc-wrapper=\"./evil\"",
            "cargo test --conf x",
            "cargo test -Zunstable",
            "cargo test --target evil.json",
            "cargo test --manifest-path /x/Cargo.toml",
            "cargo test -C /x",
            "cargo clippy -- -Clinker=./evil",
            "cargo clippy --fix",
            "git -c core.pager=./evil log",
            "git --exec-path=. status",
            "git log --ext-diff",
            "git log --output=x",
            "git diff --no-index a b",
            "git grep -O./evil x",
            "git grep -lO./evil x",
            "git push",
            "git difftool -x ./evil",
            "git merge-index ./evil -a",
            "git rebase -x ./evil HEAD~1",
            "git config core.pager ./evil",
            "git clone x",
            "git reflog expire --all",
            "git commit -F /etc/passwd",
            "git submodule foreach ./evil",
            "npm exec -c ./evil",
            "npm --loglevel silent exec ./evil",
            "npm --loglevel run exec",
            "npm run",
            "npm run --script-shell=./evil lint",
            "npm run lint --script-shell=./evil",
            "npm run lint --script-shell ./evil",
            "make",
            "make CC=./evil",
            "make test CC=./evil",
            "make test deploy",
            "just build deploy",
            "git grep -e -- -O./evil -e x",
            "git commit -m -- --no-verify",
            "git shortlog --since -- --output=x",
            "git blame -L -- --output=x f",
            "pytest @options",
            "pytest --tb @options",
            "ruff check --output-format @options",
            "pytest @options",
            "ruff check @options",
            "make test -f /x",
            "make test --eval=x",
            "make -C /x test",
            "go test -exec ./evil ./...",
            "go test --exec=./evil ./...",
            "go build -toolexec ./evil",
            "go run example.com/evil@latest",
            "go generate",
            "pytest -p evil",
            "pytest /elsewhere",
            "pytest ../elsewhere/test.py",
            "cmake --build /elsewhere",
            "go test ../elsewhere",
            "dotnet build /logger:evil.dll",
            "pytest -c /x/evil.ini",
            "python3 gen.py",
            "python3 -c 1",
            "python3 -m http.server",
            "ssh-keygen -D ./evil.so",
            "ld -plugin ./evil.so",
            "rustc -Clink-arg=x",
            "helm template --post-renderer ./evil",
            "rustup run stable sh",
            "rust-gdb -batch",
            "uv run x",
            "poetry -q run x",
            "bun x",
            "bundle exec x",
            "tar xf a",
            "awk 1",
            "xargs ls",
            "evil",
            "git cat-file --=x",
            // A flag with a value is another option.
            "npm run lint --silent=--script-shell=./evil",
            "npm run lint --if-present=--prefix=/elsewhere",
            "npm test --silent=--node-options=--import=data:x",
            "make test --silent=x",
            "cargo test --release=x",
            "git log --oneline=x",
            "git log --stat=--output=x",
            "git log --color=--output=x",
            "git status --porcelain=",
            "git diff -Ux",
            "make test -jx",
            // Words that are no files of the project.
            "python3 -m unittest timeit.main",
            "python3 -m unittest a.TestCase",
            "python3 -m unittest a.b",
            "python3 -m unittest tests",
            "python3 -m unittest missing.py",
            "python3 -m unittest discover",
            "pytest missing",
            "pytest -k a.b",
            "pytest -k (a)",
            "pytest -ka[0]",
            "pytest -m __import__('os')",
            "pytest -k -- tests",
            "go test net/http",
            "go test ...",
            "go test @x",
            "go build example.com/x/...",
            "tsc missing.ts",
            "cmake --build build --target SHELL=./evil",
            "cmake --build build -t SHELL=./evil",
            "cmake --build build -j ./evil",
            "ctest -j ./evil",
            "ruff check /elsewhere",
            "mypy ../elsewhere",
            "ninja deploy",
            "cargo build x",
            "npm run lint -- --fix",
            "npm test -- --import=data:x",
            "npm test /elsewhere",
            "npm run lint missing",
            "just ../elsewhere/build",
            "just sub/build",
            "make a=b",
            "make test x:=y",
        ] {
            assert_eq!(of(line), Known::Nothing, "{line}");
        }
    }

    #[test]
    fn the_subcommand_stands_behind_known_options() {
        let of = |line: &str| {
            let words = line.split(' ').skip(1);
            let words: Vec<Option<String>> = words
                .map(|word| (word != "$x").then(|| word.to_owned()))
                .collect();
            let place = subcommand(line.split(' ').next().unwrap(), &words);
            (place.at, place.is_unread)
        };
        for (line, place) in [
            ("git push", (0, false)),
            ("git -C . --no-pager push", (3, false)),
            ("git --git-dir=x -p push", (2, false)),
            ("git --git-dir x push -f", (2, false)),
            ("git -c a=b push", (2, true)),
            ("git --config-env=a=b push", (1, true)),
            ("git --exec-path=x push", (0, true)),
            ("git --no-pager=x push", (0, true)),
            ("git -C", (2, false)),
            ("git -C $x push", (2, false)),
            ("git $x", (0, true)),
            ("git", (0, false)),
            ("cargo +nightly publish", (0, true)),
            ("cargo publish", (0, false)),
        ] {
            assert_eq!(of(line), place, "{line}");
        }
    }

    #[test]
    fn wrappers_are_seen_through_when_all_before_the_command_is_known() {
        let at = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            behind_wrapper(&words[0], &words[1..])
        };
        for (line, command) in [
            ("timeout 5 cargo test", Some(1)),
            ("timeout -k 5 10s cargo test", Some(3)),
            ("timeout --signal=KILL 5 ls", Some(2)),
            ("nice -n 5 ls", Some(2)),
            ("nice ls", Some(0)),
            ("nohup ls", Some(0)),
            ("stdbuf -oL ls", Some(1)),
            ("timeout cargo test", None),
            ("timeout --unknown 5 ls", None),
            ("timeout 5", None),
            ("nice -x ls", None),
            ("nohup A=b ls", None),
            ("env ls", None),
            ("xargs ls", None),
        ] {
            assert_eq!(at(line), command, "{line}");
        }
    }

    /// Every word of the tables has to be read as it is meant.
    #[test]
    fn the_tables_are_well_formed() {
        for known in SUBCOMMANDS {
            let mut valued = known.valued.chars();
            while let Some(letter) = valued.next() {
                let value = valued.next().and_then(Value::of_mark);
                assert!(letter.is_ascii_alphabetic(), "{}: {letter}", known.line);
                assert_eq!(short_value(known, letter), value, "{}", known.line);
                assert!(
                    value.is_some_and(|it| it != Value::Optional),
                    "{}",
                    known.line
                );
                assert!(!known.flags.contains(letter), "{}: {letter}", known.line);
            }
            for (name, _) in long_options(known) {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
                assert!(name.chars().all(is_name), "{}: {name}", known.line);
            }
        }
    }

    #[test]
    fn a_name_promises_nothing_where_it_leads_to_another_program() {
        let of = |called: &str, real: &str| {
            let program = ProgramFile {
                called: PathBuf::from(called),
                real: PathBuf::from(real),
            };
            name_of(&program).into_owned()
        };
        for (called, real) in [
            ("/bin/ls", "/bin/ls"),
            ("/bin/ls", "/nix/store/x/bin/coreutils"),
            ("/bin/find", "/bin/busybox"),
            ("/bin/python3", "/bin/python3.11"),
            ("/bin/python", "/bin/python3.12"),
            ("/bin/cargo", "/bin/rustup"),
        ] {
            let name = called.rsplit('/').next().unwrap();
            assert_eq!(of(called, real), name, "{real}");
        }
        for (called, real) in [
            ("/bin/grep", "/bin/ugrep"),
            ("/bin/ls", "/bin/env"),
            ("/bin/ls", "/bin/rustup"),
            ("/bin/ls", "/bin/lsx"),
            ("/bin/git", "/bin/git-shell"),
        ] {
            assert_eq!(of(called, real), "", "{called}");
        }
    }

    /// What a word may be that makes another program, other code or another file of a known line.
    const TRICKS: &[&str] = &[
        "import os; os.system('id')",
        "timeit.main",
        "./evil",
        "../evil",
        "/evil",
        "~/evil",
        "@evil",
        "CC=./evil",
        "SHELL:=./evil",
        "-Z",
        "-o./evil",
        "--evil",
        "--evil=./evil",
        "=./evil",
        "data:text/javascript,evil",
        "x@latest",
        "evil.py",
        "::evil",
        "/...",
        "",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// A subcommand that is not open to any word takes neither a trick as a word nor as the value of a flag.
        #[test]
        fn no_trick_is_harmless(
            known in any::<prop::sample::Index>(),
            trick in prop::sample::select(TRICKS),
            option in any::<prop::sample::Index>(),
            is_behind in any::<bool>(),
        ) {
            let known = &SUBCOMMANDS[known.index(SUBCOMMANDS.len())];
            let mut words: Vec<String> = known.line.split(' ').map(str::to_owned).collect();
            if known.is_named {
                words.push("name".to_owned());
            }
            let with = |more: &[String]| {
                let words: Vec<String> = words.iter().chain(more).cloned().collect();
                of_words(&words)
            };
            prop_assert_ne!(with(&[]), Known::Nothing);
            let flags: Vec<(&str, Value)> = long_options(known).collect();
            if !flags.is_empty() {
                let (name, value) = flags[option.index(flags.len())];
                let with_value = with(&[format!("--{name}={trick}")]);
                let mut same = flags.iter().filter(|(other, _)| *other == name);
                let is_open = same.any(|(_, value)| *value == Value::Text)
                    || value == Value::Optional && !trick.contains(['/', '=', ';', '@', '~']);
                prop_assert!(is_open || with_value == Known::Nothing, "{name}={trick}");
            }
            if known.operands != Operands::Any {
                let behind = is_behind.then(|| "--".to_owned());
                let more: Vec<String> = behind.into_iter().chain([(*trick).to_owned()]).collect();
                prop_assert_eq!(with(&more), Known::Nothing, "{} {:?}", known.line, more);
            }
        }
    }
}
