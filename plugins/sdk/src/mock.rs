//! A host for unit tests: `cargo test` makes whole calls of a tool with it, on your machine and without Dunlin.
//!
//! [The tutorial](crate::tutorial) has an example.
//!
//! Files are in memory, and the web has the answers that the test prepares. Nothing is asked about: everything is granted
//! except [`MockHost::denied`], whether the plan announces it or not. The rules and limits of the real host are not repeated
//! here, and [`files::edit`](crate::files::edit), [`files::replace`](crate::files::replace), commands, searches, embeddings and
//! [`tree`](crate::tree) fail with `Unsupported`. `dunlin plugin test` runs the component with the real host, for all of that.

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;

use crate::error::Failure;
use crate::memory::{Before, State, files, web};
use crate::plugin::{Output, Plan};
use crate::tool::{self, Tool};
use crate::web::Request;

/// A host in memory. What a tool changes is kept from one call to the next, as in a session.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct MockHost {
    state: Rc<RefCell<State>>,
}

impl MockHost {
    /// An empty project.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has a file, and the folders above it.
    pub fn file(self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.with(|state| state.files.insert(files::normal(path), content.into()))
    }

    /// Has the user attach a file to a message.
    pub fn attached(self, path: &str) -> Self {
        self.with(|state| state.attached.insert(files::normal(path)))
    }

    /// Answers the requests of exactly this address. Several answers are given in turn, and the last one again and again.
    pub fn answer(
        self,
        url: &str,
        status: u16,
        media_type: &str,
        body: impl Into<Vec<u8>>,
    ) -> Self {
        let answer = web::Response::new(url, status, media_type, body.into());
        self.with(|state| {
            let answers = state.answers.entry(url.to_owned()).or_default();
            answers.push_back(answer);
        })
    }

    /// Denies a path or an address, spelled as the tool does.
    pub fn denied(self, target: &str) -> Self {
        self.with(|state| state.denied.insert(target.to_owned()))
    }

    /// Has a setting. Those that the test does not set are missing: the defaults of serde are used for them.
    pub fn setting(self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.with(|state| state.settings.insert(name.to_owned(), value.into()))
    }

    /// Has something in the [`store`](crate::store).
    pub fn stored(self, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.with(|state| state.store.insert(name.to_owned(), bytes.into()))
    }

    /// Answers the next question of [`chat::ask`](crate::chat::ask). Without a reply nobody is there.
    pub fn reply(self, text: &str) -> Self {
        self.with(|state| state.replies.push_back(text.to_owned()))
    }

    /// Stops the clock at this time, in milliseconds since 1970-01-01 UTC. It is that of the machine otherwise.
    pub fn time_ms(self, time_ms: u64) -> Self {
        self.with(|state| state.time_ms = Some(time_ms))
    }

    /// Has a local time that many minutes ahead of UTC.
    pub fn utc_offset_minutes(self, minutes: i32) -> Self {
        self.with(|state| state.utc_offset_minutes = minutes)
    }

    /// Prepares a call. The arguments are JSON: a text, or what `serde_json::json!` makes.
    pub fn prepare<T: Tool>(&self, arguments: impl Display) -> Result<Plan, Failure> {
        self.state.borrow_mut().is_preparing = true;
        let plan = self.call(|| tool::prepare::<T>(&arguments.to_string()));
        self.state.borrow_mut().is_preparing = false;
        plan
    }

    /// Makes a whole call: prepares it, and runs it.
    pub fn run<T: Tool>(&self, arguments: impl Display) -> Result<Output, Failure> {
        let arguments = arguments.to_string();
        let _plan: Plan = self.prepare::<T>(&arguments)?;
        self.call(|| tool::run::<T>(&arguments))
    }

    /// Calls a part of a tool, as within `run`.
    pub fn call<T>(&self, part: impl FnOnce() -> T) -> T {
        let _before = Before::enter(&self.state);
        part()
    }

    /// What is in a file; `None` where there is none.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.state.borrow();
        state.files.get(&files::normal(path)).cloned()
    }

    /// The text of a file; `None` where there is none. Bytes that are not UTF-8 are replaced.
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// All files, sorted.
    pub fn paths(&self) -> Vec<String> {
        let state = self.state.borrow();
        let paths = state.files.keys();
        paths.map(|path| path.display().to_string()).collect()
    }

    /// What the [`store`](crate::store) keeps under a name.
    pub fn kept(&self, name: &str) -> Option<Vec<u8>> {
        self.state.borrow().store.get(name).cloned()
    }

    /// The requests that were sent.
    pub fn sent(&self) -> Vec<Request> {
        let state = self.state.borrow();
        let request = |sent: &web::Request| {
            let request = match &*sent.body.borrow() {
                None => Request::get(&sent.url),
                Some(body) => Request::post(&sent.url, body.clone()),
            };
            let headers = sent.headers.borrow();
            headers.iter().fold(request, |request, (name, value)| {
                request.header(name, value)
            })
        };
        state.sent.iter().map(request).collect()
    }

    /// What [`chat::ask`](crate::chat::ask) asked.
    pub fn questions(&self) -> Vec<String> {
        self.state.borrow().questions.clone()
    }

    fn with<T>(self, change: impl FnOnce(&mut State) -> T) -> Self {
        change(&mut self.state.borrow_mut());
        self
    }
}
