//! `/agents`: the subagents of the session, what they have done, and how to end one.

use std::sync::Arc;

use dunlin_chat::agent::RUN_SUBAGENT;
use dunlin_chat::message::{Message, Role};
use dunlin_chat::request::context_budget::Occasion;
use dunlin_chat::request::report::MESSAGES;
use dunlin_chat::request::{ContextBudget, HistoryLimits};
use dunlin_chat::session::Store;
use dunlin_chat::tokens::counted;
use dunlin_chat::turn::CallRecord;
use dunlin_host::display::{chain, grouped, one_line};
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::style::Label;
use serde_json::Value;

use super::expand::folded;
use super::messages::foreign;
use crate::app::App;
use crate::subagents::{Roster, Subagent, stored};

/// How it is used.
const USAGE: &str =
    "Usage: /agents, /agents N [all], /agents stop N, with the number of a subagent.";

/// The command.
const COMMAND: &str = "/agents";

/// What ends one.
const STOP: &str = "stop";

/// What shows long messages whole.
const ALL: &str = "all";

/// Does `/agents` with what was typed after it.
pub fn run(app: &App, typed: &str) {
    let ui = &app.ui;
    let words: Vec<&str> = typed.split_whitespace().collect();
    let limits = app.settings.history_limits();
    match words.as_slice() {
        [] => {
            ui.data_all(&list(&app.subagents, limits, ui.window()));
            startable(app);
        }
        [STOP, number] => ui.status(&stop(&app.subagents, number)),
        [number, rest @ ..] if matches!(rest, [] | [ALL]) => {
            let number: Option<u64> = number.parse().ok();
            match number.and_then(|number| find(app, number)) {
                Some(subagent) => {
                    ui.data_all(&whole(&subagent, !rest.is_empty(), limits, ui.window()));
                }
                None => ui.status(&match number {
                    Some(number) => format!("There is no subagent {number}; /agents lists them."),
                    None => USAGE.to_owned(),
                }),
            }
        }
        _ => ui.status(USAGE),
    }
}

/// The subagent with this number, also one that is not listed any more.
fn find(app: &App, number: u64) -> Option<Arc<Subagent>> {
    let known = app.subagents.find(number);
    known.or_else(|| stored::find(&sessions(app), number).map(Arc::new))
}

/// Where the sessions of subagents are.
fn sessions(app: &App) -> Store {
    app.store().of_subagents(&app.session_id())
}

/// The subagent that a call has run, also one that is not listed any more.
pub fn of_call(app: &App, call: &CallRecord) -> Option<Arc<Subagent>> {
    if call.tool != RUN_SUBAGENT {
        return None;
    }
    let known = app.subagents.of_call(&call.id);
    known.or_else(|| stored::of_call(&sessions(app), &call.id).map(Arc::new))
}

/// The numbers of the calls that the subagent of a call has made.
pub fn calls_of(app: &App, call: &CallRecord) -> Vec<usize> {
    let messages = of_call(app, call).and_then(|it| it.messages().ok());
    let messages = messages.iter().flat_map(|it| it.iter());
    let calls = messages.flat_map(|message| &message.tool_calls);
    calls.map(|call| call.number).collect()
}

/// Shows what the subagent said that a call has run, below the call.
pub fn expand(app: &App, typed: &str) {
    let number = typed.split_whitespace().find_map(|word| word.parse().ok());
    let call = app.calls.find(number);
    let call = call.filter(|call| call.tool == RUN_SUBAGENT);
    let Some(call) = call else { return };
    let all = typed.split_whitespace().any(|word| word == ALL);
    match of_call(app, &call) {
        Some(subagent) => {
            let limits = app.settings.history_limits();
            let rows = whole(&subagent, all, limits, app.ui.window());
            app.ui.data_all(&rows);
        }
        None => app
            .ui
            .status("  No conversation of a subagent is stored for this call."),
    }
}

/// Lists, shows and ends subagents while the turn runs.
pub struct AgentsWhileRunning {
    /// The subagents.
    pub roster: Arc<Roster>,
    /// Says what was done.
    pub ui: Arc<Ui>,
    /// What requests may carry.
    pub limits: HistoryLimits,
}

impl AgentsWhileRunning {
    /// Whether the line is about a subagent that runs.
    pub fn takes(&self, line: &str) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_number = |word: &str| word.parse::<u64>().is_ok();
        // Anything else may be a message that begins with the word.
        let is_it = match words.as_slice() {
            [COMMAND] => true,
            [COMMAND, number] | [COMMAND, STOP, number] | [COMMAND, number, ALL] => {
                is_number(number)
            }
            _ => false,
        };
        is_it && self.roster.of_turn().iter().any(|it| !it.has_ended())
    }

    /// Does what it says.
    pub fn run(&self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let window = self.ui.window();
        let rows = match words.as_slice() {
            [] => list(&self.roster, self.limits, window),
            [STOP, number] => vec![format!("  {}", stop(&self.roster, number))],
            [number, rest @ ..] => match number.parse().ok().and_then(|it| self.roster.find(it)) {
                Some(subagent) => whole(&subagent, !rest.is_empty(), self.limits, window),
                None => vec![format!("  {USAGE}")],
            },
        };
        rows.iter().for_each(|row| self.ui.interject(row));
    }
}

