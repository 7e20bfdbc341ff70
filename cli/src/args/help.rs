//! What `--help` says beside the definition of the arguments: the commands in groups, examples, and the options of every
//! command in one place only.

use std::ffi::OsString;
use std::fmt::Write;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use dunlin_host::display::{escape, shell_word};

use super::Cli;
use crate::pages;

/// The commands by what people do with them.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Talk to a model",
        &["chat", "ask", "acp", "sessions", "app"],
    ),
    (
        "See what it gets and does",
        &["requests", "inspect", "audit"],
    ),
    (
        "Decide what it can do",
        &["permissions", "tools", "mcp", "plugin", "search"],
    ),
    (
        "Set up",
        &["config", "model", "doctor", "completions", "help"],
    ),
];

/// Examples by command; each is a line as it is typed.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "dunlin",
            "dunlin ask 'What does main.rs do?'",
            "git diff | dunlin ask 'Write a commit message'",
        ],
    ),
    ("chat", &["dunlin chat --resume", "dunlin --intercept next"]),
    (
        "ask",
        &[
            "dunlin ask 'What does main.rs do?'",
            "git diff | dunlin ask -f CONTRIBUTING.md 'Review this'",
            "dunlin ask --allow 'cargo test' --max-rounds 20 'Fix the failing test'",
            "dunlin ask --session release 'Write the release notes'",
            "dunlin ask --output-schema bugs.json 'List the bugs in src/'",
        ],
    ),
    ("acp", &["dunlin acp", "dunlin acp --agent coder"]),
    (
        "tools",
        &[
            "dunlin tools show read_file",
            "dunlin tools call read_file --args '{\"file_path\": \"README.md\"}'",
        ],
    ),
    (
        "permissions",
        &[
            "dunlin permissions allow read docs/",
            "dunlin permissions deny write Cargo.lock",
            "dunlin permissions explain cargo test --lib",
        ],
    ),
    (
        "sessions",
        &[
            "dunlin sessions list --all",
            "dunlin sessions export 'release notes' -o notes.md",
        ],
    ),
    (
        "requests",
        &[
            "dunlin requests list",
            "dunlin requests show 3 --curl",
            "dunlin requests replay 3 --model small",
        ],
    ),
    ("app", &["dunlin app list", "dunlin app open stopwatch"]),
    ("inspect", &["dunlin inspect", "dunlin inspect --json"]),
    (
        "mcp",
        &[
            "dunlin mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
            "dunlin mcp test files",
        ],
    ),
    (
        "plugin",
        &[
            "dunlin plugin new word_count",
            "dunlin plugin install ./word_count",
        ],
    ),
    (
        "search",
        &["dunlin search 'How are retries delayed?' --within 'src/**'"],
    ),
    (
        "audit",
        &[
            "dunlin audit --denied --since today",
            "dunlin audit --tool run_terminal_command --follow",
        ],
    ),
    (
        "model",
        &[
            "dunlin model list",
            "dunlin model list gpt-4o",
            "dunlin model pull",
        ],
    ),
    (
        "config",
        &["dunlin config show", "dunlin config key set openai-main"],
    ),
    (
        "completions",
        &["dunlin completions bash > ~/.local/share/bash-completion/completions/dunlin"],
    ),
    (
        "help",
        &["dunlin help permissions", "dunlin help plugin new"],
    ),
];

/// Commands and options of other chats, and what does the same here.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (
        &["-p", "--print", "--prompt", "exec", "run"],
        "dunlin ask PROMPT answers one question",
    ),
    (
        &["resume", "continue"],
        "dunlin --resume resumes the last session, or the one named behind it; dunlin sessions list lists them",
    ),
    (
        &["--resume", "-r"],
        "dunlin ask --continue PROMPT continues the last session with a question, --session SESSION another one; dunlin \
         --resume resumes one in the chat",
    ),
    (&["-m"], "--model MODEL chooses the model"),
    (
        &[
            "--yolo",
            "--full-auto",
            "--dangerously-skip-permissions",
            "--dangerously-bypass-approvals-and-sandbox",
        ],
        "nothing switches all questions off: --mode accept-edits accepts edits in the project, and dunlin ask --allow-tool NAME \
         allows a tool",
    ),
    (
        &["login", "logout", "auth"],
        "dunlin config init sets up a provider and its key; dunlin mcp login NAME logs in to an MCP server",
    ),
    (
        &["status"],
        "dunlin doctor checks the setup; dunlin config show prints the settings",
    ),
    (
        &["init"],
        "dunlin config init sets Dunlin up; /init in the chat writes AGENTS.md",
    ),
    (&["version"], "dunlin --version prints the version"),
];

