//! Edits that are saved in one request and applied to later ones.

use dunlin_tests::{Key, Provider, Received, Response};
use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::{Pausing, body, said};
use crate::stage::{Chat, environment};

#[test]
fn saved_edits_are_applied_to_later_requests() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    environment.configure_for(&provider, "");
    let tools = |request: &Received| request.tools().len();
    let mut chat = Pausing::open(&environment, "auto");
    // Nothing is saved yet: the first request is paused, and what is changed in it is kept.
    let screen = chat.say("count the gulls");
    assert!(
        screen.contains("What you change in this request is saved"),
        "{screen}"
    );
    chat.does("e temperature 0.5");
    chat.does("d 2");
    let screen = chat.does("list");
    let heading = "· 2 edits (the conversation is";
    assert!(screen.contains(heading), "{screen}");
    chat.chat.say("send");
    chat.chat.terminal.wait_for("2 edits are saved (session)");
    let prompt = "› (pause: auto) Type a message, @ to attach a file";
    chat.prompt(prompt);
    // From now on without a pause.
    chat.chat.say("count the terns");
    chat.chat
        .terminal
        .wait_for("2 saved edits applied to this request");
    chat.prompt(prompt);
    let requests = provider.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(tools(&requests[0]), tools(&requests[1]));
    assert_eq!(requests[1].body["temperature"], json!(0.5));
    chat.chat.say("/auto remove 1");
    chat.chat.terminal.wait_for("1 saved edit is removed.");
    chat.chat.say("/auto");
    let screen = chat
        .chat
        .terminal
        .wait_for("Auto-apply is on: saved edits are applied to every request.");
    assert!(!screen.contains("No edits are saved here"), "{screen:?}");
    chat.chat.say("/auto limit 1");
    chat.chat
        .terminal
        .wait_for("The first 1 section is listed when edits are captured; saved in");
    chat.chat.say("/pause every");
    chat.prompt("› (pause: every) Type a message, @ to attach a file");
    chat.chat.say("/auto capture");
    chat.chat.terminal.wait_for("Pausing is auto from now on.");
    chat.prompt(prompt);
    // What was saved before is said with its scope and age.
    chat.say("count the ducks");
    chat.does("d 3");
    let screen = chat.does("diff");
    let saved = screen
        .lines()
        .filter(|line| line.contains("  saved (session, "));
    assert_eq!(saved.count(), 1, "{screen}");
    chat.does("undo");
    chat.chat.say("send");
    chat.prompt(prompt);
    chat.chat.say("/pause auto");
    chat.chat
        .terminal
        .wait_for("Pausing is auto: saved edits are applied to every request");
    // Another session has none of them.
    chat.chat.say("/new");
    chat.chat.terminal.wait_for("Started a new session.");
    chat.prompt(prompt);
    chat.chat.say("/pause");
    chat.chat
        .terminal
        .wait_for("Pausing is auto: the first request of the next message is paused");
    chat.prompt(prompt);
    let screen = chat.say("count the owls");
    assert!(
        screen.contains("What you change in this request is saved"),
        "{screen}"
    );
    let shown = screen.rsplit("⏸ request").next().unwrap_or_default();
    assert!(shown.contains("list all shows the others"), "{shown}");
    assert!(!shown.contains("   2 tool "), "{shown}");
    chat.chat.say("cancel");
    chat.chat
        .terminal
        .wait_for("Request cancelled before sending.");
}

