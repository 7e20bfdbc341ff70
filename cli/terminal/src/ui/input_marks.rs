//! What stands before the lines in which something is typed during a chat.
//!
//! A reply must not draw any of them, so the guard of replies knows all that are listed here.

macro_rules! prompts {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        /// All of them.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

prompts! {
    /// A message of the chat.
    MESSAGE = "› ";
    /// The answer to a call.
    ALLOW = "  allow? ";
    /// The answer to one of several calls.
    APPROVE = "  approve? ";
    /// The answer to a question of a tool or a server.
    ANSWER = "  answer? ";
    /// What becomes of a plan.
    PLAN = "  plan? ";
    /// What is taken back.
    REWIND = "  rewind? ";
    /// A word about a paused request.
    REQUEST = "  request? ";
    /// A line that was begun before what is asked was there.
    EARLY = "  typed early: ";
    /// A message that is sent after the turn.
    QUEUED = "  queued: ";
    /// A line that had to end for a question.
    KEPT = "  kept: ";
    /// A command that the user runs after the turn, and what comes after it.
    WAITS = "  waits: ";
}
