//! Commands in the chat: output while they run, their end beside the mark, and nothing left of them afterwards.

use std::fs;
use std::io::Write;
use std::process::Command;

use dunlin_tests::{API_KEY, Environment, Key, Provider, Response};
use regex::Regex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, kill_process, pidfd_open, setrlimit,
};
use serde_json::json;

use crate::stage::{Chat, assert_in_no_file, environment};

fn command(line: &str) -> Response {
    Response::call("run_terminal_command", json!({ "command": line }))
}

#[test]
fn a_permanent_yes_to_a_pipe_is_one_to_each_command_and_covers_other_pipes_of_them() {
    let provider = Provider::play([
        command("cat a.txt | head -n 1"),
        command("head -n 2 a.txt 2>&1 | cat; echo --; cat a.txt"),
        command("cat a.txt | tail -n 1"),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "one\ntwo\n");
    let mut chat = Chat::open(&environment);
    chat.say("read it");
    chat.question();
    chat.answer("v");
    chat.question();
    chat.answer("always");
    // The second line runs without a question, the third has another program: that alone is asked about.
    chat.question();
    let result = last_result(&provider);
    assert!(result.contains("one\ntwo\n--\none\ntwo"), "{result}");
    chat.answer("n");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    let stored = environment.run(["permissions", "list"]);
    assert!(stored.stdout.contains("/usr/bin/head"), "{stored}");
    assert!(!stored.stdout.contains("head -n 1"), "{stored}");
}

/// The project of a test, and the provider whose model runs this line and then says that it is done.
fn project(line: &str) -> (Provider, Environment) {
    let provider = Provider::play([command(line), Response::reply("It is done.")]);
    let environment = environment(&provider);
    (provider, environment)
}

fn last_result(provider: &Provider) -> String {
    let requests = provider.requests();
    let last = requests.last().expect("a request");
    last.results().last().expect("a result").to_string()
}

/// Processes that were started with this project as their folder for temporary files or anything else.
fn left(environment: &Environment) -> Vec<Pid> {
    let mark = environment.home().display().to_string();
    let mut left = Vec::new();
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let variables = fs::read(entry.path().join("environ")).unwrap_or_default();
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let has = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(&mark);
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if has(&variables) || has(&line) {
            left.extend(number.and_then(Pid::from_raw));
        }
    }
    left
}

/// Waits until none of them is there any more, but for one.
#[track_caller]
fn wait_until_nothing_is_left(environment: &Environment, except: Option<Pid>) {
    let next = || {
        let mut left = left(environment).into_iter();
        left.find(|pid| Some(*pid) != except)
    };
    while let Some(pid) = next() {
        wait_for_end(pid);
    }
}

#[track_caller]
fn wait_for_end(pid: Pid) {
    let limit = Timespec {
        tv_sec: 30,
        tv_nsec: 0,
    };
    // Already gone is what is waited for.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    assert_eq!(
        poll(&mut fds, Some(&limit)),
        Ok(1),
        "{pid:?} is still there"
    );
}

/// The processes that this one started.
fn children(of: Pid) -> Vec<Pid> {
    let parent = format!("\nPPid:\t{}\n", of.as_raw_nonzero());
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if status.contains(&parent) {
            children.extend(number.and_then(Pid::from_raw));
        }
    }
    children
}

#[test]
fn output_is_shown_while_it_comes_and_its_end_stays() {
    let line = "for n in 1 2 3 4 5 6 7; do echo line-$n; done; until [ -e go ]; do sleep 0.05; done; exit 4";
    let (provider, environment) = project(line);
    let mut chat = Chat::open(&environment);
    chat.say("work");
    chat.question();
    chat.answer("y");
    let screen = chat.terminal.wait_for("  │ line-7");
    assert!(screen.contains("  │ line-3\n"), "{:?}", chat.terminal);
    assert!(!screen.contains("  │ line-2\n"), "{:?}", chat.terminal);
    environment.project_file("go", "");
    let screen = chat.prompt();
    assert!(
        screen.contains("✗ 1 run_terminal_command"),
        "{:?}",
        chat.terminal
    );
    assert!(screen.contains("exit status 4"), "{:?}", chat.terminal);
    let kept = "\n  … /expand 1 shows all of it\n  │ line-5\n  │ line-6\n  │ line-7\nIt is done.\n";
    assert!(screen.contains(kept), "{:?}", chat.terminal);
    chat.say("/expand 1");
    let screen = chat.prompt();
    assert!(
        screen.contains("  │ line-1\n  │ line-2\n"),
        "{:?}",
        chat.terminal
    );
    chat.leave();
    // The session knows it, too.
    let chat = Chat::of(environment.terminal(["--resume"]));
    let screen = chat.terminal.screen();
    assert!(
        screen.contains("✗ 1 run_terminal_command") && screen.contains("exit status 4"),
        "{:?}",
        chat.terminal
    );
    chat.leave();
    let result = last_result(&provider);
    assert!(
        result.contains("line-1") && result.ends_with("exit status 4"),
        "{result}"
    );
}

