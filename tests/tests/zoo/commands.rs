//! Commands: the built-in tool on the real host, hostile command lines, and guests that show one line and run
//! another.

mod attributes;
mod git;
mod git_evasion;
mod git_states;
mod git_worktrees;
mod hostile;
mod lies;
mod limits;
mod rules;
mod shared;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dunlin::built_in_plugins;
use dunlin_host::ask::Ask;
use dunlin_host::call::{Failure, Success};
use dunlin_host::process::{SUPERVISOR_FLAG, WITHOUT_NAMESPACES};
use dunlin_host::{CommandOptions, Host};
use dunlin_tests::program;
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, assert_alive, call, play, plugin};
use serde_json::{Value, json};

/// The variable that every command of one host has and nothing else on the machine.
const MARK: &str = "DUNLIN_TEST_MARK";

/// A host that runs commands.
struct Yard {
    sandbox: Sandbox,
    host: Host,
}

/// A result, and what the user is told besides.
fn with_notices(host: &Host, success: Success) -> Success {
    let told: Vec<String> = success
        .note
        .into_iter()
        .chain(host.take_notices())
        .collect();
    Success {
        note: (!told.is_empty()).then(|| told.join(" · ")),
        ..success
    }
}

/// Both ways in which commands are kept; what holds in one has to hold in the other.
const BOTH: [bool; 2] = [true, false];

impl Yard {
    fn new() -> Yard {
        Yard::with(true, |_, _| {})
    }

    /// `has_namespaces`: as where the kernel gives namespaces, which it does wherever these tests run.
    fn with(has_namespaces: bool, change: impl FnOnce(&Sandbox, &mut CommandOptions)) -> Yard {
        let sandbox = Sandbox::new();
        let mut supervisor = vec![program!().into(), SUPERVISOR_FLAG.into()];
        if !has_namespaces {
            supervisor.push(WITHOUT_NAMESPACES.into());
        }
        let project = sandbox.project();
        let temporary = project.parent().expect("the root").join("tmp");
        fs::create_dir(&temporary).expect("a folder");
        let mut commands = CommandOptions {
            supervisor,
            shell: PathBuf::from("/bin/bash"),
            environment: vec![
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                (MARK.into(), project.into()),
            ],
            temporary,
            baselines: sandbox.root().join("data/commands"),
            set_aside: sandbox.root().join("data/set-aside"),
            time_limit: Duration::from_secs(60),
            ..CommandOptions::none()
        };
        change(&sandbox, &mut commands);
        let mut options = sandbox.options(PATIENT);
        options.search_path = ["/usr/local/bin", "/usr/bin", "/bin"]
            .map(PathBuf::from)
            .into();
        options.commands = commands;
        let guests = ["command_otherwise", "command_many", "echo"].map(plugin);
        let host = Host::new(
            options,
            built_in_plugins::all().into_iter().chain(guests).collect(),
        )
        .expect("a host");
        Yard { sandbox, host }
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Value,
        ask: Arc<dyn Ask>,
    ) -> Result<Success, Failure> {
        play(&self.host, &call(tool, arguments), ask).await?.result
    }

    /// Runs a line with a yes, and asserts that nothing of it is left afterwards.
    async fn run(&self, line: &str) -> Success {
        let ran = self
            .call("run_terminal_command", json!({ "command": line }), yes())
            .await;
        let success = ran.unwrap_or_else(|failure| panic!("{line}: {failure}"));
        assert_eq!(self.left(), Vec::<String>::new(), "{line}");
        with_notices(&self.host, success)
    }

    /// Runs a line with a yes, beside others.
    fn start(&self, line: &str) -> impl Future<Output = Success> + Send + use<> {
        let host = self.host.clone();
        let mut call = call("run_terminal_command", json!({ "command": line }));
        call.id = line.replace(|c: char| !c.is_ascii_graphic(), "_");
        async move {
            let ran = play(&host, &call, yes()).await;
            let ran = ran.and_then(|outcome| outcome.result);
            with_notices(&host, ran.unwrap_or_else(|failure| panic!("{failure}")))
        }
    }

