//! The tool that starts subagents, with a chat that can run them; and plugins that try to start some.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dunlin_host::ask::{Answer, Ask, Question};
use dunlin_host::call::{Call, Failure, Plan, PlanStatus, Success};
use dunlin_host::subagent::{ContextFile, SubagentEnd, SubagentReport, SubagentTask, Subagents};
use dunlin_host::{ForeignError, Host, NoProgress, Plugin};
use dunlin_tests::sandbox::{
    Asker, LIMITS, PATIENT, Sandbox, assert_alive, built_in, call, play, plugin,
};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

const NAME: &str = "run_subagent";

/// How long a test waits for what has to happen.
const LONG: Duration = Duration::from_secs(60);

/// What a subagent does.
enum Behaviour {
    /// Ends like this.
    Ends(SubagentEnd, String),
    /// Cannot be started.
    Fails,
    /// Says that it runs, and never ends.
    Waits(Notify),
    /// Ends when all of them run.
    Meets(Barrier),
    /// Takes that long.
    Takes(Duration),
}

/// A chat that can run subagents.
struct Chat {
    user: Asker,
    subagents: Arc<Fake>,
}

/// Subagents that all do the same.
struct Fake {
    behaviour: Behaviour,
    given: Mutex<Vec<(String, SubagentTask)>>,
    /// Those that run.
    running: Arc<()>,
}

/// Why none was started.
#[derive(Debug)]
struct NotStarted(std::io::Error);

impl std::fmt::Display for NotStarted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cannot start a subagent")
    }
}

impl std::error::Error for NotStarted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl Chat {
    fn new(behaviour: Behaviour) -> Arc<Chat> {
        Arc::new(Chat {
            user: Asker::no(),
            subagents: Arc::new(Fake {
                behaviour,
                given: Mutex::default(),
                running: Arc::new(()),
            }),
        })
    }

    fn answering(text: &str) -> Arc<Chat> {
        Self::new(Behaviour::Ends(SubagentEnd::Answered, text.to_owned()))
    }

    fn given(&self) -> Vec<(String, SubagentTask)> {
        let given = self.subagents.given.lock();
        given.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait::async_trait]
impl Ask for Chat {
    async fn ask(&self, question: Question) -> Answer {
        self.user.ask(question).await
    }