#[test]
fn a_call_that_runs_says_how_long_it_has_and_what_interrupts_it() {
    let line = "read -r word < go; echo $word";
    let provider = Provider::play([command(line), Response::reply("It is done."), command(line)]);
    let environment = environment(&provider);
    let go = environment.project().join("go");
    let made = Command::new("mkfifo").arg(&go).status();
    assert!(made.expect("mkfifo").success());
    // With both ends open here, nothing waits for the other end.
    let go = fs::File::options().read(true).write(true).open(&go);
    let mut go = go.expect("the pipe");
    let mut chat = Chat::open(&environment);
    chat.say("work");
    chat.question();
    chat.answer("y");
    let screen = chat.terminal.wait_for(" s · Esc interrupts");
    let seconds = Regex::new(r"(\d+ min )?\d+ s · Esc").expect("an expression");
    let text = screen.to_string();
    insta::assert_snapshot!("a_call_that_runs", seconds.replace(&text, "[TIME] · Esc"));
    go.write_all(b"done\n").expect("there is room");
    chat.prompt();
    insta::assert_snapshot!("a_call_that_ran", chat.terminal.screen());
    chat.say("work");
    chat.question();
    chat.answer("y");
    chat.terminal.wait_for(" s · Esc interrupts");
    chat.interrupt_by(Key::Escape, "a command");
    insta::assert_snapshot!("a_call_that_was_interrupted", chat.terminal.screen());
    chat.leave();
}

#[test]
fn a_command_without_the_network_is_told_why_it_failed() {
    let why = "The command tried to reach the network, which was not granted. The model can ask for it with network = true.";
    // What a program prints does not matter; who stays on the loopback is told nothing.
    for (line, is_told) in [
        (
            "bash -c 'exec 3<>/dev/udp/192.0.2.1/53' 2>/dev/null || exit 7",
            true,
        ),
        (
            "bash -c 'exec 3<>/dev/tcp/127.0.0.1/9' 2>/dev/null || exit 7",
            false,
        ),
    ] {
        let (provider, environment) = project(line);
        let mut chat = Chat::open(&environment);
        chat.say("work");
        chat.question();
        chat.answer("y");
        let screen = chat.prompt();
        assert!(screen.contains("exit status 7"), "{:?}", chat.terminal);
        let words = screen.text.replace("\n    ", " ");
        assert_eq!(words.contains(why), is_told, "{:?}", chat.terminal);
        // Below the call, as its output is.
        let notice = screen.contains("\n  · The command tried to reach the network");
        assert_eq!(notice, is_told, "{:?}", chat.terminal);
        chat.leave();
        assert_eq!(last_result(&provider).contains(why), is_told, "{line}");
    }
}

#[test]
fn an_interruption_leaves_nothing_behind() {
    let line =
        "(setsid sh -c 'trap \"\" TERM INT HUP; sleep 300; sleep 300' &); echo begun; sleep 300";
    for key in [Key::CtrlC, Key::Escape] {
        let (provider, environment) = project(line);
        let mut chat = Chat::open(&environment);
        chat.say("work");
        chat.question();
        chat.answer("y");
        chat.terminal.wait_for("\n  │ begun");
        chat.interrupt_by(key, "a command");
        // What it had printed stays, and the model hears of it.
        let screen = chat.terminal.screen();
        assert!(
            screen.contains(" · cancelled") && screen.contains("\n  │ begun\n"),
            "{:?}",
            chat.terminal
        );
        wait_until_nothing_is_left(&environment, Some(chat.terminal.id()));
        assert!(chat.turn("enough").contains("It is done."));
        let requests = provider.requests();
        let messages = requests.last().expect("a request").messages();
        let result = messages.iter().find(|message| message["role"] == "tool");
        let result = result.expect("a result");
        assert_eq!(
            result["content"],
            "cancelled by user; it had printed:\nbegun\n"
        );
        chat.leave();
    }
}

#[test]
fn a_killed_dunlin_takes_its_command_along() {
    // It has begun when all of it is there.
    let line =
        "(setsid sh -c 'trap \"\" TERM INT HUP; echo begun; sleep 300; sleep 300' &); sleep 300";
    let provider = Provider::play([command(line)]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("work");
    chat.question();
    chat.answer("y");
    chat.terminal.wait_for("  │ begun");
    assert!(left(&environment).len() > 2);
    // Supervisors know nothing of the user's world, so they bear no mark.
    let supervisors = children(chat.terminal.id());
    assert_eq!(supervisors.len(), 1);
    kill_process(chat.terminal.id(), Signal::KILL).expect("a running program");
    wait_until_nothing_is_left(&environment, None);
    supervisors.into_iter().for_each(wait_for_end);
    let temporary = environment.root().join("tmp");
    assert_eq!(fs::read_dir(temporary).expect("the folder").count(), 0);
}

#[test]
fn keys_do_not_reach_commands() {
    let (provider, environment) = project("env; cat /proc/*/environ | tr '\\0' '\\n'");
    let mut chat = Chat::open(&environment);
    chat.say("work");
    chat.question();
    chat.answer("y");
    chat.prompt();
    chat.leave();
    let result = last_result(&provider);
    assert!(result.contains("GIT_PAGER=cat"), "{result}");
    assert!(!result.contains(API_KEY), "{result}");
    assert_in_no_file(&environment, API_KEY);
}

#[test]
fn a_crash_of_dunlin_writes_no_core_file() {
    // As where core files are wanted: what this process may have, the program is started with.
    let maximum = getrlimit(Resource::Core).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Core, limit).expect("a limit below the largest");
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let chat = Chat::open(&environment);
    let limits = format!("/proc/{}/limits", chat.terminal.id().as_raw_nonzero());
    let limits = fs::read_to_string(limits).expect("the limits");
    let core = limits.lines().find(|line| line.starts_with("Max core"));
    let soft = core.and_then(|line| line.split_whitespace().nth(4));
    assert_eq!(soft, Some("0"), "{limits}");
    chat.leave();
}

