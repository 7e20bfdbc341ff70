//! The one object that prints.
//!
//! Data goes to standard output, status to standard error, and `-q` silences the status; in the chat on a
//! terminal both are the same screen and everything goes to standard output. A reply is streamed
//! through a filter that lets no escape sequence pass, and a call is one line that is drawn again in
//! place until it ends: whatever else is printed meanwhile first takes that line away.
//!
//! Nothing here fails while a turn runs: a reader that went away is remembered, [`Ui::closed`] tells
//! whoever waits for it, and [`Ui::finish`] returns it in the end.

pub mod calls;
pub mod diff;
pub mod prompt;
pub mod question;
pub mod stream;
pub mod style;
pub mod terminal;

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor};
use tokio::sync::Notify;

use crate::args::Global;
use crate::config::env::{self, Environment};
use crate::error::CliError;
use crate::turn::CallState;
use crate::turn::CallView;
use stream::Filter;
use style::{Label, Styles};
use terminal::Streams;

/// How long nobody may have typed before an answer is read. Longer than the pauses within a paste over a
/// slow line and within a word; shorter than reading the question takes.
const SILENCE: Duration = Duration::from_millis(250);

/// Whoever types for so long before the prompt is no person: the question counts as interrupted.
const LONGEST_TYPING: Duration = Duration::from_secs(20);

/// Goes to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Everything that is shown goes through here. Shared between the turn and what it asks.
pub struct Ui {
    screen: Mutex<Screen>,
    /// What was typed before anybody wanted to read it.
    early: Mutex<Vec<u8>>,
    /// Held while a line is read: two editors on one terminal would steal each other's keys.
    keyboard: Mutex<()>,
    closed: Notify,
    /// Somebody who read the keyboard during a turn met Ctrl-C there.
    interrupted: Notify,
    streams: Streams,
    styles: Styles,
    status_styles: Styles,
    /// Whether the cursor can be moved on the output with the status.
    redraws: bool,
    /// Whether status goes to standard output: in the chat on a terminal.
    one_screen: bool,
    /// Whether finished calls stay on the screen.
    keep_calls: AtomicBool,
    /// Whether the terminal cannot move its cursor at all.
    dumb: bool,
    quiet: bool,
    verbose: bool,
}

/// What a line that was read turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or nobody there.
    End,
}

struct Screen {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    /// Whether the cursor stands in the middle of a line of the reply.
    mid_line: bool,
    /// The line of a call that may still be drawn again.
    live: Option<String>,
    reply: ReplyState,
    failure: Option<io::Error>,
}

#[derive(Default)]
struct ReplyState {
    filter: Filter,
    started: bool,
    /// Line ends that are printed only if more text follows: replies end with exactly one.
    held_newlines: usize,
    reasoning: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sink {
    Out,
    Err,
}

impl Ui {
    /// The object for this process. `one_screen`: everything belongs to the terminal, as in the chat.
    pub fn new(global: &Global, environment: &Environment, one_screen: bool) -> Ui {
        let streams = Streams::of_process();
        let mut ui = Ui::with(Box::new(io::stdout()), Box::new(io::stderr()), streams);
        ui.dumb = environment
            .get(env::TERM)
            .is_some_and(|term| term == "dumb");
        ui.one_screen = one_screen && streams.can_ask();
        ui.styles = Styles::decide(global.color, environment, streams.output);
        ui.status_styles = match ui.status_sink() {
            Sink::Out => ui.styles,
            Sink::Err => Styles::decide(global.color, environment, streams.error),
        };
        ui.redraws = !ui.dumb
            && if ui.one_screen {
                streams.output
            } else {
                streams.error
            };
        ui.quiet = global.quiet;
        ui.verbose = global.verbose;
        ui
    }

    /// An object that writes elsewhere, plain.
    fn with(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>, streams: Streams) -> Ui {
        let screen = Screen {
            out,
            err,
            mid_line: false,
            live: None,
            reply: ReplyState::default(),
            failure: None,
        };
        Ui {
            screen: Mutex::new(screen),
            early: Mutex::default(),
            keyboard: Mutex::default(),
            closed: Notify::new(),
            interrupted: Notify::new(),
            streams,
            styles: Styles::plain(),
            status_styles: Styles::plain(),
            redraws: false,
            one_screen: false,
            keep_calls: AtomicBool::new(true),
            dumb: false,
            quiet: false,
            verbose: false,
        }
    }

