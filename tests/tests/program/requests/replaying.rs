//! Requests that are sent again, as they were or edited, and conversations that continue from one.

use dunlin_tests::{Key, Provider, Response};
use serde_json::json;

use super::listed;
use crate::stage::{Chat, environment, read};

#[test]
fn a_replay_sends_the_same_bytes_and_runs_nothing() {
    let call = || Response::call("edit_file", json!({"file_path": "a.txt", "edits": []}));
    let provider = Provider::play([
        Response::reply("The wind is from the west."),
        Response::stream()
            .text("The wind is from the east.")
            .finish_reason("stop")
            .usage(77, 7)
            .done(),
        call(),
        Response::reply("From another agent."),
    ]);
    let environment = environment(&provider);
    environment.configure_for(
        &provider,
        "[agents.other]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"scripted\"\n"
            .replace("http://127.0.0.1:9/v1", &provider.base_url())
            .as_str(),
    );
    let mut chat = Chat::open(&environment);
    chat.turn("where is the wind from?");
    chat.leave();
    let output = environment.run(["requests", "replay", "1"]);
    assert_eq!(output.status, Some(0), "{output}");
    for expected in [
        "── then · scripted · ",
        "The wind is from the west.",
        "── now · scripted · agent assistant at http://127.0.0.1:",
        "The wind is from the east.",
        "77 tokens in, 7 out",
        "from the [-west.-]{+east.+}",
    ] {
        assert!(output.stdout.contains(expected), "{expected}: {output}");
    }
    let requests = provider.requests();
    assert_eq!(requests[0].bytes, requests[1].bytes);
    // A call is shown and does not run; nothing is stored either.
    let output = environment.run(["requests", "replay", "1"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(
        output
            .stdout
            .contains("  → edit_file {\"file_path\":\"a.txt\""),
        "{output}"
    );
    assert!(!environment.project().join("a.txt").exists());
    assert_eq!(listed(&environment).len(), 1);
    // Another agent has no key, and gets the same conversation.
    let output = environment.run(["requests", "replay", "1", "--agent", "other"]);
    assert_eq!(output.status, Some(0), "{output}");
    let requests = provider.requests();
    assert_eq!(requests[3].messages(), requests[0].messages());
    assert_eq!(requests[3].tools(), requests[0].tools());
    assert_eq!(requests[3].header("authorization"), None);
    let output = environment.run(["requests", "replay", "1", "--edited"]);
    assert_eq!(output.status, Some(2), "{output}");
    assert_eq!(provider.requests().len(), 4);
}

#[test]
fn the_chat_replays_and_forks_a_request() {
    let provider = Provider::play([
        Response::reply("From the west."),
        Response::reply("From the east."),
        Response::reply("Yes."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("where is the wind from?");
    chat.turn("/requests 1 replay");
    chat.turn("/requests 1 fork");
    chat.turn("/requests 1 foo");
    // A replay is no part of the conversation, nor of the log.
    chat.turn("is it strong?");
    let requests = provider.requests();
    assert_eq!(requests[0].bytes, requests[1].bytes);
    assert_eq!(requests[2].messages().len(), 3);
    chat.turn("/requests 3");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn a_replay_can_be_edited_first() {
    let provider = Provider::play([Response::reply("One."), Response::reply("Two.")]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("count to one");
    chat.leave();
    let terminal = environment
        .command(["requests", "replay", "1", "--edited"])
        .variable("EDITOR", "sed -i s/one/two/")
        .terminal();
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    assert!(
        terminal.screen().contains("[-One.-]{+Two.+}"),
        "{terminal:?}"
    );
    let requests = provider.requests();
    let last = |index: usize| {
        requests[index]
            .messages()
            .last()
            .cloned()
            .expect("a message")
    };
    assert_eq!(last(0)["content"], "count to one");
    assert_eq!(last(1)["content"], "count to two");
}

#[test]
fn a_fork_continues_from_what_a_request_sent() {
    let provider = Provider::play([
        read("a.txt"),
        Response::reply("It says hello."),
        Response::reply("Forgotten."),
        Response::reply("From there."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "hello\n");
    let mut chat = Chat::open(&environment);
    chat.turn("read a.txt");
    chat.turn("something else");
    chat.leave();
    let output = environment.run(["requests", "fork", "2"]);
    assert_eq!(output.status, Some(0), "{output}");
    let id = output.stdout.trim().to_owned();
    // The copy is the last session of the project by now, and has sent nothing.
    let before = "lists the requests before.";
    let output = environment.run(["requests", "list"]);
    assert!(output.stderr.contains("No request of session"), "{output}");
    assert!(output.stderr.contains(before), "{output}");
    let output = environment.run(["requests", "show", "2"]);
    assert_eq!(output.status, Some(2), "{output}");
    assert!(output.stderr.contains(before), "{output}");
    for arguments in [
        &["requests", "export"][..],
        &["requests", "export", "--har"],
    ] {
        let output = environment.run(arguments);
        assert_eq!(output.status, Some(0), "{output}");
        let none = format!("No request of session {id} was logged.");
        assert!(output.stderr.contains(&none), "{output}");
        assert!(output.stderr.contains(before), "{output}");
    }
    let mut chat = Chat::of(environment.terminal(["--resume", &id]));
    let screen = chat.terminal.screen();
    assert!(screen.contains("1 read_file a.txt"), "{:?}", chat.terminal);
    assert!(!screen.contains("something else"), "{:?}", chat.terminal);
    chat.turn("and from here?");
    chat.terminal.press(Key::CtrlD);
    assert_eq!(chat.terminal.wait_end(), Some(0), "{:?}", chat.terminal);
    let requests = provider.requests();
    let before = requests[1].messages();
    let after = requests[3].messages();
    assert_eq!(&after[..before.len()], before);
    assert_eq!(
        after.last().expect("a message")["content"],
        "and from here?"
    );
}
