//! `dunlin inspect`: a running chat's requests in another terminal.
//!
//! - [`protocol`] has the messages of both sides. It knows no socket and no chat.
//! - [`board`] is what a chat publishes, and the commands that wait for it. The chat never waits for an inspector.
//! - [`held`] does these commands on the request that is paused.
//! - [`folder`] is where the sockets are, and who may have one.
//! - [`client`] is the inspector's side: it finds chats and attaches to them; [`screen`] shows them.
//! - [`server`] is the chat's side of the socket: two threads for each inspector.
//!
//! `docs/inspect-protocol.md` describes the protocol for others.

pub mod board;
pub mod client;
pub mod folder;
pub mod held;
pub mod lines;
pub mod mirror;
pub mod protocol;
pub mod screen;
pub mod server;
#[cfg(test)]
mod tests;
