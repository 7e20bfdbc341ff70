//! The alternate screen of the terminal, for what takes the whole window.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste,
};
use ratatui::crossterm::style::Print;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};

use super::edge::{CUT, WRAP};

/// Has the terminal report mouse buttons, and motion only while one is pressed: each report is an event to be handled.
const REPORT_BUTTONS: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";

/// How long reports of the mouse may be under way, and the longest time that is waited for the last of them.
const UNDER_WAY: Duration = Duration::from_millis(20);
const LONGEST_REPORTS: Duration = Duration::from_millis(200);

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
        // Some terminals have none, and what is there would show through.
        Clear(ClearType::All),
        // What a terminal shows wider than it was measured must not begin the next row.
        Print(CUT),
        Print(REPORT_BUTTONS),
        EnableBracketedPaste
    );
    entered.inspect_err(|_| leave())
}

/// Reads away what the mouse still reports, and the rest of a paste: they would stand in the next line. For the end of what
/// reads events itself; [`leave`] can come from anywhere.
pub fn end_reports() {
    let _ = execute!(io::stdout(), DisableBracketedPaste, DisableMouseCapture);
    let deadline = Instant::now() + LONGEST_REPORTS;
    while Instant::now() < deadline && event::poll(UNDER_WAY).is_ok_and(|there| there) {
        if event::read().is_err() {
            return;
        }
    }
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
