//! The book that is kept about a dialogue: what each message costs, what of it is not sent any more, and how far the
//! provider's counts are from ours.
//!
//! [`Measure`] counts; [`truncation::fit`] decides.
//!
//! A message is counted once, when it is first sent. What follows from the counts is kept in [`Truncation`], so that better
//! counts, when they come, move nothing that was sent before: they only say when the context limit is reached next.

use std::borrow::Cow;

use bytes::Bytes;
use dunlin_host::Tool;

use super::carried::{self, MediaBudget};
use super::compact::{self, Compacting};
use super::cost::Cost;
use super::limits::{HistoryLimits, Limit, TooLong};
use super::measure::Measure;
use super::truncation::{self, Compacted, Truncation};
use super::verdicts::Verdicts;
use crate::agent::Agent;
use crate::media::Takes;
use crate::message::{Message, Role};
use crate::provider::{Dialect, Usage};
use crate::tokens::counted;
use dunlin_host::display::grouped;

/// The book of one dialogue.
#[derive(Debug, Clone, Default)]
pub struct ContextBudget {
    entries: Vec<Entry>,
    /// Whether the entries count the model's reasoning.
    echoes_reasoning: bool,
    truncation: Truncation,
    measure: Measure,
    /// What stood before the conversation in the last request, in our own counts.
    fixed: u64,
    /// What the server has refused to go beyond.
    refused: Option<Refused>,
    /// The turn for which a summary was asked for in vain.
    not_compacted: Option<usize>,
    /// What the server has read last.
    last_sent: Option<Bytes>,
    /// What the server made of pictures and documents.
    pub verdicts: Verdicts,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    mark: Mark,
    text: Cost,
    /// The pictures and documents that are sent.
    media: Cost,
    /// The notes about those that are not.
    notes: Cost,
}

/// Tells messages apart without reading them.
type Mark = (Role, [usize; 4]);

fn mark(message: &Message) -> Mark {
    let media = message.media.iter().map(|media| media.base64().len());
    let counts = [
        message.content.len(),
        message.tool_calls.len(),
        message.media.len(),
        media.sum(),
    ];
    (message.role, counts)
}

#[derive(Debug, Clone, Copy)]
struct Refused {
    tokens: u64,
    /// Whether the server has named the number.
    is_told: bool,
}

/// What a request is made for.
#[derive(Clone, Copy)]
pub struct Occasion<'a> {
    pub agent: &'a Agent,
    /// All tools there are; the agent's list picks from them.
    pub tools: &'a [Tool],
    /// How it is written.
    pub dialect: &'a dyn Dialect,
    /// What it may carry.
    pub limits: HistoryLimits,
}

impl Occasion<'_> {
    /// The tools that are offered.
    pub fn offered(&self) -> impl Iterator<Item = &Tool> {
        // To describe them takes about as much as to offer them.
        let is_told = self.dialect.offers_tools() || self.dialect.describes_tools();
        let tools = if is_told { self.tools } else { &[] };
        let tools = tools.iter();
        tools.filter(|tool| self.agent.is_offered(&tool.name))
    }
}

/// A conversation as it is sent.
#[derive(Debug)]
pub struct Fitted<'a> {
    pub messages: Vec<Cow<'a, Message>>,
    /// What is to be said about it, if other things are left out than the last time.
    pub notice: Option<String>,
}

impl ContextBudget {
    /// An empty book.
    pub fn new() -> ContextBudget {
        ContextBudget::default()
    }

