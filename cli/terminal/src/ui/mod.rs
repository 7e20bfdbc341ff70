//! The one object that prints.
//!
//! Data goes to standard output, status to standard error, and `-q` silences the status; in the chat on a
//! terminal both are the same screen and everything goes to standard output. A reply is streamed
//! through a filter that lets no escape sequence pass, and on a terminal its Markdown is rendered as it comes
//! ([`markdown`]). A call is one line that is drawn again in place until it ends: whatever else is printed
//! meanwhile first takes that line away.
//!
//! Nothing here fails while a turn runs: a reader that went away is remembered, [`Ui::closed`] tells
//! whoever waits for it, and [`Ui::finish`] returns it in the end.

pub(crate) mod alternate;
pub mod ask_during_call;
mod backstop;
mod call_row;
pub mod calls;
mod clipboard;
pub mod command;
mod countdown;
mod decoder;
pub mod diff;
mod dump;
mod edge;
mod foreign_line;
mod guard;
pub mod idle;
pub mod input_marks;
mod input_row;
mod interrupted_line;
pub mod keyboard;
pub mod keys;
pub mod legible;
pub mod line_paste;
mod live;
mod live_state;
pub mod markdown;
pub mod newline;
mod notify;
pub mod on_key;
mod open_line;
pub mod output;
pub mod pager;
pub mod progress;
pub mod question;
pub mod queue;
mod queued_keys;
pub mod read_answer;
mod reply;
pub mod resize;
pub mod review;
mod running_call;
pub mod running_commands;
pub mod sampling_request;
mod silence;
mod sink;
pub mod stream;
pub mod style;
pub mod subagents;
pub(crate) mod suspend;
pub mod suspicion;
pub mod tail;
pub mod terminal;
pub mod todo;
mod typed;
mod typed_line;
mod waiting;
pub mod wake;
pub mod web_request;
pub mod wrap;
mod yes_or_no;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::approval::look::Window;
use crate::variables::{self, Variables};
use idle::Absence;
pub use keyboard::EarlyText;
use keys::EarlyKeys;
use live_state::Live;
use reply::ReplyState;
use running_commands::RunningCommands;
use sink::Sink;
use style::{ColorChoice, Label, Styles};
use terminal::Streams;
pub use typed::Typed;
use waiting::Waiting;
use wrap::Rows;
pub use yes_or_no::YesOrNo;

/// Goes to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// What the user wants shown, and how.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// When to use colours.
    pub color: ColorChoice,
    /// No status, only results and errors.
    pub quiet: bool,
    /// The model's reasoning and the tokens used as well.
    pub verbose: bool,
}

/// An error as it is shown.
pub trait Render {
    /// Its text, with its hints; `None`: everything was said already.
    fn render(&self, styles: Styles) -> Option<String>;
}

/// Everything that is shown goes through here. Shared between the turn and what it asks.
pub struct Ui {
    screen: Mutex<Screen>,
    /// What was typed before anybody wanted to read it.
    early: Arc<Mutex<EarlyKeys>>,
    /// Text for the next line that the user did not type: nothing in it is a command, an answer or a mention.
    foreign: Mutex<Option<String>>,
    /// Held while a line is read: two editors on one terminal would steal each other's keys.
    keyboard: Mutex<()>,
    /// The keyboard was given back.
    keyboard_free: Notify,
    closed: Notify,
    /// Somebody who read the keyboard during a turn met Ctrl-C there.
    interrupted: Notify,
    /// Something is being waited for.
    wait_begun: Notify,
    /// Whether the terminal marks what is pasted while nobody reads a line.
    marks_pastes: AtomicBool,
    /// Whether another program has the terminal: an editor.
    suspended: AtomicBool,
    /// How long the user has been away, where they want to be told.
    absence: Mutex<Option<Absence>>,
    /// Whether what is typed is shown, and Enter queues it.
    queues_messages: AtomicBool,
    /// Whether what is queued is to be sent however the turn ends.
    sends_queue: AtomicBool,
    /// Takes the lines that are commands for what runs.
    commands: Mutex<Option<Box<dyn RunningCommands>>>,
    /// Whether the line that is being read can be ended from another thread.
    wake: wake::Wake,
    streams: Streams,
    styles: Styles,
    status_styles: Styles,
    /// Whether the cursor can be moved on the output with the status.
    redraws: bool,
    /// Whether status goes to standard output: in the chat on a terminal.
    one_screen: bool,
    /// Whether replies are rendered: on a terminal that can do it.
    renders: bool,
    /// Whether the steps to a reply stay on the screen: calls that ended well, reasoning, notices.
    shows_steps: AtomicBool,
    /// Whether the terminal cannot move its cursor at all.
    dumb: bool,
    /// Whether tmux is between Dunlin and the terminal.
    is_in_tmux: bool,
    quiet: bool,
    verbose: bool,
}

