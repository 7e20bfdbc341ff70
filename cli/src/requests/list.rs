//! `dunlin requests list`.

use std::path::Path;

use dunlin_host::display::{chain, escape, one_line};
use jiff::Timestamp;

use super::about::{About, ending, number_of_edits, size};
use super::log::Log;
use crate::age::ago;
use crate::app::App;
use crate::error::CliError;
use dunlin_chat::session::requests::{Kind, LoggedRequest, RequestFile};
use dunlin_terminal::inspector::Logged;
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::style::Label;

/// How many requests the log of the inspector lists.
const MAX_SUMMARIES: usize = 1000;

/// How many columns a number takes.
const NUMBER_COLUMNS: usize = 4;

/// Prints the requests of a session.
pub fn run(app: &App, log: &Log, lines: usize, is_json: bool) -> Result<(), CliError> {
    let ui = &app.ui;
    let all = log.file.requests();
    let left_out = match lines {
        0 => 0,
        lines => all.len().saturating_sub(lines),
    };
    let shown = all.get(left_out..).unwrap_or_default();
    if is_json {
        let about = |request| About::of(&log.entry.id, &log.file, request);
        let all: Vec<About<'_>> = shown.iter().map(about).collect();
        return app.print_json(&all);
    }
    let id = escape(&log.entry.id);
    match all.is_empty() {
        true => ui.status(&format!("No request of session {id} was logged.")),
        false => ui.status(&format!("Requests of session {id}:")),
    }
    if let Some(before) = log.before(app) {
        ui.status(&ui.status_styles().paint(Label::Quiet, &before));
    }
    rows(app, &log.file, shown);
    if left_out > 0 {
        let note = format!("These are the newest {lines}; -n 0 lists all.");
        ui.status(&ui.status_styles().paint(Label::Quiet, &note));
    }
    Ok(())
}

/// Prints a row for each of these requests.
pub fn rows(app: &App, file: &RequestFile, requests: &[LoggedRequest]) {
    let ui = &app.ui;
    let now = Timestamp::now();
    // A pipe has no edge.
    let columns = match ui.streams().output {
        true => ui.window().columns,
        false => usize::MAX,
    };
    for request in requests {
        let number = format!("{:>NUMBER_COLUMNS$}", request.entry.number);
        let room = columns.saturating_sub(number.len() + 2);
        let about = fit(&about(file, request, now), room);
        ui.data(&format!(
            "{}  {about}",
            ui.styles().paint(Label::Key, &number)
        ));
    }
}

/// The newest requests in a session file, the newest first. `None`: there is no file yet.
pub fn summaries(path: Option<&Path>) -> Vec<Logged> {
    let mut rows = match path.map(RequestFile::read) {
        None => Vec::new(),
        Some(Err(error)) => vec![only_said(chain(&error))],
        Some(Ok(file)) => {
            let requests = file.requests().iter().rev().take(MAX_SUMMARIES);
            requests.map(|request| summary(&file, request)).collect()
        }
    };
    if rows.is_empty() {
        let nothing = "Nothing was sent in this session yet.";
        rows.push(only_said(nothing.to_owned()));
    }
    rows
}

/// A row that is about no request.
fn only_said(about: String) -> Logged {
    Logged {
        number: None,
        about,
    }
}

/// The number of a request, and what is known of it, in one row.
fn summary(file: &RequestFile, request: &LoggedRequest) -> Logged {
    let number = request.entry.number;
    let about = about(file, request, Timestamp::now());
    Logged {
        number: Some(number),
        about: format!("{number:>NUMBER_COLUMNS$}  {about}"),
    }
}

fn about(file: &RequestFile, request: &LoggedRequest, now: Timestamp) -> String {
    let entry = &request.entry;
    let mut parts = Vec::new();
    parts.extend(request.time.map(|time| ago(time, now)));
    parts.extend(entry.subagent.as_deref().map(one_line));
    if !matches!(entry.kind, Kind::Turn | Kind::Subagent) {
        parts.push(entry.kind.name().to_owned());
    }
    parts.push(one_line(&file.model(request)));
    parts.push(size(request));
    parts.extend(number_of_edits(request, file));
    parts.push(ending(request));
    parts.join(" · ")
}
