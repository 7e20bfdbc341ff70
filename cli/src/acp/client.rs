//! The connection to the client: what is written to it, and what it is asked.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dunlin_host::json;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use super::outbox::Outbox;
use super::wire::{Id, Refusal, Update};

/// What the client answers, or its own error.
type Answer = Result<Value, String>;

/// Whoever is at the other end. Shared by all sessions.
pub(super) struct Client {
    /// Everything is written whole, one message a line.
    out: Arc<Outbox>,
    /// What the client was asked and has not answered.
    asked: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
    /// The id of the last request to the client. None is used twice, so no answer is for another question.
    last: AtomicU64,
    /// The requests of the client that are not answered.
    under_way: Mutex<HashSet<Id>>,
    /// Whether the client shows forms.
    has_forms: AtomicBool,
}

/// A message to the client.
#[derive(Serialize)]
struct Message<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: P,
}

/// An answer to the client.
#[derive(Serialize)]
struct Response<'a, R> {
    jsonrpc: &'static str,
    /// `null`: nobody can say which request it was.
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Refusal>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionUpdate<'a> {
    session_id: &'a str,
    update: &'a Update,
}

const VERSION: &str = "2.0";

/// A message as it is written: all of them have text as keys and finite numbers, so it cannot fail.
fn line(message: &impl Serialize) -> Option<Vec<u8>> {
    let mut line = json::to_string(message).ok()?;
    line.push('\n');
    Some(line.into_bytes())
}

impl Drop for Client {
    fn drop(&mut self) {
        self.out.close();
    }
}

impl Client {
    /// Whoever reads what is written here.
    ///
    /// # Errors
    /// The thread that writes cannot be started.
    pub(super) fn new(out: Box<dyn Write + Send>) -> io::Result<Arc<Client>> {
        Ok(Arc::new(Client {
            out: Outbox::new(out)?,
            asked: Mutex::default(),
            last: AtomicU64::new(0),
            under_way: Mutex::default(),
            has_forms: AtomicBool::new(false),
        }))
    }

    /// Waits until nothing can be written any more.
    pub(super) async fn gone(&self) {
        self.out.gone().await;
    }

    /// The turn of a session is to end, or another one begins.
    pub(super) fn set_cancelled(&self, session_id: &str, is_cancelled: bool) {
        self.out.set_cancelled(session_id, is_cancelled);
    }

    /// Waits until everything is written, but not for longer than this.
    pub(super) fn finish(&self, longest: Duration) {
        self.out.finish(longest);
    }

    pub(super) fn shows_forms(&self, shows: bool) {
        self.has_forms.store(shows, Ordering::Relaxed);
    }

    pub(super) fn has_forms(&self) -> bool {
        self.has_forms.load(Ordering::Relaxed)
    }

    /// Has a message written.
    fn write(&self, message: &impl Serialize) {
        if let Some(line) = line(message) {
            self.out.put(line);
        }
    }

    fn notify(&self, method: &str, params: impl Serialize) {
        self.write(&Message {
            jsonrpc: VERSION,
            id: None,
            method,
            params,
        });
    }

    /// Tells of something that happened in a session. Blocks while the client reads nothing, unless the turn is to end.
    pub(super) fn update(&self, session_id: &str, update: &Update) {
        let message = Message {
            jsonrpc: VERSION,
            id: None,
            method: "session/update",
            params: SessionUpdate { session_id, update },
        };
        if let Some(line) = line(&message) {
            self.out.put_of(session_id, line);
        }
    }

    /// Refuses what cannot be answered otherwise.
    pub(super) fn refuse(&self, id: Option<&Id>, refusal: &Refusal) {
        self.write(&Response::<()> {
            jsonrpc: VERSION,
            id,
            result: None,
            error: Some(refusal),
        });
    }

    /// Takes a request up. `None`: one with this id is under way, and an answer could be for either.
    pub(super) fn begin(self: &Arc<Client>, id: Id) -> Option<Reply> {
        let is_new = self.under_way.lock().insert(id.clone());
        is_new.then(|| Reply {
            client: Arc::clone(self),
            id: Some(id),
        })
    }

    /// Asks the client. Dropping the future withdraws the question.
    ///
    /// # Errors
    /// The client's own, or that it will not answer.
    pub(super) async fn ask(&self, method: &str, params: impl Serialize) -> Answer {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        self.asked.lock().insert(id, sender);
        let _withdraws = Withdraws { client: self, id };
        self.write(&Message {
            jsonrpc: VERSION,
            id: Some(id),
            method,
            params,
        });
        let gone = || Err("the client has gone".to_owned());
        tokio::select! {
            biased;
            answer = answer => answer.unwrap_or_else(|_| gone()),
            () = self.gone() => gone(),
        }
    }