    /// Makes pipes in the project, over which a command and the test wait for each other.
    fn make_pipes(&self, names: &[&str]) {
        for name in names {
            let made = std::process::Command::new("mkfifo")
                .arg(self.sandbox.project().join(name))
                .status();
            assert!(made.expect("mkfifo").success());
        }
    }

    /// Waits until a command writes to a pipe.
    async fn hear(&self, name: &str) {
        let pipe = self.sandbox.project().join(name);
        let heard = tokio::task::spawn_blocking(move || fs::read(pipe));
        heard.await.expect("no panic").expect("a pipe");
    }

    /// Waits until a command reads from a pipe.
    async fn say(&self, name: &str) {
        let pipe = self.sandbox.project().join(name);
        let said = tokio::task::spawn_blocking(move || fs::write(pipe, ""));
        said.await.expect("no panic").expect("a pipe");
    }

    /// What is still running of the commands of this host.
    fn left(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.sandbox.project().display());
        let mut left = Vec::new();
        for entry in fs::read_dir("/proc").expect("processes").flatten() {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            if variables.any(|variable| variable == mark.as_bytes()) {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                left.push(format!("{} {line}", entry.file_name().display()));
            }
        }
        left
    }
}

fn yes() -> Arc<Asker> {
    Arc::new(Asker::yes())
}

#[tokio::test]
async fn a_command_runs_and_tells_how_it_ended() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let asker = yes();
        let arguments = json!({ "command": "echo out; echo err >&2; exit 3" });
        let ran = yard
            .call("run_terminal_command", arguments, asker.clone())
            .await
            .unwrap();
        let expected = "<stdout>\nout\n</stdout>\n<stderr>\nerr\n</stderr>\nexit status 3";
        assert_eq!(ran.text, expected);
        assert_eq!(ran.note.as_deref(), Some("exit status 3"));
        let questions = asker.questions();
        assert_eq!(questions.len(), 1);
        let wording = "Run command: echo out; echo err >&2; exit 3?";
        assert_eq!(questions[0].wording, wording);
        let used = yard.sandbox.audit();
        let used = used.iter().find(|line| line["event"] == "used").unwrap();
        assert_eq!(used["line"], "echo out; echo err >&2; exit 3");
        assert_eq!(used["operation"], "execute");

        let quiet = yard
            .run("-x 2>/dev/null; pwd; cat; echo $TMPDIR > tmp")
            .await;
        let project = yard.sandbox.project();
        let expected = format!("<stdout>\n{}\n</stdout>\nexit status 0", project.display());
        assert_eq!(quiet.text, expected);
        assert_eq!(quiet.note, None);
        let temporary = fs::read_to_string(project.join("tmp")).unwrap();
        assert!(!PathBuf::from(temporary.trim()).exists(), "{temporary}");

        let killed = yard.run("kill -SEGV $$").await;
        assert!(killed.text.contains("killed by SIGSEGV"), "{}", killed.text);
        let none = yard.run("no-such-program || exit $?").await;
        assert!(none.text.ends_with("exit status 127"), "{}", none.text);
        assert_alive(&yard.host).await;
    }
}

#[tokio::test]
async fn a_command_that_was_denied_does_not_run() {
    let yard = Yard::new();
    let arguments = json!({ "command": "touch ran" });
    let denied = yard
        .call("run_terminal_command", arguments, Arc::new(Asker::no()))
        .await;
    assert!(matches!(denied, Err(Failure::Denied { .. })), "{denied:?}");
    assert!(!yard.sandbox.project().join("ran").exists());
}

#[tokio::test]
async fn what_the_kernel_offers_is_in_force() {
    let sandbox = Yard::new().host.command_sandbox().await.unwrap();
    assert_eq!(sandbox.no_namespaces, None);
    assert_eq!(sandbox.no_filter, None);
    // Without namespaces the rest stands alone, and says what is missing.
    let sandbox = Yard::with(false, |_, _| {}).host.command_sandbox().await;
    let sandbox = sandbox.unwrap();
    assert!(sandbox.no_namespaces.is_some());
    assert_eq!(sandbox.no_filter, None);
    assert!(!sandbox.gaps().is_empty());
}
