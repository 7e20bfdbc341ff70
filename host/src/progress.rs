//! Shows the user how far a running call is.

/// Shows how far a running call is.
pub trait Progress: Send + Sync {
    /// A message, escaped and short enough for one line, and a percentage of at most 100.
    /// Called from within the call: must not block.
    fn progress(&self, call: &str, message: &str, percent: Option<u8>);

    /// A hook of the call takes longer than a moment: it is said like progress; `None`: it has ended.
    fn hook(&self, call: &str, hook: Option<&str>) {
        if let Some(hook) = hook {
            self.progress(call, hook, None);
        }
    }

    /// The newest output of a running command, as it comes and at a pace that can be shown; where more comes than
    /// that, only the end of it. Raw bytes, cut anywhere: escape before showing. Called from within the call: must
    /// not block.
    fn output(&self, _call: &str, _bytes: &[u8]) {}
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn progress(&self, _call: &str, _message: &str, _percent: Option<u8>) {}
}
