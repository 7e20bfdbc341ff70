//! Apps: an agent writes one, its page is served, and its back end asks in the chat.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;

use dunlin_tests::{Environment, Gate, Key, Provider, Response, Screen, program};
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
fn address(screen: &Screen) -> String {
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
            "This is the first version of the app; /undo takes back changes of files from here on.\nThere is no edit of this session to take back"
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
fn an_app_that_is_deleted_elsewhere_is_closed() {
    // It stores something all the time.
    let storing = FIRST.replace(
        "console.log",
        "let n = 0;\nsetInterval(() => dunlin.store.set('n', n++), 20);\n\
         await dunlin.store.set('n', n);\nconsole.log",
    );
    let provider = Provider::play([Response::reply(&storing), Response::reply(&storing)]);
    let environment = environment(&provider);
    let stores = environment.data().join("stores");
    let stored = || match fs::read_dir(&stores) {
        Ok(entries) => entries.count(),
        Err(_) => 0,
    };
    let delete = || {
        let deleted = environment.run(["app", "delete", "--yes", "tide-table"]);
        assert_eq!(deleted.status, Some(0), "{deleted}");
    };
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    let page = ready(&chat);
    let (host, _) = page["http://".len()..].split_once('/').unwrap();
    assert_eq!(stored(), 1);
    delete();
    // Nothing was typed.
    chat.terminal
        .wait_for("app 'tide-table': it was deleted, and is closed");
    assert!(TcpStream::connect(host).is_err(), "the page is gone");
    assert_eq!(stored(), 0);
    for (said, expected) in [
        ("/app list", "There is no app yet."),
        ("/app close tide-table", "app 'tide-table' is not open."),
        ("/app close", "This chat has no app yet."),
    ] {
        chat.say(said);
        let screen = chat.prompt();
        assert!(screen.contains(expected), "{said}: {:?}", chat.terminal);
    }

    // Who closes it is not told that it does not exist.
    chat.turn("once more");
    let page = ready(&chat);
    let (host, _) = page["http://".len()..].split_once('/').unwrap();
    delete();
    chat.say("/app close");
    let screen = chat.prompt();
    assert!(
        screen.contains("app 'tide-table' is closed."),
        "{:?}",
        chat.terminal
    );
    assert!(TcpStream::connect(host).is_err(), "the page is gone");
    assert_eq!(stored(), 0);
    chat.leave();
}

#[test]
fn a_command_that_serves_an_app_ends_with_it() {
    let provider = Provider::play([Response::reply(FIRST)]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    ready(&chat);
    chat.leave();
    let served = environment.terminal(["app", "serve", "tide-table"]);
    served.wait_for("app 'tide-table': ready");
    let deleted = environment.run(["app", "delete", "--yes", "tide-table"]);
    assert_eq!(deleted.status, Some(0), "{deleted}");
    served.wait_for("app 'tide-table': it was deleted, and is closed");
    assert_eq!(served.wait_end(), Some(1), "{served:?}");
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

#[test]
fn apps_are_managed_on_the_command_line() {
    let provider = Provider::play([Response::reply(FIRST)]);
    let environment = environment(&provider);
    let run = |words: &[&str]| environment.run(words);
    let none = run(&["app", "list"]);
    assert!(none.stderr.contains("There is no app yet."), "{none}");
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    ready(&chat);
    chat.leave();

    let list = run(&["app", "list"]);
    assert_eq!(
        list.stdout, "tide-table  Tide table · version 1\n",
        "{list}"
    );
    let listed: Value = serde_json::from_str(&run(&["app", "list", "--json"]).stdout).unwrap();
    assert_eq!(
        (&listed[0]["name"], &listed[0]["version"]),
        (&json!("tide-table"), &json!(1))
    );
    let shown = run(&["app", "show", "tide-table"]);
    assert!(
        shown
            .stdout
            .contains("stored   0 B\npart     html · 2 lines\n")
            && shown.stdout.contains("part     main-js · 4 lines\n"),
        "{shown}"
    );
    let source = run(&["app", "show", "tide-table", "--part", "renderer-js"]);
    assert_eq!(source.stdout, "dunlin.invoke(\"hello\", {});\n", "{source}");
    let unknown = run(&["app", "show", "tide-tabel"]);
    assert_eq!(unknown.status, Some(1), "{unknown}");
    assert!(
        unknown.stderr.contains("there is no app 'tide-tabel'"),
        "{unknown}"
    );
    assert!(
        unknown.stderr.contains("the nearest is 'tide-table'"),
        "{unknown}"
    );

    let folder = environment.root().join("exported");
    let folder = folder.to_str().unwrap();
    let exported = run(&["app", "export", "tide-table", folder]);
    assert_eq!(exported.status, Some(0), "{exported}");
    assert!(
        exported
            .stderr
            .contains("its back end (main.js) runs only in Dunlin"),
        "{exported}"
    );
    let html = fs::read_to_string(format!("{folder}/index.html")).unwrap();
    assert!(
        html.contains("<h1>Tides</h1>") && html.contains("renderer.js"),
        "{html}"
    );
    let again = run(&["app", "export", "tide-table", folder]);
    assert_eq!(again.status, Some(1), "{again}");
    assert!(
        again.stderr.contains("name a folder that does not exist"),
        "{again}"
    );

    // Nobody can be asked there, and the address is data.
    let mut served = environment.terminal(["app", "serve", "tide-table"]);
    let page = address(&served.wait_for("http://127.0.0.1:"));
    served.wait_for("app 'tide-table': ready");
    assert_eq!(invoke(&page, 1, "hello", json!({})), (200, json!("hi")));
    served.press(Key::CtrlC);
    assert_eq!(served.wait_end(), Some(0), "{served:?}");

    // What an app has stored is listed.
    let record = fs::read_to_string(environment.data().join("apps/tide-table/app.json"));
    let record: Value = serde_json::from_str(&record.unwrap()).unwrap();
    let id = record["id"].as_str().unwrap();
    let store = environment.data().join(format!("stores/app.{id}/project"));
    fs::create_dir_all(&store).unwrap();
    fs::write(store.join("laps"), "x".repeat(2000)).unwrap();
    let list = run(&["app", "list"]);
    assert_eq!(
        list.stdout, "tide-table  Tide table · version 1 · 2 kB stored\n",
        "{list}"
    );
    // A copy is not used: it would have what the app was granted and has stored.
    let apps = environment.data().join("apps");
    let copy = apps.join("copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(apps.join("tide-table/app.json"), copy.join("app.json")).unwrap();
    for words in [["show", "copy", ""], ["delete", "--yes", "copy"]] {
        let words: Vec<&str> = words.into_iter().filter(|it| !it.is_empty()).collect();
        let refused = run(&[&["app"], words.as_slice()].concat());
        assert_eq!(refused.status, Some(1), "{refused}");
        let why = "the apps 'copy' and 'tide-table' have the same id";
        assert!(refused.stderr.contains(why), "{refused}");
    }
    assert!(store.join("laps").exists());
    fs::remove_dir_all(copy).unwrap();

    let refused = run(&["app", "delete", "tide-table"]);
    assert_eq!(refused.status, Some(2), "{refused}");
    let deleted = run(&["app", "delete", "--yes", "tide-table"]);
    assert_eq!(deleted.status, Some(0), "{deleted}");
    assert!(!store.exists());
    let none = run(&["app", "list"]);
    assert!(none.stderr.contains("There is no app yet."), "{none}");
}