/// What does the same here as a command or an option of another chat.
fn elsewhere(typed: &str) -> Option<&'static str> {
    let mut known = ELSEWHERE.iter();
    known
        .find(|(names, _)| names.contains(&typed))
        .map(|(_, way)| *way)
}

/// The operation that is most likely meant where only a target was typed, as in `permissions allow git status`.
pub fn probable_operation(target: &str) -> &'static str {
    let is_command = target.contains(char::is_whitespace) || !target.contains(['/', '.']);
    match is_command && !target.contains("://") {
        true => "run",
        false => "read",
    }
}

/// The command that was meant by words behind `dunlin permissions` that make none.
fn meant_permission(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().skip(1).map(|it| it.to_str()).collect();
    let words = words?;
    let ["permissions", verb, rest @ ..] = words.as_slice() else {
        return None;
    };
    let rest: Vec<String> = rest.iter().map(|word| shell_word(word)).collect();
    let typed = rest.join(" ");
    let way = match (error.kind(), *verb) {
        (ErrorKind::InvalidSubcommand, "forget" | "remove" | "delete" | "revoke" | "reset") => {
            let target = if typed.is_empty() { "TARGET" } else { &typed };
            let operation = "OPERATION";
            format!(
                "dunlin permissions unset {target} takes back all that is stored for a target, dunlin permissions ask {operation} {target} one operation (read, write or run)"
            )
        }
        // A mistyped operation is near one.
        (ErrorKind::InvalidValue, "allow" | "deny" | "ask")
            if error.get(ContextKind::SuggestedValue).is_none() =>
        {
            let operation = probable_operation(&typed);
            format!("did you mean dunlin permissions {verb} {operation} {typed}?")
        }
        _ => return None,
    };
    Some(escape(&way).into_owned())
}

/// Whether words name a page of the documentation.
pub fn is_page(topic: &[String]) -> bool {
    matches!(topic, [name] if pages::find(name).is_some())
}

/// What `dunlin help` prints for these words: the help of a command, or an error where there is no such one.
pub fn of_command(topic: &[String]) -> clap::Error {
    let path = topic.iter().map(OsString::from);
    let words = [OsString::from("dunlin")]
        .into_iter()
        .chain(path)
        .chain([OsString::from("--help")]);
    let mut command = explained();
    let known = topic
        .iter()
        .try_fold(&command, |command, word| command.find_subcommand(word));
    if known.is_none() {
        let typed = topic.join(" ");
        let near = pages::near(&typed)
            .map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
        return command.error(
            ErrorKind::InvalidSubcommand,
            format!(
                "there is no command and no topic {:?}{near}\n\nTopics: {}",
                escape(&typed),
                pages::names()
            ),
        );
    }
    match command.try_get_matches_from_mut(words) {
        Err(help) => help,
        Ok(_) => command.error(ErrorKind::DisplayHelp, ""),
    }
}

