//! A scripted server on loopback that speaks OpenAI's chat completions or Responses API, Anthropic's Messages API, or Ollama's
//! own.
//!
//! The test says beforehand what each request is answered with ([`Response`]); the server keeps every
//! request for assertions and checks each against the rules that real servers enforce. It lives in a
//! thread of its own, so that tests stay plain synchronous code.

mod anthropic;
mod ollama;
mod responses;
mod rules;
mod script;
mod server;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::Value;
use tokio::sync::oneshot;

pub use ollama::Ollama;
pub use script::{Gate, MODEL, Response};

use crate::watched::{DEADLINE, Watched};

/// The key that the test configuration hands to the provider. It may show up in one header and
/// nowhere else.
pub const API_KEY: &str = "sk-test-5a1d-only-in-the-header";

/// A running scripted server. Dropping it closes every connection, and fails the test when a request
/// broke a rule or a part of the script was never asked for.
#[derive(Debug)]
pub struct Provider {
    address: SocketAddr,
    log: Arc<Watched<Log>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Whether what is wrong fails the test.
    strict: bool,
}

/// One request, as it came in.
#[derive(Debug, Clone)]
pub struct Received {
    /// `GET`, `POST`.
    pub method: String,
    /// With the query, if there is one.
    pub path: String,
    /// Names in lower case, in the order they were sent.
    pub headers: Vec<(String, String)>,
    /// The body; null when it is not JSON.
    pub body: Value,
    /// The body as it was sent.
    pub bytes: Vec<u8>,
    /// Whether the answer was played to its end.
    pub answered: bool,
    /// Whether the client closed the connection before that.
    pub hung_up: bool,
}

/// What the server and the test share.
#[derive(Debug, Default)]
struct Log {
    /// Answers to the next chat requests.
    script: VecDeque<Response>,
    /// Answers to the next requests of conversations that are told apart by their first message.
    conversations: Vec<(String, VecDeque<Response>)>,
    /// The answer to all chat requests after the script.
    then_always: Option<Response>,
    /// The chat requests so far.
    chats: Vec<Received>,
    /// What was wrong with them.
    violations: Vec<String>,
    /// What no body may contain.
    secrets: Vec<String>,
    /// Whether it lists its models only for whoever has the key.
    wants_key: bool,
    /// What the server says of itself; `None`: it is not an Ollama server.
    ollama: Option<Ollama>,
}

impl Provider {
    /// Answers the first request with the first response and so on; more requests than responses fail
    /// the test, and so do fewer.
    ///
    /// # Panics
    ///
    /// When the machine has no loopback port left.
    pub fn play(script: impl IntoIterator<Item = Response>) -> Self {
        Provider::start(Log {
            script: script.into_iter().collect(),
            ..Log::default()
        })
    }

