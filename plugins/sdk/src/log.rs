//! Notes for whoever looks into a fault. Neither the model nor the user sees them during a chat.
//!
//! Never blocks and never fails: what passes the host's limits (4 KiB a message, 1,000 messages a
//! call) is cut or dropped. Outside of a component, as in a unit test, it is printed. `println!` in a component comes into the
//! same log with the target `wasm32-wasip2`, and nowhere with `wasm32-unknown-unknown`.

use crate::host::log as host;

/// For the author of the tool.
pub fn debug(message: &str) {
    write(host::Level::Debug, message);
}

/// Something worth knowing later.
pub fn info(message: &str) {
    write(host::Level::Info, message);
}

/// Something odd that the tool coped with.
pub fn warn(message: &str) {
    write(host::Level::Warn, message);
}

/// Something that spoiled the call.
pub fn error(message: &str) {
    write(host::Level::Error, message);
}

fn write(level: host::Level, message: &str) {
    host::log(level, message);
}
