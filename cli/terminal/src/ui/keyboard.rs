//! The keyboard while nobody reads a line: who has it, and what was typed before anybody wanted to read it.
//!
//! During a turn [`Ui::escape`] listens: what is typed is taken out of the terminal as it comes and kept, and Esc ends
//! the turn. Whoever reads a line meanwhile ([`super::read_answer`]) has the keyboard alone.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin_host::display::escape;
use parking_lot::MutexGuard;
use rustix::process::Signal;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{SignalKind, signal};

use super::keys::{ActingKeys, EarlyKeys, EarlyLines};
use super::running_commands::RunningCommands;
use super::sink::Sink;
use super::style::Label;
use super::{Ui, terminal, typed_line, wrap};
use crate::approval::line::is_answer;

/// The time for which another program has the terminal. Ends with a panic, too.
struct Suspended<'a>(&'a AtomicBool);

impl Suspended<'_> {
    fn begin(suspended: &AtomicBool) -> Suspended<'_> {
        suspended.store(true, Ordering::Relaxed);
        Suspended(suspended)
    }
}

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Ui {
    /// Reads away what was typed during a turn and keeps it, and does what the keys do that act at once. Only while the terminal is in
    /// [`terminal::TurnMode`].
    pub fn put_early_typing_aside(&self) {
        self.put_aside();
    }

    /// The same; what it was.
    pub(super) fn put_aside(&self) -> Vec<u8> {
        self.take_keys(|early, typed, _| early.feed(typed))
    }

    /// Has `feed` take in what was typed, with what runs beside it, and does what the keys do that act at once.
    pub(super) fn take_keys(
        &self,
        feed: impl FnOnce(&mut EarlyKeys, &[u8], Option<&dyn RunningCommands>) -> ActingKeys,
    ) -> Vec<u8> {
        if !self.streams.input {
            return Vec::new();
        }
        let typed = terminal::take_typed();
        if !typed.is_empty() {
            self.user_is_there(false);
        }
        let commands = self.commands.lock();
        let acting = feed(
            &mut self.early.lock(),
            &typed,
            commands.as_deref().map(|it| it as _),
        );
        if let Some(commands) = &*commands {
            (0..acting.modes).for_each(|_| commands.next_mode());
        }
        drop(commands);
        if acting.steps && self.one_screen {
            self.toggle_steps();
        }
        typed
    }

    /// Has lines do something at once that are typed while a turn runs.
    pub fn take_commands(&self, commands: Box<dyn RunningCommands>) {
        *self.commands.lock() = Some(commands);
    }

    /// How many of these lines are messages that are sent: all up to the first command.
    pub(super) fn sent_of(&self, queued: &[String]) -> usize {
        let commands = self.commands.lock();
        let waits = |line: &String| commands.as_ref().is_some_and(|it| it.waits(line));
        queued.iter().position(waits).unwrap_or(queued.len())
    }

    /// Does what was typed for what runs, and keeps the rest.
    fn do_typed_commands(&self) {
        let commands = self.commands.lock();
        let Some(commands) = commands.as_ref() else {
            return;
        };
        loop {
            let line = self.early.lock().take_line(|line| commands.takes(line));
            match line {
                Some(line) => commands.run(&line),
                None => return,
            }
        }
    }

    /// Has the terminal mark what is pasted in the chat while nobody reads a line, or not any more. Without the marks the
    /// lines of a paste could not be told from keys.
    pub fn mark_pastes(&self, marks: bool) {
        if self.one_screen && self.redraws {
            self.marks_pastes.store(marks, Ordering::Relaxed);
            let marks = terminal::marks_of_pastes(marks);
            self.write(&mut self.screen(), Sink::Out, marks);
        }
    }

    /// The same after a line editor or another program had the terminal, which ends it.
    pub(super) fn mark_pastes_again(&self) {
        if self.marks_pastes.load(Ordering::Relaxed) {
            self.mark_pastes(true);
        }
    }

    /// Waits for Esc, `true`, or until the terminal is closed, and keeps what else is typed. Only while the terminal is in
    /// [`terminal::TurnMode`] or a line is being read, which is left alone. Dropping the future ends the listening; no key is
    /// lost.
    ///
    /// Where the terminal cannot be listened to, Esc never comes.
    pub async fn escape(&self) -> bool {
        #[expect(
            deprecated,
            reason = "standard input stays open as long as the program, which is all that its successor wants promised"
        )]
        let keys = AsyncFd::with_interest(io::stdin(), Interest::READABLE);
        let Ok(keys) = keys else {
            return pending().await;
        };
        loop {
            let waits = self.early.lock().waits();
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
            // A closed terminal is ready again and again.
            if terminal::is_gone() {
                return false;
            }
            // Whoever reads a line says when they are done.
            let Some(_keyboard) = self.keyboard.try_lock() else {
                continue;
            };
            match self.queues_messages() {
                true => self.queue_typed(),
                false => self.put_early_typing_aside(),
            }
            self.do_typed_commands();
            self.show_typing();
            if is_late && self.early.lock().take_escape() {
                return true;
            }
        }
    }

    /// Takes the terminal back whenever the program goes on after it was stopped with Ctrl-Z, and draws what is typed again
    /// when the window gets another size. Never ends; to be polled beside a turn. Where the signals cannot be received,
    /// nothing is done.
    pub async fn survive_stops(&self) -> Infallible {
        let continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()));
        let resized = signal(SignalKind::window_change());
        let (Ok(mut continued), Ok(mut resized)) = (continued, resized) else {
            return pending().await;
        };
        loop {
            tokio::select! {
                Some(()) = continued.recv() => {}
                Some(()) = resized.recv() => {
                    self.draw_below(&mut self.screen());
                    continue;
                }
                else => return pending().await,
            }
            // Whoever reads a line does this for itself.
            if self.keyboard.try_lock().is_some() && self.streams.input {
                terminal::TurnMode::enter_again();
                self.mark_pastes_again();
            }
            let mut screen = self.screen();
            // The shell has written below it.
            if screen.live.drawn.take().is_some() && !screen.live.is_others() {
                screen.column = 0;
                self.write(&mut screen, Sink::Out, "\r");
                self.draw(&mut screen);
            }
        }
    }

    /// Has the keyboard alone until the value is dropped.
    pub(super) fn hold_keyboard(&self) -> Keyboard<'_> {
        let held = Some(self.keyboard.lock());
        self.begin_reading();
        Keyboard { ui: self, held }
    }

    /// Keeps a line that answered nothing for the next message.
    pub fn keep_for_later(&self, line: &str) {
        self.early.lock().keep_line(line);
    }

    /// Keeps a message that was not sent for the next line, before what was typed since.
    pub fn keep_message(&self, text: &str) {
        self.early.lock().keep_message(text);
    }

    /// Keeps a text for the next message that comes from a session file or a server. Whoever wrote it must not get more than
    /// a message out of it.
    pub fn keep_foreign_for_later(&self, text: &str) {
        *self.foreign.lock() = Some(text.to_owned());
    }

    /// Takes away what was drawn on the row or rows above the cursor: a line that was read, with its prompt.
    pub fn take_row_away(&self, drawn: &str) {
        let columns = terminal::size().0;
        // Behind a row that is full, the line editor has begun another one.
        let last = super::wrap::usually_visible(drawn.rsplit('\n').next().unwrap_or_default());
        let is_full = last > 0 && last.is_multiple_of(columns.max(1));
        let rows = super::rows_above_cursor(drawn, columns) + 1 + usize::from(is_full);
        let mut screen = self.screen();
        self.write(&mut screen, Sink::Out, &format!("\r\x1b[{rows}A\x1b[J"));
    }

    /// Goes to the beginning of a row, wherever another program has left the cursor.
    pub fn begin_row(&self) {
        if self.redraws && self.one_screen {
            // So many spaces reach the next row, unless the cursor stands at the beginning of one.
            let spaces = " ".repeat(terminal::size().0.saturating_sub(1));
            self.write(&mut self.screen(), Sink::Out, &format!("{spaces}\r\x1b[K"));
        }
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
        self.end_paste();
        self.take_live_line_away();
        let _lines = terminal::TurnMode::lines();
        let suspended = Suspended::begin(&self.suspended);
        if self.marks_pastes.load(Ordering::Relaxed) {
            let marks = terminal::marks_of_pastes(false);
            self.write(&mut self.screen(), Sink::Out, marks);
        }
        let done = work();
        drop(suspended);
        self.user_is_there(false);
        self.mark_pastes_again();
        done
    }

    /// Ends the line that is being read, if it is one that can be ended. Call it again until what it is for was done: one
    /// call may come too early or too late. `false`: no such line is read.
    pub fn wake(&self) -> bool {
        self.wake.wake()
    }

    /// Has the line that is being read drawn again below a prompt that is made anew. For a key of that line: what was typed
    /// together with it comes first.
    pub fn redraw_line(&self) {
        self.wake.wake_from_key();
    }

    /// Whether a SIGINT that was just received is one that [`Ui::wake`] raised.
    pub fn was_woken(&self) -> bool {
        self.wake.was_raised()
    }

    /// Whether another program has the terminal.
    pub fn is_suspended(&self) -> bool {
        self.suspended.load(Ordering::Relaxed)
    }

    /// What was typed too early, as text for the next line; it is given once. Commands are lines of their own: what comes
    /// after one stays for the line after that. Lines that are answers are dropped with a note: nothing was asked.
    pub fn take_early_typing(&self, lines: &dyn EarlyLines) -> EarlyText {
        self.end_paste();
        let foreign = self.foreign.lock().take();
        let foreign = foreign.map(|foreign| {
            typed_line::harmless(&foreign)
                .trim_end_matches('\n')
                .to_owned()
        });
        let foreign = foreign.filter(|foreign| !foreign.trim().is_empty());
        let (text, is_sent) = loop {
            let bytes = {
                let mut early = self.early.lock();
                // What waits was not typed for foreign text.
                match foreign.is_some() && early.len() == 0 {
                    true => Vec::new(),
                    false => early.take_next(lines),
                }
            };
            let is_sent = matches!(bytes.last(), Some(b'\r' | b'\n'));
            let text = self.without_answers(&bytes);
            // A command is no part of foreign text.
            if foreign.is_some() && lines.is_alone(&text) {
                self.early.lock().wait_first(bytes);
                break (String::new(), true);
            }
            if !text.is_empty() || bytes.is_empty() {
                break (text, is_sent);
            }
        };
        let left = self.early.lock().count_waiting();
        match foreign {
            Some(foreign) => EarlyText {
                text: [foreign, text].join("\n").trim_end_matches('\n').to_owned(),
                is_sent: true,
                is_foreign: true,
                left,
            },
            None => EarlyText {
                text,
                is_sent,
                is_foreign: false,
                left,
            },
        }
    }

    /// What was typed as text, without lines that are answers, and says so of them. The line that has not ended may be the
    /// beginning of a message, and a paste of several lines is none.
    fn without_answers(&self, typed: &[u8]) -> String {
        let lines = typed_line::split(typed).into_iter();
        let mut lines: Vec<String> = lines.map(|line| typed_line::edit(line).text).collect();
        let open = lines.pop();
        let (answers, rest): (Vec<String>, Vec<String>) =
            lines.into_iter().partition(|line| is_answer(line));
        if !answers.is_empty() {
            let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
            self.say_dropped(&answers, "when nothing was asked");
        }
        let text: Vec<String> = rest.into_iter().chain(open).collect();
        text.join("\n").trim_matches('\n').to_owned()
    }

    /// Says that a line was dropped that answers a question, and there was none.
    pub fn say_answers_nothing(&self, line: &str) {
        self.say_dropped(&[line], "when nothing was asked");
    }

    /// Says which lines were dropped that were typed too early.
    pub(super) fn say_dropped(&self, lines: &[&str], when: &str) {
        let said: Vec<String> = lines
            .iter()
            .map(|line| format!("\"{}\"", escape(line.trim())))
            .collect();
        let (were, answer) = match said.len() {
            1 => ("was", "it answers"),
            _ => ("were", "they answer"),
        };
        let said = said.join(", ");
        let text = format!("{said} {were} typed {when}, so {answer} nothing and {were} dropped.");
        for row in wrap::hanging("  ", 2, &text, terminal::size().0) {
            let row = self.status_styles.paint(Label::Warning, &row);
            self.line(self.status_sink(), &row);
        }
    }
}

/// Text that was there before there was a line for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlyText {
    /// What was typed, or was kept for the line.
    pub text: String,
    /// Whether it ended with Enter; otherwise somebody may still be typing it.
    pub is_sent: bool,
    /// Whether a part of it was not typed, but comes from a session file or a server.
    pub is_foreign: bool,
    /// How many lines that ended with Enter come after it.
    pub left: usize,
}

/// Holds the keyboard, and says so to whoever listens when it is free again.
pub(super) struct Keyboard<'a> {
    ui: &'a Ui,
    held: Option<MutexGuard<'a, ()>>,
}

impl Drop for Keyboard<'_> {
    fn drop(&mut self) {
        self.ui.end_reading();
        self.held.take();
        self.ui.keyboard_free.notify_one();
    }
}