    /// Answers each conversation by a script of its own, in whatever order their requests come: the one whose first message of
    /// the user contains the text before it.
    ///
    /// # Panics
    ///
    /// When the machine has no loopback port left.
    pub fn play_each<'a>(scripts: impl IntoIterator<Item = (&'a str, Vec<Response>)>) -> Self {
        let scripts = scripts.into_iter();
        let scripts = scripts.map(|(text, script)| (text.to_owned(), script.into()));
        Provider::start(Log {
            conversations: scripts.collect(),
            ..Log::default()
        })
    }

    /// Answers every request with the same response.
    ///
    /// # Panics
    ///
    /// When the machine has no loopback port left.
    pub fn always(response: Response) -> Self {
        Provider::start(Log {
            then_always: Some(response),
            ..Log::default()
        })
    }

    /// Answers as an Ollama server does, with responses made by [`Response::ollama`].
    ///
    /// # Panics
    ///
    /// When the machine has no loopback port left.
    pub fn ollama(about: Ollama, script: impl IntoIterator<Item = Response>) -> Self {
        Provider::start(Log {
            script: script.into_iter().collect(),
            ollama: Some(about),
            ..Log::default()
        })
    }

    /// Leaves it to the caller to look at [`violations`](Provider::violations).
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.strict = false;
        self
    }

    /// Makes `secret` a violation wherever it shows up in a body. The key of the test configuration
    /// is one from the start.
    pub fn must_not_see(&self, secret: &str) {
        self.log.update(|log| log.secrets.push(secret.to_owned()));
    }

    /// Lists its models only for whoever has [`API_KEY`].
    pub fn want_key(&self) {
        self.log.update(|log| log.wants_key = true);
    }

    /// What belongs into `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The address alone, as Ollama's own protocol wants it.
    pub fn root(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The chat requests so far.
    pub fn requests(&self) -> Vec<Received> {
        self.log.read(|log| log.chats.clone())
    }

    /// Blocks until the chat request number `index` (from 0) came in.
    ///
    /// # Panics
    ///
    /// When it has not come before the deadline.
    pub fn wait_for_request(&self, index: usize) -> Received {
        self.wait(&format!("request {index}"), |log| {
            log.chats.get(index).cloned()
        })
    }

    /// Blocks until the client closed the connection of request number `index` before its answer ended.
    ///
    /// # Panics
    ///
    /// When it has not done so before the deadline.
    pub fn wait_for_hang_up(&self, index: usize) {
        self.wait(
            &format!("the client to hang up on request {index}"),
            |log| log.chats.get(index).filter(|chat| chat.hung_up).map(|_| ()),
        );
    }

    /// Everything that is wrong so far; empty when the test went as the script says.
    pub fn violations(&self) -> Vec<String> {
        self.log.read(|log| {
            let mut all = log.violations.clone();
            let of_conversations = log.conversations.iter().map(|(_, script)| script.len());
            let left = log.script.len() + of_conversations.sum::<usize>();
            if left > 0 {
                all.push(format!("{left} answers of the script were never asked for"));
            }
            all
        })
    }

    fn start(mut log: Log) -> Self {
        log.secrets.push(API_KEY.to_owned());
        let log = Arc::new(Watched::new(log));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime for the scripted provider");
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .expect("a port on loopback");
        let address = listener.local_addr().expect("the address of a bound port");
        let (stop, stopped) = oneshot::channel::<()>();
        let shared = Arc::clone(&log);
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = server::serve(listener, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Provider {
            address,
            log,
            stop: Some(stop),
            thread: Some(thread),
            strict: true,
        }
    }

    fn wait<R>(&self, what: &str, ready: impl FnMut(&Log) -> Option<R>) -> R {
        self.log.wait(DEADLINE, ready).unwrap_or_else(|timed_out| {
            panic!(
                "waiting for {what}: {timed_out}\n{:#?}",
                self.log.read(|log| log.chats.clone())
            )
        })
    }
}

impl Log {
    /// The answer to a request.
    fn answer(&mut self, request: &Received) -> Option<Response> {
        let said = request.messages().iter().find(|it| it["role"] == "user");
        let said = said
            .and_then(|it| it["content"].as_str().or(it["content"][0]["text"].as_str()))
            .unwrap_or_default();
        let mut conversations = self.conversations.iter_mut();
        let its_own = conversations.find(|(text, _)| said.contains(text.as_str()));
        let of_conversation = its_own.and_then(|(_, script)| script.pop_front());
        of_conversation
            .or_else(|| self.script.pop_front())
            .or_else(|| self.then_always.clone())
    }
}

impl Received {
    /// The value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// The conversation that was sent.
    pub fn messages(&self) -> &[Value] {
        let lists = [&self.body["messages"], &self.body["input"]];
        let list = lists.into_iter().find_map(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    /// The names of the tools that were offered.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        tools
            .iter()
            .filter_map(|tool| tool["function"]["name"].as_str().or(tool["name"].as_str()))
            .collect()
    }

    /// The results of calls after the last assistant message, in their order.
    pub fn results(&self) -> Vec<&str> {
        let is_result = |it: &Value| it["role"] == "tool" || it["type"] == "function_call_output";
        let last = self.messages().iter().rev().take_while(|it| is_result(it));
        let texts = last.filter_map(|it| it["content"].as_str().or(it["output"].as_str()));
        let mut results: Vec<&str> = texts.collect();
        results.reverse();
        results
    }

    /// The calls of the last assistant message in chat completions, or of the items before the last results: the tool's name
    /// and the arguments as they are written.
    pub fn calls(&self) -> Vec<(&str, &str)> {
        let messages = self.messages();
        let spoken = messages.iter().rposition(|it| it["role"] == "assistant");
        let of_message = spoken.and_then(|at| messages[at]["tool_calls"].as_array());
        let calls = of_message.into_iter().flatten().map(|it| &it["function"]);
        let asked = messages.iter().rposition(|it| it["role"] == "user");
        let items = messages.iter().skip(asked.unwrap_or_default());
        let items = items.filter(|it| it["type"] == "function_call");
        fn pair(call: &Value) -> (&str, &str) {
            let (name, arguments) = (call["name"].as_str(), call["arguments"].as_str());
            (name.unwrap_or_default(), arguments.unwrap_or_default())
        }
        calls.chain(items).map(pair).collect()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Its panic was printed; the violations below are not lost to it.
            let _ = thread.join();
        }
        // A test that is failing already has its message.
        if self.strict && !std::thread::panicking() {
            assert_eq!(
                self.violations(),
                Vec::<String>::new(),
                "the scripted provider complains"
            );
        }
    }
}
