//! Programs that run other programs, and the words that make them do it.
//!
//! The table cannot be complete and does not have to be: what a program may do at all is the cage's business.
//! It keeps a yes to one program from being a yes to all of them, for the programs that people grant.

use super::options;

/// What a program does with its words beyond its own work.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// Runs what its words say, in a way that is not followed: always asked.
    Runner,
    /// Like [`Rule::Runner`], where a command stands plainly among the words: what is found of it counts for denials.
    RunnerOf,
    /// Starts the program behind its own options, and does nothing else with it: both have to be granted.
    Wrapper(Wrapper),
    /// Runs a file with code: both have to be granted. These options do not matter, any others may be code.
    Interpreter(&'static [&'static str]),
    /// A shell: an interpreter whose `-c` holds a command line.
    Shell,
    /// Runs other programs if it gets one of these options.
    Options(Options),
    /// Runs other programs if a word begins with one of these.
    Prefixes(&'static [&'static str]),
    /// Runs other programs if its first word without a dash is one of these.
    Words(&'static [&'static str]),
    /// Looked at by a function of its own, which says what it runs.
    Special(fn(&[String]) -> bool),
}

/// The options of a wrapper that do not matter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wrapper {
    /// Options that stand alone.
    pub(super) flags: &'static [&'static str],
    /// Options with a value: `-n 5`, `-n5`, `--signal 9`, `--signal=9`.
    pub(super) valued: &'static [&'static str],
    /// Words between the options and the command.
    pub(super) operands: usize,
}

/// Options that make a program run others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Letters: one counts anywhere in a word that begins with a single dash.
    pub(super) short: &'static str,
    /// Long names without dashes: beginnings of them count, as `getopt_long` takes them.
    pub(super) long: &'static [&'static str],
}

const fn wrapper(
    flags: &'static [&'static str],
    valued: &'static [&'static str],
    operands: usize,
) -> Rule {
    Rule::Wrapper(Wrapper {
        flags,
        valued,
        operands,
    })
}

