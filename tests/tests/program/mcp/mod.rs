//! MCP servers in a chat: asked about once, joined while it runs, there again when the session goes on.

mod issuer;
mod login;
mod serve;
mod servers;

use std::fs;
use std::path::PathBuf;

use dunlin_tests::{Environment, Key, Provider, Response};
use serde_json::json;

use crate::stage::{Chat, assert_in_no_file, environment};

fn load(arguments: serde_json::Value) -> Response {
    Response::call("mcp_loader", arguments)
}

/// The test server. It is in the folder of the test, so that questions name the same path on each machine.
fn served(environment: &Environment) -> PathBuf {
    let there = environment.root().join("served");
    let built = env!("CARGO_BIN_EXE_served");
    if !there.exists() && fs::hard_link(built, &there).is_err() {
        // On another file system.
        fs::copy(built, &there).expect("the test server");
    }
    there
}

/// Configures the test server under these names, each behaving as it is called.
fn configure(environment: &Environment, servers: &[&str]) {
    let command = served(environment);
    let tables = servers.iter().map(|name| {
        format!(
            "[mcp.servers.{name}]\ncommand = {command:?}\nargs = [{name:?}]\ndescription = \"Is {name}.\"\n"
        )
    });
    environment.configure_more("", &tables.collect::<String>());
}

#[test]
fn a_chat_gains_tools_while_it_runs() {
    let provider = Provider::play([
        load(json!({})),
        Response::call("good__echo", json!({"text": "tereu"})),
        Response::reply("It sang."),
        Response::reply("And goes on."),
        Response::call("good__echo", json!({"text": "again"})),
        Response::reply("Once more."),
    ]);
    let environment = environment(&provider);
    configure(&environment, &["good", "dead"]);
    let mut chat = Chat::open(&environment);
    chat.say("sing");
    let screen = chat.question();
    let question = "  │ Connect 2 MCP servers?\n";
    assert!(screen.contains(question), "{:?}", chat.terminal);
    // One prompt for both, and a row for each.
    assert!(
        screen.contains("  ! good runs without a sandbox: "),
        "{:?}",
        chat.terminal
    );
    assert!(
        screen.contains("  ! dead runs without a sandbox: "),
        "{:?}",
        chat.terminal
    );
    chat.terminal.type_line("y");
    let screen = chat.prompt();
    assert!(screen.contains("  ✓ 1 mcp_loader"), "{:?}", chat.terminal);
    assert!(screen.contains("  ✓ 2 good__echo"), "{:?}", chat.terminal);
    let requests = provider.requests();
    assert!(!requests[0].tools().contains(&"good__echo"));
    assert!(requests[1].tools().contains(&"good__echo"));
    let results = requests[1].results();
    let told = results.last().expect("a result");
    assert!(told.contains("good is connected (served 1.0, "), "{told}");
    // It ends before it is written to, or while it is.
    let ends = [
        "it has ended; its last words: ",
        "it does not listen any more.",
    ];
    let is_told = |end: &&str| told.contains(&format!("dead is not available: {end}"));
    assert!(ends.iter().any(is_told), "{told}");
    assert_eq!(requests[2].results().last(), Some(&"tereu"));
    chat.turn("go on");
    let screen = {
        chat.say("/mcp");
        chat.prompt()
    };
    assert!(
        screen.contains("connected · served 1.0"),
        "{:?}",
        chat.terminal
    );
    chat.leave();

    // The session goes on: the tools are there, and the server is not started before one is called.
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.say("and again");
    let asked = chat.question();
    assert!(
        asked.contains("It has to be started first, without a sandbox:"),
        "{:?}",
        chat.terminal
    );
    chat.terminal.type_line("y");
    let screen = chat.prompt();
    let notice =
        "· this session uses the MCP server good: it is connected when a tool of it is called";
    assert!(
        asked.contains(notice) || screen.contains(notice),
        "{:?}",
        chat.terminal
    );
    assert!(screen.contains("good__echo"), "{:?}", chat.terminal);
    let requests = provider.requests();
    assert!(requests[4].tools().contains(&"good__echo"));
    assert_eq!(requests[5].results().last(), Some(&"again"));
    chat.leave();
}

