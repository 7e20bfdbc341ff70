//! Dunlin as an agent for editors: the Agent Client Protocol on two streams.
//!
//! The protocol's requests are read and sorted here; a session does its own work in a thread of its own (`session`) and
//! writes its own messages (`client`). It takes the same turns as the chat: the client is told what happens
//! (`updates`) and asked what the chat would ask (`questions`). The client is the user's side, but what it writes is
//! read like any other foreign text: of bounded length, and an answer counts for its own question only.
//!
//! Files are read and commands run by Dunlin's own tools in their sandbox, and never through the client's methods for that:
//! those are under no permissions and no sandbox.

mod calls;
mod client;
mod commands;
mod outbox;
mod prompt;
mod questions;
mod replay;
mod servers;
mod session;
mod status;
mod updates;
mod wire;

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use dunlin_chat::session::{Store, Summary};
use dunlin_host::display::chain;
use dunlin_terminal::ui::Ui;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncRead, BufReader};

use self::client::{Client, Reply};
use self::session::{Beginning, Session};
use self::wire::{Id, Initialize, List, OfSession, Open, Prompt, Refusal, SetMode};
use crate::app::App;
use crate::args::Global;
use crate::bounded_lines::{self, next_line};
use crate::config::env::Environment;
use crate::config::paths::Folders;
use crate::settings::Settings;

/// Most sessions that are open at the same time. Each has a few threads; an editor with more of them has lost count.
const MAX_SESSIONS: usize = 64;

/// Most sessions in a list: so many files are opened for it.
const MAX_LISTED: usize = 100;

/// How long sessions get to end when the client is gone: a turn is interrupted, and what it said is kept.
const GRACE: Duration = Duration::from_secs(3);

/// What sessions are made of.
pub struct AcpServer {
    /// The options of the command line.
    pub global: Global,
    pub environment: Environment,
    /// Makes what a session works with.
    pub make_app: Box<dyn Fn(Arc<Ui>, Settings) -> App + Send + Sync>,
    /// Prints on standard error.
    pub ui: Arc<Ui>,
}

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The client has gone.
    Gone,
    /// By the user.
    Interrupted,
}

/// Serves one client until its input ends, its output takes no more, or `interrupt` is ready.
///
/// Dropping the future leaves sessions running; the program is to end then.
///
/// # Errors
/// The thread that reads cannot be started.
pub async fn serve(
    server: AcpServer,
    input: impl AsyncRead + Unpin,
    output: Box<dyn Write + Send>,
    interrupt: impl Future<Output = ()>,
) -> io::Result<Ended> {
    let (ended, all_ended) = channel();
    let client = Client::new(output)?;
    let mut agent = Agent {
        server: Arc::new(server),
        client: Arc::clone(&client),
        sessions: Arc::default(),
        is_open: false,
        ended,
    };
    let how = tokio::select! {
        biased;
        () = interrupt => Ended::Interrupted,
        () = client.gone() => Ended::Gone,
        () = agent.read(BufReader::new(input)) => Ended::Gone,
    };
    agent.end(&all_ended);
    Ok(how)
}

/// The sessions that are open, by their ids.
type Sessions = Arc<Mutex<HashMap<String, Session>>>;

/// Does what the client asks for.
struct Agent {
    server: Arc<AcpServer>,
    client: Arc<Client>,
    sessions: Sessions,
    /// Whether the client has made the request that everything else follows.
    is_open: bool,
    /// Sessions hold a copy until they have ended.
    ended: Sender<()>,
}

impl Agent {
    /// Reads to the end.
    async fn read(&mut self, mut input: impl AsyncBufRead + Unpin) {
        let mut line = Vec::new();
        // A stream that cannot be read has ended.
        while let Ok(Some(whole)) = next_line(&mut input, &mut line).await {
            if whole {
                self.line(&line);
            } else {
                let refusal = Refusal::invalid(bounded_lines::too_long());
                self.client.refuse(None, &refusal);
            }
        }
    }

    /// Ends all sessions, and waits a moment for those in which a turn runs.
    fn end(self, all_ended: &Receiver<()>) {
        let sessions = std::mem::take(&mut *self.sessions.lock());
        sessions.values().for_each(Session::cancel);
        drop(sessions);
        drop(self.ended);
        let deadline = Instant::now() + GRACE;
        let left = || deadline.saturating_duration_since(Instant::now());
        // Nothing is sent: it fails when the last one has ended.
        while all_ended.recv_timeout(left()).is_ok() {}
        self.client.finish(left());
    }

