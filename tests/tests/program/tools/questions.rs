//! `ask_user`: the model asks, the person answers in words.

use dunlin_tests::{Key, Provider, Response, Screen};
use serde_json::json;

use crate::stage::{Chat, environment};

fn ask() -> Response {
    let options = ["In src/ada.rs", "In src/bob.rs"];
    let question = "Where should it go?\nBoth would do.";
    Response::call(
        "ask_user",
        json!({ "question": question, "options": options }),
    )
}

fn wait_for_question(chat: &Chat) -> Screen {
    chat.terminal.wait_until("the question", |screen| {
        screen.cursor_line.trim_end() == "  answer?"
    })
}

/// The result that went back to the model with the last request.
fn last_result(provider: &Provider) -> String {
    let requests = provider.requests();
    let last = requests.last().expect("a request");
    last.results().last().expect("a result").to_string()
}

#[test]
fn the_answer_is_the_result() {
    for (typed, result) in [
        ("2", "In src/bob.rs"),
        ("somewhere else", "somewhere else"),
        ("3", "3"),
    ] {
        let provider = Provider::play([ask(), Response::reply("Thank you.")]);
        let environment = environment(&provider);
        let mut chat = Chat::open(&environment);
        chat.say("make a module");
        let screen = wait_for_question(&chat);
        let expected = "  ask_user asks\n  │ Where should it go?\n  │ Both would do.\n   1  In src/ada.rs\n   \
            2  In src/bob.rs\n  a number, or your own words\n";
        assert!(screen.contains(expected), "{:?}", chat.terminal);
        chat.terminal.type_line("");
        chat.terminal.wait_for("(Ctrl-D gives no answer)");
        wait_for_question(&chat);
        chat.terminal.type_line(typed);
        if typed == "3" {
            let said = "  There is no option 3: type 1 or 2, or your own words; 3 again answers \"3\".\n  answer?";
            chat.terminal.wait_for(said);
            assert_eq!(provider.requests().len(), 1, "nothing is answered yet");
            chat.terminal.type_line(typed);
        }
        let screen = chat.prompt();
        assert!(
            screen.contains("  ✓ 1 ask_user Where should it go?\\nBoth would do."),
            "{:?}",
            chat.terminal
        );
        assert_eq!(last_result(&provider), result);
        chat.leave();
    }
}

#[test]
fn ctrl_d_gives_no_answer_and_ctrl_c_ends_the_turn() {
    let provider = Provider::play([ask(), Response::reply("As you like."), ask()]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("make a module");
    wait_for_question(&chat);
    chat.terminal.press(Key::CtrlD);
    chat.prompt();
    assert_eq!(
        last_result(&provider),
        "ERROR: the user did not want to answer"
    );
    chat.say("make another");
    chat.terminal.wait_until("the second question", |screen| {
        screen.count("  answer?") == 2 && screen.cursor_line.trim_end() == "  answer?"
    });
    chat.interrupt("a question of the model");
    // No third request asks the model what it thinks of that.
    assert_eq!(provider.requests().len(), 3);
    chat.leave();
}

#[test]
fn without_a_terminal_nobody_is_there() {
    let provider = Provider::play([ask(), Response::reply("Then I will guess.")]);
    let environment = environment(&provider);
    let output = environment.command(["ask", "make a module"]).run();
    assert_eq!(output.status, Some(0), "{output:?}");
    assert_eq!(output.stdout, "Then I will guess.\n");
    assert!(
        last_result(&provider).starts_with("ERROR: nobody is there to answer"),
        "{}",
        last_result(&provider)
    );
}