    /// Forgets the conversation. What was learned about the server stays.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.truncation = Truncation::default();
        self.not_compacted = None;
        self.verdicts = Verdicts::default();
    }

    /// Forgets what is known of the messages from this one on: they are no more.
    pub fn truncate(&mut self, count: usize) {
        self.entries.truncate(count);
        self.truncation.truncate(count);
        self.not_compacted = None;
    }

    /// Forgets what was learned about the server: another one answers.
    pub fn moved(&mut self) {
        self.measure = Measure::default();
        self.refused = None;
        self.last_sent = None;
        self.verdicts = Verdicts::default();
    }

    /// Takes note that the server has accepted a request with these bytes.
    pub fn sent(&mut self, bytes: &Bytes) {
        self.last_sent = Some(bytes.clone());
    }

    /// The bytes of the request that the server has accepted last.
    pub fn last_sent(&self) -> Option<&Bytes> {
        self.last_sent.as_ref()
    }

    /// Takes note that the request that was made last is sent otherwise, with so many tokens in our own counts.
    pub fn edited(&mut self, tokens: u64) {
        self.measure.sends(tokens);
    }

    /// What is not sent.
    pub fn truncation(&self) -> &Truncation {
        &self.truncation
    }

    /// How is counted.
    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    /// What each message comes to, as far as they were counted.
    pub fn costs(&self) -> Vec<Cost> {
        let each = self.entries.iter();
        each.map(|entry| entry.text + entry.media + entry.notes)
            .collect()
    }

    /// What the pictures and documents of a message come to that are sent.
    pub(super) fn media(&self, index: usize) -> Cost {
        let entry = self.entries.get(index);
        entry.map(|entry| entry.media).unwrap_or_default()
    }

    /// Truncates the conversation so that it fits, beside what the agent says first and which tools it has.
    ///
    /// # Errors
    /// The last turn alone does not fit; then nothing is changed.
    pub fn fit<'a>(
        &mut self,
        messages: &'a [Message],
        occasion: Occasion<'_>,
    ) -> Result<Fitted<'a>, TooLong> {
        self.count(messages, occasion);
        let costs = self.costs();
        let fixed = self.fixed(occasion);
        let (available, limit) = self.available(occasion, fixed);
        let lines = Limit::Lines(occasion.limits.max_lines);
        let before = self.truncation.total(messages, &costs);
        // Exact counts are for those who need them.
        if before.tokens > available.tokens / 2 {
            self.measure.sharpen();
        }
        let truncation =
            truncation::fit(messages, &costs, available, &self.truncation).map_err(|error| {
                TooLong {
                    tokens: self.measure.real(error.needs.tokens),
                    lines: error.needs.lines,
                    fixed: self.measure.real(fixed),
                    limit: if error.needs.tokens > available.tokens {
                        limit
                    } else {
                        lines
                    },
                }
            })?;
        let limit = if before.tokens > available.tokens {
            limit
        } else {
            lines
        };
        let notice = (truncation != self.truncation).then(|| notice(&truncation, messages, limit));
        self.measure
            .sends(fixed + truncation.total(messages, &costs).tokens);
        self.fixed = fixed;
        self.truncation = truncation;
        let mut messages = self.truncation.apply(messages);
        let budget = MediaBudget::new(occasion.dialect.takes(), Some(&self.verdicts));
        carried::fit(&mut messages, budget);
        Ok(Fitted { messages, notice })
    }

    /// Takes note of what the provider counted for the request that was made last.
    pub fn measured(&mut self, usage: Usage) {
        self.measure.measured(usage.input_tokens);
    }

    /// Takes note that the request that was made last was too long for the model: it came to `needed` tokens and
    /// `window` would have fitted, as far as the server says so.
    pub fn overflowed(&mut self, needed: Option<u64>, window: Option<u64>) {
        let sent = self.measure.sent();
        self.measure.measured(needed.unwrap_or_default());
        let refused = match window {
            Some(window) => {
                // It has counted more than its limit.
                self.measure.at_least(window.saturating_add(window / 10));
                Refused {
                    tokens: window,
                    is_told: true,
                }
            }
            // Only the conversation can give way: half of it does, and the request is shorter whatever else it carries.
            None => Refused {
                tokens: sent - sent.saturating_sub(self.measure.real(self.fixed)) / 2,
                is_told: false,
            },
        };
        self.refused = Some(refused);
    }

    /// What is to be summed up before the next request, if the limits want it so; `by_hand`: the user does.
    pub fn compacting(
        &mut self,
        messages: &[Message],
        occasion: Occasion<'_>,
        by_hand: bool,
    ) -> Option<Compacting> {
        self.count(messages, occasion);
        let costs = self.costs();
        let (available, _) = self.available(occasion, self.fixed(occasion));
        let turn = messages
            .iter()
            .rposition(|message| message.role == Role::User)?;
        let through = if by_hand {
            // A turn that is all there is counts as past.
            if turn > self.truncation.start {
                turn
            } else {
                messages.len()
            }
        } else {
            let share = occasion.limits.compact_at?;
            let full = self.truncation.total(messages, &costs);
            if self.not_compacted == Some(turn) || !full.exceeds(available.share(share, 1000)) {
                return None;
            }
            self.compactable(messages, &costs, turn, available)?
        };
        if through <= self.truncation.start {
            return None;
        }
        let sent = self.truncation.apply(messages.get(..through)?);
        let request = compact::request(&sent, occasion.agent, occasion.dialect);
        let asked = self.measure.count(&request.body().to_string());
        let window = self.window(&occasion.limits);
        let fits = window.is_none_or(|(window, _)| {
            let reply = reserve(occasion.agent, window);
            self.measure.real(asked).saturating_add(reply) <= window
        });
        fits.then_some(Compacting {
            through,
            count: through - self.truncation.start,
            request,
        })
    }

    /// Where the last third of the context limit begins, at the beginning of a turn; `None`: compacting would free little.
    fn compactable(
        &self,
        messages: &[Message],
        costs: &[Cost],
        last: usize,
        available: Cost,
    ) -> Option<usize> {
        let cost = |range: std::ops::Range<usize>| -> Cost {
            let each =
                range.filter_map(|index| Some((index, messages.get(index)?, costs.get(index)?)));
            each.map(|(index, message, cost)| self.truncation.cost(index, message, *cost))
                .sum()
        };
        let begins = |index: &usize| messages[*index].role == Role::User;
        let kept = available.share(1, 3);
        let mut turns = (self.truncation.start + 1..last).filter(begins);
        let through = turns
            .find(|index| !cost(*index..messages.len()).exceeds(kept))
            .unwrap_or(last);
        let freed = cost(0..through);
        freed.exceeds(available.share(1, 4)).then_some(through)
    }

    /// Lets a summary stand for messages. What is to be said about it.
    pub fn compacted(&mut self, compacted: Compacted) -> String {
        let words = compacted.summary.split_whitespace().count();
        self.truncation.compact(compacted);
        let left_out = self.truncation.left_out();
        let count = counted(left_out, "message is", "messages are");
        let words = counted(words, "word", "words");
        format!("· {count} compacted into {words} for the model")
    }

    /// No summary could be had; it is not asked for again in this turn.
    pub fn not_compacted(&mut self, messages: &[Message]) {
        self.not_compacted = messages
            .iter()
            .rposition(|message| message.role == Role::User);
    }

    /// Takes over a stored summary of these messages, unless it cannot be one.
    pub fn restore(&mut self, compacted: Compacted, messages: &[Message]) {
        let next = messages.get(compacted.through).map(|message| message.role);
        if compacted.through <= messages.len() && next.is_none_or(|role| role == Role::User) {
            self.truncation.compact(compacted);
        }
    }

    /// The summary that stands for the beginning.
    pub fn summary(&self) -> Option<&Compacted> {
        self.truncation.compacted.as_ref()
    }

    /// Counts the messages that are new.
    fn count(&mut self, messages: &[Message], occasion: Occasion<'_>) {
        if self.measure.is_for(&occasion.agent.model) {
            self.refused = None;
        }
        let echoes_reasoning = occasion.dialect.echoes_reasoning();
        // A conversation that was cut back and went on otherwise.
        let same = |(entry, message): &(&Entry, &Message)| entry.mark == mark(message);
        let known = self.entries.iter().zip(messages).take_while(same).count();
        if known < self.entries.len() {
            self.truncate(known);
        }
        let is_sharper = self.measure.is_sharper();
        let measure = &self.measure;
        let text = |message: &Message| {
            Cost::of_text(message, echoes_reasoning, |text| measure.count(text))
        };
        if is_sharper || echoes_reasoning != self.echoes_reasoning {
            self.echoes_reasoning = echoes_reasoning;
            for (entry, message) in self.entries.iter_mut().zip(messages) {
                entry.text = text(message);
            }
        }
        let new = messages.iter().skip(known).map(|message| Entry {
            mark: mark(message),
            text: text(message),
            media: Cost::default(),
            notes: Cost::default(),
        });
        self.entries.extend(new);
        self.count_media(messages, occasion.dialect.takes());
    }

    /// Counts what stands beside the texts. What of it is sent depends on the endpoint and on what follows.
    fn count_media(&mut self, messages: &[Message], takes: Takes) {
        let mut budget = MediaBudget::new(takes, Some(&self.verdicts));
        for (index, (entry, message)) in self.entries.iter_mut().zip(messages).enumerate().rev() {
            (entry.media, entry.notes) = (Cost::default(), Cost::default());
            // Where a result is cut nothing is left beside its text.
            if !self.truncation.sends(index) || self.truncation.results.contains_key(&index) {
                continue;
            }
            for media in message.media.iter().rev() {
                match budget.take(media) {
                    Ok(()) => entry.media += Cost::of_media(media),
                    Err(why) => {
                        entry.notes += Cost {
                            tokens: self.measure.count(&why.note(media)),
                            lines: 1,
                        }
                    }
                }
            }
        }
    }

    /// The context window that is reckoned with, and which limit that is; nothing for an endpoint that says nothing.
    pub fn window(&self, limits: &HistoryLimits) -> Option<(u64, Limit)> {
        let known = limits
            .window
            .map(|window| (window.tokens, Limit::Window(window.tokens)));
        let refused = self.refused.map(|refused| match refused.is_told {
            true => (refused.tokens, Limit::Window(refused.tokens)),
            false => (refused.tokens, Limit::Refused(refused.tokens)),
        });
        known
            .into_iter()
            .chain(refused)
            .min_by_key(|(tokens, _)| *tokens)
    }

    /// The context limit of the conversation in our own counts, and where it comes from.
    pub fn available(&self, occasion: Occasion<'_>, fixed: u64) -> (Cost, Limit) {
        let limits = &occasion.limits;
        let of_history = self.measure.ours(limits.max_tokens).saturating_sub(fixed);
        let of_window = self.window(limits).map(|(window, limit)| {
            let reply = match limit {
                // Of a context window that is only guessed at nothing is known to be for the reply.
                Limit::Refused(_) => 0,
                _ => reserve(occasion.agent, window),
            };
            let available = self
                .measure
                .ours(window.saturating_sub(reply))
                .saturating_sub(fixed);
            (available, limit)
        });
        let (tokens, limit) = match of_window {
            Some((available, limit)) if available < of_history => (available, limit),
            _ => (of_history, Limit::Tokens(limits.max_tokens)),
        };
        let lines = limits.max_lines;
        (Cost { tokens, lines }, limit)
    }

    /// What stands before every conversation, in our own counts.
    pub fn fixed(&self, occasion: Occasion<'_>) -> u64 {
        let prompt = occasion.agent.system_text().unwrap_or_default();
        let tools = occasion.offered().map(|tool| self.measure.tool(tool));
        self.measure.count(&prompt) + tools.sum::<u64>()
    }
}

/// What is kept free in the context window for the reply. Without a limit of its own a reply gets a quarter of a small
/// window, and of a large one what is enough for a long file.
pub fn reserve(agent: &Agent, window: u64) -> u64 {
    const LONG_REPLY: u64 = 8_192;
    let reply = agent.max_tokens.map_or(LONG_REPLY, u64::from);
    reply.min(window / 4)
}

/// What there is to say about what is not sent.
fn notice(truncation: &Truncation, messages: &[Message], limit: Limit) -> String {
    let results = truncation.results.len();
    let turns = truncation.turns_left_out(messages);
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

#[cfg(test)]
#[path = "context_budget_tests.rs"]
mod tests;
