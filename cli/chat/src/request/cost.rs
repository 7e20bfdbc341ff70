//! How much of the limit a message takes.

use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::media::Media;
use crate::message::Message;

/// Tokens and lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Tokens, as counted here.
    pub tokens: u64,
    /// Lines of text; a call is one.
    pub lines: u64,
}

/// What the marks around a message come to, in tokens.
const MARKS: u64 = 4;

impl Cost {
    /// What a message comes to, if all of it is sent. `count` counts tokens; `echoes_reasoning`: whether reasoning goes back to
    /// the provider.
    pub fn of(message: &Message, echoes_reasoning: bool, count: impl Fn(&str) -> u64) -> Cost {
        let media = message.media.iter().map(Cost::of_media);
        Cost::of_text(message, echoes_reasoning, count) + media.sum()
    }

    /// What a picture or a document comes to.
    pub fn of_media(media: &Media) -> Cost {
        Cost {
            tokens: MARKS + media.about().tokens(),
            lines: 1,
        }
    }

    /// What a message comes to without its pictures and documents.
    pub fn of_text(message: &Message, echoes_reasoning: bool, count: impl Fn(&str) -> u64) -> Cost {
        let mut cost = Cost {
            tokens: MARKS + count(&message.content),
            lines: message.content.lines().count() as u64,
        };
        for call in &message.tool_calls {
            let arguments = serde_json::Value::Object(call.arguments.clone()).to_string();
            cost.tokens += MARKS + count(&call.name) + count(&arguments);
            cost.lines += 1;
        }
        if let Some(reasoning) = &message.reasoning
            && echoes_reasoning
            && (!message.tool_calls.is_empty() || message.replay.is_some())
        {
            cost.tokens += MARKS + count(&reasoning.text);
            cost.lines += reasoning.text.lines().count() as u64;
        }
        cost
    }

    /// Whether either is more than in `limit`.
    pub fn exceeds(self, limit: Cost) -> bool {
        self.tokens > limit.tokens || self.lines > limit.lines
    }

    /// Three quarters of both.
    #[must_use]
    pub fn three_quarters(self) -> Cost {
        Cost {
            tokens: self.tokens - self.tokens / 4,
            lines: self.lines - self.lines / 4,
        }
    }

    /// The `part`th of `whole` parts, rounded up.
    #[must_use]
    pub fn share(self, part: u64, whole: u64) -> Cost {
        let share = |value: u64| {
            let share = (u128::from(value) * u128::from(part)).div_ceil(u128::from(whole.max(1)));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        Cost {
            tokens: share(self.tokens),
            lines: share(self.lines),
        }
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            tokens: self.tokens.saturating_add(other.tokens),
            lines: self.lines.saturating_add(other.lines),
        }
    }
}

impl Sub for Cost {
    type Output = Cost;

    fn sub(self, other: Cost) -> Cost {
        Cost {
            tokens: self.tokens.saturating_sub(other.tokens),
            lines: self.lines.saturating_sub(other.lines),
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

impl SubAssign for Cost {
    fn sub_assign(&mut self, other: Cost) {
        *self = *self - other;
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), Add::add)
    }
}
