//! Chooses how much of a long conversation is sent.
//!
//! Whole turns are left out, oldest first, so that a call never loses its result. The start does
//! not creep forward with every message: once the limit is passed, a quarter of it is freed at one
//! stroke, and the start then stays where it is until the limit is reached again. A start that
//! moves every time would make the provider read the whole history anew with every request.

use std::ops::{AddAssign, SubAssign};

use crate::message::{Message, Role};

/// How much history a request may carry. The last turn is always sent whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// In estimated tokens.
    pub max_tokens: u64,
    /// In lines of text.
    pub max_lines: u64,
}

impl Default for HistoryLimits {
    /// 100,000 tokens fit the windows that are common today with room for the reply; 50,000 lines
    /// only guard against text whose tokens are underestimated.
    fn default() -> HistoryLimits {
        HistoryLimits {
            max_tokens: 100_000,
            max_lines: 50_000,
        }
    }
}

/// How many tokens a text will come to, roughly: four ASCII characters each, others one each. It
/// errs towards more for what is not English.
pub fn estimate_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    // Every character that is not ASCII has exactly one byte that starts it.
    let others = text.bytes().filter(|byte| *byte >= 0xC0).count();
    (ascii.div_ceil(4) + others) as u64
}

/// The index of the first message to send.
pub(super) fn start(messages: &[Message], limits: &HistoryLimits) -> usize {
    let room = Cost {
        tokens: limits.max_tokens - limits.max_tokens / 4,
        lines: limits.max_lines - limits.max_lines / 4,
    };
    let limit = Cost {
        tokens: limits.max_tokens,
        lines: limits.max_lines,
    };

    let turns = turns(messages);
    let mut total = Cost::default();
    let mut first = 0;
    // The cuts of the past are repeated here in their order, which is what keeps them where they
    // were.
    for (index, turn) in turns.iter().enumerate() {
        total += turn.cost;
        if total.exceeds(&limit) {
            while total.exceeds(&room) && first < index {
                total -= turns[first].cost;
                first += 1;
            }
        }
    }
    turns.get(first).map_or(0, |turn| turn.start)
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cost {
    tokens: u64,
    lines: u64,
}

impl Cost {
    fn of(message: &Message) -> Cost {
        /// What the marks around a message come to, in tokens.
        const MESSAGE_TOKENS: u64 = 4;
        let mut cost = Cost {
            tokens: MESSAGE_TOKENS + estimate_tokens(&message.content),
            lines: message.content.lines().count() as u64,
        };
        for call in &message.tool_calls {
            let arguments = serde_json::Value::Object(call.arguments.clone()).to_string();
            cost.tokens +=
                MESSAGE_TOKENS + estimate_tokens(&call.name) + estimate_tokens(&arguments);
            cost.lines += 1;
        }
        cost
    }

    fn exceeds(&self, other: &Cost) -> bool {
        self.tokens > other.tokens || self.lines > other.lines
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.tokens += other.tokens;
        self.lines += other.lines;
    }
}

impl SubAssign for Cost {
    fn sub_assign(&mut self, other: Cost) {
        self.tokens -= other.tokens;
        self.lines -= other.lines;
    }
}

/// Messages from one of the user's up to before the next.
struct HistoryTurn {
    start: usize,
    cost: Cost,
}

fn turns(messages: &[Message]) -> Vec<HistoryTurn> {
    let mut turns: Vec<HistoryTurn> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        match turns.last_mut() {
            Some(turn) if message.role != Role::User => turn.cost += Cost::of(message),
            _ => turns.push(HistoryTurn {
                start: index,
                cost: Cost::of(message),
            }),
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(turns: usize) -> Vec<Message> {
        (0..turns)
            .flat_map(|_| {
                [
                    Message::text(Role::User, "x".repeat(64)),
                    Message::text(Role::Assistant, "y".repeat(64)),
                ]
            })
            .collect()
    }

    #[test]
    fn old_turns_go_in_strides() {
        // Each turn costs 40 tokens, so ten fit.
        let limits = HistoryLimits {
            max_tokens: 400,
            max_lines: 1000,
        };
        for (turns, start_of) in [
            (0, 0),
            (1, 0),
            (10, 0),
            (11, 4),
            (12, 4),
            (13, 4),
            (14, 4),
            (15, 8),
            (18, 8),
            (19, 12),
        ] {
            assert_eq!(
                start(&conversation(turns), &limits),
                start_of * 2,
                "{turns} turns"
            );
        }
    }

    #[test]
    fn the_last_turn_stays_whatever_it_costs() {
        for limits in [
            HistoryLimits {
                max_tokens: 1,
                max_lines: 1000,
            },
            HistoryLimits {
                max_tokens: 1000,
                max_lines: 1,
            },
        ] {
            assert_eq!(start(&conversation(3), &limits), 4);
        }
        assert_eq!(
            start(
                &conversation(1),
                &HistoryLimits {
                    max_tokens: 0,
                    max_lines: 0
                }
            ),
            0
        );
    }

    #[test]
    fn tokens_are_estimated_by_script() {
        for (text, tokens) in [
            ("", 0),
            ("abcd", 1),
            ("abcde", 2),
            ("日本語", 3),
            ("süß", 3),
        ] {
            assert_eq!(estimate_tokens(text), tokens, "{text}");
        }
    }
}
