//! A line that begins with `!`: a command of the user's own.

/// A command that the user's shell is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCommand {
    /// What the shell gets.
    pub command: String,
    /// Whether its output goes with the next message.
    pub adds: bool,
}

impl OwnCommand {
    /// The command in a line: all of one that begins with `!`, or with `!!` if its output is wanted. It is empty where only the
    /// mark was typed. Several lines are a message, and so is a line that begins with a space.
    pub fn of(line: &str) -> Option<OwnCommand> {
        let rest = line
            .strip_prefix('!')
            .filter(|_| !line.trim_end().contains('\n'))?;
        let (adds, rest) = match rest.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        Some(OwnCommand {
            command: rest.trim().to_owned(),
            adds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_begins_a_command() {
        let check = |line: &str, expected: Option<(&str, bool)>| {
            let own = OwnCommand::of(line);
            let found = own.as_ref().map(|own| (own.command.as_str(), own.adds));
            assert_eq!(found, expected, "{line:?}");
        };
        check("!ls -l ", Some(("ls -l", false)));
        check("! ls\n", Some(("ls", false)));
        check("!!cargo test", Some(("cargo test", true)));
        check("!! ls", Some(("ls", true)));
        check("!", Some(("", false)));
        check("!! ", Some(("", true)));
        for message in ["", " !", " !ls", "!ls\nrm x", "ls", "wow!"] {
            check(message, None);
        }
    }
}
