//! What an event of an app may use up, of what the app has for longer.

use crate::audit::LogQuota;

/// What an event of an app may use up.
pub(crate) struct AppAllowance {
    pub(crate) audit_quota: LogQuota,
    /// What its messages may fill of their log.
    pub(crate) message_quota: LogQuota,
    pub(crate) counts: AppCounts,
}

/// What an app has asked and sent in the minute that runs, in whichever instance.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AppCounts {
    pub(crate) questions: usize,
    pub(in crate::capability) requests: AppRequests,
}

/// How many requests an app has sent over the web in this minute.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::capability) struct AppRequests {
    pub(super) count: usize,
    /// Whether more were refused, and whether that was said.
    pub(super) are_too_many: bool,
    was_said: bool,
}

impl AppRequests {
    /// Whether requests were refused, and nobody was told yet.
    pub(in crate::capability) fn take_excess(&mut self) -> bool {
        self.are_too_many && !std::mem::replace(&mut self.was_said, true)
    }
}
