//! The mode of a session: what is planned changes nothing, whatever was granted, and accepted edits are no way to anything
//! but ordinary files of the project.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dunlin_host::ask::{Answer, Ask, Question, Scope};
use dunlin_host::call::{Call, Failure, PlanStatus};
use dunlin_host::permission::{ModeSwitch, SessionMode, ToolMode};
use dunlin_host::process::{SUPERVISOR_FLAG, WITHOUT_NAMESPACES};
use dunlin_host::{CommandOptions, Host, NoProgress, Plugin, Progress};
use dunlin_tests::program;
use dunlin_tests::sandbox::{Asker, PATIENT, SECRET, Sandbox, built_in, call, play, plugin};
use serde_json::{Value, json};

const PLAN: &str = "mode plan: nothing is changed";
const ACCEPTED: &str = "mode accept-edits: edits in the project are accepted";

/// A host whose mode can be turned, and a project with some of everything.
struct Stage {
    sandbox: Sandbox,
    mode: ModeSwitch,
    host: Host,
    calls: AtomicUsize,
}

impl Stage {
    fn new(mode: SessionMode, plugins: Vec<Plugin>) -> Stage {
        Stage::with_commands(mode, plugins, |_, _| ())
    }

    /// The same with something else about its commands.
    fn with_commands(
        mode: SessionMode,
        plugins: Vec<Plugin>,
        change: impl FnOnce(&Sandbox, &mut CommandOptions),
    ) -> Stage {
        let sandbox = Sandbox::new();
        let project = sandbox.project();
        for folder in ["src", ".git/hooks", "open"] {
            fs::create_dir_all(project.join(folder)).expect("a folder");
        }
        for (file, text) in [
            ("src/main.rs", "fn main() {}\n"),
            (".env", "KEY=1\n"),
            (".git/HEAD", "ref: refs/heads/main\n"),
        ] {
            fs::write(project.join(file), text).expect("a file");
        }
        symlink("../outside/secret.txt", project.join("way-out")).expect("a link");
        symlink("../outside", project.join("folder-out")).expect("a link");
        symlink("../config", project.join("way-home")).expect("a link");
        let temporary = sandbox.root().join("tmp");
        fs::create_dir(&temporary).expect("a folder");
        let mode = ModeSwitch::new(mode);
        let mut options = sandbox.options(PATIENT);
        options.mode = mode.clone();
        options.search_path = ["/usr/bin", "/bin"].map(PathBuf::from).into();
        options.commands = CommandOptions {
            supervisor: vec![program!().into(), SUPERVISOR_FLAG.into()],
            shell: PathBuf::from("/bin/bash"),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            temporary,
            baselines: sandbox.root().join("data/commands"),
            set_aside: sandbox.root().join("data/set-aside"),
            time_limit: Duration::from_secs(60),
            ..CommandOptions::none()
        };
        change(&sandbox, &mut options.commands);
        let host = Host::new(options, plugins).expect("a host");
        host.begin_turn();
        Stage {
            sandbox,
            mode,
            host,
            calls: AtomicUsize::new(0),
        }
    }

    /// Plays a call. What came of it, and how many questions it asked.
    async fn play(
        &self,
        tool: &str,
        arguments: Value,
        asker: Asker,
    ) -> (Result<String, Failure>, usize) {
        let asker = Arc::new(asker);
        let call = Call {
            // An answer holds for one call.
            id: format!("call {}", self.calls.fetch_add(1, Ordering::Relaxed)),
            ..call(tool, arguments)
        };
        let outcome = play(&self.host, &call, asker.clone()).await;
        let result = outcome.and_then(|outcome| outcome.result);
        (result.map(|success| success.text), asker.questions().len())
    }

    /// Everything in the sandbox but what Dunlin keeps.
    fn picture(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for folder in ["project", "outside", "config"] {
            picture(&self.sandbox.root().join(folder), &mut found);
        }
        found
    }

    /// The rules that decided about writing and running, as the audit log has them.
    fn rules(&self) -> Vec<String> {
        let lines = self.sandbox.audit();
        let rules = lines
            .iter()
            .filter(|line| line["operation"] == "write" || line["operation"] == "execute");
        let rules = rules.filter_map(|line| line["rule"].as_str());
        rules.map(str::to_owned).collect()
    }
}

