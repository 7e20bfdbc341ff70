//! The body of a request to `/api/chat`.

use serde_json::{Map, Value, json};

use crate::openai::declaration;
use crate::outline;
use crate::profile::{EffortForm, Profile, REASONING_EFFORT};
use dunlin_chat::agent::Effort;
use dunlin_chat::media::Takes;
use dunlin_chat::message::{Message, Role, ToolCall};
use dunlin_chat::provider::Dialect;
use dunlin_chat::request::Draft;
use dunlin_chat::request::editor::{Origin, Outline};

/// How Ollama wants requests written.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    /// What the model taught.
    pub(super) profile: Profile,
    /// The window to ask for, in tokens. Without it the server chooses by the memory it has, which is too small
    /// for tools on most machines.
    pub(super) num_ctx: Option<u64>,
}

impl Dialect for Wire {
    fn offers_tools(&self) -> bool {
        self.profile.offers_tools
    }

    fn describes_tools(&self) -> bool {
        self.profile.describes_tools
    }

    fn echoes_reasoning(&self) -> bool {
        true
    }

    fn outline(&self, body: &Value, origins: &[Origin]) -> Outline {
        outline::ollama(body, origins)
    }

    fn takes(&self) -> Takes {
        Takes {
            // The protocol has no place for them.
            documents: false,
            ..self.profile.takes
        }
    }

    fn body(&self, draft: &Draft<'_>) -> Value {
        let mut messages = Vec::with_capacity(draft.messages.len() + 1);
        if let Some(prompt) = &draft.system_prompt {
            messages.push(json!({"role": "system", "content": prompt}));
        }
        messages.extend(draft.messages.iter().map(|message| {
            let mut wire = wire(message);
            if !message.media.is_empty() {
                let images = message.media.iter().map(|image| image.base64());
                wire["images"] = images.collect();
            }
            wire
        }));

        let mut body = Map::new();
        body.insert("model".to_owned(), draft.model.into());
        body.insert("messages".to_owned(), messages.into());
        if !draft.tools.is_empty() {
            let tools = draft.tools.iter();
            let tools = tools.map(|tool| declaration(tool, &self.profile.schema(&tool.parameters)));
            body.insert("tools".to_owned(), tools.collect());
        }
        let options: Map<String, Value> = [
            ("temperature", draft.temperature.map(Value::from)),
            ("top_p", draft.top_p.map(Value::from)),
            ("num_predict", draft.max_tokens.map(Value::from)),
            ("num_ctx", self.num_ctx.map(Value::from)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
        if !options.is_empty() {
            body.insert("options".to_owned(), options.into());
        }
        if let Some(effort) = draft.reasoning_effort
            && !self.profile.options_left_out.contains(REASONING_EFFORT)
        {
            let think = match (effort, self.profile.effort) {
                (Effort::None, _) => false.into(),
                (level, EffortForm::Level) => Value::from(level.name()),
                (_, EffortForm::Switch) => true.into(),
            };
            body.insert("think".to_owned(), think);
        }
        // What does not fit is refused instead of cut without a word, by servers that know this.
        if !self.profile.options_left_out.contains("truncate") {
            body.insert("truncate".to_owned(), false.into());
        }
        body.insert("stream".to_owned(), true.into());
        body.into()
    }
}

fn wire(message: &Message) -> Value {
    match message.role {
        Role::System => json!({"role": "system", "content": message.content}),
        Role::User => json!({"role": "user", "content": message.content}),
        Role::Assistant => {
            let mut wire = Map::new();
            wire.insert("role".to_owned(), "assistant".into());
            wire.insert("content".to_owned(), message.content.clone().into());
            if !message.tool_calls.is_empty() {
                // Models that think go on thinking where they were, whatever the field was called by whoever
                // they thought for.
                if let Some(reasoning) = &message.reasoning {
                    wire.insert("thinking".to_owned(), reasoning.text.clone().into());
                }
                let calls = message.tool_calls.iter().map(wire_call);
                wire.insert("tool_calls".to_owned(), calls.collect());
            }
            wire.into()
        }
        Role::Tool => json!({
            "role": "tool",
            "tool_name": message.name,
            "tool_call_id": message.tool_call_id,
            "content": message.content,
        }),
    }
}

fn wire_call(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        // An object, and not a text that holds one.
        "function": {"name": call.name, "arguments": call.arguments},
    })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use dunlin_chat::agent::Agent;
    use dunlin_chat::media::samples::{document, picture};
    use dunlin_chat::message::{Conversation, Reasoning, UserMessage};
    use dunlin_chat::request::compose;

