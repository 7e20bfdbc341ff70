//! Hooks while they run and after it: who hears what they say, and what interrupts them.

use std::fs;
use std::io::Write;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use dunlin_tests::{DEADLINE, Environment, McpClient, Provider, Response, Screen};
use serde_json::json;

use super::{hook, result, write};
use crate::stage::{Chat, environment, read};

#[test]
fn what_a_hook_says_after_an_edit_reaches_the_model_and_undo_takes_its_change_back() {
    let script = r#"sed -i s/one/ONE/ *.txt && grep -q '"change":"created"' && echo '{"message": "It is formatted now"}'"#;
    let provider = Provider::play([write("a.txt", "one\n"), Response::reply("Done.")]);
    let environment = environment(&provider);
    environment.configure_more("", &hook("after-edit", script, ""));
    let file = environment.project().join("a.txt");
    let mut chat = Chat::open(&environment);
    chat.say("write");
    chat.question();
    chat.answer("y");
    chat.prompt();
    assert_eq!(fs::read_to_string(&file).unwrap(), "ONE\n");
    let result = result(&provider, 1);
    let path = file.display();
    let (_, said) = result
        .split_once("\n\n[The hook `sed -i s/one/ONE/ *.txt")
        .expect(&result);
    assert!(
        said.contains("` says]\nIt is formatted now\n\n"),
        "{result}"
    );
    assert!(said.contains("[Dunlin] The hook `sed -i"), "{result}");
    let note = format!("` changed {path} after this edit. Read the file again before you edit it.");
    assert!(result.ends_with(&note), "{result}");
    // The user sees it, though the question showed the edit itself, and finds it in the diff.
    let screen = chat.turn("/diff");
    let own = screen.line_with("✓ 1 a.txt +1 −0").unwrap_or_default();
    assert!(!own.contains("hook"), "{screen:?}");
    chat.say("/undo");
    chat.prompt();
    assert!(!file.exists(), "{:?}", chat.terminal);
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn what_a_hook_prints_is_shown_escaped() {
    let script = r#"printf '{"message": "a\\u001b[2Jb\\u202ec"}'"#;
    let provider = Provider::play([Response::reply("Done.")]);
    let environment = environment(&provider);
    environment.configure_more("", &hook("turn-end", script, ""));
    let output = environment.run(["ask", "hello"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert_eq!(output.stdout, "Done.\n", "{output}");
    let said = "says: a\\u{1b}[2Jb\\u{202e}c";
    assert!(output.stderr.contains(said), "{output}");
}

#[test]
fn hooks_are_listed_with_how_they_ran() {
    let provider = Provider::play([read("a.txt"), Response::reply("I may not.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "a");
    let mine = hook(
        "before-call",
        "echo '{\"decision\": \"deny\"}'",
        "tools = ['read_file']",
    ) + &hook("after-edit", "cargo fmt", "")
        + &hook("turn-end", "exit 4", "");
    environment.configure_more("", &mine);
    let chat = &mut Chat::open(&environment);
    chat.turn("read");
    let screen = chat.turn("/hooks");
    let after = |line: &str, next: &str| {
        let mut lines = screen.text.lines().skip_while(|it| !it.contains(line));
        let found = lines
            .next()
            .and(lines.find(|it| it.contains("ran ") || it.contains("run ")));
        assert!(
            found.is_some_and(|found| found.contains(next)),
            "{line}: {screen:?}"
        );
    };
    after("before-call · echo", "ran 1 time, last: denied");
    after("after-edit · cargo fmt", "did not run yet");
    after(
        "turn-end · exit 4",
        "ran 1 time, last: failed: exit status 4",
    );
    insta::assert_snapshot!(chat.terminal.screen());
}

#[test]
fn the_working_line_says_which_hook_is_waited_for() {
    let provider = Provider::play([write("a.txt", "one\n"), Response::reply("Done.")]);
    let environment = environment(&provider);
    let script = "read x < go";
    let hooks = ["before-call", "after-edit", "turn-end"].map(|event| hook(event, script, ""));
    environment.configure_more("", &hooks.concat());
    let go = environment.project().join("go");
    let made = Command::new("mkfifo").arg(&go).status();
    assert!(made.expect("mkfifo").success());
    // With both ends open here, nothing waits for the other end.
    let go = fs::File::options().read(true).write(true).open(&go);
    let mut go = go.expect("the pipe");
    let mut release = || go.write_all(b"\n").expect("there is room");
    let mut chat = Chat::open(&environment);
    chat.say("write");
    let name = "the hook `read x < go`";
    let is_of_call = |screen: &Screen| {
        let line = screen.line_with("1 write_file a.txt").unwrap_or_default();
        line.contains(name)
    };
    chat.terminal
        .wait_until("the call with its hook", is_of_call);
    release();
    chat.question();
    chat.answer("y");
    chat.terminal
        .wait_until("the call with its hook", is_of_call);
    release();
    let is_waited_for = |screen: &Screen| {
        let is_line = |line: &str| line.contains(name) && !line.contains("write_file");
        screen.text.lines().any(is_line) && screen.contains("Done.")
    };
    chat.terminal
        .wait_until("the hook at the end", is_waited_for);
    release();
    let screen = chat.prompt();
    assert!(!screen.contains(name), "{screen:?}");
    chat.leave();
}

#[test]
fn the_users_hooks_come_first_and_all_are_listed() {
    let provider = Provider::play([Response::reply("Done.")]);
    let environment = environment(&provider);
    let say = |word: &str| format!("echo '{{\"message\": \"{word}\"}}'");
    environment.project_file(".dunlin/config.toml", hook("turn-end", &say("third"), ""));
    let trusted = environment.run(["config", "trust", "--yes"]);
    assert_eq!(trusted.status, Some(0), "{trusted}");
    let mine = hook("turn-end", &say("first"), "") + &hook("turn-end", &say("second"), "");
    environment.configure_more("", &mine);
    let output = environment.run(["ask", "hello"]);
    let places = ["first", "second", "third"].map(|word| {
        let line = format!("says: {word}");
        output.stderr.find(&line).expect("a line")
    });
    assert!(places.is_sorted(), "{output}");
    let shown = environment.run(["config", "show"]);
    let count = |text: &str, start: &str| {
        let lines = text.lines();
        lines.filter(|line| line.starts_with(start)).count()
    };
    assert_eq!(count(&shown.stdout, "hook "), 3, "{shown}");
    let doctor = environment.run(["doctor"]);
    assert_eq!(
        doctor.stdout.matches("turn-end · echo").count(),
        3,
        "{doctor}"
    );
}

/// A named pipe of the project. The receiver hears of it when something is written into it.
fn pipe(environment: &Environment, name: &str) -> Receiver<()> {
    let path = environment.project().join(name);
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    let (sender, receiver) = mpsc::channel();
    // To open a pipe waits until somebody opens its other end, without end where the hook does not run.
    thread::spawn(move || {
        if fs::read_to_string(&path).is_ok_and(|text| text == "\n") {
            let _ = sender.send(());
        }
    });
    receiver
}

#[test]
fn ctrl_c_ends_a_hook() {
    let provider = Provider::play([read("a.txt")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "a");
    let began = pipe(&environment, "began");
    let script = "echo > began; sleep 1000";
    environment.configure_more("", &hook("before-call", script, "timeout_secs = 600"));
    let mut chat = Chat::open(&environment);
    chat.say("read");
    began.recv_timeout(DEADLINE).expect("the hook runs");
    chat.interrupt("a hook");
    chat.leave();
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn an_edit_whose_hook_is_interrupted_has_happened() {
    let provider = Provider::play([write("a.txt", "one\n"), Response::reply("I know.")]);
    let environment = environment(&provider);
    let began = pipe(&environment, "began");
    // A file that it names would have to be the one that was there at the start.
    let script = "sed -i s/one/ONE/ *.txt; echo > began; sleep 1000";
    environment.configure_more("", &hook("after-edit", script, "timeout_secs = 600"));
    let mut chat = Chat::open(&environment);
    chat.say("write");
    chat.question();
    chat.answer("y");
    began.recv_timeout(DEADLINE).expect("the hook runs");
    chat.interrupt("a hook");
    let file = environment.project().join("a.txt");
    assert_eq!(fs::read_to_string(&file).unwrap(), "ONE\n");
    chat.turn("what now");
    // The user's message follows it.
    let requests = provider.requests();
    let mut messages = requests[1].messages().iter();
    let result = messages.find(|message| message["role"] == "tool");
    let result = result.expect("a result")["content"].as_str().unwrap();
    assert!(!result.contains("cancelled"), "{result}");
    assert!(result.contains("interrupted the hooks"), "{result}");
    assert!(result.contains("[Dunlin] The hook `sed -i"), "{result}");
    chat.say("/undo");
    chat.prompt();
    assert!(!file.exists(), "{:?}", chat.terminal);
    chat.leave();
}

#[test]
fn the_user_of_an_mcp_client_hears_of_hooks_after_its_edits() {
    let environment = environment(&Provider::play([]));
    let began = pipe(&environment, "began");
    let hooks = hook("after-edit", "exit 3", "tools = ['write_file']")
        + &hook(
            "after-edit",
            "grep -q 'b[.]txt' && echo > began && sleep 1000; true",
            "timeout_secs = 600",
        );
    environment.configure_more("", &hooks);
    let project = format!("{}/", environment.project().display());
    let allowed = environment.run(["permissions", "allow", "write", &project]);
    assert_eq!(allowed.status, Some(0), "{allowed}");
    let mut client = McpClient::open(environment.command(["mcp", "serve"]));
    let answer = client.call(
        "write_file",
        json!({ "file_path": "a.txt", "content": "x" }),
    );
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let call =
        json!({ "name": "write_file", "arguments": { "file_path": "b.txt", "content": "x" } });
    let id = client.request("tools/call", call);
    began.recv_timeout(DEADLINE).expect("the hook runs");
    client.notify("notifications/cancelled", json!({ "requestId": id }));
    let output = client.close();
    let said = output.stderr.replace("\n│ ", " ");
    assert_eq!(
        said.matches("the hook `exit 3` failed (").count(),
        2,
        "{output}"
    );
    let ended = "the client cancelled the call while hooks ran after the edit of write_file; the edit stays";
    assert!(said.contains(ended), "{output}");
    assert!(environment.project().join("b.txt").exists());
}
