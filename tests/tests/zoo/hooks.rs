//! Hooks around the calls of a real host: when they are asked, what ends them, and what is told of them.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dunlin_host::call::{Call, Failure};
use dunlin_host::hooks::{Hook, HookEvent, Ran, Runs, Slow, TurnOutcome};
use dunlin_host::permission::{ModeSwitch, SessionMode};
use dunlin_host::process::SUPERVISOR_FLAG;
use dunlin_host::{CommandOptions, Host, NoProgress, Progress};
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, built_in, call, play, plugin};
use dunlin_tests::{DEADLINE, program};
use serde_json::json;

/// A host with hooks, in a project.
struct Stage {
    sandbox: Sandbox,
    mode: ModeSwitch,
    host: Host,
}

fn hook(event: HookEvent, command: &str) -> Hook {
    Hook {
        event,
        command: command.to_owned(),
        tools: None,
        time_limit: Duration::from_secs(300),
        origin: "config.toml:1".to_owned(),
        pinned: Vec::new(),
    }
}

impl Stage {
    fn new(hooks: Vec<Hook>) -> Stage {
        let sandbox = Sandbox::new();
        let temporary = sandbox.root().join("tmp");
        fs::create_dir(&temporary).expect("a folder");
        let mode = ModeSwitch::new(SessionMode::Ask);
        let mut options = sandbox.options(PATIENT);
        options.mode = mode.clone();
        options.hooks = hooks;
        options.search_path = ["/usr/bin", "/bin"].map(PathBuf::from).into();
        options.commands = CommandOptions {
            supervisor: vec![program!().into(), SUPERVISOR_FLAG.into()],
            shell: PathBuf::from("/bin/sh"),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            temporary,
            baselines: sandbox.root().join("data/commands"),
            set_aside: sandbox.root().join("data/set-aside"),
            time_limit: Duration::from_secs(60),
            ..CommandOptions::none()
        };
        let plugins = vec![plugin("echo"), built_in("write_file")];
        let host = Host::new(options, plugins).expect("a host");
        host.begin_turn();
        Stage {
            sandbox,
            mode,
            host,
        }
    }

    /// A file of the project.
    fn file(&self, name: &str) -> PathBuf {
        self.sandbox.project().join(name)
    }

    /// A named pipe of the project, with both ends open: nothing waits for the other end.
    fn open_pipe(&self, name: &str) -> File {
        let opened = File::options().read(true).write(true).open(self.pipe(name));
        opened.expect("the pipe")
    }

    /// A named pipe of the project.
    fn pipe(&self, name: &str) -> PathBuf {
        let path = self.file(name);
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        path
    }

    /// Hears of it when something is written into a pipe of the project.
    fn began(&self, name: &str) -> Receiver<()> {
        let path = self.pipe(name);
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            if fs::read(path).is_ok() {
                let _ = sender.send(());
            }
        });
        receiver
    }

    async fn run(&self, call: &Call) {
        let plan = self.host.prepare(call).await.expect("a plan");
        let asker = Arc::new(Asker::yes());
        let outcome = self.host.run(call, &plan, asker, Arc::new(NoProgress));
        assert!(outcome.await.result.is_ok());
    }

    fn asked(&self) -> Vec<String> {
        let asked = fs::read_to_string(self.file("asked")).unwrap_or_default();
        asked.lines().map(str::to_owned).collect()
    }
}

fn echo(id: &str) -> Call {
    Call {
        id: id.to_owned(),
        ..call("echo", json!({ "text": id }))
    }
}

/// Writes the id of each call that it is asked about into the file `asked`. A file that it named would have to stay as it was.
const NOTES: &str = r#"f=ask; sed 's/.*"call":"\([^"]*\)".*/\1/' >> "${f}ed""#;

