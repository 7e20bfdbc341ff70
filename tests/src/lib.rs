//! The stage on which the whole program is tested: what surrounds it is played, Dunlin is real.
//!
//! A test builds an [`Environment`] (a home, a project and a configuration of its own, nothing of the
//! machine's), points it at a [`Provider`] that plays a script, and runs the program either with pipes
//! ([`Environment::run`]) or in a pseudo-terminal ([`Environment::terminal`]). Nothing leaves loopback.
//!
//! Two rules keep these tests both fast and honest:
//!
//! * Nobody sleeps. Whoever waits names the condition ([`Watched`]) and is woken by the change itself:
//!   a request came in, the screen shows a word, the program ended. The deadline is generous and only
//!   there so that a hang fails with a picture of what was seen instead of blocking the run.
//! * The fake side is strict. The provider checks every request it receives for what a real server
//!   would refuse, and a script that was not played to its end fails the test, too.
//!
//! The [`guests`] are the other half: each is a plugin that tries one hostile thing. `build.rs`
//! compiles them the way the built-in tools are compiled, and a [`sandbox::Sandbox`] lets them loose on
//! a real host without the program around it.

mod browser;
mod changes;
mod environment;
pub mod guests;
#[cfg(test)]
mod imports;
mod invocation;
mod mcp_client;
mod normalise;
pub mod provider;
pub mod quirks;
mod rpc_client;
pub mod sandbox;
mod site;
mod terminal;
mod watched;

pub use browser::{Browser, Tab};
pub use changes::Changes;
pub use environment::{Environment, GUESTS_VARIABLE};
pub use invocation::{Invocation, Output, Running};
pub use mcp_client::McpClient;
pub use provider::{API_KEY, Gate, Ollama, Provider, Received, Response};
pub use rpc_client::RpcClient;
pub use site::{Page, Site};
pub use terminal::{Key, Screen, Terminal};
pub use watched::{DEADLINE, TimedOut, Watched};

/// The program under test: Dunlin, built as a binary of this package so that Cargo says where it is.
///
/// Only tests and benchmarks of this package may use it; a library does not know its binaries.
#[macro_export]
macro_rules! program {
    () => {
        env!("CARGO_BIN_EXE_dunlin-under-test")
    };
}
