//! `dunlin acp`: an editor at the other end.

mod editor;
mod hostile;
mod prompts;
mod questions;

use std::fs;

use dunlin_tests::{Environment, Gate, Provider, Response, program};
use serde_json::{Value, json};

use crate::stage::{environment, read};
use editor::Editor;

const BEFORE: &str = "one\ntwo\nthree\n";
const AFTER: &str = "one\nzwei\nthree\n";

fn edit() -> Response {
    let edits = json!([{"range": [2, 3], "replacement": "zwei"}]);
    Response::call("edit_file", json!({"file_path": "a.txt", "edits": edits}))
}

/// A project with `a.txt`, and a file outside of it.
fn project(script: impl IntoIterator<Item = Response>) -> (Provider, Environment) {
    let provider = Provider::play(script);
    let environment = environment(&provider);
    environment.project_file("a.txt", BEFORE);
    environment.outside_file("b.txt", "text of b\n");
    (provider, environment)
}

fn outside() -> Response {
    read("../outside/b.txt")
}

fn text(environment: &Environment) -> String {
    fs::read_to_string(environment.project().join("a.txt")).expect("a file")
}

/// What a question says.
fn said(question: &Value) -> &str {
    let content = &question["params"]["toolCall"]["content"];
    content[0]["content"]["text"].as_str().expect("a text")
}

#[test]
fn a_turn_reads_asks_edits_and_is_loaded_again() {
    let (provider, environment) = project([
        read("a.txt"),
        edit(),
        Response::stream()
            .reasoning("Nothing is left.")
            .text("I did ")
            .text("it.")
            .finish("stop"),
        Response::reply("Zwei."),
    ]);
    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());
    let turn = editor.say(&session, "translate it");
    let question = editor.question(0);
    let call = &question["params"]["toolCall"];
    let path = environment.project().join("a.txt");
    assert_eq!(call["title"], "Edit file 'a.txt' with 1 edit?");
    assert_eq!(
        (&call["kind"], &call["status"]),
        (&json!("edit"), &json!("pending"))
    );
    assert_eq!(call["locations"], json!([{"path": path, "line": 1}]));
    let diff = json!({"type": "diff", "path": path, "oldText": BEFORE, "newText": AFTER});
    assert_eq!(call["content"][1], diff);
    let text_of_question = said(&question);
    for part in ["write   ", "always, never: in all projects"] {
        assert!(text_of_question.contains(part), "{text_of_question}");
    }
    assert!(!text_of_question.contains("zwei"), "{text_of_question}");
    assert_eq!(text(&environment), BEFORE);
    editor.choose(&question, "allow");
    assert_eq!(editor.ended(turn), "end_turn");
    assert_eq!(text(&environment), AFTER);
    assert_eq!(editor.text(&session, "agent_message_chunk"), "I did it.");
    assert!(
        editor
            .text(&session, "agent_thought_chunk")
            .contains("Nothing is left.")
    );
    let first = editor.call(&session, 0);
    assert_eq!(
        (&first["kind"], &first["status"]),
        (&json!("read"), &json!("completed"))
    );
    assert_eq!(first["title"], "read_file a.txt");
    assert_eq!(first["rawInput"], json!({"file_path": "a.txt"}));
    let result = first["content"][0]["content"]["text"]
        .as_str()
        .expect("a text");
    assert!(
        result.starts_with("```\n") && result.contains("two"),
        "{result}"
    );
    let second = editor.call(&session, 1);
    assert_eq!(second["title"], "edit_file a.txt");
    assert_eq!(
        (&second["status"], &second["content"]),
        (&json!("completed"), &json!([diff]))
    );
    let output = editor.close();
    assert_eq!(output.status, Some(0), "{output}");

    // Another process lists it and goes on with it.
    let mut editor = Editor::open(&environment);
    for (params, count) in [
        (json!({}), 1),
        (json!({"cwd": environment.project()}), 1),
        (json!({"cwd": environment.root()}), 0),
    ] {
        let list = editor.client.request("session/list", params);
        let listed = editor.result(list);
        assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(count));
        if count == 1 {
            let listed = &listed["sessions"][0];
            assert_eq!(listed["sessionId"], *session);
            assert_eq!(listed["title"], "translate it");
            assert_eq!(listed["cwd"], json!(environment.project()));
            assert!(listed["updatedAt"].is_string());
        }
    }
    editor.load(&session, &environment.project());
    let kinds: Vec<Value> = editor
        .updates(&session)
        .iter()
        .map(|it| it["sessionUpdate"].clone())
        .collect();
    assert_eq!(
        kinds,
        [
            "user_message_chunk",
            "tool_call",
            "tool_call",
            "agent_thought_chunk",
            "agent_message_chunk"
        ]
    );
    assert_eq!(editor.text(&session, "user_message_chunk"), "translate it");
    assert_eq!(editor.text(&session, "agent_message_chunk"), "I did it.");
    let turn = editor.say(&session, "what is two?");
    assert_eq!(editor.ended(turn), "end_turn");
    assert_eq!(editor.close().status, Some(0));
    let request = provider.wait_for_request(3);
    let messages: Vec<&Value> = request.messages().iter().map(|it| &it["role"]).collect();
    assert_eq!(messages.iter().filter(|role| **role == "user").count(), 2);
}

