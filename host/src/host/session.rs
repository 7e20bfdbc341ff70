//! One host may serve several sessions, one after the other.

use super::Host;

impl Host {
    /// Another session begins: the audit log names it from now on, and what was answered until the session ends, what
    /// was set for its tools what was seen of files and how
    /// often was searched is forgotten. Calls that are running belong to the
    /// session in which they began.
    pub fn begin_session(&self, id: &str) {
        let shared = &self.0.shared;
        shared.set_session(id);
        shared.permissions.forget_session();
        shared.history.clear();
        self.forget_servers();
        shared.searches().clear();
    }
}
