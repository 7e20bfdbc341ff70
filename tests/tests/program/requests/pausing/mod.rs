//! Requests that are paused before they are sent: what is shown is what is sent, and nothing is sent unasked.

mod ends;
mod saved_edits;
mod unsent;

use dunlin_tests::{Environment, Key, Provider, Received, Response};
use serde_json::{Value, json};

use crate::stage::{self, Chat, read};

/// Few tools, so that a snapshot has few sections.
const TOOLS: &str = "tools = [\"ask_user\", \"read_file\", \"todo\"]";

/// The line in which a paused request is edited.
const REQUEST: &str = "  request?";

/// A chat with the line of paused requests.
pub struct Pausing {
    pub chat: Chat,
    lines: usize,
}

/// Folders whose only agent has few tools and talks to `provider`.
fn environment(provider: &Provider) -> Environment {
    let environment = stage::environment(provider);
    environment.configure_for(provider, TOOLS);
    environment
}

impl Pausing {
    pub fn open(environment: &Environment, mode: &str) -> Pausing {
        let command = environment.command(["--intercept", mode]);
        // Long texts are printed.
        Pausing::of(Chat::waiting(command.variable("PAGER", "cat").terminal()))
    }

    /// A chat that has begun.
    pub fn of(chat: Chat) -> Pausing {
        chat.terminal.wait_for("› ");
        Pausing { chat, lines: 0 }
    }

    /// Waits for the next line of a paused request; the text on the screen.
    pub fn request(&mut self) -> String {
        let before = self.lines;
        let count = |text: &str| {
            text.lines()
                .filter(|line| line.starts_with(REQUEST))
                .count()
        };
        let screen = self.chat.terminal.wait_until("a paused request", |screen| {
            count(&screen.text) > before && screen.cursor_line.trim_end() == REQUEST
        });
        self.lines = count(&screen.text);
        screen.text
    }

    pub fn say(&mut self, message: &str) -> String {
        self.chat.say(message);
        self.request()
    }

    /// Types a word of the editor, and waits for the next line.
    pub fn does(&mut self, line: &str) -> String {
        self.chat.say(line);
        self.request()
    }

    /// Types a line, at a prompt or at a paused request, and waits for the next prompt, which is this one.
    pub fn command(&mut self, line: &str, prompt: &str) {
        let count = |text: &str| text.lines().filter(|line| line.starts_with('›')).count();
        let before = count(&self.chat.terminal.screen().text);
        self.chat.say(line);
        let what = format!("{prompt:?} after {line:?}");
        self.chat.terminal.wait_until(&what, |screen| {
            count(&screen.text) > before && screen.cursor_line.trim_end() == prompt
        });
    }

    /// The screen as it is kept in snapshots. Printed bodies are only named: the declarations of tools are long.
    fn snapshot(&self) -> String {
        let screen = self.chat.terminal.screen().to_string();
        let rows = screen.lines().map(|row| match row.trim_start() {
            body if body.starts_with("{\"model\"") => "[BODY]",
            _ => row,
        });
        rows.collect::<Vec<_>>().join("\n")
    }

    /// Types text and Tab, and waits for what the line becomes.
    fn completes(&mut self, typed: &str, line: &str) {
        self.chat.terminal.type_text(typed);
        self.chat.terminal.press(Key::Tab);
        self.prompt(&format!("{REQUEST} {line}"));
    }

    /// Waits for the prompt with this line.
    pub fn prompt(&self, line: &str) {
        self.chat
            .terminal
            .wait_until(line, |screen| screen.cursor_line.trim_end() == line);
    }

    /// The payload, byte for byte.
    fn payload(&mut self) -> String {
        let shown = self.chat.terminal.bytes().len();
        self.does("payload");
        let bytes = self.chat.terminal.bytes();
        let text = String::from_utf8_lossy(&bytes[shown..]).into_owned();
        let start = text.find("{\"model\"").expect("a body");
        let rest = &text[start..];
        let end = rest.find('\r').or_else(|| rest.find('\n'));
        rest[..end.expect("the end of the body")].to_owned()
    }
}

fn body(request: &Received) -> String {
    String::from_utf8(request.bytes.clone()).expect("text")
}

fn said(request: &Received) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = request.messages().iter();
    messages
        .map(|message| (text(&message["role"]), text(&message["content"])))
        .collect()
}

