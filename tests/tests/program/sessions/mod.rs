//! Sessions: nothing is lost, whatever ends the program, and nothing is in the way.

mod exports;
mod going_back;
mod killed;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use dunlin_tests::{API_KEY, Environment, Gate, Key, Provider, Response};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::stage::{Chat, assert_in_no_file, environment, files_below, read};

/// The files of all sessions.
fn files(environment: &Environment) -> Vec<PathBuf> {
    let all = files_below(&environment.data().join("sessions")).into_iter();
    all.filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .collect()
}

/// The id of the only session.
fn only_id(environment: &Environment) -> String {
    let files = files(environment);
    assert_eq!(files.len(), 1, "{files:?}");
    let name = files[0].file_name().and_then(|name| name.to_str());
    let name = name.expect("a name of letters and digits");
    let id = name.split('-').next();
    id.expect("the part before the dash").to_owned()
}

/// Who said what, as the provider was told.
fn told(request: &dunlin_tests::Received) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = request.messages().iter();
    messages
        .filter(|message| message["role"] != "system")
        .map(|message| (text(&message["role"]), text(&message["content"])))
        .collect()
}

/// Ends the program as a power cut would: without a chance to do anything.
fn kill(chat: Chat) {
    kill_process(chat.terminal.id(), Signal::KILL).expect("a process to kill");
    drop(chat);
}

fn resumed(environment: &Environment) -> Chat {
    Chat::of(environment.terminal(["--resume"]))
}

#[test]
fn a_resumed_session_is_sent_as_it_was() {
    let script = || {
        [
            read("a.txt"),
            Response::stream()
                .reasoning("Hm")
                .text("It says\n\thello.")
                .finish("stop"),
            Response::reply("Bye."),
        ]
    };
    let provider = Provider::play(script().into_iter().chain(script()));
    let environment = environment(&provider);
    environment.project_file("a.txt", "hello \u{1b}[2J w\u{f6}rld\n");
    let mut chat = Chat::open(&environment);
    chat.turn("read a.txt");
    chat.turn("thanks");
    chat.leave();
    let mut chat = Chat::of(environment.terminal(["--fresh"]));
    chat.turn("read a.txt");
    chat.leave();
    let mut chat = resumed(&environment);
    chat.turn("thanks");
    chat.leave();
    let bytes = |index| String::from_utf8(provider.wait_for_request(index).bytes).unwrap();
    assert_eq!(bytes(2), bytes(5));
    assert_eq!(files(&environment).len(), 2);
}

#[test]
fn files_are_private_and_hold_no_key() {
    let provider = Provider::play([read("a.txt"), Response::reply("Read.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text");
    let mut chat = Chat::open(&environment);
    assert!(!environment.data().join("sessions").exists());
    chat.turn("read it");
    let path = &files(&environment)[0];
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(path), mode(path.parent().unwrap())), (0o600, 0o700));
    chat.leave();
    assert_in_no_file(&environment, API_KEY);
    let text = fs::read_to_string(path).unwrap();
    let kinds: Vec<String> = text
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["type"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .filter(|kind| kind != "stream")
        .collect();
    let expected = [
        "session", "message", "request", "answer", "message", "started", "call", "request",
        "answer", "message", "turn", "closed",
    ];
    assert_eq!(kinds, expected);
    let call = text
        .lines()
        .find(|line| line.contains("\"type\":\"call\""))
        .unwrap();
    let call: Value = serde_json::from_str(call).unwrap();
    assert_eq!(call["call"]["tool"], "read_file");
    assert_eq!(call["call"]["parameters"]["file_path"], "a.txt");
    assert_eq!(call["call"]["status"], "completed");
    assert!(call["call"]["execution_time_ms"].is_f64(), "{call}");
    // The audit log names the session by the same id.
    let id = only_id(&environment);
    let audit = environment.run(["audit", "--session", &id]);
    assert!(audit.stdout.contains("read_file"), "{audit}");
}

#[test]
fn the_hub_is_in_nobodys_way() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.terminal.assert_absent("Resume:");
    chat.turn("about sandpipers");
    chat.leave();
    // A message is a message.
    let mut chat = Chat::open(&environment);
    assert!(
        chat.terminal
            .screen()
            .contains("1 Resume: about sandpipers · just now · 1 message")
    );
    chat.turn("about terns");
    assert_eq!(told(&provider.requests()[1]).len(), 1);
    // From here on Enter is nothing.
    chat.turn("");
    chat.leave();
    // Wrong numbers are not messages.
    let mut chat = Chat::open(&environment);
    chat.turn("7");
    chat.turn("2");
    chat.turn("9");
    chat.turn("2");
    chat.turn("more of them");
    assert_eq!(provider.requests().len(), 3);
    assert_eq!(told(&provider.requests()[2])[0].1, "about sandpipers");
    insta::assert_snapshot!("choices_that_there_are_not", chat.terminal.screen());
    chat.leave();
    // Enter goes on with the last one, which is the one that was used last.
    let mut chat = Chat::open(&environment);
    chat.turn("");
    insta::assert_snapshot!(
        "enter_goes_on_with_the_last_session",
        chat.terminal.screen()
    );
    chat.leave();
    let mut chat = Chat::open(&environment);
    chat.turn("3");
    chat.turn("1");
    assert_eq!(
        told(&provider.requests()[3]),
        [("user".to_owned(), "1".to_owned())]
    );
    insta::assert_snapshot!("a_new_session_is_chosen", chat.terminal.screen());
    chat.leave();
    let chat = Chat::of(environment.terminal(["--fresh"]));
    chat.terminal.assert_absent("Resume:");
    chat.leave();
    assert_eq!(files(&environment).len(), 3);
}