    /// Leaves out the lines of calls that ended well.
    pub fn hide_finished_calls(&self) {
        self.keep_calls.store(false, Ordering::Relaxed);
    }

    /// Which streams are terminals.
    pub fn streams(&self) -> Streams {
        self.streams
    }

    /// Whether somebody is there to answer.
    pub fn can_ask(&self) -> bool {
        self.streams.can_ask()
    }

    /// Whether this is the chat on a terminal.
    pub fn is_chat(&self) -> bool {
        self.one_screen
    }

    /// The looks of standard output.
    pub fn styles(&self) -> Styles {
        self.styles
    }

    /// The looks of what goes out with [`Ui::status`].
    pub fn status_styles(&self) -> Styles {
        self.status_styles
    }

    /// Whether more was asked for.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Prints a line of data. What is foreign in it must be escaped already.
    pub fn data(&self, text: &str) {
        self.line(Sink::Out, text);
    }

    /// Prints a line of status, unless silenced.
    pub fn status(&self, text: &str) {
        if !self.quiet {
            self.line(self.status_sink(), text);
        }
    }

    /// Prints something the user should know, silenced or not.
    pub fn warn(&self, text: &str) {
        let heading = self.status_styles.paint(Label::Warning, "warning:");
        let text = dunlin_host::display::escape(text);
        self.line(self.status_sink(), &format!("{heading} {text}"));
    }

    /// Prints an error, if there is something to say.
    pub fn error(&self, error: &CliError) {
        if let Some(text) = error.render(self.status_styles) {
            self.line(self.status_sink(), &text);
        }
    }

    /// Prints the next piece of a reply as it comes.
    pub fn reply_piece(&self, piece: &str) {
        let mut screen = self.screen();
        if screen.reply.reasoning {
            self.end_reasoning(&mut screen);
        }
        let text = screen.reply.filter.piece(piece);
        self.flow(&mut screen, &text, None);
    }

    /// Prints the next piece of what the model thinks, where more was asked for.
    pub fn reasoning_piece(&self, piece: &str) {
        if !self.verbose || self.quiet {
            return;
        }
        let mut screen = self.screen();
        let text = screen.reply.filter.piece(piece);
        screen.reply.reasoning = true;
        self.flow(&mut screen, &text, Some(Label::Quiet));
    }

    /// Ends the reply's last line.
    pub fn end_reply(&self) {
        let mut screen = self.screen();
        if screen.reply.reasoning {
            self.end_reasoning(&mut screen);
        }
        self.end_line(&mut screen);
        screen.reply = ReplyState::default();
    }

    /// Shows where a call stands.
    pub fn call(&self, call: &CallView) {
        if self.quiet {
            return;
        }
        let columns = if self.redraws {
            terminal::size().0
        } else {
            usize::MAX
        };
        let line = calls::line(call, self.status_styles, columns);
        let mut screen = self.screen();
        self.end_line(&mut screen);
        screen.reply = ReplyState::default();
        self.take_live_away(&mut screen);
        let sink = self.status_sink();
        if !call.state.is_settled() {
            if self.redraws {
                self.write(&mut screen, sink, &line);
                screen.live = Some(line);
            }
        } else if self.keep_calls.load(Ordering::Relaxed) || call.state != CallState::Completed {
            self.write(&mut screen, sink, &format!("{line}\n"));
        }
    }

