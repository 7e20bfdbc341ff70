//! Programs and subcommands about which a promise can be kept.
//!
//! A lasting yes covers more than the exact line only where one of two things is known: that the program runs nothing
//! else and writes nothing ([`INERT`]), or that the leading words run no more than the project's own code
//! ([`SUBCOMMANDS`]). Both are allow-lists. What is missing costs a question: then the exact line is remembered.
//!
//! An option counts as harmless only if it is listed with its subcommand. So `cargo test --config …`, which names
//! programs to run, is another line than `cargo test`, and so is whatever a later version of cargo invents.

/// A program that runs nothing else and writes nothing.
struct Inert {
    name: &'static str,
    /// Letters of options that break this.
    short: &'static str,
    /// Long options that break this; an abbreviation counts as the option.
    long: &'static [&'static str],
}

const fn inert(name: &'static str) -> Inert {
    inert_but(name, "", &[])
}

const fn inert_but(
    name: &'static str,
    short: &'static str,
    long: &'static [&'static str],
) -> Inert {
    Inert { name, short, long }
}

const INERT: &[Inert] = &[
    inert("b2sum"),
    inert("basename"),
    inert("cat"),
    inert("cksum"),
    inert("cmp"),
    inert("column"),
    inert("comm"),
    inert("cut"),
    // Setting the clock.
    inert_but("date", "s", &["set"]),
    inert("df"),
    // `-l` runs `pr`.
    inert_but("diff", "l", &["paginate"]),
    inert("dirname"),
    inert("du"),
    inert("egrep"),
    inert("expand"),
    inert_but("fd", "lxX", &["exec", "exec-batch", "list-details"]),
    inert_but("fdfind", "lxX", &["exec", "exec-batch", "list-details"]),
    inert("fgrep"),
    // `-C` writes a compiled list, `-z` and `-Z` run programs that decompress.
    inert_but(
        "file",
        "CzZ",
        &["compile", "uncompress", "uncompress-noreport"],
    ),
    inert("fold"),
    inert("free"),
    inert("grep"),
    inert("head"),
    inert("hexdump"),
    inert("id"),
    inert("join"),
    inert("jq"),
    inert("ls"),
    inert("md5sum"),
    inert("nl"),
    inert("nproc"),
    inert("od"),
    inert("paste"),
    inert("printenv"),
    inert("ps"),
    inert("pwd"),
    inert("readlink"),
    inert("realpath"),
    // Preprocessors, programs that decompress, a program that names the host.
    inert_but("rg", "z", &["hostname-bin", "pre", "search-zip"]),
    inert("seq"),
    inert("sha1sum"),
    inert("sha224sum"),
    inert("sha256sum"),
    inert("sha384sum"),
    inert("sha512sum"),
    inert("sleep"),
    inert_but(
        "sort",
        "oT",
        &["compress-program", "output", "temporary-directory"],
    ),
    inert("stat"),
    inert("strings"),
    inert("sum"),
    inert("tac"),
    inert("tail"),
    inert("tr"),
    // `-o` writes, and so does `-R` in every folder.
    inert_but("tree", "oR", &["output"]),
    inert("tsort"),
    inert("uname"),
    inert("unexpand"),
    inert("uptime"),
    inert("wc"),
    inert("which"),
    inert("whoami"),
];

/// How a program writes its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `-v`, `-vq`, `-n5`, `--verbose`, `--jobs=5`.
    Gnu,
    /// `-verbose`, `-jobs=5`, with one dash or two.
    Go,
}

/// Words that run no more than the project's own code, and their harmless options.
struct Subcommand {
    program: &'static str,
    /// The words behind the program. May be none.
    words: &'static [&'static str],
    /// Whether the next word belongs to them: the name of a script or a target of the project.
    named: bool,
    style: Style,
    /// Letters of harmless options that stand alone.
    flags: &'static str,
    /// Letters of harmless options that take a value, in the same word or in the next one.
    valued: &'static str,
    /// Long harmless options; a value follows `=` or is the next word.
    long: &'static [&'static str],
    /// Whether any words may stand behind `--`: they go to the project's own code, or name files.
    rest: bool,
}

const CARGO_LONG: &[&str] = &[
    "all",
    "all-features",
    "all-targets",
    "bench",
    "benches",
    "bin",
    "bins",
    "color",
    "doc",
    "example",
    "examples",
    "exclude",
    "features",
    "frozen",
    "jobs",
    "keep-going",
    "lib",
    "locked",
    "message-format",
    "no-default-features",
    "no-deps",
    "no-fail-fast",
    "no-run",
    "offline",
    "package",
    "profile",
    "quiet",
    "release",
    "test",
    "tests",
    "verbose",
    "workspace",
];

