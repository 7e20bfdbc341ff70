//! `dunlin completions`: prints the script for a shell, and answers what that script asks: which words may come next.

use std::env;
use std::sync::Arc;

use clap::CommandFactory;
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};
use clap_complete::{ArgValueCandidates, CompleteEnv, CompletionCandidate};
use dunlin_host::display::one_line;
use dunlin_terminal::ui::Ui;

use super::make_app::app_of;
use crate::app::App;
use crate::args::{Cli, CompletionsArgs, Global, Shell};
use crate::config::env::Environment;
use crate::dialogue::look_at_tools;
use crate::error::{CliError, Exit};
#[cfg(feature = "local-model")]
use crate::models;
use crate::pages;
use crate::settings::Settings;

/// The variable by which a script asks.
const VARIABLE: &str = "DUNLIN_COMPLETE";

/// How many sessions are offered: the newest.
const MAX_SESSIONS: usize = 50;

/// Characters other than letters and digits that every shell takes as they are.
const PLAIN: &str = "-_./:@+%,";

type Candidates = Vec<CompletionCandidate>;

/// Prints the script.
pub fn run(ui: &Ui, args: &CompletionsArgs) -> Result<Exit, CliError> {
    let shell: &dyn EnvCompleter = match args.shell {
        Shell::Bash => &Bash,
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::Powershell => &Powershell,
        Shell::Zsh => &Zsh,
    };
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, "dunlin", "dunlin", "dunlin", &mut script)
        .map_err(CliError::failed)?;
    ui.data(String::from_utf8_lossy(&script).trim());
    Ok(Exit::Done)
}

/// Answers if a script asks; `None`: none does.
pub fn answer() -> Option<Exit> {
    let folder = env::current_dir().ok();
    let answered = CompleteEnv::with_factory(|| with_candidates(Cli::command(), &[]))
        .var(VARIABLE)
        .try_complete(env::args_os(), folder.as_deref());
    match answered {
        Ok(true) => Some(Exit::Done),
        Ok(false) => None,
        Err(error) => {
            // A shell that went away misses nothing.
            let _ = error.print();
            Some(Exit::Usage)
        }
    }
}

/// The command and those below it, with what can be offered for their arguments. `path`: the commands above it.
fn with_candidates(command: clap::Command, path: &[&str]) -> clap::Command {
    let name = command.get_name().to_owned();
    let path = [path, &[name.as_str()]].concat();
    command
        .mut_args(|arg| match candidates(&path, arg.get_id().as_str()) {
            Some(candidates) => arg.add(ArgValueCandidates::new(candidates)),
            None => arg,
        })
        .mut_subcommands(|below| with_candidates(below, &path))
}

/// What an argument of a command names, unless that is new or anything at all.
fn candidates(path: &[&str], argument: &str) -> Option<fn() -> Candidates> {
    Some(match (path, argument) {
        (_, "agent") => agents,
        (_, "model") => agent_models,
        (_, "resume" | "session" | "sessions") => sessions,
        (_, "tool" | "allow_tool") | (["dunlin", "tools", _], "name") => tools,
        (["dunlin", "permissions", "unset"], "target") => stored_targets,
        (["dunlin", "mcp", "add"], "name") | (["dunlin", "plugin", "new"], "name") => return None,
        (["dunlin", "mcp", _], "name" | "names") => servers,
        (["dunlin", "plugin", _], "name" | "names") => plugins,
        (["dunlin", "app", _], "name" | "names") => apps,
        #[cfg(feature = "local-model")]
        (["dunlin", "model", "pull"], "name") => fetchable_models,
        #[cfg(feature = "local-model")]
        (["dunlin", "model", _], "name") => installed_models,
        (["dunlin", "help"], "topic") => topics,
        _ => return None,
    })
}

/// What is known of this project, in silence: nobody reads messages behind a line that is being typed.
fn app() -> Option<App> {
    let environment = Environment::of_process();
    let global = Global {
        quiet: true,
        ..Global::default()
    };
    let ui = Arc::new(Ui::new(global.terminal(), &environment, false));
    let settings = Settings::load_here(&global, environment).ok()?;
    Some(app_of(&ui, settings, Vec::new()))
}

/// A word and what is said of it. A word that would have to be quoted is left out, since each shell quotes in its own way.
fn candidate(word: &str, about: &str) -> Option<CompletionCandidate> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    let fits = !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain);
    let about = one_line(about);
    fits.then(|| {
        let help = (!about.is_empty()).then(|| about.into());
        CompletionCandidate::new(word).help(help)
    })
}

fn each<'a>(words: impl IntoIterator<Item = (&'a str, &'a str)>) -> Candidates {
    let words = words.into_iter();
    words
        .filter_map(|(word, about)| candidate(word, about))
        .collect()
}

