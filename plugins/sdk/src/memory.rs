//! What a mocked host holds. The functions of the host find it in the thread that calls them.

pub mod files;
pub mod others;
#[cfg(test)]
mod tests;
pub mod web;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;

use self::web::{Request, Response};
use crate::bindings::dunlin::tool::types as wire;

pub type Result<T> = std::result::Result<T, wire::Error>;

thread_local! {
    static CURRENT: RefCell<Option<Rc<RefCell<State>>>> = const { RefCell::new(None) };
}

#[derive(Debug, Default)]
pub struct State {
    pub is_preparing: bool,
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    pub attached: BTreeSet<PathBuf>,
    pub denied: BTreeSet<String>,
    pub answers: BTreeMap<String, VecDeque<Response>>,
    pub sent: Vec<Request>,
    pub settings: serde_json::Map<String, serde_json::Value>,
    pub store: BTreeMap<String, Vec<u8>>,
    pub replies: VecDeque<String>,
    pub questions: Vec<String>,
    pub time_ms: Option<u64>,
    pub utc_offset_minutes: i32,
    pub random: u8,
}

/// The host that the thread had before. It is back after a panic as well: the next test may have the same thread.
pub struct Before(Option<Rc<RefCell<State>>>);

impl Before {
    /// Makes this the host of the thread until it is dropped.
    pub fn enter(state: &Rc<RefCell<State>>) -> Self {
        Self(CURRENT.replace(Some(Rc::clone(state))))
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// The host of this thread, if it has one.
pub fn current<T>(then: impl FnOnce(&mut State) -> T) -> Option<T> {
    let state = CURRENT.with_borrow(Clone::clone)?;
    let mut state = state.borrow_mut();
    Some(then(&mut state))
}

/// For what works in `prepare` as well.
pub fn anywhere<T>(then: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
    current(then)
        .unwrap_or_else(|| unsupported("there is no host here: a test has one in dunlin_sdk::mock"))
}

/// For what works in `run` only.
pub fn in_run<T>(then: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
    anywhere(|state| match state.is_preparing {
        true => unsupported("`prepare` has the log, the clock, random numbers and settings only"),
        false => then(state),
    })
}

pub fn is_there() -> Result<()> {
    anywhere(|_| Ok(()))
}

pub fn unsupported<T>(message: &str) -> Result<T> {
    Err(wire::Error::Unsupported(message.to_owned()))
}

impl State {
    pub fn check(&self, target: wire::Target, operation: wire::Operation) -> Result<()> {
        let (wire::Target::Path(text) | wire::Target::Url(text)) = &target else {
            return Ok(());
        };
        match self.denied.contains(text) {
            true => Err(wire::Error::Denied(wire::Need { target, operation })),
            false => Ok(()),
        }
    }
}
