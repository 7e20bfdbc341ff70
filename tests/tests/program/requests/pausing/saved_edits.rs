//! Edits that are saved in one request and applied to later ones.

use dunlin_tests::{Key, Provider, Received, Response};
use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::{Pausing, TOOLS, body, environment, said};
use crate::stage::Chat;

/// The prompt while edits are captured or applied.
const PROMPT: &str = "› (pause: auto) Type a message, @ to attach a file";

#[test]
fn saved_edits_are_applied_to_later_requests() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let tools = |request: &Received| request.tools().len();
    let mut chat = Pausing::open(&environment, "auto");
    // Nothing is saved yet: the first request is paused, and what is changed in it is kept.
    chat.say("count the gulls");
    chat.does("e temperature 0.5");
    chat.does("d 2");
    chat.does("list");
    chat.command("send", PROMPT);
    // From now on without a pause.
    chat.command("count the terns", PROMPT);
    let requests = provider.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(tools(&requests[0]), tools(&requests[1]));
    assert_eq!(requests[1].body["temperature"], json!(0.5));
    for line in ["/auto remove 1", "/auto", "/auto limit 1"] {
        chat.command(line, PROMPT);
    }
    chat.command(
        "/pause every",
        "› (pause: every) Type a message, @ to attach a file",
    );
    chat.command("/auto capture", PROMPT);
    // What was saved before is said with its scope and age.
    chat.say("count the ducks");
    chat.does("d 3");
    chat.does("diff");
    chat.does("undo");
    chat.command("send", PROMPT);
    chat.command("/pause auto", PROMPT);
    // Another session has none of them.
    chat.command("/new", PROMPT);
    chat.command("/pause", PROMPT);
    chat.say("count the owls");
    chat.command(
        "cancel",
        "› (pause: auto) count the owls  (put back: Enter sends it)",
    );
    insta::assert_snapshot!(chat.snapshot());
}

#[test]
fn what_is_taken_back_is_not_applied_any_more() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "auto");
    let turn = |chat: &mut Pausing, message: &str, edit: &str| {
        chat.say(message);
        chat.does(edit);
        chat.command("send", PROMPT);
    };
    turn(&mut chat, "count the gulls", "add seed 7");
    chat.command("/auto capture", PROMPT);
    turn(&mut chat, "count the gannets", "reset");
    chat.command("/auto", PROMPT);
    // One of another scope stays saved, and that is said.
    chat.command("/auto scope global", PROMPT);
    turn(&mut chat, "count the terns", "add seed 8");
    chat.command("/auto scope session", PROMPT);
    chat.command("/auto capture", PROMPT);
    turn(&mut chat, "count the ducks", "reset");
    // The same where one of this scope hides it.
    chat.command("/auto capture", PROMPT);
    turn(&mut chat, "count the geese", "e seed 9");
    chat.command("/auto capture", PROMPT);
    turn(&mut chat, "count the swans", "reset");
    insta::assert_snapshot!(chat.snapshot());
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
        &format!("{TOOLS}\nsystem_prompt = \"Be brief. The codename is Heron.\""),
    );
    let mut chat = Pausing::open(&environment, "auto");
    chat.say("one");
    // `ask_user`
    chat.does("d 3");
    chat.does("e 1 Be brief.");
    chat.command("send", PROMPT);
    // In its new form the tools are described in the system prompt, which is another text.
    chat.say("two");
    chat.does("e 1 Be brief.");
    chat.command("send", PROMPT);
    chat.say("three");
    let payload = chat.payload();
    insta::assert_snapshot!(chat.snapshot());
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
    chat.command("send", PROMPT);
    for _ in 1..=2 {
        chat.command("/fork", PROMPT);
        chat.command("one more", PROMPT);
        let request = provider.requests().pop().expect("a request");
        let body = body(&request);
        assert!(
            body.contains("my word is gull") && !body.contains("heron"),
            "{body}"
        );
    }
    insta::assert_snapshot!(chat.snapshot());
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
    let put_back = "› (pause: auto) count the terns  (put back: Enter sends it)";
    let mut chat = Pausing::open(&environment, "auto");
    chat.command("count the gulls", PROMPT);
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
        chat.say("count the terns");
        assert_eq!(provider.requests().len(), 1);
        chat.command("cancel", put_back);
        chat.chat.terminal.press(Key::CtrlC);
        chat.prompt(PROMPT);
    }
    // What cannot be read is not passed over: the request waits for the user.
    std::fs::write(&file, "{").expect("a file");
    chat.say("count the terns");
    assert_eq!(provider.requests().len(), 1);
    chat.command("cancel", put_back);
    insta::assert_snapshot!(chat.snapshot());
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
