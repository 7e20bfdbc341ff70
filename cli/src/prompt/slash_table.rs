//! The table of slash commands, and what a typed line is. What they do is in [`crate::repl::slash`].

use dunlin_host::display::escape;
use dunlin_host::nearest::nearest;

/// Commands that earlier versions knew, and what they are called now.
const RENAMED: [(&str, &str); 1] = [("/condense", "/compact")];

/// What other programs call something that a command does here, and how it is done.
const ELSEWHERE: [(&str, &str); 1] = [("/resume", "/sessions lists the sessions and resumes one.")];

/// What stands between `/mcp` and the name of a server.
pub const VERBS: [&str; 4] = ["connect", "disconnect", "enable", "disable"];

/// What may be typed after `/app` beside the names of apps.
pub const APP_VERBS: [&str; 3] = ["open", "close", "list"];

/// What may be typed after `/auto`.
pub const AUTO_VERBS: [&str; 4] = ["capture", "scope", "limit", "remove"];

/// What of a request `/requests N` shows, and what it does with one.
pub const REQUEST_PARTS: [&str; 6] = ["sent", "original", "diff", "curl", "replay", "fork"];

/// What `/clear` asks.
pub const FORGET: &str = "Forget the conversation?";

/// A slash command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slash {
    /// Lists the commands.
    Help,
    /// Lists the tools.
    Tools,
    /// Lists what is stored and what was answered for the session.
    Permissions,
    /// Lists what was said and called.
    History,
    /// Shows one of it whole.
    Show,
    /// Shows a call whole.
    Expand,
    /// Lists the subagents, shows or ends one.
    Agents,
    /// Shows what a call has changed in files, or all calls of the last turn.
    Diff,
    /// Shows the steps to a reply, or leaves them out.
    Steps,
    /// Shows what fills the model's window.
    Context,
    /// Shows what was spent.
    Cost,
    /// Has earlier turns summed up.
    Compact,
    /// Puts the last reply on the clipboard.
    Copy,
    /// Shows the app of this chat, opens or closes one, or lists them.
    App,
    /// Sends the latest errors of the app to the model.
    Fix,
    /// Takes back the edits of the last turn, or the last version of an app.
    Undo,
    /// Goes back to before a turn.
    Rewind,
    /// Writes a message in an editor.
    Edit,
    /// Sends the last message again.
    Retry,
    /// Lists the files that are attached.
    Tags,
    /// Takes some of them away.
    Untag,
    /// Lists the models, or takes one.
    Model,
    /// Lists the agents, or takes one.
    Agent,
    /// Says how much the model thinks, or sets it.
    Effort,
    /// Says which mode holds, or sets it.
    Mode,
    /// Lists the instruction files, or takes over what has changed in them.
    Instructions,
    /// Has the model write the project's instruction file.
    Init,
    /// Adds a line to an instruction file.
    Remember,
    /// Forgets the conversation.
    Clear,
    /// Begins another session.
    New,
    /// Lists the other sessions, or goes on with one.
    Sessions,
    /// Lists the MCP servers, or does something with one.
    Mcp,
    /// Lists the hooks.
    Hooks,
    /// Says which requests are paused, or sets it.
    Pause,
    /// Lists, saves and removes edits that every request gets.
    Auto,
    /// Lists the prompts of MCP servers, or sends one.
    Prompt,
    /// Gives the session a title.
    Rename,
    /// Goes on with a copy of the session.
    Fork,
    /// Writes the conversation into a file.
    Export,
    /// Lists the requests that were sent, or shows one.
    Requests,
    /// Shows the next request on the whole screen.
    Request,
    /// Shows the metadata of a request, or chooses the fields.
    Metadata,
    /// Leaves.
    Exit,
}

impl Slash {
    /// Whether it leaves the conversation that a paused request belongs to. Some only list what there is, if nothing follows.
    pub fn leaves(self, rest: &str) -> bool {
        match self {
            Slash::New | Slash::Clear | Slash::Fork | Slash::Exit => true,
            _ => self.chooses() && !rest.is_empty(),
        }
    }

    /// Whether it only lists what can be chosen.
    pub fn lists(self, rest: &str) -> bool {
        self.chooses() && rest.is_empty()
    }

    fn chooses(self) -> bool {
        matches!(self, Slash::Sessions | Slash::Model | Slash::Agent)
    }
}

