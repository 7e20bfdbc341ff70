//! Slash commands: what can be typed at the prompt beside messages.

use std::borrow::Cow;

use async_trait::async_trait;
use dunlin_host::Tool;
use dunlin_host::display::{escape, own_command};
use dunlin_host::permission::SessionMode;

use super::{
    agents, apps, auto, budget, compose, expand, help, hooks, instructions, last_request, leaving,
    messages, mode, requests, rewind, servers, sessions, tags, undo,
};
use crate::app::{App, Commands};
use crate::dialogue::{Dialogue, choice, effort, look_at_tools};
use crate::error::CliError;
use crate::modes;
use crate::pausing;
use crate::prompt::slash_table::{FORGET, SERVERS, Slash, commands, surplus};
use crate::prompt::steps;
use crate::tools;
use dunlin_chat::agent::Agent;
use dunlin_chat::message::{Message, UserMessage};
use dunlin_chat::turn::CallRecord;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::style::Label;

/// What follows a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Prompt,
    /// A message that was written elsewhere than on the line.
    Say(String),
    /// A message that is sent as it is: it was sent before, or a server wrote it.
    AsItIs(UserMessage),
    /// The same of one that was shown.
    Shown(UserMessage),
    /// The end.
    Leave,
}

/// Runs a command at the prompt.
pub fn run(
    app: &App,
    dialogue: &mut Option<Dialogue>,
    slash: Slash,
    rest: &str,
) -> Result<Next, CliError> {
    let ui = &app.ui;
    if let Some(surplus) = surplus(slash, rest) {
        ui.status(&surplus);
        return Ok(Next::Prompt);
    }
    match slash {
        Slash::Exit => return Ok(Next::Leave),
        Slash::App => apps::run(app, rest)?,
        Slash::Fix => {
            if let Some(message) = apps::fix(app, dialogue.as_ref())? {
                return Ok(Next::Shown(message));
            }
        }
        Slash::Undo => {
            if apps::undo(app, dialogue.as_mut())? {
                return Ok(Next::Prompt);
            }
            let undone = undo::last(app)?;
            if let Some(dialogue) = dialogue {
                dialogue.tell_undone(undone);
            }
        }
        Slash::Rewind => rewind::run(app, dialogue.as_mut(), rest)?,
        Slash::Edit => {
            if let Some(text) = compose::write(app, rest, false)? {
                return Ok(Next::Say(text));
            }
        }
        Slash::Retry => match dialogue.as_mut().and_then(Dialogue::take_back_turn) {
            Some(text) => return Ok(Next::AsItIs(text)),
            None => ui.status("There is no message to send again."),
        },
        Slash::Prompt => {
            if let Some(text) = servers::prompt(app, rest)? {
                return Ok(Next::AsItIs(text.into()));
            }
        }
        Slash::Instructions => instructions::run(app, dialogue, rest)?,
        Slash::Init => {
            if let Some(text) = instructions::init(app, dialogue)? {
                return Ok(Next::AsItIs(text.into()));
            }
        }
        Slash::Remember => instructions::remember(app, dialogue.as_mut(), rest)?,
        Slash::Tags => tags::list(app, dialogue.as_ref()),
        Slash::Untag => tags::untag(app, dialogue.as_mut(), rest),
        Slash::Model => choice::model(app, dialogue, rest)?,
        Slash::Agent => choice::agent(app, dialogue, rest)?,
        Slash::Effort => effort::run(app, dialogue, rest)?,
        Slash::Clear => {
            let asks = app.asks() && !app.pausing.is_agreed();
            if asks && !ui.confirms(FORGET) {
                return Ok(Next::Prompt);
            }
            if let Some(dialogue) = dialogue {
                dialogue.clear();
            }
            ui.status("The conversation is empty.");
            say_what_stays(ui, dialogue.as_ref());
        }
        Slash::New | Slash::Sessions | Slash::Rename | Slash::Fork | Slash::Export => {
            sessions::run(app, dialogue, slash, rest)?;
        }
        Slash::Requests => requests::run(app, dialogue.as_ref(), rest)?,
        Slash::Request => requests::look_at(app, dialogue, rest)?,
        Slash::Metadata => last_request::run(app, dialogue.as_ref(), rest)?,
        Slash::Context => budget::context(app, dialogue),
        Slash::Cost => budget::cost(app, dialogue),
        Slash::Compact => budget::compact(app, dialogue)?,
        Slash::Tools => {
            let mut tools = look_at_tools(app)?;
            tools.extend(app.host()?.joined());
            look(app, &[], &tools, slash, rest)?;
        }
        _ => {
            let messages = dialogue.as_ref().map_or(&[][..], Dialogue::messages);
            look(app, messages, &[], slash, rest)?;
            if slash == Slash::History {
                budget::not_sent_of(app, dialogue.as_ref());
            }
        }
    }
    Ok(Next::Prompt)
}

