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

/// The same for what a page was kept from loading: a page that loads ten fonts from elsewhere has at most one reason to fail.
const BLOCKED_BURST: u32 = 2;
const BLOCKED_INTERVAL: Duration = Duration::from_secs(5);

/// After which time it is said how many errors of a page were not shown. While more come the time doubles, up to the most.
const COUNT_AFTER: Duration = Duration::from_secs(1);
const MAX_COUNT_AFTER: Duration = Duration::from_secs(60);

/// The longest line of an app, in characters, and how many rows of what it wrote.
const MAX_LINE_CHARS: usize = 400;
const MAX_ROWS: usize = 6;

/// How many lines wait until they can be shown, the latest: what an app said during a long turn must not push it away.
const MAX_LINES: usize = 20;

/// How many refusals in a row are taken as the answer to whatever else this version of an app asks: who says no three times
/// does not want to be asked eight times a minute.
const MAX_REFUSALS: u32 = 3;

/// Said of an app with so many.
const NOT_ASKED_ANY_MORE: &str = "you refused three times in a row: whatever else this version asks is refused, too, until the app is closed and opened again";

/// How many errors are kept for `/fix`, the latest, and how much of each, in characters.
const MAX_ERRORS: usize = 20;
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
    /// The same of errors of the page, and of what it was kept from loading.
    errors_of_page: Allowance,
    blocked: Allowance,
    /// Errors of the page that were not shown, and whether a thread is going to say how many.
    unshown: u64,
    is_counting: bool,
    errors: VecDeque<KeptError>,
}

/// An error as `/fix` sends it. Escaped.
#[derive(PartialEq)]
struct KeptError {
    text: String,
    /// Whether the page was only kept from loading something.
    is_blocked: bool,
}

impl Default for OfApp {
    fn default() -> OfApp {
        let now = Instant::now();
        OfApp {
            allowance: Allowance::new(BURST, INTERVAL, now),
            errors_of_page: Allowance::new(BURST, INTERVAL, now),
            blocked: Allowance::new(BLOCKED_BURST, BLOCKED_INTERVAL, now),
            unshown: 0,
            is_counting: false,
            errors: VecDeque::new(),
        }
    }
}

impl OfApp {
    /// Keeps an error. Where there is no room, what was blocked goes first.
    fn keep(&mut self, error: KeptError) {
        if self.errors.contains(&error) {
            return;
        }
        if self.errors.len() == MAX_ERRORS {
            let oldest = self.errors.iter().position(|kept| kept.is_blocked);
            if oldest.is_none() && error.is_blocked {
                return;
            }
            self.errors.remove(oldest.unwrap_or_default());
        }
        self.errors.push_back(error);
    }

