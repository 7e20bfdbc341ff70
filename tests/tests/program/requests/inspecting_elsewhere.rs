//! `dunlin inspect`: a paused request in one terminal is edited, sent and cancelled from another one.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroU16;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use dunlin_tests::{DEADLINE, Environment, Gate, Key, Provider, Response};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::requests::pausing::Pausing;
use crate::stage::{Chat, environment, read};

/// The line in which a paused request is edited.
const REQUEST: &str = "  request?";

/// On the inspector's screen once its keys act.
const KEYS_ACT: &str = "? all keys";

fn run_folder(environment: &Environment) -> PathBuf {
    environment.data().join("run")
}

fn sockets(environment: &Environment) -> Vec<PathBuf> {
    let entries = fs::read_dir(run_folder(environment)).expect("a folder of sockets");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// An inspector that speaks the protocol itself.
pub struct Peer {
    from: BufReader<UnixStream>,
    to: UnixStream,
}

impl Peer {
    pub fn attach(environment: &Environment) -> Peer {
        let to = UnixStream::connect(&sockets(environment)[0]).expect("a chat that listens");
        to.set_read_timeout(Some(DEADLINE)).expect("a time limit");
        Peer {
            from: BufReader::new(to.try_clone().expect("a second handle")),
            to,
        }
    }

    #[track_caller]
    pub fn wait(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            self.from.read_line(&mut line).expect("a message");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["type"] == kind {
                return message;
            }
        }
    }

    pub fn say(&mut self, line: &Value) {
        let line = format!("{line}\n");
        self.to
            .write_all(line.as_bytes())
            .expect("a chat that reads");
    }

    pub fn edit(&mut self, (pause, revision): (u64, &Value), old: &str, new: &str) {
        self.say(&json!({"id": 1, "op": "edit", "pause": pause, "revision": revision, "edit": {"type": "set",
            "target": {"section": "message:0", "path": "content"},
            "old": format!("{old:?}"), "new": format!("{new:?}")}}));
    }
}

