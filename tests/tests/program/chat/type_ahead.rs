//! What is typed before there is a question never answers it, and is not lost.

use dunlin_tests::{Environment, Gate, Key, Provider, Response, Screen, program};
use serde_json::json;

use crate::stage::{Chat, PUT_BACK, environment, late_call};

/// Types `typed` before the question comes; it is answered with no, and `kept` stands at the prompt.
#[track_caller]
fn check(typed: &str, kept: &str) {
    let gate = Gate::new();
    let provider = Provider::play([late_call(&gate), Response::reply("Understood.")]);
    let environment = environment(&provider);
    environment.outside_file("notes.txt", "the text outside");
    let mut chat = Chat::open(&environment);
    chat.say("read it");
    chat.terminal.wait_for("Let me see.");
    chat.terminal.type_text(typed);
    gate.open();
    chat.question();
    chat.answer("n");
    let screen = chat.prompt_with(kept);
    assert!(screen.contains("· denied"), "{:?}", chat.terminal);
    // It does not look like the placeholder, and says so no longer once somebody took it over.
    let line = format!("› {kept}  {PUT_BACK}");
    assert_eq!(screen.cursor_line.trim_end(), line);
    // Ctrl-E, the end of the line.
    chat.terminal.type_text("\x05");
    chat.terminal.type_text(" ");
    chat.terminal
        .wait_until("a line of one's own", |screen| !screen.contains(PUT_BACK));
    chat.say("indeed");
    assert!(chat.prompt().contains("Understood."));
    chat.leave();
    let requests = provider.requests();
    let said = requests[1].messages().last().expect("a message")["content"].clone();
    assert_eq!(said, format!("{kept} indeed"));
}

#[test]
fn keys_before_the_question_are_text_of_the_next_message() {
    check("and then\r", "and then");
    // What looks like an answer is not a message: it is dropped.
    check("y\ralways\rand then\r", "and then");
}

/// A plain yes or no may answer what the model has said; what can only answer a question is not sent.
#[test]
fn answers_at_the_prompt_are_dropped_unless_they_may_be_messages() {
    let provider = Provider::play([Response::reply("Good."), Response::reply("Better.")]);
    let mut chat = Chat::open(&environment(&provider));
    for answer in ["y 12", "tool always", "s", "always"] {
        let screen = chat.turn(answer);
        let note =
            format!("\"{answer}\" was typed when nothing was asked, so it answers nothing and was");
        assert!(screen.contains(&note), "{screen:?}");
    }
    chat.turn("no");
    chat.turn("y");
    chat.leave();
    let said = |request: usize| provider.requests()[request].messages().last().cloned();
    assert_eq!(said(0).expect("a message")["content"], "no");
    assert_eq!(said(1).expect("a message")["content"], "y");
}

/// What is said as long as the end of a paste is missing.
const WAITS: &str = "Waiting for the rest of what was pasted.";

/// A paste stalls, and the question comes in the gap.
#[test]
fn the_rest_of_a_paste_does_not_answer_a_question_that_came_in_between() {
    for (begin, rest) in [
        ("\x1b[200~# log\r", "y\rend\r\x1b[201~"),
        ("\x1b[200~# log\r", "always\rend\r\x1b[201~"),
        ("\x1b[20", "0~# log\ry\rend\r\x1b[201~"),
        ("\x1b[200~# log\ry\rend\r\x1b[20", "1~"),
    ] {
        let gate = Gate::new();
        let provider = Provider::play([late_call(&gate), Response::reply("Understood.")]);
        let environment = environment(&provider);
        environment.outside_file("notes.txt", "the text outside");
        let mut chat = Chat::open(&environment);
        chat.say("read it");
        chat.terminal.wait_for("Let me see.");
        chat.terminal.type_text(begin);
        gate.open();
        chat.terminal.wait_for(WAITS);
        chat.terminal.type_text(rest);
        // What was pasted is a line that was begun.
        chat.terminal.wait_for("  typed early: # log");
        chat.terminal.press(Key::Enter);
        chat.question();
        assert_eq!(provider.requests().len(), 1, "{:?}", chat.terminal);
        chat.answer("y");
        let screen = chat.prompt_with("# log\n  end");
        assert!(screen.contains("✓ 1 read_file"), "{:?}", chat.terminal);
        // It stays whole.
        let answer = if rest.contains("always") {
            "always"
        } else {
            "y"
        };
        assert!(
            screen.contains(&format!("› # log\n{answer}\nend")),
            "{screen:?}"
        );
        assert!(!screen.contains("dropped"), "{screen:?}");
        assert!(environment.permissions().is_null(), "{:?}", chat.terminal);
    }
}