#[tokio::test]
async fn a_hook_is_asked_again_where_another_call_began_or_ended_meanwhile() {
    let stage = Stage::new(vec![hook(HookEvent::BeforeCall, NOTES)]);
    let host = &stage.host;
    let run = async |call: &Call, plan| {
        let outcome = host.run(call, plan, Arc::new(Asker::no()), Arc::new(NoProgress));
        assert!(outcome.await.result.is_ok());
    };
    // Alone: what was found out before the question counts.
    stage.run(&echo("a")).await;
    assert_eq!(stage.asked(), ["a"]);
    // Another one has run in between.
    let first = echo("b");
    let plan = host.prepare(&first).await.expect("a plan");
    stage.run(&echo("c")).await;
    run(&first, &plan).await;
    assert_eq!(stage.asked(), ["a", "b", "c", "b"]);
    // Another one was only prepared in between, and nothing has changed by that.
    let (first, second) = (echo("d"), echo("e"));
    let plan_of_first = host.prepare(&first).await.expect("a plan");
    let plan_of_second = host.prepare(&second).await.expect("a plan");
    run(&first, &plan_of_first).await;
    assert_eq!(stage.asked()[4..], ["d", "e"]);
    // The first has run by now.
    run(&second, &plan_of_second).await;
    assert_eq!(stage.asked()[4..], ["d", "e", "e"]);
    let [(_, Runs { count, last })] = host.hooks().try_into().expect("one hook");
    assert_eq!((count, last), (7, Some(Ran::Well)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plan_mode_ends_a_hook_that_began_before() {
    let script = "echo > began; sleep 1000; echo > late";
    let stage = Stage::new(vec![hook(HookEvent::BeforeCall, script)]);
    let began = stage.began("began");
    let mode = stage.mode.clone();
    let plans = thread::spawn(move || {
        began.recv_timeout(DEADLINE).expect("the hook runs");
        mode.set(SessionMode::Plan);
    });
    let Err(Failure::Hook { reason, .. }) = stage.host.prepare(&echo("a")).await else {
        panic!("the hook ended well");
    };
    plans.join().expect("it began");
    let expected = "it failed (config.toml:1): stopped, since plan mode began";
    assert_eq!(reason, expected);
    assert!(!stage.file("late").exists());
}

#[tokio::test]
async fn a_hook_that_fails_says_how() {
    let cases = [
        ("exit 3", "exit status 3"),
        ("echo broken >&2; exit 2", "exit status 2: broken"),
        (
            "printf 'a\\nb\\033[2J' >&2; exit 1",
            "exit status 1: a\\nb\\u{1b}[2J",
        ),
        ("kill -9 $$", "ended by signal 9"),
        (
            "echo done",
            "the output is neither empty nor {\"message\": \"…\"}: expected value at line 1 column 1",
        ),
        ("head -c 70000 /dev/zero", "it printed more than 64 KiB"),
        ("sleep 1000", "stopped after 1 s"),
    ];
    let one = |(command, _): &(&str, &str)| Hook {
        time_limit: match *command {
            "sleep 1000" => Duration::from_secs(1),
            _ => Duration::from_secs(300),
        },
        ..hook(HookEvent::TurnEnd, command)
    };
    let stage = Stage::new(cases.iter().map(one).collect());
    let lines = stage.host.turn_ended(TurnOutcome::Answered).await;
    assert_eq!(lines.len(), cases.len(), "{lines:?}");
    for ((line, (_, runs)), (command, why)) in lines.iter().zip(stage.host.hooks()).zip(cases) {
        assert!(line.starts_with("the hook `"), "{line}");
        let end = format!("` failed (config.toml:1): {why}");
        assert!(line.ends_with(&end), "{line}");
        let Some(Ran::Failed(problem)) = runs.last else {
            panic!("{command}: {runs:?}");
        };
        assert!(!problem.is_empty(), "{command}");
    }
}

#[tokio::test]
async fn each_hooks_change_is_an_edit_of_its_own_and_is_told_to_the_model() {
    let change = |from: &str, to: &str| {
        hook(
            HookEvent::AfterEdit,
            &format!("sed -i s/{from}/{to}/ *.txt"),
        )
    };
    let quiet = hook(HookEvent::AfterEdit, "true");
    let stage = Stage::new(vec![change("one", "two"), quiet, change("two", "three")]);
    let arguments = json!({ "file_path": "a.txt", "content": "one\n" });
    let call = call("write_file", arguments);
    let outcome = play(&stage.host, &call, Arc::new(Asker::yes())).await;
    let outcome = outcome.expect("it may");
    let edits: Vec<(Option<&str>, String)> = outcome
        .edits
        .iter()
        .map(|edit| (edit.hook.as_deref(), edit.diff.to_string()))
        .collect();
    let diff = |from: &str, to: &str| format!("@@ -1 +1 @@\n-{from}\n+{to}\n");
    assert_eq!(
        edits,
        [
            (None, "@@ -0,0 +1 @@\n+one\n".to_owned()),
            (Some("sed -i s/one/two/ *.txt"), diff("one", "two")),
            (Some("sed -i s/two/three/ *.txt"), diff("two", "three")),
        ]
    );
    let told: Vec<&str> = outcome.said.split("\n\n").skip(1).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[1].starts_with("[Dunlin] The hook `sed -i s/two/three/ *.txt` changed /"),
        "{told:?}"
    );
    stage.host.undo_last().expect("undone").expect("edits");
    assert!(!stage.file("a.txt").exists());
}

/// Lets a hook go on once it hears of it.
struct GoesOn {
    pipe: File,
    heard: Mutex<Vec<Option<String>>>,
}

impl Progress for GoesOn {
    fn progress(&self, _call: &str, _message: &str, _percent: Option<u8>) {}

    fn hook(&self, _call: &str, hook: Option<&str>) {
        let mut heard = self.heard.lock().expect("not poisoned");
        heard.push(hook.map(str::to_owned));
        if hook.is_some() {
            (&self.pipe).write_all(b"\n").expect("there is room");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_takes_longer_than_a_moment_is_named() {
    let stage = Stage::new(vec![
        hook(HookEvent::AfterEdit, "read x < go"),
        hook(HookEvent::TurnEnd, "read x < go"),
    ]);
    let pipe = stage.open_pipe("go");
    let arguments = json!({ "file_path": "a.txt", "content": "one\n" });
    let call = call("write_file", arguments);
    let asker = Arc::new(Asker::yes());
    let plan = stage.host.prepare(&call).await.expect("a plan");
    let answer = dunlin_host::ask::Answer {
        allow: true,
        scope: dunlin_host::ask::Scope::Once,
    };
    stage.host.answer(&call, &plan, answer).await.expect("kept");
    let progress = Arc::new(GoesOn {
        pipe: pipe.try_clone().expect("another handle"),
        heard: Mutex::default(),
    });
    let outcome = stage.host.run(&call, &plan, asker, progress.clone()).await;
    assert!(outcome.result.is_ok(), "{outcome:?}");
    let name = "the hook `read x < go`";
    let heard = progress.heard.lock().expect("not poisoned").clone();
    assert_eq!(heard, [Some(name.to_owned()), None]);

    // Where no call runs, whoever listens hears of it.
    let mut slow = stage.host.slow_hooks();
    let listens = async {
        slow.changed().await.expect("it takes long");
        let expected = Slow {
            call: None,
            hook: name.to_owned(),
        };
        assert_eq!(*slow.borrow_and_update(), [expected]);
        (&pipe).write_all(b"\n").expect("there is room");
    };
    let (lines, ()) = tokio::join!(stage.host.turn_ended(TurnOutcome::Answered), listens);
    assert!(lines.is_empty(), "{lines:?}");
}
