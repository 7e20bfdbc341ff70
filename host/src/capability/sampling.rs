//! What a bridge does for its server besides carrying messages: tells it of folders, and asks the chat's model for it.
//!
//! A server gets nothing of the chat that way, and the model no tools: what it answers goes to the server and nowhere
//! else, so nothing can come of it that would ask again.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use url::Url;

use super::chat::Chat;
use super::context::View;
use super::refusal::{Refusal, host_failed};
use crate::ask::{Ask, Origin, Question, Scope};
use crate::audit::{Event, Record};
use crate::bindings::dunlin::tool::mcp;
use crate::bindings::dunlin::tool::types::Error;
use crate::call::Action;
use crate::display;
use crate::limits::{
    MAX_SAMPLING_BYTES, MAX_SAMPLING_LINES, MAX_SAMPLING_REQUESTS, MAX_SAMPLING_STOPS,
    MAX_SAMPLING_TOKENS, MODEL_TIME,
};
use crate::mcp::connection::Terms;
use crate::model::{Model, Role, SamplingMessage, SamplingRequest, StopReason};

/// Thousandths of the highest temperature that models take.
const MAX_TEMPERATURE: f64 = 2_000.0;

/// What the client offers to the server.
pub(super) fn capabilities(terms: &Terms) -> mcp::ClientCapabilities {
    let roots = terms.roots.iter().filter_map(|folder| {
        let name = folder.file_name().unwrap_or(folder.as_os_str());
        Some(mcp::Root {
            uri: Url::from_directory_path(folder).ok()?.to_string(),
            name: name.to_string_lossy().into_owned(),
        })
    });
    mcp::ClientCapabilities {
        sampling: terms.has_model,
        roots: roots.collect(),
    }
}

/// The model that can be asked through this, if somebody is there to agree to it.
pub(crate) fn model_of(ask: &dyn Ask) -> Option<Arc<dyn Model>> {
    ask.model().filter(|_| ask.is_attended())
}

impl View<'_, Chat> {
    /// Cancelled when nobody wants any more what a bridge was called for.
    pub(super) fn unwanted(&self) -> CancellationToken {
        let connection = self.own.connection.as_ref();
        connection.map_or_else(CancellationToken::new, |connection| connection.end.clone())
    }

    pub(super) async fn sample_for_server(
        &mut self,
        request: mcp::SamplingRequest,
    ) -> Result<mcp::SamplingResult, Refusal> {
        self.only_in_run()?;
        let terms = self
            .own
            .connection
            .as_ref()
            .map(|connection| connection.terms.clone());
        let ask = self.ask.clone();
        let model = ask.as_deref().and_then(model_of);
        let (Some(terms), Some(ask), Some(model)) = (terms, ask, model) else {
            return Err(
                Error::Unsupported("there is no model that could be asked now".into()).into(),
            );
        };
        let request = checked(request)?;
        if self.own.sampling_requests == MAX_SAMPLING_REQUESTS {
            return Err(Error::TooLarge(format!(
                "this call has asked {MAX_SAMPLING_REQUESTS} times already; no more are possible"
            ))
            .into());
        }
        self.own.sampling_requests += 1;
        let (allow, rule) = match terms.consent.get() {
            Some(allow) => (allow, "answered before, for this session".to_owned()),
            None => {
                self.ask_for_consent(&terms, ask, &request, &model.name())
                    .await?
            }
        };
        self.log_request(allow, &rule, &request, &model.name())?;
        if !allow {
            return Err(Error::Conflict("the user does not want it".into()).into());
        }
        if let Some(progress) = &self.progress {
            let text = format!("{} asks {}", terms.name, model.name());
            progress.progress(&self.caller.call, &display::escape(&text), None);
        }
        let answered = {
            let _paused = self.clock.pause();
            let asked = tokio::time::timeout(MODEL_TIME, model.answer(&request));
            let unwanted = self.unwanted();
            unwanted.run_until_cancelled(asked).await
        };
        let answer = answered
            .ok_or(Error::Cancelled)?
            .map_err(|_| Error::TimedOut("the model took too long".into()))?
            .map_err(|error| Error::Failed(display::chain(&*error)))?;
        Ok(mcp::SamplingResult {
            text: answer.text,
            model: model.name(),
            stop_reason: match answer.stop_reason {
                StopReason::EndTurn => mcp::StopReason::EndTurn,
                StopReason::MaxTokens => mcp::StopReason::MaxTokens,
                StopReason::StopSequence => mcp::StopReason::StopSequence,
            },
        })
    }

    /// Asks the user, and keeps an answer that holds for the session.
    async fn ask_for_consent(
        &mut self,
        terms: &Terms,
        ask: Arc<dyn Ask>,
        request: &SamplingRequest,
        model: &str,
    ) -> Result<(bool, String), Refusal> {
        let question = Question {
            call: self.caller.call.clone(),
            tool: self.caller.tool.clone(),
            arguments: self.caller.arguments.clone(),
            wording: format!(
                "Let the MCP server '{}' send this to {model} and read the answer? At most {} tokens",
                terms.name, request.max_tokens
            ),
            needs: Vec::new(),
            actions: vec![Action::Sampling(request.clone())],
            notices: Vec::new(),
            lasting: Vec::new(),
            longest: Scope::Session,
            origin: Origin::Server,
        };
        let answer = {
            let _paused = self.clock.pause();
            let unwanted = self.unwanted();
            unwanted.run_until_cancelled(ask.ask(question)).await
        };
        let answer = answer.ok_or(Error::Cancelled)?.at_most(Scope::Session);
        if answer.scope != Scope::Once {
            terms.consent.set(answer.allow);
        }
        Ok((answer.allow, answer.in_words()))
    }

    /// What cannot be logged does not happen.
    fn log_request(
        &self,
        allow: bool,
        rule: &str,
        request: &SamplingRequest,
        model: &str,
    ) -> Result<(), Refusal> {
        let event = match allow {
            true => Event::Used,
            false => Event::Denied,
        };
        let target = format!("model {model}");
        let record = Record {
            target: Some(&target),
            bytes: Some(request.bytes() as u64),
            ..self.record(event, None, Some(rule))
        };
        let logged = self.shared.audit.append(&[record]);
        logged.map_err(|e| host_failed(&e))
    }
}

