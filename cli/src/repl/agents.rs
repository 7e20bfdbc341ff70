//! `/agents`: the subagents of the session, what they have done, and how to end one.

use std::sync::Arc;

use dunlin_chat::agent::RUN_SUBAGENT;
use dunlin_chat::message::{Message, Role};
use dunlin_chat::request::context_budget::Occasion;
use dunlin_chat::request::report::MESSAGES;
use dunlin_chat::request::{ContextBudget, HistoryLimits};
use dunlin_chat::session::Store;
use dunlin_host::display::{grouped, one_line};
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::keyboard::RunningCommands;
use dunlin_terminal::ui::style::Label;
use serde_json::Value;

use super::messages::foreign;
use crate::app::App;
use crate::subagents::rows::{end_in_words, figures};
use crate::subagents::{MAX_LISTED, Roster, Subagent};

/// How it is used.
const USAGE: &str = "Usage: /agents, /agents N, /agents stop N, with the number of a subagent.";

/// The command.
const COMMAND: &str = "/agents";

/// What ends one.
const STOP: &str = "stop";

/// Does `/agents` with what was typed after it.
pub fn run(app: &App, typed: &str) {
    let ui = &app.ui;
    let words: Vec<&str> = typed.split_whitespace().collect();
    let limits = app.settings.history_limits();
    match words.as_slice() {
        [] => ui.data_all(&list(&app.subagents, &stored(app), limits, ui.window())),
        [STOP, number] => ui.status(&stop(&app.subagents, number)),
        [number] => match number.parse().ok().and_then(|it| app.subagents.find(it)) {
            Some(subagent) => ui.data_all(&whole(&subagent, limits, ui.window())),
            None => ui.data_all(&earlier(app, number)),
        },
        _ => ui.status(USAGE),
    }
}

/// Shows what the subagent said that a call has run, below the call.
pub fn expand(app: &App, typed: &str) {
    let number = typed.split_whitespace().find_map(|word| word.parse().ok());
    let call = app.calls.find(number);
    let call = call.filter(|call| call.tool == RUN_SUBAGENT);
    if let Some(subagent) = call.and_then(|call| app.subagents.of_call(&call.id)) {
        let limits = app.settings.history_limits();
        app.ui.data_all(&whole(&subagent, limits, app.ui.window()));
    }
}

/// Ends one while the turn runs.
pub struct StopWhileRunning {
    /// The subagents.
    pub roster: Arc<Roster>,
    /// Says what was done.
    pub ui: Arc<Ui>,
}

impl RunningCommands for StopWhileRunning {
    fn takes(&self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        let is_it = (words.next(), words.next()) == (Some(COMMAND), Some(STOP));
        // Without subagents it may be a message.
        is_it && self.roster.of_turn().iter().any(|it| !it.has_ended())
    }

    fn run(&self, line: &str) {
        let number = line.split_whitespace().nth(2).unwrap_or_default();
        self.ui.status(&format!("  {}", stop(&self.roster, number)));
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

/// The subagents of the session that were begun before this process had it.
fn stored(app: &App) -> Vec<(u64, String)> {
    let store = app.store().of_subagents(&app.session_id());
    let known = app.subagents.all();
    let known = |number: &u64| known.iter().any(|it| it.number == *number);
    let mut stored: Vec<(u64, String)> = store
        .list(true, MAX_LISTED)
        .into_iter()
        .filter_map(|it| Some((it.id.parse().ok()?, format!("{} · {}", it.agent, it.title))))
        .filter(|(number, _)| !known(number))
        .collect();
    stored.sort_unstable();
    stored
}

/// A conversation that was begun before this process had the session.
fn earlier(app: &App, number: &str) -> Vec<String> {
    let store: Store = app.store().of_subagents(&app.session_id());
    let loaded = number.parse::<u64>().ok().and_then(|number| {
        let entry = store.entry(&number.to_string());
        entry.load().ok()
    });
    match loaded {
        Some(loaded) => conversation(&loaded.messages, app.ui.window()),
        None => vec![match number.parse::<u64>() {
            Ok(_) => format!("There is no subagent {number}; /agents lists them."),
            Err(_) => USAGE.to_owned(),
        }],
    }
}

fn list(
    roster: &Roster,
    stored: &[(u64, String)],
    limits: HistoryLimits,
    window: Window,
) -> Vec<String> {
    let all = roster.all();
    if all.is_empty() && stored.is_empty() {
        return vec![
            "There was no subagent yet. The model starts them with run_subagent.".to_owned(),
        ];
    }
    let columns = window.columns.saturating_sub(1);
    let mut rows: Vec<String> = stored
        .iter()
        .map(|(number, title)| fit(&format!("  {number} {}", one_line(title)), columns))
        .collect();
    for subagent in all {
        rows.extend(heading(&subagent, window));
        rows.extend(sections(&subagent, limits, window));
    }
    rows
}

/// Who it is, how it is doing, and what it was told.
fn heading(subagent: &Subagent, window: Window) -> Vec<String> {
    let styles = window.styles;
    let columns = window.columns.saturating_sub(1);
    let live = subagent.live();
    let state = match (&live.end, live.begun) {
        (Some(end), _) => end_in_words(end),
        (None, _) => live.activity.clone(),
    };
    let state = match state.is_empty() {
        true => String::new(),
        false => format!(" · {}", one_line(&state)),
    };
    let (mark, label) = match &live.end {
        None => ("…", Label::Quiet),
        Some(end) if end_in_words(end).is_empty() => ("✓", Label::Good),
        Some(_) => ("–", Label::Quiet),
    };
    let head = format!("{}{state} · {}", one_line(&subagent.name), figures(&live));
    let head = fit(&head, columns.saturating_sub(4));
    vec![
        format!("  {} {head}", styles.paint(label, mark)),
        styles.paint(
            Label::Quiet,
            &fit(&format!("    {}", one_line(&subagent.task)), columns),
        ),
    ]
}

/// What its requests consist of.
fn sections(subagent: &Subagent, limits: HistoryLimits, window: Window) -> Option<String> {
    let live = subagent.live();
    let dialect = subagent.provider.dialect();
    let occasion = Occasion {
        agent: &subagent.agent,
        tools: &subagent.tools,
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

/// Everything about one.
pub fn whole(subagent: &Subagent, limits: HistoryLimits, window: Window) -> Vec<String> {
    let mut rows = heading(subagent, window);
    rows.extend(sections(subagent, limits, window));
    rows.extend(conversation(&subagent.live().messages, window));
    rows
}

fn conversation(messages: &[Message], window: Window) -> Vec<String> {
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
            rows.extend(foreign(&message.content, window));
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
