//! Hooks: what they can deny, what becomes of what they say, and what they cannot do.

use std::fs;
use std::io::Write;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use dunlin_tests::{DEADLINE, Environment, McpClient, Provider, Response, Screen, Terminal};
use serde_json::{Value, json};

use crate::stage::{Chat, environment, read};

fn write(path: &str, content: &str) -> Response {
    Response::call(
        "write_file",
        json!({ "file_path": path, "content": content }),
    )
}

/// An entry of a configuration, whose command is a script.
fn hook(event: &str, script: &str, more: &str) -> String {
    format!("[[hook]]\nevent = \"{event}\"\ncommand = '''{script}'''\n{more}\n")
}

/// Denies to change a lock file.
const GUARD: &str = r#"if grep -q '"files":\[{"path":"[^"]*/Cargo.lock"}\]'; then echo '{"decision": "deny", "reason": "cargo writes it"}'; fi"#;

fn result(provider: &Provider, request: usize) -> String {
    let requests = provider.requests();
    let results = requests[request].results();
    results.last().expect("a result").to_string()
}

/// The lines of the audit log about hooks.
fn audited(environment: &Environment) -> Vec<Value> {
    let log = fs::read_to_string(environment.data().join("audit.jsonl")).unwrap_or_default();
    let lines = log.lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).expect("a line"));
    lines.filter(|line| line["plugin"] == "hook").collect()
}

#[test]
fn a_hook_denies_a_call_and_the_model_goes_on() {
    let provider = Provider::play([
        write("Cargo.lock", "x"),
        Response::reply("Then I leave it."),
        write("a.txt", "x"),
        Response::reply("Written."),
    ]);
    let environment = environment(&provider);
    let hook = hook("before-call", GUARD, "tools = [\"write_file\"]");
    environment.configure_more("", &hook);
    let mut chat = Chat::open(&environment);
    // Nobody is asked about it.
    let screen = chat.turn("update the lock");
    let denied = screen.line_with("✗ 1 write_file").unwrap_or_default();
    assert!(denied.contains("Cargo.lock · denied"), "{screen:?}");
    assert!(screen.contains("cargo writes it"), "{screen:?}");
    assert!(screen.contains("Then I leave it."), "{screen:?}");
    let result = result(&provider, 1);
    assert!(
        result.starts_with("ERROR: Permission denied by the hook `if grep -q"),
        "{result}"
    );
    assert!(result.ends_with("`: cargo writes it"), "{result}");
    assert!(!environment.project().join("Cargo.lock").exists());

    // What it does not deny is asked about as ever.
    chat.say("write a");
    chat.question();
    chat.answer("y");
    let screen = chat.prompt();
    assert!(screen.contains("✓ 2 write_file a.txt"), "{screen:?}");
    chat.leave();
    let events = audited(&environment);
    let words: Vec<&str> = events
        .iter()
        .map(|line| line["event"].as_str().unwrap())
        .collect();
    // Once for each call: what was asked before the question counts when the call runs.
    assert_eq!(
        words,
        ["allowed", "used", "denied", "allowed", "used"],
        "{events:?}"
    );
    assert_eq!(events[2]["error"], "cargo writes it");
    assert_eq!(events[2]["tool"], "write_file");
    let rule = events[2]["rule"].as_str().unwrap();
    assert!(
        rule.starts_with("before-call hook of ") && rule.contains("config.toml:"),
        "{rule}"
    );
    let shown = environment.run(["audit", "--denied"]);
    assert!(shown.stdout.contains("cargo writes it"), "{shown}");
}

#[test]
fn an_allow_of_a_hook_allows_nothing() {
    let provider = Provider::play([write("a.txt", "x")]);
    let environment = environment(&provider);
    let hook = hook("before-call", "echo '{\"decision\": \"allow\"}'", "");
    environment.configure_more("", &hook);
    let output = environment.run(["ask", "write"]);
    assert_eq!(output.status, Some(3), "{output}");
    assert!(!environment.project().join("a.txt").exists());
}