struct Screen {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    /// Whether the cursor stands in the middle of a line of the reply.
    mid_line: bool,
    /// How many columns of that line are written.
    column: usize,
    live: Live,
    waiting: Option<Waiting>,
    reply: ReplyState,
    failure: Option<io::Error>,
}

impl Ui {
    /// The object for this process. `one_screen`: everything belongs to the terminal, as in the chat.
    pub fn new(options: Options, environment: &dyn Variables, one_screen: bool) -> Ui {
        let streams = Streams::of_process();
        let mut ui = Ui::with(Box::new(io::stdout()), Box::new(io::stderr()), streams);
        ui.dumb = environment
            .get(variables::TERM)
            .is_some_and(|term| term == "dumb");
        ui.is_in_tmux = environment.get(variables::TMUX).is_some();
        ui.one_screen = one_screen && streams.can_ask();
        ui.renders = streams.output && !ui.dumb;
        ui.styles = Styles::decide(options.color, environment, streams.output);
        ui.status_styles = match ui.status_sink() {
            Sink::Out => ui.styles,
            Sink::Err => Styles::decide(options.color, environment, streams.error),
        };
        ui.redraws = !ui.dumb
            && if ui.one_screen {
                streams.output
            } else {
                streams.error
            };
        ui.quiet = options.quiet;
        ui.verbose = options.verbose;
        ui
    }

    /// An object for somebody who is not at this terminal: all of it is written elsewhere, plain, and nobody can be asked.
    pub fn elsewhere(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>) -> Ui {
        let streams = Streams {
            input: false,
            output: false,
            error: false,
        };
        Ui::with(out, err, streams)
    }

    /// An object that writes elsewhere, plain.
    fn with(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>, streams: Streams) -> Ui {
        let screen = Screen {
            out,
            err,
            mid_line: false,
            column: 0,
            live: Live::default(),
            waiting: None,
            reply: ReplyState::default(),
            failure: None,
        };
        Ui {
            screen: Mutex::new(screen),
            early: Arc::default(),
            foreign: Mutex::default(),
            keyboard: Mutex::default(),
            keyboard_free: Notify::new(),
            closed: Notify::new(),
            interrupted: Notify::new(),
            wait_begun: Notify::new(),
            marks_pastes: AtomicBool::new(false),
            suspended: AtomicBool::new(false),
            absence: Mutex::default(),
            queues_messages: AtomicBool::new(false),
            sends_queue: AtomicBool::new(false),
            commands: Mutex::default(),
            wake: wake::Wake::default(),
            streams,
            styles: Styles::plain(),
            status_styles: Styles::plain(),
            redraws: false,
            one_screen: false,
            renders: false,
            shows_steps: AtomicBool::new(true),
            dumb: false,
            is_in_tmux: false,
            quiet: false,
            verbose: false,
        }
    }

    /// Whether the steps to a reply are shown: calls that ended well, reasoning, notices. What failed or was denied
    /// always is.
    pub fn shows_steps(&self) -> bool {
        self.shows_steps.load(Ordering::Relaxed)
    }

    /// Whether calls that were denied are shown, with the reason.
    pub fn shows_denials(&self) -> bool {
        !self.quiet
    }

    /// Shows the steps from now on, or leaves them out.
    pub fn show_steps(&self, shows: bool) {
        self.shows_steps.store(shows, Ordering::Relaxed);
    }

    /// Turns the steps on or off, and says so; also in the middle of a reply.
    pub fn toggle_steps(&self) {
        self.show_steps(!self.shows_steps());
        self.say_steps();
    }

    /// Says whether the steps are shown.
    pub fn say_steps(&self) {
        let text = match self.shows_steps() {
            true => "steps are shown",
            false => "steps are hidden; failures and denials are still shown",
        };
        self.status(
            &self
                .status_styles
                .paint(Label::Quiet, &format!("  ({text})")),
        );
    }

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

    /// The window of the chat, for what is laid out before it is shown.
    pub fn window(&self) -> Window {
        let (columns, rows) = terminal::size();
        Window {
            columns,
            rows,
            styles: self.styles,
        }
    }

    /// The window for lists on the output: without an edge where no terminal shows them.
    pub fn data_window(&self) -> Window {
        let window = self.window();
        match self.streams.output {
            true => window,
            false => Window {
                columns: usize::MAX,
                ..window
            },
        }
    }

    /// Whether something can take the whole screen, and give it back.
    pub fn has_full_screen(&self) -> bool {
        self.streams.can_ask() && !self.dumb
    }

    /// Whether more was asked for.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Prints a line of data. What is foreign in it must be escaped already.
    pub fn data(&self, text: &str) {
        self.line(Sink::Out, text);
    }

    /// Prints lines of data. What is foreign in them must be escaped already.
    pub fn data_all(&self, lines: &[String]) {
        lines.iter().for_each(|line| self.data(line));
    }

    /// Prints bytes as they are, without a line end. For what reads a pipe only: nothing in them is escaped.
    pub fn data_bytes(&self, bytes: &[u8]) {
        let mut screen = self.screen();
        self.end_line(&mut screen);
        let written = screen.out.write_all(bytes);
        if let Err(error) = written.and_then(|()| screen.out.flush()) {
            screen.failure.get_or_insert(error);
            self.closed.notify_one();
        }
    }

