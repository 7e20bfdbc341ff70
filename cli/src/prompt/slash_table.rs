//! What a typed line is: a slash command, or a message. The commands themselves are in [`crate::repl::slash`].

use dunlin_host::display::escape;
use dunlin_host::nearest::nearest;
use dunlin_terminal::approval::line::IN_A_SHELL;

/// Commands that earlier versions knew, and what they are called now.
const RENAMED: [(&str, &str); 1] = [("/condense", "/compact")];

/// What other programs call something that a command does here, and how it is done.
const ELSEWHERE: [(&str, &str); 11] = [
    (
        "/status",
        "/context shows the context window, /cost what was spent, /permissions what is in force; dunlin doctor checks the setup.",
    ),
    ("/usage", "/cost shows how many tokens you used."),
    ("/login", LOGIN),
    ("/logout", LOGIN),
    (
        "/memory",
        "/instructions lists the instruction files, /remember adds a line to one.",
    ),
    (
        "/config",
        "dunlin config show prints the settings, dunlin config edit changes them.",
    ),
    (
        "/settings",
        "dunlin config show prints the settings, dunlin config edit changes them.",
    ),
    (
        "/approvals",
        "/permissions lists what is in force, /mode sets what is asked.",
    ),
    ("/plan", "/mode plan asks for a plan first."),
    ("/doctor", "dunlin doctor checks the setup."),
    (
        "/review",
        "Ask for it in a message; a prompt template can hold it (dunlin help chat).",
    ),
];

const LOGIN: &str = "dunlin config key set NAME stores the key of a provider, dunlin mcp login NAME logs in to an MCP server.";

/// What stands between `/mcp` and the name of a server.
pub const VERBS: [&str; 4] = ["connect", "disconnect", "enable", "disable"];

/// What may be typed after `/app` beside the names of apps.
pub const APP_VERBS: [&str; 3] = ["open", "close", "list"];

/// What may be typed after `/auto`.
pub const AUTO_VERBS: [&str; 4] = ["capture", "scope", "limit", "remove"];

/// What may be typed after `/permissions`.
pub const PERMISSION_VERBS: [&str; 6] = ["list", "explain", ALLOW, "deny", ASK, FORGET];

/// The one of them that allows something.
pub const ALLOW: &str = "allow";

/// The one that takes a rule back, after which the use is asked about.
pub const ASK: &str = "ask";

/// The one that takes a key back, an answer of the session before what is stored.
pub const FORGET: &str = "forget";

/// What of a request `/requests N` shows, and what it does with one.
pub const REQUEST_PARTS: [&str; 6] = ["sent", "original", "diff", "curl", "replay", "fork"];

/// What becomes of a command while something waits: calls for answers, or a paused request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// It runs at once.
    No,
    /// It runs at once if nothing is typed after it; else it waits, and this is why.
    WithArguments(&'static str),
    /// It waits, and this is why.
    Always(&'static str),
}

/// Whether a command leaves the conversation that a paused request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    No,
    /// It lists what can be chosen if nothing is typed after it, and leaves with what is chosen.
    WithArguments,
    Always,
}

/// A command as it is typed. The function that runs it stands beside it, in [`crate::repl::slash`].
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// With its slash.
    pub name: &'static str,
    /// What comes after it.
    pub arguments: &'static str,
    /// What it does.
    pub about: &'static str,
    pub waits: Waits,
    pub leaves: Leaves,
    /// What is asked before it runs.
    pub confirms: Option<&'static str>,
    /// Whether only Dunlin's own words are printed: what others print may be the model's, and look like a question.
    pub prints_own_words: bool,
}

impl Command {
    /// Whether it leaves the conversation that a paused request belongs to.
    pub fn leaves(&self, rest: &str) -> bool {
        match self.leaves {
            Leaves::No => false,
            Leaves::WithArguments => !rest.is_empty(),
            Leaves::Always => true,
        }
    }

    /// Whether it only lists what can be chosen.
    pub fn lists(&self, rest: &str) -> bool {
        self.leaves == Leaves::WithArguments && rest.is_empty()
    }