/// A command as it is typed.
#[derive(Debug)]
pub struct Command {
    /// With its slash.
    pub name: &'static str,
    /// What comes after it.
    pub arguments: &'static str,
    /// What it does. A name that stands for another has none.
    pub about: &'static str,
    pub slash: Slash,
    /// Why it has to wait while calls wait; empty where it works then.
    pub waits: &'static str,
}

const fn command(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    slash: Slash,
) -> Command {
    Command {
        name,
        arguments,
        about,
        slash,
        waits: "",
    }
}

impl Command {
    const fn waits(self, why: &'static str) -> Command {
        Command { waits: why, ..self }
    }
}

/// Why the end of the conversation has to wait for its calls.
const LEAVING: &str = "answer the calls that wait first; Ctrl-C says no to all of them";

/// Why what concerns the next message has to wait for the calls of this one.
pub const NEXT: &str = "it is for the next message: answer the calls that wait first";
/// Why what changes the tools has to wait.
pub const SERVERS: &str = "it changes the tools of this turn: answer the calls that wait first";
/// Why what is counted has to wait.
const TURN: &str = "a turn is counted when it is over; answer its calls first";

/// Every command, below the headings of the help. The completion uses this table, too.
pub const GROUPS: &[(&str, &[Command])] = &[
    (
        "This chat",
        &[
            command(
                "/help",
                "[COMMAND|all]",
                "list the commands and keys; describe one of them, or all",
                Slash::Help,
            ),
            command(
                "/permissions",
                "[forget [KEY]]",
                "list everything in force, tool modes first; forget takes back answers of this session",
                Slash::Permissions,
            ),
            command(
                "/tools",
                "[NAME MODE]",
                "list the tools, or set the mode of one for this session: prompt, always or never",
                Slash::Tools,
            ),
            command(
                "/mcp",
                "[VERB NAME]",
                "list the MCP servers and their tools, or connect, disconnect, disable (for this session) or enable one",
                Slash::Mcp,
            ),
            command(
                "/hooks",
                "",
                "list the hooks, whose they are and how they ran",
                Slash::Hooks,
            ),
            command(
                "/model",
                "[NAME]",
                "list the models, or switch to another one",
                Slash::Model,
            )
            .waits(NEXT),
            command(
                "/agent",
                "[NAME]",
                "list the agents, or switch to another one",
                Slash::Agent,
            )
            .waits(NEXT),
            command(
                "/effort",
                "[LEVEL]",
                "show how much the model thinks, or set it for this session: none, low, medium, high, or default for what the agent says",
                Slash::Effort,
            )
            .waits(NEXT),
            command(
                "/mode",
                "[MODE]",
                "show the mode, or set it until the session ends, as Shift-Tab does: ask, accept-edits (of ordinary files in the project), or plan (the model only reads, and ends with a plan that you can approve)",
                Slash::Mode,
            ),
            command("/exit", "", "quit, as \"exit\" alone and Ctrl-D do", Slash::Exit).waits(LEAVING),
            command("/quit", "", "", Slash::Exit).waits(LEAVING),
        ],
    ),
    (
        "The message",
        &[
            command(
                "/edit",
                "[TEXT]",
                "write the message in $VISUAL or $EDITOR; Ctrl-X Ctrl-E opens the current line there",
                Slash::Edit,
            )
            .waits(NEXT),
            command("/tags", "", "list the files that you attached with @", Slash::Tags).waits(NEXT),
            command(
                "/untag",
                "N|PATH|all",
                "remove files from the next message",
                Slash::Untag,
            )
            .waits(NEXT),
            command(
                "/prompt",
                "[SERVER NAME ...]",
                "list the templates (/NAME sends one) and the prompts of MCP servers, or send one of a server",
                Slash::Prompt,
            )
            .waits(NEXT),
            command(
                "/retry",
                "",
                "send the last message again and replace its answer",
                Slash::Retry,
            )
            .waits(NEXT),
            command(
                "/undo",
                "",
                "undo the file edits of the last turn, or the last version of an app; repeat it for the turn before",
                Slash::Undo,
            )
            .waits("a turn is not over while its calls wait: answer them first, then /undo takes its edits back"),
            command(
                "/rewind",
                "[all|N [PART]]",
                "list the last turns, or all; with N, go back to before turn N: PART is conversation, files (those edited since) or both",
                Slash::Rewind,
            )
            .waits(TURN),
            command(
                "/compact",
                "",
                "have the model summarise earlier turns, and send the summary instead",
                Slash::Compact,
            )
            .waits(TURN),
        ],
    ),
    (
        "AGENTS.md",
        &[
            command(
                "/instructions",
                "[reload]",
                "list the instruction files (AGENTS.md) that this session begins with; reload sends what they say now",
                Slash::Instructions,
            )
            .waits(NEXT),
            command(
                "/init",
                "",
                "have the model look at the project and write AGENTS.md, or improve it",
                Slash::Init,
            )
            .waits(NEXT),
            command(
                "/remember",
                "[user:] TEXT",
                "add a line to AGENTS.md of the project; with user: to your own, which holds in all projects",
                Slash::Remember,
            )
            .waits(NEXT),
        ],
    ),
    (
        "Apps",
        &[
            command(
                "/app",
                "[open|close|list] [NAME]",
                "show the app of this chat; open or close its page; list all apps; with a NAME alone, continue that app in this chat",
                Slash::App,
            )
            .waits(NEXT),
            command(
                "/fix",
                "",
                "send the latest errors of the app to the model",
                Slash::Fix,
            )
            .waits(NEXT),
        ],
    ),
    (
        "Look back",
        &[
            command(
                "/history",
                "[all]",
                "list messages (m1, m2, ...) and calls (by their numbers)",
                Slash::History,
            ),
            command(
                "/show",
                "[N|mN]",
                "show call N or message mN in full; without a number, the last one",
                Slash::Show,
            ),
            command(
                "/expand",
                "[N] [all]",
                "show call N in full; without a number, the last one",
                Slash::Expand,
            ),
            command(
                "/agents",
                "[N [all]|stop N]",
                "list the subagents, show what number N did, or end it; stop works while they run",
                Slash::Agents,
            ),
            command(
                "/diff",
                "[N]",
                "show what call N changed in files, or the last turn without a number",
                Slash::Diff,
            ),
            command("/copy", "", "copy the last reply to the clipboard", Slash::Copy),
            command(
                "/steps",
                "[on|off]",
                "show or hide calls, reasoning and notices, as Ctrl-V does",
                Slash::Steps,
            ),
        ],
    ),
    (
        "Requests",
        &[
            command(
                "/pause",
                "[MODE [FILTER]]",
                "pause requests before they are sent, to read and edit them: off, next, turn, every or auto; FILTER restricts next, turn and every to an agent, a model, or tools (requests after tool results); Alt+P pauses the next one; in another terminal, dunlin inspect shows what is paused",
                Slash::Pause,
            ),
            command(
                "/auto",
                "[VERB]",
                "list saved edits of requests, or capture, scope SCOPE, limit N, remove [N]; /pause auto applies them",
                Slash::Auto,
            ),
            command(
                "/requests",
                "[N [PART]]",
                "list the requests of this session, or show one; PART is sent, original, diff, curl, replay [edited] or fork",
                Slash::Requests,
            )
            .waits(TURN),
            command(
                "/request",
                "[N]",
                "show the next request on the whole screen, or request N as it was sent; a paused one can be edited there",
                Slash::Request,
            )
            .waits(TURN),
            command(
                "/metadata",
                "[FIELD ...]",
                "show session, id, agent, model, endpoint and budget of the paused or the last request; choose the fields, or copy FIELD",
                Slash::Metadata,
            )
            .waits(TURN),
            command("/context", "", "show what fills the context window", Slash::Context).waits(TURN),
            command("/cost", "", "show how many tokens you used, and what they cost", Slash::Cost).waits(TURN),
        ],
    ),
    (
        "Sessions",
        &[
            command("/new", "", "start a new session; this one is saved", Slash::New).waits(LEAVING),
            command(
                "/sessions",
                "[N]",
                "list the other sessions of the project, or resume one",
                Slash::Sessions,
            )
            .waits(LEAVING),
            command("/rename", "TITLE", "give this session a title", Slash::Rename).waits(LEAVING),
            command("/fork", "[ID]", "continue in a copy of this session, or of another", Slash::Fork)
                .waits(LEAVING),
            command(
                "/export",
                "[md|json] [FILE]",
                "write the conversation to a file; - prints it",
                Slash::Export,
            )
            .waits(LEAVING),
            command("/clear", "", "clear the conversation", Slash::Clear).waits(LEAVING),
        ],
    ),
];