#[test]
fn what_is_shown_is_what_is_sent() {
    let provider = Provider::play([read("notes.txt"), Response::reply("Terns.")]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "gulls");
    let mut chat = Pausing::open(&environment, "every");
    chat.say("read the notes");
    chat.does("e 1 count   the \"birds\"");
    chat.does("e temperature 0.25");
    let shown = chat.payload();
    assert!(
        provider.requests().is_empty(),
        "nothing is sent before it is"
    );
    chat.chat.say("send");
    // The second request of the turn.
    chat.request();
    // The result says what it is the result of.
    chat.does("show 3");
    // Several sections are one step, and a call and its results go together.
    for line in ["d 1 3", "undo", "undo", "d 3"] {
        chat.does(line);
    }
    let second = chat.payload();
    chat.command(
        "send",
        "› (pause: every) Type a message, @ to attach a file",
    );
    insta::assert_snapshot!(chat.snapshot());
    chat.chat.terminal.press(Key::CtrlD);
    let requests = provider.requests();
    assert_eq!(
        [&shown, &second],
        [&body(&requests[0]), &body(&requests[1])]
    );
    assert_eq!(requests[0].body["temperature"], json!(0.25));
    assert_eq!(said(&requests[0])[0].1, "count   the \"birds\"");
    // Edits change no history.
    assert_eq!(
        said(&requests[1]),
        [("user".to_owned(), "read the notes".to_owned())]
    );
}

#[test]
fn what_is_typed_right_behind_a_word_is_the_next_line() {
    let provider = Provider::play([Response::reply("Done.")]);
    let environment = environment(&provider);
    let mut pausing = Pausing::open(&environment, "every");
    pausing.say("count the birds");
    // Typed as soon as the word before has done something, and before its line is there.
    pausing.chat.say("show 1");
    pausing.chat.terminal.wait_for("messages[0].content");
    pausing.chat.terminal.type_text("e 1 do not");
    pausing.prompt(&format!("{REQUEST} e 1 do not"));
    pausing.does(" send");
    assert!(provider.requests().is_empty());
    pausing.command(
        "send",
        "› (pause: every) Type a message, @ to attach a file",
    );
    insta::assert_snapshot!(pausing.snapshot());
    let requests = provider.requests();
    let sent = said(requests.last().expect("a request"));
    assert_eq!(sent.last().map(|(_, text)| &**text), Some("do not send"));
}

#[test]
fn pausing_is_restricted_to_some_requests() {
    let provider = Provider::play([
        read("notes.txt"),
        Response::reply("Terns."),
        Response::reply("Owls."),
    ]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "gulls");
    let mut chat = Pausing::open(&environment, "every");
    let plain = "› Type a message, @ to attach a file";
    let prompt = "› (pause: every tools) Type a message, @ to attach a file";
    for (line, prompt) in [
        ("/pause off", plain),
        ("/pause every mistake", plain),
        ("/pause every small large", plain),
        ("/pause auto tools", plain),
        ("/pause tools", plain),
        ("/pause every tools", prompt),
    ] {
        chat.command(line, prompt);
    }
    chat.say("read the notes");
    chat.command("send", prompt);
    chat.command(
        "/pause next scripted",
        "› (pause: every tools, next scripted) Type a message, @ to attach a file",
    );
    chat.say("count the owls");
    chat.command("send", prompt);
    insta::assert_snapshot!(chat.snapshot());
}

/// A result that was held back is not sent with the next message.
#[test]
fn results_of_a_cancelled_request_are_paused_with_the_next_message() {
    let provider = Provider::play([
        read("notes.txt"),
        Response::reply("Terns."),
        Response::reply("Owls."),
    ]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "gulls");
    let mut chat = Pausing::open(&environment, "off");
    let prompt = "› (pause: every tools) Type a message, @ to attach a file";
    chat.command("/pause every tools", prompt);
    chat.say("read the notes");
    chat.command("cancel", prompt);
    chat.say("hello");
    chat.command("send", prompt);
    assert_eq!(provider.requests().len(), 2);
    // Answered now.
    chat.command("and more", prompt);
    insta::assert_snapshot!(chat.snapshot());
}

