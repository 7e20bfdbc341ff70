//! What a user does to a conversation as a whole: takes back its last turn, goes on with it elsewhere.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Conversation, Role, UserMessage};

/// The length of the only form of call ids that every endpoint accepts: letters and digits, so many of them.
const STRICT_ID_BYTES: usize = 9;

/// The name under which endpoints that want reasoning back know it.
const REASONING_FIELD: &str = "reasoning_content";

impl Conversation {
    /// Takes back the last thing that the user said and all that came of it, and gives it back. `None`: the user
    /// has said nothing. The ids of the calls stay used.
    pub fn cut_last_turn(&mut self) -> Option<UserMessage> {
        let said = |message: &super::Message| message.role == Role::User;
        self.cut_at(self.messages.iter().rposition(said)?)
    }

    /// The same for the turn that begins with the message at this place, and all turns after it. `None`: no turn begins there.
    pub fn cut_at(&mut self, start: usize) -> Option<UserMessage> {
        let said = self.messages.get(start)?;
        if said.role != Role::User {
            return None;
        }
        let mut cut = Arc::make_mut(&mut self.messages)
            .split_off(start)
            .into_iter();
        self.open.clear();
        cut.next().map(|message| UserMessage {
            text: message.content,
            media: message.media,
            attached: message.attached,
            typed: message.typed,
            turn: message.turn,
        })
    }

    /// Makes what one endpoint said fit to be sent to another: ids of calls in the strictest form, reasoning under
    /// the name that is known elsewhere. To be called between turns.
    pub fn move_elsewhere(&mut self) {
        let mut renamed = HashMap::new();
        let mut names = self.names.lock();
        for message in Arc::make_mut(&mut self.messages) {
            for call in &mut message.tool_calls {
                if !is_strict(&call.id) {
                    let id = names.fresh_id();
                    names.used_ids.insert(id.clone());
                    renamed.insert(std::mem::replace(&mut call.id, id.clone()), id);
                }
            }
            if let Some(id) = &mut message.tool_call_id
                && let Some(new) = renamed.get(id)
            {
                id.clone_from(new);
            }
            if let Some(reasoning) = &mut message.reasoning {
                REASONING_FIELD.clone_into(&mut reasoning.field);
            }
        }
    }
}

fn is_strict(id: &str) -> bool {
    id.len() == STRICT_ID_BYTES && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::media::samples::picture;
    use crate::message::{Message, Reasoning, ToolCall};

    fn calls(ids: &[&str]) -> Message {
        let call = |id: &&str| ToolCall {
            id: (*id).to_owned(),
            name: "read_file".to_owned(),
            arguments: Map::new(),
            raw_arguments: None,
            number: 0,
        };
        Message {
            tool_calls: ids.iter().map(call).collect(),
            ..Message::text(Role::Assistant, "")
        }
    }

    #[test]
    fn the_last_turn_is_taken_back_whole() {
        let mut conversation = Conversation::new();
        assert_eq!(conversation.cut_last_turn(), None);
        conversation.push_user("one");
        conversation.push_assistant(Message::text(Role::Assistant, "first"));
        let before = conversation.messages().to_vec();
        conversation.push_user("two");
        conversation.push_assistant(calls(&["a", "b"]));
        conversation.push_result("a", "done");
        assert_eq!(conversation.cut_last_turn(), Some("two".into()));
        assert_eq!(conversation.messages(), before);
        // The call that was open is gone with its turn, and its id stays used.
        assert!(conversation.open_calls().is_empty());
        assert_ne!(conversation.push_assistant(calls(&["a"]))[0].id, "a");
        assert_eq!(conversation.cut_last_turn(), Some("one".into()));
        assert_eq!(conversation.messages(), []);
        let with_file = UserMessage {
            text: "three".to_owned(),
            media: vec![picture("b.png", 1, 1)],
            attached: vec!["a.txt".to_owned()],
            typed: Some(2),
            turn: Some(7),
        };
        conversation.push_user(with_file.clone());
        let message = conversation.messages().last().unwrap();
        assert_eq!(message.typed(), "th");
        assert_eq!(conversation.cut_last_turn(), Some(with_file));
    }

    #[test]
    fn a_turn_is_taken_back_with_all_that_follow() {
        let mut conversation = Conversation::new();
        for (said, reply) in [("one", "first"), ("two", "second"), ("three", "third")] {
            conversation.push_user(said);
            conversation.push_assistant(Message::text(Role::Assistant, reply));
        }
        // No turn begins with a reply, nor where nothing is.
        assert_eq!(conversation.cut_at(1), None);
        assert_eq!(conversation.cut_at(6), None);
        assert_eq!(conversation.messages().len(), 6);
        assert_eq!(conversation.cut_at(2), Some("two".into()));
        assert_eq!(conversation.messages().len(), 2);
        assert_eq!(conversation.cut_at(0), Some("one".into()));
        assert_eq!(conversation.messages(), []);
    }

    #[test]
    fn what_a_file_says_of_the_users_words_is_looked_at() {
        for (typed, expected) in [
            (None, "aé"),
            (Some(1), "a"),
            (Some(2), "aé"),
            (Some(9), "aé"),
        ] {
            let message = Message {
                typed,
                ..Message::text(Role::User, "aé")
            };
            assert_eq!(message.typed(), expected, "{typed:?}");
        }
    }

    #[test]
    fn elsewhere_ids_and_reasoning_have_other_names() {
        let mut conversation = Conversation::new();
        conversation.push_user("hello");
        let mut message = calls(&["toolu_01A09q90qw90lq917835lq9", "abcDEF123", "b"]);
        message.reasoning = Some(Reasoning {
            field: "reasoning".to_owned(),
            text: "hm".to_owned(),
        });
        conversation.push_assistant(message);
        conversation.push_result("b", "of b");
        conversation.push_result("abcDEF123", "of c");
        conversation.close_open_calls("of a");
        conversation.move_elsewhere();
        let messages = conversation.messages();
        let ids: Vec<&str> = messages[1]
            .tool_calls
            .iter()
            .map(|call| call.id.as_str())
            .collect();
        assert_eq!(ids, ["call00001", "abcDEF123", "call00002"]);
        let results = messages[2..].iter().map(|message| {
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            (id, message.content.as_str())
        });
        let expected = [
            ("call00002", "of b"),
            ("abcDEF123", "of c"),
            ("call00001", "of a"),
        ];
        assert!(results.eq(expected), "{messages:?}");
        let reasoning = messages[1].reasoning.as_ref().map(|it| it.field.as_str());
        assert_eq!(reasoning, Some("reasoning_content"));
        let before = conversation.clone();
        conversation.move_elsewhere();
        assert_eq!(conversation.messages(), before.messages());
        assert_ne!(
            conversation.push_assistant(calls(&["call00001"]))[0].id,
            "call00001"
        );
    }
}