fn said(provider: &Provider) -> Vec<String> {
    let requests = provider.requests();
    let text = |request: &dunlin_tests::Received| {
        request.messages()[0]["content"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    requests.iter().map(text).collect()
}

#[test]
fn what_is_edited_elsewhere_is_sent() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    let folder = fs::metadata(run_folder(&environment)).expect("a folder");
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    let socket = fs::metadata(&sockets(&environment)[0]).expect("a socket");
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    let mut peer = Peer::attach(&environment);
    paused.say("count the birds");
    let seen = peer.wait("paused");
    assert!(
        seen["body"]
            .as_str()
            .is_some_and(|body| body.contains("count the birds"))
    );
    let keys = ["authorization", "api_key", "test-key"];
    let text = seen.to_string().to_lowercase();
    assert!(keys.iter().all(|key| !text.contains(key)), "{text}");
    // What was typed so far stays in the line.
    paused.chat.terminal.type_text("e 1 so");
    paused.prompt(&format!("{REQUEST} e 1 so"));
    peer.edit(
        (1, &seen["revision"]),
        "count the birds",
        "sing to the birds",
    );
    let before = peer.wait("edited")["revision"].clone();
    peer.wait("done");
    paused
        .chat
        .terminal
        .wait_for("edited from another terminal: section 1: content set");
    paused.prompt(&format!("{REQUEST} e 1 so"));
    assert!(
        provider.requests().is_empty(),
        "nothing is sent before it is"
    );
    // Edited here: the other one is told, and what it meant for the state before is refused.
    paused.chat.terminal.type_line("ftly");
    let edited = peer.wait("edited");
    assert_eq!(edited["edits"].as_array().map(Vec::len), Some(2));
    peer.say(&json!({"id": 2, "op": "send", "pause": 1, "revision": before}));
    assert!(
        peer.wait("refused")["error"]
            .as_str()
            .is_some_and(|it| it.contains("has changed since"))
    );
    peer.say(&json!({"id": 3, "op": "send", "pause": 1, "revision": edited["revision"]}));
    peer.wait("sent");
    peer.wait("done");
    paused.chat.terminal.wait_for("sent from another terminal");
    paused.chat.terminal.wait_for("Terns.");
    assert_eq!(said(&provider), ["softly"]);
    paused.prompt("› (pause: turn) Type a message, @ to attach a file");
    // The next one is cancelled, while it is on the whole screen of the chat.
    paused.say("again");
    let seen = peer.wait("paused");
    assert_eq!(seen["pause"], 2);
    paused.chat.say("open");
    paused.chat.terminal.wait_until("the inspector", |screen| {
        screen.text.starts_with(" ⏸ PAUSED")
    });
    peer.edit((2, &seen["revision"]), "count the birds", "never");
    let edited = peer.wait("edited");
    peer.wait("done");
    paused
        .chat
        .terminal
        .wait_for("edited from another terminal");
    peer.say(&json!({"id": 4, "op": "cancel", "pause": 2, "revision": edited["revision"]}));
    peer.wait("cancelled");
    peer.wait("done");
    paused
        .chat
        .terminal
        .wait_for("cancelled from another terminal");
    paused.prompt("› (pause: turn) again  (put back: Enter sends it)");
    assert_eq!(provider.requests().len(), 1);
}

/// Commands that come to nothing, and those that change something, while the user types: nothing of it is lost.
#[test]
fn commands_from_elsewhere_take_no_key_away() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    let mut peer = Peer::attach(&environment);
    paused.say("count the birds");
    let mut revision = peer.wait("paused")["revision"].clone();
    let mut flood = Peer::attach(&environment);
    let nothing = json!({"id": 1, "op": "undo", "pause": 1, "revision": revision});
    for word in ["zzz", " 1"] {
        for key in word.chars() {
            flood.say(&nothing);
            paused.chat.terminal.type_text(&key.to_string());
            flood.wait("refused");
        }
    }
    paused.prompt(&format!("{REQUEST} zzz 1"));
    // Each of these draws the line again.
    let (mut old, mut new) = ("count the birds", "sing to the birds");
    for key in ["a", "b", "\x7f", "c"] {
        peer.edit((1, &revision), old, new);
        paused.chat.terminal.type_text(key);
        revision = peer.wait("edited")["revision"].clone();
        peer.wait("done");
        std::mem::swap(&mut old, &mut new);
    }
    paused.prompt(&format!("{REQUEST} zzz 1ac"));
    // The first Ctrl-C clears the line, and the second one cancels, right after a command.
    peer.edit((1, &revision), old, new);
    paused.chat.terminal.type_text("\u{3}");
    peer.wait("done");
    paused.prompt(REQUEST);
    paused.chat.terminal.type_text("\u{3}");
    peer.wait("cancelled");
    paused.chat.terminal.wait_for("cancelled before sending");
    assert!(provider.requests().is_empty());
}

#[test]
fn what_is_typed_outlives_a_request_that_is_sent_elsewhere() {
    let provider = Provider::play([Response::reply("Two.")]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    let mut peer = Peer::attach(&environment);
    paused.say("count the birds");
    let revision = peer.wait("paused")["revision"].clone();
    paused.chat.terminal.type_text("and the terns");
    paused.prompt(&format!("{REQUEST} and the terns"));
    peer.say(&json!({"id": 1, "op": "send", "pause": 1, "revision": revision}));
    peer.wait("sent");
    paused.prompt("› (pause: turn) and the terns  (put back: Enter sends it)");
    assert_eq!(provider.requests().len(), 1);
}

/// The prompt always says what is paused, also where a message is half typed.
#[test]
fn the_prompt_says_what_is_paused_elsewhere() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "off");
    let mut peer = Peer::attach(&environment);
    let mut set = |mode: &str| {
        peer.say(&json!({"id": 1, "op": "mode", "mode": mode}));
        peer.wait("done");
    };
    set("every");
    paused.prompt("› (pause: every) Type a message, @ to attach a file");
    paused.chat.terminal.type_text("count birds");
    paused.prompt("› (pause: every) count birds");
    paused.chat.terminal.type_text(&"\u{1b}[D".repeat(5));
    set("turn");
    paused.prompt("› (pause: turn) count birds");
    paused.chat.terminal.type_text("the ");
    paused.prompt("› (pause: turn) count the birds");
    paused.chat.terminal.type_text("\r");
    assert_eq!(
        peer.wait("paused")["number"],
        1,
        "what the prompt says is done"
    );
}