#[test]
fn a_turn_is_cancelled() {
    let gate = Gate::new();
    let (provider, environment) = project([
        Response::stream()
            .text("It be")
            .wait(&gate)
            .text("gins")
            .finish("stop"),
        outside(),
        outside(),
        Response::reply("Never mind."),
    ]);
    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());

    let turn = editor.say(&session, "one");
    gate.wait_reached();
    editor.cancel(&session);
    assert_eq!(editor.ended(turn), "cancelled");
    provider.wait_for_hang_up(0);
    gate.open();

    // A question is taken back, and an answer to it comes too late.
    let turn = editor.say(&session, "two");
    let question = editor.question(0);
    editor.cancel(&session);
    assert_eq!(editor.ended(turn), "cancelled");
    let withdrawn = editor.client.wait(|it| it["method"] == "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    editor.choose(&question, "allow_always");

    // The editor says by its answer that it wants no more.
    let turn = editor.say(&session, "three");
    let question = editor.question(1);
    editor.answer(&question, &json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(editor.ended(turn), "cancelled");
    assert_eq!(environment.permissions(), Value::Null);

    let turn = editor.say(&session, "four");
    assert_eq!(editor.ended(turn), "end_turn");
    // There is nothing to cancel.
    editor.cancel(&session);
    editor.cancel("other");
    assert_eq!(editor.close().status, Some(0));
}

#[test]
fn sessions_run_side_by_side() {
    let gate = Gate::new();
    let slow = Response::stream().text("slow").wait(&gate).finish("stop");
    let provider = Provider::play_each([
        ("first", vec![slow]),
        ("second", vec![read("c.txt"), Response::reply("quick")]),
    ]);
    let environment = environment(&provider);
    environment.outside_file("c.txt", "text of c\n");
    let mut editor = Editor::open(&environment);
    let first = editor.session(&environment.project());
    let second = editor.session(&environment.root().join("outside"));
    assert_ne!(first, second);
    let slow = editor.say(&first, "first");
    gate.wait_reached();

    // One prompt in each at a time.
    let refused = editor.say(&first, "again");
    let (code, message) = editor.error(refused);
    assert_eq!(code, -32600);
    assert!(
        message.contains("a prompt of this session is under way"),
        "{message}"
    );

    // What is outside of one project is the other's own.
    let quick = editor.say(&second, "second");
    assert_eq!(editor.ended(quick), "end_turn");
    assert_eq!(editor.text(&second, "agent_message_chunk"), "quick");
    assert_eq!(editor.call(&second, 0)["status"], "completed");
    gate.open();
    assert_eq!(editor.ended(slow), "end_turn");
    assert_eq!(editor.text(&first, "agent_message_chunk"), "slow");

    // A closed session is gone, and can be loaded again.
    let params = json!({"sessionId": second});
    let closed = editor.client.request("session/close", params);
    assert_eq!(editor.client.answer(closed)["result"], json!({}));
    let gone = editor.say(&second, "more");
    assert_eq!(editor.error(gone).0, -32002);
    editor.load(&second, &environment.root().join("outside"));
    assert_eq!(editor.close().status, Some(0));
}

#[test]
fn plans_templates_and_subagents() {
    let steps = json!({"items": [
        {"content": "look", "status": "completed"},
        {"content": "write", "status": "in_progress"},
    ]});
    let provider = Provider::play_each([
        (
            "Review a.txt",
            vec![
                Response::call("todo", steps),
                Response::call("run_subagent", json!({"task": "Find the eggs"})),
                Response::reply("Done."),
            ],
        ),
        (
            "Find the eggs",
            vec![outside(), Response::reply("Speckled.")],
        ),
    ]);
    let environment = environment(&provider);
    environment.outside_file("b.txt", "text of b\n");
    let templates = environment.config_file().with_file_name("prompts");
    fs::create_dir_all(&templates).expect("a folder");
    let template = "+++\ndescription = \"Reviews\"\narguments = [\"file\"]\n+++\nReview {{file}}\n";
    fs::write(templates.join("review.md"), template).expect("a file");
    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());
    let commands = editor
        .client
        .wait(|it| it["params"]["update"]["sessionUpdate"] == "available_commands_update");
    assert_eq!(
        commands["params"]["update"]["availableCommands"],
        json!([{"name": "review", "description": "Reviews", "input": {"hint": "file=…"}}])
    );
    let turn = editor.say(&session, "/review");
    let (_, message) = editor.error(turn);
    assert!(message.contains("Usage: /review file=…"), "{message}");
    let turn = editor.say(&session, "/review file=a.txt");
    let question = editor.question(0);
    let title = question["params"]["toolCall"]["title"]
        .as_str()
        .expect("a title");
    assert!(
        title.starts_with("[") && title.contains("] Read file '../outside/b.txt'?"),
        "{title}"
    );
    editor.choose(&question, "allow");
    assert_eq!(editor.ended(turn), "end_turn");
    let updates = editor.updates(&session);
    let plan = updates
        .iter()
        .find(|it| it["sessionUpdate"] == "plan")
        .expect("a plan");
    assert_eq!(
        plan["entries"],
        json!([
            {"content": "look", "priority": "medium", "status": "completed"},
            {"content": "write", "priority": "medium", "status": "in_progress"},
        ])
    );
    // The question about a call that the editor was not told of is over.
    let id = &question["params"]["toolCall"]["toolCallId"];
    let last = updates.iter().rfind(|it| it["toolCallId"] == *id);
    assert_eq!(last.expect("an update")["status"], "completed");
    assert_eq!(editor.close().status, Some(0));
}

