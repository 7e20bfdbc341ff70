//! The rules: what the commands set, explain and list, and what the audit log keeps of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dunlin_tests::{Provider, Response};

use crate::stage::environment;

#[test]
fn command_lines_are_explained() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let explain = |line: &str| environment.run(["permissions", "explain", line]).stdout;
    let simple = explain("timeout 5 ls -l");
    assert!(
        simple.starts_with("one simple command; always would allow ls, with harmless arguments\n"),
        "{simple}"
    );
    assert_eq!(simple.matches("  execute  ask  ").count(), 1, "{simple}");
    assert_eq!(simple.matches("  runs     ").count(), 2, "{simple}");
    assert!(
        simple.contains("to allow it: dunlin permissions allow run /usr/bin/ls"),
        "{simple}"
    );
    let exact = explain("git push --force");
    assert!(
        exact.starts_with(
            "one simple command; always would allow exactly this line, bound to no file\n= "
        ),
        "{exact}"
    );
    let of_the_shell = explain("cd src");
    assert!(
        of_the_shell.starts_with("Command of the shell itself (cd): "),
        "{of_the_shell}"
    );
    let denied = environment.run(["permissions", "deny", "run", "git push"]);
    assert_eq!(denied.status, Some(0), "{denied}");
    // Without quotes the words are the same command, and its options are not Dunlin's.
    let again = environment.run(["permissions", "deny", "run", "git", "push"]);
    assert_eq!(again.stdout, denied.stdout, "{again}");
    let option = environment.run(["permissions", "allow", "run", "git", "commit", "-q"]);
    assert!(
        option.stdout.trim_end().ends_with("git commit -q"),
        "{option}"
    );
    let several = environment.run(["permissions", "allow", "read", "a", "b"]);
    assert_eq!(several.status, Some(2), "{several}");
    assert!(
        several
            .stderr
            .contains("hint: dunlin permissions allow read 'a b'"),
        "{several}"
    );
    let denied = explain("git push && ls");
    let undo = "to take the rule back: dunlin permissions ask run '$ ";
    assert!(denied.contains(undo), "{denied}");
    let useless = environment.run(["permissions", "allow", "run", "git push origin"]);
    assert!(
        useless.stderr.contains("It stays denied: stored under $ "),
        "{useless}"
    );
    let stays = explain("git push origin");
    assert!(
        stays.contains("  execute  deny   stored under $ "),
        "{stays}"
    );
    assert!(!stays.contains("allow it:"), "{stays}");
    let compound = explain("ls -l | cat .env");
    assert!(
        compound.starts_with("Compound command (a pipe): "),
        "{compound}"
    );
    assert!(
        compound.contains("/.env, so it is asked each time"),
        "{compound}"
    );
    let server = "mcp /usr/bin/env server .";
    let asked = explain(server);
    assert!(
        asked.starts_with("the start of an MCP server without a sandbox; an answer holds for this start alone\nmcp /"),
        "{asked}"
    );
    let rule =
        "  execute  ask    default: each start of a server without a sandbox is asked; a key";
    assert!(asked.contains(rule), "{asked}");
    let allow = environment.run(["permissions", "allow", "run", server]);
    assert_eq!(allow.status, Some(0), "{allow}");
    let allowed = explain(server);
    assert!(
        allowed.contains("  execute  allow  stored under mcp /usr/bin/env server ."),
        "{allowed}"
    );
    let options = environment.run(["permissions", "explain", "ls", "-la"]);
    assert_eq!(options.stdout, explain("ls -la"), "{options}");
    let words = environment.run(["permissions", "explain", "timeout", "5", "ls"]);
    assert_eq!(words.stdout, explain("timeout 5 ls"));
    let failed = environment.run(["permissions", "explain", "no-such-program at all"]);
    assert_eq!(failed.status, Some(1), "{failed}");
    assert!(failed.stderr.contains("no-such-program"), "{failed}");
}

