//! Programs in the real engine, in a real host.

mod abilities;
mod calls;
mod faults;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use super::*;
use crate::ask::{Answer, DenyAll, Question, Scope};
use crate::{Host, HostOptions, Limits, Plugin};

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// Longer than anything but an endless loop takes.
const SHORT: Duration = Duration::from_secs(2);

/// Folders, and a host in them.
struct Place {
    root: tempfile::TempDir,
    host: Host,
}

impl Place {
    fn new() -> Place {
        Place::with_run_time(LONG)
    }

    fn with_run_time(run_time: Duration) -> Place {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("project")).unwrap();
        std::fs::write(root.path().join("project/notes.txt"), "Grüße").unwrap();
        std::fs::write(root.path().join("project/.env"), "KEY=1").unwrap();
        std::fs::write(root.path().join("outside.txt"), "far away").unwrap();
        let host = host(root.path(), run_time);
        Place { root, host }
    }

    fn path(&self, name: &str) -> PathBuf {
        std::fs::canonicalize(self.root.path()).unwrap().join(name)
    }

    /// An app that is denied what it has to ask for.
    fn open(&self, source: &str) -> (AppProgram, Heard) {
        self.open_as("tide-table", source, Arc::new(DenyAll))
    }

    fn open_as(&self, id: &str, source: &str, ask: Arc<dyn Ask>) -> (AppProgram, Heard) {
        let (page, heard) = page();
        let app = self.host.open_app(AppOptions {
            name: id.to_owned(),
            id: id.to_owned(),
            source: source.to_owned(),
            version: String::new(),
            page,
            ask,
        });
        (app, heard)
    }

    fn audit(&self) -> String {
        std::fs::read_to_string(self.path("data/audit.jsonl")).unwrap_or_default()
    }
}

fn host(root: &Path, run_time: Duration) -> Host {
    let embedded = dunlin_plugins::app_engine::ALL.first().unwrap();
    let data = root.join("data");
    let options = HostOptions {
        project: root.join("project"),
        is_project: true,
        home: None,
        search_path: Vec::new(),
        permissions_file: root.join("tool.permissions.json"),
        audit_file: data.join("audit.jsonl"),
        log_file: data.join("log.jsonl"),
        // Compiling takes a second: once for all tests.
        cache_dir: std::env::current_exe()
            .unwrap()
            .with_file_name("app-engine-cache"),
        undo_dir: data.join("undo"),
        stores_dir: data.join("stores"),
        protected: Vec::new(),
        session: "s".into(),
        mode: crate::permission::ModeSwitch::default(),
        limits: Limits {
            run_time,
            ..Limits::standard()
        },
        commands: crate::CommandOptions::none(),
        hooks: Vec::new(),
        web: crate::WebOptions::system("test"),
        mcp: crate::mcp::McpOptions::none(),
        syntax: None,
        app_engine: Some(Plugin {
            name: embedded.name.to_owned(),
            origin: None,
            bytes: embedded.bytes.into(),
            digest: embedded.digest.to_owned(),
            built_in: true,
            description: None,
            tools_digest: None,
        }),
        embedder: None,
    };
    Host::new(options, Vec::new()).unwrap()
}

/// What a page hears.
struct Heard {
    events: mpsc::UnboundedReceiver<(String, String)>,
    messages: Arc<Mutex<Vec<(LogLevel, String)>>>,
    logged: Arc<Notify>,
}

impl Heard {
    async fn next(&mut self) -> (String, String) {
        self.events.recv().await.unwrap()
    }

    /// The first message.
    async fn next_message(&mut self) -> (LogLevel, String) {
        loop {
            let logged = self.logged.notified();
            if let Some(message) = self.messages.lock().first() {
                return message.clone();
            }
            logged.await;
        }
    }

    fn messages(&self) -> Vec<(LogLevel, String)> {
        self.messages.lock().clone()
    }
}

struct TestPage {
    events: mpsc::UnboundedSender<(String, String)>,
    messages: Arc<Mutex<Vec<(LogLevel, String)>>>,
    logged: Arc<Notify>,
}

impl AppPage for TestPage {
    fn emit(&self, event: &str, payload: &str) {
        let _ = self.events.send((event.to_owned(), payload.to_owned()));
    }

    fn logged(&self, level: LogLevel, text: &str) {
        self.messages.lock().push((level, text.to_owned()));
        self.logged.notify_one();
    }
}

fn page() -> (Arc<TestPage>, Heard) {
    let (sender, events) = mpsc::unbounded_channel();
    let messages = Arc::default();
    let logged = Arc::new(Notify::new());
    let page = Arc::new(TestPage {
        events: sender,
        messages: Arc::clone(&messages),
        logged: Arc::clone(&logged),
    });
    let heard = Heard {
        events,
        messages,
        logged,
    };
    (page, heard)
}

/// Answers every question with the same, after a while.
struct Answers {
    answer: Answer,
    after: Duration,
    questions: Mutex<Vec<Question>>,
}

impl Answers {
    fn new(allow: bool, scope: Scope) -> Arc<Answers> {
        Arc::new(Answers {
            answer: Answer { allow, scope },
            after: Duration::ZERO,
            questions: Mutex::default(),
        })
    }

    fn wordings(&self) -> Vec<String> {
        let questions = self.questions.lock();
        questions.iter().map(|it| it.wording.clone()).collect()
    }
}

#[async_trait]
impl Ask for Answers {
    async fn ask(&self, question: Question) -> Answer {
        self.questions.lock().push(question);
        tokio::time::sleep(self.after).await;
        self.answer
    }
}

/// What the program threw.
fn thrown<T: fmt::Debug>(outcome: Result<T, AppError>) -> ProgramError {
    match outcome {
        Err(AppError::Program(error)) => error,
        other => panic!("no error of the program: {other:?}"),
    }
}