    fn line(&mut self, line: &[u8]) {
        let Some(line) = bounded_lines::content(line) else {
            return;
        };
        let refused = |refusal: Refusal| self.client.refuse(None, &refusal);
        let mut message = match serde_json::from_slice(line) {
            Ok(Value::Object(message)) => message,
            Ok(_) => {
                return refused(Refusal::invalid(
                    "a message is one JSON object; batches are not taken",
                ));
            }
            Err(error) => {
                return refused(Refusal::not_json(format!("the line is not JSON: {error}")));
            }
        };
        let id = message.remove("id");
        match message.remove("method") {
            Some(Value::String(method)) => self.called(id, &method, message),
            Some(_) => refused(Refusal::invalid("the method of a request is a text")),
            None => self.answered(id, message),
        }
    }

    /// Takes an answer of the client. What is none is nobody's.
    fn answered(&self, id: Option<Value>, mut message: Map<String, Value>) {
        let answer = match (message.remove("result"), message.remove("error")) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => {
                let said = error.get("message").and_then(Value::as_str);
                Err(said.unwrap_or("it gives no reason").to_owned())
            }
            _ => {
                let refusal = Refusal::invalid("a message has a method, a result or an error");
                return self.client.refuse(None, &refusal);
            }
        };
        self.client.answered(&id.unwrap_or_default(), answer);
    }

    fn called(&mut self, id: Option<Value>, method: &str, mut message: Map<String, Value>) {
        let params = message.remove("params").unwrap_or_else(|| json!({}));
        let Some(id) = id else {
            return self.notified(method, params);
        };
        let Ok(id) = serde_json::from_value::<Id>(id) else {
            let refusal = Refusal::invalid("the id of a request is a text or a whole number");
            return self.client.refuse(None, &refusal);
        };
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            let refusal = Refusal::invalid("a message has \"jsonrpc\": \"2.0\"");
            return self.client.refuse(Some(&id), &refusal);
        }
        let Some(reply) = self.client.begin(id) else {
            // With the id it would be taken for the answer to the other one.
            let refusal = Refusal::invalid("a request with this id is under way");
            return self.client.refuse(None, &refusal);
        };
        if !self.is_open && method != "initialize" {
            return reply.refuse(Refusal::invalid("the first request is initialize"));
        }
        self.requested(method, params, reply);
    }

    fn notified(&self, method: &str, params: Value) {
        // Others are free to be ignored, and nobody waits for a word about them.
        if method == "session/cancel"
            && let Ok(OfSession { session_id }) = serde_json::from_value(params)
            && let Some(session) = self.sessions.lock().get(&session_id)
        {
            session.cancel();
        }
    }

    fn requested(&mut self, method: &str, params: Value, reply: Reply) {
        match method {
            "initialize" => match read::<Initialize>(method, params) {
                Ok(initialize) => reply.send(Ok(self.initialize(&initialize))),
                Err(refusal) => reply.refuse(refusal),
            },
            "authenticate" => reply.refuse(Refusal::params(
                "there is nothing to log in to: the keys of models are in Dunlin's configuration \
                 (dunlin config init, in a terminal, chooses who answers)",
            )),
            "session/new" => self.open(Beginning::New, method, params, reply),
            "session/load" => self.open(Beginning::Load, method, params, reply),
            "session/resume" => self.open(Beginning::Resume, method, params, reply),
            "session/list" => {
                let list = read::<List>(method, params);
                reply.send(list.and_then(|list| self.list(&list)));
            }
            "session/prompt" => match read::<Prompt>(method, params) {
                Ok(Prompt { session_id, prompt }) => match self.sessions.lock().get(&session_id) {
                    Some(session) => session.prompt(prompt, reply),
                    None => reply.refuse(Refusal::no_session(&session_id)),
                },
                Err(refusal) => reply.refuse(refusal),
            },
            "session/set_mode" => match read::<SetMode>(method, params) {
                Ok(set) => match self.sessions.lock().get(&set.session_id) {
                    Some(session) => reply.send(session.set_mode(&set.mode_id)),
                    None => reply.refuse(Refusal::no_session(&set.session_id)),
                },
                Err(refusal) => reply.refuse(refusal),
            },
            "session/close" => match read::<OfSession>(method, params) {
                Ok(OfSession { session_id }) => match self.sessions.lock().get(&session_id) {
                    Some(session) => session.close(reply),
                    None => reply.refuse(Refusal::no_session(&session_id)),
                },
                Err(refusal) => reply.refuse(refusal),
            },
            _ => reply.refuse(Refusal::no_method(method)),
        }
    }

    /// What Dunlin can do. There is one version of the protocol to agree on; a client that does not speak it leaves.
    fn initialize(&mut self, asked: &Initialize) -> Value {
        self.is_open = true;
        self.client.shows_forms(asked.has_forms());
        if asked.protocol_version < wire::VERSION {
            let version = asked.protocol_version;
            self.server.ui.status(&format!(
                "the client speaks version {version} of the protocol, and Dunlin version {}",
                wire::VERSION
            ));
        }
        json!({
            "protocolVersion": wire::VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": false},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
            },
            "authMethods": [],
            "agentInfo": {
                "name": "dunlin",
                "title": "Dunlin",
                "version": env!("CARGO_PKG_VERSION"),
            },
        })
    }

    /// The newest sessions that are kept.
    fn list(&self, list: &List) -> Result<Value, Refusal> {
        // All of them fit one page, so there is no cursor that could have come from here.
        if let Some(cursor) = &list.cursor {
            let problem = format!("there is no page {cursor:?}; the list has one");
            return Err(Refusal::params(problem));
        }
        let folders = Folders::find(&self.server.environment);
        let folders = folders.map_err(|error| Refusal::failed(chain(&error)))?;
        let given = list.cwd.as_deref();
        let cwd = given.map(|cwd| cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf()));
        let store = Store::new(&folders.data, cwd.as_deref().unwrap_or(Path::new("/")));
        let sessions = store.list(cwd.is_none(), MAX_LISTED).into_iter();
        let sessions = sessions.filter(|it| it.problem.is_none() && !it.project.is_empty());
        let session = |it: Summary| {
            let mut session = json!({"sessionId": it.id, "cwd": it.project, "title": it.title});
            if let Some(changed) = it.changed {
                session["updatedAt"] = changed.to_string().into();
            }
            session
        };
        Ok(json!({"sessions": sessions.map(session).collect::<Vec<Value>>()}))
    }

    fn open(&self, beginning: Beginning, method: &str, params: Value, reply: Reply) {
        let open = match read::<Open>(method, params) {
            Ok(open) => open,
            Err(refusal) => return reply.refuse(refusal),
        };
        if !open.cwd.is_absolute() {
            let problem = format!("cwd: {} is not an absolute path", open.cwd.display());
            return reply.refuse(Refusal::params(problem));
        }
        let more = open.additional_directories.as_deref().unwrap_or_default();
        if !more.is_empty() {
            let problem = "additionalDirectories: a session has one folder; Dunlin asks before it reads others";
            return reply.refuse(Refusal::params(problem));
        }
        let id = match (beginning, &open.session_id) {
            (Beginning::New, _) => Store::new_id(),
            (_, Some(id)) => id.clone(),
            (_, None) => return reply.refuse(Refusal::params("sessionId is missing")),
        };
        let mut sessions = self.sessions.lock();
        if sessions.contains_key(&id) {
            let problem = format!("the session {id:?} is open already");
            return reply.refuse(Refusal::invalid(problem));
        }
        if sessions.len() >= MAX_SESSIONS {
            let problem = format!("{MAX_SESSIONS} sessions are open; session/close ends one");
            return reply.refuse(Refusal::failed(problem));
        }
        let leave = {
            let (sessions, id) = (Arc::clone(&self.sessions), id.clone());
            move || drop(sessions.lock().remove(&id))
        };
        let begun = Session::begin(
            &self.server,
            &self.client,
            (id.clone(), beginning, open),
            reply,
            (self.ended.clone(), leave),
        );
        match begun {
            Ok(session) => drop(sessions.insert(id, session)),
            // The request is refused with what was to answer it.
            Err(error) => self
                .server
                .ui
                .warn(&format!("cannot begin a session: {error}")),
        }
    }
}

fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params)
        .map_err(|error| Refusal::params(format!("the params of {method} do not fit: {error}")))
}
