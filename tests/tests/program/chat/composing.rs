//! Messages that are not typed at the prompt, and who answers them: `/edit`, `/retry`, `/model`, `/agent`.

use std::fs;

use dunlin_tests::{API_KEY, Environment, Key, Provider, Response, Screen, Terminal, program};
use serde_json::json;

use crate::stage::{Chat, editor_of, environment};

/// A chat whose editor is a script.
fn chat_with_editor(environment: &Environment, script: &str) -> Chat {
    let editor = editor_of(environment, script);
    let command = environment.command::<&str>([]);
    Chat::of(command.variable("EDITOR", &editor).terminal())
}

/// What the user said in the last request.
fn said(provider: &Provider) -> Vec<String> {
    let requests = provider.requests();
    let last = requests.last().expect("a request");
    let users = last.messages().iter().filter(|it| it["role"] == "user");
    let texts = users.filter_map(|message| message["content"].as_str());
    texts.map(str::to_owned).collect()
}

/// It runs with the user's rights, and would load a library from there.
#[test]
fn an_editor_is_led_to_nothing_that_commands_can_change() {
    let provider = Provider::play([Response::reply("Yes.")]);
    let environment = environment(&provider);
    let folder = environment.root().display().to_string();
    let script = format!(
        "echo \"$LD_LIBRARY_PATH,$PRELOADED,$SHAPE\" > '{folder}/seen'; echo hello > \"$1\""
    );
    let editor = editor_of(&environment, &script);
    let project = environment.project().display().to_string();
    let command = environment.command::<&str>([]);
    let command = command
        .variable("EDITOR", &editor)
        .variable("LD_LIBRARY_PATH", &format!("{project}/build/lib:/usr/lib:"))
        .variable("PRELOADED", &format!("{project}/x.so"))
        .variable("SHAPE", "a:b");
    let mut chat = Chat::of(command.terminal());
    chat.turn("/edit one");
    chat.leave();
    let seen = fs::read_to_string(environment.root().join("seen")).expect("what it saw");
    assert_eq!(seen, "/usr/lib,,a:b\n");
}

#[test]
fn a_message_is_written_in_an_editor() {
    let provider = Provider::play([Response::reply("Yes."), Response::reply("Indeed.")]);
    let environment = environment(&provider);
    let script = r#"stat -c 'mode %a' "$1"; printf ' and\n\n/clear\n' >> "$1""#;
    let mut chat = chat_with_editor(&environment, script);
    chat.turn("/edit one");
    // The line itself goes there, and what was written is in the history.
    chat.terminal.press(Key::Up);
    chat.terminal.wait_for("› one and");
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.terminal.type_text("two");
    chat.terminal.wait_for("› two");
    chat.terminal.type_text("\x18\x05");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    assert_eq!(said(&provider), ["one and\n\n/clear", "two and\n\n/clear"]);
}

#[test]
fn what_is_left_empty_is_not_sent_and_a_failing_editor_loses_nothing() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut chat = chat_with_editor(&environment, r#"grep -q keep "$1" && exit 3; : > "$1""#);
    let screen = chat.turn("/edit nothing");
    assert!(
        screen.contains("Nothing was written, so nothing is sent."),
        "{screen:?}"
    );
    chat.say("/edit keep this");
    let screen = chat.prompt_with("keep this");
    assert!(screen.contains("ended with exit status: 3"), "{screen:?}");
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.leave();
}

/// `:q!` in vi: whoever throws the text away does not want it sent.
#[test]
fn what_was_not_saved_in_the_editor_is_not_sent_but_put_back() {
    let provider = Provider::play([Response::reply("Yes.")]);
    let environment = environment(&provider);
    let mut chat = chat_with_editor(&environment, "grep -q draft \"$1\"");
    chat.say("/edit my draft");
    let screen = chat.prompt_with("my draft");
    let note = "You left the editor without saving, so nothing is sent.";
    assert!(screen.contains(note), "{screen:?}");
    chat.terminal.press(Key::Enter);
    assert!(chat.prompt().contains("Yes."));
    chat.leave();
    assert_eq!(said(&provider), ["my draft"]);
}

/// It is a key of the editor, also before anything else listened to it.
#[test]
fn ctrl_c_in_the_editor_leaves_the_chat_alone() {
    let provider = Provider::play([Response::reply("Yes.")]);
    let environment = environment(&provider);
    // A signal just before a long wait would be heard only after it.
    let script = r#"trap 'echo INTERRUPTED; echo written > "$1"; exit 0' INT
        echo ready
        while :; do sleep 0.05; done"#;
    let mut chat = chat_with_editor(&environment, script);
    chat.say("/edit");
    chat.terminal.wait_for("ready");
    chat.terminal.press(Key::CtrlC);
    assert!(chat.prompt().contains("Yes."));
    chat.leave();
    assert_eq!(said(&provider), ["written"]);
}

