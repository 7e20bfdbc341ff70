//! The programs and subcommands about which a promise can be kept.

/// A program that runs nothing else and writes nothing.
pub(super) struct Inert {
    pub(super) name: &'static str,
    /// Letters of options that break this.
    pub(super) short: &'static str,
    /// Long options that break this; an abbreviation counts as the option.
    pub(super) long: &'static str,
}

const fn inert(name: &'static str) -> Inert {
    inert_but(name, "", "")
}

const fn inert_but(name: &'static str, short: &'static str, long: &'static str) -> Inert {
    Inert { name, short, long }
}

/// As the manuals of GNU coreutils, findutils, grep and diffutils, of util-linux, procps, binutils, file, jq, ripgrep and fd
/// say; busybox has no more options of these programs. `find`, `sed` and `uniq` are looked at by functions of their own.
pub(super) const INERT: &[Inert] = &[
    inert("arch"),
    inert("b2sum"),
    inert("base32"),
    inert("base64"),
    inert("basename"),
    inert("cat"),
    inert("cksum"),
    inert("cmp"),
    inert("column"),
    inert("comm"),
    inert("cut"),
    // Setting the clock.
    inert_but("date", "s", "set"),
    inert("df"),
    // `-l` runs `pr`.
    inert_but("diff", "l", "paginate"),
    inert("dirname"),
    inert("du"),
    inert("egrep"),
    inert("expand"),
    inert("expr"),
    inert("factor"),
    inert_but("fd", "lxX", "exec exec-batch list-details"),
    inert_but("fdfind", "lxX", "exec exec-batch list-details"),
    inert("fgrep"),
    // `-C` writes a compiled list, `-z` and `-Z` run programs that decompress.
    inert_but("file", "CzZ", "compile uncompress uncompress-noreport"),
    inert("fold"),
    inert("free"),
    inert("grep"),
    inert("groups"),
    inert("head"),
    inert("hexdump"),
    inert("id"),
    inert("join"),
    inert("jq"),
    inert("logname"),
    inert("ls"),
    inert("md5sum"),
    inert("nl"),
    inert("nproc"),
    inert("numfmt"),
    inert("od"),
    inert("paste"),
    inert("printenv"),
    inert("ps"),
    inert("pwd"),
    inert("readlink"),
    inert("realpath"),
    // Preprocessors, programs that decompress, a program that names the host.
    inert_but("rg", "z", "hostname-bin pre search-zip"),
    inert("seq"),
    inert("sha1sum"),
    inert("sha224sum"),
    inert("sha256sum"),
    inert("sha384sum"),
    inert("sha512sum"),
    inert_but("shuf", "o", "output"),
    inert("sleep"),
    inert_but("sort", "oT", "compress-program output temporary-directory"),
    inert("stat"),
    inert("strings"),
    inert("sum"),
    inert("tac"),
    inert("tail"),
    inert("tr"),
    // `-o` writes, and so does `-R` in every folder.
    inert_but("tree", "oR", "output"),
    inert("tsort"),
    inert("tty"),
    inert("uname"),
    inert("unexpand"),
    inert("uptime"),
    inert("wc"),
    inert("which"),
    inert("whoami"),
];

/// Words that run no more than the project's own code, and their harmless options.
pub(super) struct Subcommand {
    /// The program and the words behind it.
    pub(super) line: &'static str,
    /// Letters of harmless options that stand alone.
    pub(super) flags: &'static str,
    /// Letters of harmless options that take a value, in the same word or in the next one, each with its [`Value`].
    pub(super) valued: &'static str,
    /// Long harmless options, those that take a value with its [`Value`].
    pub(super) long: &'static str,
    /// Whether the next word belongs to the line: the name of a script or a target of the project.
    pub(super) is_named: bool,
    /// What its words without a dash may be.
    pub(super) operands: Operands,
    /// Whether words may stand behind `--`. All of them are operands.
    pub(super) has_rest: bool,
    /// Whether long options are written with one dash, too: `-run=Name`.
    pub(super) is_single_dash: bool,
}

