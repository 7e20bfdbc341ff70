//! Requests that are paused before they are sent: what is shown is what is sent, and nothing is sent unasked.

mod ends;
mod saved_edits;
mod unsent;

use dunlin_tests::{Environment, Key, Provider, Received, Response};
use serde_json::{Value, json};

use crate::stage::{Chat, environment, read};

/// The line in which a paused request is edited.
const REQUEST: &str = "  request?";

/// A chat with the line of paused requests.
pub struct Pausing {
    pub chat: Chat,
    lines: usize,
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
    let screen = chat.say("read the notes");
    assert!(screen.contains("⏸ request 1 is paused · "), "{screen}");
    assert!(screen.contains(" read the notes"), "{screen}");
    chat.does("e 1 count   the \"birds\"");
    let screen = chat.does("e temperature 0.25");
    assert!(screen.contains(": temperature set"), "{screen}");
    let shown = chat.payload();
    assert!(
        provider.requests().is_empty(),
        "nothing is sent before it is"
    );
    chat.chat.say("send");
    // The second request of the turn.
    let screen = chat.request();
    assert!(screen.contains("⏸ request 2 is paused"), "{screen}");
    assert!(screen.contains("the server has read"), "{screen}");
    let number = screen
        .lines()
        .rev()
        .find(|line| line.contains("result of read_file"));
    let number = number
        .and_then(|line| line.split_whitespace().next())
        .expect("a number");
    // The result says what it is the result of.
    let screen = chat.does(&format!("show {number}"));
    let heading = format!("  {number} result of read_file {{\"file_path\":\"notes.txt\"}} · ");
    assert!(screen.contains(&heading), "{screen}");
    // Several sections are one step.
    let screen = chat.does(&format!("d 1 {number}"));
    assert!(screen.contains("3 sections deleted"), "{screen}");
    let screen = chat.does("undo");
    assert!(screen.contains("undone: 3 sections deleted"), "{screen}");
    let screen = chat.does("undo");
    assert!(screen.contains("nothing to undo"), "{screen}");
    let screen = chat.does(&format!("d {number}"));
    assert!(
        screen.contains("deleted (a call and its results go together)"),
        "{screen}"
    );
    let second = chat.payload();
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Terns.");
    chat.prompt("› (pause: every) Type a message, @ to attach a file");
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
    let screen = pausing.does(" send");
    assert!(screen.contains("section 1: content set"), "{screen}");
    assert!(provider.requests().is_empty());
    pausing.chat.say("send");
    pausing.chat.terminal.wait_for("Done.");
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
    for (line, said, prompt) in [
        ("/pause off", "Pausing is off", "›"),
        (
            "/pause every mistake",
            "There is no agent or model mistake",
            "›",
        ),
        ("/pause every small large", "A filter is one word", "›"),
        ("/pause auto tools", "auto takes no filter", "›"),
        (
            "/pause tools",
            "Put a mode before tools, as in /pause every tools.",
            "›",
        ),
        (
            "/pause every tools",
            "Pausing is every: every request with new tool results is paused",
            "› (pause: every tools)",
        ),
    ] {
        chat.chat.say(line);
        chat.chat.terminal.wait_for(said);
        chat.prompt(&format!("{prompt} Type a message, @ to attach a file"));
    }
    let screen = chat.say("read the notes");
    assert!(screen.contains("⏸ request 2 is paused"), "{screen}");
    assert!(!screen.contains("⏸ request 1 is paused"), "{screen}");
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Terns.");
    let prompt = "› (pause: every tools) Type a message, @ to attach a file";
    chat.prompt(prompt);
    chat.chat.say("/pause next scripted");
    chat.chat
        .terminal
        .wait_for("the next request to scripted is paused");
    chat.prompt("› (pause: every tools, next scripted) Type a message, @ to attach a file");
    chat.say("count the owls");
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Owls.");
    chat.prompt(prompt);
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
    chat.chat.say("/pause every tools");
    let prompt = "› (pause: every tools) Type a message, @ to attach a file";
    chat.prompt(prompt);
    chat.say("read the notes");
    chat.chat.say("cancel");
    chat.prompt(prompt);
    let screen = chat.say("hello");
    assert!(screen.contains("⏸ request 2 is paused"), "{screen}");
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Terns.");
    chat.prompt(prompt);
    assert_eq!(provider.requests().len(), 2);
    // Answered now.
    chat.chat.say("and more");
    chat.chat.terminal.wait_for("Owls.");
}

