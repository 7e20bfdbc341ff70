//! Programs and subcommands about which a promise can be kept.
//!
//! A lasting yes covers more than the exact line only where one of two things is known: that the program runs nothing
//! else and writes nothing ([`INERT`]), or that the leading words run no more than the project's own code
//! ([`SUBCOMMANDS`]). Both are allow-lists. What is missing costs a question: then the exact line is remembered.
//!
//! An option counts as harmless only if it is listed with its subcommand. So `cargo test --config …`, which names
//! programs to run, is another line than `cargo test`, and so is whatever a later version of cargo invents.

mod table;

use self::table::{GLOBAL_OPTIONS, INERT, Inert, SUBCOMMANDS, Subcommand, WRAPPERS, Wrapper};

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

/// Looks a program up by the name it is called by.
pub(super) fn known(name: &str, arguments: &[String]) -> Known {
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
        .filter_map(|known| leading(known, arguments))
        .max();
    found.map_or(Known::Nothing, Known::Words)
}

/// Whether a known subcommand of git changes nothing in a repository.
pub(super) fn only_looks(subcommand: &str) -> bool {
    !["add", "commit"].contains(&subcommand)
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
fn leading(known: &Subcommand, arguments: &[String]) -> Option<usize> {
    let words = known.line.split(' ').skip(1);
    let mut length = words.clone().count();
    if arguments.len() < length || !arguments.iter().zip(words).all(|(a, b)| a == b) {
        return None;
    }
    if known.is_named {
        let is_name = |word: &&String| !word.starts_with('-') && !word.contains('=');
        arguments.get(length).filter(is_name)?;
        length += 1;
    }
    // Whether the word before may take the next one as its value.
    let mut takes_value = false;
    for word in &arguments[length..] {
        if word == "--" {
            // As the value of an option it ends nothing, and what follows is read as options.
            return (known.has_rest && !takes_value).then_some(length);
        }
        let is_option = word.len() > 1 && word.starts_with('-');
        let is_harmless = match is_option {
            true => is_harmless_option(known, word),
            false => is_harmless_operand(known, word),
        };
        if !is_harmless {
            return None;
        }
        takes_value = is_option && !is_flag(known, word);
    }
    Some(length)
}

/// The names of long options, and whether they take a value.
fn long_options(known: &Subcommand) -> impl Iterator<Item = (&str, bool)> {
    let options = known.long.split(' ');
    options.map(|option| match option.strip_suffix('=') {
        Some(name) => (name, true),
        None => (option, false),
    })
}

/// Whether a harmless option cannot take the next word as its value.
fn is_flag(known: &Subcommand, word: &str) -> bool {
    if let Some(name) = word.strip_prefix("--") {
        return name.contains('=')
            || long_options(known).any(|(long, has_value)| long == name && !has_value);
    }
    let is_flag = |c: char| known.flags.contains(c) && !known.valued.contains(c);
    word[1..].chars().all(|c| is_flag(c) || c.is_ascii_digit())
}

fn is_harmless_operand(known: &Subcommand, word: &str) -> bool {
    if known.is_named {
        // Other targets and scripts than the one that was named, and variables: `make test deploy CC=evil`.
        return known.line.starts_with("npm");
    }
    // Many programs read more options from a file that is named like this.
    let is_response_file = word.starts_with('@') && program_of(known) != "git";
    // A path that leads out of the project would run code that is not the project's own.
    !(is_response_file || known.is_inside && leads_out(word))
}

fn leads_out(word: &str) -> bool {
    word.starts_with('/') || word.split('/').any(|part| part == "..")
}

fn is_harmless_option(known: &Subcommand, word: &str) -> bool {
    let long = word
        .strip_prefix("--")
        .or_else(|| word.strip_prefix('-').filter(|_| known.is_single_dash));
    if let Some(long) = long {
        let name = long.split('=').next().unwrap_or(long);
        return !name.is_empty() && long_options(known).any(|(long, _)| long == name);
    }
    let letters = &word[1..];
    if letters.bytes().all(|byte| byte.is_ascii_digit()) {
        // `git log -5`; a number is nothing else anywhere.
        return true;
    }
    for c in letters.chars() {
        if known.valued.contains(c) {
            return true;
        }
        if !known.flags.contains(c) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Known {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        known(&words[0], &words[1..])
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
            ("npm run lint -- --fix", 2),
            ("make test", 1),
            ("make test -j4", 1),
            ("git diff -s -- f", 1),
            ("git show stash@{0}", 1),
            ("npm run lint src", 2),
            ("go test -run=Name -v ./...", 1),
            ("go test --count=1 ./...", 1),
            ("pytest -q -k name tests", 0),
            ("python3 -m pytest -x", 2),
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
            "mypy @options",
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
}
