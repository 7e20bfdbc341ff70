//! A server that wants the chat's model to answer something, or to know which folders are worked in.
//!
//! The host shows the user what is asked, whole, and has the model answer; what can be asked is text. Tools are not
//! offered to the model: a server that needs them is told so.

#![expect(
    deprecated,
    reason = "servers of the revisions that have it still ask for it"
)]

use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ErrorCode, ErrorData, ListRootsResult, Role,
    Root, SamplingMessage, SamplingMessageContentBlock,
};

use crate::bindings::dunlin::tool::mcp::{self, SamplingRequest, SamplingResult, StopReason};
use crate::bindings::dunlin::tool::types::Error;

/// What the protocol answers where the user does not want something.
const DECLINED: ErrorCode = ErrorCode(-1);

/// The folders that the server is told of.
pub fn roots() -> ListRootsResult {
    let roots = mcp::capabilities().roots.into_iter();
    let roots = roots.map(|root| Root::new(root.uri).with_name(root.name));
    ListRootsResult::new(roots.collect())
}

/// The model's answer.
pub fn answer(params: CreateMessageRequestParams) -> Result<CreateMessageResult, ErrorData> {
    let request = request(params).map_err(|why| ErrorData::invalid_params(why, None))?;
    match mcp::sample(&request) {
        Ok(answer) => Ok(result(answer)),
        Err(error) => Err(refusal(error)),
    }
}

fn request(params: CreateMessageRequestParams) -> Result<SamplingRequest, String> {
    if params.tools.is_some_and(|tools| !tools.is_empty()) {
        return Err("the model is asked without tools here".to_owned());
    }
    let mut messages = Vec::new();
    for message in params.messages {
        let mut texts = Vec::new();
        for part in message.content.into_vec() {
            match part {
                SamplingMessageContentBlock::Text(text) => texts.push(text.text),
                _ => return Err("the model is asked in words alone here".to_owned()),
            }
        }
        messages.push(mcp::SamplingMessage {
            role: match message.role {
                Role::User => mcp::Role::User,
                Role::Assistant => mcp::Role::Assistant,
            },
            text: texts.join("\n"),
        });
    }
    Ok(SamplingRequest {
        system_prompt: params.system_prompt,
        messages,
        max_tokens: params.max_tokens,
        temperature: params.temperature.map(f64::from),
        stop_sequences: params.stop_sequences.unwrap_or_default(),
    })
}

fn result(answer: SamplingResult) -> CreateMessageResult {
    let message = SamplingMessage::assistant_text(answer.text);
    let end = match answer.stop_reason {
        StopReason::EndTurn => CreateMessageResult::STOP_REASON_END_TURN,
        StopReason::MaxTokens => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
        StopReason::StopSequence => CreateMessageResult::STOP_REASON_END_SEQUENCE,
    };
    CreateMessageResult::new(message, answer.model).with_stop_reason(end)
}

fn refusal(error: Error) -> ErrorData {
    match error {
        Error::Conflict(why) => ErrorData::new(DECLINED, why, None),
        Error::Invalid(why) | Error::TooLarge(why) => ErrorData::invalid_params(why, None),
        error => ErrorData::internal_error(crate::connection::text_of(error), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(params: serde_json::Value) -> Result<SamplingRequest, String> {
        request(serde_json::from_value(params).unwrap())
    }

    #[test]
    fn what_can_be_asked_is_text() {
        let text = json!({"type": "text", "text": "Which bird?"});
        let asked = of(json!({
            "messages": [
                {"role": "user", "content": text},
                {"role": "assistant", "content": [text, text]},
            ],
            "systemPrompt": "Be brief.",
            "maxTokens": 20,
            "stopSequences": ["."],
        }));
        let asked = asked.unwrap();
        assert_eq!(asked.messages[0].text, "Which bird?");
        assert_eq!(asked.messages[1].text, "Which bird?\nWhich bird?");
        assert_eq!((asked.max_tokens, asked.stop_sequences.len()), (20, 1));
        let picture = json!({"type": "image", "data": "", "mimeType": "image/png"});
        let asked = of(json!({"messages": [{"role": "user", "content": picture}], "maxTokens": 1}));
        assert!(asked.is_err());
        let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
        let asked = of(json!({"messages": [], "maxTokens": 1, "tools": [tool]}));
        assert!(asked.is_err());
    }

    #[test]
    fn an_answer_says_why_it_is_over() {
        let answer = SamplingResult {
            text: "A dunlin.".to_owned(),
            model: "small".to_owned(),
            stop_reason: StopReason::MaxTokens,
        };
        let answer = serde_json::to_value(result(answer)).unwrap();
        assert_eq!(
            answer,
            json!({
                "model": "small", "stopReason": "maxTokens", "role": "assistant",
                "content": {"type": "text", "text": "A dunlin."},
            })
        );
    }
}
