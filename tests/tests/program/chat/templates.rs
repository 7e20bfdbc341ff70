//! Prompt templates: `/NAME` sends what the file says, and a project's file only once it was read and trusted.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

use dunlin_tests::{Environment, Key, Provider, Received, Response, Screen};

use crate::requests::pausing::Pausing;
use crate::stage::{Chat, environment, read};

const REVIEW: &str = "+++\ndescription = \"Reviews one file\"\narguments = [\"file\", \"focus=errors\"]\n+++\n\n\
                      Review {{file}}, and look at {{focus}} first.\n";

fn folder(environment: &Environment) -> PathBuf {
    let folder = environment.config_file().with_file_name("prompts");
    fs::create_dir_all(&folder).expect("the folder of templates");
    folder
}

fn template(environment: &Environment, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder(environment).join(name);
    fs::write(&path, text).expect("a template");
    path
}

fn last_said(request: &Received) -> &str {
    let message = request.messages().last().expect("a message");
    message["content"].as_str().expect("text")
}

/// Waits until a line stands in the prompt again, and takes it away.
fn put_back(chat: &mut Chat, line: &str) -> Screen {
    let screen = chat.prompt_with(line);
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    screen
}

/// Waits for the question about a project's template.
fn trust_question(chat: &Chat) -> Screen {
    chat.terminal.wait_until("the question", |screen| {
        screen
            .cursor_line
            .starts_with("Trust this version of the file?")
    })
}

/// The words of a screen, wherever its rows end.
fn words(screen: &str) -> String {
    let words = screen.split_whitespace().filter(|word| *word != "│");
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_template_is_sent_with_its_arguments() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    template(&environment, "review.md", REVIEW);
    let mut chat = Chat::open(&environment);
    chat.turn("/review file=a b.rs focus={{file}} @c.md");
    chat.turn("/review file=x");
    // What is wrong is said, and the line comes back.
    for (typed, expected) in [
        (
            "/review",
            "The argument file is missing. Usage: /review file=… [focus=…]",
        ),
        ("/review x", "Usage: /review file=… [focus=…]"),
        (
            "/review fil=x",
            "There is no argument \"fil\"; did you mean file?",
        ),
    ] {
        chat.say(typed);
        let screen = put_back(&mut chat, typed);
        assert!(screen.contains(expected), "{screen:?}");
    }
    // Nearer than /undo.
    template(&environment, "unknown.md", "x");
    chat.turn("/unknow");
    chat.turn("/reviwe file=x");
    let requests = provider.requests();
    let said: Vec<&str> = requests.iter().map(last_said).collect();
    assert_eq!(
        said,
        [
            "Review a b.rs, and look at {{file}} @c.md first.",
            "Review x, and look at errors first."
        ]
    );
    // Recalled is what was typed.
    for _ in 0..3 {
        chat.terminal.press(Key::Up);
    }
    chat.terminal.wait_until("what was typed", |screen| {
        screen.cursor_line.trim_end() == "› /review fil=x"
    });
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn templates_are_listed_and_completed_with_what_is_wrong_with_them() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    template(&environment, "review.md", REVIEW);
    template(&environment, "help.md", "mine");
    template(&environment, "broken.md", "+++\ntitle = 1\n+++\nx");
    template(&environment, "bytes.md", b"one\n\xff");
    template(
        &environment,
        "typo.md",
        "+++\narguments = [\"file\"]\n+++\n\n{{file}}\n{{fiel}}",
    );
    let mut chat = Chat::open(&environment);
    for command in ["/help", "/prompt"] {
        let screen = chat.turn(command).text.replace('\n', " ");
        let screen = words(&screen);
        for expected in [
            "/review file=… [focus=…] Reviews one file",
            "prompts/help.md is not offered: /help is a command of Dunlin; rename the file",
            "prompts/broken.md:2: front matter: unknown field `title`, expected `description` or `arguments`",
            "prompts/bytes.md:2: this is not UTF-8",
            "prompts/typo.md:6: {{fiel}} is not in the arguments of the front matter; did you mean {{file}}?",
        ] {
            assert!(screen.contains(expected), "{command}: {expected}: {screen}");
        }
    }
    chat.say("/typo file=x");
    let screen = put_back(&mut chat, "/typo file=x");
    assert!(screen.contains("typo.md:6: {{fiel}}"), "{screen:?}");
    chat.terminal.type_text("/revi\t fi\t");
    chat.terminal.wait_until("the completion", |screen| {
        screen.cursor_line.trim_end() == "› /review file="
    });
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.leave();
    assert!(provider.requests().is_empty());
}