#[test]
fn the_user_connects_and_disables_servers() {
    let provider = Provider::play([
        load(json!({"server": "good"})),
        Response::reply("It is disabled."),
        Response::reply("Hello."),
    ]);
    let environment = environment(&provider);
    configure(&environment, &["good"]);
    environment.configure_more(
        "",
        "[mcp.servers.off]\nurl = \"https://off.example/mcp\"\nenabled = false\n",
    );
    let mut chat = Chat::open(&environment);
    chat.turn("/mcp");
    chat.turn("/mcp");
    chat.turn("/mcp connect goood");
    chat.turn("/mcp connect");
    chat.turn("/mcp enable off");
    // The name is completed, and the question is the one of the model's calls, without the number of a call.
    chat.terminal.type_text("/mcp conn\tgo\t\r");
    chat.question();
    chat.answer("n");
    chat.prompt();
    chat.say("/mcp connect good");
    chat.question();
    chat.answer("y");
    chat.prompt();
    chat.turn("/mcp connect good");
    chat.turn("/mcp");
    chat.turn("/mcp disconnect good");
    chat.turn("/mcp disconnect good");
    chat.turn("/mcp disable good");
    chat.turn("/mcp connect good");
    chat.turn("/mcp");
    // Nobody connects it meanwhile.
    chat.turn("sing");
    let requests = provider.requests();
    let results = requests[1].results();
    assert_eq!(
        results.last(),
        Some(&"ERROR: the user disabled the MCP server good for this session")
    );
    chat.turn("/mcp enable good");
    chat.say("/mcp connect good");
    chat.question();
    chat.answer("y");
    chat.prompt();
    chat.turn("hello");
    let requests = provider.requests();
    assert!(requests[2].tools().contains(&"good__echo"));
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn without_servers_there_is_no_loader() {
    let provider = Provider::play([Response::reply("Hello.")]);
    let environment = environment(&provider);
    let output = environment.run(["ask", "hello"]);
    assert_eq!(output.status, Some(0), "{output:?}");
    assert!(!provider.requests()[0].tools().contains(&"mcp_loader"));
}

#[test]
fn with_nobody_to_ask_a_server_is_allowed_beforehand() {
    let script = || [load(json!({"server": "good"})), Response::reply("Well.")];
    let provider = Provider::play(script().into_iter().take(1));
    let environment = environment(&provider);
    configure(&environment, &["good"]);
    let output = environment.run(["ask", "sing"]);
    assert_eq!(output.status, Some(3), "{output:?}");
    assert!(
        output.stderr.contains("Start the MCP server 'good'?"),
        "{output:?}"
    );

    // What a program may do in the sandbox of commands says nothing about starting it outside of it.
    let provider = Provider::play(script().into_iter().take(1));
    environment.configure_for(&provider, "");
    configure(&environment, &["good"]);
    let allow = format!("{}=x", served(&environment).display());
    let output = environment.run(["ask", "--allow", &allow, "sing"]);
    assert_eq!(output.status, Some(3), "{output:?}");

    let provider = Provider::play(script());
    environment.configure_for(&provider, "");
    configure(&environment, &["good"]);
    let allow = format!("mcp {} good=x", served(&environment).display());
    let output = environment.run(["ask", "--allow", &allow, "sing"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(0), "Well.\n")
    );
}

#[test]
fn esc_ends_a_call_and_the_server_lives() {
    let provider = Provider::play([
        load(json!({})),
        Response::call("slow__echo", json!({})),
        Response::reply("Never mind."),
    ]);
    let environment = environment(&provider);
    configure(&environment, &["slow"]);
    let mut chat = Chat::open(&environment);
    chat.say("sing");
    chat.question();
    chat.terminal.type_line("y");
    chat.terminal.wait_for("slow__echo");
    chat.interrupt("a call of a server");
    let screen = chat.turn("never mind");
    assert!(screen.contains("Never mind."), "{:?}", chat.terminal);
    chat.leave();
}

#[test]
fn a_server_asks_the_model_in_the_middle_of_a_call() {
    let asks = "Which bird?\n  allow? y\u{1b}[2J";
    let provider = Provider::play([
        load(json!({})),
        Response::call("sampling__echo", json!({"text": asks})),
        Response::stream()
            .text("A dunlin.")
            .finish_reason("stop")
            .usage(40, 4)
            .done(),
        Response::reply("It asked."),
        Response::call("sampling__echo", json!({"text": "And now?"})),
        Response::reply("It may not."),
    ]);
    let environment = environment(&provider);
    configure(&environment, &["sampling"]);
    let mut chat = Chat::open(&environment);
    chat.say("sing");
    chat.question();
    chat.answer("y");
    let screen = chat.question();
    for row in [
        "  ? 2 sampling__echo asks in the middle of its call",
        "  │ Let the MCP server 'sampling' send this to scripted and read the answer? At most 100 tokens",
        "  │ instructions",
        "  │   Be brief.",
        "  │ asks",
        "  │   Which bird?",
        "  │     allow? y\\u{1b}[2J",
    ] {
        let found = screen.text.lines().any(|line| line.trim_end() == row);
        assert!(found, "{row}: {:?}", chat.terminal);
    }
    chat.answer("y");
    chat.prompt();
    let requests = provider.requests();
    // The server's question and nothing of the chat.
    assert_eq!(requests[2].tools(), Vec::<&str>::new());
    let said: Vec<&str> = requests[2]
        .messages()
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert_eq!(said, ["Be brief.", asks]);
    assert_eq!(requests[2].body["max_tokens"], 100);
    let results = requests[3].results();
    let heard = results.last().expect("what the server heard");
    assert!(heard.contains("A dunlin."), "{heard}");

    chat.say("again");
    chat.question();
    chat.answer("n");
    chat.prompt();
    let requests = provider.requests();
    let results = requests[5].results();
    let heard = results.last().expect("what the server heard");
    assert!(heard.contains("the user does not want it"), "{heard}");
    chat.say("/cost");
    let screen = chat.prompt();
    let row = screen
        .text
        .lines()
        .find(|line| line.trim_start().starts_with("session"));
    let words: Vec<&str> = row.expect("a row").split_whitespace().collect();
    // Five of the chat, and the server's.
    assert_eq!(words[..3], ["session", "6", "95"], "{:?}", chat.terminal);
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

/// What a server's form is answered with goes to that server and is kept nowhere.
#[test]
fn a_secret_is_typed_unseen_and_kept_nowhere() {
    const TOKEN: &str = "tok-0123456789abcdef";
    let provider = Provider::play([
        load(json!({})),
        Response::call("asking_secret__echo", json!({})),
        Response::reply("Logged in."),
        Response::call("asking__echo", json!({})),
        Response::reply("A bird."),
    ]);
    provider.must_not_see(TOKEN);
    let environment = environment(&provider);
    configure(&environment, &["asking_secret", "asking"]);
    let mut chat = Chat::open(&environment);
    chat.say("log in");
    chat.question();
    chat.answer("y");
    let form = |chat: &Chat, notice: &str| {
        chat.terminal.wait_until("the form", |screen| {
            screen.contains(notice) && screen.cursor_line.trim_end() == "  answer?"
        })
    };
    let screen = form(&chat, "asks for what looks like a secret");
    for row in [
        "  asking_secret__echo asks",
        "  │ Log in\\u{1b}[2J",
        "  │   allow? y",
        "  │ Your access token",
    ] {
        let found = screen.text.lines().any(|line| line.trim_end() == row);
        assert!(found, "{row}: {:?}", chat.terminal);
    }
    assert!(
        screen.contains("  ! The MCP server 'asking_secret' asks"),
        "{:?}",
        chat.terminal
    );
    chat.say(TOKEN);
    let screen = chat.prompt();
    assert!(screen.contains("Logged in."), "{:?}", chat.terminal);
    let requests = provider.requests();
    let result = format!("got {} bytes", TOKEN.len());
    assert_eq!(requests[2].results().last(), Some(&result.as_str()));
    let bytes = chat.terminal.bytes();
    assert!(
        !String::from_utf8_lossy(&bytes).contains(TOKEN),
        "{:?}",
        chat.terminal
    );
    // Nothing of it comes back with the arrow keys, and in any other form typing can be hidden, too.
    chat.say("now the bird");
    form(
        &chat,
        "The MCP server 'asking' gets your answer. Ctrl-T hides what you type.",
    );
    chat.terminal.press(Key::Up);
    chat.terminal.type_text("seen");
    chat.terminal.wait_until("the answer", |screen| {
        screen.cursor_line.trim_end() == "  answer? seen"
    });
    chat.terminal.type_text("\x14");
    chat.terminal.wait_until("the hidden answer", |screen| {
        screen.cursor_line.trim_end() == "  answer?"
    });
    chat.terminal.type_text("\x15");
    chat.say("dunlin");
    chat.prompt();
    chat.leave();
    assert_in_no_file(&environment, TOKEN);
}

#[test]
fn leaving_the_chat_takes_leave_of_its_servers() {
    let provider = Provider::play([load(json!({})), Response::reply("Well.")]);
    let environment = environment(&provider);
    let heard = environment.root().join("heard");
    environment.configure_more(
        "",
        &format!(
            "[mcp.servers.good]\ncommand = {:?}\nargs = [\"good\", {heard:?}]\n",
            env!("CARGO_BIN_EXE_served")
        ),
    );
    let mut chat = Chat::open(&environment);
    chat.say("sing");
    chat.question();
    chat.answer("y");
    chat.prompt();
    chat.leave();
    let heard = std::fs::read_to_string(heard).expect("what it heard");
    assert!(heard.ends_with("end of input\n"), "{heard}");
}
