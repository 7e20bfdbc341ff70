//! Programs whose words need a closer look. Each function says whether they make it run other programs.

use super::table::Options;

/// Whether one of the options stands among the words. What looks like one counts wherever it stands: behind `--`
/// and as the value of another, too.
pub(super) fn has(options: &Options, words: &[String]) -> bool {
    words.iter().any(|word| {
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            return !name.is_empty() && options.long.iter().any(|other| other.starts_with(name));
        }
        match word.strip_prefix('-') {
            Some(letters) => letters.contains(|c| options.short.contains(c)),
            None => false,
        }
    })
}

fn has_long(names: &'static [&'static str], words: &[String]) -> bool {
    let options = Options {
        short: "",
        long: names,
    };
    has(&options, words)
}

/// The first word that is no option.
pub(super) fn operand(words: &[String]) -> Option<&str> {
    words
        .iter()
        .map(String::as_str)
        .find(|word| !word.starts_with('-'))
}

/// Subcommands of git that run what they are told to, or change what it runs later.
const GIT_RUNNERS: &[&str] = &[
    "bisect",
    "citool",
    "credential",
    "daemon",
    "difftool",
    "fast-import",
    "filter-branch",
    "gui",
    "hook",
    "instaweb",
    "maintenance",
    "mergetool",
    "receive-pack",
    "send-email",
    "shell",
    "submodule",
    "upload-pack",
    "web--browse",
];

/// `git`: in front of the subcommand only what is known to be harmless.
pub(super) fn git(words: &[String]) -> bool {
    let mut rest = words.iter().map(String::as_str);
    let command = loop {
        match rest.next() {
            // Not `-C`: the settings of whatever repository lies there may name programs.
            Some(
                "-P" | "--no-pager" | "--no-optional-locks" | "--literal-pathspecs" | "--version",
            ) => {}
            Some(option) if option.starts_with('-') => return true,
            Some(command) => break command,
            None => return false,
        }
    };
    let options: Vec<String> = rest.map(str::to_owned).collect();
    let short = match command {
        "clone" => "cu",
        "rebase" => "xi",
        "grep" => "O",
        "difftool" => "x",
        _ => "",
    };
    // Only as the first word, and with nothing like an option behind it: `git config NAME VALUE --get` writes.
    let is_reading = || {
        options.split_first().is_some_and(|(first, rest)| {
            let reads = ["--get", "--get-all", "--get-regexp", "--list", "-l"];
            reads.contains(&first.as_str()) && rest.iter().all(|word| !word.starts_with('-'))
        })
    };
    GIT_RUNNERS.contains(&command)
        || (command == "config" && !is_reading())
        || (command == "remote"
            && options
                .iter()
                .any(|word| word == "add" || word == "set-url"))
        || options.iter().any(|word| word.contains("ext::"))
        || has(
            &Options {
                short,
                long: &[
                    "config",
                    "exec",
                    "extcmd",
                    "interactive",
                    "open-files-in-pager",
                    "receive-pack",
                    "template",
                    "upload-pack",
                ],
            },
            &options,
        )
}

/// `cargo`: `--config` names linkers, wrappers and runners, and so do words that are handed to a compiler.
pub(super) fn cargo(words: &[String]) -> bool {
    let hands_on = |word: &String| matches!(word.as_str(), "rustc" | "rustdoc" | "clippy" | "fix");
    has_long(&["config"], words) || (words.iter().any(hands_on) && compiler(words))
}

/// `make`: code on the command line, or variables that hold commands.
pub(super) fn make(words: &[String]) -> bool {
    let options = Options {
        short: "E",
        long: &["eval"],
    };
    has(&options, words)
        || words
            .iter()
            .any(|word| !word.starts_with('-') && word.contains('='))
}

/// `cmake`: script mode, its own tools (`-E env`), programs to be used.
pub(super) fn cmake(words: &[String]) -> bool {
    words.iter().any(|word| {
        let variable = word.to_ascii_uppercase();
        word.starts_with("-P")
            || word.starts_with("-E")
            || [
                "COMPILER",
                "LAUNCHER",
                "PROGRAM",
                "COMMAND",
                "EXECUTABLE",
                "LINKER",
            ]
            .iter()
            .any(|part| variable.contains(part))
    })
}