#[test]
fn a_project_is_built_tested_and_committed() {
    let main = "fn main() { println!(\"{}\", 6 * 7); }\n#[test] fn it_works() {}\n";
    let lines = [
        "git init -q . && git add . && git -c user.name=Ada -c user.email=ada@example.org commit -qm one && git log --oneline",
        "make answer",
        "rustc --edition 2024 --test main.rs -o tests && ./tests",
    ];
    let script = lines.into_iter().map(command);
    let provider = Provider::play(script.chain([Response::reply("It is done.")]));
    let environment = environment(&provider);
    environment.project_file("main.rs", main);
    let makefile = "answer: main\n\t./main\nmain: main.rs\n\trustc --edition 2024 main.rs\n";
    environment.project_file("Makefile", makefile);
    let mut chat = with_rust(&environment);
    chat.say("work");
    for _ in lines {
        chat.question();
        chat.answer("y");
    }
    chat.prompt();
    chat.leave();
    for (request, expected) in provider.requests()[1..]
        .iter()
        .zip([" one", "42", "1 passed"])
    {
        let results = request.results();
        let result = results.last().expect("a result");
        assert!(result.contains(expected), "{expected}: {result}");
        assert!(result.ends_with("exit status 0"), "{expected}: {result}");
    }
    assert!(environment.project().join("main").exists());
}

#[test]
fn a_crate_is_read_mended_and_tested() {
    let crate_ = "[package]\nname = \"sums\"\nedition = \"2024\"\n";
    let lib = "pub fn sum(of: &[u32]) -> u32 {\n    of.iter().skip(1).sum()\n}\n\n\
        #[test]\nfn it_sums() {\n    assert_eq!(sum(&[1, 2, 3]), 6);\n}\n";
    let test = || json!({ "command": "cargo test --offline" });
    let edits = json!([{ "range": [2, 3], "replacement": "    of.iter().sum()" }]);
    let provider = Provider::play([
        Response::calls([
            ("read_file", json!({ "file_path": "src/lib.rs" })),
            ("run_terminal_command", test()),
        ]),
        Response::calls([
            (
                "edit_file",
                json!({ "file_path": "src/lib.rs", "edits": edits }),
            ),
            ("run_terminal_command", test()),
        ]),
        Response::reply("One element was skipped."),
    ]);
    let environment = environment(&provider);
    environment.project_file("Cargo.toml", crate_);
    environment.project_file("src/lib.rs", lib);
    let mut chat = with_rust(&environment);
    chat.say("the sum is wrong");
    // A simple command: allowed for the session, it is not asked about a second time.
    let question = chat.question();
    assert!(
        question.contains(" run_terminal_command asks to run\n  │ cargo test --offline\n"),
        "{:?}",
        chat.terminal
    );
    chat.answer("s");
    let question = chat.question();
    assert!(
        question.contains("+    of.iter().sum()"),
        "{:?}",
        chat.terminal
    );
    chat.answer("y");
    let screen = chat.prompt();
    assert!(
        screen.contains("One element was skipped."),
        "{:?}",
        chat.terminal
    );
    let requests = provider.requests();
    let (first, last) = (requests[1].results(), requests[2].results());
    let failed = first.last().expect("a result");
    assert!(
        failed.contains("left: 5") && failed.ends_with("exit status 101"),
        "{failed}"
    );
    let passed = last.last().expect("a result");
    assert!(
        passed.contains("1 passed") && passed.ends_with("exit status 0"),
        "{passed}"
    );
    chat.leave();
}

/// An open chat whose commands find the compiler of this build.
fn with_rust(environment: &Environment) -> Chat {
    let terminal = environment
        .command::<&str>([])
        .variable("PATH", &rust_path())
        .variable("RUSTUP_HOME", &rustup_home())
        .terminal();
    Chat::of(terminal)
}

/// Where the compiler of this build is, before the usual places.
fn rust_path() -> String {
    let cargo = std::path::Path::new(env!("CARGO"));
    let folder = cargo.parent().expect("the folder of cargo");
    format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display())
}

/// The home of the tool chain, where rustup manages it; of no meaning elsewhere.
fn rustup_home() -> String {
    option_env!("RUSTUP_HOME").unwrap_or_default().to_owned()
}