#[test]
fn lines_are_completed_and_taken_as_they_are() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "turn");
    chat.say("count the birds");
    chat.completes("e temp", "e temperature");
    let screen = chat.does(" 0.5");
    assert!(screen.contains("temperature set"), "{screen}");
    chat.completes("e messages[", "e messages[0]");
    chat.completes(".con", "e messages[0].content");
    // A message would go on behind the backslash.
    chat.does(" terns \\");
    let screen = chat.does("show 1 3-4");
    assert!(screen.contains("   1 user  "), "{screen}");
    for (line, said) in [
        (
            "e $ {}",
            "`e $` takes no value: alone it opens the whole request",
        ),
        (
            "e temprature 1",
            "no value at temprature; nearest: temperature",
        ),
        ("pin 0", "no section 0: this request has sections 1 to "),
        ("copy 99", "no section 99: this request has sections 1 to "),
        ("d 2-99", "Nothing is deleted: no section 15: this request"),
        (
            "save 14 opts",
            "section 14 has no single text that could be a template",
        ),
        (
            "save 1 a b",
            "a name of letters, digits, - and _ for the template",
        ),
        ("unpin 2", "section 2 is not pinned"),
        ("pin 2-3", "2 sections pinned at the top"),
        ("pin 2", "section 2 is already pinned"),
        ("unpin 3", "1 section unpinned"),
        ("list", "1 pinned (169 tokens)"),
        (
            "Read",
            "\"Read\" is not a word of the request editor; ? lists them",
        ),
    ] {
        let screen = chat.does(line);
        assert!(screen.contains(said), "{line}: {screen}");
    }
    assert!(screen.contains("terns \\  edited"), "{screen}");
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Terns.");
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
    let screen = chat.does("e $");
    assert!(
        screen.contains("Nothing is changed: not valid JSON:"),
        "{screen}"
    );
    assert!(screen.contains("`e $` opens your text again"), "{screen}");
    let screen = chat.does("e $");
    assert!(screen.contains("2 values set"), "{screen}");
    let shown = chat.payload();
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Terns.");
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
        let screen = chat.say(message);
        assert!(screen.contains(" 1 user, with terns.md  "), "{screen}");
        bodies.push(chat.payload());
        chat.chat.say("send");
        chat.prompt(prompt);
    }
    chat.chat.terminal.press(Key::CtrlD);
    assert_eq!(chat.chat.terminal.wait_end(), Some(0));
    let resumed = environment.terminal(["--resume", "--intercept", "turn"]);
    let mut chat = Pausing {
        chat: Chat::waiting(resumed),
        lines: 0,
    };
    chat.prompt(prompt);
    let screen = chat.say("and the gulls");
    assert!(screen.contains(" 1 user, with terns.md  "), "{screen}");
    assert!(screen.contains(" 3 user  "), "{screen}");
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
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Terns.");
    chat.prompt("› (pause: every) Type a message, @ to attach a file");
    chat.say("and the terns");
    chat.chat.say("cancel");
    chat.chat
        .terminal
        .wait_for("Request cancelled before sending.");
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
    let prompt = "› (pause: every) Type a message, @ to attach a file";
    chat.chat.terminal.press(Key::CtrlC);
    chat.prompt(prompt);
    for (line, said) in [
        (
            "/requests two",
            "two is not a number. Usage: /requests [N [PART]]",
        ),
        ("/requests 9", "hint: /requests lists them"),
        ("/fork zz", "hint: /sessions lists them"),
    ] {
        chat.chat.say(line);
        chat.chat.terminal.wait_for(said);
        chat.prompt(prompt);
    }
    let output = environment.run(["requests", "replay", "1", "--agent", "foo"]);
    assert!(
        output
            .stderr
            .contains("there is no agent \"foo\" (--agent)"),
        "{output}"
    );
    // What the word `diff` showed.
    let diff = show("--diff");
    assert!(shown_diff.contains(diff.trim()), "{shown_diff}{diff}");
    assert!(diff.contains("  - 4 tool "), "{diff}");
    assert!(diff.contains("count the [-birds-]{+gulls+}"), "{diff}");
}

#[test]
fn what_cannot_be_sent_is_said_with_the_way_out() {
    let provider = Provider::play([Response::reply("Fine.")]);
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "turn");
    chat.say("count the birds");
    chat.does("d 1");
    let screen = chat.does("send");
    assert!(
        screen.contains("Not sent: section 1 (user): no user message is left."),
        "{screen}"
    );
    assert!(provider.requests().is_empty());
    chat.does("restore 1");
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Fine.");
}