    fn subagents(&self) -> Option<Arc<dyn Subagents>> {
        Some(self.subagents.clone())
    }
}

#[async_trait::async_trait]
impl Subagents for Fake {
    async fn run(&self, call: &str, task: SubagentTask) -> Result<SubagentReport, ForeignError> {
        let _running = Arc::clone(&self.running);
        self.given
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((call.to_owned(), task));
        let (end, text) = match &self.behaviour {
            Behaviour::Ends(end, text) => (end.clone(), text.clone()),
            Behaviour::Fails => {
                let source = std::io::Error::other("four are running");
                return Err(Box::new(NotStarted(source)));
            }
            Behaviour::Waits(started) => {
                started.notify_one();
                std::future::pending().await
            }
            Behaviour::Meets(barrier) => {
                barrier.wait().await;
                (SubagentEnd::Answered, format!("{call} was not alone"))
            }
            Behaviour::Takes(time) => {
                tokio::time::sleep(*time).await;
                (SubagentEnd::Answered, "done".to_owned())
            }
        };
        Ok(SubagentReport {
            name: "research".to_owned(),
            end,
            text,
            rounds: 2,
            calls: 1,
            input_tokens: 300,
            output_tokens: 40,
            duration: Duration::from_millis(1_500),
        })
    }
}

fn own() -> Vec<Plugin> {
    vec![built_in(NAME), plugin("echo")]
}

async fn ran(host: &Host, arguments: Value, chat: Arc<dyn Ask>) -> Result<Success, Failure> {
    play(host, &call(NAME, arguments), chat).await?.result
}

#[tokio::test]
async fn a_subagent_is_given_its_task_and_gives_its_last_message() {
    let sandbox = Sandbox::new();
    let host = sandbox.host_of(own(), PATIENT);
    let chat = Chat::answering("One bird.");
    let arguments = json!({
        "task": "Count the birds.", "agent": "research", "tools": ["read_file"], "max_rounds": 3,
        "context": ["README.md"],
    });
    let success = ran(&host, arguments, chat.clone()).await.unwrap();
    assert_eq!(success.text, "One bird.");
    assert_eq!(
        success.structured,
        Some(json!({
            "name": "research", "agent": "research", "end": "answered", "rounds": 2, "calls": 1,
            "input_tokens": 300, "output_tokens": 40, "seconds": 1.5,
        }))
    );
    let task = SubagentTask {
        task: "Count the birds.".to_owned(),
        agent: Some("research".to_owned()),
        tools: Some(vec!["read_file".to_owned()]),
        max_rounds: Some(3),
        context: vec![ContextFile {
            path: "README.md".to_owned(),
            text: dunlin_tests::sandbox::README.to_owned(),
        }],
    };
    assert_eq!(chat.given(), [("call of run_subagent".to_owned(), task)]);
    let audit = sandbox.audit();
    let starts: Vec<&Value> = audit
        .iter()
        .filter(|line| line["target"] == "subagent research")
        .collect();
    assert_eq!(starts.len(), 1, "{audit:?}");
    assert_eq!(
        (&starts[0]["event"], &starts[0]["tool"], &starts[0]["bytes"]),
        (&json!("used"), &json!(NAME), &json!(16 + 9 + 23))
    );
    assert_alive(&host).await;
}

#[tokio::test]
async fn nothing_is_approved_but_files_that_are_not_granted() {
    let sandbox = Sandbox::new();
    let mut plugins = own();
    plugins.extend([built_in("read_file"), built_in("ask_user")]);
    let host = sandbox.host_of(plugins, PATIENT);
    let plan = async |tool: &str, arguments: Value| -> Plan {
        host.prepare(&call(tool, arguments)).await.unwrap()
    };
    let bare = plan(NAME, json!({"task": "Count."})).await;
    assert_eq!(
        (bare.status, bare.needs.len(), bare.runs_in_parallel),
        (PlanStatus::Allowed, 0, true)
    );
    let secret = "../outside/secret.txt";
    let with_secret = json!({"task": "Count.", "context": [secret]});
    let given = plan(NAME, with_secret.clone()).await;
    assert!(matches!(given.status, PlanStatus::Ask { .. }), "{given:?}");
    let chat = Chat::answering("One bird.");
    let denied = ran(&host, with_secret, chat.clone()).await.unwrap_err();
    assert!(matches!(denied, Failure::Denied { .. }), "{denied:?}");
    assert_eq!(chat.given(), []);
    // Other tools run one after the other.
    for (tool, arguments) in [
        ("read_file", json!({"file_path": "README.md"})),
        ("ask_user", json!({"question": "Why?"})),
        ("echo", json!({"text": ""})),
    ] {
        assert!(!plan(tool, arguments).await.runs_in_parallel, "{tool}");
    }
}

#[tokio::test]
async fn a_file_that_is_not_text_is_named() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.project().join("picture.png"), b"\x89PNG\xff").unwrap();
    std::fs::write(sandbox.project().join("large.txt"), "x".repeat(1_048_577)).unwrap();
    let host = sandbox.host_of(own(), PATIENT);
    for (path, expected) in [
        (
            "picture.png",
            "context: 'picture.png' is not a text file; only UTF-8 can be given",
        ),
        (
            "large.txt",
            "context: 'large.txt' does not fit: the files of a subagent may have 1048576 bytes together; name it in the task instead",
        ),
    ] {
        let chat = Chat::answering("One bird.");
        let arguments = json!({"task": "Count.", "context": ["README.md", path]});
        let failure = ran(&host, arguments, chat.clone()).await.unwrap_err();
        assert_eq!(failure.to_string(), expected);
        assert_eq!(chat.given(), []);
    }
}

#[tokio::test]
async fn what_is_no_answer_says_so() {
    let sandbox = Sandbox::new();
    let host = sandbox.host_of(own(), PATIENT);
    let stopped = Behaviour::Ends(SubagentEnd::Stopped, "Wait.".to_owned());
    let success = ran(&host, json!({"task": "Count."}), Chat::new(stopped)).await;
    assert_eq!(
        success.unwrap().text,
        "The subagent was stopped by the user; its last words:\nWait."
    );
    let failure = ran(
        &host,
        json!({"task": "Count."}),
        Chat::new(Behaviour::Fails),
    )
    .await
    .unwrap_err();
    let Failure::Tool { message, .. } = failure else {
        panic!("{failure:?}");
    };
    assert_eq!(message, "cannot start a subagent: four are running");
    // Larger than a result may be: the rest is cut, and the result says so.
    let chat = Chat::answering(&"x".repeat(3_000_000));
    let success = ran(&host, json!({"task": "Count."}), chat).await.unwrap();
    let end = " [cut here, at 1040384 of 3000000 bytes]";
    assert!(success.text.ends_with(end), "{}", success.text.len());
    assert_alive(&host).await;
}

