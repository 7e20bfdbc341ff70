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

/// `find` and `sed` are looked at by functions of their own.
pub(super) const INERT: &[Inert] = &[
    inert("b2sum"),
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
    inert_but("fd", "lxX", "exec exec-batch list-details"),
    inert_but("fdfind", "lxX", "exec exec-batch list-details"),
    inert("fgrep"),
    // `-C` writes a compiled list, `-z` and `-Z` run programs that decompress.
    inert_but("file", "CzZ", "compile uncompress uncompress-noreport"),
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
    inert_but("rg", "z", "hostname-bin pre search-zip"),
    inert("seq"),
    inert("sha1sum"),
    inert("sha224sum"),
    inert("sha256sum"),
    inert("sha384sum"),
    inert("sha512sum"),
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
    /// Letters of harmless options that take a value, in the same word or in the next one.
    pub(super) valued: &'static str,
    /// Long harmless options; those that end with `=` take a value, behind `=` or as the next word.
    pub(super) long: &'static str,
    /// Whether the next word belongs to the line: the name of a script or a target of the project.
    pub(super) is_named: bool,
    /// Whether any words may stand behind `--`: they go to the project's own code, or name files.
    pub(super) has_rest: bool,
    /// Whether long options are written with one dash, too: `-run=Name`.
    pub(super) is_single_dash: bool,
    /// Whether its operands name code to run, so that they must not lead out of the project.
    pub(super) is_inside: bool,
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
        has_rest: false,
        is_single_dash: false,
        is_inside: false,
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

    const fn inside(mut self) -> Subcommand {
        self.is_inside = true;
        self
    }

    const fn single_dash(mut self) -> Subcommand {
        self.is_single_dash = true;
        self
    }
}

const CARGO: &str = "\
    all all-features all-targets bench= benches bin= bins color= doc example= examples exclude= features= \
    frozen jobs= keep-going lib locked message-format= no-default-features no-deps no-fail-fast no-run \
    offline package= profile= quiet release test= tests verbose workspace";

const GIT_LOG: &str = "\
    abbrev-commit all author= cached date= decorate diff-filter= first-parent follow format= graph grep= \
    max-count= merges name-only name-status no-color no-ext-diff no-merges no-patch numstat oneline patch \
    pretty reverse shortstat since= staged stat summary unified= until= word-diff";

const GO: &str = "\
    bench= benchmem benchtime= count= cover failfast json list= p= race run= short skip= tags= timeout= v";

const PYTEST: &str = "\
    collect-only durations= exitfirst failed-first ff last-failed lf maxfail= no-header quiet showlocals \
    stepwise tb= verbose";

