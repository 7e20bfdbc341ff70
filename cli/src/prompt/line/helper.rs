//! What the line editor of the prompt shows beside the line: what it can become, its hints and its colours.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::legible::legible;
use dunlin_terminal::ui::resize::Drawn;
use dunlin_terminal::ui::style::{Label, Styles};
use dunlin_terminal::ui::terminal;
use dunlin_terminal::ui::wake::TypedSoFar;
use dunlin_terminal::ui::wrap::visible;
use parking_lot::Mutex;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hint, Hinter};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use crate::mentions;
use crate::prompt::complete::{self, Names};
use crate::prompt::files::FileIndex;
use crate::prompt::paste::Pastes;
use crate::prompt::put_back::PutBack;
use crate::prompt::slash_table::REMEMBERS;
use crate::prompt::templates::SlashNames;

/// Columns beside the placeholder: the prompt, and the last one, which stays free.
const PROMPT_COLUMNS: usize = 3;

/// Stands behind pasted text that is folded.
const FOLDED: &str = "  (Tab unfolds it)";

/// What is said instead of sending a part of the word for pasted text.
const DAMAGED: &str =
    "  (a part of [pasted …] is missing: Ctrl-_ undoes, Backspace behind it takes all away)";

#[derive(Clone)]
pub(super) struct LineHelper {
    pub(super) styles: Styles,
    pub(super) project: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) names: Names,
    pub(super) files: FileIndex,
    pub(super) slash: SlashNames,
    /// What stands there as long as nothing was typed.
    pub(super) placeholder: String,
    /// Text that was put back into the line.
    pub(super) early: Arc<PutBack>,
    pub(super) pastes: Arc<Pastes>,
    /// What stands before the line; empty where a window that changes its width is left to the line editor.
    pub(super) prompt: String,
    pub(super) drawn: Arc<Mutex<Drawn>>,
    /// What lines that are no messages can become.
    pub(super) completion: Option<Completion>,
    /// What was typed so far, for whoever ends the line.
    pub(super) typed: TypedSoFar,
}

/// Stands behind the mark of a line that is to be remembered.
const REMEMBERS_HINT: &str = "a line for the project's AGENTS.md, or user: and one for yours";

/// What the text before the cursor can become, and where its last word begins.
pub type Completion = Arc<dyn Fn(&str) -> (usize, Vec<String>) + Send + Sync>;

impl LineHelper {
    /// Makes room for the line where the window has another width than when the line was drawn.
    fn follow_window(&self, (before, after): (&str, &str), hint: Option<&Rest>) {
        if self.prompt.is_empty() {
            return;
        }
        let mut drawn = self.drawn.lock();
        let before = format!("{}{before}", self.prompt);
        drawn.follow(&before, after, hint.map_or("", |hint| &hint.shown));
    }
}

/// What the line can become, behind the cursor.
pub(super) struct Rest {
    shown: String,
    /// Whether it can be taken over as it is.
    fits: bool,
}

impl Hint for Rest {
    fn display(&self) -> &str {
        &self.shown
    }

    fn completion(&self) -> Option<&str> {
        self.fits.then_some(&self.shown)
    }
}

impl Helper for LineHelper {}

/// What a line can become, listed as it is.
fn plain(text: String) -> Pair {
    Pair {
        display: text.clone(),
        replacement: text,
    }
}

impl Completer for LineHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        if let Some(typed) = self.early.take_replacement() {
            return Ok((0, vec![plain(typed)]));
        }
        if let Some((start, text)) = self.pastes.completion(line, pos) {
            return Ok((start, vec![plain(text)]));
        }
        if let Some(completion) = &self.completion
            && !line.starts_with('/')
        {
            let (start, found) = completion(&line[..pos]);
            return Ok((start, found.into_iter().map(plain).collect()));
        }
        let (start, found) = complete::candidates(
            &line[..pos],
            &self.project,
            self.home.as_deref(),
            &self.names,
            &self.files,
            &self.slash,
        );
        let is_name = start == 0 && line.starts_with('/');
        let described = is_name.then(|| complete::described(&found, &self.slash, terminal::size()));
        let pairs = match described.flatten() {
            Some(rows) => {
                let pairs = rows.into_iter().zip(found);
                pairs
                    .map(|(display, replacement)| Pair {
                        display,
                        replacement,
                    })
                    .collect()
            }
            None => found.into_iter().map(plain).collect(),
        };
        Ok((start, pairs))
    }
}

impl Hinter for LineHelper {
    type Hint = Rest;

    /// Is asked for before each time that the line is drawn.
    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<Rest> {
        self.typed.set(line, pos);
        let hint = self.rest(line, pos);
        self.follow_window(
            line.split_at_checked(pos).unwrap_or((line, "")),
            hint.as_ref(),
        );
        hint
    }
}

