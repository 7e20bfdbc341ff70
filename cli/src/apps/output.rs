//! What an open app has to say to the user: what its program logs, its errors, and questions about what it uses.
//!
//! A program runs whenever its page calls it, also while the user types a message. In the chat, lines and questions therefore
//! wait until a message is being read and then end that line for a moment; elsewhere nothing else is on the screen, and they
//! are shown at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dunlin_apps::Allowance;
use dunlin_apps::page::PageError;
use dunlin_host::app::{AppError, LogLevel, ProgramError};
use dunlin_host::ask::{Answer, Ask, Question};
use dunlin_host::display::{escape, escape_multiline, shorten};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::inspect::shared_state::WAKE_AGAIN;
use dunlin_chat::tokens::counted;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::style::Label;

/// Lines that an app may show at once, and the time after which it may show one more. A timer that fails says the same many
/// times per second, and the first line says it all.
const BURST: u32 = 5;
const INTERVAL: Duration = Duration::from_millis(400);

/// The longest line of an app, in characters.
const MAX_LINE_CHARS: usize = 400;

/// How many lines wait until they can be shown, the latest: what an app said during a long turn must not push it away.
const MAX_LINES: usize = 20;

/// How many refusals in a row are taken as the answer to whatever else this version of an app asks: who says no three times
/// does not want to be asked eight times a minute.
const MAX_REFUSALS: u32 = 3;

/// Said of an app with so many.
const NOT_ASKED_ANY_MORE: &str = "you refused three times in a row: whatever else this version asks is refused, too, until the app is closed and opened again";

/// How many errors are kept for `/fix`, the latest, and how much of each, in characters.
const MAX_ERRORS: usize = 10;
const MAX_ERROR_CHARS: usize = 1000;

/// When what an app says is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowWhen {
    /// At once.
    Now,
    /// While a message is being read: the line that is typed makes way.
    BetweenMessages,
}

/// What apps have to say.
pub struct AppOutput {
    ui: Arc<Ui>,
    ask: Arc<dyn Ask>,
    when: ShowWhen,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lines: WaitingLines,
    questions: VecDeque<(Question, oneshot::Sender<Answer>)>,
    /// A message is being read.
    is_reading: bool,
    /// A thread is ending the line in which it is read.
    is_waking: bool,
    /// What is kept of each app.
    apps: BTreeMap<String, OfApp>,
}

/// What is kept of an app.
struct OfApp {
    allowance: Allowance,
    errors: VecDeque<String>,
}

impl Default for OfApp {
    fn default() -> OfApp {
        OfApp {
            allowance: Allowance::new(BURST, INTERVAL, Instant::now()),
            errors: VecDeque::new(),
        }
    }
}

/// The latest lines that wait until they can be shown.
#[derive(Default)]
struct WaitingLines {
    lines: VecDeque<(Label, String)>,
    /// Lines before them that there was no room for.
    dropped: usize,
}

impl WaitingLines {
    fn push(&mut self, label: Label, line: String) {
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
            self.dropped += 1;
        }
        self.lines.push_back((label, line));
    }

    /// All of them, below one that says how many are missing.
    fn take(&mut self) -> Vec<(Label, String)> {
        let dropped = match std::mem::take(&mut self.dropped) {
            0 => None,
            dropped => {
                let earlier = counted(dropped, "earlier line", "earlier lines");
                Some((Label::Quiet, format!("({earlier} of apps left out)")))
            }
        };
        dropped.into_iter().chain(self.lines.drain(..)).collect()
    }
}

impl AppOutput {
    /// `ask` asks the user.
    pub fn new(ui: Arc<Ui>, ask: Arc<dyn Ask>, when: ShowWhen) -> AppOutput {
        AppOutput {
            ui,
            ask,
            when,
            state: Mutex::default(),
        }
    }

    /// Shows what the program of an app has logged.
    pub fn logged(self: &Arc<Self>, app: &str, level: LogLevel, text: &str) {
        let label = match level {
            LogLevel::Debug => return,
            LogLevel::Info => Label::Quiet,
            LogLevel::Warn => Label::Warning,
            // `console.error`, and what was thrown where nobody waited for it.
            LogLevel::Error => {
                let text = shorten(text, MAX_ERROR_CHARS);
                self.keep_error(app, &format!("main-js: {}", escape_multiline(&text)));
                Label::Warning
            }
        };
        self.show(label, app, &escape(&shorten(text, MAX_LINE_CHARS)));
    }