/// Ends one; what to say about it.
pub fn stop(roster: &Roster, number: &str) -> String {
    match number.parse().map(|number| roster.stop(number)) {
        Ok(Ok(subagent)) => format!(
            "Subagent {} is stopped; the model gets what it has said so far.",
            subagent.number
        ),
        Ok(Err(error)) => {
            let text = error.to_string();
            format!("{}{}.", text[..1].to_uppercase(), &text[1..])
        }
        Err(_) => USAGE.to_owned(),
    }
}

fn list(roster: &Roster, limits: HistoryLimits, window: Window) -> Vec<String> {
    let all = roster.all();
    if all.is_empty() {
        return vec![
            "There was no subagent yet. The model starts them with run_subagent.".to_owned(),
        ];
    }
    let mut rows = Vec::new();
    for subagent in all {
        rows.extend(heading(&subagent, window));
        rows.extend(sections(&subagent, limits, window));
    }
    rows
}

/// Which agents can be started, and where it is said what is wrong with others.
fn startable(app: &App) {
    let ui = &app.ui;
    let names = app
        .settings
        .subagents()
        .into_iter()
        .map(|it| one_line(&it.name));
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        let text = format!("  The model can start: {}", names.join(", "));
        ui.status(&ui.status_styles().paint(Label::Quiet, &text));
    }
    let notices = app.settings.agent_files().notices.len();
    if notices > 0 {
        let notes = counted(notices, "note", "notes");
        let text = format!("  {notes} on agent files: dunlin config check");
        ui.status(&ui.status_styles().paint(Label::Quiet, &text));
    }
}

/// Who it is, how it is doing, and what it was told.
fn heading(subagent: &Subagent, window: Window) -> Vec<String> {
    let styles = window.styles;
    let columns = window.columns.saturating_sub(1);
    let row = subagent.row();
    let state = match row.state.is_empty() {
        true => String::new(),
        false => format!(" · {}", one_line(&row.state)),
    };
    let (mark, label) = row.status.mark();
    let figures = match row.figures() {
        figures if figures.is_empty() => String::new(),
        figures => format!(" · {figures}"),
    };
    let head = format!("{}{state}{figures}", one_line(&row.name));
    let head = fit(&head, columns.saturating_sub(4));
    vec![
        format!("  {} {head}", styles.paint(label, mark)),
        styles.paint(
            Label::Quiet,
            &fit(&format!("    {}", one_line(&subagent.task)), columns),
        ),
    ]
}

/// What its requests consist of, where this process has composed them.
fn sections(subagent: &Subagent, limits: HistoryLimits, window: Window) -> Option<String> {
    let (means, live) = (subagent.means()?, subagent.live());
    let dialect = means.provider.dialect();
    let occasion = Occasion {
        agent: &means.agent,
        tools: &means.tools,
        dialect: dialect.as_ref(),
        limits,
    };
    let report = ContextBudget::new().report(&live.messages, occasion);
    let parts = report.parts.iter().filter(|part| part.tokens > 0);
    let parts: Vec<String> = parts
        .map(|part| match part.name {
            // Nobody else has said anything to it.
            MESSAGES => format!("task {}", grouped(part.tokens)),
            name => format!("{name} {}", grouped(part.tokens)),
        })
        .collect();
    let row = fit(
        &format!("    {}", parts.join(" · ")),
        window.columns.saturating_sub(1),
    );
    (!parts.is_empty()).then(|| window.styles.paint(Label::Quiet, &row))
}

/// Everything about one; `all`: also of long messages.
fn whole(subagent: &Subagent, all: bool, limits: HistoryLimits, window: Window) -> Vec<String> {
    let mut rows = heading(subagent, window);
    rows.extend(sections(subagent, limits, window));
    match subagent.messages() {
        Ok(messages) => {
            let command = format!("{COMMAND} {} {ALL}", subagent.number);
            let command = (!all).then_some(command.as_str());
            rows.extend(conversation(&messages, command, window));
        }
        Err(error) => rows.extend(foreign(&chain(&error), window)),
    }
    rows
}

/// What was said. `command` shows long messages whole; without it they are.
fn conversation(messages: &[Message], command: Option<&str>, window: Window) -> Vec<String> {
    let styles = window.styles;
    let mut rows = Vec::new();
    for message in messages {
        let who = match message.role {
            Role::System => "system",
            Role::User => "task",
            Role::Assistant => "subagent",
            Role::Tool => "result",
        };
        if !message.content.trim().is_empty() {
            rows.push(format!("  {}", styles.paint(Label::Quiet, who)));
            let whole = foreign(&message.content, window);
            rows.extend(match command {
                Some(command) => folded(whole, command, styles),
                None => whole,
            });
        }
        for call in &message.tool_calls {
            let arguments = Value::Object(call.arguments.clone()).to_string();
            let head = format!("  {} {} ", call.number, one_line(&call.name));
            let room = window.columns.saturating_sub(head.chars().count() + 1);
            rows.push(format!(
                "{}{}",
                styles.paint(Label::Name, &head),
                styles.paint(Label::Quiet, &fit(&one_line(&arguments), room))
            ));
        }
    }
    rows
}