#[test]
fn two_never_write_one_session() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("mine");
    let id = only_id(&environment);
    let pid = chat.terminal.id().as_raw_nonzero();
    let output = environment.run(["--resume"]);
    assert_eq!(output.status, Some(1), "{output}");
    let expected = format!(
        "error: the session {id} is open in another Dunlin (process {pid})\nhint: dunlin sessions fork {id}"
    );
    // Times and numbers are normalised in outputs, so only what is around them counts.
    assert!(output.stderr.starts_with(&expected[..40]), "{output}");
    let listed = environment.run(["sessions", "list"]);
    let open = "mine · just now · 1 message · open in another Dunlin";
    assert!(listed.stdout.contains(open), "{listed}");
    // What cannot be resumed is not offered.
    let mut other = Chat::open(&environment);
    assert!(
        other.terminal.screen().contains(open),
        "{:?}",
        other.terminal
    );
    other.terminal.assert_absent("Resume:");
    let resumed = other.turn(&format!("/sessions {id}"));
    assert!(
        resumed.contains("is open in another Dunlin"),
        "{:?}",
        other.terminal
    );
    assert!(other.turn(&format!("/fork {id}")).contains("Forked "));
    other.turn("yours");
    assert_eq!(told(&provider.requests()[1])[0].1, "mine");
    chat.turn("still mine");
    let messages = told(&provider.requests()[2]);
    assert!(
        !messages.iter().any(|(_, text)| text == "yours"),
        "{messages:?}"
    );
    let output = environment.run(["sessions", "delete", "--yes", &id]);
    assert_eq!(output.status, Some(1), "{output}");
    other.leave();
    chat.leave();
    assert_eq!(files(&environment).len(), 2);
}

#[test]
fn damage_is_said_and_costs_nothing_else() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("one");
    chat.leave();
    let path = files(&environment).remove(0);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(b"{\"type\":\"message\",\"n\":9,\"mes");
    bytes.extend([0; 100]);
    fs::write(&path, &bytes).unwrap();
    let mut chat = resumed(&environment);
    chat.turn("two");
    assert_eq!(told(&provider.requests()[1]).len(), 3);
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    assert!(fs::read(&path).unwrap().starts_with(&bytes));
    // Nothing can be made of these; they are named and stay.
    let missing = environment.terminal(["--resume", "nosuch"]);
    let screen = missing.wait_for("error: ");
    assert!(!screen.contains("/help shows"), "{screen:?}");
    for (bytes, why) in [
        (&b""[..], "it is empty"),
        (&[0; 512], "it is empty"),
        (b"hello\n", "nothing in it is a record of a session"),
    ] {
        fs::write(&path, bytes).unwrap();
        let output = environment.run(["--resume", &only_id(&environment)]);
        assert_eq!(output.status, Some(1), "{output}");
        assert!(output.stderr.contains(why), "{output}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
        // A chat opens all the same.
        Chat::open(&environment).leave();
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    Chat::open(&environment).leave();
}

#[test]
fn a_disk_that_takes_nothing_is_said_once() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    fs::create_dir_all(environment.data()).unwrap();
    fs::write(environment.data().join("sessions"), "no folder").unwrap();
    let mut chat = Chat::open(&environment);
    chat.turn("one");
    let screen = chat.turn("two");
    assert_eq!(screen.count("cannot be saved"), 1, "{:?}", chat.terminal);
    // What is in no file can still be taken elsewhere.
    chat.turn("/export -");
    fs::remove_file(environment.data().join("sessions")).unwrap();
    chat.turn("three");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let loaded = environment.run(["sessions", "show", &only_id(&environment)]);
    for said in ["one", "two", "three"] {
        assert!(loaded.stdout.contains(said), "{loaded}");
    }
}

