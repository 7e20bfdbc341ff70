//! What an editor's user is asked, and what each answer means.

use dunlin_tests::Response;
use serde_json::{Value, json};

use super::editor::Editor;
use super::{outside, project, said};

/// The options of a question.
fn options(question: &Value) -> Vec<&str> {
    let options = question["params"]["options"].as_array().expect("options");
    let id = |it: &Value| it["optionId"].as_str().map(str::len);
    assert!(options.iter().all(|it| id(it).is_some()));
    options
        .iter()
        .filter_map(|it| it["optionId"].as_str())
        .collect()
}

#[test]
fn every_answer_means_what_it_says() {
    let (provider, environment) = project([
        outside(),
        outside(),
        outside(),
        Response::reply("Read."),
        outside(),
        Response::reply("Read again."),
    ]);
    let b = environment.root().join("outside/b.txt");
    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());

    // A no ends the turn, as in the chat.
    let turn = editor.say(&session, "one");
    let question = editor.question(0);
    assert_eq!(
        options(&question),
        [
            "allow",
            "allow_session",
            "allow_always",
            "reject",
            "reject_always"
        ]
    );
    assert!(
        said(&question).contains("! Outside the project."),
        "{question}"
    );
    editor.choose(&question, "reject");
    assert_eq!(editor.ended(turn), "end_turn");
    assert_eq!(editor.call(&session, 0)["status"], "failed");

    // What was not offered is no yes.
    let turn = editor.say(&session, "two");
    let question = editor.question(1);
    editor.choose(&question, "allow_everything");
    assert_eq!(editor.ended(turn), "end_turn");
    assert_eq!(editor.call(&session, 1)["status"], "failed");

    // What is stored is said, with the command that takes it back.
    let turn = editor.say(&session, "three");
    let question = editor.question(2);
    editor.choose(&question, "allow_always");
    assert_eq!(editor.ended(turn), "end_turn");
    let thoughts = editor.text(&session, "agent_thought_chunk");
    assert!(thoughts.contains("Stored: allows reading"), "{thoughts}");
    assert!(
        thoughts.contains("dunlin permissions ask read"),
        "{thoughts}"
    );
    assert_eq!(environment.permissions()[b.to_str().unwrap()], "R??");

    let turn = editor.say(&session, "four");
    assert_eq!(editor.ended(turn), "end_turn");
    assert_eq!(
        editor.text(&session, "agent_message_chunk"),
        "Read.Read again."
    );
    assert_eq!(editor.close().status, Some(0));
    assert_eq!(provider.requests().len(), 6);
    let audit = environment.run(["audit"]);
    assert!(audit.stdout.contains("answered"), "{audit}");
    assert!(!audit.stdout.contains("nobody to ask"), "{audit}");
}

#[test]
fn servers_of_the_editor_are_asked_about() {
    let (_provider, environment) = project([
        Response::call("mcp_loader", json!({})),
        Response::call("good__echo", json!({"text": "tereu"})),
        Response::reply("It sang."),
    ]);
    let mut editor = Editor::open(&environment);
    let served = env!("CARGO_BIN_EXE_served");
    let servers = json!([
        {"name": "good", "command": served, "args": ["good"], "env": []},
        {"name": "two words", "command": served, "args": [], "env": []},
        {"type": "sse", "name": "old", "url": "https://example.com", "headers": []},
    ]);
    let begun = editor.begin_session(&environment.project(), servers);
    let answer = editor.client.answer(begun);
    let session = answer["result"]["sessionId"]
        .as_str()
        .expect("an id")
        .to_owned();
    let turn = editor.say(&session, "sing");
    let question = editor.question(0);
    assert!(
        said(&question).contains("Start the MCP server 'good'? It runs without a sandbox"),
        "{question}"
    );
    assert!(said(&question).contains(served), "{question}");
    editor.choose(&question, "allow");
    assert_eq!(editor.ended(turn), "end_turn");
    assert_eq!(editor.text(&session, "agent_message_chunk"), "It sang.");
    let thoughts = editor.text(&session, "agent_thought_chunk");
    for left_out in [
        "\"two words\" is left out: the name",
        "\"old\" is left out: Dunlin does not speak \"sse\"",
    ] {
        assert!(thoughts.contains(left_out), "{thoughts}");
    }
    assert_eq!(editor.close().status, Some(0));
}

#[test]
fn a_tool_asks_in_a_form_where_the_editor_has_them() {
    let asks = || {
        let arguments = json!({"question": "Which?", "options": ["red", "blue"]});
        [
            Response::call("ask_user", arguments),
            Response::reply("Thanks."),
        ]
    };
    let (provider, environment) = project(asks().into_iter().chain(asks()));
    let forms = json!({"elicitation": {"form": {}}});
    let mut editor = Editor::of(environment.command(["acp"]), forms);
    let session = editor.session(&environment.project());
    let turn = editor.say(&session, "go");
    let form = editor
        .client
        .wait(|it| it["method"] == "elicitation/create");
    assert_eq!(
        form["params"]["message"],
        "ask_user asks: Which?\n1. red\n2. blue"
    );
    editor.answer(
        &form,
        &json!({"action": "accept", "content": {"answer": "2"}}),
    );
    assert_eq!(editor.ended(turn), "end_turn");
    assert_eq!(provider.wait_for_request(1).results().last(), Some(&"blue"));
    assert_eq!(editor.close().status, Some(0));

    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());
    let turn = editor.say(&session, "go");
    assert_eq!(editor.ended(turn), "end_turn");
    let request = provider.wait_for_request(3);
    let results = request.results();
    let result = results.last().expect("a result");
    assert!(result.contains("nobody is there to answer"), "{result}");
    assert_eq!(editor.close().status, Some(0));
}
