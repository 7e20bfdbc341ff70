//! Apps: an agent writes one, its page is served, and its back end asks in the chat.

mod errors;
mod managed;
mod said;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use dunlin_tests::{Environment, Key, Provider, Response, Screen, program};
use serde_json::{Value, json};

use crate::stage::Chat;

pub const FIRST: &str = "\
Here it is.

```html
<title>Tide table</title>
<h1>Tides</h1>
```

```renderer-js
dunlin.invoke(\"hello\", {});
```

```main-js
dunlin.handle(\"hello\", async () => \"hi\");
dunlin.handle(\"read\", async ({ path }) => dunlin.files.readText(path));
dunlin.handle(\"fail\", async () => null.x);
console.log(\"ready\");
```

That is all.";

/// An agent that writes apps and has these replies.
pub fn environment(provider: &Provider) -> Environment {
    let environment = Environment::with_provider(program!(), provider);
    let file = environment.config_file();
    let configuration = fs::read_to_string(file).expect("a configuration");
    let configuration = configuration.replace("kind = \"chat\"", "kind = \"app\"");
    // With the prompt that such agents have.
    environment.configure(&configuration.replace("system_prompt = \"\"", ""));
    environment
}

/// The newest address of a page on the screen.
pub fn address(screen: &Screen) -> String {
    let text = &screen.text;
    let at = text.rfind("http://127.0.0.1:").expect("an address");
    let word = text[at..].split_whitespace().next();
    word.expect("an address").to_owned()
}

/// Waits until the back end runs and the prompt is there again. Where the page is.
pub fn ready(chat: &Chat) -> String {
    let screen = chat.terminal.wait_until("the back end", |screen| {
        screen.contains("app 'tide-table': ready\n") && screen.cursor_line.starts_with('›')
    });
    address(&screen)
}

/// What a request of the page itself is answered: the status, and the body.
pub fn ask_page(address: &str, path: &str, body: Option<&Value>) -> (u16, String) {
    let (host, token) = address["http://".len()..].split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).expect("a page that is served");
    let body = body.map(Value::to_string);
    let head = match &body {
        Some(body) => format!(
            "POST /{token}{path} HTTP/1.1\r\norigin: http://{host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        ),
        None => format!("GET /{token}{path} HTTP/1.1\r\nsec-fetch-dest: document\r\n"),
    };
    let rest = format!(
        "host: {host}\r\nsec-fetch-site: same-origin\r\nconnection: close\r\n\r\n{}",
        body.unwrap_or_default()
    );
    stream
        .write_all(format!("{head}{rest}").as_bytes())
        .expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status.expect("a status"), body.to_owned())
}

/// Calls a handler of the back end, as version `version` of the page does.
pub fn invoke(address: &str, version: u64, name: &str, arguments: Value) -> (u16, Value) {
    let call = json!({ "version": version, "name": name, "arguments": arguments });
    let (status, body) = ask_page(address, "invoke", Some(&call));
    let body = serde_json::from_str(&body).unwrap_or(Value::String(body));
    (status, body)
}

