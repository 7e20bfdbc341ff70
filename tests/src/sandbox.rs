//! A real host in folders of its own, for guests that try to break out of it.
//!
//! There is a project with a `README.md`, a secret beside it, and Dunlin's own folders. The secret and
//! the stored permissions each hold a text that must turn up nowhere: [`leaks`] looks for both.

use std::collections::HashSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use dunlin::built_in_plugins;
use dunlin_host::ask::{Answer, Ask, Question, Scope};
use dunlin_host::call::{Call, Failure, Outcome, Plan, PlanStatus};
use dunlin_host::{CommandOptions, Host, HostOptions, Limits, NoProgress, Plugin, WebOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::guests;

/// What stands in the project's `README.md`.
pub const README: &str = "Every bird knows this.\n";

/// What stands in the file outside of the project.
pub const SECRET: &str = "the-secret-outside-the-project";

/// A key of the permission file.
pub const STORED: &str = "/a-target-that-the-user-decided-about";

/// Limits for guests that never end, so that nobody waits a minute for a loop. For all others they are too short on a
/// loaded machine.
pub const LIMITS: Limits = Limits {
    run_time: Duration::from_secs(1),
    prepare_time: Duration::from_secs(1),
    ..Limits::standard()
};

/// Limits for guests that work hard and are to reach their own end.
pub const PATIENT: Limits = Limits {
    run_time: Duration::from_secs(60),
    prepare_time: Duration::from_secs(30),
    describe_time: Duration::from_secs(30),
    ..Limits::standard()
};

/// Folders for one or more hosts.
#[derive(Debug)]
pub struct Sandbox {
    _folder: TempDir,
    root: PathBuf,
    /// Whether it begins with what earlier ones have compiled, and leaves to later ones what it compiles.
    is_warm: bool,
}

impl Sandbox {
    /// Makes the folders. The machine code of guests that earlier sandboxes have compiled is there already: to compile
    /// them takes longer than most tests.
    #[expect(
        clippy::new_without_default,
        reason = "it makes files: more than a value"
    )]
    pub fn new() -> Self {
        let mut sandbox = Self::cold();
        sandbox.is_warm = true;
        link_all(compiled_before(), &sandbox.cache());
        sandbox
    }

    /// The same with nothing compiled yet.
    pub fn cold() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("dunlin-sandbox-")
            .tempdir()
            .expect("a temporary folder");
        let root = fs::canonicalize(folder.path()).expect("the temporary folder");
        for folder in ["project", "outside", "config", "data", "cache"] {
            fs::create_dir(root.join(folder)).expect("a folder");
        }
        let sandbox = Self {
            _folder: folder,
            root,
            is_warm: false,
        };
        fs::write(sandbox.project().join("README.md"), README).expect("a file of the project");
        fs::write(sandbox.secret(), SECRET).expect("the secret");
        let stored = json!({ STORED: "r--" }).to_string();
        fs::write(sandbox.permissions_file(), stored).expect("the permissions");
        sandbox
    }

    /// The project folder.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// A file that nobody granted.
    pub fn secret(&self) -> PathBuf {
        self.root.join("outside/secret.txt")
    }

    /// The file that a guest must never see.
    pub fn permissions_file(&self) -> PathBuf {
        self.root.join("config/tool.permissions.json")
    }

    /// What was decided and done.
    pub fn audit_file(&self) -> PathBuf {
        self.root.join("data/audit.jsonl")
    }

    /// What plugins say to the log.
    pub fn log_file(&self) -> PathBuf {
        self.root.join("data/plugins.jsonl")
    }

    /// Where compiled components are kept.
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// What edited files held before.
    pub fn undo(&self) -> PathBuf {
        self.root.join("data/undo")
    }

    /// A host with these guests and, last, the well-behaved `echo`.
    pub fn host(&self, guests: &[&str], limits: Limits) -> Host {
        let guests = guests.iter().chain(&["echo"]);
        self.host_of(guests.map(|name| plugin(name)).collect(), limits)
    }

    /// A host with these plugins.
    pub fn host_of(&self, plugins: Vec<Plugin>, limits: Limits) -> Host {
        Host::new(self.options(limits), plugins).expect("a host")
    }

    /// What a host in these folders is told.
    pub fn options(&self, limits: Limits) -> HostOptions {
        Self::options_in(&self.root, limits)
    }

    /// The same for another process, which is given the sandbox's folder.
    pub fn options_in(root: &Path, limits: Limits) -> HostOptions {
        HostOptions {
            project: root.join("project"),
            is_project: true,
            home: Some(root.to_owned()),
            search_path: Vec::new(),
            permissions_file: root.join("config/tool.permissions.json"),
            audit_file: root.join("data/audit.jsonl"),
            log_file: root.join("data/plugins.jsonl"),
            cache_dir: root.join("cache"),
            undo_dir: root.join("data/undo"),
            stores_dir: root.join("data/stores"),
            protected: vec![root.join("config"), root.join("data")],
            session: "a session".to_owned(),
            mode: dunlin_host::permission::ModeSwitch::default(),
            limits,
            commands: CommandOptions::none(),
            hooks: Vec::new(),
            web: WebOptions::system("dunlin-tests"),
            mcp: dunlin_host::mcp::McpOptions::none(),
            syntax: None,
            app_engine: None,
            embedder: None,
        }
    }

    /// The folder that all of them are in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The lines of the audit log.
    pub fn audit(&self) -> Vec<Value> {
        json_lines(&self.audit_file())
    }

    /// The lines of the plugins' log.
    pub fn log(&self) -> Vec<Value> {
        json_lines(&self.log_file())
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if self.is_warm {
            link_all(&self.cache(), compiled_before());
        }
    }
}

