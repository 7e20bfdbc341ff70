//! The keyboard: lines that are read, and what was typed before anybody wanted to read it.
//!
//! During a turn nobody reads lines, and [`Ui::escape`] listens: what is typed is taken out of the terminal as it
//! comes and kept, and Esc ends the turn. Whoever reads a line meanwhile has the keyboard alone.

use std::borrow::Cow;
use std::future::pending;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::{History, MemHistory};
use rustyline::validate::Validator;
use rustyline::{Cmd, Config, Editor, Helper, KeyCode, KeyEvent, Modifiers, Movement};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use unicode_width::UnicodeWidthStr;

use super::keys::SEQUENCE_MILLIS;
use super::legible::{COLOR_MODE, legible};
use super::style::{Label, Styles};
use super::{Sink, Typed, Ui, lock, terminal};

/// How long nobody may have typed before an answer is read. Longer than the pauses within a paste over a
/// slow line and within a word; shorter than reading the question takes.
const SILENCE: Duration = Duration::from_millis(250);

/// Whoever types for so long before the prompt is no person: the question counts as interrupted.
const LONGEST_TYPING: Duration = Duration::from_secs(20);

impl Ui {
    /// Shows the question above and reads the answer to it, and to nothing else: what was typed before
    /// is put aside for the next message.
    pub fn ask_line(&self, above: &str, prompt: &str) -> Typed {
        self.ask_line_with(above, || read_line(prompt, self.styles))
    }

    /// The same with a line editor of the caller's, which must know nothing of what was typed before.
    pub fn ask_line_with(&self, above: &str, read: impl FnOnce() -> Typed) -> Typed {
        let _keyboard = self.hold_keyboard();
        let live = {
            let mut screen = self.screen();
            self.end_waiting(&mut screen);
            self.end_line(&mut screen);
            let live = screen.live.clone();
            self.take_live_away(&mut screen);
            self.write(&mut screen, Sink::Out, &format!("{above}\n"));
            live
        };
        if self.streams.input && !self.wait_for_silence() {
            return Typed::Interrupted;
        }
        let lines = self.dumb.then(terminal::TurnMode::lines);
        let typed = read();
        drop(lines);
        let mut screen = self.screen();
        if let Some(live) = live {
            self.write(&mut screen, self.status_sink(), &live);
            screen.live = Some(live);
        }
        typed
    }

    /// Reads a line outside a turn, such as a choice during set-up.
    pub fn plain_line(&self, prompt: &str) -> Typed {
        let _keyboard = self.hold_keyboard();
        read_line(prompt, self.styles)
    }

    /// Asks for a yes or a no outside a turn, until it is one of them.
    pub fn yes_or_no(&self, question: &str) -> YesOrNo {
        loop {
            match self.plain_line(question) {
                Typed::Line(line) => match line.trim() {
                    "y" | "yes" => return YesOrNo::Yes,
                    "n" | "no" => return YesOrNo::No,
                    _ => self.status("Type y or n, then Enter."),
                },
                Typed::End => return YesOrNo::No,
                Typed::Interrupted => return YesOrNo::Interrupted,
            }
        }
    }

    /// The same, where an interruption is a no.
    pub fn confirms(&self, question: &str) -> bool {
        self.yes_or_no(question) == YesOrNo::Yes
    }

    /// Reads a line outside a turn without showing it.
    pub fn hidden_line(&self, prompt: &str) -> Typed {
        let _keyboard = self.hold_keyboard();
        // Where there is no line editor, the terminal itself would show it.
        let _unseen = self.dumb.then(terminal::TurnMode::unseen);
        read_with(prompt, self.styles, Hidden)
    }

    /// Lets somebody else read the keyboard, with nobody beside them.
    pub fn with_keyboard<T>(&self, read: impl FnOnce() -> T) -> T {
        let _keyboard = self.hold_keyboard();
        read()
    }

    /// Reads away what was typed during a turn and keeps it, and does what Ctrl-V does. Only while the terminal is in
    /// [`terminal::TurnMode`].
    pub fn put_early_typing_aside(&self) {
        if self.streams.input {
            let toggles = lock(&self.early).feed(&terminal::take_typed());
            if toggles {
                self.toggle_steps();
            }
        }
    }