const fn cargo(words: &'static [&'static str], rest: bool) -> Subcommand {
    Subcommand {
        program: "cargo",
        words,
        named: false,
        style: Style::Gnu,
        flags: "qrv",
        valued: "Fjp",
        long: CARGO_LONG,
        rest,
    }
}

const fn git(
    words: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
) -> Subcommand {
    Subcommand {
        program: "git",
        words,
        named: false,
        style: Style::Gnu,
        flags,
        valued,
        long,
        rest: true,
    }
}

const GIT_LOG_LONG: &[&str] = &[
    "abbrev-commit",
    "all",
    "author",
    "cached",
    "date",
    "decorate",
    "diff-filter",
    "first-parent",
    "follow",
    "format",
    "graph",
    "grep",
    "max-count",
    "merges",
    "name-only",
    "name-status",
    "no-color",
    "no-ext-diff",
    "no-merges",
    "no-patch",
    "numstat",
    "oneline",
    "patch",
    "pretty",
    "reverse",
    "shortstat",
    "since",
    "staged",
    "stat",
    "summary",
    "unified",
    "until",
    "word-diff",
];

const fn go(words: &'static [&'static str]) -> Subcommand {
    Subcommand {
        program: "go",
        words,
        named: false,
        style: Style::Go,
        flags: "",
        valued: "",
        long: &[
            "bench",
            "benchmem",
            "benchtime",
            "count",
            "cover",
            "failfast",
            "json",
            "list",
            "p",
            "race",
            "run",
            "short",
            "skip",
            "tags",
            "timeout",
            "v",
        ],
        rest: false,
    }
}

const fn plain(
    program: &'static str,
    words: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
) -> Subcommand {
    Subcommand {
        program,
        words,
        named: false,
        style: Style::Gnu,
        flags,
        valued,
        long,
        rest: false,
    }
}

const fn named(
    program: &'static str,
    words: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
    rest: bool,
) -> Subcommand {
    Subcommand {
        program,
        words,
        named: true,
        style: Style::Gnu,
        flags,
        valued,
        long,
        rest,
    }
}

const PYTEST_FLAGS: &str = "lqsvx";
const PYTEST_VALUED: &str = "km";
const PYTEST_LONG: &[&str] = &[
    "collect-only",
    "durations",
    "exitfirst",
    "failed-first",
    "ff",
    "last-failed",
    "lf",
    "maxfail",
    "no-header",
    "quiet",
    "showlocals",
    "stepwise",
    "tb",
    "verbose",
];

const fn python(
    program: &'static str,
    words: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
) -> Subcommand {
    plain(program, words, flags, valued, long)
}