/// While the history is searched, the prompt is not drawn again. What it says still counts.
#[test]
fn a_message_is_not_sent_by_another_mode_than_the_prompt_says() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "off");
    let mut peer = Peer::attach(&environment);
    peer.wait("hello");
    paused.chat.say("/pause every");
    paused.prompt("› (pause: every) Type a message, @ to attach a file");
    peer.wait("mode");
    let mut terminal = paused.chat.terminal;
    terminal.type_text("count the birds\u{12}");
    terminal.wait_for("reverse-i-search");
    peer.say(&json!({"id": 1, "op": "mode", "mode": "off"}));
    peer.wait("mode");
    terminal.type_text("\r");
    terminal.wait_for("pausing set to off from another terminal");
    terminal.wait_until("the line again", |screen| {
        screen.cursor_line.trim_end() == "› count the birds"
    });
    assert!(provider.requests().is_empty());
    terminal.type_text("\r");
    terminal.wait_for("Terns.");
}

#[test]
fn an_inspector_that_does_not_read_or_is_killed_disturbs_nobody() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    let _hangs = Peer::attach(&environment);
    let scripted = environment.command(["inspect", "--json"]).spawn();
    scripted.wait_for_stdout("\"hello\"");
    paused.say("count the birds");
    scripted.wait_for_stdout("\"paused\"");
    scripted.signal(Signal::KILL);
    paused.chat.say("send");
    paused.chat.terminal.wait_for("Terns.");
    paused.prompt("› (pause: turn) Type a message, @ to attach a file");
    // A chat that is killed leaves a socket, which the next one removes.
    kill_process(paused.chat.terminal.id(), Signal::KILL).expect("a process to end");
    drop(paused);
    assert_eq!(sockets(&environment).len(), 1);
    let scripted = environment.command(["inspect", "--json"]).spawn();
    let chat = Chat::open(&environment);
    scripted.wait_for_stdout("\"hello\"");
    assert_eq!(sockets(&environment).len(), 1);
    scripted.signal(Signal::KILL);
    chat.leave();
    assert!(sockets(&environment).is_empty());
}

#[test]
fn requests_that_are_not_paused_are_told() {
    let provider = Provider::play([
        read("notes.txt"),
        Response::reply("Terns."),
        Response::reply("Gulls."),
    ]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "terns");
    let mut chat = Chat::open(&environment);
    let scripted = environment.command(["inspect", "--json"]).spawn();
    scripted.wait_for_stdout("\"idle\"");
    let mut inspector = environment.terminal(["inspect"]);
    inspector.wait_for("No request yet");
    chat.turn("which birds?");
    let sent = |number: u32| format!("\"type\":\"sent\",\"number\":{number}");
    scripted.wait_for_stdout(&sent(2));
    inspector.wait_for("READ ONLY  request 2 was sent");
    inspector.wait_for("File 'notes.txt': 1 line");
    chat.turn("more?");
    scripted.wait_for_stdout(&sent(3));
    inspector.wait_until("the request", |screen| {
        screen.contains("READ ONLY  request 3 was sent") && screen.contains(KEYS_ACT)
    });
    inspector.type_text("\t\t\t\t");
    inspector.wait_until("the log", |screen| {
        [" 1  ", " 2  ", " 3  "]
            .iter()
            .all(|number| screen.contains(number))
            && screen.contains("answered")
    });
    chat.say("/pause every tools");
    inspector.wait_for("· pause: every tools");
    scripted.wait_for_stdout("\"shown\":\"every tools\"");
    scripted.signal(Signal::KILL);
    inspector.type_text("q");
    chat.leave();
}