#[test]
fn a_reply_becomes_an_app() {
    let broken = "```html\n1\n```\n\n```html\n2\n```\n";
    let provider = Provider::play([
        Response::reply(FIRST),
        Response::reply("Another heading:\n```html\n<title>Ebb</title>\n<h1>Ebb</h1>\n```\n"),
        Response::reply(broken),
        Response::stream().text("```html\n<h1>cut").finish("length"),
        Response::reply("You're welcome."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    let screen = chat.turn("a tide table please");
    let expected = "Here it is.\n\n  html · 2 lines\n\n  renderer-js · 1 line\n\n  main-js · 4 lines\n\nThat is all.\n\
                    app 'tide-table', version 1: html, renderer-js, main-js\n  http://127.0.0.1:";
    let lines = |text: &str| {
        text.lines()
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(
        lines(&screen.text).contains(&lines(expected)),
        "{:?}",
        chat.terminal
    );
    let page = ready(&chat);
    assert_eq!(ask_page(&page, "", None).0, 200);
    let (host, _) = page["http://".len()..].split_once('/').unwrap();
    assert_eq!(ask_page(&format!("http://{host}/guess/"), "", None).0, 404);
    assert_eq!(invoke(&page, 1, "hello", json!({})), (200, json!("hi")));

    // No tools, and what the blocks are.
    let request = &provider.requests()[0];
    assert!(request.tools().is_empty());
    let told = request.messages()[0]["content"].to_string();
    assert!(told.contains("main-js"), "{told}");

    let screen = chat.turn("another heading");
    assert!(
        screen.contains("app 'tide-table', version 2: html\n"),
        "{:?}",
        chat.terminal
    );
    assert!(
        screen.contains("  still the app that was called 'Tide table': /undo goes back to it, /new begins a chat for another app\n"),
        "{:?}",
        chat.terminal
    );
    // The same page shows it, and the back end is still there.
    assert_eq!(invoke(&page, 2, "hello", json!({})), (200, json!("hi")));

    let screen = chat.turn("break it");
    assert!(
        screen.contains("the app is unchanged: the reply has two html blocks"),
        "{:?}",
        chat.terminal
    );
    let screen = chat.turn("cut it off");
    assert!(
        screen.contains("the app is unchanged: the reply is not complete"),
        "{:?}",
        chat.terminal
    );

    chat.say("/undo");
    let screen = chat.prompt();
    assert!(
        screen.contains("app 'tide-table' is back at version 1."),
        "{:?}",
        chat.terminal
    );
    chat.say("/undo");
    let screen = chat.prompt();
    assert!(
        screen.contains(
            "This is the first version of the app; /undo takes back changes of files from here on.\nNothing to undo."
        ),
        "{:?}",
        chat.terminal
    );
    chat.say("/app");
    let screen = chat.prompt();
    for expected in [
        "app 'tide-table': Tide table\n",
        "  version 1, no earlier one\n",
        "  main-js · 4 lines\n",
    ] {
        assert!(screen.contains(expected), "{expected}: {:?}", chat.terminal);
    }
    chat.turn("thanks");
    let requests = provider.requests();
    let last = requests[4].messages().last().unwrap()["content"].to_string();
    assert!(
        last.contains("undone the last version of the app"),
        "{last}"
    );
    chat.say("/app close");
    chat.prompt();
    assert!(TcpStream::connect(host).is_err(), "the page is gone");
    chat.leave();
}

#[test]
fn a_back_end_asks_in_the_chat() {
    let provider = Provider::play([Response::reply(FIRST)]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "of the project");
    environment.outside_file("secret.txt", "from outside");
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    let page = ready(&chat);
    let read = |path: &'static str| {
        let page = page.clone();
        thread::spawn(move || invoke(&page, 1, "read", json!({ "path": path })))
    };
    // Reading in the project asks nobody.
    let inside = read("notes.txt").join().unwrap();
    assert_eq!(inside, (200, json!("of the project")));

    let is_back = |chat: &Chat| {
        chat.terminal.wait_until("the line", |screen| {
            screen.cursor_line.trim_end() == "› my next mess"
        })
    };
    // A question takes the place of the line, which comes back.
    chat.terminal.type_text("my next mess");
    let call = read("../outside/secret.txt");
    held(&chat, "my next mess");
    chat.terminal.press(Key::Enter);
    let screen = chat.question();
    assert!(
        screen.contains("  ? app 'tide-table' asks\n"),
        "{:?}",
        chat.terminal
    );
    assert!(screen.contains("secret.txt'?\n"), "{:?}", chat.terminal);
    chat.answer("n");
    let screen = is_back(&chat);
    let (status, error) = call.join().unwrap();
    assert_eq!(
        (status, &error["kind"]),
        (422, &json!("PermissionDeniedError")),
        "{error}"
    );
    // What the user has refused is no news.
    assert_eq!(screen.count("PermissionDenied"), 0, "{:?}", chat.terminal);

    let call = read("../outside/secret.txt");
    held(&chat, "my next mess");
    chat.terminal.press(Key::Enter);
    chat.question();
    chat.answer("y");
    assert_eq!(call.join().unwrap(), (200, json!("from outside")));
    is_back(&chat);
    let audit = environment.run(["audit"]);
    assert!(audit.stdout.contains("app 'tide-table'"), "{audit}");
}

/// Waits until a question takes no answer, because of a line that has not ended.
fn held(chat: &Chat, line: &str) {
    let expected = format!("  typed early: {line}");
    let screen = chat.terminal.wait_until(&expected, |screen| {
        screen.cursor_line.trim_end() == expected
    });
    assert!(
        screen.contains("End your line first: Enter keeps it for your next message"),
        "{:?}",
        chat.terminal
    );
}

#[test]
fn a_message_that_is_being_typed_answers_no_question() {
    let provider = Provider::play([Response::reply(FIRST), Response::reply("I see.")]);
    let environment = environment(&provider);
    environment.outside_file("secret.txt", "from outside");
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    let page = ready(&chat);
    let is_there = |chat: &Chat, row: &str| {
        chat.terminal
            .wait_until(row, |screen| screen.cursor_line.trim_end() == row);
    };
    let pasted = (1..=9).map(|number| format!("line {number}\r"));
    let pasted = format!("see \x1b[200~{}\x1b[201~", pasted.collect::<String>());
    let word = "see [pasted 1: 9 lines]";
    // What is typed, the last row of it, and the line below the question; then the rest, and what comes back. After three
    // refusals the app would not ask any more.
    for (begun, row, shown, rest, kept, back) in [
        (
            "make the bar",
            "› make the bar",
            "make the bar",
            "s\r",
            "make the bars",
            "› make the bars",
        ),
        // No answer of an earlier question either, and the rest is one.
        ("a", "› a", "a", "lways\ry\r", "", "› always"),
        // No part of the word for a paste can be erased.
        (
            pasted.as_str(),
            "› see [pasted 1: 9 lines]  (Tab unfolds it)",
            word,
            "\x7f\x7fy\r",
            "see [pasted 1: 9 lines]y",
            "› see [pasted 1: 9 lines]y",
        ),
    ] {
        chat.terminal.type_text(begun);
        is_there(&chat, row);
        let call = {
            let page = page.clone();
            let path = json!({ "path": "../outside/secret.txt" });
            thread::spawn(move || invoke(&page, 1, "read", path))
        };
        held(&chat, shown);
        chat.terminal.type_text(rest);
        let screen = chat.question();
        if !kept.is_empty() {
            let note = format!("Kept for your next message: {kept}\n");
            assert!(screen.contains(&note), "{:?}", chat.terminal);
        }
        chat.answer("n");
        let (status, error) = call.join().expect("an answer");
        assert_eq!(
            (status, &error["kind"]),
            (422, &json!("PermissionDeniedError")),
            "{begun:?}: {error}"
        );
        is_there(&chat, back);
        if begun != pasted {
            chat.terminal.press(Key::CtrlC);
            chat.prompt_cleared();
        }
    }
    // Nothing of the paste was lost.
    chat.terminal.press(Key::Enter);
    let request = provider.wait_for_request(1);
    let said = request.messages().last().expect("a message")["content"].to_string();
    assert!(
        said.contains("see line 1\\nline 2") && said.contains("line 9\\ny"),
        "{said}"
    );
    chat.terminal.wait_for("I see.");
    assert!(environment.permissions().is_null(), "{:?}", chat.terminal);
}

#[test]
fn a_conversation_that_does_not_have_the_app_is_told_of_it() {
    let provider = Provider::play([
        Response::reply(FIRST),
        Response::reply("```main-js\nconsole.log(\"second\")\n```"),
        Response::reply("You're welcome."),
        Response::reply("```main-js\nconsole.log(\"third\")\n```"),
        Response::reply("Fine."),
    ]);
    let environment = environment(&provider);
    let last = |number: usize| {
        let request = &provider.requests()[number];
        request.messages().last().unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    assert_eq!(last(0), "a tide table please");
    chat.leave();

    // Another conversation continues it.
    let mut chat = Chat::open(&environment);
    chat.say("/app tide-table");
    chat.prompt();
    let screen = chat.turn("say second");
    let told = last(1);
    for part in [
        "say second\n\nThe app as it is now:\n",
        "\n```html\n<title>Tide table</title>\n<h1>Tides</h1>\n```\n",
        "\n```main-js\ndunlin.handle(",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(
        screen.contains("with app 'tide-table' as it is: html · 2 lines, renderer-js · 1 line, main-js · 4 lines\n"),
        "{:?}",
        chat.terminal
    );
    chat.turn("thanks");
    assert_eq!(last(2), "thanks", "it has it");
    // What was said is gone, and the app is not.
    chat.say("/clear");
    chat.terminal.wait_for("Forget the conversation? [y/n]");
    chat.say("y");
    chat.prompt();
    chat.turn("say third");
    let told = last(3);
    assert!(
        told.contains("```html\n") && told.contains("console.log(\"second\")"),
        "{told}"
    );
    chat.turn("thanks again");
    assert_eq!(last(4), "thanks again");
    chat.leave();
}

#[test]
fn an_app_that_is_refused_three_times_is_not_asked_about_again() {
    let provider = Provider::play([Response::reply(FIRST)]);
    let environment = environment(&provider);
    environment.outside_file("secret.txt", "from outside");
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    let page = ready(&chat);
    let read = |page: &str| {
        let page = page.to_owned();
        let secret = json!({ "path": "../outside/secret.txt" });
        thread::spawn(move || invoke(&page, 1, "read", secret))
    };
    for _ in 0..3 {
        let call = read(&page);
        chat.question();
        chat.answer("n");
        assert_eq!(call.join().unwrap().0, 422);
    }
    let screen = chat
        .terminal
        .wait_for("app 'tide-table': you refused three times in a row");
    let asked = screen.count("app 'tide-table' asks");
    for _ in 0..2 {
        let (status, error) = read(&page).join().unwrap();
        assert_eq!(
            (status, &error["kind"]),
            (422, &json!("PermissionDeniedError")),
            "{error}"
        );
    }
    let said = chat.terminal.screen();
    assert_eq!(said.count("app 'tide-table' asks"), asked);
    assert_eq!(said.count("three times in a row"), 1);
    // Whoever opens it again is asked again.
    chat.say("/app close");
    chat.terminal.wait_for("app 'tide-table' is closed.\n› ");
    chat.say("/app open");
    let opened = chat.terminal.wait_until("another page", |screen| {
        screen.count("app 'tide-table': ready") == 2 && screen.cursor_line.starts_with('›')
    });
    let call = read(&address(&opened));
    chat.question();
    chat.answer("y");
    assert_eq!(call.join().unwrap().0, 200);
    chat.terminal
        .wait_until("the prompt", |screen| screen.cursor_line.starts_with('›'));
    chat.leave();
}
