use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::command::{CommandError, Folder, Guard, Named};

/// A project with some files and folders, and another repository in one of them.
struct Project;

impl Names for Project {
    fn program(&self, _: &str) -> Result<ProgramFile, CommandError> {
        Err(CommandError::Empty)
    }

    fn shell(&self) -> &Path {
        Path::new("/bin/sh")
    }

    fn way(&self, _: &str) -> Way {
        Way::Fixed
    }

    fn is_script(&self, program: &ProgramFile) -> bool {
        program.real.parent() == Some(Path::new("/script"))
    }

    fn at_home(&self, _: &str) -> Option<String> {
        None
    }

    fn project(&self) -> &Path {
        Path::new("/project")
    }

    fn named(&self, _: &str) -> Named {
        Named::Absent
    }

    fn is_plan_mode(&self) -> bool {
        false
    }

    fn is_inside(&self, written: &str) -> bool {
        [".", "src", "build", "tests", "tests/a.py", "a.py", "a.b"].contains(&written)
    }

    fn folder(&self, word: &str) -> Option<Folder> {
        ["src", "vendor"].contains(&word).then(|| Folder {
            path: word.to_owned(),
            is_of_repository: word == "src",
        })
    }

    fn guarded(&self, _: &str) -> Guard {
        Guard::default()
    }
}

pub(super) fn of(line: &str) -> Known {
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
        "uniq",
        "uniq -c",
        "uniq -cd f",
        "uniq -",
        "shuf -n 3 f",
        "which -a cargo ls",
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
        "uniq a b",
        "uniq -c a b",
        "uniq -f 1 b",
        "uniq --skip-fields=1 b",
        "uniq - b",
        "uniq +1 b",
        "shuf -o f a",
        "shuf --output=f a",
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
        ("git branch -a", 1),
        ("git branch -vv --sort=-committerdate --contains HEAD", 1),
        ("git branch --show-current", 1),
        ("git remote -v", 1),
        ("git reflog -n 5", 1),
        ("git tag -l -n1", 1),
        ("ruff check src a.py", 1),
        ("mypy --strict src", 0),
    ] {
        let known = of(line);
        let Known::Words(found) = &known else {
            panic!("{line}: {known:?}");
        };
        let leading: Vec<&str> = line.split(' ').skip(1).take(words).collect();
        assert_eq!(found, &leading, "{line}");
    }
}

#[test]
fn harmless_options_may_stand_before_the_subcommand_of_git() {
    for (line, word) in [
        ("git --no-pager log -5", "log"),
        ("git -P --no-optional-locks status", "status"),
        ("git -C src status", "status"),
        ("git --no-pager -C src -P log --oneline", "log"),
        ("git --no-pager add x", "add"),
    ] {
        assert_eq!(of(line), Known::Words(vec![word.to_owned()]), "{line}");
    }
    for line in [
        "git --no-pager",
        "git --no-pager -c core.pager=./evil log",
        "git -c core.pager=./evil --no-pager log",
        "git --no-pager --exec-path=. log",
        "git --no-pager=x log",
        "git -p log",
        "git --paginate log",
        "git --bare log",
        "git --git-dir=src log",
        "git --work-tree=src log",
        "git --no-pager push",
        // Another repository, or none of the project's folders.
        "git -C vendor status",
        "git -C . status",
        "git -C .. status",
        "git -C /elsewhere status",
        "git -C src/.. status",
        "git -C",
        "git -C src",
        "git -Csrc status",
        "git -C src -C src status",
        "git -C src -c core.pager=./evil log",
        // More than looking.
        "git -C src add x",
        "git -C src commit -m x",
        "cargo --no-pager test",
        "npm -C src test",
        "make -C src test",
    ] {
        assert_eq!(of(line), Known::Nothing, "{line}");
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
        "git branch x",
        "git branch -D x",
        "git branch -m x",
        "git branch -a x",
        "git branch --edit-description",
        "git branch -u origin/x",
        "git remote add x y",
        "git remote update",
        "git remote -v show origin",
        "git reflog expire",
        "git tag x",
        "git tag -d x",
        "git tag -a -m x y",
        "git tag -l x",
        "git tag -s x",
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

#[test]
fn nothing_is_known_of_scripts_that_print_and_of_programs_that_commands_can_change() {
    let of_file = |called: &str, real: &str, way: Way, arguments: &[&str]| {
        let program = ProgramFile {
            called: PathBuf::from(called),
            real: PathBuf::from(real),
        };
        let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
        of_program(&program, way, &arguments, &Project)
    };
    let of = |path: &str, way: Way, arguments: &[&str]| of_file(path, path, way, arguments);
    assert_eq!(of("/bin/ls", Way::Fixed, &["-l"]), Known::Inert);
    assert_eq!(of("/script/ls", Way::Fixed, &["-l"]), Known::Nothing);
    // But for Debian's.
    let which = |called: &str, file: &str, way: Way| of_file(called, file, way, &["ls"]);
    let debian = "/script/which.debianutils";
    assert_eq!(which("/script/which", debian, Way::Fixed), Known::Inert);
    for (called, file, way) in [
        ("/script/which", debian, Way::Changeable),
        ("/script/which", "/script/which.other", Way::Fixed),
        ("/script/which", "/script/which", Way::Fixed),
        ("/script/ls", debian, Way::Fixed),
        (debian, debian, Way::Fixed),
    ] {
        assert_eq!(which(called, file, way), Known::Nothing, "{called} {file}");
    }
    for way in [Way::Changeable, Way::Unclear] {
        assert_eq!(of("/bin/ls", way, &["-l"]), Known::Nothing);
        assert_eq!(of("/bin/cargo", way, &["test"]), Known::Nothing);
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
        if known.is_named || known.operands == Operands::Targets {
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
            match with(&more) {
                Known::Nothing => {}
                // A target is shown, whatever it is called.
                Known::Words(words) if known.operands == Operands::Targets => {
                    prop_assert_eq!(words.last().map(String::as_str), Some(trick));
                }
                known => prop_assert!(false, "{known:?}: {more:?}"),
            }
        }
    }
}