/// Nobody has the time to say goodbye when a process is killed: the chat must not wait for it, and the next one finds
/// everything as before.
#[test]
fn subagents_are_shown_while_they_run_and_after() {
    let gate = Gate::new();
    let begin = Response::call("run_subagent", json!({"task": "Find the eggs"}));
    let provider = Provider::play_each([
        ("look around", vec![begin, Response::reply("Done.")]),
        (
            "Find the eggs",
            vec![
                read("notes.txt"),
                Response::stream()
                    .text("They")
                    .wait(&gate)
                    .text(" are speckled.")
                    .finish("stop"),
            ],
        ),
    ]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "The eggs are speckled.");
    let mut chat = Chat::open(&environment);
    let mut peer = Peer::attach(&environment);
    peer.wait("idle");
    let mut inspector = environment.terminal(["inspect"]);
    inspector.wait_for("1 chat · 0 paused");
    chat.say("look around");
    let subagent = loop {
        let told = peer.wait("subagents")["subagents"][0].clone();
        if told["state"] == "writing" && told["request"].is_number() && told["calls"] == 1 {
            break told;
        }
    };
    assert_eq!(subagent["name"], "assistant 1", "{subagent}");
    assert_eq!(subagent["end"], Value::Null, "{subagent}");
    inspector.wait_until("its row", |screen| {
        screen.contains("… assistant 1 · writing · 1 call") && screen.contains(KEYS_ACT)
    });
    inspector.type_text("\u{e}");
    inspector.wait_until("the request with the result of its call", |screen| {
        let rows = ["▸   … assistant 1", "Find the eggs", "result"];
        rows.iter().all(|row| screen.contains(row))
    });
    let (rows, columns) = (NonZeroU16::new(24), NonZeroU16::new(40));
    inspector.resize(rows.expect("rows"), columns.expect("columns"));
    inspector.wait_for("▸   … assistant 1 · wr");
    gate.open();
    chat.prompt();
    let subagent = loop {
        let told = peer.wait("subagents")["subagents"][0].clone();
        if told["end"] == "answered" {
            break told;
        }
    };
    assert_eq!(subagent["usage"]["output_tokens"], 14, "{subagent}");
    // The last request of the chat is followed.
    inspector.wait_until("what the chat has sent last", |screen| {
        let rows = ["✓ assistant 1", "request 4 was sent", KEYS_ACT];
        rows.iter().all(|row| screen.contains(row))
    });
    inspector.type_text("q");
    assert_eq!(inspector.wait_end(), Some(0), "{inspector:?}");
    chat.leave();
}

#[test]
fn an_inspector_on_the_whole_screen_that_is_killed_disturbs_nobody() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    let inspector = environment.terminal(["inspect"]);
    paused.say("count the birds");
    inspector.wait_until("the request", |screen| {
        screen.contains("content: \"count the birds\"") && screen.contains(KEYS_ACT)
    });
    let mut inspector = inspector;
    // In the middle of an edit.
    inspector.type_text("e");
    inspector.wait_for("Enter saves");
    inspector.type_text(" quickly");
    inspector.wait_for("birds quickly");
    kill_process(inspector.id(), Signal::KILL).expect("a process to end");
    drop(inspector);
    // The chat goes on, and nothing of the edit is in the request.
    let screen = paused.does("show 1");
    assert!(
        screen.contains("count the birds") && !screen.contains("quickly"),
        "{screen}"
    );
    let mut inspector = environment.terminal(["inspect"]);
    inspector.wait_until("the request again", |screen| {
        screen.contains("content: \"count the birds\"") && screen.contains(KEYS_ACT)
    });
    assert!(provider.requests().is_empty(), "nobody has sent it");
    inspector.type_text("s");
    paused.chat.terminal.wait_for("Terns.");
    assert_eq!(said(&provider), ["count the birds"]);
    inspector.wait_for("READ ONLY  sent as request 1");
    inspector.type_text("q");
    assert_eq!(inspector.wait_end(), Some(0));
    // The chat has its socket as long as it lives, and no longer.
    assert_eq!(sockets(&environment).len(), 1);
    paused.prompt("› (pause: turn) Type a message, @ to attach a file");
    paused.chat.leave();
    assert!(sockets(&environment).is_empty());
}