/// The slash commands.
pub struct SlashCommands;

#[async_trait(?Send)]
impl Commands for SlashCommands {
    fn while_waiting(
        &self,
        app: &App,
        messages: &[Message],
        tools: &[Tool],
        command: Slash,
        rest: &str,
    ) -> Result<bool, CliError> {
        while_waiting(app, messages, tools, command, rest)
    }

    async fn refusal(
        &self,
        app: &App,
        agent: &Agent,
        messages: &[Message],
        command: (Slash, &str),
    ) -> Result<Option<String>, CliError> {
        leaving::refusal(app, agent, messages, command).await
    }

    async fn list(&self, app: &App, agent: &Agent, command: Slash) -> Result<(), CliError> {
        leaving::list(app, agent, command).await
    }
}

fn while_waiting(
    app: &App,
    messages: &[Message],
    tools: &[Tool],
    slash: Slash,
    rest: &str,
) -> Result<bool, CliError> {
    if let Some(surplus) = surplus(slash, rest) {
        app.ui.status(&format!("  {surplus}"));
        return Ok(false);
    }
    let command = commands().find(|command| command.slash == slash);
    let waits = command.and_then(|command| match command.waits {
        // Looking is possible at any time.
        "" if slash == Slash::Mcp && !rest.is_empty() => Some((command.name, SERVERS)),
        "" => None,
        why => Some((command.name, why)),
    });
    if let Some((name, why)) = waits {
        let text = format!("  {name} has to wait: {why}");
        app.ui.status(&text);
        return Ok(false);
    }
    look(app, messages, tools, slash, rest)
}

/// Runs a command that only looks, or changes nothing but permissions.
fn look(
    app: &App,
    messages: &[Message],
    tools: &[Tool],
    slash: Slash,
    rest: &str,
) -> Result<bool, CliError> {
    let ui = &app.ui;
    match slash {
        Slash::Help => help::show(app, rest),
        Slash::Permissions if rest.is_empty() => show_permissions(app)?,
        Slash::Permissions => return forget_answers(app, rest),
        Slash::Mcp => servers::run(app, rest)?,
        Slash::Hooks => hooks::run(app)?,
        Slash::Tools if rest.is_empty() => tools::print(app, tools)?,
        Slash::Tools => return tools::set_mode(app, tools, rest),
        Slash::History => ui.data_all(&messages::history(
            messages,
            &app.calls,
            rest == "all",
            ui.shows_steps(),
            ui.window(),
        )),
        Slash::Show => match messages::show(messages, &app.calls, rest, ui.window()) {
            Some(rows) => ui.data_all(&rows),
            None if rest.is_empty() => ui.status("Nothing was said yet."),
            None => ui.status(
                "Nothing has this number. /show 2 shows call 2, /show m2 the second message; /history lists both.",
            ),
        },
        Slash::Expand => {
            ui.data_all(&expand::rows(&app.calls, rest, ui.window()));
            agents::expand(app, rest);
        }
        Slash::Agents => agents::run(app, rest),
        Slash::Mode => return Ok(mode::run((ui, &app.mode), rest)),
        Slash::Diff => {
            let within = |call: &CallRecord| agents::calls_of(app, call);
            ui.data_all(&expand::edits(
                &app.calls,
                rest,
                within,
                (&app.settings.project, ui.window()),
            ));
        }
        Slash::Steps => steps::run(ui, rest),
        Slash::Auto => auto::run(app, rest)?,
        Slash::Pause => pausing::run(app, rest),
        Slash::Copy => copy(ui, messages),
        // At the prompt only.
        Slash::Exit
        | Slash::App
        | Slash::Fix
        | Slash::Undo
        | Slash::Rewind
        | Slash::Edit
        | Slash::Retry
        | Slash::Tags
        | Slash::Untag
        | Slash::Model
        | Slash::Agent
        | Slash::Effort
        | Slash::Clear
        | Slash::New
        | Slash::Sessions
        | Slash::Rename
        | Slash::Prompt
        | Slash::Instructions
        | Slash::Init
        | Slash::Remember
        | Slash::Fork
        | Slash::Export
        | Slash::Context
        | Slash::Cost
        | Slash::Compact
        | Slash::Requests
        | Slash::Metadata
        | Slash::Request => {}
    }
    Ok(false)
}