impl LineHelper {
    /// What stands behind the line.
    fn rest(&self, line: &str, pos: usize) -> Option<Rest> {
        if self.early.is(line) {
            let last = line.rsplit('\n').next().unwrap_or_default();
            let room = terminal::size().0.saturating_sub(PROMPT_COLUMNS);
            let shown = self.early.hint();
            let is_room = visible(&legible(last)) + shown.len() <= room;
            return is_room.then_some(Rest { shown, fits: false });
        }
        if pos != line.len() {
            return None;
        }
        if self.pastes.is_before(line, pos) {
            return Some(Rest {
                shown: FOLDED.to_owned(),
                fits: false,
            });
        }
        if line.is_empty() && !self.placeholder.is_empty() {
            let prompt = visible(&self.prompt).max(PROMPT_COLUMNS - 1) + 1;
            let room = terminal::size().0.saturating_sub(prompt);
            return Some(Rest {
                shown: fit(&self.placeholder, room),
                fits: false,
            });
        }
        if line == REMEMBERS {
            return Some(Rest {
                shown: REMEMBERS_HINT.to_owned(),
                fits: false,
            });
        }
        if let Some(shown) = hint(line, &self.slash) {
            return Some(Rest { shown, fits: true });
        }
        let (_, word) = mentions::unfinished(line).filter(|(_, word)| !word.is_empty())?;
        let best = self.files.best(word)?;
        let typed = mentions::typed(&best)?;
        let rest = best
            .strip_prefix(word)
            .filter(|_| typed == format!("@{best}"));
        match rest {
            Some("") => None,
            Some(rest) => Some(Rest {
                shown: rest.to_owned(),
                fits: true,
            }),
            None => Some(Rest {
                shown: format!("  → {best}"),
                fits: false,
            }),
        }
    }
}

impl Highlighter for LineHelper {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        match self.early.is(line) {
            true => self.styles.paint(Label::Quiet, &legible(line)).into(),
            false => legible(line),
        }
    }

    /// Is asked for each time that the cursor moves.
    fn highlight_char(&self, line: &str, pos: usize, _: CmdKind) -> bool {
        self.typed.set(line, pos);
        // The first key takes the dimming away from all of the line.
        self.early.is_some()
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        self.styles.paint(Label::Quiet, &legible(hint)).into()
    }

    fn highlight_candidate<'c>(
        &self,
        candidate: &'c str,
        _: rustyline::CompletionType,
    ) -> Cow<'c, str> {
        legible(candidate)
    }
}

impl Validator for LineHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        if self.pastes.is_damaged(context.input()) {
            return Ok(ValidationResult::Invalid(Some(DAMAGED.to_owned())));
        }
        // Other lines than messages are taken exactly as they are.
        Ok(
            if self.completion.is_some() || is_complete(context.input()) {
                ValidationResult::Valid(None)
            } else {
                ValidationResult::Incomplete
            },
        )
    }
}

/// The rest of the one command or template that the line can become.
fn hint(line: &str, slash: &SlashNames) -> Option<String> {
    if line.len() < 2 || !line.starts_with('/') || line.contains([' ', '\n']) {
        return None;
    }
    let fitting = complete::slash_names(line, slash);
    let [name] = fitting.as_slice() else {
        return None;
    };
    let rest = name.get(line.len()..)?;
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// Whether Enter sends: not after a backslash, and not within an open code fence.
pub(super) fn is_complete(text: &str) -> bool {
    let backslashes = text.len() - text.trim_end_matches('\\').len();
    let fences = text
        .lines()
        .filter(|line| line.trim_start().starts_with("```"))
        .count();
    backslashes.is_multiple_of(2) && fences.is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::paths::Folders;
    use crate::repl::slash::table;
    use crate::templates::Places;

    #[test]
    fn enter_sends_what_is_complete() {
        let check = |text: &str, expected| assert_eq!(is_complete(text), expected, "{text:?}");
        check("", true);
        check("hello", true);
        check("hello\\", false);
        check("hello\\\\", true);
        check("hello\\\nworld", true);
        check("```rust\nfn main() {}", false);
        check("```rust\nfn main() {}\n```", true);
        check("in the `middle` of ```", true);
    }

    #[test]
    fn hints_finish_commands() {
        let home = tempfile::tempdir().unwrap();
        let environment = [("HOME", home.path())].into_iter().collect();
        let folders = Folders::find(&environment).unwrap();
        let slash = SlashNames {
            commands: table(),
            places: Places::new(&folders, (home.path(), false)),
        };
        let places = &slash.places;
        let check = |line, expected: Option<&str>| {
            assert_eq!(hint(line, &slash).as_deref(), expected, "{line:?}");
        };
        check("/hel", Some("p"));
        check("/help", None);
        check("/", None);
        check("/x", None);
        check("he", None);
        check("/pe", Some("rmissions"));
        check("/hi", Some("story"));
        std::fs::create_dir_all(places.user()).unwrap();
        std::fs::write(places.user().join("terns.md"), "x").unwrap();
        check("/te", Some("rns"));
        check("/terns", None);
        check("/te x", None);
    }
}
