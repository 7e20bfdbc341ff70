//! The mode of a chat, as it is said: at the prompt, to the model, on the command line. That it holds is the host's work: its
//! permission store looks at the same switch at each use.

use dunlin_host::permission::{ModeSwitch, SessionMode};
use dunlin_terminal::ui::Ui;

/// What a message that is sent in plan mode ends with.
const NOTE: &str = "\n\n(Plan mode is on for this message. Find out what you need by reading: nothing can be changed, and \
    commands run without writing and without the network. End with a plan that the user can approve, below the heading \
    \"## Plan\": what you would change, where, and how you would check it. Where nothing is to be changed, or you have a \
    question first, reply without that heading.)";

/// The word in the heading that says that a reply has a plan.
const PLAN: &str = "plan";

/// What the prompt says of a mode; `None`: it is the usual one.
pub fn label(mode: SessionMode) -> Option<&'static str> {
    match mode {
        SessionMode::Ask => None,
        SessionMode::AcceptEdits => Some("edits accepted"),
        SessionMode::Plan => Some("plan"),
    }
}

/// Sets a mode, and says so.
pub fn choose(ui: &Ui, switch: &ModeSwitch, mode: SessionMode) {
    switch.set(mode);
    ui.interject(&format!("Mode {mode}: {}.", about(mode)));
}

/// What a mode does, as the end of a sentence.
pub fn about(mode: SessionMode) -> &'static str {
    match mode {
        SessionMode::Ask => "Dunlin asks before anything is changed or run",
        SessionMode::AcceptEdits => {
            "edits of ordinary files in the project need no answer; the rest asks"
        }
        SessionMode::Plan => {
            "nothing is changed, and the reply ends with a plan that you can approve"
        }
    }
}

/// Has a message end with what the model is told of the mode. A message that is sent again may end with that of another mode.
pub fn add_note(text: &mut String, mode: SessionMode) {
    text.truncate(text.strip_suffix(NOTE).unwrap_or(text).len());
    if mode == SessionMode::Plan {
        text.push_str(NOTE);
    }
}

/// Whether a reply has the heading of a plan, outside of code. The bold line that some models write for a heading is one, too.
pub fn has_plan(reply: &str) -> bool {
    let mut is_code = false;
    reply.lines().map(str::trim).any(|line| {
        is_code ^= line.starts_with("```");
        let is_bold = line.starts_with("**") && line.trim_end_matches(':').ends_with("**");
        let mut words = line.split(|c: char| !c.is_alphanumeric());
        let has_word = words.any(|word| word.eq_ignore_ascii_case(PLAN));
        !is_code && has_word && (line.starts_with('#') || is_bold)
    })
}

/// The mode of a chat that begins: as the option says, else the configuration. Where nobody is at a terminal, a configuration
/// that was made for one accepts nothing.
pub fn beginning(
    option: Option<SessionMode>,
    configured: SessionMode,
    is_attended: bool,
) -> SessionMode {
    let configured = match is_attended {
        true => configured,
        false => configured.min(SessionMode::Ask),
    };
    option.unwrap_or(configured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_told_of_one_mode() {
        let mut text = "look".to_owned();
        add_note(&mut text, SessionMode::Ask);
        assert_eq!(text, "look");
        add_note(&mut text, SessionMode::Plan);
        add_note(&mut text, SessionMode::Plan);
        assert_eq!(text, format!("look{NOTE}"));
        add_note(&mut text, SessionMode::AcceptEdits);
        assert_eq!(text, "look");
    }

    #[test]
    fn a_plan_has_a_heading() {
        for (reply, expected) in [
            ("I looked.\n\n## Plan\n\n1. Write a.txt", true),
            ("# The plan: a file\n", true),
            ("**Plan:**\n1. Write", true),
            ("**Plan**:\n1. Write", true),
            ("Which file do you mean?", false),
            ("Here is the plan.", false),
            ("## Planning\n", false),
            ("A **plan** would be", false),
            ("```\n# plan\n```\n", false),
            ("```\nx\n```\n# Plan", true),
            ("", false),
        ] {
            assert_eq!(has_plan(reply), expected, "{reply:?}");
        }
    }

    #[test]
    fn a_configuration_accepts_edits_only_where_somebody_sees_them() {
        use SessionMode::{AcceptEdits, Ask, Plan};
        for (option, configured, is_attended, expected) in [
            (None, Ask, true, Ask),
            (None, AcceptEdits, true, AcceptEdits),
            (None, AcceptEdits, false, Ask),
            (None, Plan, false, Plan),
            (Some(AcceptEdits), Plan, false, AcceptEdits),
            (Some(Ask), AcceptEdits, true, Ask),
        ] {
            let found = beginning(option, configured, is_attended);
            assert_eq!(found, expected, "{option:?} {configured} {is_attended}");
        }
    }
}
