//! The book that is kept about a dialogue: what each message costs, what of it is not sent any more, and how far the
//! provider's counts are from ours.
//!
//! A message is counted once, when it is first sent. What follows from the counts is kept in [`Cuts`], so that better
//! counts, when they come, move nothing that was sent before: they only say when the room is full next.

use std::borrow::Cow;

use dunlin_host::Tool;

use super::cost::Cost;
use super::cuts::{self, Cuts};
use crate::agent::Agent;
use crate::message::{Message, Role};
use crate::provider::{Dialect, Usage};
use crate::tokens::{self, grouped};

/// How much history a request may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Tokens of the conversation.
    pub max_tokens: u64,
    /// Lines of the conversation.
    pub max_lines: u64,
    /// Tokens that the model can read and write together; `None`: not known.
    pub window: Option<u64>,
}

impl Default for HistoryLimits {
    /// 100,000 tokens fit the windows that are common today with room for the reply; 50,000 lines
    /// only guard against text whose tokens are underestimated.
    fn default() -> HistoryLimits {
        HistoryLimits {
            max_tokens: 100_000,
            max_lines: 50_000,
            window: None,
        }
    }
}

/// Which limit is the one that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`HistoryLimits::max_tokens`].
    Tokens(u64),
    /// [`HistoryLimits::max_lines`].
    Lines(u64),
    /// [`HistoryLimits::window`].
    Window(u64),
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Tokens(limit) => write!(f, "max_history_tokens is {}", grouped(*limit)),
            Limit::Lines(limit) => write!(f, "max_history_lines is {}", grouped(*limit)),
            Limit::Window(limit) => write!(f, "the model's window has {} tokens", grouped(*limit)),
        }
    }
}

/// Why no request can be made: what must be sent does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// Tokens of the conversation, when all has been cut that can be.
    pub tokens: u64,
    /// Its lines.
    pub lines: u64,
    /// Tokens that the system prompt and the tools take of the window besides.
    pub fixed: u64,
    /// What it goes beyond.
    pub limit: Limit,
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the last turn alone ")?;
        match self.limit {
            Limit::Lines(_) => write!(f, "has {} lines", grouped(self.lines))?,
            Limit::Tokens(_) | Limit::Window(_) => {
                write!(f, "comes to about {} tokens", grouped(self.tokens))?;
            }
        }
        write!(f, ", and {}", self.limit)?;
        match (self.limit, self.fixed) {
            (Limit::Window(_), 1..) => {
                let fixed = grouped(self.fixed);
                write!(
                    f,
                    ", {fixed} of them taken by the system prompt and the tools"
                )
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for TooLong {}

impl TooLong {
    /// The way out.
    pub fn hint(&self) -> String {
        let raise = match self.limit {
            Limit::Tokens(_) => "max_history_tokens under [limits] can be raised",
            Limit::Lines(_) => "max_history_lines under [limits] can be raised",
            Limit::Window(_) => "a model with a larger window could read it",
        };
        format!(
            "your message is kept; /context shows what takes the room, /clear begins afresh, and {raise}"
        )
    }
}

/// The book of one dialogue.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    entries: Vec<Entry>,
    /// Whether the entries count the model's reasoning.
    echoes_reasoning: bool,
    cuts: Cuts,
    calibration: Calibration,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    mark: Mark,
    cost: Cost,
}

/// Tells messages apart without reading them.
type Mark = (Role, usize, usize);

fn mark(message: &Message) -> Mark {
    (
        message.role,
        message.content.len(),
        message.tool_calls.len(),
    )
}

/// A conversation as it is sent.
#[derive(Debug)]
pub struct Fitted<'a> {
    /// Its messages.
    pub messages: Vec<Cow<'a, Message>>,
    /// What is to be said about it, if other things are left out than the last time.
    pub notice: Option<String>,
}

impl Ledger {
    /// An empty book.
    pub fn new() -> Ledger {
        Ledger::default()
    }