fn picture(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let meta = path.symlink_metadata().expect("its metadata");
        if meta.is_dir() {
            picture(&path, found);
            found.insert(path, Vec::new());
        } else if meta.is_file() {
            let content = fs::read(&path).expect("a file");
            found.insert(path, content);
        } else {
            found.insert(path, b"a link".to_vec());
        }
    }
}

#[tokio::test]
async fn accepted_edits_ask_nothing_and_are_logged_as_such() {
    let tools = ["edit_file", "write_file", "read_file"].map(built_in);
    let stage = Stage::new(SessionMode::AcceptEdits, tools.into());
    let write = |path: &str| json!({ "file_path": path, "content": "text\n" });
    let at = |path: &str| stage.sandbox.project().join(path);
    let (result, questions) = stage
        .play("write_file", write("new/notes.md"), Asker::no())
        .await;
    assert!(result.is_ok(), "{result:?}");
    let edit =
        json!({ "file_path": "src/main.rs", "edits": [{ "old_text": "main", "new_text": "run" }] });
    let (edited, more) = stage.play("edit_file", edit.clone(), Asker::no()).await;
    assert!(edited.is_ok(), "{edited:?}");
    assert_eq!(questions + more, 0);
    assert_eq!(fs::read_to_string(at("new/notes.md")).unwrap(), "text\n");
    assert_eq!(
        fs::read_to_string(at("src/main.rs")).unwrap(),
        "fn run() {}\n"
    );
    let rules = stage.rules();
    let is_accepted = rules.iter().all(|rule| rule == ACCEPTED);
    assert!(rules.len() > 1 && is_accepted, "{rules:?}");
    // A patch is an edit where it changes texts, and is asked about where a file goes.
    let patch = |part: &str| json!({ "input": format!("*** Begin Patch\n{part}\n*** End Patch") });
    let (patched, questions) = stage
        .play(
            "apply_patch",
            patch("*** Update File: new/notes.md\n-text\n+texts"),
            Asker::no(),
        )
        .await;
    assert!(patched.is_ok() && questions == 0, "{patched:?}");
    let (removed, questions) = stage
        .play(
            "apply_patch",
            patch("*** Add File: b.md\n+b\n*** Delete File: src/main.rs"),
            Asker::no(),
        )
        .await;
    assert!(
        matches!(removed, Err(Failure::Denied { .. })),
        "{removed:?}"
    );
    assert_eq!(questions, 1);
    assert!(at("src/main.rs").exists() && !at("b.md").exists());
    // It can be taken back like any other.
    stage.host.undo_last().unwrap().unwrap();
    assert!(!at("new").exists());

    stage.host.permissions().set("kept.md", "r-?").unwrap();
    stage.host.permissions().set("open/", "r??").unwrap();
    let before = stage.picture();
    for (path, expected) in [
        (".env", 1),
        ("src/id_rsa", 1),
        (".git/hooks/pre-commit", 1),
        (".git/config", 1),
        ("src/HEAD", 1),
        (".github/workflows/ci.yml", 1),
        (".dunlin/config.toml", 1),
        (".envrc", 1),
        ("way-out", 1),
        ("folder-out/new.md", 1),
        ("../outside/other.md", 1),
        ("open/file.md", 1),
        // What nobody can allow, or a rule denies, is not even asked.
        ("kept.md", 0),
        ("way-home/config.toml", 0),
        ("../config/tool.permissions.json", 0),
    ] {
        let (result, questions) = stage.play("write_file", write(path), Asker::no()).await;
        assert!(
            matches!(result, Err(Failure::Denied { .. })),
            "{path}: {result:?}"
        );
        assert_eq!(questions, expected, "{path}");
    }
    assert_eq!(stage.picture(), before);
    // Whoever turns it off is asked again, from the next use on.
    stage.mode.set(SessionMode::Ask);
    let (result, questions) = stage.play("edit_file", edit, Asker::no()).await;
    assert!(matches!(result, Err(Failure::Denied { .. })), "{result:?}");
    assert_eq!(questions, 1);
}