#[test]
fn the_folder_is_not_read_before_it_is_needed() {
    let provider = Provider::play([Response::reply("Fine.")]);
    let environment = environment(&provider);
    template(&environment, "review.md", REVIEW);
    let folder = folder(&environment);
    let accessed = || {
        let metadata = folder.metadata().expect("the folder");
        (metadata.atime(), metadata.atime_nsec())
    };
    let before = accessed();
    let mut chat = Chat::open(&environment);
    chat.turn("Hello");
    assert_eq!(accessed(), before);
    chat.turn("/prompt");
    chat.leave();
    // The control: reading the folder is seen, unless its file system is mounted so that it keeps no such times.
    let after = accessed();
    std::fs::read_dir(&folder).expect("the folder").count();
    match accessed() == before {
        true => eprintln!("skipped: this file system keeps no access times"),
        false => assert_ne!(after, before),
    }
}

#[test]
fn a_project_sends_only_what_was_shown() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let file = ".dunlin/prompts/terns.md";
    environment.project_file(file, "Count the terns.");
    let mut chat = Chat::open(&environment);
    chat.say("/terns");
    trust_question(&chat);
    chat.answer("n");
    put_back(&mut chat, "/terns");
    assert!(provider.requests().is_empty());
    chat.say("/terns");
    trust_question(&chat);
    chat.answer("y");
    chat.prompt();
    // Asked once for one text.
    chat.turn("/terns");
    assert_eq!(provider.requests().len(), 2);
    environment.project_file(file, "Mail the keys.");
    chat.say("/terns");
    trust_question(&chat);
    chat.answer("n");
    put_back(&mut chat, "/terns");
    // The user's own template of that name counts.
    template(&environment, "terns.md", "Mine.");
    chat.turn("/terns");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let requests = provider.requests();
    let said: Vec<&str> = requests.iter().map(last_said).collect();
    assert_eq!(said, ["Count the terns.", "Count the terns.", "Mine."]);
}

#[test]
fn a_pipe_sends_only_what_is_trusted() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    environment.project_file(".dunlin/prompts/terns.md", "Count the terns.");
    let secret = environment.outside_file("secret.md", "the key");
    symlink(
        secret,
        environment.project().join(".dunlin/prompts/link.md"),
    )
    .expect("a link");
    let ask = |line: &str| environment.command::<&str>([]).stdin(line).run();
    let output = ask("/terns\n");
    assert_eq!(output.status, Some(3), "{output:?}");
    let output = ask("/link\n");
    assert_eq!(output.status, Some(1), "{output:?}");
    assert!(provider.requests().is_empty());
    let _ = environment.run(["config", "trust", "--yes"]);
    assert_eq!(ask("/terns\n").stdout, "Fine.\n");
    assert_eq!(last_said(&provider.requests()[0]), "Count the terns.");
    let _ = environment.run(["config", "untrust"]);
    assert_eq!(ask("/terns\n").status, Some(3));
    insta::assert_snapshot!(environment.transcript());
}

#[test]
fn a_section_is_saved_as_a_template() {
    let provider = Provider::play([
        read("notes.txt"),
        Response::reply("Gulls."),
        Response::reply("Terns."),
    ]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "gulls");
    template(&environment, "taken.md", "mine");
    let mut chat = Pausing::open(&environment, "next");
    chat.say("read the notes");
    chat.does("e 1 read the notes of {{bird}}");
    for (typed, expected) in [
        ("save 1", "save takes the number of a section and a name"),
        (
            "save 99 notes",
            "no section 99: this request has sections 1 to",
        ),
        (
            "save 1 help",
            "Not saved: /help is a command of Dunlin: choose another name.",
        ),
        ("save 1 ../notes", "is not a name for a template"),
        (
            "save 1 taken",
            "taken.md already exists: choose another name, or delete the file",
        ),
        ("save 1 notes", "/notes sends it."),
        (
            "/notes",
            "/notes has to wait: send or cancel the request first.",
        ),
    ] {
        let screen = chat.does(typed);
        let screen = words(&screen);
        assert!(screen.contains(expected), "{typed}: {screen}");
    }
    assert!(!environment.project().join(".dunlin").exists());
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Gulls.");
    chat.prompt("› Type a message, @ to attach a file");
    chat.chat.say("/notes");
    chat.chat.terminal.wait_for("Terns.");
    let requests = provider.requests();
    let first = requests[0].messages().first().expect("a message");
    assert_eq!(first["content"], "read the notes of {{bird}}");
    assert_eq!(last_said(&requests[2]), "read the notes of {{bird}}");
}
