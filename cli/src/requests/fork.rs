//! `dunlin requests fork`: continues from a request, in a session of its own.

use super::log::Log;
use std::collections::HashMap;

use dunlin_host::display::{escape, own_command};

use serde_json::Value;

use crate::app::App;
use crate::error::CliError;
use crate::saved_edits;
use dunlin_chat::message::ToolCall;
use dunlin_chat::session::record::{CallEntry, Speaker};
use dunlin_chat::session::requests::Side;
use dunlin_chat::session::requests::history::History;
use dunlin_chat::session::{Loaded, Session, Store};
use dunlin_chat::tokens::counted;

/// A body that says nothing which a chat could continue.
#[derive(Debug, thiserror::Error)]
#[error("request {0} has no messages to continue from")]
pub struct NoMessages(pub u64);

/// What a body says.
///
/// # Errors
/// It has no messages.
pub fn history(number: u64, body: &[u8]) -> Result<History, CliError> {
    let body: Option<Value> = serde_json::from_slice(body).ok();
    let history = body.as_ref().and_then(History::of);
    let history = history.filter(|history| !history.messages.is_empty());
    history.ok_or_else(|| CliError::failed(NoMessages(number)))
}

/// Makes a session whose history is what a request sent.
///
/// # Errors
/// The request cannot be restored, or the session cannot be written.
pub fn fork(app: &App, log: &Log, number: u64) -> Result<Session, CliError> {
    let request = log.file.request(number)?;
    let mut messages = history(number, &log.file.body(number, Side::Sent)?)?.messages;
    let before = log.entry.load()?;
    // What became of the calls is in the session, not in the request.
    let calls = before
        .messages
        .iter()
        .flat_map(|message| &message.tool_calls);
    let numbers: HashMap<&str, usize> = calls.map(|call| (call.id.as_str(), call.number)).collect();
    let results: HashMap<String, String> = messages
        .iter()
        .filter_map(|message| Some((message.tool_call_id.clone()?, message.content.clone())))
        .collect();
    // An entry says what happened. Where the request says otherwise, it was edited, and the request counts.
    let is_as_sent = |entry: &CallEntry, call: &ToolCall| {
        let is_same_result = entry.result.as_ref() == results.get(&call.id);
        entry.parameters.as_object() == Some(&call.arguments) && is_same_result
    };
    let mut kept = Vec::new();
    for call in messages
        .iter_mut()
        .flat_map(|message| &mut message.tool_calls)
    {
        if let Some(number) = numbers.get(call.id.as_str()) {
            call.number = *number;
            let entry = before.calls.iter().find(|it| it.number == *number);
            kept.extend(entry.filter(|entry| is_as_sent(entry, call)).cloned());
        }
    }
    // A message that was edited is in the request as it was sent.
    let is_as_said: Vec<bool> = messages
        .iter()
        .zip(&before.messages)
        .map(|(sent, said)| sent.role == said.role && sent.content == said.content)
        .collect();
    let loaded = Loaded {
        title: before.title,
        named: before.named,
        speaker: Some(Speaker {
            agent: request.entry.agent.clone(),
            model: request.entry.model.clone(),
        }),
        messages,
        servers: before.servers,
        effort: before.effort,
        calls: kept,
        ..Loaded::default()
    };
    let copy = Session::fork(&app.store(), &Store::new_id(), &log.entry, &loaded)?;
    let left_out = saved_edits::copy(app, (&log.entry.id, &copy.id()), |edit| {
        edit.message()
            .is_none_or(|index| is_as_said.get(index) == Some(&true))
    });
    let left_out = left_out.map_err(CliError::failed)?;
    if left_out > 0 {
        let edits = counted(
            left_out,
            "saved edit of a message does",
            "saved edits of messages do",
        );
        app.ui.warn(&format!(
            "{edits} not hold in the copy, whose messages are those of the request"
        ));
    }
    Ok(copy)
}

/// Makes the session and says how it is continued.
pub fn run(app: &App, log: &Log, number: u64) -> Result<(), CliError> {
    let session = fork(app, log, number)?;
    let id = session.id();
    app.ui.data(&escape(&id));
    app.ui.status(&format!(
        "{} continues from request {number}.",
        own_command(&["--resume", &id])
    ));
    Ok(())
}