#[tokio::test]
async fn accepted_edits_are_no_way_for_other_plugins_or_other_changes() {
    // A built-in editor that somebody got hold of: it does what its call says.
    let turned = Plugin {
        name: "edit_file".to_owned(),
        built_in: true,
        ..plugin("names")
    };
    let stage = Stage::new(SessionMode::AcceptEdits, vec![turned]);
    let before = stage.picture();
    for (plan, step) in [
        // What nobody sees a difference of.
        ("remove src/main.rs", "remove src/main.rs"),
        (
            "rename src/main.rs src/other.rs",
            "rename src/main.rs src/other.rs",
        ),
        ("mkdir src/new", "mkdir src/new"),
        ("fill bytes 9", "fill bytes 9"),
        // What it did not say.
        ("write a.md x", "write b.md x"),
        ("write a.md x", "write a.md y"),
        ("write a.md x", "remove src/main.rs"),
        ("write a.md x", "write .git/hooks/pre-commit x"),
        ("write a.md x", "write way-out x"),
    ] {
        let arguments = json!({ "plan": [plan], "steps": [step] });
        let (result, questions) = stage.play("names", arguments, Asker::no()).await;
        assert!(
            matches!(result, Err(Failure::Denied { .. })),
            "{step}: {result:?}"
        );
        assert_eq!(questions, 1, "{step}");
        assert_eq!(stage.picture(), before, "{step}");
    }
    let guests = [
        "names",
        "edit_undeclared",
        "edit_otherwise",
        "wasi",
        "command_otherwise",
    ];
    let stage = Stage::new(SessionMode::AcceptEdits, guests.map(plugin).into());
    let before = stage.picture();
    for (tool, arguments) in [
        (
            "names",
            json!({ "plan": ["write a.md x"], "steps": ["write a.md x"] }),
        ),
        ("edit_undeclared", json!({ "path": "a.md" })),
        ("edit_otherwise", json!({ "path": "a.md" })),
        (
            "wasi",
            json!({ "steps": ["write a.md x"], "folder": "src" }),
        ),
        (
            "command_otherwise",
            json!({ "shown": "touch a.md", "run": "touch a.md" }),
        ),
    ] {
        let (result, questions) = stage.play(tool, arguments, Asker::no()).await;
        assert!(
            matches!(result, Err(Failure::Denied { .. })),
            "{tool}: {result:?}"
        );
        assert_eq!(questions, 1, "{tool}");
    }
    assert_eq!(stage.picture(), before);
}

#[tokio::test]
async fn in_plan_mode_nothing_changes_whatever_was_granted() {
    let guests = [
        "names",
        "edit_undeclared",
        "edit_otherwise",
        "wasi",
        "command_otherwise",
        "post_otherwise",
    ];
    let tools = [
        "edit_file",
        "write_file",
        "read_file",
        "run_terminal_command",
    ];
    let plugins = guests.map(plugin).into_iter().chain(tools.map(built_in));
    let stage = Stage::new(SessionMode::Plan, plugins.collect());
    let permissions = stage.host.permissions();
    let project = format!("{}/", stage.sandbox.project().display());
    permissions.allow_for_session(&project, "rwx").unwrap();
    permissions.set("https://birds.example/", "rwx").unwrap();
    for tool in guests.into_iter().chain(tools) {
        permissions.set_tool_mode(tool, ToolMode::Always);
    }
    let before = stage.picture();
    let url = "https://birds.example/up";
    for (tool, arguments) in [
        ("write_file", json!({ "file_path": "a.md", "content": "x" })),
        (
            "edit_file",
            json!({ "file_path": "src/main.rs", "edits": [{ "old_text": "main", "new_text": "run" }] }),
        ),
        (
            "names",
            json!({ "plan": ["write a.md x"], "steps": ["write a.md x"] }),
        ),
        (
            "names",
            json!({ "plan": ["remove src/main.rs"], "steps": ["remove src/main.rs"] }),
        ),
        ("names", json!({ "plan": [], "steps": ["mkdir new"] })),
        ("edit_undeclared", json!({ "path": "a.md" })),
        ("edit_otherwise", json!({ "path": "a.md" })),
        ("post_otherwise", json!({ "url": url })),
        ("post_otherwise", json!({ "url": url, "silent": true })),
    ] {
        let (result, questions) = stage.play(tool, arguments.clone(), Asker::yes()).await;
        let failure = result.expect_err("a refusal");
        assert!(
            failure.to_string().contains("denied"),
            "{tool} {arguments}: {failure}"
        );
        assert_eq!(questions, 0, "{tool} {arguments}");
    }
    // A command that was not announced is asked about, and cannot do more than one that was.
    for (arguments, expected) in [
        (json!({ "shown": "touch a.md", "run": "touch a.md" }), 0),
        (json!({ "run": "touch a.md" }), 1),
    ] {
        let (_, questions) = stage
            .play("command_otherwise", arguments.clone(), Asker::yes())
            .await;
        assert_eq!(questions, expected, "{arguments}");
    }
    // Through WASI, step by step.
    for attempt in dunlin_zoo::WASI {
        for (steps, _) in attempt.calls {
            let arguments = json!({ "steps": steps });
            // What it reads outside of the project is asked about, and given.
            let _ = stage.play("wasi", arguments, Asker::yes()).await;
        }
    }
    assert_eq!(stage.picture(), before);
    assert!(stage.rules().iter().any(|rule| rule == PLAN));
    // Reading goes on as otherwise.
    let secret = json!({ "file_path": stage.sandbox.secret() });
    permissions.set_tool_mode("read_file", ToolMode::Prompt);
    let (result, questions) = stage.play("read_file", secret, Asker::yes()).await;
    assert_eq!(questions, 1);
    assert!(result.expect("the text").contains(SECRET));
}

