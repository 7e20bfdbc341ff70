//! A command as it stands in a question: whole, line by line, and nothing in it hidden.

use dunlin_host::call::Action;
use dunlin_host::display::escape;

use super::foreign_line;

/// The lines of all commands that the question, as it is shown, does not say to the letter: those of several lines,
/// with gaps, or too long for it.
pub fn lines(actions: &[Action], wording: &str) -> Vec<String> {
    let is_said = |line: &str| !line.contains(['\n', '\t']) && wording.contains(&*escape(line));
    let commands = actions.iter().filter_map(|action| match action {
        Action::Command(command) => Some(&command.line),
        _ => None,
    });
    commands
        .filter(|line| !is_said(line))
        .flat_map(|line| line.split('\n'))
        .map(foreign_line::shown)
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use dunlin_host::call::CommandLine;
    use dunlin_host::target::{CommandKey, CommandTarget};

    use super::*;

    /// A command line of which only the text counts.
    pub(crate) fn sample(line: &str) -> CommandLine {
        CommandLine {
            line: line.to_owned(),
            network: false,
            is_read_only: false,
            compound: Some("a pipe".into()),
            target: Arc::new(CommandTarget {
                key: CommandKey::Text(line.to_owned()),
                is_storable: false,
                subject: Vec::new(),
                programs: Vec::new(),
                mentioned: Vec::new(),
                commands: Vec::new(),
                is_incomplete: false,
                hides_program: false,
                unread: Vec::new(),
                covers: Vec::new(),
                contents: std::collections::BTreeMap::new(),
                looked_up: None,
                parts: Vec::new(),
                only_once: false,
                not_storable: None,
                is_unclear: false,
                folder: None,
            }),
            commands: Vec::new(),
            guarded: Vec::new(),
            is_overlong: false,
            may_change_repository: false,
            repository_elsewhere: None,
        }
    }

    #[test]
    fn what_the_question_does_not_say_is_shown() {
        for (line, wording, shown) in [
            ("cargo build", "Run command: cargo build?", &[][..]),
            ("a  b", "Run command: a b?", &["a  b"]),
            (
                "a\n\tb\u{1b}",
                "Run command: a\\n\\tb?",
                &["a", "→   b\\u{1b}"],
            ),
            (
                "long long long",
                "Run command: long lo?",
                &["long long long"],
            ),
        ] {
            let command = sample(line);
            assert_eq!(
                lines(&[Action::Command(command)], wording),
                shown,
                "{line:?}"
            );
        }
    }
}