/// What the value of an option may be. The mark stands behind the option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// No mark: it has none. With one behind `=` it is not the option that is known.
    None,
    /// `=`: any text, since the program only compares or prints it. Behind `=` or as the next word.
    Text,
    /// `#`: a number. Behind `=` or as the next word; many programs do without it.
    Number,
    /// `~`: names and words between them, for a program that has taken it for an expression to evaluate.
    Names,
    /// `?`: one plain word behind `=`, or nothing.
    Optional,
}

impl Value {
    pub(super) fn of_mark(mark: char) -> Option<Value> {
        match mark {
            '=' => Some(Value::Text),
            '#' => Some(Value::Number),
            '~' => Some(Value::Names),
            '?' => Some(Value::Optional),
            _ => None,
        }
    }
}

/// What the words of a subcommand may be that are not options. Whatever else they are makes it the exact line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// None.
    None,
    /// One or more targets: words of the key, in their order, wherever options stand among them.
    Targets,
    /// Any: an entry says why no word runs anything but the project's own code.
    Any,
    /// Files and folders that exist in the project.
    Inside,
    /// The same, and `./...` for all packages in a folder.
    GoPackages,
    /// The same, and behind `::` the names of tests in a file.
    PytestTests,
    /// Files in the project that end with `.py`. unittest takes any other word for a name, imports it and calls it.
    PythonFiles,
}

const fn known(
    line: &'static str,
    flags: &'static str,
    valued: &'static str,
    long: &'static str,
) -> Subcommand {
    Subcommand {
        line,
        flags,
        valued,
        long,
        is_named: false,
        operands: Operands::None,
        has_rest: false,
        is_single_dash: false,
    }
}

impl Subcommand {
    const fn named(mut self) -> Subcommand {
        self.is_named = true;
        self
    }

    const fn rest(mut self) -> Subcommand {
        self.has_rest = true;
        self
    }

    const fn operands(mut self, operands: Operands) -> Subcommand {
        self.operands = operands;
        self
    }

    const fn single_dash(mut self) -> Subcommand {
        self.is_single_dash = true;
        self
    }
}

const CARGO: &str = "\
    all all-features all-targets bench= benches bin= bins color= doc example= examples exclude= features= \
    frozen jobs# keep-going lib locked message-format= no-default-features no-deps no-fail-fast no-run \
    offline package= profile= quiet release test= tests verbose workspace";

const GIT_LOG: &str = "\
    abbrev? abbrev-commit all author= cached color? date= decorate? diff-filter= first-parent follow format= graph \
    grep= max-count# merges name-only name-status no-color no-ext-diff no-merges no-patch numstat oneline patch \
    pretty pretty= reverse shortstat since= staged stat? summary unified# until= word-diff?";

const GO: &str = "\
    bench= benchmem benchtime= count# cover failfast json list= p# race run= short skip= tags= timeout= v";

const PYTEST: &str = "\
    collect-only durations# exitfirst failed-first ff last-failed lf maxfail# no-header quiet showlocals \
    stepwise tb= verbose";

const UNITTEST: &str = "buffer failfast quiet verbose";