    /// Forgets the conversation. What was learned about the provider's counts stays.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.cuts = Cuts::default();
    }

    /// What is not sent.
    pub fn cuts(&self) -> &Cuts {
        &self.cuts
    }

    /// Cuts the conversation so that it fits, beside what the agent says first and which tools it has.
    ///
    /// # Errors
    /// The last turn alone does not fit; then nothing is changed.
    pub fn fit<'a>(
        &mut self,
        messages: &'a [Message],
        agent: &Agent,
        tools: &[Tool],
        dialect: &dyn Dialect,
        limits: &HistoryLimits,
    ) -> Result<Fitted<'a>, TooLong> {
        self.count(messages, dialect.echoes_reasoning());
        let costs: Vec<Cost> = self.entries.iter().map(|entry| entry.cost).collect();
        let fixed = fixed_tokens(agent, tools);
        let (room, limit) = self.room(agent, fixed, limits);
        let cuts = cuts::fit(messages, &costs, room, &self.cuts).map_err(|error| {
            let is_lines = error.needs.tokens <= room.tokens;
            TooLong {
                tokens: self.calibration.real(error.needs.tokens),
                lines: error.needs.lines,
                fixed: self.calibration.real(fixed),
                limit: if is_lines {
                    Limit::Lines(limits.max_lines)
                } else {
                    limit
                },
            }
        })?;
        let before = self.cuts.total(messages, &costs);
        let limit = if before.tokens > room.tokens {
            limit
        } else {
            Limit::Lines(limits.max_lines)
        };
        let notice = (cuts != self.cuts).then(|| notice(&cuts, messages, limit));
        self.calibration.estimated = fixed + cuts.total(messages, &costs).tokens;
        self.cuts = cuts;
        Ok(Fitted {
            messages: self.cuts.apply(messages),
            notice,
        })
    }

    /// Takes note of what the provider counted for the request that was made last.
    pub fn measured(&mut self, usage: Usage) {
        self.calibration.measured(usage.input_tokens);
    }

    /// Counts the messages that are new.
    fn count(&mut self, messages: &[Message], echoes_reasoning: bool) {
        if echoes_reasoning != self.echoes_reasoning {
            self.echoes_reasoning = echoes_reasoning;
            self.entries.clear();
        }
        // A conversation that was cut back and went on otherwise.
        let same = |(entry, message): &(&Entry, &Message)| entry.mark == mark(message);
        let known = self.entries.iter().zip(messages).take_while(same).count();
        self.entries.truncate(known);
        self.cuts.truncate(messages.len());
        for message in &messages[known..] {
            self.entries.push(Entry {
                mark: mark(message),
                cost: Cost::of(message, echoes_reasoning, tokens::estimate),
            });
        }
    }

    /// The room for the conversation in our own counts, and which limit it comes from.
    fn room(&self, agent: &Agent, fixed: u64, limits: &HistoryLimits) -> (Cost, Limit) {
        let of_history = self.calibration.ours(limits.max_tokens);
        let of_window = limits.window.map(|window| {
            let reply = reserve(agent, window);
            let room = self
                .calibration
                .ours(window.saturating_sub(reply))
                .saturating_sub(fixed);
            (room, Limit::Window(window))
        });
        let (tokens, limit) = match of_window {
            Some((room, limit)) if room < of_history => (room, limit),
            _ => (of_history, Limit::Tokens(limits.max_tokens)),
        };
        let lines = limits.max_lines;
        (Cost { tokens, lines }, limit)
    }
}

/// What is kept free in the window for the reply. Without a limit of its own a reply gets a quarter of a small window,
/// and of a large one what is enough for a long file.
fn reserve(agent: &Agent, window: u64) -> u64 {
    const LONG_REPLY: u64 = 8_192;
    let reply = agent.max_tokens.map_or(LONG_REPLY, u64::from);
    reply.min(window / 4)
}

/// What stands before every conversation, in our own counts.
fn fixed_tokens(agent: &Agent, tools: &[Tool]) -> u64 {
    let prompt = agent.system_prompt.as_deref().unwrap_or_default();
    let tools = tools.iter().filter(|tool| agent.may_use(&tool.name));
    tokens::estimate(prompt) + tools.map(tool_tokens).sum::<u64>()
}

/// What the declaration of a tool comes to, in our own counts.
pub fn tool_tokens(tool: &Tool) -> u64 {
    /// The marks around a declaration.
    const MARKS: u64 = 12;
    let parameters = tool.parameters.to_string();
    MARKS
        + tokens::estimate(&tool.name)
        + tokens::estimate(&tool.description)
        + tokens::estimate(&parameters)
}

/// What there is to say about what is not sent.
fn notice(cuts: &Cuts, messages: &[Message], limit: Limit) -> String {
    let results = cuts.results.len();
    let turns = cuts.turns_left_out(messages);
    let count = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{} {many}", grouped(number as u64))),
    };
    let parts = [
        count(results, "old tool result", "old tool results"),
        count(turns, "turn", "turns"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let is = if results + turns == 1 { "is" } else { "are" };
    format!("· {} {is} not sent ({limit})", parts.join(" and "))
}

/// How far the provider's counts are from ours.
#[derive(Debug, Clone, Copy)]
struct Calibration {
    /// Their tokens for a thousand of ours.
    per_mille: u64,
    /// Our count for the last request.
    estimated: u64,
}

impl Default for Calibration {
    fn default() -> Calibration {
        Calibration {
            per_mille: 1000,
            estimated: 0,
        }
    }
}

impl Calibration {
    /// What is believed of a provider that counts otherwise than we do. Beyond that its count is no count of what was
    /// sent: some leave out what they had read before, some cut the request in silence.
    const CREDIBLE: std::ops::RangeInclusive<u64> = 500..=3000;

    /// Requests below this are mostly marks, and say nothing about text.
    const ENOUGH: u64 = 200;

    fn measured(&mut self, counted: u64) {
        if self.estimated < Self::ENOUGH {
            return;
        }
        let per_mille = counted.saturating_mul(1000) / self.estimated;
        if Self::CREDIBLE.contains(&per_mille) {
            self.per_mille = per_mille;
        }
    }

    /// Our count of what they count.
    fn ours(self, theirs: u64) -> u64 {
        scaled(theirs, 1000, self.per_mille)
    }

    /// Their count of what we count.
    fn real(self, ours: u64) -> u64 {
        scaled(ours, self.per_mille, 1000)
    }
}

fn scaled(value: u64, by: u64, of: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(by) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