#[test]
fn lines_are_completed_and_taken_as_they_are() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "turn");
    chat.say("count the birds");
    chat.completes("e temp", "e temperature");
    chat.does(" 0.5");
    chat.completes("e messages[", "e messages[0]");
    chat.completes(".con", "e messages[0].content");
    // A message would go on behind the backslash.
    chat.does(" terns \\");
    for line in [
        "show 1 3-4",
        "e $ {}",
        "e temprature 1",
        "pin 0",
        "copy 99",
        "d 2-99",
        "save 5 opts",
        "save 1 a b",
        "unpin 2",
        "pin 2-3",
        "pin 2",
        "unpin 3",
        "list",
        "Read",
    ] {
        chat.does(line);
    }
    chat.command("send", "› (pause: turn) Type a message, @ to attach a file");
    insta::assert_snapshot!(chat.snapshot());
    let request = &provider.requests()[0];
    assert_eq!(said(request)[0].1, "terns \\");
    assert_eq!(request.body["temperature"], json!(0.5));
}

#[test]
fn the_whole_request_is_edited_as_json() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let script = environment.project_file(
        "edit.sh",
        "case $(cat \"$1\") in *BROKEN*) sed -i s/BROKEN// \"$1\";;\n\
         *) sed -i -e s/birds/terns/ -e 's/^{/{BROKEN \"temperature\": 0.5,/' \"$1\";; esac\n",
    );
    let command = environment.command(["--intercept", "turn"]);
    let command = command.variable("EDITOR", &format!("sh {}", script.display()));
    let chat = Chat::waiting(command.variable("PAGER", "cat").terminal());
    chat.terminal.wait_for("› ");
    let mut chat = Pausing { chat, lines: 0 };
    chat.say("count the birds");
    // The first text is not JSON; it is opened again.
    chat.does("e $");
    chat.does("e $");
    let shown = chat.payload();
    chat.command("send", "› (pause: turn) Type a message, @ to attach a file");
    insta::assert_snapshot!(chat.snapshot());
    let request = &provider.requests()[0];
    assert_eq!(shown, body(request));
    assert_eq!(said(request)[0].1, "count the terns");
    assert_eq!(request.body["temperature"], json!(0.5));
}

#[test]
fn attached_files_name_the_section() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    environment.project_file("notes/terns.md", "Terns\nfly far.\n");
    let mut chat = Pausing::open(&environment, "turn");
    let prompt = "› (pause: turn) Type a message, @ to attach a file";
    let mut bodies = Vec::new();
    for message in ["read @notes/terns.md", "/retry"] {
        chat.say(message);
        bodies.push(chat.payload());
        chat.command("send", prompt);
    }
    insta::assert_snapshot!("attached_files_name_the_section", chat.snapshot());
    chat.chat.terminal.press(Key::CtrlD);
    assert_eq!(chat.chat.terminal.wait_end(), Some(0));
    let resumed = environment.terminal(["--resume", "--intercept", "turn"]);
    let mut chat = Pausing {
        chat: Chat::waiting(resumed),
        lines: 0,
    };
    chat.prompt(prompt);
    chat.say("and the gulls");
    insta::assert_snapshot!("attached_files_in_a_resumed_session", chat.snapshot());
    // The label is not part of what is sent.
    let requests = provider.requests();
    let sent: Vec<String> = requests.iter().map(body).collect();
    assert_eq!(sent, bodies);
    assert_eq!(sent[0], sent[1]);
    assert!(!sent[0].contains("attached\":"), "{}", sent[0]);
}