#[test]
fn what_is_taken_back_is_not_applied_any_more() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    environment.configure_for(&provider, "");
    let mut chat = Pausing::open(&environment, "auto");
    let prompt = "› (pause: auto) Type a message, @ to attach a file";
    chat.say("count the gulls");
    chat.does("add seed 7");
    chat.chat.say("send");
    chat.chat.terminal.wait_for("1 edit is saved (session)");
    chat.prompt(prompt);
    chat.chat.say("/auto capture");
    chat.chat
        .terminal
        .wait_for("The first request of the next message is paused; what");
    chat.prompt(prompt);
    chat.say("count the gannets");
    chat.does("reset");
    chat.chat.say("send");
    chat.chat
        .terminal
        .wait_for("1 saved edit is removed; /auto lists the others.");
    chat.prompt(prompt);
    chat.chat.say("/auto");
    chat.chat.terminal.wait_for("No edits are saved here");
    chat.prompt(prompt);
    // One of another scope stays saved, and that is said.
    chat.chat.say("/auto scope global");
    chat.chat.terminal.wait_for("saved for: global");
    chat.prompt(prompt);
    chat.say("count the terns");
    chat.does("add seed 8");
    chat.chat.say("send");
    chat.chat.terminal.wait_for("1 edit is saved (global)");
    chat.prompt(prompt);
    chat.chat.say("/auto scope session");
    // `/auto` has said so before.
    chat.chat.terminal.wait_until("the scope", |screen| {
        screen.count("New edits are saved for: session") == 2
    });
    chat.prompt(prompt);
    chat.chat.say("/auto capture");
    chat.chat.terminal.wait_until("capturing", |screen| {
        screen.count("The first request of the next message is paused; what") == 2
            && screen.cursor_line.trim_end() == prompt
    });
    chat.say("count the ducks");
    chat.does("reset");
    chat.chat.say("send");
    let screen = chat
        .chat
        .terminal
        .wait_for("1 edit that you took back is saved for another scope");
    assert!(!screen.contains("0 edits"), "{screen:?}");
    chat.prompt(prompt);
    // The same where one of this scope hides it.
    chat.chat.say("/auto capture");
    chat.chat.terminal.wait_until("capturing", |screen| {
        screen.count("The first request of the next message is paused; what") == 3
            && screen.cursor_line.trim_end() == prompt
    });
    chat.say("count the geese");
    chat.does("e seed 9");
    chat.chat.say("send");
    chat.chat.terminal.wait_for("1 edit is saved (session)");
    chat.prompt(prompt);
    chat.chat.say("/auto capture");
    chat.chat.terminal.wait_until("capturing", |screen| {
        screen.count("The first request of the next message is paused; what") == 4
            && screen.cursor_line.trim_end() == prompt
    });
    chat.say("count the swans");
    chat.does("reset");
    chat.chat.say("send");
    chat.chat.terminal.wait_until("both are said", |screen| {
        screen.count("1 saved edit is removed;") == 2
            && screen.count("1 edit that you took back is saved for another scope") == 2
    });
    chat.prompt(prompt);
    let seeds = provider.requests();
    let seeds = seeds
        .iter()
        .map(|request| request.body.get("seed").cloned());
    let expected = [
        Some(json!(7)),
        None,
        Some(json!(8)),
        None,
        Some(json!(9)),
        None,
    ];
    assert_eq!(seeds.collect::<Vec<_>>(), expected);
}

#[test]
fn a_provider_cannot_undo_saved_edits() {
    let refused = json!({ "error": { "message": "this model does not support tools" } });
    let provider = Provider::play([
        Response::reply("One."),
        Response::json(400, &refused),
        Response::reply("Two."),
    ]);
    let environment = environment(&provider);
    environment.configure_for(
        &provider,
        "system_prompt = \"Be brief. The codename is Heron.\"",
    );
    let mut chat = Pausing::open(&environment, "auto");
    let screen = chat.say("one");
    let row = screen
        .lines()
        .find(|line| line.contains(" tool ask_user "))
        .expect("a tool");
    let number = row.split_whitespace().next().expect("a number").to_owned();
    chat.does(&format!("d {number}"));
    chat.does("e 1 Be brief.");
    chat.chat.say("send");
    let prompt = "› (pause: auto) Type a message, @ to attach a file";
    chat.prompt(prompt);
    // In its new form the tools are described in the system prompt, which is another text.
    chat.say("two");
    chat.does("e 1 Be brief.");
    chat.chat.say("send");
    chat.prompt(prompt);
    let screen = chat.say("three");
    assert!(
        screen.contains("A saved edit could not be applied, so the request is paused."),
        "{screen}"
    );
    let payload = chat.payload();
    assert!(
        payload.contains("Heron") && payload.contains("read_file: "),
        "{payload}"
    );
    assert!(!payload.contains("ask_user"), "{payload}");
    assert_eq!(provider.requests().len(), 3);
    for request in provider.requests() {
        assert!(!body(&request).contains("Heron"), "{}", body(&request));
    }
}

