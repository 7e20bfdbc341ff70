//! The slash commands, and how they are run at the prompt and while something waits. `rows.rs` lists them.

mod rows;

use std::sync::LazyLock;

use async_trait::async_trait;
use dunlin_host::Tool;
use dunlin_host::display::own_command;

use super::leaving::{List, Paused, Refusal};
use super::{agents, apps, budget, expand, messages, undo};
pub use rows::GROUPS;

use crate::app::{App, Commands};
use crate::dialogue::{Dialogue, look_at_tools};
use crate::error::CliError;
use crate::prompt::slash_table::{Command, Leaves, SlashTable, Waits};
use crate::tools;
use dunlin_chat::agent::Agent;
use dunlin_chat::message::{Message, UserMessage};
use dunlin_chat::turn::CallRecord;
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

/// What a command that works at any time looks at.
pub struct Looking<'a> {
    app: &'a App,
    messages: &'a [Message],
    /// `None`: calls wait, and the conversation is the turn's.
    dialogue: Option<&'a Dialogue>,
    /// Those of the turn whose calls wait.
    tools: Option<&'a [Tool]>,
}

/// How a command is run.
enum Run {
    /// It only looks, at any time.
    Looks(fn(&Looking<'_>, &str) -> Result<(), CliError>),
    /// It decides something, at any time. The result says whether it changed what waiting calls depend on.
    Decides(fn(&Looking<'_>, &str) -> Result<bool, CliError>),
    /// It acts, at the prompt.
    Acts(fn(&App, &mut Option<Dialogue>, &str) -> Result<(), CliError>),
    /// It says what follows, at the prompt.
    Leads(fn(&App, &mut Option<Dialogue>, &str) -> Result<Next, CliError>),
}

/// A command.
pub struct Row {
    pub command: Command,
    run: Run,
    /// What is looked at before it leaves a paused request.
    refusal: Option<Refusal>,
    /// What it does in place of leaving if nothing is typed after it.
    list: Option<List>,
}

const fn row(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    waits: Waits,
    run: Run,
) -> Row {
    let command = Command {
        name,
        arguments,
        about,
        waits,
        leaves: Leaves::No,
        confirms: None,
        prints_own_words: false,
    };
    Row {
        command,
        run,
        refusal: None,
        list: None,
    }
}

const fn looks(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&Looking<'_>, &str) -> Result<(), CliError>,
) -> Row {
    row(name, arguments, about, Waits::No, Run::Looks(run))
}

const fn decides(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&Looking<'_>, &str) -> Result<bool, CliError>,
) -> Row {
    row(name, arguments, about, Waits::No, Run::Decides(run))
}

/// `why` it has to wait while calls wait.
const fn acts(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    why: &'static str,
    run: fn(&App, &mut Option<Dialogue>, &str) -> Result<(), CliError>,
) -> Row {
    row(name, arguments, about, Waits::Always(why), Run::Acts(run))
}

/// `why` it has to wait while calls wait.
const fn leads(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    why: &'static str,
    run: fn(&App, &mut Option<Dialogue>, &str) -> Result<Next, CliError>,
) -> Row {
    row(name, arguments, about, Waits::Always(why), Run::Leads(run))
}

impl Row {
    const fn arguments_wait(mut self, why: &'static str) -> Row {
        self.command.waits = Waits::WithArguments(why);
        self
    }

    const fn leaves(mut self, refusal: Refusal) -> Row {
        self.command.leaves = Leaves::Always;
        self.refusal = Some(refusal);
        self
    }

    const fn lists_or_leaves(mut self, list: List, refusal: Refusal) -> Row {
        self.command.leaves = Leaves::WithArguments;
        self.list = Some(list);
        self.refusal = Some(refusal);
        self
    }

    const fn confirms(mut self, question: &'static str) -> Row {
        self.command.confirms = Some(question);
        self
    }

    const fn own_words(mut self) -> Row {
        self.command.prints_own_words = true;
        self
    }
}

static COMMANDS: LazyLock<Vec<&'static Command>> =
    LazyLock::new(|| rows().map(|row| &row.command).collect());

fn rows() -> impl Iterator<Item = &'static Row> {
    GROUPS.iter().flat_map(|(_, rows)| rows.iter())
}

fn row_of(command: &Command) -> Option<&'static Row> {
    rows().find(|row| row.command.name == command.name)
}

/// The commands, for what understands and completes lines.
pub fn table() -> SlashTable {
    SlashTable(&COMMANDS)
}

/// Runs a command at the prompt.
///
/// # Errors
/// The command failed.
pub fn run(
    app: &App,
    dialogue: &mut Option<Dialogue>,
    command: &Command,
    rest: &str,
) -> Result<Next, CliError> {
    if let Some(surplus) = command.surplus(rest) {
        app.ui.status(&surplus);
        return Ok(Next::Prompt);
    }
    if let Some(question) = command.confirms {
        let asks = app.asks() && !app.pausing.is_agreed();
        if asks && !app.ui.confirms(question) {
            return Ok(Next::Prompt);
        }
    }
    let Some(row) = row_of(command) else {
        return Ok(Next::Prompt);
    };
    let looking = |dialogue| Looking {
        app,
        messages: Option::map_or(dialogue, &[][..], Dialogue::messages),
        dialogue,
        tools: None,
    };
    match row.run {
        Run::Looks(run) => run(&looking(dialogue.as_ref()), rest)?,
        Run::Decides(run) => {
            run(&looking(dialogue.as_ref()), rest)?;
        }
        Run::Acts(run) => run(app, dialogue, rest)?,
        Run::Leads(run) => return run(app, dialogue, rest),
    }
    Ok(Next::Prompt)
}

/// The slash commands.
pub struct SlashCommands;

#[async_trait(?Send)]
impl Commands for SlashCommands {
    fn table(&self) -> SlashTable {
        table()
    }

    fn while_waiting(
        &self,
        app: &App,
        messages: &[Message],
        tools: &[Tool],
        command: &Command,
        rest: &str,
    ) -> Result<bool, CliError> {
        if let Some(surplus) = command.surplus(rest) {
            app.ui.status(&format!("  {surplus}"));
            return Ok(false);
        }
        if let Some(why) = command.waits(rest) {
            let text = format!("  {} has to wait: {why}", command.name);
            app.ui.status(&text);
            return Ok(false);
        }
        let looking = Looking {
            app,
            messages,
            dialogue: None,
            tools: Some(tools),
        };
        match row_of(command).map(|row| &row.run) {
            Some(Run::Looks(run)) => run(&looking, rest).map(|()| false),
            Some(Run::Decides(run)) => run(&looking, rest),
            Some(Run::Acts(_) | Run::Leads(_)) | None => Ok(false),
        }
    }

    async fn refusal(
        &self,
        app: &App,
        agent: &Agent,
        messages: &[Message],
        (command, rest): (&Command, &str),
    ) -> Result<Option<String>, CliError> {
        if let Some(surplus) = command.surplus(rest) {
            return Ok(Some(surplus));
        }
        let paused = Paused {
            app,
            agent,
            messages,
        };
        match row_of(command).and_then(|row| row.refusal) {
            Some(refusal) => refusal(paused, rest).await,
            None => Ok(None),
        }
    }

    async fn list(&self, app: &App, agent: &Agent, command: &Command) -> Result<(), CliError> {
        let paused = Paused {
            app,
            agent,
            messages: &[],
        };
        match row_of(command).and_then(|row| row.list) {
            Some(list) => list(paused).await,
            None => Ok(()),
        }
    }
}

fn sent(text: Option<String>) -> Result<Next, CliError> {
    Ok(text.map_or(Next::Prompt, |text| Next::AsItIs(text.into())))
}

fn retry(app: &App, dialogue: &mut Option<Dialogue>) -> Next {
    if let Some(message) = dialogue.as_mut().and_then(Dialogue::take_back_turn) {
        return Next::AsItIs(message);
    }
    app.ui.status("There is no message to send again.");
    Next::Prompt
}

fn undo(app: &App, dialogue: &mut Option<Dialogue>) -> Result<(), CliError> {
    if apps::undo(app, dialogue.as_mut())? {
        return Ok(());
    }
    let undone = undo::last(app)?;
    if let Some(dialogue) = dialogue {
        dialogue.note_undone(undone);
    }
    Ok(())
}

fn clear(app: &App, dialogue: &mut Option<Dialogue>) {
    if let Some(dialogue) = dialogue.as_mut() {
        dialogue.clear();
    }
    let ui = &app.ui;
    ui.status("The conversation is empty.");
    // What is forgotten is not erased, and whoever wants that should know how.
    let session = dialogue.as_ref().and_then(Dialogue::session);
    if let Some(session) = session.filter(|session| session.exists()) {
        let note = format!(
            "The session file still contains it; {} deletes it.",
            own_command(&["sessions", "delete", &session.id()])
        );
        ui.status(&ui.status_styles().paint(Label::Quiet, &note));
    }
}

fn tools(looking: &Looking<'_>, rest: &str) -> Result<bool, CliError> {
    let app = looking.app;
    let found;
    let tools = match looking.tools {
        Some(tools) => tools,
        None => {
            let mut tools = look_at_tools(app)?;
            tools.extend(app.host()?.joined());
            found = tools;
            &found
        }
    };
    match rest {
        "" => tools::print(app, tools).map(|()| false),
        _ => tools::set_mode(app, tools, rest),
    }
}

fn history(looking: &Looking<'_>, rest: &str) {
    let (app, ui) = (looking.app, &looking.app.ui);
    let steps = ui.shows_steps();
    let is_all = rest == "all";
    let rows = messages::history(looking.messages, &app.calls, is_all, steps, ui.window());
    ui.data_all(&rows);
    budget::not_sent_of(app, looking.dialogue);
}

fn show(looking: &Looking<'_>, rest: &str) {
    let (app, ui) = (looking.app, &looking.app.ui);
    match messages::show(looking.messages, &app.calls, rest, ui.window()) {
        Some(rows) => ui.data_all(&rows),
        None if rest.is_empty() => ui.status("Nothing was said yet."),
        None => ui.status(
            "Nothing has this number. /show 2 shows call 2, /show m2 the second message; /history lists both.",
        ),
    }
}

fn expand_call(app: &App, rest: &str) {
    let rows = expand::rows(&app.calls, rest, app.ui.window());
    app.ui.data_all(&rows);
    agents::expand(app, rest);
}

fn diff(app: &App, rest: &str) {
    let within = |call: &CallRecord| agents::calls_of(app, call);
    let place = (app.settings.project.as_path(), app.ui.window());
    let rows = expand::edits(&app.calls, rest, within, place);
    app.ui.data_all(&rows);
}

fn copy(looking: &Looking<'_>) {
    let ui = &looking.app.ui;
    match messages::last_reply(looking.messages) {
        Some(reply) => ui.status(&ui.copy(&reply, "the last reply", "/show prints it")),
        None => ui.status("There is no reply to copy."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_mean_nothing_are_refused() {
        let check = |name, rest: &str, expected: Option<&str>| {
            let surplus = table().find(name).unwrap().surplus(rest);
            assert_eq!(surplus.as_deref(), expected, "{name:?} {rest:?}");
        };
        check("/retry", "", None);
        check("/retry", "x", Some("/retry takes no arguments."));
        check("/quit", "now", Some("/exit takes no arguments."));
        check("/history", "all", None);
        check("/history", "foo", Some("Usage: /history [all]"));
        check("/tools", "read_file sometimes", None);
    }

    #[test]
    fn each_name_is_one_command() {
        let mut names: Vec<_> = table().names().collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }
}
