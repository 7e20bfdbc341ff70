//! The one place where an answer is read from the terminal.
//!
//! Every question goes through here, and all of them keep one rule: keystrokes typed before a question is on the screen
//! never answer it. The question is shown first, then everything typed is taken out of the terminal until typing pauses
//! and no line is open that was begun too early (`open_line`), and only then a line is read. In the chat the early keystrokes become text of the next message, but for lines that look
//! like answers: these are dropped with a note, as everything is elsewhere, where there is no next message.
//!
//! `clippy.toml` forbids the functions that read a line everywhere else.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::{History, MemHistory};
use rustyline::validate::Validator;
use rustyline::{
    Cmd, Config, Context, Editor, Event, Helper, KeyCode, KeyEvent, Modifiers, Movement,
};
use unicode_width::UnicodeWidthStr;

use super::input_marks;
use super::keys::SEQUENCE_MILLIS;
use super::legible::{COLOR_MODE, legible};
use super::line_paste::LinePaste;
use super::resize::Drawn;
pub(crate) use super::silence::SILENCE;
use super::silence::{self, Escape, LONGEST_TYPING, Silence};
use super::sink::Sink;
use super::style::Label;
use super::terminal::TurnMode;
use super::wake::CTRL_D;
use super::wake::TypedSoFar;
use super::{Typed, Ui, newline, suspend, terminal};
use crate::approval::line::looks_like_answer;

/// Says why a question or a prompt does not take keys yet.
const WAITS: &str = "Waiting for the rest of what was pasted.";

/// Says that early keystrokes answered nothing, where no next message holds them.
const DROPPED: &str = "Keystrokes typed before this question were ignored.";

/// Whether what is typed as an answer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    Shown,
    Hidden,
    /// The user decides with Ctrl-T; `hidden` says how the line begins.
    Choice {
        /// Whether typing is hidden until Ctrl-T is pressed.
        hidden: bool,
    },
}

/// Whether typing has to pause before an answer is read.
#[derive(Debug, Clone, Copy)]
enum Wait<'a> {
    /// It has to, and what was typed before is set aside.
    Silence,
    /// It has to, and what was typed before belongs to the line, but for Enter.
    Keep(&'a TypedSoFar),
    /// The line was there before, and goes on.
    No,
}

impl Ui {
    /// Shows the question above and reads one line as its answer.
    pub fn ask_line(&self, above: &str, prompt: &str) -> Typed {
        self.ask_echoing(above, prompt, Echo::Shown)
    }

    /// Shows the question above and reads one line as its answer; `echo` says whether the line is shown while it is typed.
    /// No history keeps the answer.
    pub fn ask_echoing(&self, above: &str, prompt: &str, echo: Echo) -> Typed {
        let hidden = matches!(echo, Echo::Hidden | Echo::Choice { hidden: true });
        let line = (prompt, ("", ""));
        self.ask(above, line, hidden, |paste| {
            answer_editor(echo, prompt, paste)
        })
    }

    /// Shows the question above and reads its answer with the caller's line editor, whose keys do nothing within a paste. The
    /// editor must be a new one: an editor that has read a line may keep the input that arrived together with it, and that
    /// input must not become this answer.
    pub fn ask_line_with<H: Helper, I: History>(
        &self,
        above: &str,
        prompt: &str,
        editor: impl FnOnce(&LinePaste) -> rustyline::Result<Editor<H, I>>,
    ) -> Typed {
        self.ask(above, (prompt, ("", "")), false, editor)
    }

