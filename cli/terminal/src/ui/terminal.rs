//! The terminal as a device: its size, its mode during a turn, and what was typed too early.
//!
//! While a turn runs nobody reads lines. Echo is off then, so that keys do not appear in the
//! middle of a reply, and so is line editing, so that what waits can be read away at any time. Signals
//! stay on: Ctrl-C interrupts a turn, and takes nothing that was typed with it.

use std::fmt;
use std::io::{self, IsTerminal};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};

use tokio::signal::unix::{SignalKind, signal};

use super::{alternate, edge};

/// The width that is assumed where nobody says, in columns.
const DEFAULT_COLUMNS: usize = 80;

/// The height that is assumed where nobody says, in rows.
const DEFAULT_ROWS: usize = 24;

/// Which standard streams are terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    pub input: bool,
    pub output: bool,
    pub error: bool,
}

impl Streams {
    /// Those of this process.
    pub fn of_process() -> Streams {
        Streams {
            input: io::stdin().is_terminal(),
            output: io::stdout().is_terminal(),
            error: io::stderr().is_terminal(),
        }
    }

    /// Whether somebody is there to talk with.
    pub fn can_ask(self) -> bool {
        self.input && self.output
    }
}

/// Columns and rows of the terminal, as they are now.
pub fn size() -> (usize, usize) {
    let size = termios::tcgetwinsize(io::stdout()).or_else(|_| termios::tcgetwinsize(io::stderr()));
    let or = |value: u16, default| {
        if value == 0 {
            default
        } else {
            usize::from(value)
        }
    };
    match size {
        Ok(size) => (
            or(size.ws_col, DEFAULT_COLUMNS),
            or(size.ws_row, DEFAULT_ROWS),
        ),
        Err(_) => (DEFAULT_COLUMNS, DEFAULT_ROWS),
    }
}

/// The mode of the terminal during a turn. Dropping it restores the mode before, whatever ends the turn.
pub struct TurnMode {
    before: Termios,
}

impl TurnMode {
    /// Enters the mode. `None` where standard input is not a terminal, or one that cannot do it.
    pub fn enter() -> Option<TurnMode> {
        let before = termios::tcgetattr(io::stdin()).ok()?;
        let mut during = before.clone();
        during
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON);
        during
            .local_modes
            .insert(LocalModes::NOFLSH | LocalModes::ISIG);
        // Reading never waits: it takes what is there.
        during.special_codes[SpecialCodeIndex::VMIN] = 0;
        during.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &during).ok()?;
        Some(TurnMode { before })
    }

    /// Enters the mode once more: a shell that had the terminal meanwhile has changed it. What is restored in the end
    /// stays what it was.
    pub fn enter_again() {
        std::mem::forget(TurnMode::enter());
    }
}

impl TurnMode {
    /// The mode in which a question outside a turn is asked: what is typed can be taken away at any time, nothing is
    /// echoed, and Ctrl-C is a key, so that it cannot end the program before the terminal is given back. `None` in a turn,
    /// which has a mode of its own, and where standard input is not a terminal.
    pub fn question() -> Option<TurnMode> {
        let before = termios::tcgetattr(io::stdin()).ok()?;
        if !before.local_modes.contains(LocalModes::ICANON) {
            return None;
        }
        let mut during = before.clone();
        during
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        // Reading never waits: it takes what is there.
        during.special_codes[SpecialCodeIndex::VMIN] = 0;
        during.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &during).ok()?;
        Some(TurnMode { before })
    }

    /// Line editing and echo by the terminal itself, for the one that cannot move its cursor: there a
    /// question within a turn is answered like this.
    pub fn lines() -> Option<TurnMode> {
        TurnMode::with(|modes| {
            modes.insert(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        })
    }

    /// The same without echo, for a line that nobody may see.
    pub fn unseen() -> Option<TurnMode> {
        TurnMode::with(|modes| {
            modes.insert(LocalModes::ICANON | LocalModes::ISIG);
            modes.remove(LocalModes::ECHO);
        })
    }

    /// As during a turn, but Ctrl-C is a key: a line that will read it is away for a moment. The terminal must not take
    /// Ctrl-D for itself either, which it would as the end of a line.
    pub fn keys() -> Option<TurnMode> {
        TurnMode::with(|modes| {
            modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        })
    }

    fn with(change: impl FnOnce(&mut LocalModes)) -> Option<TurnMode> {
        let before = termios::tcgetattr(io::stdin()).ok()?;
        let mut during = before.clone();
        change(&mut during.local_modes);
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &during).ok()?;
        Some(TurnMode { before })
    }
}

