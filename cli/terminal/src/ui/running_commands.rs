//! What can be typed while a turn runs and acts at once, as a line of its own.

/// Takes such lines. Everything else that is typed is kept for the next message.
pub trait RunningCommands: Send {
    /// Whether the line is such a command.
    fn takes(&self, line: &str) -> bool;

    /// Does what it says. Must not block.
    fn run(&self, line: &str);

    /// Whether the line is another command. It waits for the user behind the turn, with what comes after it.
    fn waits(&self, line: &str) -> bool;

    /// Whether a message ends with these lines. Otherwise the next one belongs to it.
    fn is_complete(&self, lines: &str) -> bool;

    /// Shift+Tab was pressed. Must not block.
    fn next_mode(&self);
}