#[test]
fn sessions_from_within_the_chat() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("/rename Birds");
    chat.turn("/new");
    chat.turn("/sessions");
    chat.turn("about terns");
    let first = only_id(&environment);
    chat.turn("/rename Arctic terns");
    assert!(
        chat.turn("/new")
            .contains(&format!("The old one ({first}) is saved: /sessions."))
    );
    chat.turn("about gulls");
    assert_eq!(told(&provider.requests()[1]).len(), 1);
    chat.turn("/sessions");
    let screen = chat.turn("/sessions 1");
    assert!(
        screen.contains(&format!("session {first}")),
        "{:?}",
        chat.terminal
    );
    chat.turn("/sessions xyzzy");
    chat.turn("/sessions 17");
    chat.turn("more");
    assert_eq!(told(&provider.requests()[2])[0].1, "about terns");
    assert!(
        chat.turn("/fork")
            .contains(&format!("Forked {first} into "))
    );
    chat.turn("in the copy");
    assert_eq!(files(&environment).len(), 3);
    chat.say("/clear");
    chat.terminal.wait_for("Forget the conversation? [y/n]");
    chat.say("y");
    chat.prompt();
    chat.turn("anew");
    assert_eq!(told(&provider.requests()[4]).len(), 1);
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let mut chat = resumed(&environment);
    chat.turn("again");
    assert_eq!(told(&provider.requests()[5]).len(), 3);
    chat.leave();
}

#[test]
fn the_command_line_knows_sessions() {
    let provider = Provider::always(Response::reply("Terns nest on the ground.\n"));
    let environment = environment(&provider);
    let none = environment.run(["sessions", "list"]);
    assert_eq!((none.status, none.stdout.as_str()), (Some(0), ""), "{none}");
    assert_eq!(environment.run(["chat", "--resume"]).status, Some(2));
    let mut chat = Chat::open(&environment);
    chat.turn("where do they nest?");
    chat.leave();
    let id = only_id(&environment);
    let run = |arguments: &[&str], status: i32, expected: &str| {
        let output = environment.run(arguments);
        assert_eq!(output.status, Some(status), "{arguments:?}: {output}");
        assert!(
            output.to_string().contains(expected),
            "{arguments:?}: {output}"
        );
        output.stdout
    };
    run(
        &["sessions", "list"],
        0,
        "where do they nest? · just now · 1 message",
    );
    run(&["sessions", "list", "--all"], 0, "[PROJECT]");
    let json = run(&["sessions", "list", "--json"], 0, "\"said\": 1");
    assert!(serde_json::from_str::<Value>(&json).unwrap().is_array());
    run(
        &["sessions", "show", &id[..4]],
        0,
        "## scripted\n\nTerns nest on the ground.",
    );
    run(&["sessions", "show", "where do they nest?"], 0, "## You");
    run(
        &["sessions", "search", "ON THE GROUND"],
        0,
        "  model  Terns nest on the ground.",
    );
    run(
        &["sessions", "search", "xyzzy"],
        0,
        "No matches in this project",
    );
    run(
        &["sessions", "rename", &id, "Nests", "of terns"],
        0,
        "is called: Nests of terns",
    );
    run(&["sessions", "list"], 0, "Nests of terns");
    let fork = run(&["sessions", "fork", &id], 0, "");
    let copy = fork.trim().to_owned();
    run(&["sessions", "show", &copy], 0, "# Nests of terns");
    run(
        &["sessions", "export", &id, "--format", "json"],
        0,
        "\"version\": 1",
    );
    run(&["sessions", "export", &id, "-o", "nests.md"], 0, "");
    run(
        &["sessions", "export", &id, "-o", "nests.md"],
        1,
        "hint: --force replaces it",
    );
    run(
        &["sessions", "export", &id, "-o", "nests.md", "--force"],
        0,
        "",
    );
    assert!(environment.project().join("nests.md").exists());
    run(
        &["sessions", "show", "xyzzy"],
        2,
        "there is no session \"xyzzy\"",
    );
    run(
        &["sessions", "delete", &id],
        3,
        "hint: --yes deletes without asking",
    );
    run(
        &["sessions", "delete", "--yes", &id, "xyzzy"],
        2,
        "there is no session \"xyzzy\"",
    );
    run(
        &["sessions", "delete", "--yes", &id, &copy],
        0,
        "is deleted.",
    );
    assert!(files(&environment).is_empty());
    run(&["--resume", "tools", "list"], 2, "");
}