/// Where the machine code of guests is kept for all tests of this build.
fn compiled_before() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let program = std::env::current_exe().expect("the path of the tests");
        let built = fs::metadata(&program).and_then(|meta| meta.modified());
        let built = built
            .expect("the time of the tests")
            .duration_since(UNIX_EPOCH);
        let all = program.with_extension("compiled");
        let folder = all.join(built.expect("a time").as_nanos().to_string());
        for other in fs::read_dir(&all).into_iter().flatten().flatten() {
            if other.path() != folder {
                let _ = fs::remove_dir_all(other.path());
            }
        }
        folder
    });
    &FOLDER
}

/// Puts the machine code in one cache folder into another, of guests and of what comes with Dunlin: what tests make up is
/// of no use to others. Its files are never written again, so they can have several names.
fn link_all(from: &Path, to: &Path) {
    static KNOWN: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let guests = guests::all().iter().map(|guest| guest.digest.to_owned());
        let built_in = built_in_plugins::all()
            .into_iter()
            .map(|plugin| plugin.digest);
        guests.chain(built_in).collect()
    });
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    for folder in entries(from).filter(|it| {
        it.file_name()
            .as_encoded_bytes()
            .starts_with(b"components-")
    }) {
        let there = to.join(folder.file_name());
        let private = DirBuilder::new().recursive(true).mode(0o700).create(&there);
        private.expect("a folder for machine code");
        for file in entries(&folder.path()) {
            let name = file.file_name();
            let digest = name.to_str().and_then(|name| name.split_once('-'));
            if digest.is_some_and(|(digest, _)| KNOWN.contains(digest)) {
                put(&file.path(), &there.join(&name));
            }
        }
    }
}

/// Gives a file a second name, or a copy where that is on another file system.
fn put(from: &Path, to: &Path) {
    match fs::hard_link(from, to) {
        // Another test was faster, with the same.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let folder = to.parent().expect("a folder");
            let copy = tempfile::NamedTempFile::new_in(folder).expect("a file");
            fs::copy(from, copy.path()).expect("a copy");
            let _ = copy.persist_noclobber(to);
        }
        // The cache has thrown it out meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        done => done.expect("a second name for machine code"),
    }
}

/// A guest as a plugin that the user installed.
pub fn plugin(name: &str) -> Plugin {
    let guest = guests::guest(name);
    Plugin {
        name: guest.name.to_owned(),
        bytes: guest.bytes.into(),
        digest: guest.digest.to_owned(),
        built_in: false,
        origin: None,
        description: None,
        tools_digest: None,
    }
}