impl Drop for TurnMode {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that has gone.
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Waits for a signal that ends the program, gives the terminal back in the mode that it has at this call, and lets the
/// signal have its effect. To be called outside of a turn; without it a shell would come back without echo.
pub fn give_back_when_ended() -> impl Future<Output = ()> + Send {
    // Not when the future is first polled: a turn may have begun by then.
    let before = termios::tcgetattr(io::stdin());
    async move {
        if let Ok(before) = before {
            give_back(before).await;
        }
    }
}

async fn give_back(before: Termios) {
    let (Ok(mut terminate), Ok(mut hang_up)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    ) else {
        return;
    };
    let kind = tokio::select! {
        _ = terminate.recv() => SignalKind::terminate(),
        _ = hang_up.recv() => SignalKind::hangup(),
    };
    alternate::leave();
    let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &before);
    if Streams::of_process().output {
        // The signal may have come while rows were written that the terminal cuts at the edge.
        let last = format!("{}{}", edge::WRAP, marks_of_pastes(false));
        let _ = rustix::io::write(io::stdout(), last.as_bytes());
    }
    // Fails for signals that do not exist only.
    let _ = signal_hook::low_level::emulate_default_handler(kind.as_raw_value());
}

impl fmt::Debug for TurnMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnMode").finish_non_exhaustive()
    }
}

/// What has the terminal put marks around what is pasted, or not.
pub(super) fn marks_of_pastes(marks: bool) -> &'static str {
    match marks {
        true => "\x1b[?2004h",
        false => "\x1b[?2004l",
    }
}

/// Reads away what was typed and not read yet. Never waits, and reads nothing while another job has the
/// terminal: its keys are not ours, and asking for them would stop this program.
pub fn take_typed() -> Vec<u8> {
    let mut typed = Vec::new();
    let mut buffer = [0; 1024];
    let is_ours = termios::tcgetpgrp(io::stdin()).map_or(true, |group| group == getpgrp());
    while is_ours && is_something_typed() {
        match rustix::io::read(io::stdin(), &mut buffer) {
            Ok(read @ 1..) => typed.extend_from_slice(buffer.get(..read).unwrap_or_default()),
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) | Err(_) => break,
        }
    }
    typed
}

fn is_something_typed() -> bool {
    is_typed(state(&Timespec::default()))
}

/// Whether nobody will ever type anything more: the terminal was closed. It tells programs that have it as their own by a
/// signal, and others only in this way.
pub fn is_gone() -> bool {
    state(&Timespec::default()).intersects(GONE)
}

/// What is said of a terminal that was closed.
const GONE: PollFlags = PollFlags::HUP.union(PollFlags::ERR).union(PollFlags::NVAL);

/// A terminal that was closed is always ready and never typed on.
fn is_typed(state: PollFlags) -> bool {
    state.contains(PollFlags::IN) && !state.intersects(GONE)
}

/// What the kernel says of standard input within a time.
fn state(time: &Timespec) -> PollFlags {
    let stdin = io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    loop {
        match poll(&mut waiting, Some(time)) {
            // An interrupted wait begins anew.
            Err(rustix::io::Errno::INTR) => {}
            Ok(1..) => return waiting[0].revents(),
            Ok(0) | Err(_) => return PollFlags::empty(),
        }
    }
}

/// Waits until something is typed, `true`, or the time is over.
pub fn is_typed_within(time: Duration) -> bool {
    Timespec::try_from(time).is_ok_and(|time| is_typed(state(&time)))
}