#[tokio::test]
async fn the_mode_counts_at_the_moment_of_use() {
    let stage = Stage::new(SessionMode::Ask, vec![plugin("names")]);
    let call = call(
        "names",
        json!({ "plan": ["write a.md x"], "steps": ["write a.md x"] }),
    );
    let asker = Arc::new(Asker::yes());
    let plan = stage.host.prepare(&call).await.unwrap();
    let question = plan.question(&call).expect("a question");
    let answer = dunlin_host::ask::Ask::ask(&*asker, question).await;
    stage.host.answer(&call, &plan, answer).await.unwrap();
    stage.mode.set(SessionMode::Plan);
    let outcome = stage
        .host
        .run(&call, &plan, asker.clone(), Arc::new(NoProgress))
        .await;
    assert!(outcome.result.is_err(), "{:?}", outcome.result);
    assert!(!stage.sandbox.project().join("a.md").exists());
    let again = stage.host.prepare(&call).await.unwrap();
    let PlanStatus::Denied { rule, .. } = again.status else {
        panic!("{:?}", again.status);
    };
    assert_eq!(rule, PLAN);
    stage.mode.set(SessionMode::Ask);
    let again = stage.host.prepare(&call).await.unwrap();
    assert!(matches!(again.status, PlanStatus::Ask { .. }));
}

#[tokio::test]
async fn a_command_of_plan_mode_can_change_nothing() {
    let tool = "run_terminal_command";
    let stage = Stage::new(SessionMode::Plan, vec![built_in(tool)]);
    let permissions = stage.host.permissions();
    // Whatever gives commands more elsewhere.
    let project = format!("{}/", stage.sandbox.project().display());
    permissions.allow_for_session(&project, "rwx").unwrap();
    permissions.set("../outside/", "rw?").unwrap();
    permissions.set_tool_mode(tool, ToolMode::Always);
    let before = stage.picture();
    let mode_of = |path: &str| {
        let meta = fs::metadata(stage.sandbox.project().join(path)).expect("a file");
        (meta.permissions().mode(), meta.modified().expect("a time"))
    };
    let state = mode_of("src/main.rs");
    let device = || {
        let meta = fs::metadata("/dev/null").expect("a device");
        (meta.permissions().mode(), meta.modified().expect("a time"))
    };
    let before_device = device();
    for line in [
        "touch a.md",
        "echo x > src/main.rs",
        "chmod 700 src/main.rs",
        "touch -d @0 src/main.rs",
        "rm -r src",
        "mv src other",
        "mkdir new",
        "ln -s src new",
        "truncate -s 0 ../outside/secret.txt",
        "git init -q",
        // The device by the descriptor that the command has of it.
        "chmod 0667 /proc/self/fd/0",
        "touch -d @0 /proc/self/fd/0",
    ] {
        let (result, _) = stage
            .play(tool, json!({ "command": line }), Asker::yes())
            .await;
        let text = result.expect("a result");
        let has_failed = text.contains("exit status") && !text.contains("exit status 0");
        assert!(has_failed, "{line}: {text}");
    }
    assert_eq!(stage.picture(), before);
    assert_eq!(mode_of("src/main.rs"), state);
    assert_eq!(device(), before_device);
    // What others wrote down of the repositories of the project stays as it is.
    assert!(!stage.sandbox.root().join("data/commands").exists());
    // It reads, and has a folder of its own.
    let line = "cat src/main.rs > $TMPDIR/copy; cat $TMPDIR/copy";
    let (result, questions) = stage
        .play(tool, json!({ "command": line }), Asker::yes())
        .await;
    assert!(result.expect("a result").contains("fn main"));
    assert_eq!(questions, 0);
    let (result, questions) = stage
        .play(
            tool,
            json!({ "command": "true", "network": true }),
            Asker::yes(),
        )
        .await;
    let failure = result.expect_err("a refusal").to_string();
    assert!(failure.contains("no command has the network"), "{failure}");
    assert_eq!(questions, 0);
}