/// The same error with all that the definition does not say: a help page as it should be, and the command that was meant.
pub fn improved(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // The same words lead to the same page.
            explained()
                .try_get_matches_from(words)
                .err()
                .unwrap_or(error)
        }
        ErrorKind::InvalidSubcommand | ErrorKind::InvalidValue
            if let Some(way) = meant_permission(&error, words) =>
        {
            error.remove(ContextKind::SuggestedSubcommand);
            let tip = ContextValue::StyledStrs(vec![way.into()]);
            error.insert(ContextKind::Suggested, tip);
            error
        }
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument
            if let Some(way) = unknown_word(&error)
                .filter(|word| error.kind() == ErrorKind::UnknownArgument || is_first(word, words))
                .and_then(elsewhere) =>
        {
            for others in [
                ContextKind::SuggestedSubcommand,
                ContextKind::SuggestedArg,
                ContextKind::Usage,
            ] {
                error.remove(others);
            }
            let tip = ContextValue::StyledStrs(vec![way.into()]);
            error.insert(ContextKind::Suggested, tip);
            error
        }
        ErrorKind::InvalidSubcommand => {
            // clap names all that are a little similar, the most similar one last.
            if let Some(ContextValue::Strings(similar)) =
                error.get(ContextKind::SuggestedSubcommand)
                && let Some(nearest) = similar.last().cloned()
            {
                error.insert(
                    ContextKind::SuggestedSubcommand,
                    ContextValue::String(nearest),
                );
            }
            if let Some(question) = meant_as_question(words) {
                let tip = format!(
                    "to ask the model: dunlin ask {}",
                    escape(&shell_word(&question))
                );
                error.insert(
                    ContextKind::Suggested,
                    ContextValue::StyledStrs(vec![tip.into()]),
                );
            }
            error
        }
        _ => error,
    }
}

/// The command or the option that there is none of.
fn unknown_word(error: &clap::Error) -> Option<&str> {
    let unknown = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    match unknown.into_iter().find_map(|kind| error.get(kind))? {
        ContextValue::String(word) => Some(word),
        _ => None,
    }
}

/// Whether a word stands where the command does.
fn is_first(word: &str, words: &[OsString]) -> bool {
    words.get(1).is_some_and(|first| first == word)
}

/// The words of a command line that begins with no command and no option.
fn meant_as_question(words: &[OsString]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().skip(1).map(|it| it.to_str()).collect();
    let words = words?;
    let first = words.first()?;
    let command = Cli::command();
    let is_question = !first.trim().is_empty()
        && !words.iter().any(|word| word.starts_with('-'))
        && command.find_subcommand(first).is_none();
    is_question.then(|| words.join(" "))
}

/// The definition with everything that its help pages say.
fn explained() -> Command {
    let mut command = Cli::command();
    command.build();
    let groups = groups(&command);
    let names: Vec<String> = names(&command);
    for name in names {
        command = command.mut_subcommand(&name, |it| below(it, &name).hide(true));
    }
    let topics = format!("Topics of dunlin help TOPIC: {}", pages::names());
    command
        .override_usage("dunlin [OPTIONS] [COMMAND]")
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{{all-args}}{{after-help}}"
        ))
        .after_help(format!(
            "{}\n\nWithout a command, dunlin opens the chat. {topics}",
            examples("").unwrap_or_default()
        ))
}

/// A command below the first, with those below it.
fn below(mut command: Command, path: &str) -> Command {
    for name in names(&command) {
        let path = format!("{path} {name}");
        command = command.mut_subcommand(&name, |it| below(it, &path));
    }
    let command = command.mut_args(|arg| match arg.is_global_set() {
        true => arg.hide(true),
        false => arg,
    });
    let everywhere = "Options of every command: dunlin --help";
    let after = match examples(path) {
        Some(examples) => format!("{examples}\n\n{everywhere}"),
        None => everywhere.to_owned(),
    };
    command.after_help(after)
}

fn names(command: &Command) -> Vec<String> {
    let names = command.get_subcommands().map(|it| it.get_name().to_owned());
    names.collect()
}

/// The commands with what each does, in their groups.
fn groups(command: &Command) -> String {
    let width = names(command).iter().map(String::len).max().unwrap_or(0);
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{header}{title}:{header:#}");
        for found in names.iter().filter_map(|it| command.find_subcommand(it)) {
            let name = found.get_name();
            let about = found.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:width$}{literal:#}  {about}");
        }
        text.push('\n');
    }
    text
}