pub(super) const SUBCOMMANDS: &[Subcommand] = &[
    // Operands of `bench`, `run` and `test` go to the benchmarks, the program and the tests of the project. The other
    // subcommands have none.
    known("cargo bench", "qrv", "F=j#p=", CARGO)
        .operands(Operands::Any)
        .rest(),
    known("cargo build", "qrv", "F=j#p=", CARGO),
    known("cargo b", "qrv", "F=j#p=", CARGO),
    known("cargo check", "qrv", "F=j#p=", CARGO),
    known("cargo c", "qrv", "F=j#p=", CARGO),
    // What stands behind `--` goes to the compiler, which takes the names of linkers.
    known("cargo clippy", "qrv", "F=j#p=", CARGO),
    known("cargo doc", "qrv", "F=j#p=", CARGO),
    known("cargo fmt", "qv", "p=", "all check package= quiet verbose"),
    known("cargo metadata", "qrv", "F=j#p=", CARGO),
    known("cargo run", "qrv", "F=j#p=", CARGO)
        .operands(Operands::Any)
        .rest(),
    known("cargo r", "qrv", "F=j#p=", CARGO)
        .operands(Operands::Any)
        .rest(),
    known("cargo test", "qrv", "F=j#p=", CARGO)
        .operands(Operands::Any)
        .rest(),
    known("cargo t", "qrv", "F=j#p=", CARGO)
        .operands(Operands::Any)
        .rest(),
    known("cargo tree", "qrv", "F=j#p=", CARGO),
    // Not `--target`: its value goes to make as a word, where `SHELL=./x` sets a variable.
    known("cmake --build", "v", "j#", "parallel# verbose").operands(Operands::Inside),
    known("ctest", "VQ", "R=j#", "output-on-failure parallel# verbose"),
    // Operands of git are revisions, paths and patterns. It runs only what its settings name, which commands cannot change.
    git(
        "git add",
        "AnNuv",
        "",
        "all dry-run intent-to-add update verbose",
    ),
    git("git blame", "ceflswC", "L=", "date= no-progress"),
    // A word would be a new branch.
    known(
        "git branch",
        "arv",
        "",
        "all color? contains= format= list merged= no-color no-contains= no-merged= points-at= remotes show-current sort= \
         verbose",
    ),
    git("git cat-file", "epst", "", ""),
    git(
        "git commit",
        "aqv",
        "m=",
        "all allow-empty amend message= no-edit quiet verbose",
    ),
    git(
        "git describe",
        "",
        "",
        "abbrev? always dirty? long match= tags",
    ),
    git("git diff", "bpqsuwz", "G=S=U#", GIT_LOG),
    git("git diff-tree", "prstz", "", GIT_LOG),
    git("git for-each-ref", "", "", "count# format= sort="),
    // Not `-O`, which opens what it found in a program.
    git(
        "git grep",
        "EFPchiIlnqvwW",
        "A#B#C#e=f=",
        "cached color? count heading ignore-case line-number name-only untracked",
    ),
    git("git log", "bpsuwz", "G=L=S=U#n#", GIT_LOG),
    git(
        "git ls-files",
        "cdikmorstuvz",
        "x=",
        "cached deleted exclude-standard modified others stage",
    ),
    git(
        "git ls-tree",
        "dlrtz",
        "",
        "abbrev? full-tree long name-only",
    ),
    git("git merge-base", "a", "", "all is-ancestor"),
    // A word would be what it does: `expire`.
    known("git reflog", "", "n#", "date= max-count#"),
    // A word would be what it does: `add`.
    known("git remote", "v", "", "verbose"),
    git(
        "git rev-list",
        "",
        "n#",
        "all count first-parent max-count# merges no-merges since= until=",
    ),
    git(
        "git rev-parse",
        "",
        "",
        "abbrev-ref? git-dir is-inside-work-tree short? show-prefix show-toplevel verify",
    ),
    git("git shortlog", "ens", "", "all no-merges since= until="),
    git("git show", "pqsuwz", "U#", GIT_LOG),
    git("git show-ref", "", "", "heads tags verify"),
    git(
        "git status",
        "bsuvz",
        "",
        "branch ignored? long porcelain? short untracked-files?",
    ),
    // A word would be a new tag.
    known(
        "git tag",
        "l",
        "n#",
        "color? contains= format= list merged= no-color no-contains= no-merged= points-at= sort=",
    ),
    go("go build").operands(Operands::GoPackages),
    // It prints what it finds about any name, and builds nothing.
    go("go doc").operands(Operands::Any),
    go("go list").operands(Operands::GoPackages),
    go("go test").operands(Operands::GoPackages),
    // It reads the version in any file, and runs none.
    go("go version").operands(Operands::Any),
    go("go vet").operands(Operands::GoPackages),
    // Another word is another recipe, or the value of a variable.
    known("just", "nqv", "", "dry-run quiet verbose").named(),
    // How many recipes run at once, which of them, and what is printed: none of these options names a Makefile, a folder or a
    // variable, so it runs no more than what the Makefile of the project says for the targets in the key. A line without one is
    // exactly this line, since the name of the program alone would be the key to every target.
    known(
        "make",
        "Bknqsw",
        "j#",
        "always-make dry-run jobs# keep-going no-print-directory quiet silent",
    )
    .operands(Operands::Targets),
    known(
        "mypy",
        "v",
        "",
        "no-color-output pretty show-error-codes strict verbose",
    )
    .operands(Operands::Inside),
    // Another word is another target.
    known("ninja", "nv", "j#k#", "quiet verbose"),
    npm("npm test", "silent"),
    npm("npm t", "silent"),
    npm("npm run", "if-present silent").named(),
    npm("npm run-script", "if-present silent").named(),
    // Before its version 5.4, pytest evaluated the values of `-k` and `-m` as Python.
    known("pytest", "lqsvx", "k~m~", PYTEST).operands(Operands::PytestTests),
    known("python -m pytest", "lqsvx", "k~m~", PYTEST).operands(Operands::PytestTests),
    known("python3 -m pytest", "lqsvx", "k~m~", PYTEST).operands(Operands::PytestTests),
    known("python -m unittest", "bcfqv", "k=", UNITTEST).operands(Operands::PythonFiles),
    known("python3 -m unittest", "bcfqv", "k=", UNITTEST).operands(Operands::PythonFiles),
    // The same as without a word: it looks for tests in the folder where it runs. A word, `-s` or `-t` would be another folder,
    // `-p` the names of other files.
    known("python -m unittest discover", "bcfqv", "k=", UNITTEST),
    known("python3 -m unittest discover", "bcfqv", "k=", UNITTEST),
    known(
        "ruff check",
        "qv",
        "",
        "diff no-cache output-format= quiet statistics verbose",
    )
    .operands(Operands::Inside),
    known("ruff format", "qv", "", "check diff quiet verbose").operands(Operands::Inside),
    known("tsc", "", "", "noEmit pretty strict").operands(Operands::Inside),
];