#[test]
fn a_folder_that_others_can_look_into_is_not_used() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    fs::create_dir_all(run_folder(&environment)).expect("a folder");
    fs::set_permissions(run_folder(&environment), fs::Permissions::from_mode(0o755))
        .expect("a mode");
    let chat = Chat::open(&environment);
    chat.terminal.wait_for("must have 700");
    assert!(sockets(&environment).is_empty());
    let output = environment.run(["inspect", "--json"]);
    assert!(output.stderr.contains("must have 700"), "{output:?}");
    chat.leave();
}

#[test]
fn without_a_terminal_the_other_way_is_named() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let output = environment.run(["inspect"]);
    assert!(
        output.stderr.contains("`dunlin inspect --json`"),
        "{output:?}"
    );
}

#[test]
fn the_inspector_of_another_terminal_edits_and_sends() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let inspector = environment.terminal(["inspect"]);
    inspector.wait_for("No chat is running");
    let mut inspector = inspector;
    let mut paused = Pausing::open(&environment, "turn");
    let mut other = Pausing::open(&environment, "turn");
    inspector.wait_for("2 chats · 0 paused");
    other.say("sing to the birds");
    inspector.wait_for("sing to the birds");
    // The first message gives the chat its title, also while it is not sent.
    inspector.wait_for(" assistant · sing to the birds · …");
    paused.say("count the birds");
    // The newest request is shown by itself.
    inspector.wait_until("the newest request", |screen| {
        let is_shown = screen.contains("2 chats · 2 paused")
            && screen.contains("content: \"count the birds\"");
        is_shown && screen.contains(KEYS_ACT)
    });
    inspector.type_text("e");
    inspector.wait_for("Enter saves");
    inspector.type_text(" quickly");
    inspector.press(Key::Enter);
    paused
        .chat
        .terminal
        .wait_for("edited from another terminal");
    paused.request();
    inspector.wait_for("content set");
    // What the chat does meanwhile is shown.
    let screen = paused.does("e 1 slowly");
    assert!(screen.contains("content set"), "{screen}");
    inspector.wait_until("the edit of the chat", |screen| {
        screen.contains("content: \"slowly\"") && screen.contains(KEYS_ACT)
    });
    inspector.type_text("u");
    inspector.wait_until("the undone edit", |screen| {
        screen.contains("count the birds quickly")
    });
    paused
        .chat
        .terminal
        .wait_for("undone from another terminal");
    paused.request();
    assert!(
        provider.requests().is_empty(),
        "nothing is sent before it is"
    );
    inspector.type_text("s");
    paused.chat.terminal.wait_for("Terns.");
    assert_eq!(said(&provider), ["count the birds quickly"]);
    inspector.wait_for("READ ONLY  sent as request 1");
    // The other one is cancelled.
    inspector.type_text("\u{e}");
    inspector.wait_for("sing to the birds");
    inspector.type_text("c");
    other
        .chat
        .terminal
        .wait_for("cancelled from another terminal");
    inspector.wait_for("READ ONLY  cancelled before sending");
    kill_process(other.chat.terminal.id(), Signal::KILL).expect("a process to end");
    inspector.wait_for("ended");
    inspector.type_text("q");
    assert_eq!(inspector.wait_end(), Some(0));
}

/// Tries to connect to the sockets of all chats, and looks at their folder.
const REACH: &str = r#"
import glob, os, socket, sys
folder = sys.argv[1]
try:
    print('listed', os.listdir(folder))
except OSError as error:
    print('not listed', type(error).__name__)
for name in [sys.argv[2]]:
    try:
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(os.path.join(folder, name))
        print('REACHED', name)
    except OSError as error:
        print('not reached', type(error).__name__)
"#;

#[test]
fn no_tool_and_no_command_reaches_the_socket() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let chat = Chat::open(&environment);
    check_unreachable(&environment, &run_folder(&environment), None);
    chat.leave();
}

#[test]
fn no_tool_and_no_command_reaches_the_socket_in_the_runtime_folder() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let base = environment.root().join("runtime");
    fs::create_dir(&base).expect("a folder");
    let base = base.to_str().expect("a path");
    let command = environment.command::<&str>([]);
    let chat = Chat::of(command.variable(RUNTIME, base).terminal());
    check_unreachable(&environment, &Path::new(base).join("dunlin"), Some(base));
    chat.leave();
}

