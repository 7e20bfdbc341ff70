//! The program in a pseudo-terminal: a keyboard on one side, a screen on the other.
//!
//! A thread reads what the program writes into a terminal emulator; tests wait for what the emulator
//! shows, so that colours, redrawn lines and cursor movements count as what a person would see.

mod screen;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::LocalModes;

pub use screen::Screen;
use screen::Seen;

use crate::invocation::{Invocation, spawn_lock};
use crate::watched::{DEADLINE, Watched};

/// A usual window, and wide enough that temporary paths are not cut.
const ROWS: NonZeroU16 = NonZeroU16::new(40).expect("not zero");
const COLUMNS: NonZeroU16 = NonZeroU16::new(120).expect("not zero");

/// The program in a pseudo-terminal. Dropping it kills the program.
pub struct Terminal {
    seen: Arc<Watched<Seen>>,
    keyboard: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    id: Pid,
    mode_before: String,
    threads: Vec<JoinHandle<()>>,
}

/// A key with a meaning of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Enter,
    AltEnter,
    Tab,
    Escape,
    Backspace,
    Up,
    Down,
    CtrlC,
    CtrlD,
}

impl Terminal {
    pub(crate) fn open(invocation: &Invocation<'_>) -> Self {
        let mut command = CommandBuilder::new(&invocation.program);
        command.args(&invocation.arguments);
        command.cwd(&invocation.folder);
        command.env_clear();
        for (name, value) in invocation.environment.variables() {
            command.env(name, value);
        }
        for (name, value) in &invocation.variables {
            command.env(name, value);
        }
        let size = PtySize {
            rows: ROWS.get(),
            cols: COLUMNS.get(),
            pixel_width: 0,
            pixel_height: 0,
        };
        let (master, mut child, mode_before) = {
            let _lock = spawn_lock();
            let pair = native_pty_system()
                .openpty(size)
                .expect("a pseudo-terminal");
            let mode = mode(&*pair.master);
            let child = pair
                .slave
                .spawn_command(command)
                .expect("a program to start");
            (pair.master, child, mode)
        };
        let id = child
            .process_id()
            .and_then(|id| Pid::from_raw(id.cast_signed()));
        let root = invocation.environment.root().to_owned();
        let seen = Arc::new(Watched::new(Seen::new(ROWS, COLUMNS, root)));
        let reader = {
            let mut output = master.try_clone_reader().expect("the terminal's output");
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                let mut buffer = [0; 16 * 1024];
                while let Ok(count @ 1..) = output.read(&mut buffer) {
                    seen.update(|seen| seen.show(&buffer[..count]));
                }
                seen.update(Seen::close);
            })
        };
        let waiter = {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                let status = child.wait().ok().filter(|status| status.signal().is_none());
                let code = status.map(|status| status.exit_code().cast_signed());
                seen.update(|seen| seen.ended = Some(code));
            })
        };
        Terminal {
            seen,
            keyboard: master.take_writer().expect("the terminal's input"),
            master,
            id: id.expect("the id of a started program"),
            mode_before,
            threads: vec![reader, waiter],
        }
    }

    /// Types text, without Enter.
    ///
    /// # Panics
    ///
    /// When the terminal is closed.
    pub fn type_text(&mut self, text: &str) {
        self.send(text.as_bytes());
    }

    /// Types a line and Enter.
    ///
    /// # Panics
    ///
    /// When the terminal is closed.
    pub fn type_line(&mut self, line: &str) {
        self.type_text(line);
        self.press(Key::Enter);
    }

    /// Pastes text, the way a terminal does in bracketed-paste mode.
    ///
    /// # Panics
    ///
    /// When the terminal is closed.
    pub fn paste(&mut self, text: &str) {
        self.send(format!("\x1b[200~{text}\x1b[201~").as_bytes());
    }

    /// Presses a key.
    ///
    /// # Panics
    ///
    /// When the terminal is closed.
    pub fn press(&mut self, key: Key) {
        self.send(key.bytes());
    }

    /// Blocks until `text` has been shown, on the screen or above it.
    ///
    /// # Panics
    ///
    /// When it is not shown before the deadline or the end of the program.
    pub fn wait_for(&self, text: &str) -> Screen {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Blocks until the screen is as `ready` wants it; `what` names that in the failure.
    ///
    /// # Panics
    ///
    /// When it does not become so before the deadline or the end of the program.
    pub fn wait_until(&self, what: &str, mut ready: impl FnMut(&Screen) -> bool) -> Screen {
        let found = self.seen.wait(DEADLINE, |seen| {
            let screen = seen.screen();
            if ready(&screen) {
                Some(Ok(screen))
            } else {
                seen.over().then_some(Err(()))
            }
        });
        match found {
            Ok(Ok(screen)) => screen,
            Ok(Err(())) => panic!("the program ended before it showed {what}:\n{self:?}"),
            Err(timed_out) => panic!("waiting for {what}: {timed_out}\n{self:?}"),
        }
    }

    /// Blocks until `ready` finds something in what the program has written behind the first `from` bytes and in the line of
    /// the cursor. However long the chat is, it costs as much as that output.
    ///
    /// # Panics
    ///
    /// When it finds nothing before the deadline or the end of the program.
    pub fn wait_for_output<R>(
        &self,
        what: &str,
        from: usize,
        mut ready: impl FnMut(&[u8], &str) -> Option<R>,
    ) -> R {
        let found = self.seen.wait(DEADLINE, |seen| {
            let written = seen.bytes.get(from..).unwrap_or_default();
            match ready(written, &seen.cursor_line()) {
                Some(found) => Some(Ok(found)),
                None => seen.over().then_some(Err(())),
            }
        });
        match found {
            Ok(Ok(found)) => found,
            Ok(Err(())) => panic!("the program ended before it showed {what}:\n{self:?}"),
            Err(timed_out) => panic!("waiting for {what}: {timed_out}\n{self:?}"),
        }
    }

    /// How many bytes the program has written.
    pub fn written(&self) -> usize {
        self.seen.read(|seen| seen.bytes.len())
    }

    /// Blocks until the program reads no keys but is there for Ctrl-C: a turn has begun.
    ///
    /// # Panics
    ///
    /// When that is not so before the deadline.
    pub fn wait_hands_off(&self) {
        let end = Instant::now() + DEADLINE;
        loop {
            let flags = self
                .master
                .get_termios()
                .map_or(0, |mode| mode.local_flags.bits());
            let modes = LocalModes::from_bits_retain(flags);
            if modes.contains(LocalModes::ISIG) && !modes.contains(LocalModes::ECHO) {
                return;
            }
            assert!(Instant::now() < end, "no turn begins:\n{self:?}");
            // Nobody tells of a terminal's mode when it changes.
            std::thread::yield_now();
        }
    }

    /// Presses a key and measures how long it takes until the screen is as `ready` wants it.
    ///
    /// # Panics
    ///
    /// As [`wait_until`](Terminal::wait_until).
    pub fn measure(
        &mut self,
        key: Key,
        what: &str,
        ready: impl FnMut(&Screen) -> bool,
    ) -> Duration {
        let start = Instant::now();
        self.press(key);
        self.wait_until(what, ready);
        start.elapsed()
    }

    /// The screen as it is now. Only of use after something was waited for.
    pub fn screen(&self) -> Screen {
        self.seen.read(Seen::screen)
    }

    /// Asserts that `text` was not shown up to now. Wait for something that comes later first.
    ///
    /// # Panics
    ///
    /// When it was shown.
    pub fn assert_absent(&self, text: &str) {
        assert!(
            !self.screen().contains(text),
            "{text:?} must not be shown:\n{self:?}"
        );
    }

    /// Everything the program has written, with its escape sequences.
    pub fn bytes(&self) -> Vec<u8> {
        self.seen.read(|seen| seen.bytes.clone())
    }

    /// What the program did to the terminal apart from writing on it: bells, titles, the clipboard,
    /// sequences that the emulator does not know. Foreign text must never cause one.
    pub fn effects(&self) -> Vec<String> {
        self.seen.read(|seen| seen.effects().to_vec())
    }

    /// Changes the size of the window.
    ///
    /// # Panics
    ///
    /// When the terminal is closed.
    pub fn resize(&self, rows: NonZeroU16, columns: NonZeroU16) {
        let size = PtySize {
            rows: rows.get(),
            cols: columns.get(),
            pixel_width: 0,
            pixel_height: 0,
        };
        self.seen.update(|seen| seen.resize(rows, columns));
        self.master.resize(size).expect("an open terminal");
    }

    /// The process id of the program.
    pub fn id(&self) -> Pid {
        self.id
    }

    /// Waits for the end of the program and asserts that it left the terminal as it found it. Returns
    /// its exit status, `None` after a signal.
    ///
    /// # Panics
    ///
    /// When it does not end before the deadline, or the terminal is in another mode afterwards.
    pub fn wait_end(&self) -> Option<i32> {
        let ended = self
            .seen
            .wait(DEADLINE, |seen| if seen.over() { seen.ended } else { None });
        let Ok(status) = ended else {
            panic!("the program does not end:\n{self:?}")
        };
        assert_eq!(
            mode(&*self.master),
            self.mode_before,
            "the terminal is left in another mode"
        );
        status
    }

    fn send(&mut self, bytes: &[u8]) {
        self.keyboard.write_all(bytes).expect("an open terminal");
        self.keyboard.flush().expect("an open terminal");
    }
}