    /// Prints a line of data that is for people: on a terminal it is broken between words, and what follows stands so many
    /// columns in. What reads a pipe gets one line.
    pub fn data_rows(&self, text: &str, indent: usize) {
        match self.streams.output {
            // The last column stays free: writing into it wraps on some terminals.
            true => {
                let columns = terminal::size().0.saturating_sub(1);
                self.data_all(&wrap::indented(text, indent, columns));
            }
            false => self.data(text),
        }
    }

    /// Prints a line of status, unless silenced.
    pub fn status(&self, text: &str) {
        if !self.quiet {
            self.say(text, Rows::Plain);
        }
    }

    /// Prints a line of status that holds foreign text, escaped; a bar marks its rows below the first.
    pub fn status_with_foreign(&self, text: &str) {
        if !self.quiet {
            self.say(text, Rows::Barred);
        }
    }

    /// Prints lines, broken between words where the window is too narrow. What is foreign in them is escaped.
    fn say(&self, text: &str, below: Rows) {
        let sink = self.status_sink();
        self.line(sink, &self.rows_of(sink, text, below));
    }

    /// The rows of a text on a terminal; elsewhere the text as it is.
    fn rows_of<'t>(&self, sink: Sink, text: &'t str, below: Rows) -> Cow<'t, str> {
        match self.is_terminal(sink) {
            // The last column stays free: writing into it wraps on some terminals.
            true => wrap::lines(text, terminal::size().0.saturating_sub(1), below),
            false => text.into(),
        }
    }

    fn is_terminal(&self, sink: Sink) -> bool {
        match sink {
            Sink::Out => self.streams.output,
            Sink::Err => self.streams.error,
        }
    }

    /// Prints something the user should know, silenced or not.
    pub fn warn(&self, text: &str) {
        let heading = self.status_styles.paint(Label::Warning, "warning:");
        let text = dunlin_host::display::escape(text);
        self.say(&format!("{heading} {text}"), Rows::Barred);
    }

    /// Prints what could not be used, each with its causes.
    pub fn warn_of(&self, broken: &[impl std::error::Error]) {
        for error in broken {
            self.warn(&dunlin_host::display::chain(error));
        }
    }

    /// Prints an error, if there is something to say.
    pub fn error(&self, error: &dyn Render) {
        if let Some(text) = error.render(self.status_styles) {
            self.say(&text, Rows::Barred);
        }
    }

    /// How wide lines of status may be: as the terminal, or without end where they are kept.
    pub fn status_columns(&self) -> usize {
        if self.redraws {
            terminal::size().0
        } else {
            usize::MAX
        }
    }

    /// Says what an answer has stored, and behind a line end which command takes that back. The text is escaped.
    pub fn say_stored(&self, text: &str) {
        let room = self.status_columns().saturating_sub(1);
        for row in wrap::with_command(2, text, " ", room) {
            self.status(&self.status_styles.paint(Label::Quiet, &row));
        }
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
        self.end_attention();
        let mut screen = self.screen();
        self.end_waiting(&mut screen);
        self.end_line(&mut screen);
        self.take_live_away(&mut screen);
        if screen.failure.is_none() {
            screen.failure = screen.out.flush().and_then(|()| screen.err.flush()).err();
        }
        screen.failure.take().map_or(Ok(()), Err)
    }

    fn line(&self, sink: Sink, text: &str) {
        let text = match self.is_terminal(sink) {
            true => backstop::harmless(text),
            // What reads a pipe may want the text as it is.
            false => Cow::Borrowed(text),
        };
        let mut screen = self.screen();
        if screen.live.is_others() {
            return screen.live.hold(sink, format!("{text}\n"));
        }
        let was_drawn = screen.live.drawn.is_some();
        self.end_line(&mut screen);
        self.take_live_away(&mut screen);
        self.write_rows(&mut screen, sink, &format!("{text}\n"));
        if was_drawn {
            self.draw(&mut screen);
        }
    }

    /// Writes whole lines. Those that fit the window never run over its edge.
    fn write_rows(&self, screen: &mut Screen, sink: Sink, text: &str) {
        match self.is_terminal(sink) && !self.dumb {
            true => self.write(screen, sink, &edge::fitting(text, terminal::size().0)),
            false => self.write(screen, sink, text),
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
        self.screen.lock()
    }
}

impl fmt::Debug for Ui {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ui")
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

/// How many rows of a text that was drawn stand above the one in which the cursor is. A window that was made narrower
/// since has broken its rows in two.
fn rows_above_cursor(drawn: &str, columns: usize) -> usize {
    let rows = |line: &str| wrap::usually_visible(line).div_ceil(columns.max(1)).max(1);
    drawn.split('\n').map(rows).sum::<usize>() - 1
}

#[cfg(test)]
mod tests;