    /// The same for a line that [`Ui::wake`] can end. Then `woken` says what to show above it from now on and what
    /// stands before it, and the line goes on as it was; `None`: the line is over. `typed` is kept up to date by the editor's helper.
    ///
    /// `follows`: this is the next line about what the user has seen already, so that what was typed since the last one is
    /// the beginning of this one. Enter is dropped: nobody has seen the line.
    pub fn ask_line_until_woken<H: Helper, I: History>(
        &self,
        above: &str,
        (prompt, follows): (&str, bool),
        typed: &TypedSoFar,
        editor: impl Fn(&LinePaste) -> rustyline::Result<Editor<H, I>>,
        mut woken: impl FnMut() -> Option<(String, &'static str)>,
    ) -> Typed {
        // Nobody else takes what is typed while there is no line.
        let _keyboard = self.hold_keyboard();
        let (mut above, mut prompt) = (above.to_owned(), prompt);
        let mut wait = match follows {
            true => Wait::Keep(typed),
            false => Wait::Silence,
        };
        let mut keys = None;
        let paste = LinePaste::default();
        loop {
            let (before, after) = typed.get();
            let mut printer = None;
            let line = (prompt, (before.as_str(), after.as_str()));
            if let Wait::Silence = wait {
                self.wake.holds();
            }
            let read = self.ask_held(&above, line, (false, wait), &paste, || {
                let mut editor = editor(&paste)?;
                // With a printer the line editor waits for signals, too. Nothing is printed with it.
                printer = editor.create_external_printer().ok();
                self.wake.reads(Some((typed, &paste)));
                Ok(editor)
            });
            let was_woken = self.wake.reads(None);
            drop(printer);
            // The line has not begun, and still has to wait.
            if read == Typed::Woken {
                match woken() {
                    Some(line) => (above, prompt) = line,
                    None => return Typed::Woken,
                }
                continue;
            }
            if typed.takes_interruption() || read != Typed::Interrupted || !was_woken {
                typed.ended(self.early.lock().len());
                return read;
            }
            // Ctrl-C stays a key.
            keys = keys.or_else(TurnMode::keys);
            // Below a paused request it stays: it is a mark in the list of what was done to the request.
            if self.redraws && prompt != input_marks::REQUEST {
                let (before, after) = typed.get();
                self.take_row_away(&format!("{prompt}{before}{after}"));
            }
            match woken() {
                Some(line) => (above, prompt) = line,
                None => return Typed::Woken,
            }
            if let Some(left) = typed.resume(&self.typed_meanwhile(SILENCE)) {
                return left;
            }
            wait = Wait::No;
        }
    }

    /// What is typed until the user stops for a moment. Whoever does not stop gets the line after about this time.
    fn typed_meanwhile(&self, longest: Duration) -> Vec<u8> {
        let mut typed = Vec::new();
        let take = || {
            let taken = terminal::take_typed();
            self.early.lock().pass(&taken);
            typed.extend(&taken);
            taken
        };
        if self.streams.input {
            let (how, stalls) = ((longest, Escape::Passes), || self.say_waits());
            silence::wait(&self.early, how, take, stalls, silence::first_pause);
        }
        typed
    }

    /// Puts the rest of what is being pasted aside, if anything is.
    pub(super) fn end_paste(&self) {
        if !self.streams.input || self.early.lock().longest_stall().is_none() {
            return;
        }
        let _mode = TurnMode::question();
        let take = || self.put_aside();
        let (how, stalls) = ((LONGEST_TYPING, Escape::Passes), || self.say_waits());
        let silence = silence::wait(&self.early, how, take, stalls, silence::first_pause);
        if silence != Silence::Quiet {
            self.early.lock().give_up();
        }
    }

    /// Says what is waited for.
    pub(super) fn say_waits(&self) {
        let text = self.status_styles.paint(Label::Quiet, WAITS);
        self.line(self.status_sink(), &text);
    }

    /// Has one line of text edited, beginning as it is given. It must have no character that acts on a terminal.
    pub fn edit_line(&self, above: &str, prompt: &str, text: &str) -> Typed {
        self.ask(above, (prompt, (text, "")), false, |paste| {
            answer_editor(Echo::Shown, prompt, paste)
        })
    }

    fn ask<H: Helper, I: History>(
        &self,
        above: &str,
        line: (&str, (&str, &str)),
        hidden: bool,
        editor: impl FnOnce(&LinePaste) -> rustyline::Result<Editor<H, I>>,
    ) -> Typed {
        let _keyboard = self.hold_keyboard();
        let (how, paste) = ((hidden, Wait::Silence), LinePaste::default());
        self.ask_held(above, line, how, &paste, || editor(&paste))
    }

    /// Asks. The caller has the keyboard.
    fn ask_held<H: Helper, I: History>(
        &self,
        above: &str,
        line: (&str, (&str, &str)),
        how: (bool, Wait<'_>),
        paste: &LinePaste,
        editor: impl FnOnce() -> rustyline::Result<Editor<H, I>>,
    ) -> Typed {
        // Holds from before the question is shown until the answer is read, and is dropped before the keyboard is released.
        let mode = self.streams.input.then(TurnMode::question).flatten();
        {
            let mut screen = self.screen();
            self.end_waiting(&mut screen);
            self.print_held(&mut screen);
            self.end_line(&mut screen);
            self.take_live_away(&mut screen);
            if !above.is_empty() {
                self.write_rows(&mut screen, Sink::Out, &format!("{above}\n"));
            }
        }
        let editor = || {
            let mut editor = editor()?;
            editor.bind_sequence(Event::Any, paste.inserts());
            suspend::bind(&mut editor, (above, false), paste, &self.early);
            Ok(editor)
        };
        let typed = self.read_answer(line, how, mode.is_some(), paste, editor);
        self.draw(&mut self.screen());
        typed
    }

    /// Waits until nobody types, then reads the answer.
    fn read_answer<H: Helper, I: History>(
        &self,
        (prompt, start): (&str, (&str, &str)),
        (hidden, wait): (bool, Wait<'_>),
        outside_turn: bool,
        paste: &LinePaste,
        editor: impl FnOnce() -> rustyline::Result<Editor<H, I>>,
    ) -> Typed {
        let mut kept = None;
        match wait {
            Wait::Silence if self.streams.input => {
                let silence = self.wait_for_silence(outside_turn, hidden);
                if silence == Silence::Woken {
                    return Typed::Woken;
                }
                self.drop_early_typing_without_next_message();
                if silence != Silence::Quiet {
                    return Typed::Interrupted;
                }
                self.drop_early_answers();
            }
            Wait::Keep(typed) => {
                // While the last line was done, keys were taken to look for Esc.
                let mut keys = self.early.lock().split_off(typed.early_before());
                keys.extend(self.typed_meanwhile(LONGEST_TYPING));
                // It ends what was on the screen, and not a line that nobody has seen.
                keys.retain(|key| *key != CTRL_D);
                if let Some(left) = typed.resume(&keys) {
                    return left;
                }
                kept = Some(typed.get());
            }
            Wait::Silence | Wait::No => {}
        }
        let start = kept
            .as_ref()
            .map_or(start, |(before, after)| (before, after));
        // Where the cursor cannot be moved there is no line editor, and the terminal itself edits and shows the line.
        let lines = match (self.dumb, hidden) {
            (false, _) => None,
            (true, false) => TurnMode::lines(),
            (true, true) => TurnMode::unseen(),
        };
        let typed = editor().map_or(Typed::End, |mut editor| {
            self.read(&mut editor, prompt, start, paste)
        });
        drop(lines);
        typed
    }

    /// Reads a line outside a turn, such as a choice during set-up.
    pub fn plain_line(&self, prompt: &str) -> Typed {
        self.ask_line("", prompt)
    }

    /// Reads a line outside a turn without showing it.
    pub fn hidden_line(&self, prompt: &str) -> Typed {
        self.ask_echoing("", prompt, Echo::Hidden)
    }

    /// Reads a message of the chat, beginning with `early`: a message answers no question, so text typed earlier may become
    /// part of it. `prompt` makes what stands before the line, and does so again each time that [`Ui::wake`] has ended it:
    /// the line then goes on as it was, or, where there is nothing to stand before it, is left. `typed` is kept up to date by the editor's helper, and `paste` by what handles its
    /// keys.
    pub fn read_message<H: Helper, I: History>(
        &self,
        editor: &mut Editor<H, I>,
        early: &str,
        (typed, paste): (&TypedSoFar, &LinePaste),
        mut prompt: impl FnMut(&mut Editor<H, I>) -> Option<String>,
    ) -> Typed {
        let _keyboard = self.hold_keyboard();
        suspend::bind(editor, ("", self.redraws), paste, &self.early);
        if !self.redraws {
            typed.set(early, early.len());
            let Some(prompt) = prompt(editor) else {
                return Typed::Woken;
            };
            return self.read(editor, &prompt, (early, ""), paste);
        }
        let listening = newline::Listening::begin();
        self.write(&mut self.screen(), Sink::Out, newline::ASK);
        // With a printer the line editor waits for signals, too. Nothing is printed with it.
        let printer = editor.create_external_printer().ok();
        typed.set(early, early.len());
        // The line editor gives the terminal back in this mode whenever its line is ended: what is typed until the next one
        // stays in the terminal, and no key has an effect there.
        let keys = TurnMode::keys();
        let read = loop {
            // First: whoever changes what the prompt says after it was made must find that there is a line.
            self.wake.reads(Some((typed, paste)));
            let Some(prompt) = prompt(editor) else {
                self.wake.reads(None);
                break Typed::Woken;
            };
            let (before, after) = typed.get();
            let read = self.read(editor, &prompt, (before.as_str(), after.as_str()), paste);
            let was_woken = self.wake.reads(None);
            if typed.takes_interruption() || read != Typed::Interrupted || !was_woken {
                break read;
            }
            let (before, after) = typed.get();
            self.take_row_away(&format!("{prompt}{before}{after}"));
        };
        drop((keys, printer));
        self.write(&mut self.screen(), Sink::Out, newline::GIVE_UP);
        drop(listening);
        read
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the lint directs every other caller to this module"
    )]
    fn read<H: Helper, I: History>(
        &self,
        editor: &mut Editor<H, I>,
        prompt: &str,
        start: (&str, &str),
        paste: &LinePaste,
    ) -> Typed {
        self.waits_for_user();
        let styled = self.styles.paint(Label::Prompt, prompt);
        let read = editor.readline_with_initial(&(prompt.to_owned(), styled), start);
        self.mark_pastes_again();
        if paste.is_open() {
            paste.end();
            self.early.lock().begin_paste();
        }
        match read {
            Ok(line) => {
                self.user_is_there(true);
                Typed::Line(line)
            }
            Err(ReadlineError::Interrupted) => Typed::Interrupted,
            Err(_) => Typed::End,
        }
    }

    /// Drops early lines that look like answers: in the next message they would be sent as if they meant something.
    fn drop_early_answers(&self) {
        let answers = self.early.lock().drop_answers(looks_like_answer);
        if !answers.is_empty() {
            let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
            self.say_dropped(&answers, "before this question");
        }
    }

    /// Whether what was typed early becomes text of the next message. Where the cursor cannot be moved, a line always begins
    /// empty.
    pub(super) fn keeps_early_typing(&self) -> bool {
        self.one_screen && !self.dumb
    }

    fn drop_early_typing_without_next_message(&self) {
        if !self.keeps_early_typing() && !self.early.lock().take().is_empty() {
            let text = self.status_styles.paint(Label::Warning, DROPPED);
            self.line(self.status_sink(), &text);
        }
    }
}

/// A line editor for one answer, with an empty history that is not kept.
pub(super) fn answer_editor(
    echo: Echo,
    prompt: &str,
    paste: &LinePaste,
) -> rustyline::Result<Editor<AnswerLine, MemHistory>> {
    let config = Config::builder()
        .auto_add_history(false)
        .keyseq_timeout(Some(SEQUENCE_MILLIS))
        .color_mode(COLOR_MODE)
        .build();
    let mut editor = Editor::with_history(config, MemHistory::new())?;
    let hidden = Arc::new(AtomicBool::new(match echo {
        Echo::Shown => false,
        Echo::Hidden => true,
        Echo::Choice { hidden } => hidden,
    }));
    if let Echo::Choice { .. } = echo {
        let hidden = Arc::clone(&hidden);
        let toggle = paste.typed(move |_| {
            hidden.fetch_xor(true, Ordering::Relaxed);
            Some(Cmd::Repaint)
        });
        editor.bind_sequence(KeyEvent::ctrl('T'), toggle);
    }
    editor.set_helper(Some(AnswerLine {
        hidden,
        prompt: prompt.to_owned(),
        drawn: Mutex::default(),
    }));
    no_key_waits(&mut editor);
    clear_with_escape(&mut editor, paste);
    Ok(editor)
}

/// Takes away the keys of the line editor that wait for another one. That would be the mark at the beginning of a paste, whose
/// text would then be keys, with an Enter at the end of each line.
pub fn no_key_waits<H: Helper, I: History>(editor: &mut Editor<H, I>) {
    let control = ['X', ']', 'Q', 'V'].map(KeyEvent::ctrl);
    let backward = KeyEvent(KeyCode::Char(']'), Modifiers::CTRL_ALT);
    for key in control.into_iter().chain([backward]) {
        editor.bind_sequence(key, Cmd::Noop);
    }
}

/// Makes Esc clear the line. By default the line editor takes Esc and the next key as one combination.
pub fn clear_with_escape<H: Helper, I: History>(editor: &mut Editor<H, I>, paste: &LinePaste) {
    editor.bind_sequence(
        KeyEvent(KeyCode::Esc, Modifiers::NONE),
        paste.typed(|_| Some(Cmd::Kill(Movement::WholeBuffer))),
    );
}

/// Paints a line as it is, or as spaces.
pub(super) struct AnswerLine {
    hidden: Arc<AtomicBool>,
    prompt: String,
    drawn: Mutex<Drawn>,
}

impl AnswerLine {
    fn is_hidden(&self) -> bool {
        self.hidden.load(Ordering::Relaxed)
    }
}

impl Helper for AnswerLine {}

impl Completer for AnswerLine {
    type Candidate = String;
}

impl Hinter for AnswerLine {
    type Hint = String;

    /// Has none; but it is asked for before each time that the line is drawn.
    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<String> {
        let (before, after) = line.split_at_checked(pos).unwrap_or((line, ""));
        let before = format!("{}{before}", self.prompt);
        self.drawn.lock().follow(&before, after, "");
        None
    }
}

impl Validator for AnswerLine {}

impl Highlighter for AnswerLine {
    #[expect(
        clippy::disallowed_methods,
        reason = "the line editor counts by this table, and the spaces must be as wide as the line"
    )]
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        match self.is_hidden() {
            true => Cow::Owned(" ".repeat(line.width())),
            false => legible(line),
        }
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        self.is_hidden()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_t_hides_and_shows_the_line() {
        let editor =
            answer_editor(Echo::Choice { hidden: true }, "", &LinePaste::default()).unwrap();
        let helper = editor.helper().unwrap();
        assert_eq!(helper.highlight("grün", 0), "    ");
        helper.hidden.store(false, Ordering::Relaxed);
        assert_eq!(helper.highlight("grün", 0), "grün");
    }
}