const fn git(
    line: &'static str,
    flags: &'static str,
    valued: &'static str,
    long: &'static str,
) -> Subcommand {
    known(line, flags, valued, long)
        .operands(Operands::Any)
        .rest()
}

const fn go(line: &'static str) -> Subcommand {
    known(line, "", "", GO).single_dash()
}

/// The words behind `--` go to whatever program the script runs last, which may take options that name code
/// (`node --import=data:…`), so files of the project are the only ones that are known to be harmless.
const fn npm(line: &'static str, long: &'static str) -> Subcommand {
    known(line, "s", "", long).operands(Operands::Inside).rest()
}

/// A program that starts the one behind its own options and does nothing else with it.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    pub(super) flags: &'static [&'static str],
    /// Options with a value that is a number or a name: `-n 5`, `-n5`, `--signal=TERM`.
    pub(super) valued: &'static [&'static str],
    /// Words between the options and the command, each of which begins with a digit.
    pub(super) operands: usize,
}

pub(super) const WRAPPERS: &[Wrapper] = &[
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

/// Options of a program that stand before its subcommand.
pub(super) struct GlobalOptions {
    pub(super) name: &'static str,
    /// Those of the flags that change nothing about what the subcommand runs and finds.
    pub(super) harmless: &'static [&'static str],
    pub(super) flags: &'static [&'static str],
    /// Those with a value, as the next word or behind a `=`.
    pub(super) valued: &'static [&'static str],
    /// Those with a value that can give another meaning to the word that stands for the subcommand, as an alias does.
    pub(super) redefining: &'static [&'static str],
}

