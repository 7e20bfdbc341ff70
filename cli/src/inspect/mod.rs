//! `dunlin inspect`: a running chat's requests in another terminal.
//!
//! - [`protocol`] has the messages of both sides. It knows no socket and no chat.
//! - [`shared_state`] is what a chat publishes, and the commands that wait for it. The chat never waits for an inspector.
//! - [`remote_pause`] does these commands on the request that is paused.
//! - [`folder`] is where the sockets are, and who may have one.
//! - [`client`] is the inspector's side: it finds chats and attaches to them; [`screen`] shows them.
//! - [`server`] is the chat's side of the socket: two threads for each inspector.
//!
//! `docs/inspect-protocol.md` describes the protocol for others.

pub mod client;
pub mod folder;
pub mod lines;
pub mod logs;
pub mod mirror;
pub mod protocol;
pub mod remote_pause;
pub mod screen;
pub mod server;
pub mod shared_state;
#[cfg(test)]
mod tests;
