//! What goes wrong in an app is shown, and told to the model that wrote it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use dunlin_tests::{Gate, Provider, Response};
use serde_json::json;

use crate::apps::{FIRST, address, environment, invoke, ready};
use crate::stage::Chat;

#[test]
fn errors_are_shown_and_sent_to_the_model() {
    let gate = Gate::new();
    let provider = Provider::play([
        Response::reply(FIRST),
        Response::stream()
            .wait(&gate)
            .text("```main-js\ndunlin.handle('hello', () => 1);\nsyntax error\n```")
            .finish("stop"),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    let page = ready(&chat);
    chat.say("/fix");
    let screen = chat.prompt();
    assert!(
        screen.contains("The app has reported no error"),
        "{:?}",
        chat.terminal
    );

    let (status, error) = invoke(&page, 1, "fail", json!({}));
    assert_eq!((status, &error["line"]), (422, &json!(3)), "{error}");
    chat.terminal
        .wait_for("app 'tide-table': main-js, line 3, column ");
    let (status, error) = invoke(&page, 1, "none", json!({}));
    assert_eq!(
        (status, &error["kind"]),
        (422, &json!("NoHandlerError")),
        "{error}"
    );
    chat.terminal.wait_for("NoHandlerError");
    chat.say("/fix");
    let request = provider.wait_for_request(1);
    let said = request.messages().last().unwrap()["content"].to_string();
    for part in ["main-js, line 3, column", "TypeError", "NoHandlerError"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // All of it is shown, however long its lines are.
    let without_space = |text: &str| text.split_whitespace().collect::<String>();
    let said = request.messages().last().unwrap()["content"]
        .as_str()
        .map(without_space)
        .unwrap();
    chat.terminal.wait_until("what is sent", |screen| {
        without_space(&screen.text).contains(&said)
    });
    gate.open();
    // An error of the new version is seen although nothing calls it.
    chat.terminal
        .wait_for("app 'tide-table', version 2: main-js");
    chat.terminal.wait_for("app 'tide-table': main-js, line 2");
    chat.prompt();
    chat.leave();
}

#[test]
fn events_of_a_version_that_is_replaced_do_not_reach_the_next_one() {
    let emits = |what: &str| {
        format!(
            "```html\n<title>Tide table</title>\n```\n```main-js\nsetInterval(() => dunlin.emit('tide', '{what}'), 4);\nconsole.log('ready');\n```"
        )
    };
    let provider = Provider::play([
        Response::reply(&emits("old")),
        Response::reply(&emits("new")),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    let page = ready(&chat);
    let (host, token) = page["http://".len()..].split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let head = format!(
        "GET /{token}events HTTP/1.1\r\nhost: {host}\r\nsec-fetch-site: same-origin\r\nsec-fetch-dest: empty\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("\"old\"")));
    chat.say("another one");
    assert!(lines.any(|line| line.contains("\"version\":2")));
    let next = lines.find(|line| line.contains("\"tide\""));
    assert!(next.is_some_and(|line| line.contains("\"new\"")));
    chat.prompt();
    chat.leave();
}

#[test]
fn only_the_errors_of_the_app_of_the_chat_are_sent() {
    let provider = Provider::play([
        Response::reply(
            &FIRST
                .replace("Tide table", "Ebb")
                .replace("null.x", "null.ebb"),
        ),
        Response::reply(FIRST),
        Response::reply("I see."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("an app about ebb please");
    chat.terminal.wait_for("app 'ebb': ready");
    chat.leave();
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    let own = ready(&chat);
    chat.say("/app open ebb");
    chat.terminal.wait_for("app 'ebb': ready");
    let other = address(&chat.prompt());
    assert_ne!(own, other);
    for (page, shown) in [
        (&own, "app 'tide-table': main-js"),
        (&other, "app 'ebb': main-js"),
    ] {
        assert_eq!(invoke(page, 1, "fail", json!({})).0, 422);
        chat.terminal.wait_for(shown);
    }
    chat.turn("/fix");
    let request = provider.requests().pop().unwrap();
    let said = request.messages().last().unwrap()["content"].to_string();
    assert_eq!(said.matches("TypeError").count(), 1, "{said}");
    assert!(!said.contains("ebb"), "{said}");
    // Those of the other one are its own.
    chat.say("/fix");
    let screen = chat.prompt();
    assert!(
        screen.contains("The app has reported no error"),
        "{:?}",
        chat.terminal
    );
    chat.leave();
}