/// The folder of runtime files.
const RUNTIME: &str = "XDG_RUNTIME_DIR";

/// Neither a command, with and without the network, nor a tool reaches the one socket of this folder. `runtime`: what
/// [`RUNTIME`] is.
fn check_unreachable(environment: &Environment, folder: &Path, runtime: Option<&str>) {
    let run = |arguments: &[&str]| {
        let command = environment.command(arguments.iter().copied());
        match runtime {
            Some(runtime) => command.variable(RUNTIME, runtime).run(),
            None => command.run(),
        }
    };
    let script = environment.project_file("reach.py", REACH);
    let entry = fs::read_dir(folder).expect("a folder").next();
    let socket = entry.expect("a socket").expect("an entry").path();
    let name = socket
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    // The same script, outside of the sandbox.
    let reached = std::process::Command::new("python3")
        .arg(&script)
        .args([folder.as_os_str(), name.as_ref()])
        .output()
        .expect("python3");
    assert!(
        String::from_utf8_lossy(&reached.stdout).contains("REACHED"),
        "{reached:?}"
    );
    // A line that names Dunlin's folder is refused before it runs, so the script knows it.
    let arguments = format!("sys.argv[1:] = [{folder:?}, {name:?}]");
    let script = REACH.replace(
        "import glob, os, socket, sys",
        &format!("import os, socket, sys\n{arguments}"),
    );
    environment.project_file("reach.py", script);
    for network in [false, true] {
        let line = "python3 reach.py";
        let tool = ["--allow-tool", "run_terminal_command"];
        let provider = Provider::play([
            Response::call(
                "run_terminal_command",
                json!({"command": line, "network": network}),
            ),
            Response::reply("Done."),
        ]);
        environment.configure_for(&provider, &format!("[commands]\nnetwork = {network}"));
        let output = run(&["ask", tool[0], tool[1], "reach it"]);
        let requests = provider.requests();
        let result = requests
            .last()
            .and_then(|last| last.results().last().map(ToString::to_string));
        let result = result.unwrap_or_default();
        assert!(!result.contains("REACHED"), "{network}: {result} {output}");
        assert!(
            result.contains("not reached"),
            "{network}: {result} {output}"
        );
    }
    let explained = run(&["permissions", "explain", socket.to_str().expect("a path")]);
    assert!(explained.stdout.contains("never granted"), "{explained}");
    let arguments = json!({"file_path": socket}).to_string();
    let output = run(&["tools", "call", "read_file", "--args", &arguments]);
    assert_eq!(output.status, Some(3), "{output}");
}

/// Connects and prints what the chat says first.
const LISTEN: &str = "
import socket, sys
peer = socket.socket(socket.AF_UNIX)
try:
    peer.connect(sys.argv[1])
    print('connected', peer.recv(100))
except OSError as error:
    print('refused', type(error).__name__)
";

#[test]
fn another_user_is_refused() {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        // Only the superuser can become somebody else.
        return;
    }
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let base = environment.root().join("outside");
    let open = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    open(environment.root(), 0o755);
    open(&base, 0o755);
    let command = environment.command::<&str>([]);
    let base_text = base.to_str().expect("a path");
    let chat = Chat::of(command.variable("XDG_RUNTIME_DIR", base_text).terminal());
    let folder = base.join("dunlin");
    let entry = fs::read_dir(&folder).expect("a folder").next();
    let socket = entry.expect("a socket").expect("an entry").path();
    let attempt = |user: u32| {
        let output = std::process::Command::new("python3")
            .args(["-c", LISTEN])
            .arg(&socket)
            .uid(user)
            .current_dir("/")
            .output()
            .expect("python3");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(attempt(0).contains("hello"));
    assert!(attempt(NOBODY).contains("refused PermissionError"));
    // Even where the folder and the socket let them in.
    open(&folder, 0o755);
    assert!(attempt(NOBODY).contains("refused PermissionError"));
    open(&socket, 0o666);
    let said = attempt(NOBODY);
    assert!(!said.contains("hello"), "{said}");
    chat.leave();
}
