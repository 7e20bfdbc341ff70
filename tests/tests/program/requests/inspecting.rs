//! The request inspector in a real terminal: keys act on the request, and the terminal comes back as it was.

use std::num::NonZeroU16;
use std::process::Command;

use dunlin_tests::{Key, Provider, Response, Screen};
use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::requests::pausing::Pausing;
use crate::stage::{Chat, environment};

/// What the first row of the inspector begins with while a request is paused.
const PAUSED: &str = " ⏸ PAUSED  request ";

/// The sequences that show the alternate screen and the usual one.
const ALTERNATE: &str = "\u{1b}[?1049h";
const USUAL: &str = "\u{1b}[?1049l";

/// Asserts that the first row ends with the time of the request: `14:05`.
#[track_caller]
fn assert_has_time(screen: &Screen) {
    let row = screen.text.lines().next().unwrap_or_default().trim_end();
    let digits: String = row
        .rsplit(" · ")
        .next()
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(digits, "00:00", "{screen:?}");
}

/// Waits until the inspector has been drawn, shows a text, and takes keys.
fn shows(chat: &Chat, text: &str) -> Screen {
    chat.terminal.wait_until(text, |screen| {
        let last = screen.text.lines().last().unwrap_or_default();
        let takes_keys = last.contains("s send") || last.contains("Esc");
        screen.text.starts_with(PAUSED) && screen.contains(text) && takes_keys
    })
}

fn written(chat: &Chat, sequence: &str) -> usize {
    let bytes = chat.terminal.bytes();
    String::from_utf8_lossy(&bytes).matches(sequence).count()
}

#[test]
fn what_is_edited_on_the_whole_screen_is_sent() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    paused.say("count the birds");
    let chat = &mut paused.chat;
    chat.say("open");
    assert_has_time(&shows(chat, "content: \"count the birds\""));
    chat.terminal.type_text("e");
    shows(chat, "Enter saves");
    chat.terminal.type_text(" quickly");
    shows(chat, "birds quickly");
    chat.terminal.press(Key::Enter);
    shows(chat, "content set");
    chat.terminal.type_text("gjd");
    shows(chat, "deleted");
    assert!(
        provider.requests().is_empty(),
        "nothing is sent before it is"
    );
    // The edits are those of the prompt, and closing sends nothing.
    chat.terminal.type_text("q");
    paused.request();
    let screen = paused.does("diff");
    assert!(screen.contains("{+ quickly+}"), "{screen}");
    assert!(
        provider.requests().is_empty(),
        "nothing is sent before it is"
    );
    let chat = &mut paused.chat;
    assert_eq!(written(chat, ALTERNATE), written(chat, USUAL));
    chat.say("open");
    shows(chat, "2 edits");
    chat.terminal.type_text("s");
    paused.prompt("› (pause: turn) Type a message, @ to attach a file");
    let sent = provider.requests().pop().expect("a request");
    let messages: Vec<&Value> = sent.messages().iter().map(|it| &it["content"]).collect();
    assert_eq!(messages, ["count the birds quickly"]);
    let screen = paused.chat.terminal.screen();
    assert!(screen.contains("Terns."), "{screen:?}");
    assert!(
        screen.contains("› (pause: turn) count the birds"),
        "{screen:?}"
    );
}

#[test]
fn keys_that_were_typed_before_it_was_there_do_nothing() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    paused.say("count the birds");
    let chat = &mut paused.chat;
    chat.terminal.type_text("open\rss");
    shows(chat, "count the birds");
    chat.terminal.paste("s\rc\r");
    shows(chat, "Text can be pasted while a value is edited");
    chat.terminal.press(Key::CtrlC);
    paused.prompt("› (pause: turn) count the birds  (put back: Enter sends it)");
    assert!(provider.requests().is_empty(), "nothing is sent");
}

#[test]
fn keys_that_were_typed_while_an_editor_was_open_do_nothing() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    // An editor with a window of its own: what is typed meanwhile is the terminal's. It waits at both pipes.
    let at = |name: &str| environment.project().join(name);
    let pipes = ["opened", "typed"].map(at);
    let made = Command::new("mkfifo").args(&pipes).status();
    assert!(made.expect("mkfifo").success());
    let script = "printf 'count owls' > \"$1\"; echo > opened; read -r line < typed\n";
    let editor = format!(
        "sh {}",
        environment.outside_file("editor", script).display()
    );
    let command = environment.command(["--intercept", "turn"]);
    let chat = Chat::waiting(command.variable("EDITOR", &editor).terminal());
    let mut paused = Pausing::of(chat);
    paused.say("count the birds");
    let chat = &mut paused.chat;
    chat.say("open");
    shows(chat, "count the birds");
    chat.terminal.type_text("o");
    std::fs::read(at("opened")).expect("the editor");
    chat.terminal.type_text("s");
    std::fs::write(at("typed"), "\n").expect("the editor");
    shows(chat, "count owls");
    assert!(provider.requests().is_empty(), "nothing is sent unseen");
    chat.terminal.type_text("s");
    paused.prompt("› (pause: turn) Type a message, @ to attach a file");
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    paused.say("count the birds");
    let chat = &mut paused.chat;
    chat.say("open");
    shows(chat, "count the birds");
    assert_eq!(written(chat, USUAL), 0);
    kill_process(chat.terminal.id(), Signal::TERM).expect("a process to end");
    assert_eq!(chat.terminal.wait_end(), None);
    assert_eq!(written(chat, USUAL), 1);
    assert!(written(chat, "\u{1b}[?25h") > 0, "the cursor is shown");
    drop(paused);
    let mut chat = Chat::waiting(environment.terminal(["--resume"]));
    chat.prompt_with("count the birds");
}

