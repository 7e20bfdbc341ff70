//! The command that sends a request without Dunlin. A key is a shell variable, never a key.

use crate::app::App;
use crate::error::CliError;
use crate::provider::address;
use dunlin_chat::provider::error::Endpoint;
use dunlin_chat::session::requests::{LoggedRequest, RequestEntry};
use dunlin_provider::anthropic;
use dunlin_provider::protocol::{BEARER, Headers};
use url::Url;

/// What holds the key where the configuration names no variable.
const KEY_VARIABLE: &str = "DUNLIN_KEY";

/// A command, and what is to be said about it.
pub struct Command {
    /// The command, as a POSIX shell reads it.
    pub text: String,
    /// What the user has to do before it works.
    pub notes: Vec<String>,
}

/// It went to no server: the model ran in Dunlin itself, or the log names something else.
#[derive(Debug, thiserror::Error)]
#[error("request {0} went to no HTTP address, so curl cannot send it")]
struct NoAddress(u64);

/// The command for a request with this body.
///
/// # Errors
/// It went to no server.
pub fn of(app: &App, request: &LoggedRequest, body: &[u8]) -> Result<Command, CliError> {
    let entry = &request.entry;
    let url = url(entry).ok_or_else(|| CliError::usage(NoAddress(entry.number)))?;
    let mut notes = Vec::new();
    let settings = &app.settings;
    let agent = settings.agents.get(&entry.agent);
    let key = agent.and_then(|agent| agent.value.options.api_key.as_deref());
    if agent.is_none() {
        let name = dunlin_host::display::escape(&entry.agent);
        notes.push(format!(
            "The configuration has no agent {name:?} any more: add the header with the key if the server wants one."
        ));
    }
    // The log may name any address, and a project's file may have sent the agent elsewhere.
    let now = agent.and_then(|agent| {
        address(
            agent.value.options.api.unwrap_or_default(),
            &agent.value.base_url,
        )
    });
    let is_now = now.is_some_and(|now| now == Endpoint::of(&url));
    let key = key.filter(|name| {
        let sends = is_now && settings.sends_key_to(name, &url);
        if !sends {
            notes.push(format!(
                "The key {name:?} is left out: your configuration does not send it to this address."
            ));
        }
        sends
    });
    let key = key.map(|name| {
        let place = settings.keys.get(name);
        let variable = place.and_then(|place| place.value.env.as_deref());
        // It is quoted, and an unusual name would end the quotes.
        let is_name = |name: &&str| {
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !name.starts_with(|c: char| c.is_ascii_digit())
        };
        variable.filter(is_name).unwrap_or_else(|| {
            notes.push(format!("Set {KEY_VARIABLE} to the key {name:?} first."));
            KEY_VARIABLE
        })
    });
    let mut text = format!(
        "printf %s {} | curl --no-buffer --globoff {}",
        quoted(&String::from_utf8_lossy(body)),
        quoted(url.as_str()),
    );
    for (name, value) in headers(&url) {
        text += &format!(" \\\n  -H '{name}: {value}'");
    }
    if let Some(variable) = key {
        let Headers {
            key, before_key, ..
        } = protocol(&url);
        text += &format!(" \\\n  -H \"{key}: {before_key}${variable}\"");
    }
    text += " \\\n  --data-binary @-";
    Ok(Command { text, notes })
}

/// Where a request went. `None`: to no HTTP address, as one to a model in Dunlin itself.
pub fn url(entry: &RequestEntry) -> Option<Url> {
    let url: Url = entry.endpoint.parse().ok()?;
    Some(url).filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// The headers that a request to this address has, but for the one with the key.
pub fn headers(url: &Url) -> Vec<(&'static str, &'static str)> {
    let accept = match url.path().ends_with("/api/chat") {
        true => "application/x-ndjson",
        false => "text/event-stream",
    };
    let mut headers = vec![("content-type", "application/json"), ("accept", accept)];
    headers.extend(protocol(url).others);
    headers
}

/// What the protocol adds. The log has the address alone, and each protocol has a path of its own.
fn protocol(url: &Url) -> Headers {
    match url.path().ends_with("/v1/messages") {
        true => anthropic::PROTOCOL.headers(),
        false => BEARER,
    }
}

/// A word for a POSIX shell. `printf` is part of the shell, so the word may be longer than an argument of a program.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_closed_around_a_quote() {
        assert_eq!(quoted("it's $HOME `x` \\ \n"), "'it'\\''s $HOME `x` \\ \n'");
    }
}
