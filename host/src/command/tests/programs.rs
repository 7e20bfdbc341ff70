//! Which programs a line comes to, by its names and by the files behind them.

use super::machine::Machine;
use crate::command::{CommandError, Reading};

/// Lines that one yes can be for, and all that has to be granted.
#[test]
fn wrappers_and_scripts_are_seen_through() {
    let machine = Machine::new();
    for (line, programs) in [
        ("cargo build", "cargo"),
        ("/bin-of-test/cargo build", "cargo"),
        ("./tool.sh --fast", "tool.sh"),
        ("env cargo build", "env cargo"),
        ("env", "env"),
        ("timeout 5 cargo build", "timeout cargo"),
        ("timeout -k 5 --signal=9 1.5m cargo build", "timeout cargo"),
        ("nice -n 10 cargo build", "nice cargo"),
        ("nice -n10 cargo build", "nice cargo"),
        (
            "nohup nice timeout 5 cargo build",
            "nohup nice timeout cargo",
        ),
        ("ionice -c2 -n 7 cargo build", "ionice cargo"),
        ("stdbuf -oL cargo build", "stdbuf cargo"),
        ("/bin-of-test/time -p cargo build", "time cargo"),
        ("python3 gen.py --all", "python3.11 gen.py"),
        ("python3 -u gen.py", "python3.11 gen.py"),
        ("sh -eu tool.sh", "sh tool.sh"),
        ("bash tool.sh -c x", "bash tool.sh"),
        ("nice python3 gen.py", "nice python3.11 gen.py"),
        ("python3 --version", "python3.11"),
        ("find . -name '*.rs' -print", "find"),
        ("sort -k2,2 -u f", "sort"),
        ("rg --pre-glob x y", "rg"),
        ("git log --oneline -n 3", "git"),
        ("git --no-pager diff --stat", "git"),
        ("git push -u origin main", "git"),
        ("git config --get user.name", "git"),
        ("sed -n '10,20p' f", "sed"),
        ("sed -i 's/old/new/g' f", "sed"),
        ("sed -n -e '$=' f", "sed"),
        ("tar -xzf a.tar.gz -C dir", "tar"),
        ("make -j4 test", "make"),
        ("npm run build", "npm"),
        ("rustc --version", "rustup"),
        ("list -l", "ls"),
    ] {
        let found = machine.read(line).unwrap().reading;
        let expected = machine.paths(programs);
        assert_eq!(found, Reading::Simple { programs: expected }, "{line}");
    }
}