#[test]
fn the_window_may_change_its_size() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    paused.say("count the birds");
    let chat = &mut paused.chat;
    chat.say("open");
    let size = |size| NonZeroU16::new(size).expect("a size");
    // One pane, two panes, and too little room for any.
    shows(chat, "role: \"user\"");
    chat.terminal.resize(size(20), size(40));
    let screen = shows(chat, "count the birds");
    assert!(!screen.contains("role: \"user\""), "{screen:?}");
    chat.terminal.resize(size(5), size(15));
    chat.terminal.wait_for("too small");
    chat.terminal.resize(size(40), size(120));
    shows(chat, "role: \"user\"");
    chat.terminal.type_text("c");
    paused.prompt("› (pause: turn) count the birds  (put back: Enter sends it)");
}

#[test]
fn the_next_request_can_be_looked_at() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("count the birds");
    chat.say("/request");
    chat.terminal.wait_until("the next request", |screen| {
        let takes_keys = screen.contains("q close");
        let is_shown = screen.text.starts_with(" READ ONLY  no request is paused");
        is_shown && screen.contains("Terns.") && takes_keys
    });
    chat.terminal.type_text("d");
    chat.terminal.wait_for("/pause next holds the next one");
    chat.terminal.press(Key::Escape);
    chat.prompt();
    assert_eq!(provider.requests().len(), 1);
    // And one that was sent.
    chat.say("/request 1");
    chat.terminal.wait_until("the request", |screen| {
        let is_shown = screen
            .text
            .starts_with(" READ ONLY  request 1 as it was sent");
        is_shown && screen.contains("count the birds") && screen.contains("q close")
    });
    chat.terminal.type_text("q");
    chat.prompt();
    for (line, said) in [
        ("/request 9", "/requests lists the requests."),
        ("/request one", "one is not a number. Usage: /request [N]"),
    ] {
        chat.say(line);
        chat.terminal.wait_for(said);
        chat.prompt();
    }
}

/// What a paused request comes to, the list of requests and the log of the inspector are one count, whatever the server has
/// taught of it since.
#[test]
fn tokens_of_a_request_are_the_same_everywhere() {
    let reply = |tokens: u64| {
        let text = Response::stream().text("Terns.");
        text.finish_reason("stop").usage(tokens, 2).done()
    };
    let provider = Provider::play([reply(3_500), reply(2_500)]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "every");
    let mut totals = Vec::new();
    for message in ["count the birds", "and again"] {
        let screen = paused.say(message);
        let heading = screen
            .lines()
            .rfind(|line| line.contains("is paused ·"))
            .expect("a heading");
        let total = heading.split(" · ").nth(2).expect("tokens");
        let total = total.split_whitespace().next().expect("a number");
        totals.push(format!("{total} tokens"));
        paused.chat.say("send");
        paused.prompt("› (pause: every) Type a message, @ to attach a file");
    }
    assert_ne!(totals[0], totals[1]);
    let listed = environment.run(["requests", "list"]).stdout;
    for total in &totals {
        assert!(listed.contains(total), "{total}: {listed}");
    }
    let chat = &mut paused.chat;
    chat.say("/request");
    let shown = |chat: &Chat, text: &str| {
        chat.terminal.wait_until(text, |screen| {
            screen.contains(text) && screen.contains("q close")
        });
    };
    shown(chat, "no request is paused");
    for _ in 0..4 {
        chat.terminal.press(Key::Tab);
    }
    shown(chat, "Enter shows the selected one");
    chat.terminal.press(Key::Enter);
    for (number, total) in [(2, &totals[1]), (1, &totals[0])] {
        chat.terminal.press(Key::Enter);
        shown(chat, &format!("request {number} as it was sent"));
        shown(chat, total);
        chat.terminal.type_text("q");
        shown(chat, "no request is paused");
        chat.terminal.type_text("j");
    }
}

#[test]
fn a_terminal_without_a_screen_has_the_words() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let command = environment.command(["--intercept", "turn"]);
    let mut chat = Chat::waiting(command.variable("TERM", "dumb").terminal());
    chat.terminal.wait_for("› ");
    chat.say("count the birds");
    chat.terminal.wait_for("request? ");
    chat.say("open");
    chat.terminal.wait_for("This terminal has no full screen");
    assert_eq!(written(&chat, ALTERNATE), 0);
}
