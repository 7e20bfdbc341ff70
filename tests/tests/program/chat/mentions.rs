//! Files that a message mentions: read under the same permissions as a model's, and sent with it.

use std::fs;

use dunlin_tests::{Environment, Key, Provider, Response};

use crate::stage::{Chat, environment};

/// What the user said last, as it was sent.
fn sent(provider: &Provider) -> String {
    let requests = provider.requests();
    let last = requests.last().expect("a request").messages().last();
    let text = last.expect("a message")["content"].as_str();
    text.unwrap_or_default().to_owned()
}

fn audit(environment: &Environment) -> String {
    fs::read_to_string(environment.data().join("audit.jsonl")).unwrap_or_default()
}

#[test]
fn what_is_mentioned_is_sent_with_the_message() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.project_file("notes/terns.md", "Terns\nfly far.\n");
    environment.project_file("a b.txt", "Sandpipers\n");
    let mut chat = Chat::open(&environment);
    chat.turn("compare @notes/terns.md, and @\"a b.txt\"!");
    let text = sent(&provider);
    let words = "compare @notes/terns.md, and @\"a b.txt\"!\n\nFiles that the user attached to this message";
    assert!(text.starts_with(words), "{text}");
    assert!(text.contains("File 'notes/terns.md': 2 lines\n"), "{text}");
    assert!(text.contains("     2\tfly far.\n"), "{text}");
    assert!(text.contains("     1\tSandpipers\n"), "{text}");
    assert!(audit(&environment).contains("\"call\":\"attached-1\""));
    // Nobody's file.
    chat.turn("ask @ada, ada@example.org, @types/node");
    assert_eq!(sent(&provider), "ask @ada, ada@example.org, @types/node");
    // The same bytes go first again.
    let requests = provider.requests();
    assert_eq!(requests[1].messages()[..1], requests[0].messages()[..1]);
    chat.turn("/tags");
    environment.project_file("long.txt", "The sandpiper nests in June.\n".repeat(5000));
    chat.turn("and @long.txt?");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn files_alone_wait_and_can_be_taken_away() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    for name in ["a.md", "b.md", "c.md"] {
        environment.project_file(name, format!("text of {name}\n"));
    }
    let mut chat = Chat::open(&environment);
    chat.turn("/tags");
    chat.turn("@a.md @b.md @c.md");
    chat.turn("/untag 2");
    chat.turn("/untag x.md");
    chat.turn("/untag @a.md");
    assert_eq!(provider.requests().len(), 0);
    // As it is when it is sent.
    environment.project_file("c.md", "the new text of c\n");
    chat.turn("look");
    let text = sent(&provider);
    assert!(text.starts_with("look\n\nFiles"), "{text}");
    assert!(text.contains("the new text of c"), "{text}");
    assert!(
        !text.contains("text of a") && !text.contains("text of b"),
        "{text}"
    );
    chat.turn("again");
    assert_eq!(sent(&provider), "again");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn outside_is_asked_about_and_a_no_keeps_the_message() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.outside_file("birds.txt", "the text outside\n");
    environment.project_file(".env", "TOKEN=secret\n");
    let mut chat = Chat::open(&environment);
    chat.say("read @../outside/birds.txt");
    chat.question();
    chat.answer("y");
    chat.prompt();
    assert!(sent(&provider).contains("the text outside"));
    chat.say("see @.env");
    chat.question();
    chat.answer("n");
    chat.prompt_with("see @.env");
    assert_eq!(provider.requests().len(), 1);
    // The user has decided: it is sent without.
    chat.terminal.press(Key::Enter);
    chat.prompt();
    assert_eq!(sent(&provider), "see @.env");
    assert!(audit(&environment).contains("\"event\":\"denied\""));
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn what_cannot_be_attached_is_said_before_anything_is_sent() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.project_file("src/main.rs", "fn main() {}\n");
    environment.project_file("logo.bin", b"\0\x01\x02");
    let mut chat = Chat::open(&environment);
    let mut check = |message: &str, problem: &str| {
        chat.say(message);
        let screen = chat.prompt_with(message);
        assert!(screen.contains(problem), "{message}: {screen:?}");
        chat.terminal.press(Key::CtrlC);
        chat.prompt_cleared();
    };
    check(
        "see @src/mian.rs",
        "✗ there is no file src/mian.rs; did you mean src/main.rs?",
    );
    check(
        "see @src/ now",
        "✗ src/ is a folder; mention the files that matter",
    );
    check("see @logo.bin", "is a binary file (3 bytes)");
    assert_eq!(provider.requests().len(), 0);
    chat.leave();
}

#[test]
fn a_long_file_is_cut_with_a_note() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let line = "x".repeat(99) + "\n";
    environment.project_file("long.txt", line.repeat(3000));
    let mut chat = Chat::open(&environment);
    chat.turn("see @long.txt");
    let text = sent(&provider);
    assert!(text.len() < 120_000, "{}", text.len());
    assert!(
        text.contains("left out, too much for one answer"),
        "{}",
        &text[..300]
    );
    chat.leave();
}

#[test]
fn tab_completes_files_of_the_project() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.project_file(".gitignore", "target/\n");
    environment.project_file("src/matter.rs", "fn matter() {}\n");
    environment.project_file("target/matter.rs", "generated\n");
    environment.project_file("notes of mine.md", "Birds\n");
    let mut chat = Chat::open(&environment);
    let mut check = |typed: &str, expected: &str| {
        chat.terminal.type_text(typed);
        chat.terminal.press(Key::Tab);
        let expected = format!("› {expected}");
        chat.terminal.wait_until(&expected, |screen| {
            screen.cursor_line.trim_end() == expected
        });
        chat.terminal.press(Key::CtrlC);
        chat.prompt_cleared();
    };
    check("see @mat", "see @src/matter.rs");
    check("see @smt", "see @src/matter.rs");
    check("see @notes", "see @\"notes of mine.md\"");
    check("see @target/m", "see @target/matter.rs");
    chat.leave();
}