fn agents() -> Candidates {
    let app = app();
    let agents = app.iter().flat_map(|app| &app.settings.agents);
    each(agents.map(|(name, agent)| (name.as_str(), agent.value.model.as_str())))
}

fn agent_models() -> Candidates {
    let app = app();
    let agents = app.iter().flat_map(|app| app.settings.agents.values());
    let mut models: Vec<&str> = agents.map(|agent| agent.value.model.as_str()).collect();
    models.sort_unstable();
    models.dedup();
    each(models.into_iter().map(|model| (model, "")))
}

fn sessions() -> Candidates {
    let sessions = app().map(|app| app.store().list(false, MAX_SESSIONS));
    let sessions = sessions.unwrap_or_default();
    each(
        sessions
            .iter()
            .map(|it| (it.id.as_str(), it.title.as_str())),
    )
}

fn tools() -> Candidates {
    let tools = app().and_then(|app| look_at_tools(&app).ok());
    let tools = tools.unwrap_or_default();
    let about = |text: &str| {
        text.split_once(". ")
            .map_or(text, |(first, _)| first)
            .to_owned()
    };
    let tools = tools.iter().map(|it| (&it.name, about(&it.description)));
    tools
        .filter_map(|(name, about)| candidate(name, &about))
        .collect()
}

fn stored_targets() -> Candidates {
    let stored = app().and_then(|app| app.permissions().ok()?.list().ok());
    let stored = stored.unwrap_or_default();
    each(stored.iter().map(|it| (it.key.as_str(), it.bits.as_str())))
}

fn servers() -> Candidates {
    let app = app();
    let servers = app.iter().flat_map(|app| &app.settings.mcp_servers);
    each(servers.map(|(name, server)| {
        let about = server.value.description.as_deref();
        (name.as_str(), about.unwrap_or_default())
    }))
}

fn plugins() -> Candidates {
    let records = app().map(|app| app.installed_plugins().records().0);
    let records = records.unwrap_or_default();
    each(
        records
            .iter()
            .map(|it| (it.name.as_str(), it.source.as_str())),
    )
}

fn apps() -> Candidates {
    let apps = app().and_then(|app| app.app_store().all().ok());
    let (apps, _) = apps.unwrap_or_default();
    each(apps.iter().map(|it| (it.name(), it.title())))
}

#[cfg(feature = "local-model")]
fn fetchable_models() -> Candidates {
    each(models::fetchable().map(|entry| (entry.name, entry.about)))
}

#[cfg(feature = "local-model")]
fn installed_models() -> Candidates {
    let folder = app().map(|app| app.settings.folders.models());
    let models = folder.and_then(|folder| models::installed(&folder).ok());
    let models = models.unwrap_or_default();
    each(models.iter().map(|it| (it.name.as_str(), "")))
}

fn topics() -> Candidates {
    let commands = Cli::command();
    let commands = commands.get_subcommands().map(clap::Command::get_name);
    let mut names: Vec<&str> = commands.collect();
    for page in pages::all() {
        names.push(page);
    }
    each(names.into_iter().map(|name| (name, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_a_shell_would_read_is_not_offered() {
        for (word, expected) in [
            ("small", true),
            ("qwen3:8b", true),
            ("/usr/bin/git", true),
            ("", false),
            ("--yes", false),
            ("a b", false),
            ("$(id)", false),
            ("a;b", false),
            ("a\u{1b}b", false),
            ("é", false),
        ] {
            assert_eq!(candidate(word, "").is_some(), expected, "{word:?}");
        }
    }

    #[test]
    fn every_named_argument_is_in_the_definition() {
        fn collect(command: &clap::Command, path: &[&str], found: &mut Vec<String>) {
            let path = [path, &[command.get_name()]].concat();
            for arg in command.get_arguments() {
                if candidates(&path, arg.get_id().as_str()).is_some() {
                    found.push(format!("{} {}", path.join(" "), arg.get_id()));
                }
            }
            for below in command.get_subcommands() {
                collect(below, &path, found);
            }
        }
        let mut found = Vec::new();
        collect(&Cli::command(), &[], &mut found);
        for expected in [
            "dunlin agent",
            "dunlin model",
            "dunlin resume",
            "dunlin chat resume",
            "dunlin ask session",
            "dunlin ask allow_tool",
            "dunlin tools show name",
            "dunlin permissions unset target",
            "dunlin sessions delete sessions",
            "dunlin mcp remove names",
            "dunlin mcp test name",
            "dunlin plugin update names",
            "dunlin app open name",
            "dunlin help topic",
        ] {
            assert!(
                found.iter().any(|it| it == expected),
                "{expected}: {found:?}"
            );
        }
        for unexpected in ["dunlin mcp add name", "dunlin plugin new name"] {
            assert!(!found.iter().any(|it| it == unexpected), "{unexpected}");
        }
    }
}