    /// Waits for Esc, and keeps what else is typed. Only while the terminal is in [`terminal::TurnMode`] or a line
    /// is being read, which is left alone. Dropping the future ends the listening; no key is lost.
    ///
    /// Where the terminal cannot be listened to, Esc never comes.
    pub async fn escape(&self) {
        #[expect(
            deprecated,
            reason = "standard input stays open as long as the program, which is all that its successor wants promised"
        )]
        let keys = AsyncFd::with_interest(io::stdin(), Interest::READABLE);
        let Ok(keys) = keys else {
            return pending().await;
        };
        loop {
            let waits = lock(&self.early).waits();
            let nothing_follows = async {
                match waits {
                    Some(time) => tokio::time::sleep(time).await,
                    None => pending().await,
                }
            };
            let mut is_late = false;
            tokio::select! {
                ready = keys.readable() => match ready {
                    // Before reading: what comes after this makes it ready again.
                    Ok(mut ready) => ready.clear_ready(),
                    Err(_) => return pending().await,
                },
                () = self.keyboard_free.notified() => {}
                () = nothing_follows => is_late = true,
            }
            let _keyboard = match self.keyboard.try_lock() {
                Ok(keyboard) => keyboard,
                Err(TryLockError::Poisoned(keyboard)) => keyboard.into_inner(),
                // Whoever reads a line says when they are done.
                Err(TryLockError::WouldBlock) => continue,
            };
            self.put_early_typing_aside();
            if is_late && lock(&self.early).take_escape() {
                return;
            }
        }
    }

    /// Has the keyboard alone until the value is dropped.
    fn hold_keyboard(&self) -> Keyboard<'_> {
        Keyboard {
            ui: self,
            held: Some(lock(&self.keyboard)),
        }
    }

    /// Puts typing aside until it pauses, so that neither the middle of a paste nor a word begun too early
    /// becomes an answer. `false`: it does not pause, or ends with Esc.
    fn wait_for_silence(&self) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < LONGEST_TYPING {
            self.put_early_typing_aside();
            if !terminal::is_typed_within(SILENCE) {
                // Pressed just before the question: the turn was to end, and it does.
                return !lock(&self.early).take_escape();
            }
        }
        false
    }

    /// Keeps a line that answered nothing for the next message.
    pub fn keep_for_later(&self, line: &str) {
        lock(&self.early).keep_line(line);
    }

    /// Prints something in place of the line that is being edited, which has to be drawn again then. It must be on
    /// one row.
    pub fn say_above_line(&self, say: impl FnOnce()) {
        self.write(&mut self.screen(), Sink::Out, super::CLEAR_LINE);
        say();
    }

    /// Lets another program have the terminal, in the mode that programs expect. Ctrl-C is its own meanwhile.
    /// Blocks as long as `work` does.
    pub fn lend<T>(&self, work: impl FnOnce() -> T) -> T {
        let _keyboard = self.hold_keyboard();
        self.take_live_line_away();
        let _lines = terminal::TurnMode::lines();
        self.lent.store(true, Ordering::Relaxed);
        let done = work();
        self.lent.store(false, Ordering::Relaxed);
        done
    }

    /// Whether another program has the terminal.
    pub fn is_lent(&self) -> bool {
        self.lent.load(Ordering::Relaxed)
    }

    /// What was typed too early, as text for the next line; it is given once.
    pub fn take_early_typing(&self) -> String {
        terminal::typed_text(&lock(&self.early).take())
    }
}

/// What somebody said who was asked for a yes or a no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YesOrNo {
    /// Yes.
    Yes,
    /// No, or there is nobody any more.
    No,
    /// Ctrl-C.
    Interrupted,
}

/// Holds the keyboard, and says so to whoever listens when it is free again.
struct Keyboard<'a> {
    ui: &'a Ui,
    held: Option<MutexGuard<'a, ()>>,
}

impl Drop for Keyboard<'_> {
    fn drop(&mut self) {
        self.held.take();
        self.ui.keyboard_free.notify_one();
    }
}

/// Reads one line with an editor of its own, which knows nothing of what was typed before.
fn read_line(prompt: &str, styles: Styles) -> Typed {
    read_with(prompt, styles, Plain)
}

fn read_with<H: Helper>(prompt: &str, styles: Styles, helper: H) -> Typed {
    let styled = styles.paint(Label::Prompt, prompt);
    let config = Config::builder()
        .auto_add_history(false)
        .keyseq_timeout(Some(SEQUENCE_MILLIS))
        .color_mode(COLOR_MODE)
        .build();
    let editor = Editor::<H, MemHistory>::with_history(config, MemHistory::new());
    let read = editor.and_then(|mut editor| {
        editor.set_helper(Some(helper));
        clear_with_escape(&mut editor);
        editor.readline(&(prompt.to_owned(), styled))
    });
    match read {
        Ok(line) => Typed::Line(line),
        Err(ReadlineError::Interrupted) => Typed::Interrupted,
        Err(_) => Typed::End,
    }
}

/// Has Esc take back what was typed as an answer. Left to the line editor it would make the next key another one.
pub fn clear_with_escape<H: Helper, I: History>(editor: &mut Editor<H, I>) {
    editor.bind_sequence(
        KeyEvent(KeyCode::Esc, Modifiers::NONE),
        Cmd::Kill(Movement::WholeBuffer),
    );
}

/// Paints a line as it is.
struct Plain;

impl Helper for Plain {}

impl Completer for Plain {
    type Candidate = String;
}

impl Hinter for Plain {
    type Hint = String;
}

impl Validator for Plain {}

impl Highlighter for Plain {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        legible(line)
    }
}

/// Paints a line as spaces.
struct Hidden;

impl Helper for Hidden {}

impl Completer for Hidden {
    type Candidate = String;
}

impl Hinter for Hidden {
    type Hint = String;
}

impl Validator for Hidden {}

impl Highlighter for Hidden {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned(" ".repeat(line.width()))
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}
