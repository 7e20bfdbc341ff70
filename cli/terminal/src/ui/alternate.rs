//! The alternate screen of the terminal, for what takes the whole window.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::style::Print;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};

use super::edge::{CUT, WRAP};

/// Whether the alternate screen is shown.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Shows the alternate screen, with the mouse and pastes as events and every key as a key.
///
/// # Errors
/// The terminal cannot be used; it is as it was.
pub fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    IS_SHOWN.store(true, Ordering::Relaxed);
    let entered = execute!(
        io::stdout(),
        EnterAlternateScreen,
        // What a terminal shows wider than it was measured must not begin the next row.
        Print(CUT),
        EnableMouseCapture,
        EnableBracketedPaste
    );
    entered.inspect_err(|_| leave())
}

/// Shows the usual screen again, in the mode that it had. Does nothing where it is shown already.
pub fn leave() {
    if !IS_SHOWN.swap(false, Ordering::Relaxed) {
        return;
    }
    // Nothing can be done about a terminal that has gone.
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        Print(WRAP),
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = io::stdout().flush();
    let _ = disable_raw_mode();
}