#[tokio::test]
async fn a_subagent_takes_its_time() {
    let sandbox = Sandbox::new();
    let host = sandbox.host_of(own(), LIMITS);
    let time = LIMITS.run_time + Duration::from_millis(200);
    let call = call(NAME, json!({"task": "Count."}));
    // Loads it: that takes time, too.
    let plan = host.prepare(&call).await.unwrap();
    let chat = Chat::new(Behaviour::Takes(time));
    let outcome = host.run(&call, &plan, chat, Arc::new(NoProgress)).await;
    assert_eq!(outcome.result.unwrap().text, "done");
    assert!(outcome.duration >= time, "{:?}", outcome.duration);
}

#[tokio::test]
async fn a_subagent_ends_with_its_call() {
    let sandbox = Sandbox::new();
    let host = sandbox.host_of(own(), PATIENT);
    let chat = Chat::new(Behaviour::Waits(Notify::new()));
    let call = call(NAME, json!({"task": "Count."}));
    let plan = host.prepare(&call).await.unwrap();
    let Behaviour::Waits(started) = &chat.subagents.behaviour else {
        panic!("it waits");
    };
    tokio::select! {
        outcome = host.run(&call, &plan, chat.clone(), Arc::new(NoProgress)) => panic!("{outcome:?}"),
        started = tokio::time::timeout(LONG, started.notified()) => started.unwrap(),
    }
    assert_eq!(Arc::strong_count(&chat.subagents.running), 1);
    let audit = sandbox.audit();
    let last = audit.last().unwrap();
    assert_eq!(last["error"], "cancelled", "{last}");
    assert_alive(&host).await;
}

#[tokio::test]
async fn two_run_side_by_side() {
    let sandbox = Sandbox::new();
    let host = sandbox.host_of(own(), PATIENT);
    let chat = Chat::new(Behaviour::Meets(Barrier::new(2)));
    let run = async |id: &str| {
        let call = Call {
            id: id.to_owned(),
            ..call(NAME, json!({"task": "Count."}))
        };
        let outcome = play(&host, &call, chat.clone()).await.unwrap();
        outcome.result.unwrap().text
    };
    let both = async { tokio::join!(run("a"), run("b")) };
    let both = tokio::time::timeout(LONG, both).await.unwrap();
    let expected = ("a was not alone".to_owned(), "b was not alone".to_owned());
    assert_eq!(both, expected);
}

#[tokio::test]
async fn without_a_chat_there_are_none() {
    let sandbox = Sandbox::new();
    let host = sandbox.host_of(own(), PATIENT);
    let failure = ran(&host, json!({"task": "Count."}), Arc::new(Asker::yes())).await;
    assert_eq!(
        failure.unwrap_err().to_string(),
        "no subagents can run here: do the work yourself"
    );
    assert_eq!(
        sandbox
            .audit()
            .iter()
            .filter(|line| line["target"] == "subagent")
            .count(),
        0
    );
}

#[tokio::test]
async fn no_other_plugin_starts_one() {
    let sandbox = Sandbox::new();
    // One of a stranger, and the tool of Dunlin that somebody installed.
    let installed = Plugin {
        built_in: false,
        ..built_in(NAME)
    };
    let plugins = vec![plugin("subagent"), installed, plugin("echo")];
    let host = sandbox.host_of(plugins, PATIENT);
    for (tool, arguments, expected) in [
        (
            "subagent",
            json!({}),
            Ok("only Dunlin's own tool can run subagents"),
        ),
        (
            NAME,
            json!({"task": "Count."}),
            Err("only Dunlin's own tool can run subagents: do the work yourself"),
        ),
    ] {
        let chat = Chat::answering("One bird.");
        let call = call(tool, arguments);
        let plan = host.prepare(&call).await.unwrap();
        assert!(!plan.runs_in_parallel, "{tool}");
        let outcome = host
            .run(&call, &plan, chat.clone(), Arc::new(NoProgress))
            .await;
        let told = outcome.result.map(|success| success.text);
        let told = told.map_err(|failure| failure.to_string());
        assert_eq!(
            told.as_ref().map(|it| &**it).map_err(|it| &**it),
            expected,
            "{tool}"
        );
        assert_eq!(chat.given(), [], "{tool}");
    }
    let call = call("subagent", json!({}));
    let plan = host.prepare(&call).await.unwrap();
    assert_eq!(
        plan.question,
        "nothing can be touched while a call is prepared"
    );
    assert_alive(&host).await;
}