#[tokio::test]
async fn a_yes_of_plan_mode_is_none_to_a_command_that_can_change_something() {
    let tool = "run_terminal_command";
    use SessionMode::{Ask, Plan};
    // The mode when the question was made, at the answer and at the start; who answers, how often, and whether the command
    // could change something.
    for ([shown, answered, run], asker, asked, is_made) in [
        ([Plan, Plan, Plan], Asker::yes(), 1, false),
        ([Ask, Ask, Plan], Asker::yes(), 1, false),
        ([Ask, Ask, Ask], Asker::yes(), 1, true),
        ([Plan, Plan, Ask], Asker::yes(), 2, true),
        ([Plan, Plan, Ask], Asker::first_yes(), 2, false),
        ([Ask, Plan, Ask], Asker::first_yes(), 2, false),
        ([Plan, Ask, Ask], Asker::first_yes(), 2, false),
    ] {
        let stage = Stage::new(shown, vec![built_in(tool)]);
        let call = call(tool, json!({ "command": "touch a.md" }));
        let asker = Arc::new(asker);
        let plan = stage.host.prepare(&call).await.unwrap();
        let question = plan.question(&call).expect("a question");
        let is_plan_mode = shown == Plan;
        assert_eq!(question.longest == Scope::Once, is_plan_mode, "{shown}");
        let notices = question.notices.join(" ");
        assert_eq!(
            notices.contains("it can change nothing"),
            is_plan_mode,
            "{notices}"
        );
        let answer = dunlin_host::ask::Ask::ask(&*asker, question).await;
        stage.mode.set(answered);
        stage.host.answer(&call, &plan, answer).await.unwrap();
        stage.mode.set(run);
        let _ = stage
            .host
            .run(&call, &plan, asker.clone(), Arc::new(NoProgress))
            .await;
        let questions = asker.questions();
        assert_eq!(questions.len(), asked, "{shown} {run}: {questions:?}");
        if let Some(again) = questions.get(1) {
            let notices = again.notices.join(" ");
            assert!(notices.contains("Plan mode has ended"), "{notices}");
            assert_eq!(again.wording, "Run command: touch a.md?");
        }
        let is_there = stage.sandbox.project().join("a.md").exists();
        assert_eq!(is_there, is_made, "{shown} {run}");
    }
}

#[tokio::test]
async fn a_command_of_plan_mode_writes_to_its_temporary_folder_wherever_that_is() {
    let tool = "run_terminal_command";
    let stage = Stage::with_commands(
        SessionMode::Plan,
        vec![built_in(tool)],
        |sandbox, commands| {
            commands.temporary = sandbox.project().join("tmp");
            fs::create_dir(&commands.temporary).expect("a folder");
        },
    );
    let line = "echo kept > $TMPDIR/a; cat $TMPDIR/a";
    let (result, _) = stage
        .play(tool, json!({ "command": line }), Asker::yes())
        .await;
    assert!(result.expect("a result").contains("kept"));
}

#[tokio::test]
async fn without_namespaces_no_command_runs_in_plan_mode() {
    let tool = "run_terminal_command";
    let stage = Stage::with_commands(SessionMode::Plan, vec![built_in(tool)], |_, commands| {
        commands.supervisor.push(WITHOUT_NAMESPACES.into());
    });
    let permissions = stage.host.permissions();
    for mode in [ToolMode::Prompt, ToolMode::Always] {
        permissions.set_tool_mode(tool, mode);
        let arguments = json!({ "command": "chmod 700 src/main.rs" });
        let (result, questions) = stage.play(tool, arguments, Asker::yes()).await;
        let failure = result.expect_err("a refusal").to_string();
        assert!(
            failure.contains("no command runs in plan mode here"),
            "{failure}"
        );
        assert_eq!(questions, 0);
    }
}

