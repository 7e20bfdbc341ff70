//! `/mode`, and what becomes of a plan.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin_host::display::escape;
use dunlin_host::permission::{ModeSwitch, SessionMode};
use dunlin_terminal::approval::line::{looks_like_answer, yes_or_no};
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::{Typed, Ui, input_marks};
use rustyline::{Cmd, KeyCode, KeyEvent, Modifiers, Movement};

use super::slash::table;
use crate::app::App;
use crate::modes::{about, choose};
use crate::prompt::line::{MessageLines, Recall};
use dunlin_terminal::ui::keys::EarlyLines;

/// What the model is asked for when a plan was approved.
const CARRY_OUT: &str = "Carry out the plan.";

/// `/mode [MODE]`: says which mode holds, or sets it. Whether it is another one now.
pub fn run((ui, switch): (&Ui, &ModeSwitch), rest: &str) -> bool {
    let now = switch.get();
    if rest.is_empty() {
        for mode in SessionMode::ALL {
            let mark = if mode == now { "✓" } else { " " };
            let name = format!("{mark} /mode {:<12}  ", mode.as_str());
            ui.data_rows(&format!("{name}{}", about(mode)), 22);
        }
        return false;
    }
    match rest.parse::<SessionMode>() {
        Ok(mode) => choose(ui, switch, mode),
        Err(error) => ui.status(&format!("{}.", escape(&error.to_string()))),
    }
    switch.get() != now
}

/// What a line answers to a plan.
#[derive(Debug, PartialEq, Eq)]
enum PlanAnswer<'a> {
    /// It is carried out in this mode.
    CarryOut(SessionMode),
    /// Not yet.
    No,
    /// What to change in it, whatever that begins with.
    Change(&'a str),
    /// A command.
    Command(&'a str),
    /// Nothing that can be told from a mistyped answer.
    Unclear,
}

/// Words that say yes, alone. With others it is not clear whether that is one.
const YES: [(&str, SessionMode); 4] = [
    ("y", SessionMode::Ask),
    ("yes", SessionMode::Ask),
    ("ae", SessionMode::AcceptEdits),
    ("accept-edits", SessionMode::AcceptEdits),
];

/// What people say to a plan that they agree to, as a whole line: as a change it would mean nothing.
const AGREES: [&str; 4] = ["go", "go ahead", "lgtm", "looks good"];

fn understand(line: &str) -> PlanAnswer<'_> {
    let words = line.trim();
    if line.starts_with(char::is_whitespace) && words.contains(char::is_whitespace) {
        return PlanAnswer::Change(words);
    }
    let spoken = words.trim_end_matches(['.', '!']).to_ascii_lowercase();
    if AGREES.contains(&spoken.as_str()) {
        return PlanAnswer::CarryOut(SessionMode::Ask);
    }
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let first = first.to_ascii_lowercase();
    let first = first.trim_end_matches([',', '.', '!', ':']);
    let yes = YES.iter().find(|(word, _)| *word == first);
    match (yes, first) {
        (Some((_, mode)), _) if rest.is_empty() => PlanAnswer::CarryOut(*mode),
        (None, "n" | "no") if !rest.is_empty() => PlanAnswer::Change(rest.trim()),
        _ if yes_or_no(words) == Some(true) => PlanAnswer::CarryOut(SessionMode::Ask),
        _ if yes_or_no(words) == Some(false) => PlanAnswer::No,
        (Some(_), _) | (_, "ok" | "okay" | "sure" | "yep") => PlanAnswer::Unclear,
        _ if MessageLines(table()).is_alone(line) => PlanAnswer::Command(words),
        _ if words.contains(char::is_whitespace) && !looks_like_answer(words) => {
            PlanAnswer::Change(words)
        }
        _ => PlanAnswer::Unclear,
    }
}

/// What becomes of a plan.
pub enum Decision {
    /// The model is told to carry it out: this is sent.
    CarryOut(&'static str),
    /// This is sent, and no command.
    Change(String),
    /// This is done, and then the question is asked again.
    Command(String),
    /// Another mode was chosen with the key; this is what was typed so far.
    Left(String),
}

/// A plan that waits for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenPlan {
    /// How long the conversation was.
    pub messages: usize,
}

impl OpenPlan {
    /// Whether it is still what the conversation ends with, and nothing may be changed yet.
    pub fn is_open(self, app: &App, messages: usize) -> bool {
        app.mode.get() == SessionMode::Plan && self.messages == messages
    }
}

