//! The modes of a chat: how they are chosen, what they allow, and what becomes of a plan.

use std::fs;

use dunlin_tests::{Environment, Gate, Key, Provider, Received, Response, Screen};
use serde_json::{Value, json};

use crate::stage::{Chat, PLACEHOLDER, environment};

/// Where a plan is decided about.
const PLAN: &str = "  plan?";

/// How the note of plan mode begins.
const NOTE: &str = "(Plan mode is on for this message.";

fn write(path: &str, content: &str) -> Response {
    Response::call(
        "write_file",
        json!({ "file_path": path, "content": content }),
    )
}

fn run(line: &str) -> Response {
    Response::call("run_terminal_command", json!({ "command": line }))
}

/// Waits for the question about the plan, so many of them having been there.
fn plan(chat: &Chat, before: usize) -> Screen {
    let asked = |screen: &Screen| {
        let lines = screen.text.lines();
        lines.filter(|line| line.starts_with(PLAN)).count() > before
            && screen.cursor_line.trim_end() == PLAN
    };
    chat.terminal
        .wait_until("the question about the plan", asked)
}

fn last_said(request: &Received) -> String {
    let said = request.messages().iter().rev();
    let mut said = said.filter(|message| message["role"] == "user");
    let content = said.next().map(|message| message["content"].clone());
    content
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn result(request: &Received) -> String {
    request
        .results()
        .last()
        .copied()
        .unwrap_or_default()
        .to_owned()
}

/// The rules in the audit log that speak of a mode.
fn rules(environment: &Environment) -> Vec<String> {
    let log = fs::read_to_string(environment.data().join("audit.jsonl")).unwrap_or_default();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line"));
    let rules = lines.filter_map(|line| line["rule"].as_str().map(str::to_owned));
    let mut rules: Vec<String> = rules.filter(|rule| rule.starts_with("mode ")).collect();
    rules.dedup();
    rules
}

#[test]
fn a_key_goes_through_the_modes_and_keeps_the_line() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.terminal.type_text("look");
    for prompt in ["› (edits accepted) look", "› (plan) look", "› look"] {
        chat.terminal.type_text("\x1b[Z");
        chat.terminal
            .wait_until(prompt, |screen| screen.cursor_line.trim_end() == prompt);
    }
    // Keys that arrive in one piece count one after the other.
    for (keys, prompt) in [
        ("\x1b[Z\x1b[Z", "› (plan) look"),
        ("s\x1b[Z\x7f at\x1b[Z it\x1b[Z", "› (plan) look at it"),
        (
            "\x03\x1b[Za\x1bp\x1b[Zb",
            "› (pause: next, edits accepted) ab",
        ),
        ("\x1b[Z\x1bp\x1b[Z", "› ab"),
    ] {
        chat.terminal.type_text(keys);
        chat.terminal
            .wait_until(prompt, |screen| screen.cursor_line.trim_end() == prompt);
    }
    assert_eq!(chat.terminal.screen().count("from another terminal"), 0);
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.say("/mode plan");
    chat.prompt_with("(plan)");
    chat.say("/mode");
    chat.prompt_with("(plan)");
    chat.say("/permissions");
    chat.prompt_with("(plan)");
    chat.say("/mode yolo");
    chat.prompt_with("(plan)");
    // Another session begins as this one did.
    chat.say("/mode ask");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn a_plan_changes_nothing_until_it_is_approved() {
    let provider = Provider::play([
        write("a.txt", "planned\n"),
        write("b.txt", "planned\n"),
        Response::reply("## Plan\n\nI would write a.txt."),
        Response::reply("## Plan\n\nThen with two lines."),
        write("a.txt", "one\ntwo\n"),
        Response::reply("It is written."),
    ]);
    let environment = environment(&provider);
    let at = |name: &str| environment.project().join(name);
    let mut chat = Chat::waiting(environment.terminal(["--mode", "plan"]));
    chat.prompt_with("(plan)");
    chat.say("write something");
    let screen = plan(&chat, 0);
    assert_eq!(screen.count("· denied"), 2, "{:?}", chat.terminal);
    assert!(!at("a.txt").exists() && !at("b.txt").exists());
    // The model is told, and goes on by itself.
    let request = provider.wait_for_request(1);
    assert!(
        last_said(&request).starts_with("write something\n\n"),
        "{request:?}"
    );
    assert!(last_said(&request).contains(NOTE), "{request:?}");
    assert!(
        result(&request).contains("Plan mode is on: nothing is changed"),
        "{request:?}"
    );
    chat.answer("n in two lines");
    plan(&chat, 1);
    let request = provider.wait_for_request(3);
    assert!(
        last_said(&request).starts_with("in two lines\n\n"),
        "{request:?}"
    );
    assert!(last_said(&request).contains(NOTE), "{request:?}");
    chat.answer("y");
    chat.question();
    let request = provider.wait_for_request(4);
    assert_eq!(last_said(&request), "Carry out the plan.");
    assert!(!at("a.txt").exists());
    chat.answer("y");
    chat.prompt();
    assert_eq!(fs::read_to_string(at("a.txt")).unwrap(), "one\ntwo\n");
    assert_eq!(rules(&environment), ["mode plan: nothing is changed"]);
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

/// A command that the user approves runs in plan mode, too: where it can change nothing, and only this once.
#[test]
fn commands_of_plan_mode_read_only() {
    let provider = Provider::play([
        run("cat a.txt; touch b.txt"),
        run("cat a.txt"),
        Response::reply("There is an a.txt."),
        run("touch b.txt"),
        Response::reply("Now there is a b.txt."),
    ]);
    let environment = environment(&provider);
    let at = |name: &str| environment.project().join(name);
    fs::write(at("a.txt"), "what it holds\n").expect("a file");
    let mut chat = Chat::waiting(environment.terminal(["--mode", "plan"]));
    chat.prompt_with("(plan)");
    chat.say("look around");
    chat.question();
    chat.answer("always");
    chat.question();
    chat.answer("y");
    chat.question();
    assert!(!at("b.txt").exists());
    chat.answer("y");
    chat.prompt_with("(plan)");
    let request = provider.wait_for_request(1);
    let result = result(&request);
    assert!(
        result.contains("what it holds") && result.contains("Read-only file system"),
        "{request:?}"
    );
    // What was not answered yet when plan mode ended is asked about again.
    chat.say("go on");
    chat.question();
    chat.terminal.type_text("\x1b[Z");
    chat.terminal.wait_for("Mode ask");
    chat.answer("y");
    chat.question();
    assert!(!at("b.txt").exists());
    chat.answer("y");
    chat.prompt();
    assert!(at("b.txt").exists());
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn an_approved_plan_may_be_carried_out_without_questions_about_edits() {
    let provider = Provider::play([
        Response::reply("# Plan\n\nI would write a.txt, and look at it."),
        write("a.txt", "text\n"),
        run("cat a.txt"),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("/mode plan");
    chat.prompt_with("(plan)");
    chat.say("write something");
    plan(&chat, 0);
    chat.answer("ae");
    // A command is asked about as before.
    chat.question();
    let text = fs::read_to_string(environment.project().join("a.txt"));
    assert_eq!(text.unwrap(), "text\n");
    chat.answer("n");
    chat.prompt_with("(edits accepted)");
    let expected = ["mode accept-edits: edits in the project are accepted"];
    assert_eq!(rules(&environment), expected);
    chat.leave();
}

/// What was typed before the plan was there approves nothing, and Ctrl-C leaves it open.
#[test]
fn a_plan_is_not_approved_by_what_was_typed_before_it() {
    let gate = Gate::new();
    let late = Response::stream()
        .text("**Plan**\n\nI would")
        .wait(&gate)
        .text(" write.")
        .finish("stop");
    let provider = Provider::play([late, Response::reply("## Plan\n\nNone.")]);
    let environment = environment(&provider);
    let mut chat = Chat::waiting(environment.terminal(["--mode", "plan"]));
    chat.prompt_with("(plan)");
    chat.say("write something");
    chat.terminal.wait_for("I would");
    chat.terminal.type_text("y\r");
    gate.open();
    plan(&chat, 0);
    chat.terminal.press(Key::CtrlC);
    chat.prompt_with("(plan)");
    assert_eq!(provider.requests().len(), 1);
    // A command is one at the question, too, which is asked again as long as the mode is on.
    chat.say("and again");
    plan(&chat, 1);
    chat.answer("/history");
    assert!(plan(&chat, 2).contains("m1"), "{:?}", chat.terminal);
    chat.answer("/mode ask");
    let screen = chat.prompt();
    assert_eq!(screen.cursor_line.trim_end(), format!("› {PLACEHOLDER}"));
    chat.leave();
}

/// Nothing but a yes, a no or a text of some words is taken, and a reply without the heading asks nothing.
#[test]
fn the_question_about_a_plan_stays_until_it_is_answered() {
    let provider = Provider::play([
        Response::reply("Which file do you mean?"),
        Response::reply("## Plan\n\nWrite b.txt."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::waiting(environment.terminal(["--mode", "plan"]));
    chat.prompt_with("(plan)");
    chat.say("write it");
    let screen = chat.prompt_with("(plan)");
    assert!(!screen.contains(PLAN), "{:?}", chat.terminal);
    chat.say("b.txt");
    plan(&chat, 0);
    for (line, asked) in [("s", 1), ("y 1", 2), ("yes sir", 3), ("", 4)] {
        chat.answer(line);
        let screen = plan(&chat, asked);
        let said = "Nothing was sent: y, ae and n stand alone; n TEXT says what to change";
        assert_eq!(screen.count(said), asked, "{:?}", chat.terminal);
    }
    assert_eq!(provider.requests().len(), 2);
    // Esc clears the line first, and what was typed before is recalled.
    let recalled = |screen: &Screen| screen.cursor_line.trim_end() == "  plan? yes sir";
    chat.terminal.type_text("\x1b[A");
    chat.terminal.wait_until("what was typed", recalled);
    chat.terminal.press(Key::Escape);
    let cleared = |screen: &Screen| screen.cursor_line.trim_end() == PLAN;
    chat.terminal.wait_until("an empty line", cleared);
    chat.terminal.press(Key::Escape);
    let screen = chat.prompt_with("(plan)");
    assert!(screen.contains("Plan mode stays on: Shift-Tab and /mode end it."));
    chat.leave();
}

#[test]
fn an_approved_plan_is_not_remembered_as_typed_and_the_key_ends_the_mode() {
    let planned = || Response::reply("## Plan\n\nWrite b.txt.");
    let provider = Provider::play([planned(), Response::reply("Done."), planned()]);
    let environment = environment(&provider);
    let mut chat = Chat::waiting(environment.terminal(["--mode", "plan"]));
    chat.prompt_with("(plan)");
    chat.say("write it");
    plan(&chat, 0);
    chat.answer("y");
    chat.prompt();
    assert_eq!(
        last_said(&provider.wait_for_request(1)),
        "Carry out the plan."
    );
    chat.terminal.press(Key::Up);
    let recalled = |screen: &Screen| screen.cursor_line.trim_end() == "› write it";
    chat.terminal.wait_until("what was typed", recalled);
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.say("/mode plan");
    chat.prompt_with("(plan)");
    chat.say("again");
    plan(&chat, 1);
    chat.terminal.type_text("but");
    chat.terminal.type_text("\x1b[Z");
    let left = |screen: &Screen| screen.cursor_line.trim_end() == "› but";
    let screen = chat.terminal.wait_until("the line at the prompt", left);
    assert!(screen.contains("Mode ask: Dunlin asks before anything is changed or run."));
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.leave();
}

/// The mode is changed while a turn runs, with the key and with the command, and counts from the next use on.
#[test]
fn the_mode_is_changed_while_a_turn_runs() {
    let (first, second) = (Gate::new(), Gate::new());
    let late = |gate: &Gate, path: &str| {
        let arguments = json!({ "file_path": path, "content": "text\n" });
        let text = Response::stream().text("Wait for").wait(gate);
        let text = text.text(" the end.");
        text.calls_of([("write_file", arguments)])
    };
    let provider = Provider::play([
        late(&first, "a.txt"),
        late(&second, "b.txt"),
        Response::reply("Done."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("write");
    chat.terminal.wait_for("Wait");
    chat.terminal.type_text("\x1b[Z");
    chat.terminal.wait_for("Mode accept-edits: ");
    first.open();
    provider.wait_for_request(1);
    let is_begun = |screen: &Screen| screen.count("Wait for") == 2;
    chat.terminal.wait_until("the second reply", is_begun);
    chat.terminal.type_text("/mode plan\r");
    chat.terminal.wait_for("Mode plan: ");
    second.open();
    let screen = chat.prompt_with("(plan)");
    assert!(!screen.contains("allow?"), "{:?}", chat.terminal);
    // What is said of it breaks no sentence.
    assert!(result(&provider.wait_for_request(2)).contains("Plan mode is on"));
    let at = |name: &str| environment.project().join(name);
    assert!(at("a.txt").exists() && !at("b.txt").exists());
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

/// A question about a call stays where a mode is widened with the key, and goes where a command narrows it.
#[test]
fn the_mode_is_changed_at_a_question() {
    let provider = Provider::play([
        write("a.txt", "text\n"),
        Response::reply("## Plan\n\nNone."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("write");
    chat.question();
    chat.terminal.type_text("\x1b[Z");
    chat.terminal.wait_for("Mode accept-edits: ");
    chat.answer("/mode plan");
    plan(&chat, 0);
    assert!(!environment.project().join("a.txt").exists());
    assert!(result(&provider.wait_for_request(1)).contains("Plan mode is on"));
    chat.answer("n");
    chat.prompt_with("(plan)");
    chat.leave();
}

#[test]
fn a_project_may_narrow_the_mode_and_not_widen_it() {
    let provider = Provider::play([write("a.txt", "text\n")]);
    let environment = environment(&provider);
    environment.project_file(".dunlin/config.toml", "mode = \"accept-edits\"\n");
    let mut terminal = environment.terminal::<&str>([]);
    terminal.wait_for("Trust this version of the file? [y/n]");
    terminal.type_line("n");
    let mut chat = Chat::of(terminal);
    chat.say("write");
    chat.question();
    chat.answer("n");
    chat.prompt();
    chat.leave();
    environment.project_file(".dunlin/config.toml", "mode = \"plan\"\n");
    let terminal = environment.terminal(["--fresh"]);
    let mut chat = Chat::waiting(terminal);
    chat.prompt_with("(plan)");
    chat.leave();
    // The user's own word is stronger.
    let chat = Chat::of(environment.terminal(["--fresh", "--mode", "ask"]));
    chat.leave();
}

#[test]
fn one_question_is_answered_in_a_mode_that_was_asked_for() {
    let write = || write("a.txt", "text\n");
    let provider = Provider::play([
        // Denied, and the turn is over.
        write(),
        write(),
        Response::reply("I would write a.txt."),
        write(),
        Response::reply("Written."),
    ]);
    let environment = environment(&provider);
    let path = environment.project().join("a.txt");
    // A configuration that was made for the chat opens nothing where nobody looks.
    environment.configure_more("mode = \"accept-edits\"", "");
    let output = environment.run(["ask", "write"]);
    assert_eq!(output.status, Some(3), "{output}");
    assert!(!path.exists());
    let output = environment.run([
        "ask",
        "--mode",
        "plan",
        "--allow-tool",
        "write_file",
        "write",
    ]);
    assert_eq!(output.status, Some(3), "{output}");
    assert!(!path.exists());
    let requests = provider.requests();
    let asked = requests.iter().map(last_said);
    let asked: Vec<bool> = asked.map(|said| said.contains(NOTE)).collect();
    assert_eq!(
        asked.iter().filter(|is_told| **is_told).count(),
        2,
        "{asked:?}"
    );
    let output = environment.run(["ask", "--mode", "accept-edits", "write"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert_eq!(fs::read_to_string(path).unwrap(), "text\n");
    let output = environment.run(["tools", "list", "--mode", "plan"]);
    assert_eq!(output.status, Some(2), "{output}");
}