#[test]
fn saved_edits_hold_in_a_copy_of_the_session() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "auto");
    chat.say("my word is heron");
    chat.does("e 1 my word is gull");
    chat.chat.say("send");
    let prompt = "› (pause: auto) Type a message, @ to attach a file";
    chat.prompt(prompt);
    for turn in 1..=2 {
        chat.chat.say("/fork");
        chat.chat.terminal.wait_until("a copy", |screen| {
            screen.count("Forked ") == turn && screen.cursor_line.trim_end() == prompt
        });
        chat.chat.say("one more");
        chat.chat.terminal.wait_until("an answer", |screen| {
            screen.count("Fine.") == turn + 1 && screen.cursor_line.trim_end() == prompt
        });
        let request = provider.requests().pop().expect("a request");
        let body = body(&request);
        assert!(
            body.contains("my word is gull") && !body.contains("heron"),
            "{body}"
        );
    }
    drop(chat);
    let copied = environment.run(["requests", "fork", "1"]);
    assert_eq!(copied.status, Some(0), "{copied}");
    let edits =
        std::fs::read_to_string(environment.data().join("saved_edits.json")).expect("edits");
    let id = copied.stdout.trim();
    assert!(
        edits.contains(id)
            || copied
                .stderr
                .contains("1 saved edit of a message does not hold"),
        "{copied}"
    );
}

#[test]
fn a_saved_edit_of_another_text_is_not_applied() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    // What only adds an option may be missing; what replaces or removes something may not.
    let edits = r#"{"scope": "global", "edits": [
        {"scope": "global", "edit": {"section": "options", "path": "model", "value": "\"other\""}, "time": "2026-01-01T00:00:00Z"},
        {"scope": "project", "of": "/elsewhere", "edit": {"section": "options", "path": "temperature", "value": "1"}, "time": "2026-01-01T00:00:00Z"}
    ]}"#;
    std::fs::create_dir_all(environment.data()).expect("a folder");
    let file = environment.data().join("saved_edits.json");
    std::fs::write(&file, edits).expect("a file");
    let mut chat = Pausing::open(&environment, "auto");
    chat.chat.say("count the gulls");
    chat.chat
        .terminal
        .wait_for("options model: the text that it replaces has changed");
    chat.prompt("› (pause: auto) Type a message, @ to attach a file");
    let request = &provider.requests()[0];
    assert!(request.body["model"] != json!("other") && request.body["temperature"].is_null());
    for (section, path) in [
        ("options", "model"),
        ("tool:read_file", "function.description"),
        ("system", "content"),
    ] {
        let edit =
            json!({ "section": section, "path": path, "replaces": "0", "value": "\"other\"" });
        let edit = json!({ "scope": "global", "edit": edit, "time": "2026-01-01T00:00:00Z" });
        std::fs::write(&file, json!({ "edits": [edit] }).to_string()).expect("a file");
        let screen = chat.say("count the terns");
        assert!(
            screen.contains("A saved edit could not be applied, so the request is paused."),
            "{section}: {screen}"
        );
        assert_eq!(provider.requests().len(), 1);
        chat.chat.say("cancel");
        chat.prompt("› (pause: auto) count the terns  (put back: Enter sends it)");
        chat.chat.terminal.press(Key::CtrlC);
        chat.prompt("› (pause: auto) Type a message, @ to attach a file");
    }
    // What cannot be read is not passed over: the request waits for the user.
    std::fs::write(&file, "{").expect("a file");
    let screen = chat.say("count the terns");
    assert!(
        screen.contains("Saved edits are not applied: cannot read the saved edits"),
        "{screen}"
    );
    assert_eq!(provider.requests().len(), 1);
    chat.chat.say("cancel");
    chat.prompt("› (pause: auto) count the terns  (put back: Enter sends it)");
    chat.chat.terminal.press(Key::Enter);
    chat.request();
    kill_process(chat.chat.terminal.id(), Signal::KILL).expect("a process to kill");
    drop(chat);
    std::fs::write(&file, "{}").expect("a file");
    let mut chat = Chat::waiting(environment.terminal(["--resume"]));
    chat.prompt_with("count the terns");
    // What was cancelled is not in the conversation.
    chat.terminal.press(Key::Enter);
    chat.prompt();
    let last = provider.requests().pop().expect("a request");
    let users = said(&last).into_iter().filter(|(role, _)| role == "user");
    assert_eq!(users.count(), 2, "{:?}", said(&last));
}