/// Asks what becomes of the plan that a turn has ended with, until that is clear.
pub fn ask_about_plan(app: &App, recall: &Recall) -> Decision {
    let ui = &app.ui;
    let styles = ui.status_styles();
    let quiet = |text: &str| ui.status(&styles.paint(Label::Quiet, text));
    let key = |key: &str| styles.paint(Label::Key, key);
    let mut above = format!(
        "  Carry out the plan? {} yes · {} yes, accepting edits · {} not yet · or say what to change",
        key("y"),
        key("ae"),
        key("n")
    );
    let mut unclear: Vec<String> = Vec::new();
    loop {
        let chooses = Arc::<AtomicBool>::default();
        let typed = ui.ask_line_with(&above, input_marks::PLAN, |paste| {
            let mut editor = recall.editor(paste)?;
            // They are recalled like messages.
            for line in &unclear {
                let _ = editor.add_history_entry(line);
            }
            let leave = paste.typed(|context| {
                Some(match context.line().is_empty() {
                    true => Cmd::Interrupt,
                    false => Cmd::Kill(Movement::WholeBuffer),
                })
            });
            editor.bind_sequence(KeyEvent(KeyCode::Esc, Modifiers::NONE), leave);
            let chosen = Arc::clone(&chooses);
            let choose = paste.typed(move |_| {
                chosen.store(true, Ordering::Relaxed);
                Some(Cmd::AcceptLine)
            });
            editor.bind_sequence(KeyEvent(KeyCode::BackTab, Modifiers::NONE), choose);
            Ok(editor)
        });
        let line = match typed {
            Typed::Line(line) if chooses.load(Ordering::Relaxed) => {
                choose(ui, &app.mode, app.mode.get().next());
                return Decision::Left(line);
            }
            Typed::Line(line) => line,
            _ => "n".to_owned(),
        };
        match understand(&line) {
            PlanAnswer::CarryOut(mode) => {
                app.mode.set(mode);
                quiet(&format!("  {CARRY_OUT} ({mode})"));
                return Decision::CarryOut(CARRY_OUT);
            }
            PlanAnswer::No => {
                quiet("  Plan mode stays on: Shift-Tab and /mode end it.");
                return Decision::Left(String::new());
            }
            PlanAnswer::Change(text) => {
                quiet("  Sent as what to change; plan mode stays on.");
                return Decision::Change(text.to_owned());
            }
            PlanAnswer::Command(text) => return Decision::Command(text.to_owned()),
            PlanAnswer::Unclear => {
                let said = "  Nothing was sent: y, ae and n stand alone; n TEXT says what to change; Esc leaves the plan.";
                above = styles.paint(Label::Quiet, said);
                unclear.extend(Some(line).filter(|line| !line.trim().is_empty()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_approved_by_a_word_alone() {
        for (line, expected) in [
            ("y", PlanAnswer::CarryOut(SessionMode::Ask)),
            (" Yes ", PlanAnswer::CarryOut(SessionMode::Ask)),
            ("yes.", PlanAnswer::CarryOut(SessionMode::Ask)),
            ("Ok", PlanAnswer::CarryOut(SessionMode::Ask)),
            ("yes please", PlanAnswer::CarryOut(SessionMode::Ask)),
            ("nope", PlanAnswer::No),
            ("Go ahead.", PlanAnswer::CarryOut(SessionMode::Ask)),
            ("looks good", PlanAnswer::CarryOut(SessionMode::Ask)),
            (
                "looks good without b.txt",
                PlanAnswer::Change("looks good without b.txt"),
            ),
            ("ae", PlanAnswer::CarryOut(SessionMode::AcceptEdits)),
            (
                "accept-edits",
                PlanAnswer::CarryOut(SessionMode::AcceptEdits),
            ),
            ("n", PlanAnswer::No),
            ("n not the tests", PlanAnswer::Change("not the tests")),
            ("no, not the tests", PlanAnswer::Change("not the tests")),
            ("n !important", PlanAnswer::Change("!important")),
            ("n /undo", PlanAnswer::Change("/undo")),
            (" /undo that", PlanAnswer::Change("/undo that")),
            ("without the tests", PlanAnswer::Change("without the tests")),
            (
                "/etc/hosts is missing",
                PlanAnswer::Change("/etc/hosts is missing"),
            ),
            ("!ls", PlanAnswer::Command("!ls")),
            ("/mode ask", PlanAnswer::Command("/mode ask")),
            ("exit", PlanAnswer::Command("exit")),
        ] {
            assert_eq!(understand(line), expected, "{line:?}");
        }
        for line in [
            "",
            " ",
            "s",
            "yy",
            "y 1",
            "always",
            "ok do it",
            "yes sir",
            "y but not the tests",
            "smaller",
        ] {
            assert_eq!(understand(line), PlanAnswer::Unclear, "{line:?}");
        }
    }
}