#[test]
fn the_log_has_what_was_composed_and_what_was_sent() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "every");
    chat.say("count the birds");
    let composed = chat.payload();
    chat.does("e 1 count the gulls");
    chat.does("e model other");
    chat.does("d 4");
    let shown_diff = chat.does("diff");
    let shown = chat.payload();
    let prompt = "› (pause: every) Type a message, @ to attach a file";
    chat.command("send", prompt);
    chat.say("and the terns");
    chat.command(
        "cancel",
        "› (pause: every) and the terns  (put back: Enter sends it)",
    );
    let logged = environment.command(["requests", "list", "--json"]);
    let logged: Value = serde_json::from_slice(&logged.stdout_bytes()).expect("JSON");
    // What was cancelled is not kept.
    assert_eq!(logged.as_array().map(Vec::len), Some(1), "{logged:#}");
    assert_eq!(logged[0]["end"], "answered");
    assert_eq!(logged[0]["model"], "other");
    assert_eq!(logged[0]["edits"][0]["target"]["section"], "message:0");
    let show = |part: &str| {
        let bytes = environment
            .command(["requests", "show", "1", part])
            .stdout_bytes();
        String::from_utf8(bytes).expect("text")
    };
    assert_eq!(show("--sent"), shown);
    assert_eq!(show("--sent"), body(&provider.requests()[0]));
    assert_eq!(show("--original"), composed);
    chat.chat.terminal.press(Key::CtrlC);
    chat.prompt(prompt);
    for line in ["/requests two", "/requests 9", "/fork zz"] {
        chat.command(line, prompt);
    }
    insta::assert_snapshot!(
        "the_log_has_what_was_composed_and_what_was_sent",
        chat.snapshot()
    );
    environment.transcript();
    let _ = environment.run(["requests", "replay", "1", "--agent", "foo"]);
    let _ = environment.run(["requests", "show", "1", "--diff"]);
    insta::assert_snapshot!("the_log_on_the_command_line", environment.transcript());
    // What the word `diff` showed.
    let diff = show("--diff");
    assert!(shown_diff.contains(diff.trim()), "{shown_diff}{diff}");
}

#[test]
fn what_cannot_be_sent_is_said_with_the_way_out() {
    let provider = Provider::play([Response::reply("Fine.")]);
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "turn");
    chat.say("count the birds");
    chat.does("d 1");
    chat.does("send");
    assert!(provider.requests().is_empty());
    chat.does("restore 1");
    chat.command("send", "› (pause: turn) Type a message, @ to attach a file");
    insta::assert_snapshot!(chat.snapshot());
}

#[test]
fn a_question_can_be_paused_on_a_terminal_only() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let _ = environment.run(["ask", "--intercept", "every", "which birds?"]);
    insta::assert_snapshot!("a_question_without_a_terminal", environment.transcript());
    let chat = Chat::waiting(environment.terminal(["ask", "--intercept", "every", "which birds?"]));
    let mut chat = Pausing { chat, lines: 0 };
    chat.request();
    chat.does("e 1 which gulls?");
    chat.chat.say("send");
    assert_eq!(chat.chat.terminal.wait_end(), Some(0));
    insta::assert_snapshot!("a_question_that_is_paused", chat.snapshot());
    assert_eq!(said(&provider.requests()[0])[0].1, "which gulls?");
}

#[test]
fn what_is_known_of_a_request_is_shown_chosen_and_copied() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let table = "[request_editor]\n# the order\nmetadata = [\"budget\", \"agent\"] # few\n";
    environment.configure_for(&provider, &format!("{TOOLS}\n{table}"));
    let prompt = "› (pause: turn) Type a message, @ to attach a file";
    let mut chat = Pausing::open(&environment, "turn");
    chat.command("/metadata", prompt);
    chat.say("count the birds");
    for line in [
        "/metadata",
        "e 1 count the terns",
        "e model other",
        "/metadata modle",
        "/metadata request, edited model session",
        "/metadata",
        "copy request",
        "copy requets",
    ] {
        chat.does(line);
    }
    chat.command("send", prompt);
    chat.command("/metadata", prompt);
    chat.command("/metadata copy model", prompt);
    insta::assert_snapshot!(
        "what_is_known_of_a_request_is_shown_chosen_and_copied",
        chat.snapshot()
    );
    let written = std::fs::read_to_string(environment.config_file()).expect("the configuration");
    let expected =
        "# the order\nmetadata = [\"request\", \"edited\", \"model\", \"session\"] # few\n";
    assert!(written.contains(expected), "{written}");
    // The choice holds in the next chat.
    chat.chat.terminal.press(Key::CtrlD);
    assert_eq!(chat.chat.terminal.wait_end(), Some(0));
    let output = environment.run(["config", "show"]);
    let chosen = output.stdout.lines().find(|row| row.contains("metadata"));
    assert!(
        chosen.is_some_and(|row| row.contains("[\"request\", \"edited\", \"model\", \"session\"]")),
        "{output}"
    );
    environment.configure_for(
        &provider,
        "[request_editor]\nmetadata = [\"mode\",\n\"sesion\"]\n",
    );
    environment.transcript();
    let _ = environment.run(["config", "check"]);
    insta::assert_snapshot!(
        "a_field_of_metadata_that_there_is_not",
        environment.transcript()
    );
}
