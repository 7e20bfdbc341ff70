//! Events to text, reasoning, calls, usage and an end.
//!
//! A pure state machine: [`Assembly::feed`] takes frames, [`Assembly::end`] says what the reply
//! came to. It reads JSON without a fixed shape, since every field has been seen missing, null or
//! of another type somewhere.
//!
//! Whether the model wants tools is decided by the presence of calls, and whether the reply is
//! whole by its calls being so; the reason that the server names only ever adds doubt.

use serde_json::Value;

use super::calls::{Calls, Piece};
use super::error_body;
use super::framing::Frame;
use dunlin_chat::provider::{ReplyEnd, StreamEvent, Usage};

/// Where reasoning is found, in the order in which a chunk is searched. A reply that sends it twice
/// is shown it once: the first field that had some is kept to.
const REASONING_FIELDS: [&str; 4] = ["reasoning_content", "reasoning", "thinking", DETAILS];

/// Reasoning in parts. It cannot be sent back as the text that it is kept as.
const DETAILS: &str = "reasoning_details";

/// A failure that the server reported within a reply that began well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedError {
    /// What it says, in one readable line.
    pub message: String,
    /// Its code, as text, where it gives one.
    pub code: Option<String>,
}

/// The reply broke off: there is neither an end nor a reason for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokeOff;

/// Puts one reply together.
#[derive(Debug, Default)]
pub struct Assembly {
    calls: Calls,
    reasoning_field: Option<&'static str>,
    finish_reason: Option<String>,
    done: bool,
    spoken: bool,
    damaged: bool,
}

impl Values for Assembly {
    fn value(&mut self, value: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        self.chunk(value, out)
    }

    fn is_reply(&self, document: &Value) -> bool {
        self.spoken || self.finish_reason.is_some() || document.get("choices").is_some()
    }

    fn done(&mut self) -> &mut bool {
        &mut self.done
    }

    fn damaged(&mut self) -> &mut bool {
        &mut self.damaged
    }
}

impl Assembly {
    /// An assembly that has seen nothing.
    pub fn new() -> Assembly {
        Assembly::default()
    }

    /// Takes one frame and adds what it holds to `out`.
    ///
    /// # Errors
    /// What the server reports as an error. It ends the reply, whether or not the connection stays
    /// open.
    pub fn feed(&mut self, frame: Frame, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        feed(self, frame, out)
    }

    /// Whether the server has given a reason for the end: what may still come is a count of tokens.
    pub fn has_finish_reason(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Whether the server has said that nothing more will come.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// What the reply came to.
    ///
    /// # Errors
    /// There was neither a reason for the end nor the mark of it.
    pub fn end(self) -> Result<ReplyEnd, BrokeOff> {
        if !self.done && self.finish_reason.is_none() {
            return Err(BrokeOff);
        }
        let at_limit = matches!(
            self.finish_reason.as_deref(),
            Some("length" | "max_tokens" | "model_length" | "max_output_tokens")
        );
        let (calls, finish) = self.calls.end(at_limit, self.damaged);
        Ok(ReplyEnd {
            calls,
            finish,
            replay: None,
        })
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        // An error stands beside empty choices on some servers, so it is looked for first.
        if chunk.get("error").is_some_and(|error| !error.is_null())
            || chunk.get("object") == Some(&"error".into())
        {
            return Err(reported(chunk));
        }
        if let Some(usage) = chunk.get("usage").and_then(read_usage) {
            out.push(StreamEvent::Usage(usage));
        }
        let Some(choices) = chunk.get("choices").and_then(Value::as_array) else {
            return Ok(());
        };
        for choice in choices {
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0 {
                self.choice(choice, out);
            }
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Value, out: &mut Vec<StreamEvent>) {
        let message = choice
            .get("delta")
            .filter(|delta| delta.is_object())
            .or_else(|| {
                // A whole message after its pieces would say everything twice.
                choice.get("message").filter(|_| !self.spoken)
            });
        if let Some(message) = message {
            self.delta(message, out);
        }
        if let Some(reason) = choice
            .get("finish_reason")
            .and_then(Value::as_str)
            .filter(|reason| !reason.is_empty())
        {
            if !matches!(
                reason,
                "stop"
                    | "tool_calls"
                    | "function_call"
                    | "length"
                    | "eos"
                    | "end_turn"
                    | "max_tokens"
            ) && self.finish_reason.is_none()
            {
                out.push(StreamEvent::Notice(format!(
                    "the provider ended the reply with the reason {reason:?}"
                )));
            }
            self.finish_reason = Some(reason.to_owned());
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<StreamEvent>) {
        if let Some((field, text)) = self.reasoning(delta) {
            self.spoken = true;
            self.reasoning_field = Some(field);
            let field = if field == DETAILS { "reasoning" } else { field };
            out.push(StreamEvent::Reasoning { field, text });
        }
        let reasoning = delta.get("content").map(reasoning_of).unwrap_or_default();
        if !reasoning.is_empty() {
            self.spoken = true;
            out.push(StreamEvent::Reasoning {
                field: "reasoning_content",
                text: reasoning,
            });
        }
        for field in ["content", "refusal"] {
            let text = delta.get(field).map(text_of).unwrap_or_default();
            if !text.is_empty() {
                self.spoken = true;
                out.push(StreamEvent::Text(text));
            }
        }
        // The older form has one call and calls it differently.
        let pieces = delta
            .get("tool_calls")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let pieces = pieces
            .iter()
            .chain(delta.get("function_call").filter(|call| call.is_object()));
        for piece in pieces {
            self.spoken = true;
            if let Some(tool) = self.calls.add(Piece::read(piece)) {
                out.push(StreamEvent::CallStarted { tool });
            }
        }
    }

    fn reasoning(&self, delta: &Value) -> Option<(&'static str, String)> {
        REASONING_FIELDS
            .into_iter()
            .filter(|field| self.reasoning_field.is_none_or(|known| known == *field))
            .map(|field| (field, delta.get(field).map(text_of).unwrap_or_default()))
            .find(|(_, text)| !text.is_empty())
    }
}

/// The reasoning among the parts of a content.
fn reasoning_of(content: &Value) -> String {
    let parts = content.as_array().map_or(&[][..], Vec::as_slice);
    parts
        .iter()
        .filter_map(|part| part.get("thinking"))
        .map(text_of)
        .collect()
}

/// A text, or the texts of an array of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| {
                let text = |field| part.get(field).and_then(Value::as_str);
                part.as_str()
                    .or_else(|| text("text"))
                    .or_else(|| text("summary"))
            })
            .collect(),
        _ => String::new(),
    }
}

