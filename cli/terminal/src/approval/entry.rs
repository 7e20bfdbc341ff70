//! A call as it can be shown and decided about.

use dunlin_host::ask::{Answer, Origin, Question, Scope};
use dunlin_host::call::PlanStatus;

use dunlin_chat::turn::{CallState, Choice, Decision, TurnCall};

/// One call that waits, or waited, in the form that is decided about.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The number by which the user knows it, from 1: unique within the session. 0: the user made the call, and it
    /// has no number.
    pub index: usize,
    /// Its number within the turn.
    pub number: usize,
    /// Which form of it this is.
    pub revision: u32,
    /// Where it stands.
    pub state: CallState,
    /// Whether the user changed the arguments.
    pub edited: bool,
    /// What is asked. For a call that nothing asks about any more: what it would do.
    pub question: Question,
    /// Why it cannot be run as it is.
    pub problem: Option<String>,
    /// The longest that a yes may hold.
    pub longest: Scope,
    /// Whether the call runs already: its arguments and its tool's mode make no difference to the question any more.
    pub runs: bool,
    /// What is set for its tool, where that is something.
    pub mode: Option<&'static str>,
    /// The subagent whose call it is.
    pub subagent: Option<String>,
}

impl Entry {
    /// The call as it stands.
    pub fn of(call: &TurnCall) -> Entry {
        let planned = call.plan.as_ref();
        let asked = planned.and_then(|plan| plan.question(&call.call));
        let question = asked.unwrap_or_else(|| Question {
            call: call.call.id.clone(),
            tool: call.call.tool.clone(),
            arguments: call.call.arguments.clone(),
            wording: planned.map_or_else(String::new, |plan| plan.question.clone()),
            needs: planned.map_or_else(Vec::new, |plan| plan.needs.clone()),
            actions: planned.map_or_else(Vec::new, |plan| plan.actions.clone()),
            notices: Vec::new(),
            lasting: Vec::new(),
            longest: Scope::Always,
            origin: Origin::Declared,
        });
        let mut entry = Entry {
            number: call.number,
            revision: call.revision,
            state: call.state,
            edited: call.edited,
            problem: call.problem.as_ref().map(ToString::to_string),
            ..Entry::asked(call.index, question)
        };
        if call.edited {
            // What the user wrote is what the user meant.
        } else if call.recovered {
            let notice = if call.quoted {
                "The model wrote this call as text that it was given to read: it may only have quoted it."
            } else {
                "The model wrote this call as text."
            };
            entry.question.notices.push(notice.to_owned());
        } else if call.repaired {
            let notice =
                "The model wrote the arguments in broken JSON; this is how they were read.";
            entry.question.notices.push(notice.to_owned());
        }
        if let Some(PlanStatus::Allowed) = planned.map(|plan| &plan.status)
            && call.state == CallState::Asking
            && (!call.quoted || call.edited)
        {
            let notice = "The call changed since it was shown.".to_owned();
            entry.question.notices.push(notice);
        }
        entry
    }

    /// A question about the call with this number; 0 for a call that has none.
    pub fn asked(index: usize, question: Question) -> Entry {
        Entry {
            index,
            number: 0,
            revision: 0,
            state: CallState::Asking,
            edited: false,
            longest: question.longest,
            question,
            problem: None,
            runs: false,
            mode: None,
            subagent: None,
        }
    }

    pub fn is_asking(&self) -> bool {
        self.state == CallState::Asking
    }

    /// Whether this answer can be given to it at all; else why not, as the end of a sentence.
    pub fn refuses(&self, answer: Answer) -> Option<&'static str> {
        match answer.scope {
            _ if answer.allow && self.problem.is_some() => {
                Some("cannot be run like this: e changes it again, skip leaves it out")
            }
            Scope::Session | Scope::Always if !self.is_asking() => {
                Some("is not being asked about: there is nothing to remember")
            }
            Scope::Always if answer.allow && self.longest != Scope::Always => {
                Some("can't be allowed permanently")
            }
            Scope::Session if answer.allow && self.longest == Scope::Once => {
                Some("can only be allowed once")
            }
            _ => None,
        }
    }

    /// A decision about this form of the call.
    pub fn decide(&self, choice: Choice, comment: Option<String>) -> Decision {
        Decision {
            number: self.number,
            revision: self.revision,
            choice,
            comment,
        }
    }
}

#[cfg(test)]
mod tests {
    use dunlin_chat::message::Conversation;
    use dunlin_chat::provider::{Finish, ProposedCall, ReplyEnd};
    use dunlin_chat::turn::TurnRules;
    use dunlin_chat::turn::event::Event;
    use dunlin_chat::turn::machine::Turn;
    use serde_json::Map;

    use super::*;

    #[test]
    fn how_a_call_was_written_is_said() {
        let mut conversation = Conversation::new();
        let (mut turn, _) = Turn::begin(&mut conversation, "Go".into(), TurnRules::default());
        turn.handle(Event::Composed);
        let call = || ProposedCall::new("", "read_file", Map::new());
        let calls = vec![
            ProposedCall {
                recovered: true,
                ..call()
            },
            ProposedCall {
                repaired: true,
                ..call()
            },
        ];
        let finish = Finish::Complete;
        turn.handle(Event::ReplyEnded(ReplyEnd {
            calls,
            finish,
            replay: None,
        }));
        let notices = |number| Entry::of(turn.call(number).unwrap()).question.notices;
        assert_eq!(notices(0), ["The model wrote this call as text."]);
        assert_eq!(
            notices(1),
            ["The model wrote the arguments in broken JSON; this is how they were read."]
        );
    }
}
