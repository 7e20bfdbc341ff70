//! What fills a request, to look at.

use super::context_budget::{ContextBudget, Occasion, reserve};
use super::cost::Cost as Length;
use super::limits::Limit;
use super::truncation::ResultCut;
use crate::message::{Message, Role};
use crate::price::Charge;
use crate::provider::WindowSource;

/// What the next request of a conversation would carry, in the server's tokens as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub model: String,
    pub total: u64,
    /// What it is made of, largest first.
    pub parts: Vec<Part>,
    /// The results of calls that take most, largest first.
    pub results: Vec<LargeResult>,
    /// The instruction files, in their order.
    pub instructions: Vec<(String, u64)>,
    /// The declarations of the tools, largest first.
    pub tools: Vec<(String, u64)>,
    /// How many tokens there is room for, what is kept of them for the reply, and whether the server has only refused
    /// more.
    pub window: Option<ReportedWindow>,
    /// Tokens of the conversation that may be sent.
    pub max_tokens: u64,
    /// Lines of the conversation that may be sent.
    pub max_lines: u64,
    /// Turns that are not sent.
    pub turns_left_out: usize,
    /// Results that are sent as one line.
    pub results_replaced: usize,
    /// Results that are sent in part.
    pub results_shortened: usize,
    /// Messages that a summary stands for.
    pub compacted: usize,
    /// How was counted.
    pub counted: String,
}

/// One kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub name: &'static str,
    pub tokens: u64,
}

/// A result that takes much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeResult {
    /// The index of its message.
    pub message: usize,
    pub tokens: u64,
}

/// The window, as it is reckoned with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedWindow {
    pub tokens: u64,
    /// Tokens of the window that are kept for the reply.
    pub reply: u64,
    /// How that is known.
    pub source: Source,
}

/// How the size of a window is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The server says so when it is asked.
    Server,
    /// The agent's `context_window`.
    Configured,
    /// The table of models says so.
    Table,
    /// The server said so when it refused a request.
    Refusal,
    /// It is not known; only that the server has refused more.
    RefusedMore,
}

/// The part that the messages of the user are.
pub const MESSAGES: &str = "your messages";

/// How many results are named.
const MOST_RESULTS: usize = 5;

impl ContextBudget {
    /// What the next request of this conversation would carry.
    pub fn report(&mut self, messages: &[Message], occasion: Occasion<'_>) -> Report {
        // A truncation that is due is made, as it will be; a last turn that cannot fit is reported as it is.
        let _ = self.fit(messages, occasion);
        let measure = self.measure();
        let costs = self.costs();
        let truncation = self.truncation();
        let sent = |index: usize| -> u64 {
            let message = messages.get(index).zip(costs.get(index));
            message.map_or(0, |(message, cost)| {
                truncation.cost(index, message, *cost).tokens
            })
        };
        let media = |index: usize| -> u64 {
            let is_whole = truncation.sends(index) && !truncation.results.contains_key(&index);
            if is_whole {
                self.media(index).tokens
            } else {
                0
            }
        };
        let of = |role: Role| -> u64 {
            let each = messages
                .iter()
                .enumerate()
                .filter(|(_, message)| message.role == role);
            let texts = each.map(|(index, _)| sent(index).saturating_sub(media(index)));
            measure.real(texts.sum())
        };
        let mut tools: Vec<(String, u64)> = occasion
            .offered()
            .map(|tool| (tool.name.clone(), measure.real(measure.tool(tool))))
            .collect();
        tools.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
        let agent = occasion.agent;
        let prompt = measure.count(agent.prompt().unwrap_or_default());
        let system = measure.count(&agent.system_text().unwrap_or_default());
        let files = agent.instructions.files.iter();
        let instructions = files.map(|file| {
            let tokens = measure.real(measure.count(&file.to_string()));
            (file.name.clone(), tokens)
        });
        let all: Length = truncation.total(messages, &costs);
        let each: u64 = (0..messages.len()).map(sent).sum();
        let mut parts = vec![
            Part {
                name: "results of calls",
                tokens: of(Role::Tool),
            },
            Part {
                name: MESSAGES,
                tokens: of(Role::User),
            },
            Part {
                name: "images and documents",
                tokens: measure.real((0..messages.len()).map(media).sum()),
            },
            Part {
                name: "replies and calls",
                tokens: of(Role::Assistant),
            },
            Part {
                name: "system prompt",
                tokens: measure.real(prompt),
            },
            Part {
                name: "instructions",
                tokens: measure.real(system.saturating_sub(prompt)),
            },
            Part {
                name: "tools",
                tokens: tools.iter().map(|(_, tokens)| tokens).sum(),
            },
            Part {
                name: "summary",
                tokens: measure.real(all.tokens.saturating_sub(each)),
            },
        ];
        if truncation.compacted.is_none() {
            parts.pop();
        }
        parts.retain(|part| part.tokens > 0);
        parts.sort_by_key(|part| std::cmp::Reverse(part.tokens));
        let mut results: Vec<LargeResult> = (0..messages.len())
            .filter(|index| {
                messages[*index].role == Role::Tool && !truncation.results.contains_key(index)
            })
            .map(|message| LargeResult {
                message,
                tokens: measure.real(sent(message)),
            })
            .filter(|result| result.tokens > 0)
            .collect();
        results.sort_by_key(|result| std::cmp::Reverse(result.tokens));
        results.truncate(MOST_RESULTS);
        let window = self.window(&occasion.limits).map(|(tokens, limit)| {
            let asked = occasion
                .limits
                .window
                .filter(|window| window.tokens == tokens);
            ReportedWindow {
                tokens,
                reply: reserve(occasion.agent, tokens),
                source: match (limit, asked.map(|window| window.source)) {
                    (Limit::Refused(_), _) => Source::RefusedMore,
                    (_, Some(WindowSource::Server)) => Source::Server,
                    (_, Some(WindowSource::Configured)) => Source::Configured,
                    (_, Some(WindowSource::Table)) => Source::Table,
                    (_, None) => Source::Refusal,
                },
            }
        });
        let replaced = truncation
            .results
            .values()
            .filter(|cut| **cut == ResultCut::Replaced)
            .count();
        Report {
            model: occasion.agent.model.clone(),
            total: parts.iter().map(|part| part.tokens).sum(),
            parts,
            results,
            instructions: instructions.collect(),
            tools,
            window,
            max_tokens: occasion.limits.max_tokens,
            max_lines: occasion.limits.max_lines,
            turns_left_out: truncation.turns_left_out(messages),
            results_replaced: replaced,
            results_shortened: truncation.results.len() - replaced,
            compacted: truncation
                .compacted
                .as_ref()
                .map_or(0, |compacted| compacted.through),
            counted: measure.about(),
        }
    }
}