/// Every command.
pub fn commands() -> impl Iterator<Item = &'static Command> {
    GROUPS.iter().flat_map(|(_, commands)| commands.iter())
}

/// Whether Dunlin has a command of this name, which is without its slash.
pub fn is_command(name: &str) -> bool {
    let mut names = commands().map(|command| command.name);
    names.any(|command| command.strip_prefix('/') == Some(name))
}

/// What a line turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Empty,
    /// A slash command, and what was typed after it.
    Slash(Slash, String),
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

/// Understands a line. A path at its start is not a command: it has a second slash. Several lines are a message, also if the
/// first is a heading.
pub fn parse(line: &str) -> Input {
    let text = line.trim();
    if LEAVING_WORDS.contains(&text) {
        return Input::Slash(Slash::Exit, String::new());
    }
    let word = text.split_whitespace().next().unwrap_or_default();
    if text.is_empty() {
        return Input::Empty;
    }
    if let Some(line) = line.strip_prefix(REMEMBERS)
        && !text.contains('\n')
    {
        return Input::Slash(Slash::Remember, line.trim().to_owned());
    }
    if !word.starts_with('/') || word[1..].contains('/') || text.contains('\n') {
        return Input::Message(continued(text));
    }
    match commands().find(|command| command.name == word) {
        Some(command) => Input::Slash(command.slash, text[word.len()..].trim().to_owned()),
        None => Input::UnknownSlash {
            word: word.to_owned(),
            rest: text[word.len()..].trim().to_owned(),
        },
    }
}