/// A request that a person can read and a model can answer.
fn checked(request: mcp::SamplingRequest) -> Result<SamplingRequest, Error> {
    let messages = request.messages.into_iter().map(|message| SamplingMessage {
        role: match message.role {
            mcp::Role::User => Role::User,
            mcp::Role::Assistant => Role::Assistant,
        },
        text: message.text,
    });
    let temperature = request.temperature.filter(|it| it.is_finite());
    let request = SamplingRequest {
        system_prompt: request.system_prompt.filter(|text| !text.trim().is_empty()),
        messages: messages.collect(),
        max_tokens: request.max_tokens.min(MAX_SAMPLING_TOKENS),
        // In range by then.
        temperature_thousandths: temperature
            .map(|it| (it * 1_000.0).round().clamp(0.0, MAX_TEMPERATURE) as u32),
        stop_sequences: request
            .stop_sequences
            .into_iter()
            .filter(|stop| !stop.is_empty())
            .collect(),
    };
    if request
        .messages
        .iter()
        .all(|message| message.text.trim().is_empty())
    {
        return Err(Error::Invalid("the prompt is empty".into()));
    }
    if request.max_tokens == 0 {
        return Err(Error::Invalid("an answer needs at least one token".into()));
    }
    if request.stop_sequences.len() > MAX_SAMPLING_STOPS {
        return Err(Error::Invalid(format!(
            "there are {} texts that end the answer; at most {MAX_SAMPLING_STOPS} are possible",
            request.stop_sequences.len()
        )));
    }
    if request.bytes() > MAX_SAMPLING_BYTES || request.lines() > MAX_SAMPLING_LINES {
        return Err(Error::TooLarge(format!(
            "the prompt has {} bytes in {} lines; at most {MAX_SAMPLING_BYTES} in {MAX_SAMPLING_LINES} can be asked",
            request.bytes(),
            request.lines()
        )));
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn request(texts: &[&str]) -> mcp::SamplingRequest {
        mcp::SamplingRequest {
            system_prompt: Some(" ".to_owned()),
            messages: texts
                .iter()
                .map(|text| mcp::SamplingMessage {
                    role: mcp::Role::User,
                    text: (*text).to_owned(),
                })
                .collect(),
            max_tokens: u32::MAX,
            temperature: Some(0.25),
            stop_sequences: Vec::new(),
        }
    }

    #[test]
    fn sampling_requests_are_bounded() {
        let good = checked(request(&["Hello"])).unwrap();
        assert_eq!(good.max_tokens, MAX_SAMPLING_TOKENS);
        assert_eq!(
            (good.system_prompt, good.temperature_thousandths),
            (None, Some(250))
        );
        assert!(matches!(checked(request(&[])), Err(Error::Invalid(_))));
        assert!(matches!(checked(request(&[" \n"])), Err(Error::Invalid(_))));
        let long = "x".repeat(MAX_SAMPLING_BYTES);
        assert!(checked(request(&[&long])).is_ok());
        assert!(matches!(
            checked(request(&[&long, "y"])),
            Err(Error::TooLarge(_))
        ));
        let tall = "\n".repeat(MAX_SAMPLING_LINES);
        assert!(matches!(
            checked(request(&["a", &tall])),
            Err(Error::TooLarge(_))
        ));
        let odd = mcp::SamplingRequest {
            temperature: Some(f64::NAN),
            max_tokens: 0,
            ..request(&["a"])
        };
        assert!(matches!(checked(odd), Err(Error::Invalid(_))));
    }

    #[test]
    fn folders_are_told_as_addresses() {
        let terms = Terms {
            roots: vec![
                PathBuf::from("/home/ada/my shore"),
                PathBuf::from("relative"),
            ],
            ..Terms::default()
        };
        let capabilities = capabilities(&terms);
        let roots: Vec<(&str, &str)> = capabilities
            .roots
            .iter()
            .map(|root| (root.uri.as_str(), root.name.as_str()))
            .collect();
        assert_eq!(roots, [("file:///home/ada/my%20shore/", "my shore")]);
        assert!(!capabilities.sampling);
    }
}