/// Somebody who does something else at each question, and at the first output of a command: then the answer is yes.
struct Meanwhile<F>(F);

#[async_trait]
impl<F: Fn() + Send + Sync> Ask for Meanwhile<F> {
    async fn ask(&self, _question: Question) -> Answer {
        (self.0)();
        Answer {
            allow: true,
            scope: Scope::Once,
        }
    }
}

impl<F: Fn() + Send + Sync> Progress for Meanwhile<F> {
    fn progress(&self, _call: &str, _message: &str, _percent: Option<u8>) {}

    fn output(&self, _call: &str, _bytes: &[u8]) {
        (self.0)();
    }
}

/// What the user does while a tool has a file open.
type Narrowing = fn(&Stage);

#[tokio::test]
async fn what_is_open_is_closed_by_a_narrower_rule() {
    let narrowings: [(&str, Narrowing); 3] = [
        ("plan", |stage| stage.mode.set(SessionMode::Plan)),
        ("never", |stage| {
            let permissions = stage.host.permissions();
            permissions.set_tool_mode("wasi", ToolMode::Never);
        }),
        ("denied", |stage| {
            stage.host.permissions().set("a.md", "r-?").unwrap();
        }),
    ];
    for (name, narrow) in narrowings {
        let stage = Arc::new(Stage::new(SessionMode::Ask, vec![plugin("wasi")]));
        let file = stage.sandbox.project().join("a.md");
        fs::write(&file, "before\n").unwrap();
        let permissions = stage.host.permissions();
        let project = format!("{}/", stage.sandbox.project().display());
        permissions.set(&project, "rw?").unwrap();
        // The second opening is asked about: then the user changes something.
        let secret = stage.sandbox.secret();
        let secret = secret.display().to_string();
        let asked = format!("open R:{} r", secret.trim_start_matches('/'));
        let steps = [
            "open a.md rw",
            "pwrite BEFORE 0",
            "stream 0",
            "push Before",
            &asked,
            "close",
            "pwrite after 0",
            "push after",
            "append after",
            "size 0",
            "times now",
        ];
        let call = call("wasi", json!({ "steps": steps }));
        let plan = stage.host.prepare(&call).await.unwrap();
        let narrower = Arc::clone(&stage);
        let ask = Arc::new(Meanwhile(move || narrow(&narrower)));
        let outcome = stage
            .host
            .run(&call, &plan, ask, Arc::new(NoProgress))
            .await;
        let said = outcome.result.expect("what each step answered").text;
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            "Before\n",
            "{name}: {said}"
        );
        let said: Vec<&str> = said.lines().collect();
        assert_eq!(said[..4], ["ok"; 4], "{name}");
        assert_eq!(said[6..], ["access"; 5], "{name}");
    }
}

#[tokio::test]
async fn a_command_ends_where_nothing_may_run_any_more() {
    let narrowings: [(&str, Narrowing); 2] = [
        ("plan", |stage| stage.mode.set(SessionMode::Plan)),
        ("never", |stage| {
            let permissions = stage.host.permissions();
            permissions.set_tool_mode("run_terminal_command", ToolMode::Never);
        }),
    ];
    for (name, narrow) in narrowings {
        let tools = ["run_terminal_command"].map(built_in);
        let stage = Arc::new(Stage::new(SessionMode::Ask, tools.into()));
        let line = "echo up; sleep 50; touch late";
        let call = call("run_terminal_command", json!({ "command": line }));
        let asker = Arc::new(Asker::yes());
        let plan = stage.host.prepare(&call).await.unwrap();
        let question = plan.question(&call).expect("a question");
        let answer = Ask::ask(&*asker, question).await;
        stage.host.answer(&call, &plan, answer).await.unwrap();
        let narrower = Arc::clone(&stage);
        let narrows = Arc::new(Meanwhile(move || narrow(&narrower)));
        let outcome = stage.host.run(&call, &plan, asker, narrows).await;
        assert!(!stage.sandbox.project().join("late").exists(), "{name}");
        let said = format!("{:?}", outcome.result);
        assert!(said.contains("it was stopped"), "{name}: {said}");
    }
}
