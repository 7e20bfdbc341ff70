//! Everyday command lines: what a yes to their commands covers, and how little it takes to make them others.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::machine::{Caller1, Machine};
use crate::ask::Scope;
use crate::command::CommandLine;
use crate::permission::Verdict;

/// A project with folders, and one plugin with a yes to each of these.
pub(super) fn granted() -> (Machine, Caller1) {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    for line in [
        "cargo test",
        "npm run lint",
        "git status",
        "git log",
        "git add a",
        "ls",
        "cat",
        "find .",
        "head",
        "rg x",
        "sort",
        "uniq",
        "wc",
        "sed -n 1p f",
        "make test",
        "make lint",
        "make test lint",
        "python3 -m unittest",
        "python3 -m unittest discover",
        "which ls",
        "sh tool.sh",
    ] {
        plugin.answer(&machine, line, true, Scope::Always);
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
    let project = machine.root().join("project");
    for folder in ["sub/deep", "sub/a b", "src", ".github", "-d"] {
        fs::create_dir_all(project.join(folder)).unwrap();
    }
    for file in ["src/a.rs", "src/b.rs", "src/-o", "c.py", "-o.py", "tool.sh"] {
        fs::write(project.join(file), "").unwrap();
    }
    symlink("sub", project.join("inner")).unwrap();
    symlink(machine.root().join("bin"), project.join("outer")).unwrap();
    for (repository, head) in [("nested/x", ".git/HEAD"), ("bare", "HEAD")] {
        let head = project.join(repository).join(head);
        fs::create_dir_all(head.parent().unwrap()).unwrap();
        fs::write(head, "ref: refs/heads/main").unwrap();
    }
    for secret in ["src/token.pem", "src/id_rsa"] {
        fs::write(project.join(secret), "").unwrap();
    }
    (machine, plugin)
}

/// `PROJECT` in a line is the project.
pub(super) fn check(lines: &[&str], expected: Verdict) {
    let (machine, plugin) = granted();
    let project = machine.root().join("project").display().to_string();
    let mut wrong = Vec::new();
    for line in lines {
        let line = line.replace("PROJECT", &project);
        // A line that cannot be asked about runs even less.
        let Ok(read) = machine.read(&line) else {
            assert_eq!(expected, Verdict::Ask, "{line}");
            continue;
        };
        // What is asked about besides, such as secrets, is asked about each time.
        let found = match read.is_sensitive(false) {
            true => Verdict::Ask,
            false => plugin.verdict(&machine, &line),
        };
        if found != expected {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "not {expected:?}:\n{}", wrong.join("\n"));
}

#[test]
fn a_command_may_run_in_a_folder_of_the_project() {
    check(
        &[
            "cd sub && cargo test",
            "cd sub/ && cargo test 2>&1 | head -20",
            "cd ./sub/deep && cargo test && ls",
            "cd 'sub/a b' && cargo test",
            "cd .github && ls",
            "cd PROJECT/sub && cargo test",
            "cd PROJECT && cargo test; cargo test",
            "cd sub && git status",
            "cd sub && git -C deep log",
            "cd sub && ls; cat x || wc y",
            "cd sub && npm run lint in.py",
            "cd nested/x && cargo test",
            "git -C sub status",
            "git -C PROJECT/sub --no-pager log --oneline -20",
        ],
        Verdict::Allow,
    );
    check(
        &[
            // Not a folder of the project, or one that depends on something.
            "cd .. && cargo test",
            "cd sub/../.. && cargo test",
            "cd sub/.. && cargo test",
            "cd / && cargo test",
            "cd PROJECT/.. && cargo test",
            "cd PROJECT/../x && cargo test",
            "cd - && cargo test",
            "cd -P && cargo test",
            "cd -P sub && cargo test",
            "cd -- sub && cargo test",
            "cd -d && cargo test",
            "cd +1 && cargo test",
            "cd \"\" && cargo test",
            "cd '' && cargo test",
            "cd && cargo test",
            "cd sub deep && cargo test",
            "cd ~ && cargo test",
            "cd ~/x && cargo test",
            "cd $HOME && cargo test",
            "cd \"$HOME\" && cargo test",
            "cd $(x) && cargo test",
            "cd su* && cargo test",
            "cd su? && cargo test",
            "cd $? && cargo test",
            "cd inner && cargo test",
            "cd inner/deep && cargo test",
            "cd outer && cargo test",
            "cd sub/../outer && cargo test",
            "cd missing && cargo test",
            "cd tool.sh && cargo test",
            "cd PROJECTx && cargo test",
            "cd ./a;b && cargo test",
            "cd sub>x && cargo test",
            "cd sub\n cargo test",
            "cd sub &&\ncargo test",
            "cd sub\\\n && cargo test",
            "CI=1 cd sub && cargo test",
            "chdir sub && cargo test",
            "pushd sub && cargo test",
            "builtin cd sub && cargo test",
            "(cd sub && cargo test)",
            // It may run elsewhere.
            "cd sub; cargo test",
            "cd sub || cargo test",
            "cd sub | cargo test",
            "cd sub & cargo test",
            "cd sub && ls; cargo test",
            "cd sub && ls || cargo test",
            "ls && cd sub && cargo test",
            "cd sub && cd deep && cargo test",
            "cd sub && cargo test && cd .. && ls",
            "cd sub && ls; cat *",
            // Names mean something else there.
            "cd sub && ./tool.sh",
            "cd sub && sh tool.sh",
            "cd sub && sh ../tool.sh",
            "cd sub && ./ls",
            "cd sub && ../ls",
            "cd sub && npm run lint gen.py",
            "cd sub && npm run lint ../gen.py",
            "cd sub && cat .env",
            "cd sub && cat ../.env",
            "cd src && cat token.pem",
            "cd src && cat a.rs token.pem",
            "cd src && cat id_rsa",
            "cd src; cat id_rsa",
            // Git finds another repository there, or could change this one.
            "cd nested/x && git status",
            "cd bare && git status",
            "cd .git && git status",
            "cd sub && git add .",
            "cd sub && git status && git add .",
            "cd sub && git -C ../nested/x status",
            "cd nested && git -C x status",
            "git -C .. status",
            "git -C outer status",
            "git -C inner status",
            "git -C nested/x status",
            "git -C bare log",
            "git -C sub add .",
            "git -C sub -c core.pager=x log",
            "git --no-pager -c core.pager=x log",
            "git --no-pager --exec-path=. log",
            "git --no-pager push",
            "git -C $x status",
            "git -C su* status",
            "git -C -P status",
            "git -C src log token.pem",
            "git -C src log id_rsa",
            "cd sub && git -C ../src log id_rsa",
        ],
        Verdict::Ask,
    );
}

#[test]
fn a_shell_that_is_told_otherwise_takes_folders_and_patterns_for_others() {
    let (machine, _) = granted();
    for (name, is_plain) in [
        ("CDPATH", false),
        ("GLOBIGNORE", false),
        ("BASHOPTS", false),
        ("SHELLOPTS", false),
        ("KSH_VERSION", false),
        ("LANG", true),
    ] {
        let environment = vec![(OsString::from(name), OsString::from("x"))];
        let permissions = Machine::permissions_in(machine.root(), "project", environment);
        for (line, parts) in [
            ("cd sub && cargo test", usize::from(is_plain)),
            ("wc -l *.py", usize::from(is_plain)),
            ("which ls && which cat", 2 * usize::from(is_plain)),
            ("ls && cargo test", 2),
        ] {
            let read = CommandLine::read(line.to_owned(), false, &permissions).unwrap();
            assert_eq!(read.target.parts.len(), parts, "{name}: {line}");
        }
    }
}

/// It leads to a secret, and no word that Dunlin could look up names it.
#[test]
fn a_pattern_beside_a_name_that_is_no_text_is_asked_about() {
    let (machine, plugin) = granted();
    let odd = machine.root().join("project/odd");
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("a.dat"), "").unwrap();
    let line = "wc -l odd/*.dat";
    assert_eq!(plugin.verdict(&machine, line), Verdict::Allow);
    symlink(
        "../src/token.pem",
        odd.join(OsStr::from_bytes(b"x\xff.dat")),
    )
    .unwrap();
    assert_eq!(plugin.verdict(&machine, line), Verdict::Ask);
}

#[test]
fn a_folder_that_becomes_another_is_asked_about() {
    let (machine, plugin) = granted();
    let line = "cd sub && cargo test";
    plugin.answer(&machine, line, true, Scope::Session);
    assert_eq!(plugin.verdict(&machine, line), Verdict::Allow);
    let sub = machine.root().join("project/sub");
    fs::rename(&sub, machine.root().join("project/gone")).unwrap();
    symlink(machine.root().join("bin"), &sub).unwrap();
    assert_eq!(plugin.verdict(&machine, line), Verdict::Ask);
}

#[test]
fn harmless_variables_may_be_set_in_front() {
    check(
        &[
            "RUST_BACKTRACE=1 cargo test",
            "CI=1 NO_COLOR=1 npm run lint 2>&1 | head",
            "LC_ALL=C sort f | uniq -c",
            "cd sub && RUST_LOG=debug cargo test",
            "PAGER=cat git log",
            "GIT_PAGER=cat git --no-pager log",
        ],
        Verdict::Allow,
    );
    check(
        &[
            "FOO=1 cargo test",
            "FOO=$(x) cargo test",
            "RUST_LOG=$(x) cargo test",
            "RUST_LOG=`x` cargo test",
            "RUST_LOG=$x cargo test",
            "RUST_LOG=\"a b\" cargo test",
            "RUST_LOG='a' cargo test",
            "RUST_LOG=a\\b cargo test",
            "RUST_LOG=~ cargo test",
            "RUST_LOG=* cargo test",
            "RUST_LOG=$? cargo test",
            "RUST_LOG= cargo test",
            "RUST_LOG+=a cargo test",
            "RUST_LOG=a;cargo build",
            "CI=1;cargo test",
            "CI=1 && cargo test",
            "CI=1\ncargo test",
            "CI=1 PYTHONPATH=src cargo test",
            "PYTHONPATH=src cargo test",
            "PATH=. cargo test",
            "LD_PRELOAD=./x.so ls",
            "RUSTC_WRAPPER=./x cargo test",
            "RUSTFLAGS=-Clinker=./x cargo test",
            "PAGER=./x git log",
            "GIT_PAGER='./x' git log",
            "LC_ALL=zh_CN.GBK ls",
            "TZ=:/etc/passwd ls",
            "CI=1 echo a && cargo test",
            "CI=1 sh tool.sh",
            "env CI=1 cargo test",
            "export CI=1 && cargo test",
            "CI=1 ./ls",
        ],
        Verdict::Ask,
    );
}

#[test]
fn commands_of_the_shell_that_decide_nothing_may_stand_beside() {
    check(
        &[
            "pwd && ls",
            "cargo test; echo $?",
            "cargo test; echo \"exit: $?\"",
            "echo \"=== done ===\" && ls",
            "ls && echo '$(x)'",
            "true && ls",
            "ls || true",
            "test -f c.py && cat c.py",
            "[ -f c.py ] && cat c.py",
            "[ -d 'sub/a b' ] && ls || echo none",
            "command -v cargo && cargo test",
            "type cargo; ls",
            "printf '%s\\n' a; ls",
            "set -o pipefail; cargo test | head",
            "cargo test || exit 1",
            "ls; exit $?",
            "echo sub/* && ls",
        ],
        Verdict::Allow,
    );
    check(
        &[
            "echo $(x); ls",
            "echo $?$(x); ls",
            "echo \"$?`x`\"; ls",
            "echo \"$x\"; ls",
            "echo $$; ls",
            "echo $1; ls",
            "echo ${?}; ls",
            "echo ${?:-$(x)}; ls",
            "echo $?>x; ls",
            "echo a > x; ls",
            "ls $?",
            "cat $? | head",
            "echo a & ls",
            "test -v 'a[$(x)]' && ls",
            "[ -v 'a[$(x)]' ] && ls",
            "[ -f c.py && ls",
            "[ -f c.py ] ] && ls",
            "[ a -eq 'b[$(x)]' ] && ls",
            "[ -f c.py -o -v x ] && ls",
            "[[ -f c.py ]] && ls",
            "test -f *.py && ls",
            "test -f $x && ls",
            "printf -v PATH x; ls",
            "printf %d 'a[$(x)]'; ls",
            "printf '%' ; ls",
            "command ls; cat x",
            "command -p ls; cat x",
            "command -vp ls; cat x",
            "type -P ls; cat x",
            "eval ls; cat x",
            "exec ls; cat x",
            ". ./x; ls",
            "source x; ls",
            "set -a; ls",
            "set -- x; ls",
            "set -o posix; ls",
            "alias ls=x; ls",
            "hash -p ./x ls; ls",
            "unset PATH; ls",
            "umask 0; ls",
            "trap ./x EXIT; ls",
            "read PATH; ls",
            "exit $x; ls",
            "exit x; ls",
            "true $(x); ls",
        ],
        Verdict::Ask,
    );
}

#[test]
fn a_pattern_may_name_files_for_a_program_that_only_reads() {
    check(
        &[
            "wc -l *.py",
            "wc -l sub/*.py",
            "ls sub/*",
            "cat sub/i?.py | head",
            "rg x sub/*.py",
            "cd sub && wc -l *.py",
            "wc -l ./*.py",
            "sort sub/*.py | uniq -c",
            "sed -n 1p sub/*.py",
            "find sub/* -name x",
            "wc --files0-from=*",
            "timeout 5 wc -l *.py",
            "cat */in.py",
        ],
        Verdict::Allow,
    );
    check(
        &[
            // It may stand for an option.
            "sort *",
            "rg x *",
            "rg x *.py",
            "rg x ?o.py",
            "rg --pre=* x",
            "rg -* x",
            "find *",
            "find . -name *.py",
            "sed -n 1p *.py",
            // Its second word is a file to write to.
            "uniq sub/*",
            "uniq sub/i*",
            // More than reading may depend on names.
            "cargo test *",
            "cargo test sub/*",
            "git add sub/*",
            "git add *",
            "git log *",
            "npm run lint sub/*",
            "sh t*",
            "sh sub/*",
            "timeout 5* wc c.py",
            "timeout * wc c.py",
            "nice -n 5* wc c.py",
            "xargs -n 5* wc",
            "w* c.py",
            "./* c.py",
            // Secrets among the files, or files that are not seen.
            "cat src/*",
            "wc -l src/*",
            "cat src/*.pem",
            "cat src/tok*",
            "cat .e*",
            "cat .*",
            "cat ./.e*",
            "cat sub/.*",
            "cd src && cat *",
            "cd src && cat t*",
            "cat ../*",
            "cat sub/../*",
            "cat /etc/*",
            "cat /*",
            "cat ~/*",
            "cat outer/*",
            "cat */*",
            // Other ways to stand for something.
            "cat [a-z].py",
            "cat {c,d}.py",
            "cat *.py$x",
            "cat $x*.py",
            "cat 'a'*.py",
            "cat \"a\"*.py",
            "cat \\**.py",
            "cat !(c).py",
            "cat *(e)",
        ],
        Verdict::Ask,
    );
}

/// Words that `xargs` adds stand in no line: as options, and as names of secrets, they would be seen by nobody.
#[test]
fn xargs_is_a_program_of_its_own() {
    check(
        &[
            "xargs wc",
            "ls | xargs wc",
            "find . -print0 | xargs -0 wc -l",
            "find . -print0 | /usr/bin/xargs -n 1 du --exclude xargs -0",
            "find . -print0 | xargs -0 wc --files0-from",
            "printf '%s%s' --files0-from=.e nv | xargs wc",
            "echo .env | xargs cat",
            "timeout 5 xargs ls",
        ],
        Verdict::Ask,
    );
}

/// No line that writes to a file is one of known commands.
#[test]
fn a_redirection_into_a_file_is_asked_about() {
    check(
        &[
            "ls > out.txt",
            "ls >> out.txt",
            "cargo test 2> err.txt",
            "cargo test > out.txt 2>&1",
            "cd sub && ls > x",
            "ls > .git/config",
            "ls > ../x",
            "ls > $X",
            "ls >| x",
            "ls >& x",
            "ls &> x",
            "ls <> x",
            "ls > \"a b\"",
            "ls > /dev/nullx",
            "ls > *",
            "ls >x&& ls",
        ],
        Verdict::Ask,
    );
}

/// A no to a command holds in these lines as in others.
#[test]
fn a_no_is_found_in_these_lines() {
    let (machine, plugin) = granted();
    for denied in ["cargo test", "wc", "git log"] {
        plugin.answer(&machine, denied, false, Scope::Always);
    }
    for line in [
        "cd sub && cargo test",
        "CI=1 cargo test",
        "wc -l *.py",
        "find . -print0 | xargs -0 wc",
        "git --no-pager log",
        "git -C sub log",
        "ls; echo $?; wc",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
}

#[test]
fn one_command_is_stored_for_a_line_with_more_around_it() {
    for (line, described) in [
        ("cd sub && CI=1 cargo test -p x", "cargo test"),
        ("wc -l *.py", "wc"),
        (
            "git --no-pager log; find . -print0 | wc",
            "git log, find and wc",
        ),
        ("RUST_LOG=a cargo test; echo $?", "cargo test"),
    ] {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        fs::write(machine.root().join("project/c.py"), "").unwrap();
        let read = machine.read(line).unwrap();
        assert_eq!(read.longest(false), Scope::Always, "{line}");
        let found = read.target.describe();
        assert!(
            found.starts_with(&format!("{described}, ")),
            "{line}: {found}"
        );
        plugin.answer(&machine, line, true, Scope::Always);
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    plugin.answer(&machine, "cd sub && CI=1 cargo test", true, Scope::Always);
    assert_eq!(plugin.verdict(&machine, "cargo test"), Verdict::Allow);
}
