//! Questions that a yes or a no answers.
//!
//! They take the words of an approval for a yes and a no ([`line::yes_or_no`]) and nothing else. Esc on an empty line
//! leaves the question: that is a no, or no answer where the caller tells the two apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::{Cmd, KeyCode, KeyEvent, Modifiers, Movement};

use super::read_answer::{Echo, answer_editor};
use super::{Typed, Ui};
use crate::approval::line;

/// Says what else to do first.
const COMMAND: &str = "Dunlin takes no commands at this question: answer it first.";

/// Says what answers.
pub(super) const TYPE: &str = "Type y or n, then press Enter.";

/// Explains the question.
const HELP: &str = "y (yes) and n (no) answer it, with Enter; Esc or Ctrl-D on an empty line leaves it, and nothing is done.";

/// What was typed at a yes-or-no question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum YesOrNoLine {
    Yes,
    No,
    /// Esc, or the end of the input: nobody has typed an answer.
    Left,
    /// Ctrl-C.
    Interrupted,
    /// Something else; a sentence for it.
    Other(String, &'static str),
}

/// The answer to a yes-or-no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YesOrNo {
    Yes,
    /// No, Esc, or the end of the input.
    No,
    /// Ctrl-C.
    Interrupted,
}

/// What a line says.
fn understand(line: &str) -> YesOrNoLine {
    match (line::yes_or_no(line), line.trim()) {
        (Some(true), _) => YesOrNoLine::Yes,
        (Some(false), _) => YesOrNoLine::No,
        (None, "?" | "help") => YesOrNoLine::Other(line.to_owned(), HELP),
        (None, text) if text.starts_with('/') => YesOrNoLine::Other(line.to_owned(), COMMAND),
        (None, _) => YesOrNoLine::Other(line.to_owned(), TYPE),
    }
}

impl Ui {
    /// Shows a question and reads one answer.
    pub(super) fn read_yes_or_no(&self, prompt: &str) -> YesOrNoLine {
        let escapes = Arc::<AtomicBool>::default();
        let typed = self.ask_line_with("", prompt, |paste| {
            let mut editor = answer_editor(Echo::Shown, prompt, paste)?;
            let escaped = Arc::clone(&escapes);
            let leave = paste.typed(move |context| {
                Some(match context.line().is_empty() {
                    true => {
                        escaped.store(true, Ordering::Relaxed);
                        Cmd::AcceptLine
                    }
                    false => Cmd::Kill(Movement::WholeBuffer),
                })
            });
            editor.bind_sequence(KeyEvent(KeyCode::Esc, Modifiers::NONE), leave);
            Ok(editor)
        });
        match typed {
            Typed::Line(_) if escapes.load(Ordering::Relaxed) => YesOrNoLine::Left,
            Typed::Line(line) => understand(&line),
            Typed::End => YesOrNoLine::Left,
            Typed::Interrupted | Typed::Woken => YesOrNoLine::Interrupted,
        }
    }

    /// Asks for a yes or a no outside a turn, until it is one of them. The question is asked without `[y/n]`.
    pub fn yes_or_no(&self, question: &str) -> YesOrNo {
        let prompt = format!("{question} [y/n] ");
        loop {
            match self.read_yes_or_no(&prompt) {
                YesOrNoLine::Yes => return YesOrNo::Yes,
                YesOrNoLine::No | YesOrNoLine::Left => return YesOrNo::No,
                YesOrNoLine::Interrupted => return YesOrNo::Interrupted,
                YesOrNoLine::Other(_, sentence) => self.data(sentence),
            }
        }
    }

    /// Asks for a yes or a no outside a turn. An interruption counts as a no.
    pub fn confirms(&self, question: &str) -> bool {
        self.yes_or_no(question) == YesOrNo::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_answer_is_told_what_is() {
        for (line, expected) in [
            ("ok", YesOrNoLine::Yes),
            (" NO ", YesOrNoLine::No),
            ("?", YesOrNoLine::Other("?".to_owned(), HELP)),
            (
                "/help me",
                YesOrNoLine::Other("/help me".to_owned(), COMMAND),
            ),
        ] {
            assert_eq!(understand(line), expected, "{line:?}");
        }
        for line in ["", "always", "y 1", "v", "n because"] {
            assert!(
                matches!(understand(line), YesOrNoLine::Other(_, TYPE)),
                "{line:?}"
            );
        }
    }
}