fn copy(ui: &Ui, messages: &[Message]) {
    let Some(reply) = messages::last_reply(messages) else {
        return ui.status("There is no reply to copy.");
    };
    ui.status(&ui.copy(&reply, "the last reply", "/show prints it"));
}

fn show_permissions(app: &App) -> Result<(), CliError> {
    let ui = &app.ui;
    let store = app.host()?.permissions();
    let (modes, stored, session) = (store.tool_modes(), store.list()?, store.session_answers());
    let heading = |text: &str| ui.status(&ui.status_styles().paint(Label::Quiet, text));
    let mode = app.mode.get();
    let is_usual = mode == SessionMode::default();
    if modes.is_empty() && stored.is_empty() && session.is_empty() && is_usual {
        ui.status("Nothing is stored or answered for this session.");
    }
    if !modes.is_empty() {
        heading("tools, until the session ends (/tools NAME prompt takes it back):");
        for (tool, mode) in &modes {
            ui.data(&format!("{:<6}  {}", mode.as_str(), escape(tool)));
        }
    }
    if !is_usual {
        heading("mode, until the session ends (Shift-Tab and /mode change it):");
        ui.data(&format!("{mode}  {}", modes::about(mode)));
    }
    if !session.is_empty() {
        heading("answers, until the session ends (/permissions forget takes them back):");
        tools::print_stored(app, &session);
    }
    if !stored.is_empty() {
        heading("stored, in all projects (dunlin permissions ask takes one back):");
        tools::print_stored(app, &stored);
    }
    heading(
        "everything else: reading inside the project is allowed, secrets excepted; the rest asks",
    );
    Ok(())
}

/// A key as it is, which may be quoted as for a shell.
fn unquoted(key: &str) -> Cow<'_, str> {
    let within = |quote| key.strip_prefix(quote)?.strip_suffix(quote);
    match (within('\''), within('"')) {
        (Some(key), _) => Cow::Owned(key.replace(r"'\''", "'")),
        (None, Some(key)) => Cow::Borrowed(key),
        (None, None) => Cow::Borrowed(key),
    }
}

/// Takes back answers of the session.
fn forget_answers(app: &App, typed: &str) -> Result<bool, CliError> {
    let ui = &app.ui;
    let rest = typed.strip_prefix("forget");
    let is_word = |rest: &&str| rest.is_empty() || rest.starts_with(char::is_whitespace);
    let Some(key) = rest.filter(is_word) else {
        ui.status("Usage: /permissions, /permissions forget, or /permissions forget KEY");
        return Ok(false);
    };
    let key = unquoted(key.trim());
    let key = Some(&*key).filter(|key| !key.is_empty());
    let count = app.host()?.permissions().forget_answers(key);
    ui.status(&match (count, key) {
        (0, Some(_)) => {
            "No answer of this session has this key; /permissions lists them.".to_owned()
        }
        (0, None) => "There is no answer of this session to forget.".to_owned(),
        (1, _) => "Forgot 1 answer of this session.".to_owned(),
        (count, _) => format!("Forgot {count} answers of this session."),
    });
    Ok(count > 0)
}

/// What is forgotten is not erased, and whoever wants that should know how.
fn say_what_stays(ui: &Ui, dialogue: Option<&Dialogue>) {
    let session = dialogue.and_then(Dialogue::session);
    if let Some(session) = session.filter(|session| session.exists()) {
        let note = format!(
            "the file of the session still has it: {}",
            own_command(&["sessions", "delete", &session.id()])
        );
        ui.status(&ui.status_styles().paint(Label::Quiet, &note));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_may_be_quoted() {
        assert_eq!(unquoted("$ /usr/bin/git"), "$ /usr/bin/git");
        assert_eq!(unquoted("'$ /usr/bin/git'"), "$ /usr/bin/git");
        assert_eq!(unquoted("\"a b\""), "a b");
        assert_eq!(unquoted(r"'it'\''s'"), "it's");
        assert_eq!(unquoted("'"), "'");
    }

    #[test]
    fn words_that_mean_nothing_are_refused() {
        let check = |slash, rest: &str, expected: Option<&str>| {
            assert_eq!(
                surplus(slash, rest).as_deref(),
                expected,
                "{slash:?} {rest:?}"
            );
        };
        check(Slash::Retry, "", None);
        check(Slash::Retry, "x", Some("/retry takes no arguments."));
        check(Slash::Exit, "now", Some("/exit takes no arguments."));
        check(Slash::History, "all", None);
        check(Slash::History, "foo", Some("Usage: /history [all]"));
        check(Slash::Tools, "read_file sometimes", None);
    }
}
