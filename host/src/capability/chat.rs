//! `chat`: the person at the other end.

use std::time::Instant;

use super::context::{Phase, UsedInDescribe, View};
use super::refusal::Refusal;
use crate::ask::TextQuestion;
use crate::bindings::dunlin::tool::chat;
use crate::bindings::dunlin::tool::types::Error;
use crate::display;
use crate::limits::{
    MAX_OPTION_BYTES, MAX_OPTIONS, MAX_PROGRESS_CHARS, MAX_SERVER_QUESTIONS, MAX_TEXT_ANSWER_BYTES,
    MAX_TEXT_QUESTION_BYTES, MAX_TEXT_QUESTIONS, PROGRESS_PERIOD,
};
use crate::mcp::connection::ServerConnection;

/// Whom a call talks to: the user, and in a bridge its server.
#[derive(Debug, Default)]
pub(crate) struct Chat {
    /// When progress was shown last: one message a period is passed on.
    shown: Option<Instant>,
    /// Questions for a text.
    pub(super) text_questions: usize,
    /// Requests of the server for the chat's model.
    pub(super) sampling_requests: usize,
    /// The connection to its server, in a bridge.
    pub(crate) connection: Option<ServerConnection>,
}

impl Chat {
    /// A call begins in a bridge: it may ask as often as any other.
    pub(super) fn begin_call(&mut self) {
        self.text_questions = 0;
        self.sampling_requests = 0;
    }
}

impl chat::Host for View<'_, Chat> {
    fn progress(&mut self, message: String, percent: Option<u8>) -> wasmtime::Result<()> {
        match self.phase {
            Phase::Describe => return Err(UsedInDescribe.into()),
            Phase::Prepare => return Ok(()),
            Phase::Run => {}
        }
        let now = Instant::now();
        if self
            .own
            .shown
            .is_some_and(|last| now - last < PROGRESS_PERIOD)
        {
            return Ok(());
        }
        self.own.shown = Some(now);
        if let Some(progress) = &self.progress {
            // Cut first: escaping a megabyte to show one line would be the guest's to abuse.
            let message: String = message.chars().take(MAX_PROGRESS_CHARS).collect();
            let shown = display::escape(&message);
            progress.progress(
                &self.caller.call,
                &display::shorten(&shown, MAX_PROGRESS_CHARS),
                percent.map(|percent| percent.min(100)),
            );
        }
        Ok(())
    }

    async fn ask(&mut self, question: String, options: Vec<String>) -> Result<String, Refusal> {
        self.only_in_run()?;
        check(&question, &options)?;
        let most = match self.own.connection {
            Some(_) => MAX_SERVER_QUESTIONS,
            None => MAX_TEXT_QUESTIONS,
        };
        if self.own.text_questions == most {
            return Err(Error::TooLarge(format!(
                "this call has asked {most} times already; no more are possible"
            ))
            .into());
        }
        self.own.text_questions += 1;
        let Some(ask) = self.ask.clone().filter(|ask| ask.answers_texts()) else {
            return Err(Error::Unsupported("nobody is there to answer".into()).into());
        };
        let connection = self.own.connection.as_ref();
        let question = TextQuestion {
            call: self.caller.call.clone(),
            tool: self.caller.tool.clone(),
            server: connection.map(|it| it.terms.name.clone()),
            secret: connection.is_some_and(|it| it.secrets.are_asked_by(&question)),
            question,
            options,
        };
        let answer = {
            let _paused = self.clock.pause();
            let unwanted = self.unwanted();
            unwanted.run_until_cancelled(ask.ask_text(question)).await
        };
        let mut answer = answer.flatten().ok_or(Error::Cancelled)?;
        answer.truncate(answer.floor_char_boundary(MAX_TEXT_ANSWER_BYTES));
        Ok(answer)
    }
}

fn check(question: &str, options: &[String]) -> Result<(), Error> {
    if question.trim().is_empty() {
        return Err(Error::Invalid("the question is empty".into()));
    }
    if question.len() > MAX_TEXT_QUESTION_BYTES {
        return Err(Error::Invalid(format!(
            "the question has {} bytes; at most {MAX_TEXT_QUESTION_BYTES} can be asked",
            question.len()
        )));
    }
    if options.len() > MAX_OPTIONS {
        return Err(Error::Invalid(format!(
            "there are {} options; at most {MAX_OPTIONS} can be offered",
            options.len()
        )));
    }
    for (index, option) in options.iter().enumerate() {
        let number = index + 1;
        if option.trim().is_empty() {
            return Err(Error::Invalid(format!("option {number} is empty")));
        }
        if option.len() > MAX_OPTION_BYTES {
            return Err(Error::Invalid(format!(
                "option {number} has {} bytes; at most {MAX_OPTION_BYTES} can be offered",
                option.len()
            )));
        }
    }
    Ok(())
}