pub(super) const SUBCOMMANDS: &[Subcommand] = &[
    known("cargo bench", "qrv", "Fjp", CARGO).rest(),
    known("cargo build", "qrv", "Fjp", CARGO),
    known("cargo b", "qrv", "Fjp", CARGO),
    known("cargo check", "qrv", "Fjp", CARGO),
    known("cargo c", "qrv", "Fjp", CARGO),
    // What stands behind `--` goes to the compiler, which takes the names of linkers.
    known("cargo clippy", "qrv", "Fjp", CARGO),
    known("cargo doc", "qrv", "Fjp", CARGO),
    known("cargo fmt", "qv", "p", "all check package= quiet verbose"),
    known("cargo metadata", "qrv", "Fjp", CARGO),
    known("cargo run", "qrv", "Fjp", CARGO).rest(),
    known("cargo r", "qrv", "Fjp", CARGO).rest(),
    known("cargo test", "qrv", "Fjp", CARGO).rest(),
    known("cargo t", "qrv", "Fjp", CARGO).rest(),
    known("cargo tree", "qrv", "Fjp", CARGO),
    known("cmake --build", "v", "jt", "parallel= target= verbose").inside(),
    known("ctest", "VQ", "Rj", "output-on-failure parallel= verbose"),
    known(
        "git add",
        "AnNuv",
        "",
        "all dry-run intent-to-add update verbose",
    )
    .rest(),
    known("git blame", "ceflswC", "L", "date= no-progress").rest(),
    known("git cat-file", "epst", "", "").rest(),
    known(
        "git commit",
        "aqv",
        "m",
        "all allow-empty amend message= no-edit quiet verbose",
    )
    .rest(),
    known(
        "git describe",
        "",
        "",
        "abbrev always dirty long match= tags",
    )
    .rest(),
    known("git diff", "bpqsuwz", "GSU", GIT_LOG).rest(),
    known("git diff-tree", "prstz", "", GIT_LOG).rest(),
    known("git for-each-ref", "", "", "count= format= sort=").rest(),
    // Not `-O`, which opens what it found in a program.
    known(
        "git grep",
        "EFPchiIlnqvwW",
        "ABCef",
        "cached count heading ignore-case line-number name-only untracked",
    )
    .rest(),
    known("git log", "bpsuwz", "GLSUn", GIT_LOG).rest(),
    known(
        "git ls-files",
        "cdikmorstuvz",
        "x",
        "cached deleted exclude-standard modified others stage",
    )
    .rest(),
    known("git ls-tree", "dlrtz", "", "full-tree long name-only").rest(),
    known("git merge-base", "a", "", "all is-ancestor").rest(),
    known(
        "git rev-list",
        "",
        "n",
        "all count first-parent max-count= merges no-merges since= until=",
    )
    .rest(),
    known(
        "git rev-parse",
        "",
        "",
        "abbrev-ref git-dir is-inside-work-tree short show-prefix show-toplevel verify",
    )
    .rest(),
    known("git shortlog", "ens", "", "all no-merges since= until=").rest(),
    known("git show", "pqsuwz", "U", GIT_LOG).rest(),
    known("git show-ref", "", "", "heads tags verify").rest(),
    known(
        "git status",
        "bsuvz",
        "",
        "branch ignored long porcelain short untracked-files",
    )
    .rest(),
    known("go build", "", "", GO).single_dash().inside(),
    known("go doc", "", "", GO).single_dash().inside(),
    known("go list", "", "", GO).single_dash().inside(),
    known("go test", "", "", GO).single_dash().inside(),
    known("go version", "", "", GO).single_dash().inside(),
    known("go vet", "", "", GO).single_dash().inside(),
    known("just", "nqv", "", "dry-run quiet verbose").named(),
    known(
        "make",
        "Bknqsw",
        "j",
        "always-make dry-run jobs= keep-going quiet silent",
    )
    .named(),
    known(
        "mypy",
        "v",
        "",
        "no-color-output pretty show-error-codes strict verbose",
    ),
    known("ninja", "nv", "jk", "quiet verbose"),
    known("npm test", "s", "", "silent"),
    known("npm t", "s", "", "silent"),
    known("npm run", "s", "", "if-present silent")
        .named()
        .rest(),
    known("npm run-script", "s", "", "if-present silent")
        .named()
        .rest(),
    known("pytest", "lqsvx", "km", PYTEST).inside(),
    known("python -m pytest", "lqsvx", "km", PYTEST).inside(),
    known("python3 -m pytest", "lqsvx", "km", PYTEST).inside(),
    known(
        "python -m unittest",
        "bcfqv",
        "k",
        "buffer failfast quiet verbose",
    )
    .inside(),
    known(
        "python3 -m unittest",
        "bcfqv",
        "k",
        "buffer failfast quiet verbose",
    )
    .inside(),
    known(
        "ruff check",
        "qv",
        "",
        "diff no-cache output-format= quiet statistics verbose",
    ),
    known("ruff format", "qv", "", "check diff quiet verbose"),
    known("tsc", "", "", "noEmit pretty strict").inside(),
];

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
    pub(super) flags: &'static [&'static str],
    /// Those with a value, as the next word or behind a `=`.
    pub(super) valued: &'static [&'static str],
    /// Those with a value that can give another meaning to the word that stands for the subcommand, as an alias does.
    pub(super) redefining: &'static [&'static str],
}

pub(super) const GLOBAL_OPTIONS: &[GlobalOptions] = &[GlobalOptions {
    name: "git",
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

/// Programs that read one of their words as a command line.
pub(in crate::command) const SHELLS: &[&str] = &[
    "ash", "bash", "busybox", "dash", "ksh", "mksh", "sh", "yash", "zsh",
];
