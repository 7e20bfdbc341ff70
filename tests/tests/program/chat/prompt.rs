//! The prompt: history, several lines, slash commands, completion, and the ways out.

use std::num::NonZeroU16;

use dunlin_tests::{Key, Provider, Response, Screen};
use serde_json::json;

use crate::stage::{Chat, PLACEHOLDER, environment, read};

/// What the user said, in the order in which the provider was told.
fn said(provider: &Provider) -> Vec<String> {
    let requests = provider.requests();
    let last = requests.last().expect("a request");
    let messages = last.messages().iter();
    messages
        .filter(|message| message["role"] == "user")
        .filter_map(|message| message["content"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn shift_and_enter_begin_a_line() {
    let provider = Provider::always(Response::reply("Yes."));
    let mut chat = Chat::open(&environment(&provider));
    // As kitty sends it, and as xterm does.
    for keys in ["\x1b[13;2u", "\x1b[27;2;13~"] {
        chat.terminal.type_text("one 13~");
        chat.terminal.type_text(keys);
        chat.terminal.type_text("two");
        // Another key with Ctrl that means nothing leaves nothing.
        chat.terminal.type_text("\x1b[27;5;49~");
        chat.turn("");
        assert_eq!(said(&provider).last().unwrap(), "one 13~\ntwo", "{keys:?}");
    }
    chat.leave();
}

#[test]
fn an_empty_line_says_what_can_be_typed() {
    let provider = Provider::play([Response::reply("Hello.")]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    let shown = |chat: &Chat| chat.terminal.screen().cursor_line;
    assert_eq!(shown(&chat).trim_end(), format!("› {PLACEHOLDER}"));
    assert_eq!(chat.terminal.screen().cursor_column, 2);
    chat.terminal.type_text("a");
    chat.terminal.wait_until("the text alone", |screen| {
        screen.cursor_line.trim_end() == "› a"
    });
    chat.terminal.press(Key::Backspace);
    chat.terminal.wait_until("the placeholder", |screen| {
        screen.cursor_line.trim_end() == format!("› {PLACEHOLDER}")
    });
    // It is not text.
    chat.terminal.press(Key::Tab);
    chat.turn("hello");
    assert_eq!(
        provider.requests()[0].messages().last().unwrap()["content"],
        "hello"
    );
    chat.leave();
    environment.configure_more(
        "placeholder = \"Speak\\u001b[2J\"\nempty_state = \"Nothing was said yet.\"",
        "",
    );
    let chat = Chat::waiting(environment.terminal::<&str>(["--fresh"]));
    let screen = chat.terminal.wait_for("› Speak\\u{1b}[2J");
    assert!(
        screen.contains("\nNothing was said yet.\n") && !screen.contains("/help shows"),
        "{:?}",
        chat.terminal
    );
}

#[test]
fn an_agent_may_attach_no_files() {
    let provider = Provider::play([Response::reply("Well.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "the text of a");
    environment.configure_for(
        &provider,
        "[agents.plain]\nfiles = false\nmodel = \"scripted\"",
    );
    let base_url = format!("files = false\nbase_url = \"{}\"", provider.base_url());
    let config = std::fs::read_to_string(environment.config_file()).unwrap();
    environment.configure(&config.replace("files = false", &base_url));
    let mut chat = Chat::waiting(environment.terminal(["--agent", "plain"]));
    let is_plain = |screen: &Screen| screen.cursor_line.trim_end() == "› Type a message";
    chat.terminal.wait_until("the prompt", is_plain);
    chat.say("what is in @a.txt?");
    chat.terminal.wait_for("Well.");
    assert_eq!(
        provider.requests()[0].messages().last().unwrap()["content"],
        "what is in @a.txt?"
    );
}

#[test]
fn leaving_says_how_to_resume() {
    let provider = Provider::play([Response::reply("Hello."), Response::reply("Again.")]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("hello");
    chat.say("exit");
    assert_eq!(chat.terminal.wait_end(), Some(0), "{:?}", chat.terminal);
    let screen = chat.terminal.screen();
    let (_, command) = screen
        .text
        .split_once("Resume this session: dunlin ")
        .expect("a command");
    let words: Vec<&str> = command.split_whitespace().take(2).collect();
    let mut chat = Chat::of(environment.terminal(words));
    assert!(
        chat.terminal.screen().contains("› hello\n"),
        "{:?}",
        chat.terminal
    );
    chat.turn("again");
    assert_eq!(provider.requests()[1].messages().len(), 3);
    chat.leave();
    // Where nothing was said there is nothing to resume.
    let mut chat = Chat::open(&environment);
    chat.say("quit");
    assert_eq!(chat.terminal.wait_end(), Some(0), "{:?}", chat.terminal);
    assert!(
        !chat.terminal.screen().contains("Resume this"),
        "{:?}",
        chat.terminal
    );
}

#[test]
fn the_history_survives_a_restart() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("the first message");
    chat.turn("the second message");
    chat.leave();
    let mut chat = Chat::open(&environment);
    chat.terminal.press(Key::Up);
    chat.terminal.wait_for("› the second message");
    chat.terminal.press(Key::Up);
    chat.terminal.wait_for("› the first message");
    chat.terminal.press(Key::Enter);
    chat.prompt();
    chat.leave();
    assert_eq!(said(&provider), ["the first message"]);
}

#[test]
fn a_message_can_have_several_lines() {
    let provider = Provider::always(Response::reply("Yes."));
    let mut chat = Chat::open(&environment(&provider));
    chat.say("one \\");
    chat.say("two");
    chat.prompt();
    for line in ["```rust", "fn main() {}", "```"] {
        chat.say(line);
    }
    chat.prompt();
    chat.terminal.type_text("three");
    chat.terminal.press(Key::AltEnter);
    chat.say("four");
    chat.prompt();
    chat.terminal.paste("five\nsix\n\nseven");
    chat.terminal.wait_for("seven");
    assert_eq!(provider.requests().len(), 3);
    chat.terminal.press(Key::Enter);
    chat.prompt();
    chat.leave();
    let expected = [
        "one \ntwo",
        "```rust\nfn main() {}\n```",
        "three\nfour",
        "five\nsix\n\nseven",
    ];
    assert_eq!(said(&provider), expected);
}

/// Tabs, line ends of all kinds, and what would be keys: Enter, Shift+Tab, Ctrl-X before the end.
#[test]
fn a_long_paste_is_one_word_until_it_is_sent() {
    let provider = Provider::always(Response::reply("Yes."));
    let mut chat = Chat::open(&environment(&provider));
    let pasted = "/exit\r\n\tone\r2\nthree ~\n\x1b[Z\n\n\n\u{e9}\n\x18";
    let text = "/exit\n\tone\n2\nthree ~\n\n\n\n\u{e9}";
    chat.terminal.type_text("look: ");
    chat.terminal.paste(pasted);
    chat.terminal
        .wait_for("› look: [pasted 1: 8 lines]  (Tab unfolds it)");
    chat.terminal.assert_absent("three");
    chat.say(" and that");
    chat.prompt();
    // Backspace takes all of it away; a part of it is not sent.
    chat.terminal.paste(pasted);
    chat.terminal.wait_for("› [pasted 1: 8 lines]");
    chat.terminal.press(Key::Backspace);
    chat.prompt_cleared();
    chat.terminal.paste(pasted);
    chat.terminal.wait_for("› [pasted 2: 8 lines]");
    chat.terminal.type_text("\x17");
    chat.terminal.press(Key::Enter);
    chat.terminal.wait_for("a part of [pasted …] is missing");
    chat.terminal.type_text("\x1f");
    chat.say("");
    chat.prompt();
    chat.terminal.paste(pasted);
    chat.terminal.wait_for("› [pasted 1: 8 lines]");
    chat.terminal.press(Key::Tab);
    chat.terminal.wait_for("three ~");
    chat.say("!");
    chat.prompt();
    chat.leave();
    let expected = [
        format!("look: {text}\n and that"),
        text.to_owned(),
        format!("{text}\n!"),
    ];
    assert_eq!(said(&provider), expected);
}

/// What nobody saw is a message and nothing else: no command, no file, no key.
#[test]
fn a_folded_paste_does_nothing() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.project_file("notes.txt", "what the notes say\n");
    let mut chat = Chat::open(&environment);
    let line_ends = "\n".repeat(9);
    let command = format!("/tools run_terminal_command always{line_ends}");
    chat.terminal.paste(&command);
    chat.terminal.wait_for("› [pasted 1: 9 lines]");
    chat.say("");
    chat.prompt();
    chat.terminal.paste(&format!("exit{line_ends}"));
    chat.terminal.wait_for("› [pasted 1: 9 lines]");
    chat.say("");
    chat.prompt();
    chat.terminal.paste(&format!("@notes.txt and{line_ends}"));
    chat.terminal.wait_for("› [pasted 1: 9 lines]");
    chat.say(" no file");
    chat.prompt();
    // Digits with Alt would repeat it.
    chat.terminal
        .paste(&format!("1\x1b[27;2;13x 12345 ~{line_ends}\x1b999"));
    chat.terminal.wait_for("› [pasted 1: 9 lines]  (Tab");
    chat.say("");
    chat.prompt();
    // No key takes the mark at its beginning for a second one.
    for (key, number) in ["\x18", "\x1d", "\x1b\x1d", "\x11"].into_iter().zip(1..) {
        chat.terminal.type_text(key);
        chat.terminal.paste(&command);
        let word = format!("› [pasted {number}: 9 lines]  (Tab");
        chat.terminal.wait_for(&word);
        chat.terminal.press(Key::CtrlC);
        chat.prompt_cleared();
    }
    // A file that only the paste names.
    chat.terminal.type_text("see @");
    chat.terminal.paste(&format!("notes.txt{line_ends}"));
    chat.terminal.wait_for("› see @[pasted 5: 9 lines]  (Tab");
    chat.say("");
    chat.prompt();
    // A command takes only what is seen.
    chat.terminal.type_text("/tools ");
    chat.terminal
        .paste(&format!("run_terminal_command always{line_ends}"));
    chat.terminal.wait_for("› /tools [pasted 1: 9 lines]");
    chat.terminal.press(Key::Enter);
    chat.terminal
        .wait_for("A command takes only what can be seen");
    chat.prompt_with("/tools [pasted 1: 9 lines]  (Tab unfolds it)");
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    let tools = chat.turn("/tools");
    assert!(
        tools.contains("\nrun_terminal_command prompt "),
        "{tools:?}"
    );
    chat.leave();
    let expected = [
        command.trim_end(),
        "exit",
        &format!("@notes.txt and{line_ends} no file"),
        // Of an unknown sequence the line editor takes the end for text.
        "113x 12345 ~",
        "see @notes.txt",
    ];
    assert_eq!(said(&provider), expected);
}

#[test]
fn slash_commands() {
    let provider = Provider::play([read("../outside/a.txt"), Response::reply("Read.")]);
    let environment = environment(&provider);
    environment.outside_file("a.txt", "text");
    let mut chat = Chat::open(&environment);
    let mut check = |line: &str, expected: &str| {
        let screen = chat.turn(line);
        assert!(screen.contains(expected), "{line}: {:?}", chat.terminal);
    };
    check(
        "/help",
        "  This chat    /help /permissions /tools /mcp /hooks /model /agent /effort /mode /exit\n",
    );
    check(
        "/help permissions",
        "  /permissions [VERB TARGET] list everything in force, tool modes first; ",
    );
    check("/help undoo", "Unknown command /undoo. Did you mean /undo?");
    check("/help undo x", "Usage: /help [COMMAND|all]");
    check("/tools", "\nread_file            prompt ");
    check("/history", "Nothing was said yet.");
    check("/copy", "There is no reply to copy.");
    check("/retry now", "/retry takes no arguments.");
    check(
        "/permissions",
        "Nothing is stored or answered for this session.",
    );
    check(
        "/permisions",
        "Unknown command /permisions. Did you mean /permissions?",
    );
    check(
        "/xyzzy",
        "Unknown command /xyzzy. /help shows the commands.",
    );
    check("   ", "");
    chat.say("read it");
    chat.question();
    chat.answer("s");
    chat.prompt();
    chat.turn("/permissions");
    chat.say("/exit");
    assert_eq!(chat.terminal.wait_end(), Some(0));
    insta::assert_snapshot!(chat.terminal.screen());
}

#[test]
fn clear_asks_first() {
    let provider = Provider::always(Response::reply("Yes."));
    let mut chat = Chat::open(&environment(&provider));
    chat.turn("one");
    chat.say("/clear");
    chat.terminal.wait_for("Forget the conversation? [y/n]");
    chat.say("n");
    chat.prompt();
    chat.turn("two");
    assert_eq!(said(&provider), ["one", "two"]);
    chat.say("/clear");
    chat.terminal.wait_until("the second question", |screen| {
        screen.count("Forget the") == 2
    });
    chat.say("y");
    assert!(chat.prompt().contains("The conversation is empty."));
    chat.turn("three");
    assert_eq!(said(&provider), ["three"]);
    chat.leave();
}

#[test]
fn tab_completes_commands_and_paths() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.project_file("src/matter.rs", "");
    let mut chat = Chat::open(&environment);
    chat.terminal.type_text("/pe");
    chat.terminal.press(Key::Tab);
    chat.terminal.wait_until("the command", |screen| {
        screen.cursor_line == "› /permissions" && screen.cursor_column == 14
    });
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.terminal.type_text("see src/m");
    chat.terminal.press(Key::Tab);
    chat.terminal.wait_for("› see src/matter.rs");
    chat.terminal.press(Key::Enter);
    chat.prompt();
    assert_eq!(said(&provider), ["see src/matter.rs"]);
    chat.leave();
}

/// What commands are for is said where all of them fit.
#[test]
fn commands_are_listed_with_what_they_are_for() {
    let provider = Provider::play([]);
    let mut chat = Chat::open(&environment(&provider));
    chat.terminal.type_text("/co");
    chat.terminal.press(Key::Tab);
    chat.terminal.press(Key::Tab);
    let rows = |screen: &Screen| -> Vec<String> {
        let rows = screen.text.lines().filter(|row| row.starts_with("/co"));
        rows.map(str::to_owned).collect()
    };
    let screen = chat
        .terminal
        .wait_until("four commands", |screen| rows(screen).len() == 4);
    let rows = rows(&screen);
    let begins = |begin: &str| rows.iter().any(|row| row.starts_with(begin));
    assert!(
        begins("/context  show what fills the context window"),
        "{rows:?}"
    );
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.leave();
}

#[test]
fn ctrl_c_clears_the_line_and_leaves_when_pressed_twice() {
    let provider = Provider::play([]);
    let mut chat = Chat::open(&environment(&provider));
    chat.terminal.type_text("something");
    chat.terminal.wait_for("› something");
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.terminal.press(Key::CtrlC);
    assert!(chat.prompt().contains("Ctrl-C again leaves"));
    chat.turn("/help");
    chat.terminal.press(Key::CtrlC);
    chat.prompt();
    chat.terminal.press(Key::CtrlC);
    assert_eq!(chat.terminal.wait_end(), Some(0));
}

#[test]
fn a_narrow_window_is_no_trouble() {
    let provider = Provider::play([
        read("../outside/a/rather/long/path/of/a/file.txt"),
        Response::reply("Read."),
    ]);
    let environment = environment(&provider);
    environment.outside_file("a/rather/long/path/of/a/file.txt", "text");
    let mut chat = Chat::open(&environment);
    let narrow = NonZeroU16::new(40).unwrap();
    chat.terminal.resize(narrow, narrow);
    chat.say("read it");
    let path = environment
        .root()
        .join("outside/a/rather/long/path/of/a/file.txt");
    let screen = chat.question();
    // All of it, in rows that Dunlin begins.
    let row = |row: &str| {
        let row = row.trim_start();
        let row = row.strip_prefix("│ ").unwrap_or(row);
        row.strip_prefix("read    ").unwrap_or(row).to_owned()
    };
    let joined: String = screen.text.lines().map(row).collect();
    assert!(
        joined.contains(&path.display().to_string()),
        "{:?}",
        chat.terminal
    );
    chat.answer("y");
    let screen = chat.prompt();
    let line = screen.line_with("✓ 1 read_file").unwrap();
    assert!(line.chars().count() < 40, "{line:?}");
    assert!(!screen.contains("… 1 read_file"), "{:?}", chat.terminal);
    chat.leave();
}

#[test]
fn several_calls_of_one_message_have_a_line_each() {
    let call = |name: &str| ("read_file", json!({ "file_path": name }));
    let provider = Provider::play([
        Response::calls([call("a.txt"), call("none.txt"), call("b.txt")]),
        Response::reply("Two of them."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text of a");
    environment.project_file("b.txt", "text of b");
    let mut chat = Chat::open(&environment);
    let screen = chat.turn("read them");
    for line in [
        "  ✓ 1 read_file a.txt · ",
        "  ✗ 2 read_file none.txt · failed",
        "  ✓ 3 read_file b.txt · ",
    ] {
        assert_eq!(screen.count(line), 1, "{:?}", chat.terminal);
    }
    chat.leave();
    let request = provider.wait_for_request(1);
    let results = request.results();
    assert!(results[0].contains("text of a"), "{results:?}");
    assert!(results[1].starts_with("ERROR: "), "{results:?}");
    assert!(results[2].contains("text of b"), "{results:?}");
}
