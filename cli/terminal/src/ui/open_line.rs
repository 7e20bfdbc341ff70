//! A line that was begun before a question appeared: it is typed early up to its end.
//!
//! A pause does not end it. Whoever stops in the middle of a word types its last letters and Enter afterwards, and they may be an
//! answer: `tes`, `s`. So the question is shown, but takes no answer until the user has ended the line. Until then the line is
//! shown below the question as it is typed, with what ends it.

use std::cell::RefCell;

use dunlin_host::display::{escape, shorten};

use super::input_row::end_of;
use super::interrupted_line::InterruptedLine;
use super::silence::{self, Escape, LONGEST_TYPING, Pause, Silence};
use super::sink::Sink;
use super::style::Label;
use super::{Ui, input_marks, terminal, wrap};
use crate::approval::line::looks_like_answer;

/// Says why a question takes no answer yet.
const HELD: &str = "End your line first: Enter keeps it for your next message, Ctrl-U drops it.";

/// Says it where there is no next message.
const HELD_WITHOUT_NEXT_MESSAGE: &str = "End your line first: Enter drops it.";

/// How much of a line that was kept is repeated, in characters.
const MAX_KEPT: usize = 60;

/// The line as it stands on the screen.
struct Shown {
    /// Where it began in what was typed early.
    start: usize,
    /// Whether it began with a message that made way for the question.
    is_message: bool,
    /// Its text; `None`: it has ended.
    line: Option<String>,
}

impl Ui {
    /// A message makes way for a question while it is typed, with the cursor between both parts. If it is not empty, the
    /// question takes no answer until the user has ended it. `is_whole`: Backspace does not reach into what is there.
    /// [`Ui::take_interrupted_line`] gives it back.
    pub fn interrupt_line(&self, message: (String, String), is_whole: bool) {
        let message = InterruptedLine::new(message, is_whole);
        self.early.lock().interrupt(message);
    }

    /// The message that made way, with what was typed in it since.
    pub fn take_interrupted_line(&self) -> String {
        self.early.lock().take_interrupted().unwrap_or_default()
    }

    /// Sets typed text aside until typing pauses and nothing is open, neither a paste nor a line, so that none of it becomes
    /// an answer. `hidden`: nothing that is typed may be shown.
    pub(super) fn wait_for_silence(&self, outside_turn: bool, hidden: bool) -> Silence {
        // In a turn Esc pressed just before the question was to end the turn.
        let escape = match outside_turn {
            true => Escape::Erases,
            false => Escape::Interrupts,
        };
        let shown = RefCell::new(None);
        let take = || {
            let typed = self.put_aside();
            if let Some(shown) = shown.borrow_mut().as_mut() {
                self.show_open_line(shown, hidden);
            }
            typed
        };
        let pauses = || {
            let (line, start, is_message) = {
                let early = self.early.lock();
                let is_message = early.interrupted().is_some_and(InterruptedLine::is_open);
                (early.open_line(), early.line_start(), is_message)
            };
            if line.is_none() {
                return Pause::Ends(Silence::Quiet);
            }
            if self.wake.was_woken_while_held() {
                return Pause::Ends(Silence::Woken);
            }
            let mut shown = shown.borrow_mut();
            let shown = shown.get_or_insert(Shown {
                start,
                is_message,
                line: None,
            });
            self.show_open_line(shown, hidden);
            Pause::Goes
        };
        let how = (LONGEST_TYPING, escape);
        let silence = silence::wait(&self.early, how, take, || self.say_waits(), pauses);
        if let Some(shown) = shown.into_inner() {
            self.take_open_line_away(&shown);
            let lines: Vec<String> = {
                let early = self.early.lock();
                let message = early.interrupted().filter(|_| shown.is_message);
                let message = message.map(|message| message.with(b""));
                message
                    .into_iter()
                    .chain(early.lines_from(shown.start))
                    .collect()
            };
            if silence == Silence::Quiet && !hidden {
                self.say_kept(&lines);
            }
        }
        silence
    }

    /// Shows the line as it is now.
    fn show_open_line(&self, shown: &mut Shown, hidden: bool) {
        let line = self.early.lock().open_line();
        if shown.line == line {
            return;
        }
        let columns = terminal::size().0;
        let held = || {
            let text = match self.keeps_early_typing() {
                true => HELD,
                false => HELD_WITHOUT_NEXT_MESSAGE,
            };
            let rows = wrap::hanging("  ", 2, text, columns.saturating_sub(1));
            let rows = rows
                .iter()
                .map(|row| self.styles.paint(Label::Warning, row));
            rows.map(|row| format!("{row}\n")).collect::<String>()
        };
        let text = |line: &str| match hidden {
            true => String::new(),
            false => escape(line).into_owned(),
        };
        match (&shown.line, &line) {
            (_, Some(line)) if self.redraws => {
                let room = columns.saturating_sub(input_marks::EARLY.len() + 1);
                let end = end_of(&text(line), room);
                let mark = self.styles.paint(Label::Prompt, input_marks::EARLY);
                self.draw_live(format!("{}{mark}{end}", held()));
            }
            (_, None) => self.take_open_line_away(shown),
            // The cursor cannot go back.
            (before, Some(line)) => {
                let (mark, line) = (input_marks::EARLY, text(line));
                let before = before.as_deref().map(text);
                let more = match &before {
                    Some(before) => match line.strip_prefix(before.as_str()) {
                        Some(more) => more.to_owned(),
                        None => format!("\n{mark}{line}"),
                    },
                    None => format!("{}{mark}{line}", held()),
                };
                self.write(&mut self.screen(), Sink::Out, &more);
            }
        }
        shown.line = line;
    }

    fn take_open_line_away(&self, shown: &Shown) {
        if shown.line.is_none() {
            return;
        }
        match self.redraws {
            true => self.take_live_line_away(),
            false => self.write(&mut self.screen(), Sink::Out, "\n"),
        }
    }

    /// Says what has become of the lines, but for those that are dropped with a note of their own.
    fn say_kept(&self, lines: &[String]) {
        let kept = lines.iter().filter(|line| !looks_like_answer(line));
        let mut kept = kept
            .flat_map(|line| line.lines())
            .filter(|line| !line.trim().is_empty());
        let Some(first) = kept.next().filter(|_| self.keeps_early_typing()) else {
            return;
        };
        let more = kept.next().map_or("", |_| " …");
        let first = escape(first.trim()).into_owned();
        let text = format!(
            "Kept for your next message: {}{more}",
            shorten(&first, MAX_KEPT)
        );
        for row in wrap::hanging("  ", 2, &text, terminal::size().0) {
            let row = self.status_styles.paint(Label::Quiet, &row);
            self.line(self.status_sink(), &row);
        }
    }
}
