//! The person at the other end of the chat.

use crate::bindings::dunlin::tool::chat as host;

/// Shows how far a long call is. Never blocks; the host shows the newest message at its own pace.
///
/// `percent` is 0 to 100, or `None` when the end cannot be foreseen. Outside of a component nothing
/// happens.
pub fn progress(message: &str, percent: Option<u8>) {
    if cfg!(target_arch = "wasm32") {
        host::progress(message, percent);
    }
}
