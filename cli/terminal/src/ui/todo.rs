//! The steps of a model's work below the line of their call.

use dunlin_chat::todo::{Step, StepStatus};
use dunlin_chat::tokens::counted;
use dunlin_host::display::escape;

use super::calls::fit;
use super::style::{Label, Styles};

/// Rows of a list. Of a longer one the steps that are done, and those that come last, are counted only.
const ROWS: usize = 12;

/// How far to the right the steps are.
const INDENT: &str = "    ";

/// The rows of a list, each at most `columns` wide.
pub fn rows(steps: &[Step], styles: Styles, columns: usize) -> Vec<String> {
    // The last column stays free: writing into it wraps on some terminals.
    let room = columns.saturating_sub(INDENT.len() + 3);
    let row = |mark: &str, mark_label, text: &str, label| {
        let text = fit(text, room);
        let (mark, text) = (styles.paint(mark_label, mark), styles.paint(label, &text));
        format!("{INDENT}{mark} {text}")
    };
    let quiet = |text: &str| format!("{INDENT}{}", styles.paint(Label::Quiet, text));
    let is_done = |step: &&Step| step.status == StepStatus::Completed;
    let mut shown: Vec<&Step> = steps.iter().collect();
    let mut rows = Vec::new();
    if steps.len() > ROWS {
        let done = steps.iter().filter(is_done).count();
        if done > 0 {
            let text = format!("{} done", counted(done, "step", "steps"));
            rows.push(row("✓", Label::Good, &text, Label::Quiet));
            shown.retain(|step| !is_done(step));
        }
    }
    let more = (rows.len() + shown.len()).saturating_sub(ROWS);
    shown.truncate(shown.len() - more);
    rows.extend(shown.into_iter().map(|step| {
        let (mark, mark_label, label) = match step.status {
            StepStatus::Completed => ("✓", Label::Good, Label::Quiet),
            StepStatus::InProgress => ("…", Label::Name, Label::Name),
            StepStatus::Pending => ("·", Label::Quiet, Label::Target),
        };
        row(mark, mark_label, &escape(&step.content), label)
    }));
    if more > 0 {
        rows.push(quiet(&format!(
            "… {}",
            counted(more, "more step", "more steps")
        )));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(content: &str, status: StepStatus) -> Step {
        Step {
            content: content.to_owned(),
            status,
        }
    }

    #[test]
    fn each_step_has_a_mark() {
        let steps = [
            step("Read the parser", StepStatus::Completed),
            step("Write\u{1b}[2J the fix", StepStatus::InProgress),
            step("Run the tests", StepStatus::Pending),
        ];
        assert_eq!(
            rows(&steps, Styles::plain(), 80),
            [
                "    ✓ Read the parser",
                "    … Write\\u{1b}[2J the fix",
                "    · Run the tests"
            ]
        );
        assert_eq!(rows(&steps, Styles::plain(), 16)[0], "    ✓ Read…rser");
        assert_eq!(rows(&[], Styles::plain(), 80), [""; 0]);
    }

    #[test]
    fn a_long_list_is_counted() {
        let mut steps: Vec<Step> = (0..30)
            .map(|number| step(&number.to_string(), StepStatus::Pending))
            .collect();
        let shown = rows(&steps, Styles::plain(), 80);
        assert_eq!(shown.len(), ROWS + 1);
        assert_eq!(shown.last().unwrap(), "    … 18 more steps");
        for step in steps.iter_mut().take(19) {
            step.status = StepStatus::Completed;
        }
        let shown = rows(&steps, Styles::plain(), 80);
        assert_eq!(shown[..2], ["    ✓ 19 steps done", "    · 19"]);
        assert_eq!(shown.len(), ROWS);
    }
}