    /// Passes an answer of the client on. One that nobody waits for is dropped.
    pub(super) fn answered(&self, id: &Value, answer: Answer) {
        let waits = id.as_u64().and_then(|id| self.asked.lock().remove(&id));
        if let Some(waits) = waits {
            // Whoever waited may have gone at this moment.
            let _ = waits.send(answer);
        }
    }
}

/// Takes a question back that was not answered.
struct Withdraws<'a> {
    client: &'a Client,
    id: u64,
}

impl Drop for Withdraws<'_> {
    fn drop(&mut self) {
        if self.client.asked.lock().remove(&self.id).is_some() {
            #[derive(Serialize)]
            #[serde(rename_all = "camelCase")]
            struct Cancel {
                request_id: u64,
            }
            let request_id = self.id;
            self.client
                .notify("$/cancel_request", Cancel { request_id });
        }
    }
}

/// A request that has to be answered, once.
pub(super) struct Reply {
    client: Arc<Client>,
    id: Option<Id>,
}

impl Reply {
    /// Answers it.
    pub(super) fn send(mut self, result: Result<impl Serialize, Refusal>) {
        if let Some(id) = self.id.take() {
            // From the moment in which the client has the answer, the id is free.
            self.client.under_way.lock().remove(&id);
            match result {
                Ok(result) => self.client.write(&Response {
                    jsonrpc: VERSION,
                    id: Some(&id),
                    result: Some(result),
                    error: None,
                }),
                Err(refusal) => self.client.refuse(Some(&id), &refusal),
            }
        }
    }

    pub(super) fn refuse(self, refusal: Refusal) {
        self.send(Err::<(), _>(refusal));
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.client.under_way.lock().remove(&id);
            let refusal = Refusal::failed("the request was dropped: the session ended or crashed");
            self.client.refuse(Some(&id), &refusal);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Keeps what is written.
    #[derive(Clone, Default)]
    pub(crate) struct Written {
        bytes: Arc<Mutex<Vec<u8>>>,
        out: Option<Arc<Outbox>>,
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.bytes.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        /// The messages so far.
        pub(crate) fn messages(&self) -> Vec<Value> {
            if let Some(out) = &self.out {
                out.finish(Duration::from_secs(60));
            }
            let bytes = self.bytes.lock();
            let lines = bytes.split(|byte| *byte == b'\n');
            let lines = lines.filter(|line| !line.is_empty());
            lines
                .map(|line| serde_json::from_slice(line).unwrap())
                .collect()
        }
    }

    pub(crate) fn client() -> (Arc<Client>, Written) {
        let mut written = Written::default();
        let client = Client::new(Box::new(written.clone())).unwrap();
        written.out = Some(Arc::clone(&client.out));
        (client, written)
    }

    #[tokio::test]
    async fn an_answer_is_for_its_own_question() {
        let (client, written) = client();
        let asked = client.ask("first", ());
        let other = client.ask("second", ());
        let answers = async {
            // Both are written by now.
            client.answered(&"1".into(), Ok("a text is no id of ours".into()));
            client.answered(&7.into(), Ok("nobody asked".into()));
            client.answered(&2.into(), Ok("two".into()));
            client.answered(&2.into(), Ok("again".into()));
            client.answered(&1.into(), Err("one".to_owned()));
        };
        let (first, second, ()) = tokio::join!(asked, other, answers);
        assert_eq!((first, second), (Err("one".to_owned()), Ok("two".into())));
        let methods: Vec<Value> = written
            .messages()
            .iter()
            .map(|it| it["method"].clone())
            .collect();
        assert_eq!(methods, ["first", "second"]);
    }

    #[tokio::test]
    async fn a_question_is_taken_back() {
        let (client, written) = client();
        {
            let asked = std::pin::pin!(client.ask("first", ()));
            assert!(futures::poll!(asked).is_pending());
        }
        client.answered(&1.into(), Ok("late".into()));
        assert!(client.asked.lock().is_empty());
        let messages = written.messages();
        assert_eq!(messages[1]["method"], "$/cancel_request");
        assert_eq!(messages[1]["params"]["requestId"], 1);
    }

    #[test]
    fn every_request_is_answered_once() {
        let (client, written) = client();
        let reply = client.begin(Id::Number(1)).unwrap();
        assert!(client.begin(Id::Number(1)).is_none());
        assert!(client.begin(Id::Text("1".to_owned())).is_some());
        reply.send(Ok("done"));
        assert!(client.begin(Id::Number(1)).is_some());
        let messages = written.messages();
        assert_eq!(messages.len(), 3);
        assert_eq!(messages[0]["id"], "1");
        assert_eq!(messages[0]["error"]["code"], -32603);
        assert_eq!(messages[1]["result"], "done");
        assert_eq!(messages[2]["error"]["code"], -32603);
    }
}