#[test]
fn the_commands_of_a_line_are_explained_and_allowed_one_by_one() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let run = |words: &[&str]| environment.run(words);
    let line = "git status | head";
    let explained = run(&["permissions", "explain", line]).stdout;
    for part in [
        "\n  each of its commands:\ngit status\n  execute  ask",
        "\nhead\n  execute  ask",
        "to allow it: dunlin permissions allow run /usr/bin/head",
    ] {
        assert!(explained.contains(part), "{explained}");
    }
    let named = run(&["permissions", "explain", "run", line]);
    assert_eq!(named.stdout, explained, "{named}");
    let refused = run(&["permissions", "allow", "run", line]);
    assert_eq!(refused.status, Some(2), "{refused}");
    let hint = "hint: allow each of its commands: dunlin permissions allow run '$ ";
    assert!(refused.stderr.contains(hint), "{refused}");
    let last = "; dunlin permissions allow run /usr/bin/head\n";
    assert!(refused.stderr.ends_with(last), "{refused}");
    for part in ["git status", "head"] {
        let allowed = run(&["permissions", "allow", "run", part]);
        assert_eq!(allowed.status, Some(0), "{allowed}");
    }
    let explained = run(&["permissions", "explain", line]).stdout;
    assert_eq!(
        explained.matches("  execute  allow  ").count(),
        3,
        "{explained}"
    );
    // Whoever reads a pipe may run what it gets: no rule covers that.
    let line = "cat x | sh";
    let explained = run(&["permissions", "explain", line]).stdout;
    let each = "\n  each of its commands, where it is the only one of a line:\ncat x\n";
    assert!(explained.contains(each), "{explained}");
    let refused = run(&["permissions", "allow", "run", line]);
    let hint = "hint: s at the question allows this line until the session ends; dunlin permissions explain 'cat x | sh'";
    assert!(refused.stderr.contains(hint), "{refused}");
}

/// One word means the same wherever it is typed: a file of the project, else a program.
#[test]
fn a_bare_word_is_a_program_where_it_is_no_file() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let tern = environment.outside_file("tern", "#!/bin/sh\n");
    fs::set_permissions(&tern, fs::Permissions::from_mode(0o755)).expect("a program");
    let folder = tern.parent().expect("a folder").display().to_string();
    let run = |arguments: &[&str]| {
        let output = environment.command(arguments).variable("PATH", &folder);
        let output = output.run();
        assert_eq!(output.status, Some(0), "{output}");
        output
    };
    let set = run(&["permissions", "set", "tern", "---"]);
    assert_eq!(set.stdout, "---  [ROOT]/outside/tern\n");
    let said = "tern is the program [ROOT]/outside/tern; ./tern is a file of the project";
    assert!(set.stderr.contains(said), "{set}");
    let explained = run(&["permissions", "explain", "tern"]);
    assert!(
        explained.stdout.starts_with("[ROOT]/outside/tern\n"),
        "{explained}"
    );
    let asked = run(&["ask", "--allow", "tern=x", "--allow", "docs.rs=r", "well?"]);
    assert!(asked.stderr.contains(said), "{asked}");
    let said = "There is no such file yet: [PROJECT]/docs.rs";
    assert!(asked.stderr.contains(said), "{asked}");
    environment.project_file("tern", "a file");
    for bits in ["r--", "rw-", "r??"] {
        let set = run(&["permissions", "set", "tern", bits]);
        assert_eq!(set.stdout, format!("{bits}  [PROJECT]/tern\n"));
        assert_eq!(set.stderr, "");
    }
}

