//! Which message of the session each message of a request is.

use super::sections::{Origin, SectionId};
use crate::message::{Message, Role};
use crate::request::truncation::Truncation;
use crate::tokens::counted;

/// The origins of the messages that [`compose`](crate::request::compose) makes of what `cuts` leave of a session, in
/// their order; without the system prompt.
///
/// `in_text`: calls and results are written as text, as for a model that takes no tools.
pub fn origins(messages: &[Message], truncation: &Truncation, in_text: bool) -> Vec<Origin> {
    let mut origins: Vec<Parts> = Vec::new();
    let mut is_after_user = false;
    let sent = messages.iter().enumerate();
    for (index, message) in sent.filter(|(index, _)| truncation.sends(*index)) {
        let is_user = match message.role {
            Role::User => true,
            Role::Tool => in_text,
            Role::System | Role::Assistant => false,
        };
        let left_out = (index == truncation.start && truncation.left_out() > 0).then(|| {
            let left_out = counted(truncation.left_out(), "earlier message", "earlier messages");
            match truncation.compacted {
                Some(_) => format!("with a summary of {left_out}"),
                None => format!("without {left_out}"),
            }
        });
        let attached = message.attached.iter().map(String::as_str);
        match origins.last_mut() {
            // Two messages of the user become one.
            Some(last) if is_user && is_after_user => {
                last.left_out = last.left_out.take().or(left_out);
                last.attached.extend(attached);
            }
            _ => origins.push(Parts {
                index,
                left_out,
                attached: attached.collect(),
            }),
        }
        is_after_user = is_user;
    }
    origins.into_iter().map(Parts::origin).collect()
}

/// What one message of a request is made of.
struct Parts<'a> {
    /// The first message of the session in it.
    index: usize,
    /// What stands in it for messages that are left out.
    left_out: Option<String>,
    /// The paths of the attached files.
    attached: Vec<&'a str>,
}

impl Parts<'_> {
    fn origin(self) -> Origin {
        let names = self.attached.iter();
        let names = names.map(|path| path.rsplit('/').next().unwrap_or_default());
        let files = with_files(&names.collect::<Vec<_>>());
        let context: Vec<String> = self.left_out.into_iter().chain(files).collect();
        Origin {
            id: SectionId::Message(self.index),
            context: (!context.is_empty()).then(|| format!("user, {}", context.join(", "))),
        }
    }
}

