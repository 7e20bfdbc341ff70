//! The page of an app, as the host sees it.

/// What the program of an app talks to. Called in the middle of an event: must not block.
///
/// All texts are the program's: escape them before showing.
pub trait AppPage: Send + Sync {
    /// Hands an event to the handlers that the page registered for it. `payload` should be JSON.
    fn emit(&self, event: &str, payload: &str);

    /// The program has logged something, or the host says what happened to it.
    fn logged(&self, level: LogLevel, text: &str);
}

/// How important a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For whoever looks into a fault.
    Debug,
    /// What happens.
    Info,
    /// What may be wrong.
    Warn,
    /// What is wrong.
    Error,
}