    /// All that were kept, what was blocked last; they are gone then.
    fn take_errors(&mut self) -> Vec<String> {
        self.unshown = 0;
        let mut errors = Vec::from(std::mem::take(&mut self.errors));
        errors.sort_by_key(|error| error.is_blocked);
        errors.into_iter().map(|error| error.text).collect()
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
                self.keep_error(app, &format!("main-js: {}", escape_multiline(&text)), false);
                Label::Warning
            }
        };
        self.show(label, app, &in_rows(&shorten(text, MAX_LINE_CHARS)));
    }

    /// Shows and keeps an error of the page.
    pub fn page_error(self: &Arc<Self>, app: &str, error: &PageError) {
        let message = escape(&shorten(&error.message, MAX_LINE_CHARS)).into_owned();
        let place = error
            .location
            .map(|it| format!("{}, line {}, column {}: ", it.part, it.line, it.column));
        let text = format!("{}{message}", place.unwrap_or_else(|| "page: ".to_owned()));
        self.keep_error(app, &text, error.is_blocked);
        let now = Instant::now();
        let mut state = self.state.lock();
        let of_app = state.apps.entry(app.to_owned()).or_default();
        of_app.unshown = of_app.unshown.saturating_add(error.omitted);
        let allowance = match error.is_blocked {
            true => &mut of_app.blocked,
            false => &mut of_app.errors_of_page,
        };
        let is_shown = allowance.take(now).is_some();
        if !is_shown {
            of_app.unshown = of_app.unshown.saturating_add(1);
        }
        let counts = of_app.unshown > 0 && !std::mem::replace(&mut of_app.is_counting, true);
        drop(state);
        if is_shown {
            self.show_line(Label::Warning, app, &text);
        }
        if counts {
            let (output, app) = (Arc::clone(self), app.to_owned());
            std::thread::spawn(move || output.count_unshown(&app));
        }
    }

    /// Says how many errors of a page were not shown, until there are none.
    fn count_unshown(self: &Arc<Self>, app: &str) {
        let mut wait = COUNT_AFTER;
        loop {
            std::thread::sleep(wait);
            wait = (wait * 2).min(MAX_COUNT_AFTER);
            let unshown = {
                let mut state = self.state.lock();
                let of_app = state.apps.entry(app.to_owned()).or_default();
                of_app.is_counting = of_app.unshown > 0;
                std::mem::take(&mut of_app.unshown)
            };
            let more = match unshown {
                0 => return,
                1 => "1 more error of the page".to_owned(),
                count => format!("{count} more errors of the page"),
            };
            let way = match self.when {
                ShowWhen::Now => "",
                ShowWhen::BetweenMessages => "; /fix shows all that differ, and sends them",
            };
            self.show_line(Label::Quiet, app, &format!("{more}{way}"));
        }
    }

    /// Shows and keeps why the program has failed. What the user has just refused is no news.
    pub fn program_error(self: &Arc<Self>, app: &str, error: &AppError) {
        let AppError::Program(thrown) = error else {
            let text = format!("main-js: {error}");
            self.keep_error(app, &text, false);
            return self.show(Label::Warning, app, &text);
        };
        if thrown.is_refused_by_user {
            return;
        }
        let text = described(thrown);
        let stack = shorten(&thrown.stack, MAX_ERROR_CHARS);
        self.keep_error(app, format!("{text}\n{stack}").trim_end(), false);
        self.show(Label::Warning, app, &text);
    }

    /// The latest errors of an app, oldest first, and then what it was kept from loading; they are gone then. Escaped.
    pub fn take_errors(&self, app: &str) -> Vec<String> {
        let mut state = self.state.lock();
        let of_app = state.apps.get_mut(app);
        of_app.map_or_else(Vec::new, OfApp::take_errors)
    }

    fn keep_error(&self, app: &str, text: &str, is_blocked: bool) {
        let text = text.to_owned();
        let mut state = self.state.lock();
        let of_app = state.apps.entry(app.to_owned()).or_default();
        of_app.keep(KeptError { text, is_blocked });
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
        drop(state);
        self.show_line(label, app, &format!("{text}{more}"));
    }

    /// The same, however many there were.
    fn show_line(self: &Arc<Self>, label: Label, app: &str, text: &str) {
        let line = format!("app '{}': {text}", escape(app));
        if self.when == ShowWhen::Now {
            return self.print(label, &line);
        }
        self.state.lock().lines.push(label, line);
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

/// What an app wrote, escaped, with a bar before each row but the first: a row of it must not look like one of Dunlin's own.
fn in_rows(text: &str) -> String {
    let mut rows: Vec<&str> = text.lines().collect();
    let more = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    let mut rows: Vec<String> = rows
        .into_iter()
        .map(|row| escape(row).into_owned())
        .collect();
    if more > 0 {
        rows.push(format!("… {}", counted(more, "more line", "more lines")));
    }
    rows.join("\n  │ ")
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
    fn exceptions_are_kept_before_what_was_blocked() {
        let mut of_app = OfApp::default();
        let mut keep = |text: String, is_blocked| of_app.keep(KeptError { text, is_blocked });
        for n in 0..MAX_ERRORS {
            keep(format!("blocked {n}"), true);
        }
        keep("thrown".to_owned(), false);
        keep("thrown".to_owned(), false);
        keep("blocked later".to_owned(), true);
        let errors = of_app.take_errors();
        assert_eq!(errors.len(), MAX_ERRORS);
        assert_eq!(errors[..2], ["thrown", "blocked 2"]);
        assert_eq!(errors[MAX_ERRORS - 1], "blocked later");
        for n in 0..=MAX_ERRORS {
            let text = format!("thrown {n}");
            of_app.keep(KeptError {
                text,
                is_blocked: n == MAX_ERRORS,
            });
        }
        assert_eq!(of_app.take_errors()[0], "thrown 0");
    }

    #[test]
    fn what_an_app_wrote_keeps_its_rows() {
        assert_eq!(in_rows("one"), "one");
        assert_eq!(in_rows("one\n\x1b[2Jtwo"), "one\n  │ \\u{1b}[2Jtwo");
        let rows = in_rows(&"x\n".repeat(9));
        assert!(rows.ends_with("\n  │ … 3 more lines"), "{rows}");
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