#[test]
fn ends_and_failures_are_told_apart() {
    let (_provider, environment) = project([
        Response::stream()
            .text("It ends in the mid")
            .finish("length"),
        read("a.txt"),
        Response::status(400, r#"{"error": {"message": "no such model"}}"#),
    ]);
    environment.configure_more("", "[limits]\nmax_tool_rounds = 1\n");
    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());
    for expected in ["max_tokens", "max_turn_requests"] {
        let turn = editor.say(&session, "go");
        assert_eq!(editor.ended(turn), expected);
    }
    let turn = editor.say(&session, "go");
    let (code, message) = editor.error(turn);
    assert_eq!(code, -32603);
    assert!(message.contains("no such model"), "{message}");
    assert_eq!(editor.close().status, Some(0));
}

#[test]
fn what_cannot_begin_is_said() {
    let environment = Environment::warm(program!());
    let mut editor = Editor::open(&environment);
    let begun = editor.begin_session(&environment.project(), json!([]));
    let (code, message) = editor.error(begun);
    assert_eq!(code, -32603);
    assert!(message.contains("no agent is configured"), "{message}");
    assert!(message.contains("dunlin config init"), "{message}");
    let log_in = editor
        .client
        .request("authenticate", json!({"methodId": "key"}));
    assert!(editor.error(log_in).1.contains("dunlin config init"));

    environment.configure("[agents.a]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n");
    let missing = editor.begin_session(&environment.root().join("nowhere"), json!([]));
    assert!(editor.error(missing).1.contains("nowhere"));
    let relative = editor.begin_session(std::path::Path::new("project"), json!([]));
    assert_eq!(editor.error(relative).0, -32602);
    let params = json!({"sessionId": "nothing1", "cwd": environment.project(), "mcpServers": []});
    let unknown = editor.client.request("session/load", params);
    assert!(editor.error(unknown).1.contains("there is no session"));
    // What failed to begin is not open.
    let session = editor.session(&environment.project());
    let params = json!({"sessionId": session, "cwd": environment.project(), "mcpServers": []});
    let twice = editor.client.request("session/load", params);
    assert!(editor.error(twice).1.contains("is open already"));
    assert_eq!(editor.close().status, Some(0));

    let output = environment.run(["--project", ".", "acp"]);
    assert_eq!(output.status, Some(2), "{output}");
}

/// The mode is the editor's to choose, and counts at the next use.
#[test]
fn the_editor_chooses_the_mode() {
    let (provider, environment) = project([
        edit(),
        Response::reply("## Plan"),
        read("a.txt"),
        edit(),
        Response::reply("Done."),
    ]);
    let mut editor = Editor::open(&environment);
    let begun = editor.begin_session(&environment.project(), json!([]));
    let begun = editor.result(begun);
    let session = begun["sessionId"].as_str().expect("an id").to_owned();
    let modes = &begun["modes"];
    assert_eq!(modes["currentModeId"], "ask");
    let listed = modes["availableModes"].as_array().expect("modes").iter();
    let ids: Vec<&Value> = listed.map(|mode| &mode["id"]).collect();
    assert_eq!(ids, ["ask", "accept-edits", "plan"]);
    let error = editor.set_mode(&session, "yolo").expect("an error");
    assert_eq!(
        error,
        "\"yolo\" is not a mode; use ask, accept-edits or plan"
    );
    assert_eq!(editor.set_mode(&session, "plan"), None);
    let turn = editor.say(&session, "translate it");
    assert_eq!(editor.ended(turn), "end_turn");
    assert_eq!(text(&environment), BEFORE);
    let request = provider.wait_for_request(1);
    assert!(
        request.results()[0].contains("Plan mode is on"),
        "{request:?}"
    );
    assert_eq!(editor.set_mode(&session, "accept-edits"), None);
    let turn = editor.say(&session, "do it");
    assert_eq!(editor.ended(turn), "end_turn");
    assert_eq!(text(&environment), AFTER);
    assert_eq!(editor.close().status, Some(0));
}
