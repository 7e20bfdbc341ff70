//! Has the model sum up the beginning of a conversation, so that the sum can be sent instead.
//!
//! What is asked is one message without tools and without the agent's own instructions, with the messages as
//! text in it: so it works with every server, also with those that know no tools.

use std::borrow::Cow;
use std::fmt::Write;
use std::iter;

use dunlin_host::display;
use serde_json::Value;

use super::{Request, compose};
use crate::agent::Agent;
use crate::message::{Message, Role};
use crate::provider::Dialect;

/// The longest result of a call that is read for a summary, in characters: what matters of it was said after it.
const MAX_RESULT_CHARS: usize = 1_500;

const INSTRUCTION: &str = "Below is the beginning of a conversation between a user and you. It has become too long \
    and will be replaced by your summary of it. Write down, in at most 300 words, what you need to continue: what the user \
    wants, what was found out and decided, which files and names matter and what they hold, what was done, and what is \
    still open. Say nothing else.";

/// What is to be summed up.
#[derive(Debug, Clone)]
pub struct Compacting {
    /// The messages before this index.
    pub through: usize,
    /// How many of them are sent now, or stand in an older summary.
    pub count: usize,
    /// The request that asks for it.
    pub request: Request,
}

/// The request that asks for a summary of these messages, as they are sent.
pub fn request(messages: &[Cow<'_, Message>], agent: &Agent, dialect: &dyn Dialect) -> Request {
    let asks = agent.clone().with_prompt_only(None);
    let text = format!(
        "{INSTRUCTION}\n\n<conversation>\n{}</conversation>",
        transcript(messages)
    );
    let message = Message::text(Role::User, text);
    compose([Cow::Owned(message)], &asks, dialect, &[])
}

/// The messages as text.
fn transcript(messages: &[Cow<'_, Message>]) -> String {
    let mut text = String::new();
    let mut line = |who: &str, said: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{who}: {}\n", said.trim());
    };
    for message in messages {
        let media = message.media.iter().map(|media| format!("\n{media}"));
        let said: String = iter::once(message.content.clone()).chain(media).collect();
        let said = said.as_str();
        match message.role {
            Role::System | Role::User => line("User", said),
            Role::Assistant => {
                if !said.trim().is_empty() {
                    line("You", said);
                }
                for call in &message.tool_calls {
                    let arguments = Value::Object(call.arguments.clone()).to_string();
                    let arguments = display::shorten(&arguments, MAX_RESULT_CHARS);
                    line("You called", &format!("{} {arguments}", call.name));
                }
            }
            Role::Tool => line("Result", &display::shorten(said, MAX_RESULT_CHARS)),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Conversation, ToolCall};
    use crate::provider::plain::Plain;

    #[test]
    fn the_conversation_is_read_as_text() {
        let mut conversation = Conversation::new();
        conversation.push_user("Read it");
        conversation.push_assistant(Message {
            tool_calls: vec![ToolCall {
                id: "a".to_owned(),
                name: "read_file".to_owned(),
                arguments: serde_json::Map::from_iter([("path".to_owned(), "a.txt".into())]),
                raw_arguments: None,
                number: 0,
            }],
            ..Message::text(Role::Assistant, "")
        });
        conversation.push_result("a", "x".repeat(10_000));
        conversation.push_assistant(Message::text(Role::Assistant, "It is long."));
        let messages: Vec<_> = conversation.messages().iter().map(Cow::Borrowed).collect();
        let text = transcript(&messages);
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines[0], "User: Read it");
        assert_eq!(lines[1], r#"You called: read_file {"path":"a.txt"}"#);
        assert!(
            lines[2].starts_with("Result: xxx") && lines[2].len() < 2000,
            "{}",
            lines[2]
        );
        assert_eq!(lines[3], "You: It is long.");

        let mut agent = Agent::sample();
        agent.system_prompt = Some("Speak like a pirate".to_owned());
        let request = request(&messages, &agent, &Plain);
        let body = request.body();
        assert_eq!(body["messages"].as_array().map(Vec::len), Some(1), "{body}");
        assert_eq!(body.get("tools"), None);
        let said = body["messages"][0]["content"].as_str().unwrap_or_default();
        assert!(said.starts_with(INSTRUCTION) && said.ends_with("It is long.\n\n</conversation>"));
    }
}