/// `gcc`, `clang`, `rustc`: plugins, wrappers, other linkers, options from files.
pub(super) fn compiler(words: &[String]) -> bool {
    let prefixes = [
        "B",
        "Wl,-plugin",
        "Wl,--plugin",
        "plugin",
        "wrapper",
        "fplugin",
        "fpass-plugin",
        "specs",
        "Xclang",
        "load",
        "fuse-ld",
        "ld-path",
    ];
    let parts = ["linker", "codegen-backend"];
    words.iter().any(|word| {
        let option = word
            .strip_prefix('-')
            .map(|option| option.trim_start_matches('-'));
        word.starts_with('@')
            || parts.iter().any(|part| word.contains(part))
            || option.is_some_and(|option| prefixes.iter().any(|prefix| option.starts_with(prefix)))
    })
}

/// `go`: programs that run tests or tools.
pub(super) fn go(words: &[String]) -> bool {
    let is_runner = |word: &String| {
        let name = word.trim_start_matches('-');
        word.starts_with('-')
            && [
                "exec",
                "toolexec",
                "vettool",
                "overlay",
                "ldflags",
                "gccgoflags",
            ]
            .iter()
            .any(|option| name.starts_with(option))
    };
    matches!(operand(words), Some("generate" | "env" | "tool")) || words.iter().any(is_runner)
}

/// `npm`, `pnpm`, `yarn`: programs of packages, other shells, settings.
pub(super) fn npm(words: &[String]) -> bool {
    let runners = [
        "c", "config", "create", "dlx", "edit", "exec", "explore", "init", "innit", "node", "set",
        "x",
    ];
    let options = Options {
        short: "c",
        long: &[
            "call",
            "editor",
            "node-options",
            "script-shell",
            "shell",
            "viewer",
            "globalconfig",
            "userconfig",
        ],
    };
    operand(words).is_some_and(|word| runners.contains(&word)) || has(&options, words)
}

/// `bun`, `deno`: code on the command line, programs of packages.
pub(super) fn bun(words: &[String]) -> bool {
    let options = Options {
        short: "ep",
        long: &["eval", "print", "preload", "require", "import", "shell"],
    };
    matches!(
        operand(words),
        Some("x" | "exec" | "eval" | "repl" | "create" | "run" | "task")
    ) || has(&options, words)
}

/// `tar`: filters and actions; its first word needs no dash.
pub(super) fn tar(words: &[String]) -> bool {
    let options = Options {
        short: "IF",
        long: &[
            "checkpoint-action",
            "info-script",
            "new-volume-script",
            "rmt-command",
            "rsh-command",
            "to-command",
            "use-compress-program",
        ],
    };
    let first = words
        .first()
        .is_some_and(|word| !word.starts_with('-') && word.contains(['I', 'F']));
    first || has(&options, words)
}

/// `sed`: a script may run programs (`e`) and write files (`w`), so it has to be one of the usual plain ones:
/// `10,20p`, `$d`, `s/old/new/g`.
pub(super) fn sed(words: &[String]) -> bool {
    let mut scripts = Vec::new();
    let mut operands = Vec::new();
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word {
            "-n" | "-i" | "-E" | "-r" | "-s" | "-z" | "-u" | "-ni" | "-Ei" | "-nE" | "-ri"
            | "--version" => {}
            "-e" => scripts.extend(rest.next()),
            word if word.starts_with('-') => return true,
            word => operands.push(word),
        }
    }
    if scripts.is_empty() {
        scripts.extend(operands.first());
    }
    !scripts.into_iter().all(is_plain_sed)
}

fn is_plain_sed(script: &str) -> bool {
    let address = script.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',' || c == '$');
    if matches!(address, "p" | "d" | "q" | "=") {
        return true;
    }
    let Some(substitution) = address.strip_prefix('s') else {
        return false;
    };
    let Some(separator) = substitution.chars().next().filter(|c| "/|,#:".contains(*c)) else {
        return false;
    };
    // With exactly three separators there is one way to read it, or none.
    let parts: Vec<&str> = substitution.split(separator).collect();
    let [_, _, _, flags] = parts.as_slice() else {
        return false;
    };
    !script.contains('\n')
        && flags
            .chars()
            .all(|c| "gpIi".contains(c) || c.is_ascii_digit())
}