    /// Why it has to wait while calls wait.
    pub fn waits(&self, rest: &str) -> Option<&'static str> {
        match self.waits {
            Waits::No => None,
            Waits::WithArguments(why) => (!rest.is_empty()).then_some(why),
            Waits::Always(why) => Some(why),
        }
    }

    /// What is said of words behind a command that takes none, or none such: to pass over them could do what nobody meant.
    pub fn surplus(&self, rest: &str) -> Option<String> {
        let fits = rest.is_empty()
            || match self.arguments {
                "" => false,
                "[all]" => rest == "all",
                // Whoever understands these says what is wrong with them.
                _ => true,
            };
        match (fits, self.arguments) {
            (true, _) => None,
            (false, "") => Some(format!("{} takes no arguments.", self.name)),
            (false, arguments) => Some(format!("Usage: {} {arguments}", self.name)),
        }
    }
}

/// Why what concerns the next message has to wait for the calls of this one.
pub const NEXT: &str = "it is for the next message: answer the calls that wait first";

/// Leaves the chat.
pub const EXIT: &str = "/exit";
/// Writes a message in an editor.
pub const EDIT: &str = "/edit";
/// Adds a line to an instruction file.
pub const REMEMBER: &str = "/remember";
/// Lists what is in force, and changes it.
pub const PERMISSIONS: &str = "/permissions";
/// Lists the tools, or sets the mode of one.
pub const TOOLS: &str = "/tools";
/// Says which mode holds, or sets it.
pub const MODE: &str = "/mode";
/// Says which requests are paused, or sets it.
pub const PAUSE: &str = "/pause";
/// Shows a request on the whole screen.
pub const REQUEST: &str = "/request";
/// Shows the metadata of a request.
pub const METADATA: &str = "/metadata";

/// What a line turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Empty,
    /// A slash command, and what was typed after it.
    Slash(&'static Command, String),
    /// Something that looks like a command and is none: perhaps a template.
    UnknownSlash {
        word: String,
        /// What was typed after it.
        rest: String,
    },
    /// A message for the model.
    Message(String),
}

/// Words that leave the chat if they are all that a line says, as they leave a shell.
const LEAVING_WORDS: [&str; 2] = ["exit", "quit"];

/// What a line begins with that is to be remembered. With the space, since `#12` and `#include` begin messages.
pub const REMEMBERS: &str = "# ";

/// Words that mean another command.
const ALIASES: [(&str, &str); 2] = [("/quit", EXIT), ("/resume", "/sessions")];

/// The commands, without the functions that run them.
#[derive(Debug, Clone, Copy)]
pub struct SlashTable(pub &'static [&'static Command]);

impl SlashTable {
    /// The command of this name, which is with its slash.
    pub fn find(self, name: &str) -> Option<&'static Command> {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let name = alias.map_or(name, |(_, name)| name);
        let mut commands = self.0.iter().copied();
        commands.find(|command| command.name == name)
    }

    /// What the name of a command can be, with its slash.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let aliases = ALIASES.iter().map(|(alias, _)| *alias);
        self.0.iter().map(|command| command.name).chain(aliases)
    }

    /// Whether Dunlin has a command of this name, which is without its slash.
    pub fn is_command(self, name: &str) -> bool {
        self.names()
            .any(|command| command.strip_prefix('/') == Some(name))
    }

    /// Understands a line. A path at its start is not a command: it has a second slash. Several lines are a message, also if the
    /// first is a heading.
    pub fn parse(self, line: &str) -> Input {
        let text = line.trim();
        if LEAVING_WORDS.contains(&text)
            && let Some(exit) = self.find(EXIT)
        {
            return Input::Slash(exit, String::new());
        }
        let word = text.split_whitespace().next().unwrap_or_default();
        if text.is_empty() {
            return Input::Empty;
        }
        if let Some(line) = line.strip_prefix(REMEMBERS)
            && !text.contains('\n')
            && let Some(remember) = self.find(REMEMBER)
        {
            return Input::Slash(remember, line.trim().to_owned());
        }
        // Dunlin names this command in many rows, for a shell; whoever types it here means it, too.
        if let Some(rest) = text.strip_prefix(IN_A_SHELL)
            && rest
                .split(' ')
                .next()
                .is_some_and(|verb| PERMISSION_VERBS.contains(&verb))
            && !text.contains('\n')
            && let Some(permissions) = self.find(PERMISSIONS)
        {
            return Input::Slash(permissions, rest.trim().to_owned());
        }
        if !word.starts_with('/') || word[1..].contains('/') || text.contains('\n') {
            return Input::Message(continued(text));
        }
        match self.find(word) {
            Some(command) => Input::Slash(command, text[word.len()..].trim().to_owned()),
            None => Input::UnknownSlash {
                word: word.to_owned(),
                rest: text[word.len()..].trim().to_owned(),
            },
        }
    }

    /// The message for a word that is neither a command nor one of these templates. It suggests the nearest of both.
    pub fn no_such_command<'a>(
        self,
        word: &str,
        templates: impl Iterator<Item = &'a str>,
    ) -> String {
        if let Some((_, way)) = ELSEWHERE.iter().find(|(name, _)| *name == word) {
            return format!("Unknown command {word}. {way}");
        }
        // Without the slash: all names share it, which would make everything alike.
        let name = word.strip_prefix('/').unwrap_or(word);
        let commands = self.names().filter_map(|name| name.strip_prefix('/'));
        let renamed = RENAMED.iter().find(|(old, _)| *old == word);
        let near = match (nearest(name, commands.chain(templates)), renamed) {
            (Some(near), _) if !self.is_command(near) => Some(format!("/{near}")),
            (_, Some((_, new))) => Some((*new).to_owned()),
            (near, None) => near.map(|near| format!("/{near}")),
        };
        let word = escape(word);
        match near {
            Some(near) => format!("Unknown command {word}. Did you mean {near}?"),
            None => format!("Unknown command {word}. /help shows the commands."),
        }
    }
}

