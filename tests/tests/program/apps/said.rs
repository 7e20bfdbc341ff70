//! What is said of apps: which agent writes them, where none is made, what was not shown, and for whom something is stored.

use std::thread;

use dunlin_tests::{Environment, Key, Provider, Response, Screen, program};
use serde_json::json;

use crate::apps::{FIRST, ask_page, environment, invoke, ready};
use crate::stage::Chat;

const MAIN: &str = "```main-js\nconsole.log(\"second\");\n```";

/// Leaves the chat. What was on the screen at the end.
fn leave(mut chat: Chat) -> Screen {
    chat.terminal.press(Key::CtrlD);
    assert_eq!(chat.terminal.wait_end(), Some(0), "{:?}", chat.terminal);
    chat.terminal.screen()
}

#[test]
fn a_chat_is_resumed_with_the_agent_that_writes_its_app() {
    let provider = Provider::play([
        Response::reply(FIRST),
        Response::reply(MAIN),
        Response::reply(FIRST),
        Response::reply("```html\n<p>\n```"),
        Response::reply(MAIN),
    ]);
    let environment = Environment::with_provider(program!(), &provider);
    let maker = format!(
        "[agents.maker]\nkind = \"app\"\nbase_url = \"{}\"\nmodel = \"scripted\"\napi_key = \"test\"",
        provider.base_url()
    );
    environment.configure_more("", &maker);
    let mut chat = Chat::of(environment.terminal(["--agent", "maker"]));
    chat.turn("a tide table please");
    ready(&chat);
    let hint = "Resume this session: dunlin --agent maker --resume ";
    let screen = leave(chat);
    let (_, id) = screen.text.split_once(hint).expect("the agent");
    let id = id.split_whitespace().next().expect("an id").to_owned();

    // The agent that answers by default is no part of the command, and writes no apps.
    let mut chat = Chat::of(environment.terminal(["--resume", &id]));
    let screen = chat.terminal.screen();
    for expected in [
        "agent maker answered before, assistant does now: /agent maker\n",
        "html · 2 lines\n",
        "main-js · 4 lines\n",
    ] {
        assert!(screen.contains(expected), "{expected}: {:?}", chat.terminal);
    }
    chat.terminal.assert_absent("<h1>Tides</h1>");
    let no_app = "No app is made of this reply: agent assistant does not write apps. Use /agent maker and ask again.";
    let screen = chat.turn("say second");
    assert!(screen.contains(no_app), "{:?}", chat.terminal);
    let screen = leave(chat);
    assert!(
        screen.contains(&format!("Resume this session: dunlin --resume {id}")),
        "{:?}",
        screen.text
    );

    // A page alone may be an example.
    let mut chat = Chat::of(environment.terminal(["--fresh"]));
    let screen = chat.turn("another tide table");
    assert_eq!(screen.count(no_app), 1, "{:?}", chat.terminal);
    let screen = chat.turn("what is a paragraph?");
    assert_eq!(screen.count(no_app), 1, "{:?}", chat.terminal);
    chat.leave();

    let mut chat = Chat::of(environment.terminal(["--agent", "maker", "--resume", &id]));
    let screen = chat.turn("say second");
    assert!(
        screen.contains("app 'tide-table', version 2: main-js\n"),
        "{:?}",
        chat.terminal
    );
    chat.leave();
}

#[test]
fn what_was_undone_stays_in_its_conversation() {
    let provider = Provider::play([
        Response::reply(FIRST),
        Response::reply(MAIN),
        Response::reply("Hello."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    ready(&chat);
    chat.turn("say second");
    for (said, expected) in [
        ("/undo", "app 'tide-table' is back at version 1."),
        ("/new", "Started a new session."),
    ] {
        chat.say(said);
        let screen = chat.prompt();
        assert!(screen.contains(expected), "{expected}: {:?}", chat.terminal);
    }
    chat.turn("hello");
    let request = provider.requests().pop().unwrap();
    assert_eq!(request.messages().last().unwrap()["content"], "hello");
    chat.leave();
}

#[test]
fn exceptions_of_a_page_are_seen_among_what_was_blocked() {
    let provider = Provider::play([Response::reply(FIRST), Response::reply("I see.")]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    let page = ready(&chat);
    let report = |message: &str, blocked: bool| {
        let report = json!({
            "version": 1, "message": message, "location": null, "blocked": blocked, "omitted": 0,
        });
        assert_eq!(ask_page(&page, "error", Some(&report)).0, 204);
    };
    for n in 1..=8 {
        report(&format!("font {n}"), true);
    }
    report("tides is not defined", false);
    let more =
        "app 'tide-table': 6 more errors of the page; /fix shows all that differ, and sends them";
    let screen = chat.terminal.wait_for(more);
    let shown: Vec<&str> = screen
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("app 'tide-table': page: "))
        .collect();
    assert_eq!(shown, ["font 1", "font 2", "tides is not defined"]);
    chat.turn("/fix");
    let request = provider.requests().pop().unwrap();
    let said = request.messages().last().unwrap()["content"].to_string();
    let thrown = said.find("tides is not defined").expect("the exception");
    assert!(said.find("font 1") > Some(thrown), "{said}");
    assert!(said.contains("font 8"), "{said}");
    chat.leave();
}

#[test]
fn where_no_app_is_made_that_is_said_once() {
    let reply = || Response::reply(FIRST);
    let provider = Provider::play([reply(), Response::reply("Hello."), reply(), reply()]);
    let environment = environment(&provider);
    let none = "warning: no app is made of this reply: apps are made in a chat in a terminal (dunlin --agent assistant)\n";
    let asked = environment.run(["ask", "a tide table please"]);
    assert_eq!(asked.stderr, none, "{asked}");
    assert!(asked.stdout.contains("<h1>Tides</h1>"), "{asked}");
    let asked = environment.run(["ask", "hello"]);
    assert_eq!(asked.stderr, "", "{asked}");
    let piped = environment
        .command::<&str>([])
        .stdin("one\nanother\n")
        .run();
    assert_eq!(piped.stderr, none, "{piped}");
    let list = environment.run(["app", "list"]);
    assert!(list.stderr.contains("There is no app yet."), "{list}");
}

#[test]
fn what_is_stored_names_the_app_and_its_version() {
    let provider = Provider::play([Response::reply(FIRST), Response::reply(MAIN)]);
    let environment = environment(&provider);
    environment.outside_file("secret.txt", "from outside");
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    let page = ready(&chat);
    let call = {
        let page = page.clone();
        thread::spawn(move || invoke(&page, 1, "read", json!({ "path": "../outside/secret.txt" })))
    };
    chat.question();
    chat.answer("v");
    let screen = chat.question();
    assert!(
        screen.contains("a yes only for this version of app 'tide-table'"),
        "{:?}",
        chat.terminal
    );
    chat.terminal.assert_absent("null");
    chat.answer("always");
    assert_eq!(call.join().unwrap().0, 200);
    chat.terminal.wait_for("Stored: allows reading ");
    chat.terminal
        .wait_until("the prompt", |screen| screen.cursor_line.starts_with('›'));
    let listed = || environment.run(["permissions", "list"]).stdout;
    let first = listed();
    assert!(
        first.contains("secret.txt  app 'tide-table', version 1\n"),
        "{first}"
    );
    chat.turn("say second");
    let second = listed();
    assert!(
        second.contains("  app 'tide-table', another version ("),
        "{second}"
    );
    chat.leave();
}