    /// Shows the question above and reads the answer to it, and to nothing else: what was typed before
    /// is put aside for the next message.
    pub fn ask_line(&self, above: &str, prompt: &str) -> Typed {
        let _keyboard = lock(&self.keyboard);
        let live = {
            let mut screen = self.screen();
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
        let typed = read_line(prompt, self.styles);
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

    /// What was typed too early, as text for the next line; it is given once.
    pub fn take_early_typing(&self) -> String {
        terminal::typed_text(&std::mem::take(&mut *lock(&self.early)))
    }

    /// Waits until nobody reads the output any more.
    pub async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Ends the turn that is running: Ctrl-C was typed into a line that was read during it, where it is a key
    /// and no signal.
    pub fn interrupt_turn(&self) {
        self.interrupted.notify_waiters();
    }

    /// Waits for [`Ui::interrupt_turn`].
    pub async fn interrupted(&self) {
        self.interrupted.notified().await;
    }

    /// Whether everything could be written so far.
    pub fn check(&self) -> io::Result<()> {
        self.screen().failure.take().map_or(Ok(()), Err)
    }

    /// Writes out what is held back; the first failure of any write comes back here.
    pub fn finish(&self) -> io::Result<()> {
        let mut screen = self.screen();
        self.end_line(&mut screen);
        self.take_live_away(&mut screen);
        if screen.failure.is_none() {
            screen.failure = screen.out.flush().and_then(|()| screen.err.flush()).err();
        }
        screen.failure.take().map_or(Ok(()), Err)
    }

    fn line(&self, sink: Sink, text: &str) {
        let mut screen = self.screen();
        self.end_line(&mut screen);
        let live = screen.live.clone();
        self.take_live_away(&mut screen);
        self.write(&mut screen, sink, &format!("{text}\n"));
        if let Some(live) = live {
            self.write(&mut screen, self.status_sink(), &live);
            screen.live = Some(live);
        }
    }

    /// Prints text that may end anywhere, without the line ends at its very start and end.
    fn flow(&self, screen: &mut Screen, text: &str, label: Option<Label>) {
        let body = if screen.reply.started {
            text
        } else {
            text.trim_start_matches(['\n', ' '])
        };
        if body.is_empty() {
            return;
        }
        let visible = body.trim_end_matches('\n');
        let newlines = body.len() - visible.len();
        if visible.is_empty() {
            screen.reply.held_newlines += newlines;
            return;
        }
        self.take_live_away(screen);
        let held = "\n".repeat(std::mem::replace(&mut screen.reply.held_newlines, newlines));
        let text = match label {
            Some(label) => held + &self.styles.paint(label, visible),
            None => held + visible,
        };
        screen.reply.started = true;
        screen.mid_line = true;
        let sink = if label.is_some() {
            self.status_sink()
        } else {
            Sink::Out
        };
        self.write(screen, sink, &text);
    }

    fn end_reasoning(&self, screen: &mut Screen) {
        self.end_line(screen);
        screen.reply = ReplyState::default();
    }

    fn end_line(&self, screen: &mut Screen) {
        if screen.mid_line {
            screen.mid_line = false;
            screen.reply.held_newlines = 0;
            let sink = if screen.reply.reasoning {
                self.status_sink()
            } else {
                Sink::Out
            };
            self.write(screen, sink, "\n");
        }
    }

    fn take_live_away(&self, screen: &mut Screen) {
        if screen.live.take().is_some() {
            self.write(screen, self.status_sink(), CLEAR_LINE);
        }
    }

    fn write(&self, screen: &mut Screen, sink: Sink, text: &str) {
        let writer = match sink {
            Sink::Out => &mut screen.out,
            Sink::Err => &mut screen.err,
        };
        let written = writer
            .write_all(text.as_bytes())
            .and_then(|()| writer.flush());
        if let Err(error) = written {
            screen.failure.get_or_insert(error);
            self.closed.notify_one();
        }
    }

    fn status_sink(&self) -> Sink {
        if self.one_screen {
            Sink::Out
        } else {
            Sink::Err
        }
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        lock(&self.screen)
    }
}

impl fmt::Debug for Ui {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ui")
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

/// A panic elsewhere must not take the terminal away from whoever reports it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

/// rustyline's word for our decision about colours.
pub fn color_mode(styles: Styles) -> rustyline::config::ColorMode {
    if styles.is_coloured() {
        rustyline::config::ColorMode::Enabled
    } else {
        rustyline::config::ColorMode::Disabled
    }
}

#[cfg(test)]
mod tests;
