//! What an open app has to say to the user: what its program logs, its errors, and questions about what it uses.
//!
//! A program runs whenever its page calls it, also while the user types a message. In the chat, lines and questions therefore
//! wait until a message is being read and then end that line for a moment; elsewhere nothing else is on the screen, and they
//! are shown at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dunlin_apps::Part;
use dunlin_apps::page::{PageError, Source};
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

/// How many lines wait until they can be shown.
const MAX_LINES: usize = 50;

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
    lines: VecDeque<(Label, String)>,
    /// Lines that there was no room for.
    dropped: usize,
    questions: VecDeque<(Question, oneshot::Sender<Answer>)>,
    /// A message is being read.
    is_reading: bool,
    /// A thread is ending the line in which it is read.
    is_waking: bool,
    /// What is kept of each app.
    apps: BTreeMap<String, OfApp>,
}

/// What is kept of an app.
#[derive(Default)]
struct OfApp {
    allowance: Allowance,
    errors: VecDeque<String>,
}

/// How many lines may still be shown.
struct Allowance {
    left: u32,
    counted: Instant,
    omitted: u64,
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance {
            left: BURST,
            counted: Instant::now(),
            omitted: 0,
        }
    }
}

impl Allowance {
    /// Whether one more line may be shown, and how many were left out before it.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let passed = now.duration_since(self.counted).as_millis() / INTERVAL.as_millis();
        if passed > 0 {
            let passed = u32::try_from(passed).unwrap_or(u32::MAX);
            self.left = self.left.saturating_add(passed).min(BURST);
            self.counted = now;
        }
        if self.left == 0 {
            self.omitted += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.omitted))
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
        let place = error.location.map(|it| {
            let part = match it.source {
                Source::Html => Part::Html,
                Source::Renderer => Part::Renderer,
            };
            format!("{part}, line {}, column {}: ", it.line, it.column)
        });
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
        if state.lines.len() == MAX_LINES {
            state.dropped += 1;
            return;
        }
        state.lines.push_back((label, line));
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
        let (lines, dropped, waits) = {
            let mut state = self.state.lock();
            state.is_reading = true;
            state.questions.retain(|(_, answer)| !answer.is_closed());
            (
                std::mem::take(&mut state.lines),
                std::mem::take(&mut state.dropped),
                !state.questions.is_empty(),
            )
        };
        for (label, line) in lines {
            self.print(label, &line);
        }
        if dropped > 0 {
            let more = counted(dropped, "more line", "more lines");
            self.print(Label::Quiet, &format!("({more} of apps)"));
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
        let waits = !(state.lines.is_empty() && state.questions.is_empty());
        state.is_waking = state.is_reading && waits;
        state.is_waking
    }
}

/// Asks in the moments in which the user can be asked.
pub struct DeferredAsk(pub Arc<AppOutput>);

#[async_trait]
impl Ask for DeferredAsk {
    async fn ask(&self, question: Question) -> Answer {
        let output = &self.0;
        if output.when == ShowWhen::Now || !output.ask.is_attended() {
            return output.ask.ask(question).await;
        }
        let (sender, answer) = oneshot::channel();
        output.state.lock().questions.push_back((question, sender));
        output.wake();
        answer.await.unwrap_or(Answer::DENY)
    }

    fn is_attended(&self) -> bool {
        self.0.ask.is_attended()
    }

    fn went_unasked(&self, question: &Question) {
        self.0.ask.went_unasked(question);
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
    fn of_a_flood_of_lines_a_few_are_shown_and_the_rest_is_counted() {
        let mut allowance = Allowance::default();
        let begun = allowance.counted;
        let shown = (0..100).filter_map(|_| allowance.take(begun)).count();
        assert_eq!(shown, BURST as usize);
        let left_out = 100 - u64::from(BURST);
        assert_eq!(allowance.take(begun + INTERVAL), Some(left_out));
        assert_eq!(allowance.take(begun + INTERVAL), None);
        let later = begun + INTERVAL * 1000;
        assert_eq!(allowance.take(later), Some(1));
        assert_eq!(allowance.left, BURST - 1);
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
