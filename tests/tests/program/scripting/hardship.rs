//! No room, no folders, nobody who reads: one message, never a panic.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use dunlin_tests::{Environment, Output, Provider, Response, program};

use crate::stage::{environment, read};

/// Runs a line of shell with the program as `$0`.
fn shell(environment: &Environment, line: &str) -> Output {
    let shell = Environment::new("/bin/sh");
    let program = program!().to_owned();
    let config = environment.home().join("config");
    shell
        .command(["-c", line, &program])
        .variable("XDG_CONFIG_HOME", &config.display().to_string())
        .run()
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let provider = Provider::always(Response::reply(&"a line of the reply\n".repeat(10_000)));
    let environment = environment(&provider);
    for command in [
        "tools list",
        "completions bash",
        "ask hello",
        "--help",
        "config show",
    ] {
        let line =
            format!("{{ \"$0\" {command} 2>&3; echo $? >&2; }} 3>&2 | head -c 1 > /dev/null");
        let output = shell(&environment, &line);
        assert!(!output.stderr.contains("panicked"), "{command}: {output}");
        assert!(output.stderr.ends_with("0\n"), "{command}: {output}");
    }
}

#[test]
fn a_full_disk_is_one_message() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    for command in [
        "tools list",
        "config show",
        "ask hello",
        "ask --json hello",
        "permissions explain a",
    ] {
        let output = shell(&environment, &format!("\"$0\" {command} > /dev/full"));
        assert_eq!(output.status, Some(1), "{command}: {output}");
        let expected =
            "error: cannot write the output\n  because: No space left on device (os error 28)\n";
        assert!(output.stderr.ends_with(expected), "{command}: {output}");
    }
}

#[test]
fn a_closed_output_is_no_panic() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    for close in [">&-", "2>&-", "<&-", "<&- >&- 2>&-"] {
        let output = shell(&environment, &format!("\"$0\" ask hello {close}; echo $?"));
        assert!(
            !output.to_string().contains("panicked"),
            "{close}: {output}"
        );
        assert!(!output.stdout.contains("101"), "{close}: {output}");
    }
}

#[test]
fn folders_that_cannot_be_made_are_named() {
    let provider = Provider::play([]);
    for folder in ["data", "cache"] {
        let environment = environment(&provider).cold();
        // A file where a folder should be: nobody can write there, whoever runs the test.
        let path = environment.home().join(folder);
        fs::remove_dir(&path).unwrap();
        fs::write(&path, "").unwrap();
        let output = environment.run(["ask", "hello"]);
        assert_eq!(output.status, Some(1), "{output}");
        let expected = format!("error: cannot make the folder [HOME]/{folder}/dunlin\n  because: ");
        assert!(output.stderr.starts_with(&expected), "{output}");
        let output = environment.run(["doctor"]);
        assert_eq!(output.status, Some(1), "{output}");
        assert!(
            output.stdout.contains(&format!("✗ {folder} folder")),
            "{output}"
        );
    }
}

#[test]
fn a_history_that_cannot_be_kept_does_not_stop_the_chat() {
    let provider = Provider::play([Response::reply("Yes.")]);
    let environment = environment(&provider);
    fs::create_dir_all(environment.data().join("history")).unwrap();
    let mut chat = crate::stage::Chat::open(&environment);
    let screen = chat.turn("hello");
    assert!(
        screen.contains("warning: the history could not be kept"),
        "{:?}",
        chat.terminal
    );
    assert!(screen.contains("Yes."), "{:?}", chat.terminal);
    chat.leave();
}

#[test]
fn a_broken_permission_file_allows_nothing() {
    let provider = Provider::always(read("a.txt"));
    let environment = environment(&provider);
    environment.project_file("a.txt", "text");
    let path = environment
        .home()
        .join("config/dunlin/tool.permissions.json");
    for broken in ["{", "[]", "{\"/a\": \"yes\"}", "\u{0}"] {
        fs::write(&path, broken).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let output = environment.run(["permissions", "list"]);
        assert_eq!(output.status, Some(2), "{broken:?}: {output}");
        assert!(
            output.stderr.contains("tool.permissions.json"),
            "{broken:?}: {output}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), broken);
    }
}

#[test]
fn without_a_home_the_message_says_so() {
    for arguments in [&["ask", "hello"][..], &["config", "path"], &[]] {
        let run = Command::new(program!())
            .args(arguments)
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(2));
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(
            said.starts_with("error: cannot tell where the configuration is\n"),
            "{said}"
        );
        assert!(
            said.contains("hint: set HOME to your home folder"),
            "{said}"
        );
    }
}