#[test]
fn permissions() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let file = environment.outside_file("b.txt", "outside");
    let file = file.display().to_string();
    let check = |arguments: &[&str], status: i32, stdout: &str, stderr: &str| {
        let output = environment.run(arguments);
        assert_eq!(output.status, Some(status), "{arguments:?}: {output}");
        assert_eq!(output.stdout, stdout, "{arguments:?}: {output}");
        assert!(output.stderr.contains(stderr), "{arguments:?}: {output}");
    };
    check(&["permissions", "list"], 0, "", "Nothing is stored");
    // A hint for the root of all folders does not open what is below it.
    let denied = environment.run([
        "tools",
        "call",
        "read_file",
        "--args",
        r#"{"file_path":"/"}"#,
    ]);
    let hint = "dunlin permissions allow read /. allows it";
    assert!(denied.stderr.contains(hint), "{denied}");
    for (key, covers) in [
        ("/", "This covers every file of this machine"),
        ("/.", "This covers the folder itself"),
    ] {
        let (allowed, asked) = (format!("allow read  {key}\n"), format!("ask read  {key}\n"));
        check(&["permissions", "allow", "read", key], 0, &allowed, covers);
        check(&["permissions", "ask", "read", key], 0, &asked, "");
    }
    check(
        &["permissions", "set", &file, "r-?"],
        0,
        "r-?  [ROOT]/outside/b.txt\n",
        "",
    );
    check(
        &["permissions", "set", "../outside/", "---"],
        0,
        "---  [ROOT]/outside/\n",
        "",
    );
    check(
        &["permissions", "list"],
        0,
        "---  [ROOT]/outside/\nr-?  [ROOT]/outside/b.txt\n",
        "",
    );
    let explained = environment.run(["permissions", "explain", &file]);
    let verdicts: Vec<&str> = explained
        .stdout
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    assert_eq!(verdicts, ["allow", "deny", "deny"], "{explained}");
    let way_out = "to allow it: dunlin permissions allow write [ROOT]/outside/b.txt";
    assert!(explained.stdout.contains(way_out), "{explained}");
    check(
        &["permissions", "unset", &file],
        0,
        "",
        "Removed what was stored for",
    );
    check(
        &["permissions", "unset", &file],
        2,
        "",
        "nothing is stored for",
    );
    let nowhere = &["permissions", "set", "docs.rs", "r--"];
    let said = "There is no such file yet: [PROJECT]/docs.rs\nA web address begins with https://, as in https://docs.rs";
    check(nowhere, 0, "r--  [PROJECT]/docs.rs\n", said);
    for (target, said) in [
        (
            "*.docs.rs",
            "A target is one file, folder/ or host: there is no * in it.",
        ),
        (
            "localhost:8080",
            "A web address begins with https://, as in https://localhost:8080",
        ),
    ] {
        let output = environment.run(["permissions", "allow", "read", target]);
        assert!(output.stderr.contains(said), "{output}");
    }
    let builtin = environment.run(["permissions", "allow", "run", "false"]);
    let said = "The shell carries out false itself, so a line that begins with this word is still asked about.";
    assert!(builtin.stderr.contains(said), "{builtin}");
    let missing = environment.run(["permissions", "allow", "read", "nosuchfile"]);
    assert!(
        missing.stderr.contains("There is no such file yet"),
        "{missing}"
    );
    assert!(!missing.stderr.contains("https"), "{missing}");
    let address = &["permissions", "allow", "run", "https://docs.rs/"];
    check(
        address,
        2,
        "",
        "hint: dunlin permissions allow read https://docs.rs/",
    );
    // What cannot be executed is not a program.
    environment.project_file(".env", "A=1");
    let secret = environment.run(["permissions", "explain", ".env"]);
    assert!(secret.stdout.contains("read"), "{secret}");
    assert!(!secret.stdout.contains("execute"), "{secret}");
    let ftp = &["permissions", "set", "ftp://docs.rs/", "r--"];
    check(ftp, 2, "", "is not an http or https address");
    let explained = environment.run(["permissions", "explain", "https://docs.rs/"]);
    assert!(
        explained
            .stdout
            .contains("permissions allow read https://docs.rs/"),
        "{explained}"
    );
    assert!(!explained.stdout.contains("execute"), "{explained}");
    check(&["permissions", "set", &file, "rwxx"], 2, "", "error: ");
    check(&["permissions", "set", &file, "yes"], 2, "", "error: ");
    check(
        &["permissions", "set", "../home/config/dunlin/", "r--"],
        2,
        "",
        "error: ",
    );
    let arguments = r#"{"file_path":"../outside/b.txt"}"#;
    let refused = environment.run(["tools", "call", "read_file", "--args", arguments]);
    assert_eq!(refused.status, Some(3), "{refused}");
}

#[test]
fn the_audit_log_is_shown() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let nothing = environment.run(["audit"]);
    assert_eq!(nothing.status, Some(0), "{nothing}");
    assert_eq!(nothing.stdout, "");
    environment.project_file("a.txt", "one\n");
    environment.outside_file("b.txt", "two\n");
    for path in ["a.txt", "../outside/b.txt"] {
        let arguments = format!("{{\"file_path\":\"{path}\"}}");
        let _ = environment.run(["tools", "call", "read_file", "--args", &arguments]);
    }
    let lines = |arguments: &[&str]| {
        let output = environment.run([&["audit"], arguments].concat());
        assert_eq!(output.status, Some(0), "{output}");
        output.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = lines(&[]);
    assert!(all[0].contains("read_file  allowed  read  "), "{all:?}");
    assert!(all[0].contains("a.txt"), "{all:?}");
    assert_eq!(lines(&["-n", "1"]), all[all.len() - 1..]);
    assert_eq!(lines(&["--target", "nowhere"]), [""; 0]);
    assert!(lines(&["--json"])[0].starts_with('{'));
    let denied = lines(&["--denied"]);
    assert!(
        denied.iter().all(|line| line.contains("b.txt")),
        "{denied:?}"
    );
}