#[test]
fn what_a_hook_says_after_an_edit_reaches_the_model_and_undo_takes_its_change_back() {
    let script = r#"sed -i s/one/ONE/ *.txt && grep -q '"change":"created"' && echo '{"message": "It is formatted now"}'"#;
    let provider = Provider::play([write("a.txt", "one\n"), Response::reply("Done.")]);
    let environment = environment(&provider);
    environment.configure_more("", &hook("after-edit", script, ""));
    let file = environment.project().join("a.txt");
    let mut chat = Chat::open(&environment);
    chat.say("write");
    chat.question();
    chat.answer("y");
    let screen = chat.prompt();
    assert_eq!(fs::read_to_string(&file).unwrap(), "ONE\n");
    assert!(screen.contains("· the hook `sed -i"), "{screen:?}");
    assert!(screen.contains("says: It is formatted now"), "{screen:?}");
    let result = result(&provider, 1);
    let path = file.display();
    let (_, said) = result
        .split_once("\n\n[The hook `sed -i s/one/ONE/ *.txt")
        .expect(&result);
    assert!(
        said.contains("` says]\nIt is formatted now\n\n"),
        "{result}"
    );
    assert!(said.contains("[Dunlin] The hook `sed -i"), "{result}");
    let note = format!("` changed {path} after this edit. Read the file again before you edit it.");
    assert!(result.ends_with(&note), "{result}");
    // The user sees it, though the question showed the edit itself, and finds it in the diff.
    let plain = |screen: &Screen| screen.text.replace("\n  │ ", " ");
    let shown = plain(&screen);
    assert!(shown.contains("a.txt (+1 −1)"), "{screen:?}");
    assert!(
        shown.contains("-one") && shown.contains("+ONE"),
        "{screen:?}"
    );
    let call = screen.line_with("✓ 1 write_file").unwrap_or_default();
    assert!(call.contains("+1 −0"), "{screen:?}");
    let screen = chat.turn("/diff");
    let own = screen.line_with("✓ 1 a.txt +1 −0").unwrap_or_default();
    assert!(!own.contains("hook"), "{screen:?}");
    let of_hook = screen.line_with("✓ 1 a.txt +1 −1").unwrap_or_default();
    assert!(of_hook.contains("by the hook `sed -i"), "{screen:?}");
    chat.say("/undo");
    chat.prompt();
    assert!(!file.exists(), "{:?}", chat.terminal);
    chat.leave();
}