    /// Shows and keeps an error of the page.
    pub fn page_error(self: &Arc<Self>, app: &str, error: &PageError) {
        let message = escape(&shorten(&error.message, MAX_LINE_CHARS)).into_owned();
        let place = error
            .location
            .map(|it| format!("{}, line {}, column {}: ", it.part, it.line, it.column));
        let text = format!("{}{message}", place.unwrap_or_else(|| "page: ".to_owned()));
        self.keep_error(app, &text);
        let more = match error.omitted {
            0 => String::new(),
            omitted => format!(" (and {omitted} more)"),
        };
        self.show(Label::Warning, app, &format!("{text}{more}"));
    }

    /// Shows and keeps why the program has failed. What the user has just refused is no news.
    pub fn program_error(self: &Arc<Self>, app: &str, error: &AppError) {
        let AppError::Program(thrown) = error else {
            let text = format!("main-js: {error}");
            self.keep_error(app, &text);
            return self.show(Label::Warning, app, &text);
        };
        if thrown.is_refused_by_user {
            return;
        }
        let text = described(thrown);
        let stack = shorten(&thrown.stack, MAX_ERROR_CHARS);
        self.keep_error(app, format!("{text}\n{stack}").trim_end());
        self.show(Label::Warning, app, &text);
    }

    /// The latest errors of an app, oldest first; they are gone then. Escaped.
    pub fn take_errors(&self, app: &str) -> Vec<String> {
        let mut state = self.state.lock();
        let of_app = state.apps.get_mut(app);
        of_app.map_or_else(Vec::new, |it| std::mem::take(&mut it.errors).into())
    }

    fn keep_error(&self, app: &str, text: &str) {
        let mut state = self.state.lock();
        let errors = &mut state.apps.entry(app.to_owned()).or_default().errors;
        if errors.iter().any(|kept| kept == text) {
            return;
        }
        if errors.len() == MAX_ERRORS {
            errors.pop_front();
        }
        errors.push_back(text.to_owned());
    }

    /// Warns of something that has to do with an app. Escapes it.
    pub fn warn(self: &Arc<Self>, app: &str, text: &str) {
        self.show(Label::Warning, app, &escape(text));
    }

    /// Shows a line under the name of an app. `text` is escaped.
    fn show(self: &Arc<Self>, label: Label, app: &str, text: &str) {
        let mut state = self.state.lock();
        let of_app = state.apps.entry(app.to_owned()).or_default();
        let Some(omitted) = of_app.allowance.take(Instant::now()) else {
            return;
        };
        let more = match omitted {
            0 => String::new(),
            1 => " (1 line before it was left out)".to_owned(),
            omitted => format!(" ({omitted} lines before it were left out)"),
        };
        let line = format!("app '{}': {text}{more}", escape(app));
        if self.when == ShowWhen::Now {
            drop(state);
            return self.print(label, &line);
        }
        state.lines.push(label, line);
        drop(state);
        self.wake();
    }

    fn print(&self, label: Label, line: &str) {
        let painted = self.ui.status_styles().paint(label, line);
        self.ui.status_with_foreign(&painted);
    }

    /// A message is about to be read, or its line to be drawn again: shows the lines that wait. Whether questions wait, which
    /// [`AppOutput::answer`] asks.
    pub fn begin_reading(&self) -> bool {
        let (lines, waits) = {
            let mut state = self.state.lock();
            state.is_reading = true;
            state.questions.retain(|(_, answer)| !answer.is_closed());
            (state.lines.take(), !state.questions.is_empty())
        };
        for (label, line) in lines {
            self.print(label, &line);
        }
        waits
    }

    /// No message is being read any more.
    pub fn end_reading(&self) {
        self.state.lock().is_reading = false;
    }

    /// Asks the questions that wait, one after the other.
    pub async fn answer(&self) {
        loop {
            let Some((question, answer)) = self.state.lock().questions.pop_front() else {
                return;
            };
            if !answer.is_closed() {
                // The app may be closed meanwhile.
                let _ = answer.send(self.ask.ask(question).await);
            }
        }
    }

    /// Ends the line that is being typed until what waits was shown.
    fn wake(self: &Arc<Self>) {
        {
            let mut state = self.state.lock();
            if state.is_waking || !state.is_reading {
                return;
            }
            state.is_waking = true;
        }
        let output = Arc::clone(self);
        std::thread::spawn(move || {
            while output.goes_on_waking() {
                if !output.ui.wake() {
                    // Whoever reads the next line shows what waits.
                    output.state.lock().is_waking = false;
                    return;
                }
                std::thread::sleep(WAKE_AGAIN);
            }
        });
    }

    /// Whether something still waits for the end of the line. In one step with the note that nobody ends it: what comes next
    /// begins anew.
    fn goes_on_waking(&self) -> bool {
        let mut state = self.state.lock();
        let waits = !(state.lines.lines.is_empty() && state.questions.is_empty());
        state.is_waking = state.is_reading && waits;
        state.is_waking
    }
}