    #[test]
    fn a_request_says_all_and_nothing_else() {
        let mut conversation = Conversation::new();
        conversation.push_user("Read it");
        let arguments = json!({"file_path": "a.txt"}).as_object().cloned().unwrap();
        conversation.push_assistant(Message {
            tool_calls: vec![ToolCall {
                id: "abc".to_owned(),
                name: "read_file".to_owned(),
                arguments,
                raw_arguments: None,
                number: 0,
            }],
            reasoning: Some(Reasoning {
                field: "reasoning_content".to_owned(),
                text: "hm".to_owned(),
            }),
            ..Message::text(Role::Assistant, "")
        });
        conversation.push_result("abc", "contents");
        let mut agent = Agent::sample();
        agent.system_prompt = Some("Be brief".to_owned());
        agent.temperature = Some(0.2);
        agent.top_p = Some(0.9);
        agent.max_tokens = Some(100);
        let tool = dunlin_host::Tool {
            name: "read_file".to_owned(),
            plugin: "test".to_owned(),
            description: "Reads".to_owned(),
            parameters: json!({"type": "object"}),
            imports: Vec::new(),
            annotations: dunlin_host::Annotations::default(),
        };
        let request = |wire: &Wire| {
            let tools = [tool.clone()];
            let messages = conversation.messages().iter().map(Cow::Borrowed);
            let request = compose(messages, &agent, wire, &tools);
            std::str::from_utf8(request.bytes()).unwrap().to_owned()
        };
        let mut wire = Wire {
            profile: Profile::default(),
            num_ctx: Some(8192),
        };
        let expected = concat!(
            r#"{"model":"small","messages":["#,
            r#"{"role":"system","content":"Be brief"},"#,
            r#"{"role":"user","content":"Read it"},"#,
            r#"{"role":"assistant","content":"","thinking":"hm","tool_calls":["#,
            r#"{"id":"abc","function":{"name":"read_file","arguments":{"file_path":"a.txt"}}}]},"#,
            r#"{"role":"tool","tool_name":"read_file","tool_call_id":"abc","content":"contents"}],"#,
            r#""tools":[{"type":"function","function":{"name":"read_file","description":"Reads","#,
            r#""parameters":{"type":"object"}}}],"#,
            r#""options":{"temperature":0.2,"top_p":0.9,"num_predict":100,"num_ctx":8192},"#,
            r#""truncate":false,"stream":true}"#,
        );
        assert_eq!(request(&wire), expected);

        wire.profile.offers_tools = false;
        wire.profile.options_left_out.insert("truncate");
        let without = request(&wire);
        assert!(
            !without.contains(r#""tools""#) && !without.contains("truncate"),
            "{without}"
        );
    }

    #[test]
    fn what_nobody_set_is_not_sent() {
        let mut conversation = Conversation::new();
        conversation.push_user("Hi");
        let wire = Wire {
            profile: Profile::default(),
            num_ctx: None,
        };
        let agent = Agent::sample();
        let messages = conversation.messages().iter().map(Cow::Borrowed);
        let request = compose(messages, &agent, &wire, &[]);
        assert_eq!(
            request.body(),
            &json!({
                "model": "small",
                "messages": [{"role": "user", "content": "Hi"}],
                "truncate": false,
                "stream": true,
            })
        );
    }

    #[test]
    fn images_stand_beside_the_text() {
        let mut conversation = Conversation::new();
        conversation.push_user(UserMessage {
            media: vec![picture("tern.png", 8, 6), document("eggs.pdf", 1)],
            ..UserMessage::from("Which bird?")
        });
        let wire = Wire {
            profile: Profile::default(),
            num_ctx: None,
        };
        let agent = Agent::sample();
        let messages = conversation.messages().iter().map(Cow::Borrowed);
        let request = compose(messages, &agent, &wire, &[]);
        let text = "Which bird?\n[not shown: this model takes no PDF documents] [eggs.pdf: PDF, 1 page, 65 bytes]";
        let expected = json!({
            "role": "user",
            "content": text,
            "images": [picture("", 8, 6).base64()],
        });
        assert_eq!(request.body()["messages"][0], expected);
    }
}