#[test]
fn what_a_hook_prints_is_shown_escaped() {
    let script = r#"printf '{"message": "a\\u001b[2Jb\\u202ec"}'"#;
    let provider = Provider::play([Response::reply("Done.")]);
    let environment = environment(&provider);
    environment.configure_more("", &hook("turn-end", script, ""));
    let output = environment.run(["ask", "hello"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert_eq!(output.stdout, "Done.\n", "{output}");
    let said = "says: a\\u{1b}[2Jb\\u{202e}c";
    assert!(output.stderr.contains(said), "{output}");
}

#[test]
fn a_hook_that_fails_denies_and_is_named() {
    let cases = [
        ("echo broken >&2; exit 2", "", "exit status 2: broken"),
        ("echo fine", "", "the output is neither empty nor"),
        ("sleep 60", "timeout_secs = 1", "): stopped after 1 s"),
        ("no-such-program", "", "no-such-program"),
        ("head -c 70000 /dev/zero", "", "it printed more than 64 KiB"),
    ];
    for (script, more, why) in cases {
        let provider = Provider::play([read("a.txt"), Response::reply("Done.")]);
        let environment = environment(&provider);
        environment.project_file("a.txt", "secret of the project");
        environment.configure_more("", &hook("before-call", script, more));
        let output = environment.run(["ask", "read"]);
        assert_eq!(output.status, Some(3), "{output}");
        let result = result(&provider, 1);
        let start = format!("ERROR: Permission denied by the hook `{script}`: it failed (~");
        assert!(result.starts_with(&start), "{result}");
        let place = "config.toml:";
        assert!(result.contains(place) && result.contains(why), "{result}");
        assert!(output.stderr.contains(why), "{output}");
    }
}

#[test]
fn a_hook_that_fails_after_an_edit_is_named_and_takes_nothing_away() {
    let provider = Provider::play([write("a.txt", "x"), Response::reply("Done.")]);
    let environment = environment(&provider);
    environment.configure_more("", &hook("after-edit", "exit 3", ""));
    let output = environment.run(["ask", "--allow-tool", "write_file", "write"]);
    assert_eq!(output.status, Some(0), "{output}");
    let output_in_one = output.stderr.replace("\n│ ", " ");
    assert!(
        output_in_one.contains("the hook `exit 3` failed (~"),
        "{output}"
    );
    assert!(output_in_one.contains("): exit status 3"), "{output}");
    assert!(!result(&provider, 1).contains("exit 3"));
    assert!(environment.project().join("a.txt").exists());
}

#[test]
fn a_hook_has_what_a_command_has_and_in_plan_mode_less() {
    let script = "echo x > ../outside/made; echo x > made; true";
    let provider = Provider::play([
        read("a.txt"),
        Response::reply("Planned."),
        read("a.txt"),
        Response::reply("Done."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "a");
    environment.configure_more("", &hook("before-call", script, ""));
    let made = environment.project().join("made");
    let configured = fs::read_to_string(environment.config_file()).unwrap();
    for (mode, is_made) in [("plan", false), ("ask", true)] {
        environment.configure(&format!("mode = \"{mode}\"\n{configured}"));
        let output = environment.run(["ask", "read"]);
        assert_eq!(output.status, Some(0), "{mode}: {output}");
        assert_eq!(made.exists(), is_made, "{mode}");
        assert!(!environment.root().join("outside/made").exists());
    }
}

#[test]
fn what_is_denied_to_commands_is_denied_to_a_hook() {
    let provider = Provider::play([read("a.txt"), Response::reply("Done.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "a");
    environment.configure_more("", &hook("before-call", "/usr/bin/env true", ""));
    let denied = environment.run(["permissions", "deny", "execute", "/usr/bin/env"]);
    assert_eq!(denied.status, Some(0), "{denied}");
    let output = environment.run(["ask", "read"]);
    assert_eq!(output.status, Some(3), "{output}");
    let why = "): permission denied: execute ";
    assert!(output.stderr.contains(why), "{output}");
    assert!(
        audited(&environment)
            .iter()
            .all(|line| line["event"] == "denied")
    );
}

/// The question whether a project's configuration is trusted.
const TRUST: &str = "Trust this version of the file? [y/n]";

#[test]
fn a_projects_hook_runs_only_as_it_was_trusted() {
    let provider = Provider::play([
        Response::reply("One."),
        Response::reply("Two."),
        Response::reply("Three."),
    ]);
    let environment = environment(&provider);
    let long = format!("sh scripts/end.sh {}", "long ".repeat(60));
    environment.project_file(".dunlin/config.toml", hook("turn-end", &long, ""));
    environment.project_file("scripts/end.sh", "echo ran >> ran\n");
    let ran = environment.project().join("ran");

    let output = environment.run(["ask", "one"]);
    assert!(output.stderr.contains("ignored: hook"), "{output}");
    assert!(!ran.exists());

    // The question shows the whole command, what a yes means, and the script that it covers.
    let terminal = environment.terminal::<&str>([]);
    let screen = terminal.wait_for(TRUST);
    let shown: String = screen.text.replace("\n  │ ", "").replace('\n', "");
    assert!(shown.contains(long.trim_end()), "{screen:?}");
    assert!(
        shown.contains("trusted hooks run in the command sandbox, and nobody is asked each time"),
        "{screen:?}"
    );
    assert!(
        shown.contains("scripts/end.sh: it is trusted as it is now"),
        "{screen:?}"
    );
    assert!(shown.contains("scripts/end.sh holds:"), "{screen:?}");
    assert!(shown.contains("1: echo ran >> ran"), "{screen:?}");
    let mut terminal = terminal;
    terminal.type_line("y");
    let mut chat = Chat::of(terminal);
    chat.turn("two");
    assert_eq!(fs::read_to_string(&ran).unwrap(), "ran\n");

    // A script that a tool could have changed is another one, also while the chat is open.
    environment.project_file("scripts/end.sh", "echo worse >> ran\n");
    let screen = chat.turn("three");
    let shown = screen.text.replace("\n  │ ", " ");
    assert!(
        shown.contains("its command names scripts/end.sh, which changed since Dunlin started"),
        "{screen:?}"
    );
    chat.leave();
    assert_eq!(fs::read_to_string(&ran).unwrap(), "ran\n");
    let check = environment.run(["config", "check"]);
    let what = "scripts/end.sh changed since you trusted it with ";
    assert!(check.stderr.contains(what), "{check}");
    // Lists show it whole, too.
    assert!(check.stdout.contains(long.trim_end()), "{check}");

    // The next question is about the script, and shows what it holds now.
    let mut terminal = environment.terminal::<&str>([]);
    let screen = terminal.wait_for(TRUST);
    let shown: String = screen.text.replace("\n  │ ", "").replace('\n', "");
    assert!(shown.contains(what), "{screen:?}");
    assert!(shown.contains("scripts/end.sh holds:"), "{screen:?}");
    assert!(shown.contains("1: echo worse >> ran"), "{screen:?}");
    terminal.type_line("n");
    let chat = Chat::of(terminal);
    chat.leave();
    let trusted = environment.run(["config", "trust", "--yes"]);
    let what = "and so is what its hooks name: scripts/end.sh.";
    assert!(trusted.stdout.contains(what), "{trusted}");
}

#[test]
fn a_script_that_was_not_read_to_its_end_is_not_trusted() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let hook = hook("turn-end", "sh scripts/end.sh", "");
    environment.project_file(".dunlin/config.toml", hook);
    let script = (1..60).map(|number| format!("echo {number}\n"));
    environment.project_file("scripts/end.sh", script.collect::<String>());
    let mut terminal = environment.terminal(["config", "trust"]);
    let asked = |terminal: &Terminal, times: usize| {
        let question = "Trust this version of the file? [y/n], v shows all of it";
        terminal.wait_until("the question", |screen| {
            screen.count(question) == times && screen.cursor_line.trim_end() == question
        })
    };
    assert!(!asked(&terminal, 1).contains("59: echo 59"), "{terminal:?}");
    terminal.type_line("y");
    asked(&terminal, 2);
    terminal.wait_for("There is more than the screen shows: read it with v first.");
    terminal.type_line("v");
    terminal.wait_for("rows; Enter shows more, q stops:");
    terminal.type_line("");
    assert!(asked(&terminal, 3).contains("59: echo 59"), "{terminal:?}");
    terminal.type_line("y");
    terminal
        .wait_for("is trusted until it changes, and so is what its hooks name: scripts/end.sh.");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
}

#[test]
fn a_broken_file_of_a_project_keeps_nobody_from_working() {
    let broken = [
        (
            "[[hook]]\nevents = \"turn-end\"\n",
            "config.toml:2: unknown key \"events\" in [[hook]] (the nearest known key is \"event\")",
        ),
        (
            "[hook]\n",
            "config.toml:1: hook must be a list, not a table",
        ),
        ("mode = [\n", "config.toml:"),
    ];
    let provider = Provider::play(broken.map(|_| Response::reply("Yes.")));
    let environment = environment(&provider);
    for (text, why) in broken {
        environment.project_file(".dunlin/config.toml", text);
        let output = environment.run(["ask", "one"]);
        assert_eq!(output.status, Some(0), "{output}");
        assert_eq!(output.stdout, "Yes.\n", "{output}");
        assert!(output.stderr.contains(why), "{output}");
        let ignored = "; all of this file is ignored, also where it narrows your settings";
        assert!(output.stderr.contains(ignored), "{output}");
        // Whoever works on the file is told that it is wrong.
        for command in ["check", "trust"] {
            let output = environment.run(["config", command]);
            assert_eq!(output.status, Some(2), "{output}");
            assert!(output.stderr.contains(".dunlin/config.toml:"), "{output}");
        }
    }
}

#[test]
fn hooks_are_listed_with_how_they_ran() {
    let provider = Provider::play([read("a.txt"), Response::reply("I may not.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "a");
    let mine = hook(
        "before-call",
        "echo '{\"decision\": \"deny\"}'",
        "tools = ['read_file']",
    ) + &hook("after-edit", "cargo fmt", "")
        + &hook("turn-end", "exit 4", "");
    environment.configure_more("", &mine);
    let chat = &mut Chat::open(&environment);
    chat.turn("read");
    let screen = chat.turn("/hooks");
    let after = |line: &str, next: &str| {
        let mut lines = screen.text.lines().skip_while(|it| !it.contains(line));
        let found = lines
            .next()
            .and(lines.find(|it| it.contains("ran ") || it.contains("run ")));
        assert!(
            found.is_some_and(|found| found.contains(next)),
            "{line}: {screen:?}"
        );
    };
    after("before-call · echo", "ran 1 time, last: denied");
    after("after-edit · cargo fmt", "did not run yet");
    after(
        "turn-end · exit 4",
        "ran 1 time, last: failed: exit status 4",
    );
    let shown = screen.text.replace('\n', " ");
    assert!(shown.contains("· read_file · yours, ~"), "{screen:?}");
}

#[test]
fn a_hook_that_denies_an_attachment_is_named() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "a");
    let script = "echo '{\"decision\": \"deny\", \"reason\": \"not this\"}'";
    environment.configure_more("", &hook("before-call", script, ""));
    let mut chat = Chat::open(&environment);
    chat.say("look at @a.txt");
    let screen = chat.terminal.wait_for("was not read");
    let shown = screen.text.replace("\n  │ ", " ").replace('\n', " ");
    assert!(
        shown.contains("a.txt was not read: denied by the hook `echo"),
        "{screen:?}"
    );
}

#[test]
fn the_working_line_says_which_hook_is_waited_for() {
    let provider = Provider::play([write("a.txt", "one\n"), Response::reply("Done.")]);
    let environment = environment(&provider);
    let script = "read x < go";
    let hooks = ["before-call", "after-edit", "turn-end"].map(|event| hook(event, script, ""));
    environment.configure_more("", &hooks.concat());
    let go = environment.project().join("go");
    let made = Command::new("mkfifo").arg(&go).status();
    assert!(made.expect("mkfifo").success());
    // With both ends open here, nothing waits for the other end.
    let go = fs::File::options().read(true).write(true).open(&go);
    let mut go = go.expect("the pipe");
    let mut go_on = || go.write_all(b"\n").expect("there is room");
    let mut chat = Chat::open(&environment);
    chat.say("write");
    let name = "the hook `read x < go`";
    let is_of_call = |screen: &Screen| {
        let line = screen.line_with("1 write_file a.txt").unwrap_or_default();
        line.contains(name)
    };
    chat.terminal
        .wait_until("the call with its hook", is_of_call);
    go_on();
    chat.question();
    chat.answer("y");
    chat.terminal
        .wait_until("the call with its hook", is_of_call);
    go_on();
    let is_waited_for = |screen: &Screen| {
        let is_line = |line: &str| line.contains(name) && !line.contains("write_file");
        screen.text.lines().any(is_line) && screen.contains("Done.")
    };
    chat.terminal
        .wait_until("the hook at the end", is_waited_for);
    go_on();
    let screen = chat.prompt();
    assert!(!screen.contains(name), "{screen:?}");
    chat.leave();
}

#[test]
fn the_users_hooks_come_first_and_all_are_listed() {
    let provider = Provider::play([Response::reply("Done.")]);
    let environment = environment(&provider);
    let say = |word: &str| format!("echo '{{\"message\": \"{word}\"}}'");
    environment.project_file(".dunlin/config.toml", hook("turn-end", &say("third"), ""));
    let trusted = environment.run(["config", "trust", "--yes"]);
    assert_eq!(trusted.status, Some(0), "{trusted}");
    let mine = hook("turn-end", &say("first"), "") + &hook("turn-end", &say("second"), "");
    environment.configure_more("", &mine);
    let output = environment.run(["ask", "hello"]);
    let places = ["first", "second", "third"].map(|word| {
        let line = format!("says: {word}");
        output.stderr.find(&line).expect("a line")
    });
    assert!(places.is_sorted(), "{output}");
    let shown = environment.run(["config", "show"]);
    let count = |text: &str, start: &str| {
        let lines = text.lines();
        lines.filter(|line| line.starts_with(start)).count()
    };
    assert_eq!(count(&shown.stdout, "hook "), 3, "{shown}");
    let doctor = environment.run(["doctor"]);
    assert_eq!(
        doctor.stdout.matches("turn-end · echo").count(),
        3,
        "{doctor}"
    );
}

#[test]
fn mistakes_in_a_configuration_are_said_with_their_place() {
    for (more, problem) in [
        ("event = \"before_call\"\ncommand = 'a'", "before_call"),
        (
            "event = \"before-call\"\ncommand = 3",
            "`command` must be a text or a list of texts",
        ),
        ("event = \"before-call\"\ncommand = 'a'\ntool = []", "tool"),
        (
            "event = \"turn-end\"\ncommand = 'a'\ntools = ['x']",
            "[[hook]]: tools belongs to before-call and after-edit",
        ),
        (
            "event = \"turn-end\"\ncommand = 'a'\ntimeout_secs = 0",
            "must be at least 1",
        ),
    ] {
        let environment = environment(&Provider::play([]));
        environment.configure_more("", &format!("[[hook]]\n{more}"));
        let output = environment.run(["config", "check"]);
        assert_eq!(output.status, Some(2), "{more}: {output}");
        assert!(output.stderr.contains(problem), "{more}: {output}");
        assert!(output.stderr.contains("config.toml:"), "{output}");
    }
    let environment = environment(&Provider::play([]));
    environment.configure_more("", &hook("before-call", "true", "tools = ['edit_fiel']"));
    let output = environment.run(["config", "check"]);
    let warning =
        "[[hook]] names the tool \"edit_fiel\", which does not exist; the nearest is \"edit_file\"";
    assert!(output.stderr.contains(warning), "{output}");
}

#[test]
fn what_a_hook_will_not_find_is_said_beforehand() {
    let environment = environment(&Provider::play([]));
    environment.project_file("src/main.rs", "fn main() {}\n");
    environment.project_file("check.sh", "#!/bin/sh\n");
    let hooks = [
        "no-such-formatter src/main.rs",
        "sh check.sh && no-such-linter",
        "./gone.sh",
    ];
    let hooks = hooks.map(|script| hook("after-edit", script, ""));
    environment.configure_more("", &hooks.concat());
    let output = environment.run(["config", "check"]);
    assert_eq!(output.status, Some(0), "{output}");
    let said = output.stderr.replace("\n│ ", " ");
    for warning in [
        "[[hook]] runs \"no-such-formatter\", and there is no such program on the PATH of commands",
        "[[hook]] runs \"no-such-linter\", and there is no such program on the PATH of commands",
        "[[hook]] runs \"./gone.sh\", and there is no such program",
        "[[hook]] names src/main.rs: once that changes, the hook fails until Dunlin is restarted",
    ] {
        assert!(said.contains(warning), "{warning}: {output}");
    }
    assert!(said.contains("config.toml:"), "{output}");
    assert!(
        !said.contains("check.sh") && !said.contains("\"sh\""),
        "{output}"
    );
}

/// A named pipe of the project. The receiver hears of it when something is written into it.
fn pipe(environment: &Environment, name: &str) -> Receiver<()> {
    let path = environment.project().join(name);
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    let (sender, receiver) = mpsc::channel();
    // To open a pipe waits until somebody opens its other end, without end where the hook does not run.
    thread::spawn(move || {
        if fs::read_to_string(&path).is_ok_and(|text| text == "\n") {
            let _ = sender.send(());
        }
    });
    receiver
}

#[test]
fn ctrl_c_ends_a_hook() {
    let provider = Provider::play([read("a.txt")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "a");
    let began = pipe(&environment, "began");
    let script = "echo > began; sleep 1000";
    environment.configure_more("", &hook("before-call", script, "timeout_secs = 600"));
    let mut chat = Chat::open(&environment);
    chat.say("read");
    began.recv_timeout(DEADLINE).expect("the hook runs");
    chat.interrupt("a hook");
    chat.leave();
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn an_edit_whose_hook_is_interrupted_has_happened() {
    let provider = Provider::play([write("a.txt", "one\n"), Response::reply("I know.")]);
    let environment = environment(&provider);
    let began = pipe(&environment, "began");
    // A file that it names would have to be the one that was there at the start.
    let script = "sed -i s/one/ONE/ *.txt; echo > began; sleep 1000";
    environment.configure_more("", &hook("after-edit", script, "timeout_secs = 600"));
    let mut chat = Chat::open(&environment);
    chat.say("write");
    chat.question();
    chat.answer("y");
    began.recv_timeout(DEADLINE).expect("the hook runs");
    chat.interrupt("a hook");
    let file = environment.project().join("a.txt");
    assert_eq!(fs::read_to_string(&file).unwrap(), "ONE\n");
    chat.turn("what now");
    // The user's message follows it.
    let requests = provider.requests();
    let mut messages = requests[1].messages().iter();
    let result = messages.find(|message| message["role"] == "tool");
    let result = result.expect("a result")["content"].as_str().unwrap();
    assert!(!result.contains("cancelled"), "{result}");
    assert!(result.contains("interrupted the hooks"), "{result}");
    assert!(result.contains("[Dunlin] The hook `sed -i"), "{result}");
    chat.say("/undo");
    chat.prompt();
    assert!(!file.exists(), "{:?}", chat.terminal);
    chat.leave();
}

#[test]
fn a_guard_of_files_sees_what_a_patch_changes() {
    let patch = "*** Begin Patch\n*** Add File: Cargo.lock\n+x\n*** End Patch\n";
    let provider = Provider::play([
        Response::call("apply_patch", json!({ "input": patch })),
        Response::reply("Then I leave it."),
    ]);
    let environment = environment(&provider);
    environment.configure_more("", &hook("before-call", GUARD, ""));
    let output = environment.run(["ask", "update the lock"]);
    assert_eq!(output.status, Some(3), "{output}");
    let result = result(&provider, 1);
    assert!(result.ends_with("`: cargo writes it"), "{result}");
}

#[test]
fn no_way_of_a_call_goes_past_a_hook() {
    let start = Response::calls([("run_subagent", json!({ "task": "Find the eggs" }))]);
    let provider = Provider::play_each([
        ("look around", vec![start, Response::reply("Done.")]),
        (
            "Find the eggs",
            vec![read("a.txt"), Response::reply("I may not.")],
        ),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "the text of a");
    let script = "echo '{\"decision\": \"deny\", \"reason\": \"not this\"}'";
    environment.configure_more("", &hook("before-call", script, "tools = ['read_*']"));
    let output = environment.run(["ask", "look around"]);
    assert_eq!(output.status, Some(3), "{output}");
    let requests = provider.requests();
    let results = requests.iter().flat_map(|request| request.results());
    assert_eq!(
        results.filter(|it| it.ends_with("`: not this")).count(),
        1,
        "{output}"
    );

    let by_hand = environment.run([
        "tools",
        "call",
        "read_file",
        "--args",
        "{\"file_path\": \"a.txt\"}",
    ]);
    assert!(by_hand.stderr.contains("not this"), "{by_hand}");
    assert!(!by_hand.stdout.contains("the text of a"), "{by_hand}");

    let mut client = McpClient::open(environment.command(["mcp", "serve"]));
    let answer = client.call("read_file", json!({ "file_path": "a.txt" }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("`: not this"), "{text}");
}

#[test]
fn the_user_of_an_mcp_client_hears_of_hooks_after_its_edits() {
    let environment = environment(&Provider::play([]));
    let began = pipe(&environment, "began");
    let hooks = hook("after-edit", "exit 3", "tools = ['write_file']")
        + &hook(
            "after-edit",
            "grep -q 'b[.]txt' && echo > began && sleep 1000; true",
            "timeout_secs = 600",
        );
    environment.configure_more("", &hooks);
    let project = format!("{}/", environment.project().display());
    let allowed = environment.run(["permissions", "allow", "write", &project]);
    assert_eq!(allowed.status, Some(0), "{allowed}");
    let mut client = McpClient::open(environment.command(["mcp", "serve"]));
    let answer = client.call(
        "write_file",
        json!({ "file_path": "a.txt", "content": "x" }),
    );
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let call =
        json!({ "name": "write_file", "arguments": { "file_path": "b.txt", "content": "x" } });
    let id = client.request("tools/call", call);
    began.recv_timeout(DEADLINE).expect("the hook runs");
    client.notify("notifications/cancelled", json!({ "requestId": id }));
    let output = client.close();
    let said = output.stderr.replace("\n│ ", " ");
    assert_eq!(
        said.matches("the hook `exit 3` failed (").count(),
        2,
        "{output}"
    );
    let ended = "the client cancelled the call while hooks ran after the edit of write_file; the edit stays";
    assert!(said.contains(ended), "{output}");
    assert!(environment.project().join("b.txt").exists());
}