/// Joins lines that a backslash continues: the mark is not part of the message.
fn continued(text: &str) -> String {
    text.replace("\\\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::slash::table;

    #[test]
    fn lines_are_understood() {
        let message = |text: &str| Input::Message(text.to_owned());
        let unknown = |word: &str, rest: &str| Input::UnknownSlash {
            word: word.to_owned(),
            rest: rest.to_owned(),
        };
        let check =
            |line: &str, expected: Input| assert_eq!(table().parse(line), expected, "{line:?}");
        check("", Input::Empty);
        check("  \n ", Input::Empty);
        check(" hello ", message("hello"));
        let slash = |name, rest: &str| Input::Slash(table().find(name).unwrap(), rest.to_owned());
        check("/help", slash("/help", ""));
        check(" /quit now", slash("/exit", "now"));
        check(
            "/tools  read_file  always ",
            slash("/tools", "read_file  always"),
        );
        check(" exit ", slash("/exit", ""));
        check("quit", slash("/exit", ""));
        check("exit the program", message("exit the program"));
        check("/hepl", unknown("/hepl", ""));
        check(" /xyzzy  a=b  c ", unknown("/xyzzy", "a=b  c"));
        check("/", unknown("/", ""));
        check(
            "/etc/hosts: what is in it?",
            message("/etc/hosts: what is in it?"),
        );
        check("one \\\ntwo", message("one \ntwo"));
        check("/help\nme", message("/help\nme"));
        check("# use tabs ", slash("/remember", "use tabs"));
        check("# user: be brief", slash("/remember", "user: be brief"));
        check("# Plan\nfirst", message("# Plan\nfirst"));
        check(" # Plan", message("# Plan"));
        check("#12 is broken", message("#12 is broken"));
        let undo = "ask run '$ /usr/bin/make test'";
        check(
            &format!("dunlin permissions {undo}"),
            slash("/permissions", undo),
        );
        let asked = "dunlin permissions are what?";
        check(asked, message(asked));
    }

    #[test]
    fn an_unknown_word_gets_the_nearest_of_commands_and_templates() {
        let check = |word: &str, templates: &[&str], expected: &str| {
            let message = table().no_such_command(word, templates.iter().copied());
            assert_eq!(message, format!("Unknown command {word}. {expected}"));
        };
        check("/hepl", &[], "Did you mean /help?");
        check("/hepl", &["hepp"], "Did you mean /help?");
        check("/condense", &[], "Did you mean /compact?");
        check("/condense", &["review"], "Did you mean /compact?");
        check("/condense", &["condenser"], "Did you mean /condenser?");
        check("/reviw", &["review"], "Did you mean /review?");
        check("/xyzzy", &["review"], "/help shows the commands.");
        check("/", &[], "/help shows the commands.");
        check("/plan", &["plans"], "/mode plan asks for a plan first.");
    }

    #[test]
    fn words_of_other_chats_are_no_commands_and_name_some() {
        let sessions = table().find("/sessions").unwrap();
        assert_eq!(
            table().parse("/resume 2"),
            Input::Slash(sessions, "2".to_owned())
        );
        for (word, way) in ELSEWHERE {
            assert!(table().find(word).is_none(), "{word}");
            let named = way.split([' ', ',', ';', '.']);
            for name in named.filter(|name| name.starts_with('/')) {
                assert!(table().find(name).is_some(), "{way}");
            }
        }
    }
}
