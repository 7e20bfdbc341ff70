//! `/mode`, and what becomes of a plan.

use dunlin_host::display::escape;
use dunlin_host::permission::SessionMode;

use crate::app::App;
use crate::modes::about;
use crate::prompt::line::Recall;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::{Typed, input_marks};

/// What the model is asked for when a plan was approved.
const CARRY_OUT: &str = "Carry out the plan.";

/// `/mode [MODE]`: says which mode holds, or sets it.
pub fn run(app: &App, rest: &str) {
    let ui = &app.ui;
    if rest.is_empty() {
        let now = app.mode.get();
        for mode in SessionMode::ALL {
            let mark = if mode == now { "›" } else { " " };
            let name = format!("{mark} /mode {:<12}  ", mode.as_str());
            ui.data_rows(&format!("{name}{}", about(mode)), 22);
        }
        return;
    }
    match rest.parse::<SessionMode>() {
        Ok(mode) => {
            app.mode.set(mode);
            ui.status(&format!("Mode {mode}: {}.", about(mode)));
        }
        Err(error) => ui.status(&format!("{}.", escape(&error.to_string()))),
    }
}

/// What a line says of a plan.
#[derive(Debug, PartialEq, Eq)]
enum Said<'a> {
    /// It is carried out in this mode.
    CarryOut(SessionMode),
    /// Not yet.
    No,
    /// The next message, whatever it begins with.
    Message(&'a str),
    /// What could be typed at the prompt: a message, or a command.
    Line(&'a str),
}

fn understand(line: &str) -> Said<'_> {
    let words = line.trim();
    let comment = words
        .strip_prefix("n ")
        .or_else(|| words.strip_prefix("no "));
    match (words.to_ascii_lowercase().as_str(), comment) {
        ("y" | "yes", _) => Said::CarryOut(SessionMode::Ask),
        ("ae" | "accept-edits", _) => Said::CarryOut(SessionMode::AcceptEdits),
        ("" | "n" | "no", _) => Said::No,
        (_, Some(comment)) => Said::Message(comment.trim()),
        (_, None) if line.starts_with(char::is_whitespace) => Said::Message(words),
        (_, None) => Said::Line(words),
    }
}

/// Asks what becomes of the plan that a turn has ended with. `Some`: what is sent next.
pub fn ask_about_plan(app: &App, recall: &Recall) -> Option<String> {
    let ui = &app.ui;
    let styles = ui.status_styles();
    let key = |key: &str| styles.paint(Label::Key, key);
    let above = format!(
        "  Carry out the plan? {} yes · {} yes, accepting edits · {} not yet · or say what to change",
        key("y"),
        key("ae"),
        key("n")
    );
    let typed = ui.ask_line_with(&above, input_marks::PLAN, |paste| recall.editor(paste));
    let Typed::Line(line) = typed else {
        return None;
    };
    match understand(&line) {
        Said::CarryOut(mode) => {
            app.mode.set(mode);
            ui.status(&styles.paint(Label::Quiet, &format!("  {CARRY_OUT} ({mode})")));
            Some(CARRY_OUT.to_owned())
        }
        Said::No => {
            let note = "  Plan mode stays on: Shift-Tab and /mode end it.";
            ui.status(&styles.paint(Label::Quiet, note));
            None
        }
        // Behind a space it is no command of the user's own.
        Said::Message(text) if text.starts_with('!') => Some(format!(" {text}")),
        Said::Message(text) | Said::Line(text) => Some(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_approved_by_a_word_alone() {
        for (line, expected) in [
            ("y", Said::CarryOut(SessionMode::Ask)),
            (" Yes ", Said::CarryOut(SessionMode::Ask)),
            ("ae", Said::CarryOut(SessionMode::AcceptEdits)),
            ("accept-edits", Said::CarryOut(SessionMode::AcceptEdits)),
            ("n", Said::No),
            ("", Said::No),
            ("n not the tests", Said::Message("not the tests")),
            ("n !important", Said::Message("!important")),
            (" !ls", Said::Message("!ls")),
            ("!ls", Said::Line("!ls")),
            ("no, the tests", Said::Line("no, the tests")),
            ("y but not the tests", Said::Line("y but not the tests")),
            ("/mode ask", Said::Line("/mode ask")),
        ] {
            assert_eq!(understand(line), expected, "{line:?}");
        }
    }
}
