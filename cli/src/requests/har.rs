//! A request as an entry of an HTTP Archive (HAR 1.2), which browsers and proxies read.
//!
//! The log has what Dunlin sent and understood, not the connection. What the format wants beyond that is written as its
//! specification says for what is not known: -1 for sizes and times. Headers are those that every request has; the one
//! with the key is not among them, because the log holds no key.

use std::string::FromUtf8Error;

use dunlin_host::json;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::about::About;
use super::curl;
use super::log::Log;
use dunlin_chat::provider::error::Endpoint;
use dunlin_chat::session::requests::{Ending, LogError, LoggedRequest};

/// What stands before the entries.
pub fn beginning() -> String {
    let creator = json!({ "name": "Dunlin", "version": env!("CARGO_PKG_VERSION") });
    format!(r#"{{"log":{{"version":"1.2","creator":{creator},"entries":["#)
}

/// What stands behind them.
pub const END: &str = "]}}";

/// Why a body cannot be restored as text.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// The log does not give it.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It is none.
    #[error(transparent)]
    Text(#[from] FromUtf8Error),
    /// Those before it came to too much.
    #[error(
        "left out: the bodies before it have {0} GiB together; dunlin requests show prints one"
    )]
    TooMuch(usize),
}

/// The entry of a request with this body. `None`: it went to no server, and the format describes HTTP only.
pub fn entry(
    log: &Log,
    request: &LoggedRequest,
    body: Result<String, Damage>,
) -> Option<serde_json::Result<Value>> {
    let url = curl::url(&request.entry)?;
    // Dunlin logs no other address, but the file may be somebody else's.
    let address = Endpoint::of(&url).to_string();
    let answer = request.answer.as_ref();
    // A session file may hold any number.
    let total = answer.map_or(0.0, |answer| answer.total_ms.max(0.0));
    let first = answer.and_then(|answer| answer.first_event_ms);
    let wait = first.map_or(total, |first| first.clamp(0.0, total));
    let headers = curl::headers(&url).into_iter();
    let headers = headers.map(|(name, value)| json!({ "name": name, "value": value }));
    let headers: Vec<Value> = headers.collect();
    let mut sent = json!({
        "method": "POST",
        "url": address,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": headers,
        "queryString": [],
        "headersSize": -1,
        "bodySize": request.entry.sent_body().bytes,
    });
    match body {
        Ok(text) => sent["postData"] = json!({ "mimeType": "application/json", "text": text }),
        Err(damage) => sent["comment"] = damage.to_string().into(),
    }
    let mut about = match serde_json::to_value(About::of(&log.entry.id, &log.file, request)) {
        Ok(about) => about,
        Err(error) => return Some(Err(error)),
    };
    about["endpoint"] = address.into();
    let response = response(log, request);
    Some(response.map(|response| {
        json!({
            "startedDateTime": request.time.unwrap_or(Timestamp::UNIX_EPOCH).to_string(),
            "time": total,
            "request": sent,
            "response": response,
            "cache": {},
            "timings": {
                "blocked": -1, "dns": -1, "connect": -1, "ssl": -1,
                "send": 0, "wait": wait, "receive": total - wait,
            },
            "_dunlin": about,
        })
    }))
}

/// What came back. The text is the reply as the log has it: the pieces in which it came are not kept.
fn response(log: &Log, request: &LoggedRequest) -> serde_json::Result<Value> {
    let answer = request.answer.as_ref();
    let has_begun = answer
        .is_some_and(|answer| answer.end == Ending::Answered || answer.first_event_ms.is_some());
    let status = answer.and_then(|answer| answer.status);
    // Browsers write 0 where no status has come.
    let status = status.unwrap_or(if has_begun { 200 } else { 0 });
    let reply = log.file.reply(request);
    let reply = reply.map(|reply| json::to_string(&reply)).transpose()?;
    // What a server refused a request with: proxies show the content, and not what stands beside it.
    let refused = answer.filter(|answer| answer.end == Ending::Refused && answer.status.is_some());
    let refused = refused.and_then(|answer| answer.error.as_deref());
    let content = match reply {
        Some(text) => json!({
            "size": text.len(),
            "mimeType": "application/json",
            "text": text,
            "comment": "the reply as Dunlin keeps it, not as it was streamed",
        }),
        None => match refused {
            Some(error) => json!({
                "size": error.len(),
                "mimeType": "text/plain",
                "text": error,
                "comment": "the error as Dunlin keeps it, not as the server wrote it",
            }),
            None => json!({ "size": 0, "mimeType": "x-unknown" }),
        },
    };
    Ok(json!({
        "status": status,
        "statusText": "",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": [],
        "content": content,
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1,
        "comment": super::about::ending(request),
    }))
}