const SUBCOMMANDS: &[Subcommand] = &[
    cargo(&["bench"], true),
    cargo(&["build"], false),
    cargo(&["b"], false),
    cargo(&["check"], false),
    cargo(&["c"], false),
    // What stands behind `--` goes to the compiler, which takes the names of linkers.
    cargo(&["clippy"], false),
    cargo(&["doc"], false),
    plain(
        "cargo",
        &["fmt"],
        "qv",
        "p",
        &["all", "check", "package", "quiet", "verbose"],
    ),
    cargo(&["metadata"], false),
    cargo(&["run"], true),
    cargo(&["r"], true),
    cargo(&["test"], true),
    cargo(&["t"], true),
    cargo(&["tree"], false),
    plain(
        "cmake",
        &["--build"],
        "v",
        "jt",
        &["parallel", "target", "verbose"],
    ),
    plain(
        "ctest",
        &[],
        "VQ",
        "Rj",
        &["output-on-failure", "parallel", "verbose"],
    ),
    plain("dotnet", &["build"], "", "", &["no-restore", "nologo"]),
    plain(
        "dotnet",
        &["test"],
        "",
        "",
        &["filter", "no-build", "no-restore", "nologo"],
    ),
    git(
        &["add"],
        "AnNuv",
        "",
        &["all", "dry-run", "intent-to-add", "update", "verbose"],
    ),
    git(&["blame"], "ceflswC", "L", &["date", "no-progress"]),
    git(&["cat-file"], "epst", "", &[]),
    git(
        &["commit"],
        "aqv",
        "m",
        &[
            "all",
            "allow-empty",
            "amend",
            "message",
            "no-edit",
            "quiet",
            "verbose",
        ],
    ),
    git(
        &["describe"],
        "",
        "",
        &["abbrev", "always", "dirty", "long", "match", "tags"],
    ),
    git(&["diff"], "bpqsuwz", "GSU", GIT_LOG_LONG),
    git(&["diff-tree"], "prstz", "", GIT_LOG_LONG),
    git(&["for-each-ref"], "", "", &["count", "format", "sort"]),
    // Not `-O`, which opens what it found in a program.
    git(
        &["grep"],
        "EFPcehiIlnqvwW",
        "ABCef",
        &[
            "cached",
            "count",
            "heading",
            "ignore-case",
            "line-number",
            "name-only",
            "untracked",
        ],
    ),
    git(&["log"], "bpsuwz", "GLSUn", GIT_LOG_LONG),
    git(
        &["ls-files"],
        "cdikmorstuvz",
        "x",
        &[
            "cached",
            "deleted",
            "exclude-standard",
            "modified",
            "others",
            "stage",
        ],
    ),
    git(
        &["ls-tree"],
        "dlrtz",
        "",
        &["full-tree", "long", "name-only"],
    ),
    git(&["merge-base"], "a", "", &["all", "is-ancestor"]),
    git(&["reflog"], "", "n", &["all", "date", "max-count"]),
    git(
        &["rev-list"],
        "",
        "n",
        &[
            "all",
            "count",
            "first-parent",
            "max-count",
            "merges",
            "no-merges",
            "since",
            "until",
        ],
    ),
    git(
        &["rev-parse"],
        "",
        "",
        &[
            "abbrev-ref",
            "git-dir",
            "is-inside-work-tree",
            "short",
            "show-prefix",
            "show-toplevel",
            "verify",
        ],
    ),
    git(
        &["shortlog"],
        "ens",
        "",
        &["all", "no-merges", "since", "until"],
    ),
    git(&["show"], "pqsuwz", "U", GIT_LOG_LONG),
    git(&["show-ref"], "", "", &["heads", "tags", "verify"]),
    git(
        &["status"],
        "bsuvz",
        "",
        &[
            "branch",
            "ignored",
            "long",
            "porcelain",
            "short",
            "untracked-files",
        ],
    ),
    go(&["build"]),
    go(&["doc"]),
    go(&["list"]),
    go(&["test"]),
    go(&["version"]),
    go(&["vet"]),
    named(
        "just",
        &[],
        "nqv",
        "",
        &["dry-run", "quiet", "verbose"],
        false,
    ),
    named(
        "make",
        &[],
        "Bknqsw",
        "j",
        &[
            "always-make",
            "dry-run",
            "jobs",
            "keep-going",
            "quiet",
            "silent",
        ],
        false,
    ),
    plain(
        "mypy",
        &[],
        "v",
        "",
        &[
            "no-color-output",
            "pretty",
            "show-error-codes",
            "strict",
            "verbose",
        ],
    ),
    plain("ninja", &[], "nv", "jk", &["quiet", "verbose"]),
    plain("npm", &["test"], "s", "", &["silent"]),
    plain("npm", &["t"], "s", "", &["silent"]),
    named("npm", &["run"], "s", "", &["if-present", "silent"], true),
    named(
        "npm",
        &["run-script"],
        "s",
        "",
        &["if-present", "silent"],
        true,
    ),
    plain("pytest", &[], PYTEST_FLAGS, PYTEST_VALUED, PYTEST_LONG),
    python(
        "python",
        &["-m", "pytest"],
        PYTEST_FLAGS,
        PYTEST_VALUED,
        PYTEST_LONG,
    ),
    python(
        "python3",
        &["-m", "pytest"],
        PYTEST_FLAGS,
        PYTEST_VALUED,
        PYTEST_LONG,
    ),
    python(
        "python",
        &["-m", "unittest"],
        "bcfqv",
        "k",
        &["buffer", "failfast", "quiet", "verbose"],
    ),
    python(
        "python3",
        &["-m", "unittest"],
        "bcfqv",
        "k",
        &["buffer", "failfast", "quiet", "verbose"],
    ),
    plain(
        "ruff",
        &["check"],
        "qv",
        "",
        &[
            "diff",
            "no-cache",
            "output-format",
            "quiet",
            "statistics",
            "verbose",
        ],
    ),
    plain(
        "ruff",
        &["format"],
        "qv",
        "",
        &["check", "diff", "quiet", "verbose"],
    ),
    plain("tsc", &[], "", "", &["noEmit", "pretty", "strict"]),
];

