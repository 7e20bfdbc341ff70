//! What a lasting yes to a line would cover, and which programs are found in the line.

use super::machine::Machine;
use crate::command::CommandError;

#[test]
fn a_lasting_yes_covers_what_is_known_or_the_exact_line() {
    let machine = Machine::new();
    let root = machine.root().display().to_string();
    let mut wrong = Vec::new();
    for (line, key) in [
        // Programs that run nothing else and write nothing.
        ("ls -la", "BIN/ls"),
        ("/bin-of-test/ls -la", "BIN/ls"),
        ("rg -n pattern", "BIN/rg"),
        ("cat f", "BIN/cat"),
        ("sort -u f", "BIN/sort"),
        ("find . -name '*.rs'", "BIN/find"),
        // Subcommands that run no more than the project's own code.
        ("cargo test --release name", "$ BIN/cargo test"),
        ("timeout 60 cargo test", "$ BIN/cargo test"),
        ("git --no-pager status", "$ BIN/git status"),
        ("git -C sub -P status -s", "$ BIN/git status"),
        ("nohup nice timeout 5 cargo test", "$ BIN/cargo test"),
        ("git status -s", "$ BIN/git status"),
        ("npm run lint -- gen.py", "$ BIN/npm run lint"),
        ("make test", "$ BIN/make test"),
        ("python3 -m pytest -q", "$ BIN/python3 -m pytest"),
        ("python3 -m pytest sub", "$ BIN/python3 -m pytest"),
        ("python3 -m unittest ./gen.py", "$ BIN/python3 -m unittest"),
        // Everything else is the line.
        (
            "python3 -m pytest missing",
            "= BIN/python3 -m pytest missing",
        ),
        (
            "python3 -m unittest timeit.main",
            "= BIN/python3 -m unittest timeit.main",
        ),
        ("npm run lint -- --fix", "= BIN/npm run lint -- --fix"),
        ("grep x gen.py", "= BIN/grep x gen.py"),
        ("cargo --version", "= BIN/cargo --version"),
        ("cargo --config x test", "= BIN/cargo --config x test"),
        ("cargo test --config x", "= BIN/cargo test --config x"),
        ("git push", "= BIN/git push"),
        ("make", "= BIN/make"),
        ("sort -o f g", "= BIN/sort -o f g"),
        ("python3 gen.py a-b", "= BIN/python3 gen.py a-b"),
        ("python3.11 -m pytest", "= BIN/python3.11 -m pytest"),
        ("env cargo test", "= BIN/env cargo test"),
        ("xargs ls", "= BIN/xargs ls"),
        ("sh -c ls", "= BIN/sh -c ls"),
        // A link is called by its own name: another link to the same file is another program.
        ("rustc --version", "= BIN/rustc --version"),
        ("rustup run stable sh", "= BIN/rustup run stable sh"),
        ("list -l", "= BIN/list -l"),
        ("innocent git push", "= BIN/innocent git push"),
        ("busybox ls", "= BIN/busybox ls"),
        // `~` is a name in quotes: the program gets it as it is, and it lies in the project.
        ("'~/ls' -l", "= 'ROOT/project/~/ls' -l"),
        // By a link that commands can make lead elsewhere.
        ("./out/ls -l", "= BIN/ls -l"),
        ("out/cargo test", "= BIN/cargo test"),
        ("sub/../out/timeout 5 ls", "= BIN/timeout 5 ls"),
        // A script that prints runs other programs.
        ("egrep x", "= BIN/egrep x"),
        // What lies in the project may be anything, whatever it is called.
        ("./tool.sh --fast", "= ROOT/project/tool.sh --fast"),
        ("./ls -la", "= ROOT/project/ls -la"),
        ("timeout 5 ./ls", "= ROOT/project/ls"),
    ] {
        let found = machine.read(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        let key = key
            .replace("BIN", &format!("{root}/bin"))
            .replace("ROOT", &root);
        if found.compound.is_some()
            || !found.target.is_storable
            || found.target.key.to_string() != key
        {
            wrong.push(format!("{line}: {found:?}, not {key}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_yes_to_a_line_is_bound_to_the_files_that_it_names() {
    let machine = Machine::new();
    let project = machine.root().join("project");
    let interp = project.join("interp").display().to_string();
    let direct = project.join("direct").display().to_string();
    std::fs::write(project.join("interp.conf"), "").unwrap();
    machine.script("interp", "#!/bin/sh interp.conf\n");
    machine.script("direct", &format!("#! {interp}\n"));
    machine.script(
        "by-env",
        &format!("#!/usr/bin/env -S A=b {interp} ./tool.sh\n"),
    );
    machine.script("twice", &format!("#!{direct} -x\n"));
    machine.script("plain", "#!/bin/sh\n");
    std::fs::create_dir(project.join("package")).unwrap();
    for file in [
        "exact",
        "exact.py",
        "package.py",
        "package/__init__.py",
        "package/__main__.so",
    ] {
        std::fs::write(project.join(file), "").unwrap();
    }
    for (line, files) in [
        ("python3 gen.py", "gen.py"),
        ("./tool.sh gen.py", "tool.sh gen.py"),
        ("python3 --file=gen.py -fgen.py x:tool.sh", "gen.py tool.sh"),
        ("cargo test gen.py", ""),
        ("ls gen.py", ""),
        ("python3 missing.py sub", ""),
        ("python3 link.py", "perl"),
        ("python3 out/perl", "perl"),
        ("python3 a,b.py", "a,b.py"),
        ("python3 a,gen.py", "gen.py"),
        ("env -C sub python3 in.py", "sub/in.py"),
        ("env --chdir=sub python3 -- in.py", "sub/in.py"),
        ("sh -c 'sh gen.py --fast'", "gen.py"),
        ("sh -c 'cd sub; sh in.py'", "sub/in.py"),
        ("sh -c 'sh $PWD/gen.py'", "gen.py"),
        ("env -S 'python3 gen.py'", "gen.py"),
        ("python3 -c 'exec(open(\"gen.py\").read())'", "gen.py"),
        ("sed -i 's/a b/c/' gen.py", ""),
        ("perl -e do+q/gen.py/", "gen.py"),
        // What a program completes, also where there is a file of the name itself.
        ("python3 -m exact", "exact exact.py"),
        (
            "python3 -m package",
            "package/__init__.py package/__main__.so package.py",
        ),
        ("node gen", "gen.py"),
        ("python3 -m sub.in", "sub/in.py"),
        ("python3 -m sub.in.part", "sub/in.py"),
        ("perl -Msub::in", "sub/in.py"),
        ("node sub/in", "sub/in.py"),
        // Behind several options in one word.
        ("python3 -umgen", "gen.py"),
        ("python3 -Bmsub.in", "sub/in.py"),
        ("make -sfgen.py", "gen.py"),
        // A program that is found by a link which commands can change.
        ("./out/ls -l", "ls"),
        ("env -C sub node in", "sub/in.py"),
        // What looks like a name can be code.
        ("perl -e load:gen.to_s", "gen.py"),
        ("make -C sub", ""),
        // The interpreters of scripts.
        ("./direct", "direct interp interp.conf"),
        ("./by-env", "by-env interp interp.conf tool.sh"),
        ("env ./twice", "twice direct interp interp.conf"),
        ("./plain", "plain"),
    ] {
        let mut found = machine.read(line).unwrap().target.covers.clone();
        found.sort();
        let mut expected = match files {
            "" => Vec::new(),
            files => machine.paths(files),
        };
        expected.sort();
        assert_eq!(found, expected, "{line}");
    }
}

/// A folder above the project is no folder of it, but names in it may lead there again.
#[test]
fn files_are_found_through_a_folder_above_the_project() {
    let machine = Machine::new();
    let file = machine.root().join("project/sub/in.py");
    for line in [
        "env -C .. env -C project/sub sh in.py",
        "env -C ../ make -C project/sub -f in.py",
        "sh -c 'cd ..; cd project/sub; sh in.py'",
        "cd .. && cd project/sub && sh in.py",
    ] {
        let covers = machine.read(line).unwrap().target.covers.clone();
        assert!(covers.contains(&file), "{line}: {covers:?}");
    }
}

/// What code does cannot be told from the names in it, and where a link leads that commands can change is not for long.
#[test]
fn a_line_that_cannot_be_bound_is_not_stored() {
    let machine = Machine::new();
    let is_storable = |line: &str| machine.read(line).unwrap().target.is_storable;
    for line in [
        "sh -c 'cd sub; sh x'",
        "sh -c './*.sh'",
        "sh -c ./gen.p?",
        "sh -c '$x'",
        "env -S 'python3 gen.py'",
        "python3 -c 'exec(open(\"gen.py\").read())'",
        "python3 -c 1;import/x",
        "env -C .. env -C .. env -C u/project sh gen.py",
        "python3 out",
        "python3 -m pytest out",
        "npm run lint out",
        "python3 gen.py 'a b'",
        "perl -edo+q-./evil-",
        "perl -edo-q,evil,",
        "perl -edo/x/.y:z",
        "perl -e do-q.evil.",
        "perl -e x,exec@y",
        "ruby -eload:evil.to_s",
        "node --import=data:text/javascript,import%28%22file:/x%2fevil.mjs%22%29 gen.py",
        "make x=a^b",
        "make a~b",
        "vim +./x",
        "python3 x=-y",
        "python3 a+b",
    ] {
        if let Ok(command) = machine.read(line)
            && command.compound.is_none()
        {
            assert!(!is_storable(line), "{line}");
        }
    }
    for line in [
        "python3 sub",
        "python3 link.py",
        "python3 out/perl",
        "python3 missing.py",
        "git push origin HEAD~1",
        "git push origin HEAD^ v1.2~3^2",
        "cargo +nightly install ripgrep@14.1",
        "npm install --save-dev @types/node@20 -g",
        "docker run -p 8080:80 -e A=b --volume=/a/b:/c image:1.2",
        "env -std=c++17 -O2 -Isrc/my-lib -DNAME=value -o out.o",
        "ssh -l me ada@host.example.org --date=2026-01-02T10:00:00",
        "nice -n -5 tar --exclude=.git --level=-1 -xzf ../a-b_c.tar.gz ./...",
        "sed -i 's/a b/c/' gen.py",
    ] {
        assert!(is_storable(line), "{line}");
    }
    let many: String = (0..20).map(|number| format!(" f{number}")).collect();
    for name in many.split_whitespace() {
        std::fs::write(machine.root().join("project").join(name), "").unwrap();
    }
    let line = format!("python3{many}");
    assert!(!is_storable(&line));
    // For the session the first ones are bound all the same.
    assert!(!machine.read(&line).unwrap().target.covers.is_empty());
}

/// Compound lines: every part counts.
#[test]
fn programs_are_made_out_in_compound_lines() {
    let machine = Machine::new();
    let mut wrong = Vec::new();
    for (line, why, programs) in [
        ("cargo build && git push", "&&", "cargo git"),
        (
            "cargo build | sort -u; git push",
            "a pipe",
            "cargo sort git",
        ),
        ("cargo build\ngit push", "several lines", "cargo git"),
        (
            "cargo build & git push",
            "a command in the background",
            "cargo git",
        ),
        ("X=1 git push", "a variable set in front", "git"),
        (
            "cargo build \"$(git push)\"",
            "a command substitution",
            "cargo git",
        ),
        ("cargo `git push`", "a command substitution", "git cargo"),
        ("cargo \"${x:-$(git push)}\"", "a variable", "git cargo"),
        ("cargo <(git push)", "a process substitution", "git cargo"),
        ("(cd x; git push) > log", "parentheses", "git"),
        (
            "if cargo build; then git push; else ls; fi",
            "a condition",
            "cargo git ls",
        ),
        ("while ! git push; do ls; done", "a loop", "git ls"),
        ("for f in *.rs; do git add \"$f\"; done", "a loop", "git"),
        ("case x in a) git push;; esac", "a condition", "git"),
        ("f() { git push; }; f", "parentheses", "git"),
        ("! git push > f", "an exclamation mark", "git"),
        ("2>f git push", "a redirection", "git"),
        ("command -p git push", "command is a shell builtin", "git"),
        ("exec -a x git push", "exec is a shell builtin", ""),
        ("g''it push", "an unusual name of a program", "git"),
        ("g\\it push", "a backslash", "git"),
        (
            "cat <<E\ngit push\n$(ls)\nE\nsort f",
            "several lines",
            "cat ls sort",
        ),
        ("cat <<'E'\n$(git push)\nE", "several lines", "cat"),
        ("ls # git push", "a comment", "ls"),
    ] {
        let found = machine.read(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        if found.compound.as_ref().map(ToString::to_string).as_deref() != Some(why) {
            wrong.push(format!("{line}: {:?}, not {why}", found.compound));
        }
        if names(&found.target.programs) != sorted(&format!("{programs} sh")) {
            wrong.push(format!(
                "{line}: {:?}, not {programs}",
                found.target.programs
            ));
        }
        assert!(!found.target.is_storable, "{line}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What shells read in several ways, or know only when the line runs, is allowed once: a yes for longer would be bound to
/// the wrong files.
#[test]
fn a_line_that_is_not_read_exactly_is_allowed_once() {
    let machine = Machine::new();
    let mut wrong = Vec::new();
    for (line, is_once, programs) in [
        ("2>&- git head", false, "git"),
        ("2>& - git ls", false, "git"),
        ("2>&-git ls", true, "git"),
        ("git 2>&1 push", false, "git"),
        ("git >| out 2>> log <> x", false, "git"),
        ("git > ; ls", true, "git ls"),
        ("ls &> out; git push", false, "ls git"),
        ("ls &> out git push", true, "ls"),
        ("$x>out ls", true, ""),
        ("cat <<E\nE\nls", false, "cat ls"),
        ("cat <<\"E F\"\nE F\nsh r.sh\nE", true, "cat"),
        ("cat <<E.F\nE.F\nls", true, "cat"),
        ("cat <<'E'\n\tE\n\"\nE\nls", false, "cat ls"),
        ("cat <<-E\n\tE\nls", false, "cat ls"),
        ("cat <<E\nx", true, "cat"),
        ("cat <<E", true, "cat"),
        ("ls 'x\ngit push", true, "ls"),
        ("ls \"x", true, "ls"),
        ("ls `x", true, "ls"),
        ("ls $(x", true, "ls"),
        ("PATH=$PWD/bin:$PATH; ls | cat", true, "ls cat"),
        ("PATH=bin:/bin; ls | cat", false, "ls cat"),
        ("ls \"€\\\" ; git push #\" | cat", true, "ls cat"),
        ("ls < s?b/x | cat", true, "ls cat"),
        ("ls < sub/x | cat", false, "ls cat"),
    ] {
        let found = machine.read(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        let target = &found.target;
        let programs = sorted(&format!("{programs} sh"));
        if (target.only_once, names(&target.programs)) != (is_once, programs) {
            wrong.push(format!(
                "{line}: {} {:?}",
                target.only_once, target.programs
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A denied program refuses these lines, whatever stands before it.
#[test]
fn programs_are_made_out_among_the_words_of_programs_that_may_run_them() {
    let machine = Machine::new();
    for line in [
        "xargs -n 1 git push",
        "sudo -u ada git push",
        "env X=1 git push",
        "env -S 'git push'",
        "timeout git push",
        "nice --unknown git push",
        "setsid git push",
        "watch 'git push | sort'",
        "strace -o out git push",
        "sh -c 'git push'",
        "bash -lc 'cd x && git push | sort'",
        "sh -c \"sh -c 'git push'\"",
        "tar --to-command=git -xf a",
        "man -P git x",
        "rustup run stable git",
        "innocent git push",
        "eval 'git push'",
        "x | xargs git push",
    ] {
        let found = machine.read(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        let target = &found.target;
        let mut all = target.programs.iter().chain(&target.mentioned);
        let git = machine.root().join("bin/git");
        assert!(
            all.any(|program| program.called == git),
            "{line}: {target:?}"
        );
    }
    // What is known to run no other program may name it.
    for line in ["rg git src", "cargo test git", "git log git", "x | rg git"] {
        let found = machine.read(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(found.target.mentioned.is_empty(), "{line}: {found:?}");
    }
}

fn names(programs: &[crate::target::ProgramFile]) -> Vec<String> {
    let names = programs.iter().map(|program| {
        let name = program.called.file_name().unwrap();
        name.to_string_lossy().into_owned()
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn sorted(names: &str) -> Vec<String> {
    let mut names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn what_does_not_exist_is_said_at_once() {
    let machine = Machine::new();
    let lines = [
        "nothing x",
        "timeout 5 nothing",
        "./nothing",
        "./gen.py",
        "./sub",
        " \n",
        "a\0b",
    ];
    let error = |line: &str| format!("{line:?}\n→ {}\n", machine.read(line).unwrap_err());
    insta::assert_snapshot!(lines.map(error).concat());
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
        "make -k ",
        "time ",
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
        "=",
        "-",
        ",a-",
        "=/",
        "-I/",
        "~/:",
        "./=",
        "a,b/",
        "a/b:",
    ] {
        let line = piece.repeat(80_000 / piece.len());
        let started = std::time::Instant::now();
        let _ = machine.read(&line);
        let took = started.elapsed();
        assert!(took.as_secs() < 10, "{piece:?} took {took:?}");
    }
}