/// What a dialogue has cost, as the provider counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// The last turn, without its subagents.
    pub turn: Cost,
    /// Its subagents.
    pub turn_subagents: Cost,
    /// All turns, without their subagents.
    pub all: Cost,
    /// All subagents.
    pub all_subagents: Cost,
}

/// What some requests have cost, as the provider counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Tokens, and what they cost.
    pub charge: Charge,
    /// How many requests.
    pub requests: u32,
}

impl Cost {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Cost) -> Cost {
        Cost {
            charge: self.charge.plus(other.charge),
            requests: self.requests.saturating_add(other.requests),
        }
    }

    /// This without a part of it.
    #[must_use]
    pub fn less(self, part: Cost) -> Cost {
        Cost {
            charge: self.charge.less(part.charge),
            requests: self.requests.saturating_sub(part.requests),
        }
    }
}

impl Spent {
    /// Adds a turn, and what its subagents have cost.
    pub fn add(&mut self, turn: Cost, subagents: Cost) {
        self.turn = turn;
        self.turn_subagents = subagents;
        self.all = self.all.plus(turn);
        self.all_subagents = self.all_subagents.plus(subagents);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use crate::agent::Agent;
    use crate::instructions::{InstructionFile, Instructions};
    use crate::media::samples::picture;
    use crate::media::{MAX_IN_REQUEST, Takes};
    use crate::message::{Conversation, ToolCall, UserMessage};
    use crate::price::Money;
    use crate::provider::plain::Plain;
    use crate::provider::{Dialect, Window};
    use crate::request::{Draft, HistoryLimits};
    use crate::usage::Usage;

    /// A dialect whose model takes images.
    struct Seeing;

    impl Dialect for Seeing {
        fn takes(&self) -> Takes {
            Takes::ALL
        }

        fn body(&self, draft: &Draft<'_>) -> Value {
            Plain.body(draft)
        }
    }

    #[test]
    fn images_that_are_sent_are_a_part_of_their_own() {
        let agent = Agent::sample();
        let parts = |images: usize, dialect: &dyn Dialect| {
            let mut conversation = Conversation::new();
            conversation.push_user(UserMessage {
                media: vec![picture("a.png", 750, 100); images],
                ..UserMessage::from("Look")
            });
            let occasion = Occasion {
                agent: &agent,
                tools: &[],
                dialect,
                limits: HistoryLimits::default(),
            };
            let report = ContextBudget::new().report(conversation.messages(), occasion);
            let parts = report.parts.into_iter();
            parts
                .map(|part| (part.name, part.tokens))
                .collect::<BTreeMap<_, _>>()
        };
        const IMAGES: &str = "images and documents";
        let none = parts(0, &Seeing);
        let one = parts(1, &Seeing);
        assert_eq!((one[IMAGES], one[MESSAGES]), (104, none[MESSAGES]));
        let most = MAX_IN_REQUEST as u64 * one[IMAGES];
        let many = parts(MAX_IN_REQUEST + 5, &Seeing);
        assert_eq!(many[IMAGES], most);
        assert!(many[MESSAGES] > none[MESSAGES], "{many:?}");
        // What is not sent is named.
        let blind = parts(1, &Plain);
        assert_eq!(blind.get(IMAGES), None);
        assert!(blind[MESSAGES] > none[MESSAGES], "{blind:?}");
    }

    #[test]
    fn what_fills_a_request_is_listed_largest_first() {
        let mut conversation = Conversation::new();
        conversation.push_user("Read both");
        let call = |_| ToolCall {
            id: String::new(),
            name: "read_file".to_owned(),
            arguments: serde_json::Map::new(),
            raw_arguments: None,
            number: 0,
        };
        let calls = conversation.push_assistant(Message {
            tool_calls: (0..2).map(call).collect(),
            ..Message::text(Role::Assistant, "")
        });
        conversation.push_result(&calls[0].id, "word ".repeat(100));
        conversation.push_result(&calls[1].id, "word ".repeat(300));
        conversation.push_assistant(Message::text(Role::Assistant, "word ".repeat(50)));
        let mut agent = Agent::sample();
        agent.system_prompt = Some("Be brief".to_owned());
        let file = InstructionFile {
            name: "AGENTS.md".to_owned(),
            text: "Word".to_owned(),
        };
        agent.instructions = Arc::new(Instructions {
            default_prompt: None,
            files: vec![file],
        });
        let mut context_budget = ContextBudget::new();
        let report = context_budget.report(
            conversation.messages(),
            Occasion {
                agent: &agent,
                tools: &[],
                dialect: &Plain,
                limits: HistoryLimits {
                    window: Some(Window {
                        tokens: 4000,
                        source: WindowSource::Configured,
                    }),
                    ..HistoryLimits::default()
                },
            },
        );
        let names: Vec<&str> = report.parts.iter().map(|part| part.name).collect();
        assert_eq!(
            names,
            [
                "results of calls",
                "replies and calls",
                "instructions",
                "your messages",
                "system prompt"
            ]
        );
        let files: Vec<&str> = report
            .instructions
            .iter()
            .map(|(name, _)| &**name)
            .collect();
        assert_eq!(files, ["AGENTS.md"]);
        let system = agent.system_text().unwrap();
        let parts = report.parts.iter();
        let of_system = parts.filter(|it| ["instructions", "system prompt"].contains(&it.name));
        let measure = context_budget.measure();
        assert_eq!(
            of_system.map(|part| part.tokens).sum::<u64>(),
            measure.real(measure.count(&system))
        );
        let results: Vec<usize> = report.results.iter().map(|result| result.message).collect();
        assert_eq!(results, [3, 2]);
        assert_eq!(
            report.window,
            Some(ReportedWindow {
                tokens: 4000,
                reply: 1000,
                source: Source::Configured
            })
        );
        assert_eq!(
            report.total,
            report.parts.iter().map(|part| part.tokens).sum::<u64>()
        );
        assert_eq!(report.counted, "estimated");
    }

    #[test]
    fn turns_add_up() {
        let mut spent = Spent::default();
        let charge = Charge {
            usage: Usage {
                input_tokens: 100,
                cached_tokens: 40,
                written_tokens: 9,
                output_tokens: 7,
            },
            money: Money {
                nano_usd: 1_000,
                incomplete: 0,
            },
        };
        let cost = |requests| Cost { charge, requests };
        spent.add(cost(2), cost(4));
        spent.add(cost(1), Cost::default());
        let all = Cost {
            charge: charge.plus(charge),
            requests: 3,
        };
        assert_eq!((spent.turn, spent.all), (cost(1), all));
        assert_eq!(spent.turn_subagents, Cost::default());
        assert_eq!(spent.all_subagents, cost(4));
    }
}
