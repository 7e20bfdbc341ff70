//! What is said of apps: which agent writes them, where none is made, what was not shown, and for whom something is stored.

use dunlin_tests::{Environment, Key, Provider, Response, Screen, program};

use crate::apps::{FIRST, environment, ready};
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
    ] {
        assert!(screen.contains(expected), "{expected}: {:?}", chat.terminal);
    }
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