fn examples(path: &str) -> Option<String> {
    let (_, lines) = EXAMPLES.iter().find(|(of, _)| *of == path)?;
    Some(format!("Examples:\n  {}", lines.join("\n  ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_has_examples() {
        let command = Cli::command();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        grouped.sort_unstable();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
        for name in all.iter().filter(|name| **name != "doctor") {
            assert!(examples(name).is_some(), "{name}");
        }
    }

    #[test]
    fn examples_are_understood() {
        for line in EXAMPLES.iter().flat_map(|(_, lines)| *lines) {
            // What the shell does with the rest of the line.
            let line = line.rsplit('|').next().unwrap_or(line);
            let line = line.split(" > ").next().unwrap_or(line);
            let words = dunlin_host::command::simple_words(line).unwrap();
            let words = words.iter().map(OsString::from).collect();
            if let Err(error) = Cli::of(words) {
                assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{line}: {error}");
            }
        }
    }

    #[test]
    fn words_of_other_chats_name_what_does_the_same() {
        let said = |words: &[&str]| {
            let words = ["dunlin"].iter().chain(words).map(OsString::from);
            Cli::of(words.collect()).unwrap_err().to_string()
        };
        let mut errors = String::new();
        for words in [
            &["-p", "hi"][..],
            &["exec", "ls"],
            &["resume"],
            &["ask", "--resume", "hi"],
            &["ask", "-r", "hi"],
            &["login"],
            &["--yolo"],
            &["ask", "--yolo", "hi"],
        ] {
            errors += &format!("$ dunlin {}\n{}\n", words.join(" "), said(words));
        }
        insta::assert_snapshot!(errors);
        for option in ["--continue", "-c", "-r"] {
            let continued = Cli::of(["dunlin", option].map(OsString::from).into());
            assert_eq!(continued.unwrap().chat.resume, Some(None), "{option}");
        }
        let named = Cli::of(["dunlin", "-r", "x26wcrdt"].map(OsString::from).into());
        assert_eq!(
            named.unwrap().chat.resume,
            Some(Some("x26wcrdt".to_owned()))
        );
    }

    #[test]
    fn permissions_name_the_command_that_was_meant() {
        let said = |line: &str| {
            let words = dunlin_host::command::simple_words(line).unwrap();
            let words = words.iter().map(OsString::from).collect();
            Cli::of(words).unwrap_err().to_string()
        };
        for (line, way) in [
            (
                "dunlin permissions allow git status",
                "tip: did you mean dunlin permissions allow run git status?",
            ),
            (
                "dunlin permissions deny 'git push' --force",
                "deny run 'git push' --force?",
            ),
            ("dunlin permissions allow make", "allow run make?"),
            ("dunlin permissions ask docs/", "ask read docs/?"),
            (
                "dunlin permissions allow Cargo.toml",
                "allow read Cargo.toml?",
            ),
            (
                "dunlin permissions forget",
                "dunlin permissions unset TARGET takes",
            ),
            (
                "dunlin permissions forget 'git push'",
                "dunlin permissions unset 'git push' takes",
            ),
        ] {
            let said = said(line);
            assert!(said.contains(way), "{line}: {said}");
            assert_eq!(said.matches("tip:").count(), 1, "{said}");
        }
        let mistyped = said("dunlin permissions allow raed docs/");
        assert!(mistyped.contains("'read'"), "{mistyped}");
        assert!(!mistyped.contains("did you mean"), "{mistyped}");
    }

    #[test]
    fn what_does_the_same_is_understood() {
        let command = Cli::command();
        for (names, way) in ELSEWHERE {
            let is_free = |name: &&&str| command.find_subcommand(name).is_none();
            assert!(names.iter().all(|name| is_free(&name)), "{names:?}");
            let mut words = way.split_whitespace().skip_while(|it| *it != "dunlin");
            if let Some(word) = words.nth(1).filter(|it| !it.starts_with('-')) {
                assert!(command.find_subcommand(word).is_some(), "{way}");
            }
        }
    }

    #[test]
    fn a_question_is_told_from_a_mistyped_command() {
        let said = |words: &[&str]| {
            let words = words.iter().map(OsString::from).collect();
            Cli::of(words).unwrap_err().to_string()
        };
        let error = said(&["dunlin", "what is", "this?"]);
        assert!(error.contains("dunlin ask 'what is this?'"), "{error}");
        assert!(!said(&["dunlin", "tools", "lst"]).contains("ask"));
        let error = said(&["dunlin", "permisions"]);
        assert!(
            error.contains("'permissions'") && !error.contains("'sessions'"),
            "{error}"
        );
        assert!(!said(&["dunlin", " "]).contains("ask"));
    }
}
