//! The keyboard: lines that are read, and what was typed before anybody wanted to read it.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor};

use super::style::{Label, Styles};
use super::{Sink, Typed, Ui, color_mode, lock, terminal};

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
        let _keyboard = lock(&self.keyboard);
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
        let _keyboard = lock(&self.keyboard);
        read_line(prompt, self.styles)
    }

    /// Lets somebody else read the keyboard, with nobody beside them.
    pub fn with_keyboard<T>(&self, read: impl FnOnce() -> T) -> T {
        let _keyboard = lock(&self.keyboard);
        read()
    }

    /// Reads away what was typed during a turn and keeps it. Only while the terminal is in
    /// [`terminal::TurnMode`].
    pub fn put_early_typing_aside(&self) {
        if self.streams.input {
            lock(&self.early).extend(terminal::take_typed());
        }
    }

    /// Puts typing aside until it pauses, so that neither the middle of a paste nor a word begun too early
    /// becomes an answer. `false`: it does not pause.
    fn wait_for_silence(&self) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < LONGEST_TYPING {
            self.put_early_typing_aside();
            if !terminal::is_typed_within(SILENCE) {
                return true;
            }
        }
        false
    }

    /// Keeps a line that answered nothing for the next message.
    pub fn keep_for_later(&self, line: &str) {
        let mut early = lock(&self.early);
        early.extend(line.as_bytes());
        early.push(b'\n');
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
        let _keyboard = lock(&self.keyboard);
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
        terminal::typed_text(&std::mem::take(&mut *lock(&self.early)))
    }
}

/// Reads one line with an editor of its own, which knows nothing of what was typed before.
fn read_line(prompt: &str, styles: Styles) -> Typed {
    let styled = styles.paint(Label::Prompt, prompt);
    let mut config = Config::builder().auto_add_history(false).build();
    config.set_color_mode(color_mode(styles));
    let editor = Editor::<(), MemHistory>::with_history(config, MemHistory::new());
    let read = editor.and_then(|mut editor| editor.readline(&(prompt.to_owned(), styled)));
    match read {
        Ok(line) => Typed::Line(line),
        Err(ReadlineError::Interrupted) => Typed::Interrupted,
        Err(_) => Typed::End,
    }
}