const fn runs_with(short: &'static str, long: &'static [&'static str]) -> Rule {
    Rule::Options(Options { short, long })
}

const PYTHON: Rule = Rule::Interpreter(&[
    "-B", "-E", "-I", "-O", "-OO", "-P", "-b", "-bb", "-q", "-s", "-S", "-u", "-v",
]);

/// Name and rule, sorted by name.
const RULES: &[(&str, Rule)] = &[
    ("aa-exec", Rule::RunnerOf),
    ("ack", runs_with("", &["pager"])),
    ("ag", runs_with("", &["pager"])),
    ("ansible", Rule::Runner),
    ("ansible-playbook", Rule::Runner),
    ("apt", runs_with("oc", &["option", "config-file"])),
    ("apt-get", runs_with("oc", &["option", "config-file"])),
    ("ash", Rule::Shell),
    ("at", Rule::Runner),
    ("awk", Rule::Runner),
    ("bash", Rule::Shell),
    ("bat", Rule::Runner),
    ("batcat", Rule::Runner),
    ("batch", Rule::Runner),
    ("bpftrace", Rule::Runner),
    ("bun", Rule::Special(options::bun)),
    ("bundle", Rule::Words(&["exec", "e", "console"])),
    ("bunx", Rule::Runner),
    ("bwrap", Rule::RunnerOf),
    ("c++", Rule::Special(options::compiler)),
    ("c89", Rule::Special(options::compiler)),
    ("c99", Rule::Special(options::compiler)),
    ("capsh", Rule::Runner),
    ("cargo", Rule::Special(options::cargo)),
    ("catchsegv", Rule::RunnerOf),
    ("cc", Rule::Special(options::compiler)),
    ("ccache", Rule::RunnerOf),
    ("choom", Rule::RunnerOf),
    ("chpst", Rule::RunnerOf),
    ("chronic", Rule::RunnerOf),
    ("chroot", Rule::RunnerOf),
    ("chrt", Rule::RunnerOf),
    ("clang", Rule::Special(options::compiler)),
    ("clang++", Rule::Special(options::compiler)),
    ("cmake", Rule::Special(options::cmake)),
    ("conda", Rule::Words(&["run"])),
    ("cpio", Rule::Runner),
    ("cpp", Rule::Special(options::compiler)),
    ("cpulimit", Rule::RunnerOf),
    ("crontab", Rule::Runner),
    ("csh", Rule::Shell),
    ("ctest", Rule::Runner),
    ("ctr", Rule::Runner),
    ("dash", Rule::Shell),
    ("dbus-run-session", Rule::RunnerOf),
    ("dc", Rule::Runner),
    ("delta", Rule::Runner),
    ("deno", Rule::Special(options::bun)),
    ("diff3", runs_with("", &["diff-program"])),
    ("direnv", Rule::Words(&["exec"])),
    ("distcc", Rule::RunnerOf),
    ("doas", Rule::RunnerOf),
    ("docker", Rule::Runner),
    ("docker-compose", Rule::Runner),
    ("dotenv", Rule::RunnerOf),
    ("dotnet", Rule::Runner),
    (
        "dpkg",
        runs_with(
            "",
            &[
                "pre-invoke",
                "post-invoke",
                "status-logger",
                "root",
                "instdir",
                "admindir",
            ],
        ),
    ),
    ("dumb-init", Rule::RunnerOf),
    ("eatmydata", Rule::RunnerOf),
    ("ed", Rule::Runner),
    ("elvish", Rule::Shell),
    ("emacs", Rule::Runner),
    ("emacsclient", Rule::Runner),
    ("entr", Rule::RunnerOf),
    ("env", wrapper(&[], &[], 0)),
    ("envdir", Rule::RunnerOf),
    ("ex", Rule::Runner),
    ("expect", Rule::Runner),
    ("fakechroot", Rule::RunnerOf),
    ("fakeroot", Rule::RunnerOf),
    ("faketime", Rule::RunnerOf),
    ("fd", runs_with("xX", &["exec", "exec-batch"])),
    ("fdfind", runs_with("xX", &["exec", "exec-batch"])),
    (
        "find",
        Rule::Prefixes(&["-exec", "-ok", "-delete", "-fprint", "-fls"]),
    ),
    ("firejail", Rule::RunnerOf),
    ("fish", Rule::Shell),
    ("flatpak", Rule::Runner),
    ("flock", Rule::RunnerOf),
    ("fzf", Rule::Runner),
    ("g++", Rule::Special(options::compiler)),
    ("gawk", Rule::Runner),
    ("gcc", Rule::Special(options::compiler)),
    ("gccgo", Rule::Special(options::compiler)),
    ("gdb", Rule::Runner),
    ("gfortran", Rule::Special(options::compiler)),
    ("gh", Rule::Runner),
    ("ghc", runs_with("eF", &[])),
    ("git", Rule::Special(options::git)),
    ("gnat", Rule::Special(options::compiler)),
    ("gnuplot", Rule::Runner),
    ("go", Rule::Special(options::go)),
    ("gosu", Rule::RunnerOf),
    (
        "gpg",
        runs_with(
            "",
            &[
                "photo-viewer",
                "agent-program",
                "dirmngr-program",
                "keyserver-options",
                "exec-path",
            ],
        ),
    ),
    ("gradle", runs_with("I", &["init-script"])),
    ("groovy", Rule::Interpreter(&[])),
    ("guile", Rule::Interpreter(&[])),
    ("gvim", Rule::Runner),
    (
        "hg",
        runs_with(
            "",
            &[
                "config",
                "configfile",
                "config-file",
                "ssh",
                "remotecmd",
                "tool",
                "debugger",
            ],
        ),
    ),
    ("hyperfine", Rule::Runner),
    ("install", runs_with("s", &["strip", "strip-program"])),
    (
        "ionice",
        wrapper(
            &["-t", "--ignore"],
            &["-c", "-n", "--class", "--classdata"],
            0,
        ),
    ),
    ("ipython", Rule::Runner),
    ("irb", Rule::Runner),
    ("java", Rule::Runner),
    ("joe", Rule::Runner),
    ("jshell", Rule::Runner),
    ("julia", Rule::Interpreter(&[])),
    (
        "just",
        runs_with(
            "c",
            &[
                "command",
                "shell",
                "shell-arg",
                "set",
                "chooser",
                "evaluate",
            ],
        ),
    ),
    ("jython", Rule::Runner),
    ("kak", Rule::Runner),
    ("ksh", Rule::Shell),
    ("kubectl", Rule::Runner),
    ("less", Rule::Runner),
    ("lksh", Rule::Shell),
    ("lldb", Rule::Runner),
    ("logsave", Rule::RunnerOf),
    ("ltrace", Rule::RunnerOf),
    ("lua", Rule::Interpreter(&["-E", "-W"])),
    ("luajit", Rule::Interpreter(&["-E"])),
    ("lxc", Rule::Runner),
    ("m4", Rule::Runner),
    ("make", Rule::Special(options::make)),
    (
        "man",
        runs_with(
            "PHXTZ",
            &[
                "pager",
                "html",
                "gxditview",
                "troff-device",
                "ditroff",
                "preprocessor",
            ],
        ),
    ),
    ("mawk", Rule::Runner),
    ("micropython", Rule::Runner),
    ("mksh", Rule::Shell),
    ("more", Rule::Runner),
    ("most", Rule::Runner),
    ("mpirun", Rule::RunnerOf),
    ("msgexec", Rule::RunnerOf),
    ("msgfilter", Rule::RunnerOf),
    ("mvim", Rule::Runner),
    ("mvn", Rule::Runner),
    ("mysql", Rule::Runner),
    ("nano", Rule::Runner),
    ("nawk", Rule::Runner),
    ("nc", runs_with("ec", &["exec", "sh-exec", "lua-exec"])),
    ("ncat", runs_with("ec", &["exec", "sh-exec", "lua-exec"])),
    ("nice", wrapper(&[], &["-n", "--adjustment"], 0)),
    ("nix", Rule::Runner),
    ("nix-shell", Rule::Runner),
    ("node", Rule::Interpreter(&[])),
    ("nodejs", Rule::Interpreter(&[])),
    ("nodemon", Rule::Runner),
    ("nohup", wrapper(&[], &[], 0)),
    ("npm", Rule::Special(options::npm)),
    ("npx", Rule::Runner),
    ("nsenter", Rule::RunnerOf),
    ("nu", Rule::Shell),
    ("numactl", Rule::RunnerOf),
    ("nvcc", Rule::Special(options::compiler)),
    ("nvim", Rule::Runner),
    ("octave", Rule::Interpreter(&["-q"])),
    ("oksh", Rule::Shell),
    ("osascript", Rule::Runner),
    ("parallel", Rule::RunnerOf),
    ("patch", runs_with("e", &["ed"])),
    ("pdb", Rule::Runner),
    ("pdksh", Rule::Shell),
    ("perf", Rule::Runner),
    ("perl", Rule::Interpreter(&["-T", "-W", "-t", "-w"])),
    ("php", Rule::Interpreter(&["-n", "-q"])),
    ("pico", Rule::Runner),
    ("pipx", Rule::Words(&["run"])),
    ("pkexec", Rule::RunnerOf),
    ("pnpm", Rule::Special(options::npm)),
    ("pnpx", Rule::Runner),
    ("podman", Rule::Runner),
    ("poetry", Rule::Words(&["run", "shell"])),
    ("posh", Rule::Shell),
    ("prlimit", Rule::RunnerOf),
    ("proot", Rule::RunnerOf),
    ("prove", Rule::Runner),
    ("proxychains", Rule::RunnerOf),
    ("psql", Rule::Runner),
    ("pwsh", Rule::Runner),
    ("pydoc", Rule::Runner),
    ("pypy", PYTHON),
    ("python", PYTHON),
    ("r", Rule::Runner),
    ("rg", runs_with("", &["pre", "hostname-bin"])),
    ("rlwrap", Rule::RunnerOf),
    ("rscript", Rule::Interpreter(&["--vanilla"])),
    ("rsync", runs_with("e", &["rsh", "rsync-path", "daemon"])),
    ("ruby", Rule::Interpreter(&["-w", "-W"])),
    ("run-parts", Rule::Runner),
    ("run0", Rule::RunnerOf),
    ("runcon", Rule::RunnerOf),
    ("runuser", Rule::Runner),
    ("rustc", Rule::Special(options::compiler)),
    ("rustup", Rule::Words(&["run"])),
    ("rview", Rule::Runner),
    ("rvim", Rule::Runner),
    ("sccache", Rule::RunnerOf),
    ("scp", runs_with("SoFD", &[])),
    ("screen", Rule::Runner),
    ("script", Rule::Runner),
    ("sdiff", runs_with("", &["diff-program"])),
    ("sed", Rule::Special(options::sed)),
    ("setarch", Rule::RunnerOf),
    ("setpriv", Rule::RunnerOf),
    ("setsid", Rule::RunnerOf),
    ("setuidgid", Rule::RunnerOf),
    ("sftp", runs_with("SoFDbs", &[])),
    ("sg", Rule::Runner),
    ("sh", Rule::Shell),
    ("socat", Rule::Runner),
    ("softlimit", Rule::RunnerOf),
    ("sort", runs_with("", &["compress-program"])),
    ("split", runs_with("", &["filter"])),
    ("sqlite3", Rule::Runner),
    ("ssh", Rule::Runner),
    ("ssh-agent", Rule::RunnerOf),
    ("start-stop-daemon", Rule::Runner),
    (
        "stdbuf",
        wrapper(
            &[],
            &["-i", "-o", "-e", "--input", "--output", "--error"],
            0,
        ),
    ),
    ("strace", Rule::RunnerOf),
    ("su", Rule::Runner),
    ("sudo", Rule::RunnerOf),
    ("sudoedit", Rule::Runner),
    (
        "svn",
        runs_with(
            "",
            &[
                "config-option",
                "config-dir",
                "diff-cmd",
                "diff3-cmd",
                "editor-cmd",
            ],
        ),
    ),
    ("systemctl", Rule::Runner),
    ("systemd-inhibit", Rule::RunnerOf),
    ("systemd-run", Rule::RunnerOf),
    ("tar", Rule::Special(options::tar)),
    ("taskset", Rule::RunnerOf),
    ("tcc", Rule::Special(options::compiler)),
    ("tclsh", Rule::Interpreter(&[])),
    ("tcsh", Rule::Shell),
    ("telnet", Rule::Runner),
    (
        "time",
        wrapper(
            &["-p", "-v", "--verbose", "--portability"],
            &["-f", "--format"],
            0,
        ),
    ),
    (
        "timeout",
        wrapper(
            &[
                "-f",
                "-p",
                "-v",
                "--foreground",
                "--preserve-status",
                "--verbose",
            ],
            &["-k", "-s", "--kill-after", "--signal"],
            1,
        ),
    ),
    ("tini", Rule::RunnerOf),
    ("tmux", Rule::Runner),
    ("torsocks", Rule::RunnerOf),
    ("unbuffer", Rule::RunnerOf),
    ("unshare", Rule::RunnerOf),
    ("uv", Rule::Words(&["run", "tool", "x"])),
    ("uvx", Rule::Runner),
    ("valgrind", Rule::RunnerOf),
    ("vi", Rule::Runner),
    ("view", Rule::Runner),
    ("vim", Rule::Runner),
    ("vimdiff", Rule::Runner),
    ("watch", Rule::RunnerOf),
    ("watchexec", Rule::RunnerOf),
    (
        "wget",
        runs_with("e", &["use-askpass", "execute", "config"]),
    ),
    ("wish", Rule::Interpreter(&[])),
    ("xargs", Rule::RunnerOf),
    ("xonsh", Rule::Shell),
    ("xterm", Rule::Runner),
    ("xvfb-run", Rule::RunnerOf),
    ("yarn", Rule::Special(options::npm)),
    ("yash", Rule::Shell),
    ("zip", runs_with("T", &["unzip-command", "test"])),
    ("zsh", Rule::Shell),
];

/// Programs that are many in one file, told apart by the name they are called by. A grant is for a file, so a
/// yes to one of them would be a yes to all.
const MANY_IN_ONE: &[&str] = &["busybox", "coreutils", "sbase-box", "toybox"];

/// Names under which `rustup` starts a tool of the chosen toolchain; each is judged as that tool.
const RUSTUP_TOOLS: &[&str] = &[
    "cargo",
    "cargo-clippy",
    "cargo-fmt",
    "cargo-miri",
    "clippy-driver",
    "rls",
    "rust-analyzer",
    "rustc",
    "rustdoc",
    "rustfmt",
];

/// What is known about a program of this name.
pub(super) fn rule(name: &str) -> Option<Rule> {
    // The dynamic linker starts whatever it is given, and is called `ld-linux-x86-64.so.2` and the like.
    if name.starts_with("ld-") || name.starts_with("ld.so") {
        return Some(Rule::RunnerOf);
    }
    spellings(name).into_iter().find_map(|name| {
        let at = RULES
            .binary_search_by(|(other, _)| (*other).cmp(name))
            .ok()?;
        Some(RULES[at].1)
    })
}

/// Whether a file of this name is many programs.
pub(super) fn is_many_in_one(name: &str) -> bool {
    spellings(name)
        .iter()
        .any(|name| MANY_IN_ONE.contains(name))
}

/// Whether `real`, the file behind the name, says nothing about what runs: it is `rustup` in front of the tool.
pub(super) fn is_toolchain_link(name: &str, real: &str) -> bool {
    real == "rustup" && RUSTUP_TOOLS.contains(&name)
}

/// A name as it is, without its version, without its flavour, without the machine it is for: `python3.11`,
/// `vim.basic`, `x86_64-linux-gnu-gcc-12`.
fn spellings(name: &str) -> [&str; 4] {
    let without_version = |name: &str| -> usize {
        let short = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        if short.is_empty() {
            name.len()
        } else {
            short.len()
        }
    };
    let plain = &name[..without_version(name)];
    let flavourless = name.split('.').next().unwrap_or(name);
    let flavourless = &flavourless[..without_version(flavourless)];
    let machineless = plain.rsplit("-gnu-").next().unwrap_or(plain);
    [name, plain, flavourless, machineless]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        for pair in RULES.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{} before {}", pair[0].0, pair[1].0);
        }
    }

    #[test]
    fn names_lose_versions_and_flavours() {
        for (name, known) in [
            ("python3.11", true),
            ("python3", true),
            ("perl5.36", true),
            ("vim.basic", true),
            ("nc.openbsd", true),
            ("lua5.4", true),
            ("x86_64-linux-gnu-gcc-12", true),
            ("ld-linux-x86-64.so.2", true),
            ("bash", true),
            ("sqlite3", true),
            ("ls", false),
            ("python3-config", false),
            ("123", false),
            ("", false),
        ] {
            assert_eq!(rule(name).is_some(), known, "{name}");
        }
        assert!(is_many_in_one("busybox-1.36"));
        assert!(is_toolchain_link("cargo", "rustup"));
        assert!(!is_toolchain_link("evil", "rustup"));
    }
}