/// Lines that are asked each time, why, and the programs whose denial refuses them.
#[test]
fn runners_are_asked_each_time() {
    let machine = Machine::new();
    let more = |name: &str| format!("{name} with words that may run other programs");
    let runs = |name: &str| format!("{name} runs other programs");
    let code = |name: &str| format!("{name} runs code");
    let mut wrong = Vec::new();
    for (line, why, programs) in [
        // Compound lines: every part counts.
        ("cargo build && git push", "&&".to_owned(), "cargo git"),
        (
            "cargo build | sort -u; git push",
            "a pipe".into(),
            "cargo sort git",
        ),
        ("cargo build\ngit push", "several lines".into(), "cargo git"),
        (
            "cargo build & git push",
            "a command in the background".into(),
            "cargo git",
        ),
        ("X=1 git push", "a variable set in front".into(), "git"),
        (
            "cargo build \"$(git push)\"",
            "a command substitution".into(),
            "cargo git",
        ),
        (
            "cargo `git push`",
            "a command substitution".into(),
            "git cargo",
        ),
        (
            "cargo \"${x:-$(git push)}\"",
            "a variable".into(),
            "git cargo",
        ),
        (
            "cargo <(git push)",
            "a process substitution".into(),
            "git cargo",
        ),
        ("(cd x; git push) > log", "parentheses".into(), "git"),
        (
            "if cargo build; then git push; else ls; fi",
            "if is a part of the shell".into(),
            "cargo git ls",
        ),
        (
            "while ! git push; do ls; done",
            "while is a part of the shell".into(),
            "git ls",
        ),
        (
            "for f in *.rs; do git add \"$f\"; done",
            "for is a part of the shell".into(),
            "git",
        ),
        (
            "case x in a) git push;; esac",
            "case is a part of the shell".into(),
            "git",
        ),
        ("f() { git push; }; f", "parentheses".into(), "git"),
        ("! git push > f", "an exclamation mark".into(), "git"),
        ("2>f git push", "a redirection".into(), "git"),
        (
            "command -p git push",
            "command is a part of the shell".into(),
            "git",
        ),
        (
            "eval 'git push'",
            "eval is a part of the shell".into(),
            "git",
        ),
        (
            "exec -a x git push",
            "exec is a part of the shell".into(),
            "",
        ),
        ("g''it push", "an unusual name of a program".into(), "git"),
        ("g\\it push", "a backslash".into(), "git"),
        (
            "cat <<E\ngit push\n$(ls)\nE\nsort f",
            "several lines".into(),
            "busybox ls sort",
        ),
        (
            "cat <<'E'\n$(git push)\nE",
            "several lines".into(),
            "busybox",
        ),
        ("ls # git push", "a comment".into(), "ls"),
        // Programs that run what their words say.
        ("xargs -n 1 git push", runs("xargs"), "xargs git"),
        ("sudo -u ada git push", runs("sudo"), "sudo git"),
        ("env X=1 git push", runs("env"), "env git"),
        ("env -i git push", runs("env"), "env git"),
        ("env -S 'git push'", runs("env"), "env git"),
        ("timeout git push", runs("timeout"), "timeout git"),
        ("nice --unknown git push", runs("nice"), "nice git"),
        ("setsid git push", runs("setsid"), "setsid git"),
        ("watch 'git push | sort'", runs("watch"), "watch git sort"),
        ("strace -o out git push", runs("strace"), "strace git"),
        ("nice sudo git push", runs("sudo"), "nice sudo git"),
        ("ssh host git push", runs("ssh"), "ssh"),
        ("vim f", runs("vim"), "vim.basic"),
        ("less f", runs("less"), "less"),
        ("awk '{ print $1 }' f", runs("awk"), "mawk"),
        ("docker run x", runs("docker"), "docker"),
        (
            "./ld-linux-x86-64.so.2 /bin-of-test/git push",
            runs("ld-linux-x86-64.so.2"),
            "ld-linux-x86-64.so.2 git",
        ),
        // Code in the line, or from nowhere.
        ("sh -c 'git push'", code("sh"), "sh git"),
        (
            "bash -lc 'cd x && git push | sort'",
            code("bash"),
            "bash git sort",
        ),
        ("nice sh -c 'git push'", code("sh"), "nice sh git"),
        ("sh", code("sh"), "sh"),
        ("sh missing.sh", code("sh"), "sh"),
        ("python3 -c 'import os'", code("python3"), "python3.11"),
        ("python3 -m http.server", code("python3"), "python3.11"),
        ("python3 -", code("python3"), "python3.11"),
        ("python3 sub", code("python3"), "python3.11"),
        ("perl -e 'exec q(ls)'", code("perl"), "perl"),
        ("node --eval x", code("node"), "node"),
        // Options that run programs.
        (
            "find . -exec git push ;",
            "several commands".into(),
            "find git",
        ),
        ("find . -exec git push +", more("find"), "find git"),
        ("find . -delete", more("find"), "find"),
        ("find . -okdir git push", more("find"), "find git"),
        ("find . -fprintf f x", more("find"), "find"),
        ("sort --compress-program=git f", more("sort"), "sort git"),
        ("sort --comp git f", more("sort"), "sort"),
        ("rg --pre git x", more("rg"), "rg"),
        ("man -P git x", more("man"), "man"),
        ("man --pager='git push' x", more("man"), "man git"),
        ("git -c core.pager=ls log", more("git"), "git"),
        ("git --exec-path=. log", more("git"), "git"),
        ("git fetch --upload-pack=ls x", more("git"), "git ls"),
        ("git fetch --upload-p ls x", more("git"), "git"),
        ("git difftool -x ls", more("git"), "git"),
        ("git rebase --exec 'ls -l' main", more("git"), "git ls"),
        ("git bisect run ls", more("git"), "git"),
        ("git submodule foreach ls", more("git"), "git"),
        ("git config core.pager ls", more("git"), "git"),
        ("git config core.pager ls --get", more("git"), "git"),
        (
            "git config --comment --get core.pager ls",
            more("git"),
            "git",
        ),
        ("git -C sub status", more("git"), "git"),
        ("git clone 'ext::sh -c ls' x", more("git"), "git"),
        ("git grep -Ols x", more("git"), "git"),
        ("tar --to-command=ls -xf a", more("tar"), "tar ls"),
        (
            "tar --checkpoint-action=exec=ls -xf a",
            more("tar"),
            "tar ls",
        ),
        ("tar -I ls -xf a", more("tar"), "tar"),
        ("tar cIf ls a", more("tar"), "tar"),
        ("sed -n '1e ls' f", more("sed"), "sed"),
        ("sed 's/a/ls/e' f", more("sed"), "sed"),
        ("sed 'w out' f", more("sed"), "sed"),
        ("sed -f script f", more("sed"), "sed"),
        ("make SHELL=ls", more("make"), "make"),
        ("make --eval='x:;ls'", more("make"), "make ls"),
        ("cargo --config x build", more("cargo"), "cargo"),
        ("npm exec x", more("npm"), "npm"),
        ("rustup run stable ls", more("rustup"), "rustup"),
        // Links and many programs in one file.
        ("innocent git push", runs("xargs"), "xargs git"),
        (
            "busybox ls",
            "busybox is many programs in one file".into(),
            "busybox",
        ),
        (
            "cat f",
            "busybox is many programs in one file".into(),
            "busybox",
        ),
        (
            "nice cat f",
            "busybox is many programs in one file".into(),
            "nice busybox",
        ),
    ] {
        let found = machine
            .read(line)
            .unwrap_or_else(|e| panic!("{line}: {e}"))
            .reading;
        let Reading::Compound {
            why: found_why,
            programs: found,
        } = found
        else {
            panic!("{line} is simple");
        };
        if found_why != why {
            wrong.push(format!("{line}: {found_why}, not {why}"));
        }
        let mut found: Vec<_> = found
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy())
            .collect();
        let mut expected: Vec<&str> = programs
            .split(' ')
            .filter(|name| !name.is_empty())
            .collect();
        found.sort();
        expected.sort_unstable();
        if found != expected {
            wrong.push(format!("{line}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_does_not_exist_is_said_at_once() {
    let machine = Machine::new();
    for (line, message) in [
        (
            "nothing x",
            "there is no program named \"nothing\" in the search path; give its whole path",
        ),
        (
            "timeout 5 nothing",
            "there is no program named \"nothing\" in the search path; give its whole path",
        ),
        (
            "./nothing",
            "there is no program at \"./nothing\", or it may not be run",
        ),
        (
            "./gen.py",
            "there is no program at \"./gen.py\", or it may not be run",
        ),
        (
            "./sub",
            "there is no program at \"./sub\", or it may not be run",
        ),
        (" \n", "the command line is empty"),
        ("a\0b", "the command line holds a NUL character"),
    ] {
        assert_eq!(
            machine.read(line).unwrap_err().to_string(),
            message,
            "{line:?}"
        );
    }
    let long = machine.read(&"a".repeat(200_000));
    assert!(matches!(
        long,
        Err(CommandError::TooLong { bytes: 200_000 })
    ));
}

/// Lines that are made to be read in as many ways as there are.
#[test]
fn hostile_lines_take_no_time() {
    let machine = Machine::new();
    for piece in [
        "$(",
        "\"$(",
        "`",
        "${a:-",
        "(",
        "{ ",
        "if ",
        "case a in a) ",
        "<<a ",
        "<(",
        "$((",
        "sudo -a ",
        "find -exec ",
        "sh -c '",
        "eval ",
        "env -S \"",
        "git --exec ",
        "\\",
        "'",
        "\"",
        "xargs xargs -n ",
        "a;",
        "🦀{",
        "[[ ( ! ",
    ] {
        let line = piece.repeat(80_000 / piece.len());
        let started = std::time::Instant::now();
        let _ = machine.read(&line);
        let took = started.elapsed();
        assert!(took.as_secs() < 10, "{piece:?} took {took:?}");
    }
}