#[test]
fn the_rest_of_a_paste_sends_no_paused_request() {
    let gate = Gate::new();
    let call = Response::stream()
        .text("Let me see.")
        .wait(&gate)
        .call_start(0, "call_0", "read_file")
        .call_arguments(0, &json!({ "file_path": "notes.txt" }).to_string())
        .finish("tool_calls");
    let provider = Provider::play([call, Response::reply("Understood.")]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "the text inside");
    let mut chat = Chat::waiting(environment.terminal(["--intercept", "every"]));
    chat.terminal.wait_for("› (pause: every)");
    let pause = |screen: &Screen| screen.cursor_line.trim_end() == "  request?";
    chat.say("read it");
    chat.terminal.wait_until("the first pause", pause);
    chat.terminal.type_line("send");
    chat.terminal.wait_for("Let me see.");
    chat.terminal.type_text("\x1b[200~# log\r");
    gate.open();
    chat.terminal.wait_for(WAITS);
    chat.terminal.type_text("send\rend\r\x1b[201~");
    chat.terminal.wait_for("  typed early: # log");
    chat.terminal.press(Key::Enter);
    chat.terminal.wait_until("the second pause", pause);
    assert_eq!(provider.requests().len(), 1, "{:?}", chat.terminal);
    chat.terminal.type_line("send");
    chat.terminal.wait_for("Understood.");
    assert_eq!(provider.requests().len(), 2, "{:?}", chat.terminal);
}

/// Ctrl-C ends the wait for the end of a paste that was lost, and with it the question, then the wait of the prompt.
#[test]
fn a_paste_without_an_end_can_be_interrupted() {
    let gate = Gate::new();
    let provider = Provider::play([late_call(&gate), Response::reply("Understood.")]);
    let environment = environment(&provider);
    environment.outside_file("notes.txt", "the text outside");
    let mut chat = Chat::open(&environment);
    chat.say("read it");
    chat.terminal.wait_for("Let me see.");
    chat.terminal.type_text("\x1b[200~## log\r");
    gate.open();
    chat.terminal.wait_for(WAITS);
    chat.terminal.press(Key::CtrlC);
    chat.terminal
        .wait_until("the prompt waits, too", |screen| screen.count(WAITS) == 2);
    chat.terminal.press(Key::CtrlC);
    let screen = chat.prompt_with("## log");
    assert!(screen.contains("(interrupted)"), "{:?}", chat.terminal);
    assert!(!screen.contains("allow?"), "{:?}", chat.terminal);
    chat.terminal.press(Key::Enter);
    chat.terminal.wait_for("Understood.");
}