/// Asks for one version of an app in the moments in which the user can be asked, until it is plain that they refuse.
pub struct DeferredAsk {
    output: Arc<AppOutput>,
    app: String,
    refusals: Refusals,
}

impl DeferredAsk {
    /// For the version of the app that is opened now.
    pub fn new(output: Arc<AppOutput>, app: &str) -> DeferredAsk {
        DeferredAsk {
            output,
            app: app.to_owned(),
            refusals: Refusals::default(),
        }
    }

    async fn answer(&self, question: Question) -> Option<Answer> {
        let output = &self.output;
        if output.when == ShowWhen::Now || !output.ask.is_attended() {
            return Some(output.ask.ask(question).await);
        }
        let (sender, answer) = oneshot::channel();
        output.state.lock().questions.push_back((question, sender));
        output.wake();
        answer.await.ok()
    }
}

#[async_trait]
impl Ask for DeferredAsk {
    async fn ask(&self, question: Question) -> Answer {
        if self.refusals.are_enough() {
            return Answer::DENY;
        }
        // Nobody has answered what is not asked any more.
        let Some(answer) = self.answer(question).await else {
            return Answer::DENY;
        };
        if self.output.ask.is_attended() && self.refusals.count(answer.allow) {
            self.output.warn(&self.app, NOT_ASKED_ANY_MORE);
        }
        answer
    }

    fn is_attended(&self) -> bool {
        self.output.ask.is_attended()
    }

    fn went_unasked(&self, question: &Question) {
        self.output.ask.went_unasked(question);
    }
}

/// How often the user has refused in a row.
#[derive(Default)]
struct Refusals(AtomicU32);

impl Refusals {
    fn are_enough(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= MAX_REFUSALS
    }

    /// Counts an answer. Whether it was the refusal that makes them enough.
    fn count(&self, is_allowed: bool) -> bool {
        if is_allowed {
            self.0.store(0, Ordering::Relaxed);
            return false;
        }
        self.0.fetch_add(1, Ordering::Relaxed) + 1 == MAX_REFUSALS
    }
}

/// An error that the program threw, in one line.
fn described(thrown: &ProgramError) -> String {
    let place = match (thrown.line, thrown.column) {
        (Some(line), Some(column)) => format!("main-js, line {line}, column {column}: "),
        (Some(line), None) => format!("main-js, line {line}: "),
        (None, _) => "main-js: ".to_owned(),
    };
    match &thrown.kind {
        Some(kind) => format!("{place}{kind}: {}", thrown.message),
        None => format!("{place}{}", thrown.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_lines_that_wait_the_latest_are_kept() {
        let mut waiting = WaitingLines::default();
        let taken = |waiting: &mut WaitingLines| {
            let lines = waiting.take().into_iter();
            lines.map(|(_, line)| line).collect::<Vec<_>>()
        };
        for n in 0..MAX_LINES {
            waiting.push(Label::Quiet, n.to_string());
        }
        let all: Vec<_> = (0..MAX_LINES).map(|n| n.to_string()).collect();
        assert_eq!(taken(&mut waiting), all);
        for n in 0..MAX_LINES + 3 {
            waiting.push(Label::Quiet, n.to_string());
        }
        let lines = taken(&mut waiting);
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(lines[..2], ["(3 earlier lines of apps left out)", "3"]);
        assert_eq!(taken(&mut waiting), [""; 0]);
    }

    #[test]
    fn refusals_count_in_a_row() {
        let refusals = Refusals::default();
        let allowed = |allowed: &[bool]| {
            let counted = allowed.iter().map(|it| refusals.count(*it));
            counted.collect::<Vec<_>>()
        };
        assert_eq!(allowed(&[false, false, true, false, false]), [false; 5]);
        assert!(!refusals.are_enough());
        assert_eq!(allowed(&[false, false]), [true, false], "said once");
        assert!(refusals.are_enough());
    }

    #[test]
    fn errors_say_where_they_happened() {
        let thrown = |kind: Option<&str>, line, column| ProgramError {
            message: "x is not a function".to_owned(),
            kind: kind.map(str::to_owned),
            stack: String::new(),
            line,
            column,
            ..ProgramError::default()
        };
        for (thrown, expected) in [
            (
                thrown(Some("TypeError"), Some(3), Some(7)),
                "main-js, line 3, column 7: TypeError: x is not a function",
            ),
            (
                thrown(None, Some(3), None),
                "main-js, line 3: x is not a function",
            ),
            (thrown(None, None, None), "main-js: x is not a function"),
        ] {
            assert_eq!(described(&thrown), expected);
        }
    }
}