/// A plugin that came with Dunlin, which has yet to say what it is.
pub fn built_in(name: &str) -> Plugin {
    let mut all = built_in_plugins::all().into_iter();
    let plugin = all.find(|plugin| plugin.name == name);
    Plugin {
        description: None,
        ..plugin.expect("a built-in plugin")
    }
}

/// A plugin of any bytes.
pub fn plugin_of(name: &str, bytes: Vec<u8>) -> Plugin {
    Plugin {
        name: name.to_owned(),
        digest: dunlin_host::sha256_hex(&bytes),
        bytes: bytes.into(),
        built_in: false,
        origin: None,
        description: None,
        tools_digest: None,
    }
}

/// A call that a model proposed.
pub fn call(tool: &str, arguments: Value) -> Call {
    Call {
        id: format!("call of {tool}"),
        tool: tool.to_owned(),
        arguments,
    }
}

/// A plan that declares nothing, for calls that are run without being prepared.
pub fn unplanned() -> Plan {
    Plan {
        question: String::new(),
        needs: Vec::new(),
        actions: Vec::new(),
        status: PlanStatus::Allowed,
        runs_in_parallel: false,
    }
}

/// Leads a call through its three steps, as the chat does: declared needs are asked of `ask`, too.
pub async fn play(host: &Host, call: &Call, ask: Arc<dyn Ask>) -> Result<Outcome, Failure> {
    let plan = host.prepare(call).await?;
    if let PlanStatus::Denied { .. } = plan.status {
        return Err(denied(&plan));
    }
    if let Some(question) = plan.question(call) {
        let answer = ask.ask(question).await;
        host.answer(call, &plan, answer).await?;
        if !answer.allow {
            return Err(denied(&plan));
        }
    }
    Ok(host.run(call, &plan, ask, Arc::new(NoProgress)).await)
}

/// Calls `echo`: whatever happened before, the host goes on.
///
/// # Panics
///
/// When it does not.
pub async fn assert_alive(host: &Host) {
    let call = call("echo", json!({ "text": "still here" }));
    let plan = host.prepare(&call).await.expect("the plan of echo");
    assert_eq!(plan.status, PlanStatus::Allowed);
    let outcome = host
        .run(&call, &plan, Arc::new(Asker::no()), Arc::new(NoProgress))
        .await;
    assert_eq!(
        outcome.result.expect("the result of echo").text,
        "still here"
    );
}

/// What must be known to nobody and stands in this text.
pub fn leaks(text: &str) -> Vec<&'static str> {
    [SECRET, STORED]
        .into_iter()
        .filter(|secret| text.contains(secret))
        .collect()
}

/// A user who answers every question the same way, and remembers them.
#[derive(Debug)]
pub struct Asker {
    first: Answer,
    answer: Answer,
    questions: Mutex<Vec<Question>>,
}

impl Asker {
    /// Allows, for this call.
    pub fn yes() -> Self {
        Self::new(Answer {
            allow: true,
            scope: Scope::Once,
        })
    }

    /// Denies, for this call.
    pub fn no() -> Self {
        Self::new(Answer::DENY)
    }

    /// Allows what is asked first, and denies the rest.
    pub fn first_yes() -> Self {
        Self::first(Self::yes().answer)
    }

    /// Answers what is asked first like this, and denies the rest.
    pub fn first(first: Answer) -> Self {
        Self {
            first,
            ..Self::no()
        }
    }

    /// Answers like this.
    pub fn new(answer: Answer) -> Self {
        Self {
            first: answer,
            answer,
            questions: Mutex::default(),
        }
    }

    /// What was asked until now.
    pub fn questions(&self) -> Vec<Question> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[async_trait::async_trait]
impl Ask for Asker {
    async fn ask(&self, question: Question) -> Answer {
        let mut questions = self
            .questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        questions.push(question);
        match questions.len() {
            1 => self.first,
            _ => self.answer,
        }
    }
}

fn denied(plan: &Plan) -> Failure {
    Failure::Denied {
        question: plan.question.clone(),
        by_user: true,
    }
}

fn json_lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}