#[test]
fn deleting_asks_on_a_terminal() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("one");
    chat.leave();
    let id = only_id(&environment);
    for (answer, left) in [("n", 1), ("y", 0)] {
        let mut terminal = environment.terminal(["sessions", "delete", &id]);
        terminal.wait_for("Delete permanently? [y/n]");
        terminal.type_line("what?");
        terminal.wait_until("the question again", |screen| {
            screen.count("Delete permanently?") == 2
        });
        terminal.type_line(answer);
        assert_eq!(terminal.wait_end(), Some(0));
        assert_eq!(files(&environment).len(), left);
    }
    let mut terminal = environment.terminal(["--resume", &id]);
    assert_eq!(terminal.wait_end(), Some(2), "{terminal:?}");
    terminal = environment.terminal(["--resume"]);
    let chat = Chat::of(terminal);
    assert!(
        chat.terminal
            .screen()
            .contains("there is no earlier session of this project.")
    );
    chat.leave();
}

#[test]
fn scripts_leave_no_sessions_but_can_go_on_with_one() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    assert_eq!(environment.run(["ask", "hello"]).status, Some(0));
    let piped = environment.command::<&str>([]).stdin("one\ntwo\n").run();
    assert_eq!(piped.stdout, "Yes.\nYes.\n", "{piped}");
    assert!(!environment.data().join("sessions").exists());
    let mut chat = Chat::open(&environment);
    chat.turn("three");
    chat.leave();
    let piped = environment.command(["--resume"]).stdin("four\n").run();
    assert_eq!(
        (piped.status, piped.stdout.as_str()),
        (Some(0), "Yes.\n"),
        "{piped}"
    );
    assert_eq!(told(&provider.requests()[4]).len(), 3);
    assert_eq!(files(&environment).len(), 1);
}

#[test]
fn a_session_belongs_to_its_project() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("here");
    chat.leave();
    let id = only_id(&environment);
    let other = environment.root().join("outside");
    let elsewhere = environment.command::<&str>([]).in_folder(&other).terminal();
    let mut chat = Chat::of(elsewhere);
    chat.terminal.assert_absent("Resume:");
    let screen = chat.turn(&format!("/sessions {id}"));
    assert!(
        screen.contains("belongs to another project"),
        "{:?}",
        chat.terminal
    );
    assert!(chat.turn(&format!("/fork {id}")).contains("Forked "));
    chat.turn("there");
    assert_eq!(told(&provider.requests()[1]).len(), 3);
    chat.terminal.press(Key::CtrlD);
    assert_eq!(chat.terminal.wait_end(), Some(0));
}

#[test]
fn a_yes_for_the_session_ends_with_it() {
    let provider = Provider::play([
        read("../outside/a.txt"),
        Response::reply("Read."),
        read("../outside/a.txt"),
        Response::reply("Denied."),
    ]);
    let environment = environment(&provider);
    environment.outside_file("a.txt", "text");
    let mut chat = Chat::open(&environment);
    chat.say("read it");
    chat.question();
    chat.answer("s");
    chat.prompt();
    chat.turn("/new");
    chat.say("read it");
    chat.question();
    chat.answer("n never");
    chat.prompt();
    chat.leave();
}
