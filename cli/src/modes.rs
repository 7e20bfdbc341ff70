//! The mode of a chat, as it is said: at the prompt, to the model, on the command line. That it holds is the host's work: its
//! permission store looks at the same switch at each use.

use dunlin_host::permission::SessionMode;

/// What a message that is sent in plan mode ends with.
const NOTE: &str = "\n\n(Plan mode is on for this message. Find out what you need by reading: nothing can be changed, and no \
    command runs. End with a plan that the user can approve: what you would change, where, and how you would check it. Where \
    nothing is to be changed, answer instead.)";

/// What the prompt says of a mode; `None`: it is the usual one.
pub fn label(mode: SessionMode) -> Option<&'static str> {
    match mode {
        SessionMode::Ask => None,
        SessionMode::AcceptEdits => Some("edits accepted"),
        SessionMode::Plan => Some("plan"),
    }
}

/// What a mode does, as the end of a sentence.
pub fn about(mode: SessionMode) -> &'static str {
    match mode {
        SessionMode::Ask => "Dunlin asks before anything is changed or run",
        SessionMode::AcceptEdits => {
            "edits of ordinary files in the project need no answer; the rest asks"
        }
        SessionMode::Plan => "the model only reads, and ends with a plan that you can approve",
    }
}

/// Has a message end with what the model is told of the mode. A message that is sent again may end with that of another mode.
pub fn tell(text: &mut String, mode: SessionMode) {
    text.truncate(text.strip_suffix(NOTE).unwrap_or(text).len());
    if mode == SessionMode::Plan {
        text.push_str(NOTE);
    }
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
        tell(&mut text, SessionMode::Ask);
        assert_eq!(text, "look");
        tell(&mut text, SessionMode::Plan);
        tell(&mut text, SessionMode::Plan);
        assert_eq!(text, format!("look{NOTE}"));
        tell(&mut text, SessionMode::AcceptEdits);
        assert_eq!(text, "look");
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