#[test]
fn a_question_can_be_paused_on_a_terminal_only() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let output = environment.run(["ask", "--intercept", "every", "which birds?"]);
    assert_eq!(output.status, Some(2), "{output:?}");
    assert!(
        output.stderr.contains("--intercept needs a terminal"),
        "{output:?}"
    );
    let chat = Chat::waiting(environment.terminal(["ask", "--intercept", "every", "which birds?"]));
    let mut chat = Pausing { chat, lines: 0 };
    chat.request();
    chat.does("e 1 which gulls?");
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Terns.");
    assert_eq!(chat.chat.terminal.wait_end(), Some(0));
    assert_eq!(said(&provider.requests()[0])[0].1, "which gulls?");
}

/// The rows of a screen that hold something, the last one first.
fn rows_of(screen: &str) -> Vec<&str> {
    let rows = screen.lines().rev();
    rows.filter(|row| !row.trim().is_empty()).collect()
}

#[test]
fn what_is_known_of_a_request_is_shown_chosen_and_copied() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let table = "[request_editor]\n# the order\nmetadata = [\"budget\", \"agent\"] # few\n";
    environment.configure_for(&provider, table);
    let prompt = "› (pause: turn) Type a message, @ to attach a file";
    let mut chat = Pausing::open(&environment, "turn");
    chat.chat.say("/metadata");
    chat.chat
        .terminal
        .wait_for("Nothing was sent in this session yet.");
    chat.say("count the birds");
    let screen = chat.does("/metadata");
    let rows: Vec<&str> = rows_of(&screen);
    assert!(rows[2].starts_with("  budget    "), "{screen}");
    assert!(
        rows[2].ends_with(" tokens (context window unknown)"),
        "{screen}"
    );
    assert!(rows[1].starts_with("  agent     "), "{screen}");
    chat.does("e 1 count the terns");
    chat.does("e model other");
    let screen = chat.does("/metadata modle");
    assert!(
        screen.contains("metadata has no field \"modle\" (did you mean model?): use session,"),
        "{screen}"
    );
    let screen = chat.does("/metadata request, edited model session");
    assert!(
        screen.contains("/metadata shows request, edited, model, session; saved in"),
        "{screen}"
    );
    let screen = chat.does("/metadata");
    let rows: Vec<&str> = rows_of(&screen);
    let value = |row: &str, name: &str| {
        let value = row.trim().strip_prefix(name).expect(name);
        value.trim().to_owned()
    };
    let (request, session) = (value(rows[5], "request"), value(rows[2], "session"));
    assert_eq!(request, format!("{session}/1"));
    assert_eq!(value(rows[4], "edited"), "yes, 2 edits");
    assert_eq!(value(rows[3], "model"), "other");
    let screen = chat.does("copy request");
    assert!(
        screen.contains(&format!("Sent request {request} (")),
        "{screen}"
    );
    let screen = chat.does("copy requets");
    assert!(screen.contains("(did you mean request?)"), "{screen}");
    chat.chat.say("send");
    chat.prompt(prompt);
    chat.chat.say("/metadata");
    let screen = chat.chat.terminal.wait_until("the last request", |screen| {
        screen
            .text
            .lines()
            .filter(|line| line.trim_start().starts_with("session "))
            .count()
            == 2
            && screen.cursor_line.trim_end() == prompt
    });
    let rows = rows_of(&screen.text);
    assert_eq!(value(rows[4], "edited"), "yes, 2 edits");
    assert_eq!(value(rows[3], "model"), "other");
    chat.chat.say("/metadata copy model");
    chat.chat
        .terminal
        .wait_for("Sent model other (5 characters)");
    chat.prompt(prompt);
    let written = std::fs::read_to_string(environment.config_file()).expect("the configuration");
    let expected =
        "# the order\nmetadata = [\"request\", \"edited\", \"model\", \"session\"] # few\n";
    assert!(written.contains(expected), "{written}");
    // The choice holds in the next chat.
    chat.chat.terminal.press(Key::CtrlD);
    assert_eq!(chat.chat.terminal.wait_end(), Some(0));
    let output = environment.run(["config", "show"]);
    assert!(
        output
            .stdout
            .contains("[\"request\", \"edited\", \"model\", \"session\"]"),
        "{output:?}"
    );
    environment.configure_for(
        &provider,
        "[request_editor]\nmetadata = [\"mode\",\n\"sesion\"]\n",
    );
    let output = environment.run(["config", "check"]);
    assert_eq!(output.status, Some(2), "{output:?}");
    let written = std::fs::read_to_string(environment.config_file()).expect("the configuration");
    let line = written
        .lines()
        .position(|line| line.contains("sesion"))
        .expect("a line")
        + 1;
    assert!(
        output.stderr.contains(&format!(
            "config.toml:{line}: metadata must be one of `session`, "
        )),
        "{output:?}"
    );
}