/// The message for a word that is neither a command nor one of these templates. It suggests the nearest of both.
pub fn no_such_command<'a>(word: &str, templates: impl Iterator<Item = &'a str>) -> String {
    if let Some((_, way)) = ELSEWHERE.iter().find(|(name, _)| *name == word) {
        return format!("Unknown command {word}. {way}");
    }
    // Without the slash: all names share it, which would make everything alike.
    let name = word.strip_prefix('/').unwrap_or(word);
    let commands = commands().filter_map(|command| command.name.strip_prefix('/'));
    let renamed = RENAMED.iter().find(|(old, _)| *old == word);
    let near = match (nearest(name, commands.chain(templates)), renamed) {
        (Some(near), _) if !is_command(near) => Some(format!("/{near}")),
        (_, Some((_, new))) => Some((*new).to_owned()),
        (near, None) => near.map(|near| format!("/{near}")),
    };
    let word = escape(word);
    match near {
        Some(near) => format!("Unknown command {word}. Did you mean {near}?"),
        None => format!("Unknown command {word}. /help shows the commands."),
    }
}

/// Joins lines that a backslash continues: the mark is not part of the message.
fn continued(text: &str) -> String {
    text.replace("\\\n", "\n")
}

/// What is said of words behind a command that takes none, or none such: to pass over them could do what nobody meant.
pub fn surplus(slash: Slash, rest: &str) -> Option<String> {
    let command = commands().find(|command| command.slash == slash)?;
    let fits = rest.is_empty()
        || match command.arguments {
            "" => false,
            "[all]" => rest == "all",
            // Whoever understands these says what is wrong with them.
            _ => true,
        };
    match (fits, command.arguments) {
        (true, _) => None,
        (false, "") => Some(format!("{} takes no arguments.", command.name)),
        (false, arguments) => Some(format!("Usage: {} {arguments}", command.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let message = |text: &str| Input::Message(text.to_owned());
        let unknown = |word: &str, rest: &str| Input::UnknownSlash {
            word: word.to_owned(),
            rest: rest.to_owned(),
        };
        let check = |line: &str, expected: Input| assert_eq!(parse(line), expected, "{line:?}");
        check("", Input::Empty);
        check("  \n ", Input::Empty);
        check(" hello ", message("hello"));
        let slash = |slash, rest: &str| Input::Slash(slash, rest.to_owned());
        check("/help", slash(Slash::Help, ""));
        check(" /quit now", slash(Slash::Exit, "now"));
        check(
            "/tools  read_file  always ",
            slash(Slash::Tools, "read_file  always"),
        );
        check(" exit ", slash(Slash::Exit, ""));
        check("quit", slash(Slash::Exit, ""));
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
        check("# use tabs ", slash(Slash::Remember, "use tabs"));
        check("# user: be brief", slash(Slash::Remember, "user: be brief"));
        check("# Plan\nfirst", message("# Plan\nfirst"));
        check(" # Plan", message("# Plan"));
        check("#12 is broken", message("#12 is broken"));
    }

    #[test]
    fn an_unknown_word_gets_the_nearest_of_commands_and_templates() {
        let check = |word: &str, templates: &[&str], expected: &str| {
            let message = no_such_command(word, templates.iter().copied());
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
        check(
            "/resume",
            &["resumes"],
            "/sessions lists the sessions and resumes one.",
        );
    }
}