/// The same at the prompt: the lines behind the gap are neither messages nor commands.
#[test]
fn the_rest_of_a_paste_is_put_back_with_its_beginning() {
    let gate = Gate::new();
    let answer = Response::stream().text("One").wait(&gate).finish("stop");
    let provider = Provider::play([answer]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("count");
    chat.terminal.wait_for("One");
    chat.terminal.type_text("\x1b[200~# log\r");
    gate.open();
    chat.terminal.wait_for(WAITS);
    chat.terminal.type_text("/exit\rend\x1b[201~");
    chat.prompt_with("# log\n  /exit\n  end");
    assert_eq!(provider.requests().len(), 1, "{:?}", chat.terminal);
}

#[test]
fn keys_that_erase_have_erased() {
    check("nothinf\x7fg\r", "nothing");
}

#[test]
fn keys_during_an_answer_are_not_shown_in_it() {
    let gate = Gate::new();
    let answer = Response::stream()
        .text("One")
        .wait(&gate)
        .text(", two.")
        .finish("stop");
    let provider = Provider::play([answer, Response::reply("Three.")]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("count");
    chat.terminal.wait_for("One");
    chat.terminal.type_text("and then?");
    gate.open();
    let screen = chat.prompt_with("and then?");
    assert!(screen.contains("One, two.\n"), "{:?}", chat.terminal);
    chat.terminal.press(Key::Enter);
    assert!(chat.prompt().contains("Three."));
    chat.leave();
}

/// What comes in one burst with an answer is dropped with the line editor that read it: a pity for a fast
/// typist, and still better than an answer to a question that nobody has seen.
#[test]
fn keys_right_behind_an_answer_do_not_answer_the_next_question() {
    let call = |name: &str| {
        (
            "read_file",
            json!({ "file_path": format!("../outside/{name}") }),
        )
    };
    let calls = Response::calls([call("notes.txt"), call("diary.txt")]);
    let provider = Provider::play([calls]);
    let environment = environment(&provider);
    environment.outside_file("notes.txt", "the text outside");
    environment.outside_file("diary.txt", "more of it");
    let mut chat = Chat::open(&environment);
    chat.say("read it");
    chat.approval();
    chat.terminal.type_text("y 1\ry 2\ralways 2\r");
    chat.approval();
    chat.answer("n");
    let screen = chat.prompt();
    assert!(screen.contains("✓ 1 read_file"), "{:?}", chat.terminal);
    assert!(screen.contains("· denied"), "{:?}", chat.terminal);
    chat.leave();
    assert!(environment.permissions().is_null());
}

#[test]
fn elsewhere_than_in_the_chat_keys_are_left_to_the_shell() {
    let gate = Gate::new();
    let answer = Response::stream().text("One").wait(&gate).finish("stop");
    let provider = Provider::play([answer]);
    let environment = Environment::with_provider("/bin/sh", &provider);
    let script = "\"$0\" ask hello; read line; echo \"the shell got $line\"";
    let mut terminal = environment.terminal(["-c", script, program!()]);
    terminal.wait_for("One");
    terminal.type_text("an early line\n");
    gate.open();
    terminal.wait_for("the shell got an early line");
    assert_eq!(terminal.wait_end(), Some(0));
}

/// What is typed in a turn that is interrupted before any question, then what is typed at the prompt, and the message.
#[track_caller]
fn check_without_question(early: &str, paste: &str, typed: &str, sent: &str) -> String {
    let answer = Response::stream().text("One").stall();
    let provider = Provider::play([answer, Response::reply("Three.")]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("count");
    chat.terminal.wait_for("One");
    chat.terminal.type_text(early);
    match early.strip_suffix('\r') {
        Some(lines) => drop(chat.queued(lines.rsplit('\r').next().unwrap_or(lines))),
        None => drop(chat.typing(early)),
    }
    chat.terminal.press(Key::CtrlC);
    let screen = chat.terminal.wait_until("the prompt", |screen| {
        screen.contains("(interrupted)") && screen.cursor_line.starts_with('›')
    });
    if !paste.is_empty() {
        chat.terminal.paste(paste);
    }
    chat.say(typed);
    chat.terminal.wait_for("Three.");
    let request = provider.wait_for_request(1);
    let said = request.messages().last().expect("a message")["content"].clone();
    assert_eq!(said, sent);
    screen.text
}

#[test]
fn an_answer_without_a_question_is_dropped() {
    let screen = check_without_question("y\r", "", "go on", "go on");
    let note = "\"y\" was typed when nothing was asked, so it answers nothing and was dropped.";
    assert!(screen.contains(note), "{screen}");
    check_without_question("y\rhello there\r", "", "", "hello there");
}

#[test]
fn what_is_typed_next_replaces_what_was_put_back() {
    check_without_question("please be quick\r", "", "early", "early");
    check_without_question("please be quick\r", "", "42", "42");
    check_without_question(
        "one line\r",
        "pasted\rtext ",
        "and more",
        "pasted\ntext and more",
    );
    check_without_question("please be quick\r", "", "", "please be quick");
    // A word that is being typed when the reply ends stays one word.
    check_without_question("hel", "", "lo", "hello");
}

/// Messages are sent up to a command that was typed ahead; it and what comes after it are lines of their own when their turn
/// comes.
#[test]
fn commands_among_early_lines_are_commands() {
    let gate = Gate::new();
    let answer = Response::stream().text("One").wait(&gate).finish("stop");
    let replies = ["Two.", "Three.", "Four."].map(Response::reply);
    let provider = Provider::play([answer].into_iter().chain(replies));
    let mut chat = Chat::open(&environment(&provider));
    chat.say("count");
    chat.terminal.wait_for("One");
    chat.terminal
        .type_text("go on\ron and on\r/pause next\r/no\rand then\r");
    chat.terminal.wait_for("  waits: and then");
    gate.open();
    let (paused, prompt) = ("› (pause: next)", "  request?");
    let screen = chat.prompt_with("/pause next");
    assert!(
        screen.contains("› go on\nTwo.\n› on and on\nThree."),
        "{screen:?}"
    );
    chat.terminal.press(Key::Enter);
    let at = |line: &str| {
        let line = line.to_owned();
        move |screen: &Screen| screen.cursor_line.trim_end() == line
    };
    chat.terminal.wait_until(
        "the next command",
        at(&format!(
            "{paused} /no  (put back: Enter runs it; 1 line waits behind it)"
        )),
    );
    chat.terminal.press(Key::Enter);
    chat.terminal
        .wait_until("the message", at(&format!("{paused} and then  {PUT_BACK}")));
    chat.terminal.press(Key::Enter);
    chat.terminal.wait_until("the pause", at(prompt));
    chat.terminal.type_line("send");
    chat.terminal.wait_for("Four.");
    let said = |request: usize| provider.requests()[request].messages().last().cloned();
    assert_eq!(said(1).expect("a message")["content"], "go on");
    assert_eq!(said(2).expect("a message")["content"], "on and on");
    assert_eq!(said(3).expect("a message")["content"], "and then");
}

/// A message that was not sent because its model was refused is put back, and a command that is typed next is a command.
#[test]
fn a_command_replaces_a_message_that_was_put_back() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut chat = Chat::of(environment.terminal(["--model", "nope"]));
    chat.say("hi");
    chat.terminal.wait_for("Use it anyway? [y/n] ");
    chat.answer("n");
    chat.prompt_with("hi");
    chat.terminal.type_line("exit");
    assert_eq!(chat.terminal.wait_end(), Some(0), "{:?}", chat.terminal);
}

#[test]
fn keys_that_come_while_a_line_is_drawn_again_belong_to_it() {
    for (key, expected) in [(Key::CtrlD, "read: End"), (Key::CtrlC, "read: Interrupted")] {
        let environment = Environment::new(env!("CARGO_BIN_EXE_dunlin-line"));
        let mut terminal = environment.terminal::<&str>([]);
        terminal.wait_for("the line is away");
        terminal.press(key);
        terminal.wait_for(expected);
        assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    }
}