/// A program that starts the one behind its own options and does nothing else with it.
struct Wrapper {
    name: &'static str,
    flags: &'static [&'static str],
    /// Options with a value that is a number or a name: `-n 5`, `-n5`, `--signal=TERM`.
    valued: &'static [&'static str],
    /// Words between the options and the command, each of which begins with a digit.
    operands: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "nice",
        flags: &[],
        valued: &["-n", "--adjustment"],
        operands: 0,
    },
    Wrapper {
        name: "nohup",
        flags: &[],
        valued: &[],
        operands: 0,
    },
    Wrapper {
        name: "stdbuf",
        flags: &[],
        valued: &["-i", "-o", "-e", "--input", "--output", "--error"],
        operands: 0,
    },
    Wrapper {
        name: "timeout",
        flags: &[
            "-f",
            "-p",
            "-v",
            "--foreground",
            "--preserve-status",
            "--verbose",
        ],
        valued: &["-k", "-s", "--kill-after", "--signal"],
        operands: 1,
    },
];

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
    let of_program = SUBCOMMANDS.iter().filter(|known| known.program == name);
    let found = of_program
        .filter_map(|known| leading(known, arguments))
        .max();
    found.map_or(Known::Nothing, Known::Words)
}

/// Whether a name stands in one of the lists, whatever its arguments are: the words behind it are its own.
pub(super) fn is_listed(name: &str) -> bool {
    matches!(name, "find" | "sed")
        || INERT.iter().any(|inert| inert.name == name)
        || SUBCOMMANDS.iter().any(|known| known.program == name)
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
        return !name.is_empty() && inert.long.iter().any(|other| other.starts_with(name));
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
    let mut words = arguments.iter().map(String::as_str);
    let mut script = None;
    while let Some(word) = words.next() {
        match word {
            "-n" | "-E" | "-r" | "-s" => {}
            "-e" if script.is_none() => script = words.next(),
            word if word.starts_with('-') => return false,
            word if script.is_none() => script = Some(word),
            _ => {}
        }
    }
    script.is_some_and(|script| {
        let command = script.trim_start_matches(|c: char| c.is_ascii_digit() || ",$".contains(c));
        matches!(command, "p" | "d" | "q" | "=")
    })
}

/// How many leading arguments belong to the key; `None`: the arguments are not those of this subcommand, or one of
/// them is not known to be harmless.
fn leading(known: &Subcommand, arguments: &[String]) -> Option<usize> {
    let mut length = known.words.len();
    if arguments.len() < length || !arguments.iter().zip(known.words).all(|(a, b)| a == b) {
        return None;
    }
    if known.named {
        let is_name = |word: &&String| !word.starts_with('-') && !word.contains('=');
        arguments.get(length).filter(is_name)?;
        length += 1;
    }
    for word in &arguments[length..] {
        if word == "--" {
            return known.rest.then_some(length);
        }
        let is_option = word.len() > 1 && word.starts_with('-');
        let is_harmless = match is_option {
            true => is_harmless_option(known, word),
            // `make CC=evil`, `just shell=evil`: variables of the run, not names of targets.
            false => !(known.named && word.contains('=')),
        };
        if !is_harmless {
            return None;
        }
    }
    Some(length)
}

fn is_harmless_option(known: &Subcommand, word: &str) -> bool {
    let long = word
        .strip_prefix("--")
        .or_else(|| word.strip_prefix('-').filter(|_| known.style == Style::Go));
    if let Some(long) = long {
        let name = long.split('=').next().unwrap_or(long);
        return known.long.contains(&name);
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
            ("git commit -m msg", 1),
            ("git commit -am msg", 1),
            ("git diff HEAD~1 -- a b", 1),
            ("npm test", 1),
            ("npm run lint", 2),
            ("npm run lint -- --fix", 2),
            ("make test", 1),
            ("make test -j4", 1),
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
            "make test -f /x",
            "make test --eval=x",
            "make -C /x test",
            "go test -exec ./evil ./...",
            "go test --exec=./evil ./...",
            "go build -toolexec ./evil",
            "go run example.com/evil@latest",
            "go generate",
            "pytest -p evil",
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
        ] {
            assert_eq!(of(line), Known::Nothing, "{line}");
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
