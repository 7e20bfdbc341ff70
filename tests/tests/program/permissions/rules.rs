//! The rules: what the commands set, explain and list, and what the audit log keeps of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dunlin_tests::{Environment, Provider, Response};

use crate::stage::environment;

/// What was run. Some machines have git in another folder.
fn transcript(environment: &Environment) -> String {
    environment
        .transcript()
        .replace("/usr/local/bin/git", "/usr/bin/git")
}

#[test]
fn command_lines_are_explained() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let explain = |line: &str| environment.run(["permissions", "explain", line]).stdout;
    let simple = explain("timeout 5 ls -l");
    assert_eq!(simple.matches("  execute  ask  ").count(), 1, "{simple}");
    assert_eq!(simple.matches("  runs     ").count(), 2, "{simple}");
    explain("git push --force");
    explain("cd src");
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
    explain("git push && ls");
    let _ = environment.run(["permissions", "allow", "run", "git push origin"]);
    let stays = explain("git push origin");
    assert!(!stays.contains("allow it:"), "{stays}");
    explain("sleep 3; echo > f");
    explain("bash -c 'ls; git push'");
    explain("cat $x | sort");
    explain("ls | sort");
    explain("ls -l | cat .env");
    let server = "mcp /usr/bin/env server .";
    explain(server);
    let allow = environment.run(["permissions", "allow", "run", server]);
    assert_eq!(allow.status, Some(0), "{allow}");
    explain(server);
    let options = environment.run(["permissions", "explain", "ls", "-la"]);
    assert_eq!(options.stdout, explain("ls -la"), "{options}");
    let words = environment.run(["permissions", "explain", "timeout", "5", "ls"]);
    assert_eq!(words.stdout, explain("timeout 5 ls"));
    let failed = environment.run(["permissions", "explain", "no-such-program at all"]);
    assert_eq!(failed.status, Some(1), "{failed}");
    insta::assert_snapshot!(transcript(&environment));
}

#[test]
fn the_commands_of_a_line_are_explained_and_allowed_one_by_one() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let run = |words: &[&str]| environment.run(words);
    let line = "git status | head";
    let explained = run(&["permissions", "explain", line]).stdout;
    let named = run(&["permissions", "explain", "run", line]);
    assert_eq!(named.stdout, explained, "{named}");
    let refused = run(&["permissions", "allow", "run", line]);
    assert_eq!(refused.status, Some(2), "{refused}");
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
    let _ = run(&["permissions", "explain", line]);
    let _ = run(&["permissions", "allow", "run", line]);
    insta::assert_snapshot!(transcript(&environment));
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
    // There is no file that it could be taken for.
    let confused = "./tern is a file of the project";
    assert!(!set.stderr.contains(confused), "{set}");
    let _ = run(&["permissions", "explain", "tern"]);
    let asked = run(&["ask", "--allow", "tern=x", "--allow", "docs.rs=r", "well?"]);
    assert!(!asked.stderr.contains(confused), "{asked}");
    environment.project_file("tern", "a file");
    for bits in ["r--", "rw-", "r??"] {
        let set = run(&["permissions", "set", "tern", bits]);
        assert_eq!(set.stdout, format!("{bits}  [PROJECT]/tern\n"));
        assert_eq!(set.stderr, "");
    }
    let _ = run(&["permissions", "allow", "run", "tern"]);
    insta::assert_snapshot!(environment.transcript());
}

#[test]
fn permissions() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let file = environment.outside_file("b.txt", "outside");
    let file = file.display().to_string();
    environment.project_file(".env", "A=1");
    let run = |words: &str, status: i32| {
        let output = environment.run(words.split(' '));
        assert_eq!(output.status, Some(status), "{words}: {output}");
    };
    run("permissions list", 0);
    // A hint for the root of all folders does not open what is below it.
    run(r#"tools call read_file --args {"file_path":"/"}"#, 3);
    for key in ["/", "/."] {
        run(&format!("permissions allow read {key}"), 0);
        run(&format!("permissions ask read {key}"), 0);
    }
    run(&format!("permissions set {file} r-?"), 0);
    run("permissions set ../outside/ ---", 0);
    run("permissions list", 0);
    run(&format!("permissions explain {file}"), 0);
    run(&format!("permissions unset {file}"), 0);
    run(&format!("permissions unset {file}"), 2);
    insta::assert_snapshot!("rules_that_are_set_and_unset", environment.transcript());
    // What looks like an address, a pattern or a program is said to be none, or to be one.
    run("permissions set docs.rs r--", 0);
    run("permissions allow read *.docs.rs", 0);
    run("permissions allow read localhost:8080", 0);
    run("permissions allow run false", 0);
    run("permissions allow read nosuchfile", 0);
    run("permissions allow run https://docs.rs/", 2);
    run("permissions set ftp://docs.rs/ r--", 2);
    // What cannot be executed is not a program, nor is what is not there.
    run("permissions explain .env", 0);
    run("permissions explain nosuch.txt", 0);
    run("permissions explain https://docs.rs/", 0);
    run(&format!("permissions set {file} rwxx"), 2);
    run(&format!("permissions set {file} yes"), 2);
    run("permissions set ../home/config/dunlin/ r--", 2);
    insta::assert_snapshot!("targets_that_are_something_else", environment.transcript());
    run(
        r#"tools call read_file --args {"file_path":"../outside/b.txt"}"#,
        3,
    );
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