impl Key {
    fn bytes(self) -> &'static [u8] {
        match self {
            Key::Enter => b"\r",
            Key::AltEnter => b"\x1b\r",
            Key::Tab => b"\t",
            Key::Escape => b"\x1b",
            Key::Backspace => b"\x7f",
            Key::Up => b"\x1b[A",
            Key::Down => b"\x1b[B",
            Key::CtrlC => b"\x03",
            Key::CtrlD => b"\x04",
        }
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (screen, ended) = self.seen.read(|seen| (seen.screen(), seen.ended));
        let state = match ended {
            None => "running".to_owned(),
            Some(None) => "ended by a signal".to_owned(),
            Some(Some(status)) => format!("ended with status {status}"),
        };
        let text = screen.text.trim_end();
        let (line, column) = (screen.cursor_line, screen.cursor_column);
        write!(
            f,
            "===== screen ({state})\n{text}\n===== cursor at {column} in {line:?}"
        )
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.seen.read(|seen| seen.ended.is_none()) {
            // With everything it started, or the reader would wait for them. Fails harmlessly when the
            // program ended just now.
            let _ = kill_process_group(self.id, Signal::KILL);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The terminal's mode in a form that can be compared and printed.
fn mode(master: &(dyn MasterPty + Send)) -> String {
    format!("{:?}", master.get_termios())
}