/// The counts of chat completions, or of the Responses API: there reasoning is part of the output, too.
pub(crate) fn read_usage(usage: &Value) -> Option<Usage> {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let input = count("/prompt_tokens").or_else(|| count("/input_tokens"));
    let output = count("/completion_tokens").or_else(|| count("/output_tokens"));
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or(0),
        cached_tokens: count("/prompt_tokens_details/cached_tokens")
            .or_else(|| count("/input_tokens_details/cached_tokens"))
            .or_else(|| count("/prompt_cache_hit_tokens"))
            .unwrap_or(0),
        written_tokens: count("/prompt_tokens_details/cache_write_tokens").unwrap_or(0),
        output_tokens: output.unwrap_or(0),
    })
}

/// An assembly whose frames hold values of JSON.
pub(crate) trait Values {
    /// Takes one value and adds what it holds to `out`.
    ///
    /// # Errors
    /// What the server reports as an error. It ends the reply.
    fn value(&mut self, value: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError>;

    /// Whether anything of a reply was in this document, which was read.
    fn is_reply(&self, document: &Value) -> bool;

    /// Whether the server has said that nothing more will come.
    fn done(&mut self) -> &mut bool;

    /// Whether a piece was lost.
    fn damaged(&mut self) -> &mut bool;
}

/// Takes one frame and adds what it holds to `out`.
///
/// # Errors
/// What the server reports as an error. It ends the reply.
pub(crate) fn feed(
    assembly: &mut impl Values,
    frame: Frame,
    out: &mut Vec<StreamEvent>,
) -> Result<(), ReportedError> {
    let mut read = |payload: &str| {
        payloads(payload, |value| match value {
            Some(value) => assembly.value(&value, out),
            None => {
                out.extend(damage(assembly.damaged()));
                Ok(())
            }
        })
    };
    match frame {
        Frame::Done => *assembly.done() = true,
        Frame::Error(payload) => {
            let value = serde_json::from_str(&payload).unwrap_or(Value::String(payload));
            return Err(reported(&value));
        }
        Frame::Data(payload) => read(&payload)?,
        Frame::Document(payload) => {
            read(&payload)?;
            // A document without a reply may still say why: `{"detail": "not found"}`.
            if let Ok(document) = serde_json::from_str::<Value>(&payload)
                && !assembly.is_reply(&document)
            {
                return Err(reported(&document));
            }
            let is_whole = !*assembly.damaged();
            *assembly.done() = is_whole;
        }
    }
    Ok(())
}

/// Reads all the values of a payload: some servers glue two chunks together, or begin a new `data:` in the middle of one
/// they did not finish. `None`: a piece of it is damaged.
fn payloads(
    payload: &str,
    mut each: impl FnMut(Option<Value>) -> Result<(), ReportedError>,
) -> Result<(), ReportedError> {
    let mut rest = payload;
    loop {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        // The offset is that of the damaged value only until it is asked for another one.
        loop {
            match values.next() {
                Some(Ok(value)) => each(Some(value))?,
                Some(Err(_)) => break,
                None => return Ok(()),
            }
        }
        each(None)?;
        let tail = rest.get(values.byte_offset()..).unwrap_or_default();
        match tail.find("data:") {
            Some(position) => rest = &tail[position + "data:".len()..],
            None => return Ok(()),
        }
    }
}

/// Takes note of a damaged piece, and says so once.
pub(crate) fn damage(is_damaged: &mut bool) -> Option<StreamEvent> {
    let notice = || "a damaged piece of the reply was skipped".to_owned();
    (!std::mem::replace(is_damaged, true)).then(|| StreamEvent::Notice(notice()))
}

/// What a value reports.
pub(crate) fn reported(value: &Value) -> ReportedError {
    let message = error_body::message_of(value).unwrap_or_else(|| "no reason given".to_owned());
    ReportedError {
        message: error_body::one_line(&message),
        code: error_body::code_of(value),
    }
}

#[cfg(test)]
#[path = "assembly_tests.rs"]
mod tests;
