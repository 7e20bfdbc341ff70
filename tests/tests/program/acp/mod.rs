//! `dunlin acp`: an editor at the other end.

mod editor;
mod hostile;

use std::fs;

use dunlin_chat::media::samples::picture;
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
fn parts_of_a_prompt_reach_the_model() {
    let (provider, environment) = project([
        Response::reply("I see."),
        Response::reply("Mine."),
        Response::reply("Read."),
        Response::reply("A tern."),
    ]);
    let uri = |path: &str| format!("file://{}/{path}", environment.root().display());
    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());
    let turn = editor.say_blocks(
        &session,
        json!([
            {"type": "text", "text": "Compare"},
            {"type": "resource_link", "uri": uri("project/a.txt"), "name": "a.txt"},
            {"type": "resource", "resource": {"uri": uri("project/d.txt"), "text": "text of @a.txt"}},
        ]),
    );
    assert_eq!(editor.ended(turn), "end_turn");
    let request = provider.wait_for_request(0);
    let content = request.messages()[0]["content"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    for part in ["Compare @a.txt ", "text of @a.txt", "     2\ttwo"] {
        assert!(content.contains(part), "{part}: {content}");
    }

    // A file elsewhere is read as by any tool: the user is asked.
    let link = json!([
        {"type": "text", "text": "And"},
        {"type": "resource_link", "uri": uri("outside/b.txt"), "name": "b.txt"},
    ]);
    let turn = editor.say_blocks(&session, link.clone());
    let question = editor.question(0);
    editor.choose(&question, "reject");
    let (code, message) = editor.error(turn);
    assert_eq!(code, -32602);
    assert!(
        message.contains("b.txt was not read: it was denied"),
        "{message}"
    );
    let turn = editor.say(&session, "alone");
    assert_eq!(editor.ended(turn), "end_turn");
    let turn = editor.say_blocks(&session, link);
    let question = editor.question(1);
    editor.choose(&question, "allow");
    assert_eq!(editor.ended(turn), "end_turn");
    let request = provider.wait_for_request(2);
    assert!(request.bytes.windows(9).any(|it| it == b"text of b"));

    let image = json!([{"type": "image", "data": "", "mimeType": "image/png"}]);
    let turn = editor.say_blocks(&session, image);
    let why = "an image cannot be attached: it is neither a PNG, JPEG, GIF or WebP image nor a PDF document";
    let refused = (-32602, why.to_owned());
    assert_eq!(editor.error(turn), refused);
    let image = picture("tern.png", 8, 6);
    let blocks = json!([
        {"type": "text", "text": "Which bird?"},
        {"type": "image", "data": image.base64(), "mimeType": "image/png"},
    ]);
    let turn = editor.say_blocks(&session, blocks);
    assert_eq!(editor.ended(turn), "end_turn");
    let request = provider.wait_for_request(3);
    let said = request.messages().last().expect("a message").clone();
    assert_eq!(said["content"][1]["image_url"]["url"], image.data_url());
    assert_eq!(editor.close().status, Some(0));

    // The editor gets the words back without what was read.
    let mut editor = Editor::open(&environment);
    editor.load(&session, &environment.project());
    let said = editor.text(&session, "user_message_chunk");
    assert!(said.contains("Compare @a.txt "), "{said}");
    assert!(!said.contains("two") && !said.contains("text of"), "{said}");
    assert_eq!(editor.close().status, Some(0));
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

/// Whoever wrote a link may have chosen its name: it attaches nothing.
#[test]
fn the_name_of_a_link_mentions_no_file() {
    let (provider, environment) = project([Response::reply("Seen.")]);
    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());
    let link = |name: &str, uri: &str| json!({"type": "resource_link", "name": name, "uri": uri});
    let blocks = json!([{"type": "text", "text": "look"}, link("@a.txt", "https://example.com/")]);
    let turn = editor.say_blocks(&session, blocks);
    assert_eq!(editor.ended(turn), "end_turn");
    let said = provider
        .wait_for_request(0)
        .messages()
        .last()
        .expect("a message")["content"]
        .clone();
    let said = said.as_str().expect("a text");
    assert!(said.contains("[@a.txt](https://example.com/)"), "{said}");
    assert!(!said.contains("two"), "{said}");
    assert_eq!(editor.close().status, Some(0));
}