#[test]
fn a_message_is_sent_again_in_place_of_its_answer() {
    let provider = Provider::play([
        Response::reply("First."),
        Response::call("read_file", json!({ "file_path": "a.txt" })),
        Response::reply("Second."),
        Response::reply("Third."),
        Response::stream().text("Fourth").cut(),
        Response::reply("Fifth."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text of a");
    let mut chat = Chat::open(&environment);
    chat.turn("/retry");
    chat.turn("one");
    chat.turn("two");
    chat.turn("/retry");
    assert_eq!(said(&provider), ["one", "two"]);
    let requests = provider.requests();
    // The request is the one that began the turn.
    assert_eq!(requests[3].messages(), requests[1].messages());
    chat.turn("/retry");
    chat.turn("/retry");
    let requests = provider.requests();
    assert_eq!(requests[5].messages(), requests[1].messages());
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn the_model_is_chosen_while_the_conversation_goes_on() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("/model");
    chat.terminal.type_text("/model scr");
    chat.terminal.press(Key::Tab);
    chat.terminal.wait_for("› /model scripted");
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.turn("one");
    chat.say("/model othr");
    chat.terminal.wait_for("Use it anyway? [y/n] ");
    assert!(
        chat.terminal
            .screen()
            .contains("warning: the server does not list the model \"othr\"\n"),
        "{:?}",
        chat.terminal
    );
    chat.answer("n");
    chat.prompt();
    chat.say("/model other");
    chat.terminal.wait_until("the second question", |screen| {
        screen.count("Use it anyway? [y/n] ") == 2
    });
    chat.answer("y");
    chat.prompt();
    chat.turn("two");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let requests = provider.requests();
    let models: Vec<&str> = requests
        .iter()
        .filter_map(|request| request.body["model"].as_str())
        .collect();
    assert_eq!(models, ["scripted", "other"]);
    assert_eq!(said(&provider), ["one", "two"]);
}

#[test]
fn another_agent_goes_on_with_the_conversation() {
    let first = Provider::play([
        Response::call("read_file", json!({ "file_path": "a.txt" })),
        Response::reply("First."),
    ]);
    let second = Provider::play([Response::reply("Second.")]);
    let environment = environment(&first);
    environment.project_file("a.txt", "text of a");
    let tables = format!(
        "[agents.reviewer]\nbase_url = \"{}\"\nmodel = \"strict\"\nsystem_prompt = \"Review.\"\n\
         tools = []\n[agents.keyless]\nbase_url = \"{}\"\nmodel = \"none\"\napi_key = \"nowhere\"\n\
         [keys.nowhere]\nenv = \"DUNLIN_TEST_NOWHERE\"\n",
        second.base_url(),
        second.base_url()
    );
    environment.configure_more("", &tables);
    let mut chat = Chat::open(&environment);
    chat.turn("/agent");
    chat.turn("one");
    chat.turn("/agent keyless");
    chat.turn("/agent nobody");
    chat.terminal.type_text("/agent re");
    chat.terminal.press(Key::Tab);
    chat.terminal.wait_for("› /agent reviewer");
    chat.terminal.press(Key::Enter);
    chat.prompt();
    // The server of this agent lists another one.
    chat.say("two");
    chat.terminal.wait_for("Use it anyway? [y/n] ");
    chat.answer("y");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let request = second.wait_for_request(0);
    assert_eq!(request.body["model"], "strict");
    assert!(request.tools().is_empty());
    assert_eq!(request.messages()[0]["content"], "Review.");
    assert!(!request.messages().is_empty());
    assert_eq!(said(&second), ["one", "two"]);
    // The key of the first endpoint is not sent to the second.
    let bearer = request.header("authorization").unwrap_or_default();
    assert!(!bearer.contains(API_KEY), "{bearer}");
    // Its ids have the form that the strictest endpoint accepts.
    let id = request.messages()[2]["tool_calls"][0]["id"]
        .as_str()
        .unwrap_or_default();
    assert!(
        id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        "{id}"
    );
}

/// A shell that has the terminal meanwhile gets the keys as it knows them.
#[test]
fn a_shell_gets_its_keys_back_when_the_program_stops() {
    const ASKED: &[u8] = b"\x1b[>4;1m";
    const GIVEN_UP: &[u8] = b"\x1b[>4m";
    let provider = Provider::play([]);
    let environment = Environment::with_provider("/bin/sh", &provider);
    let script = "set -m; \"$0\"; echo the shell is back; read line; fg";
    let mut terminal = environment.terminal(["-c", script, program!()]);
    let is_asked = |terminal: &Terminal| {
        let bytes = terminal.bytes();
        let last = |form: &[u8]| bytes.windows(form.len()).rposition(|found| found == form);
        last(ASKED) > last(GIVEN_UP)
    };
    terminal.wait_until("the prompt", |screen| screen.cursor_line.starts_with('›'));
    terminal.type_text("half a message");
    terminal.wait_until("the text", |screen| {
        screen.cursor_line.contains("half a message")
    });
    assert!(is_asked(&terminal), "{terminal:?}");
    terminal.type_text("\x1a");
    terminal.wait_for("the shell is back");
    assert!(!is_asked(&terminal), "{terminal:?}");
    terminal.press(Key::Enter);
    terminal.wait_until("the line again", |screen| {
        screen.cursor_line.starts_with("› half a message")
    });
    assert!(is_asked(&terminal), "{terminal:?}");
    terminal.press(Key::CtrlC);
    terminal.wait_until("an empty line", |screen| {
        !screen.cursor_line.contains("half")
    });
    terminal.press(Key::CtrlD);
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    assert!(!is_asked(&terminal), "{terminal:?}");
}

/// Each time the program goes on, the question is there again and the keys are its own.
#[test]
fn a_question_is_drawn_again_when_the_program_goes_on() {
    let call = Response::call("read_file", json!({ "file_path": "../outside/notes.txt" }));
    let provider = Provider::play([call]);
    let environment = Environment::with_provider("/bin/sh", &provider);
    environment.outside_file("notes.txt", "the text outside");
    let script = "set -m; \"$0\"; while echo the shell is back; read line; do fg; done";
    let mut terminal = environment.terminal(["-c", script, program!()]);
    terminal.wait_until("the prompt", |screen| screen.cursor_line.starts_with('›'));
    terminal.type_line("read it");
    let count = |screen: &Screen, text: &str| screen.text.matches(text).count();
    for round in 1..=8 {
        terminal.wait_until("the question", |screen| {
            count(screen, "? 1 read_file asks") == round
                && screen.cursor_line.trim_end() == "  allow?"
        });
        terminal.type_text("\x1a");
        terminal.wait_until("the shell", |screen| {
            count(screen, "the shell is back") == round
        });
        // A yes that was meant for something else answers nothing.
        terminal.type_text("\ry\r");
    }
    let is_asked = |screen: &Screen| screen.cursor_line.trim_end() == "  allow?";
    terminal.wait_until("the question", is_asked);
    // It is there again when the screen was cleared.
    terminal.type_text("\x0c");
    terminal.press(Key::CtrlC);
    let screen = terminal.wait_for("(interrupted)");
    let bytes = terminal.bytes();
    let shown = String::from_utf8_lossy(&bytes);
    let cleared = shown.rsplit_once("\x1b[2J").expect("a clear screen").1;
    assert!(
        cleared.contains("Read file '../outside/notes.txt'?"),
        "{cleared:?}"
    );
    assert!(!screen.contains("✓ 1"), "{terminal:?}");
    terminal.wait_until("the prompt", |screen| screen.cursor_line.starts_with('›'));
    terminal.press(Key::CtrlD);
    terminal.wait_until("the shell", |screen| {
        screen.text.trim_end().ends_with("the shell is back")
    });
}

/// Of the configuration, too. Once it was used, it is not asked about again.
#[test]
fn a_configured_model_that_the_server_does_not_list_is_asked_about_once() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let config = fs::read_to_string(environment.config_file()).expect("the configuration");
    environment.configure(&config.replace("\"scripted\"", "\"scriptd\""));
    let warning =
        "warning: the server does not list the model \"scriptd\"; the nearest is \"scripted\"\n";
    // Where nobody can be asked, each run says it.
    for _ in 0..2 {
        let output = environment.run(["ask", "hello"]);
        assert!(output.stderr.contains(warning), "{output}");
        assert!(output.stdout.contains("Yes."), "{output}");
    }
    let sent = provider.requests().len();
    let mut chat = Chat::open(&environment);
    for (answer, requests) in [("n", sent), ("y", sent + 1)] {
        match answer {
            "n" => chat.say("hello"),
            _ => chat.terminal.press(Key::Enter),
        }
        chat.terminal.wait_until("the question", |screen| {
            screen.cursor_line.starts_with("Use it anyway?")
        });
        assert!(
            chat.terminal.screen().contains(warning),
            "{:?}",
            chat.terminal
        );
        chat.answer(answer);
        match answer {
            "n" => chat.prompt_with("hello"),
            _ => chat.prompt(),
        };
        assert_eq!(provider.requests().len(), requests);
    }
    assert_eq!(said(&provider), ["hello"]);
    chat.turn("more");
    chat.leave();
    let mut chat = Chat::open(&environment);
    let screen = chat.turn("again");
    assert!(!screen.contains("Use it anyway?"), "{screen:?}");
    chat.leave();
    assert_eq!(environment.run(["ask", "hello"]).stderr, "");
}

#[test]
fn ask_warns_of_a_model_that_the_server_does_not_list() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let output = environment.run(["ask", "--model", "scriptd", "hello"]);
    let warning =
        "warning: the server does not list the model \"scriptd\"; the nearest is \"scripted\"\n";
    assert!(output.stderr.contains(warning), "{output}");
    assert!(output.stdout.contains("Yes."), "{output}");
}