/// Which files a section holds, if it does.
pub(super) fn with_files(names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [file] => Some(format!("with {file}")),
        [one, other] => Some(format!("with {one} and {other}")),
        [first, others @ ..] => Some(format!("with {first} and {} more files", others.len())),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::agent::Agent;
    use crate::message::{Conversation, ToolCall};
    use crate::provider::Dialect;
    use crate::provider::plain::Plain;
    use crate::request::truncation::Compacted;
    use crate::request::{Draft, compose};

    struct InText;

    impl Dialect for InText {
        fn offers_tools(&self) -> bool {
            false
        }

        fn describes_tools(&self) -> bool {
            true
        }

        fn body(&self, draft: &Draft<'_>) -> serde_json::Value {
            Plain.body(draft)
        }
    }

    fn session() -> Conversation {
        let mut session = Conversation::new();
        for turn in 0..3 {
            session.push_user(format!("question {turn}"));
            session.push_user(format!("again {turn}"));
            let id = format!("id{turn}");
            session.push_assistant(Message {
                tool_calls: vec![ToolCall {
                    id: id.clone(),
                    name: "read_file".to_owned(),
                    arguments: serde_json::Map::new(),
                    raw_arguments: None,
                    number: 0,
                }],
                ..Message::text(Role::Assistant, "")
            });
            session.push_result(&id, "text");
            session.push_assistant(Message::text(Role::Assistant, "answer"));
        }
        session
    }

    #[test]
    fn each_message_that_is_sent_has_its_origin() {
        let session = session();
        let messages = session.messages();
        let compacted = Compacted {
            through: 5,
            summary: "They talked".to_owned(),
        };
        let cut = |start, keeps_first, compacted| Truncation {
            start,
            keeps_first,
            compacted,
            ..Truncation::default()
        };
        let check = |truncation: &Truncation, expected: &[usize], in_text: &[usize]| {
            for (dialect, is_in_text, expected) in [
                (&Plain as &dyn Dialect, false, expected),
                (&InText, true, in_text),
            ] {
                let origins = origins(messages, truncation, is_in_text);
                let ids = expected.iter().map(|index| SectionId::Message(*index));
                assert_eq!(
                    origins.iter().map(|it| it.id.clone()).collect::<Vec<_>>(),
                    ids.collect::<Vec<_>>()
                );
                let body = compose(truncation.apply(messages), &Agent::sample(), dialect, &[]);
                let sent = body.body()["messages"].as_array().unwrap().clone();
                assert_eq!(sent.len(), origins.len());
                for (message, origin) in sent.iter().zip(&origins) {
                    let SectionId::Message(index) = origin.id else {
                        unreachable!()
                    };
                    let content = message["content"].as_str().unwrap();
                    assert!(content.contains(&messages[index].content), "{content}");
                    let has_note = content.contains("left out here");
                    assert_eq!(origin.context.is_some(), has_note, "{content}");
                }
            }
        };
        check(
            &Truncation::default(),
            &[0, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 14],
            &[0, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 14],
        );
        check(
            &cut(5, true, None),
            &[0, 7, 8, 9, 10, 12, 13, 14],
            &[0, 7, 8, 9, 10, 12, 13, 14],
        );
        check(
            &cut(10, false, Some(compacted)),
            &[10, 12, 13, 14],
            &[10, 12, 13, 14],
        );
    }

    #[test]
    fn attached_files_name_their_message() {
        let check = |said: &[&[&str]], truncation: &Truncation, expected: Option<&str>| {
            let message = |attached: &&[&str]| Message {
                attached: attached.iter().map(|path| (*path).to_owned()).collect(),
                ..Message::text(Role::User, "text")
            };
            let messages: Vec<Message> = said.iter().map(message).collect();
            let origins = origins(&messages, truncation, false);
            let last = origins.last().expect("an origin");
            assert_eq!(last.context.as_deref(), expected, "{said:?}");
        };
        let all = Truncation::default();
        check(&[&[]], &all, None);
        check(&[&["src/main.rs"]], &all, Some("user, with main.rs"));
        check(&[&["a", "b/c"]], &all, Some("user, with a and c"));
        check(
            &[&["a", "b", "c"]],
            &all,
            Some("user, with a and 2 more files"),
        );
        check(&[&["a"], &["b"]], &all, Some("user, with a and b"));
        let truncation = Truncation {
            start: 1,
            ..Truncation::default()
        };
        check(
            &[&["a"], &["b"]],
            &truncation,
            Some("user, without 1 earlier message, with b"),
        );
    }

    #[test]
    fn results_in_text_become_part_of_the_next_message() {
        let mut session = session();
        session.push_user("more");
        session.push_assistant(Message::text(Role::Assistant, ""));
        let messages: Vec<Message> = session.messages()[..4].to_vec();
        let messages = [messages, vec![Message::text(Role::User, "next")]].concat();
        let ids = |in_text| -> Vec<String> {
            let origins = origins(&messages, &Truncation::default(), in_text);
            origins.iter().map(|origin| origin.id.to_string()).collect()
        };
        assert_eq!(
            ids(false),
            ["message:0", "message:2", "message:3", "message:4"]
        );
        assert_eq!(ids(true), ["message:0", "message:2", "message:3"]);
        let sent = messages.iter().map(Cow::Borrowed);
        let body = compose(sent, &Agent::sample(), &InText, &[]);
        assert_eq!(body.body()["messages"].as_array().unwrap().len(), 3);
    }
}