pub(super) const GLOBAL_OPTIONS: &[GlobalOptions] = &[GlobalOptions {
    name: "git",
    harmless: &["--no-optional-locks", "--no-pager", "-P"],
    flags: &[
        "--bare",
        "--glob-pathspecs",
        "--icase-pathspecs",
        "--literal-pathspecs",
        "--no-advice",
        "--no-lazy-fetch",
        "--no-optional-locks",
        "--no-pager",
        "--no-replace-objects",
        "--noglob-pathspecs",
        "--paginate",
        "-P",
        "-p",
    ],
    valued: &[
        "--attr-source",
        "--git-dir",
        "--namespace",
        "--work-tree",
        "-C",
    ],
    redefining: &["--config-env", "-c"],
}];

/// Subcommands of a program by the names that stand for one of them alone: neither the user's configuration nor the project's
/// can give such a name another meaning, and no two are names of one subcommand. So `npm test` is missing, which is
/// `npm run test`, and `cargo clippy`, which may be an alias.
pub(super) const NAMES_OF_SUBCOMMANDS: &[(&str, &[&str])] = &[
    (
        "cargo",
        &[
            "add",
            "bench",
            "build",
            "check",
            "clean",
            "doc",
            "fetch",
            "fix",
            "init",
            "install",
            "metadata",
            "new",
            "package",
            "publish",
            "remove",
            "run",
            "search",
            "test",
            "tree",
            "uninstall",
            "update",
            "vendor",
            "version",
            "yank",
        ],
    ),
    (
        "git",
        &[
            "add",
            "am",
            "apply",
            "archive",
            "bisect",
            "blame",
            "branch",
            "bundle",
            "cat-file",
            "checkout",
            "cherry-pick",
            "clean",
            "clone",
            "commit",
            "config",
            "describe",
            "diff",
            "diff-tree",
            "fetch",
            "for-each-ref",
            "format-patch",
            "gc",
            "grep",
            "init",
            "log",
            "ls-files",
            "ls-remote",
            "ls-tree",
            "merge",
            "merge-base",
            "mv",
            "notes",
            "pull",
            "push",
            "rebase",
            "reflog",
            "remote",
            "reset",
            "restore",
            "rev-list",
            "rev-parse",
            "revert",
            "rm",
            "shortlog",
            "show",
            "show-ref",
            "stash",
            "status",
            "submodule",
            "switch",
            "tag",
            "worktree",
        ],
    ),
    (
        "go",
        &[
            "build", "clean", "doc", "env", "fix", "fmt", "generate", "get", "install", "list",
            "mod", "run", "test", "tool", "version", "vet", "work",
        ],
    ),
    (
        "npm",
        &[
            "audit",
            "ci",
            "config",
            "docs",
            "exec",
            "init",
            "install",
            "link",
            "ls",
            "outdated",
            "pack",
            "publish",
            "run",
            "uninstall",
            "unpublish",
            "update",
            "version",
            "view",
        ],
    ),
];

/// Programs that are many programs, each under the name by which it is called.
pub(super) const MULTI_CALL: &[&str] = &["busybox", "coreutils", "toybox"];

/// Names of files that programs are links to: the name that is called, and the name of the file.
pub(super) const FILE_NAMES: &[(&str, &str)] = &[
    ("cargo", "rustup"),
    ("egrep", "grep"),
    ("fdfind", "fd"),
    ("fgrep", "grep"),
    ("npm", "npm-cli.js"),
    ("which", "which.debianutils"),
];

/// Programs that read one of their words as a command line.
pub(in crate::command) const SHELLS: &[&str] = &[
    "ash", "bash", "busybox", "dash", "ksh", "lksh", "mksh", "posh", "rbash", "rksh", "rzsh", "sh",
    "yash", "zsh",
];
