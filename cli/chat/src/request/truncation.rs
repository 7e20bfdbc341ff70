//! What of a long conversation is not sent.
//!
//! [`Truncation`] lies over the messages and never changes them. [`fit`] makes it larger when the limit is reached, in this
//! order, and stops as soon as the conversation fits:
//!
//! 1. results of tools in earlier turns are replaced by a line that says what was there, oldest first;
//! 2. earlier turns are left out whole, oldest first, but for the first message of the user: it mostly says what
//!    all of it is about (unless it alone would take an eighth of the limit);
//! 3. results in the last turn are replaced, oldest first, but for those that the model has not answered to yet;
//! 4. these are sent in part, both ends of them.
//!
//! What is left then, the system prompt, the last message of the user and all that the model said after it, is
//! never cut. A call never loses its result: what is replaced stays a result, and turns go whole.
//!
//! A truncation stays where it is. Once the limit is reached a quarter of it is freed at once, and nothing changes until
//! it is full again: providers and local servers keep what they have read by its beginning, and a beginning that
//! changes every time would be read anew every time.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cost::Cost;
use crate::media::Media;
use crate::message::{Message, Role};

/// What a replaced result comes to, at most.
const PLACEHOLDER: Cost = Cost {
    tokens: 64,
    lines: 1,
};

/// What the note about what is left out comes to, at most.
const NOTE: Cost = Cost {
    tokens: 40,
    lines: 2,
};

/// A result is replaced only if that frees so much.
const WORTH_REPLACING: Cost = Cost {
    tokens: 16,
    lines: 16,
};

/// The least of a result that is sent in part, in bytes.
const LEAST_PART: usize = 512;

/// The first message stays unless it takes more than this part of the limit.
const FIRST_PART: u64 = 8;

/// What is not sent. Indices are those of the conversation's messages, which only ever grow in number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// The first message that is sent, beside the first of the user's. Always the beginning of a turn.
    pub start: usize,
    /// Whether the very first message is sent although it lies before `start`.
    pub keeps_first: bool,
    /// Results that are not sent whole.
    pub results: BTreeMap<usize, ResultCut>,
    /// What stands for messages that are left out, where the model has summed them up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<Compacted>,
}

/// Messages that the model has summed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// They are those before this index.
    pub through: usize,
    /// What the model says of them.
    pub summary: String,
}

/// How a result is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultCut {
    /// As a line that says what was there.
    Replaced,
    /// Both ends of it, together so many bytes.
    Ends(usize),
}

/// Why a request cannot be made to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoesNotFit {
    /// What is left when all has been cut that can be.
    pub needs: Cost,
}

impl Truncation {
    /// Whether everything is sent.
    pub fn is_empty(&self) -> bool {
        self.start == 0 && self.results.is_empty()
    }

    /// How many messages are left out.
    pub fn left_out(&self) -> usize {
        self.start - usize::from(self.keeps_first && self.start > 0)
    }

    /// How many turns of these messages are left out; of the first one the user's message may be sent.
    pub fn turns_left_out(&self, messages: &[Message]) -> usize {
        let before = messages.get(..self.start).unwrap_or_default();
        match self.left_out() {
            0 => 0,
            _ => before.iter().filter(|it| it.role == Role::User).count(),
        }
    }

    /// Whether this message is sent, whole or not.
    pub fn sends(&self, index: usize) -> bool {
        index >= self.start || (index == 0 && self.keeps_first)
    }

    /// Forgets what was decided about messages that are no more; there are `count` now.
    pub fn truncate(&mut self, count: usize) {
        self.results.split_off(&count);
        if self.start > count {
            *self = Truncation::default();
        }
    }

    /// Lets a summary stand for the messages that it sums up.
    pub fn compact(&mut self, compacted: Compacted) {
        self.start = self.start.max(compacted.through);
        self.keeps_first = false;
        self.results = self.results.split_off(&self.start);
        self.compacted = Some(compacted);
    }

    /// What is sent of a message, in the measure of the limit; `cost` is that of the whole message.
    pub fn cost(&self, index: usize, message: &Message, cost: Cost) -> Cost {
        if !self.sends(index) {
            return Cost::default();
        }
        match self
            .results
            .get(&index)
            .filter(|_| message.role == Role::Tool)
        {
            None => cost,
            Some(ResultCut::Replaced) => PLACEHOLDER,
            // The ends may be denser than the rest.
            Some(cut @ ResultCut::Ends(bytes)) => {
                let share = cost.share(*bytes as u64, message.content.len() as u64);
                let ends = Cost::of(&cut.apply(message), false, crate::tokens::estimate);
                Cost {
                    tokens: ends.tokens.max(share.tokens),
                    lines: ends.lines,
                }
            }
        }
    }

    /// What stands between the messages, in the measure of the limit.
    fn note_cost(&self) -> Cost {
        match &self.compacted {
            _ if self.left_out() == 0 => Cost::default(),
            None => NOTE,
            Some(compacted) => {
                let message = Message::text(Role::User, compacted.summary.as_str());
                NOTE + NOTE + Cost::of(&message, false, crate::tokens::estimate)
            }
        }
    }

    /// All that is sent of the conversation, in the measure of the limit. `costs` belong to `messages`.
    pub fn total(&self, messages: &[Message], costs: &[Cost]) -> Cost {
        let each = messages.iter().zip(costs).enumerate();
        let sum: Cost = each
            .map(|(index, (message, cost))| self.cost(index, message, *cost))
            .sum();
        sum + self.note_cost()
    }

    /// The messages as they are sent. Equal input gives equal output, and more messages under the same cuts give
    /// an output that begins alike.
    pub fn apply<'a>(&self, messages: &'a [Message]) -> Vec<Cow<'a, Message>> {
        let mut sent = Vec::with_capacity(messages.len().saturating_sub(self.left_out()));
        let note = self.note();
        for (index, message) in messages
            .iter()
            .enumerate()
            .filter(|(index, _)| self.sends(*index))
        {
            let mut message = Cow::Borrowed(message);
            if let Some(cut) = self.results.get(&index)
                && message.role == Role::Tool
            {
                message = Cow::Owned(cut.apply(&message));
            }
            // The note belongs to the user: a message of its own would stand where many templates allow none.
            if let Some(note) = note.as_ref().filter(|_| index == self.start) {
                let message = message.to_mut();
                message.content = format!("{note}\n\n{}", message.content);
            }
            sent.push(message);
        }
        sent
    }

    fn note(&self) -> Option<String> {
        let count = self.left_out();
        if count == 0 {
            return None;
        }
        let messages = if count == 1 {
            "message is"
        } else {
            "messages are"
        };
        let Some(Compacted { through, summary }) = &self.compacted else {
            return Some(format!(
                "[{count} earlier {messages} left out here: the conversation has become too long.]"
            ));
        };
        let which = match count.saturating_sub(*through) {
            0 => "them".to_owned(),
            _ => format!("the first {through} of them"),
        };
        Some(format!(
            "[{count} earlier {messages} left out here. This is your own summary of {which}:]\n\n{summary}\n\n\
             [The conversation continues.]"
        ))
    }
}

impl ResultCut {
    fn apply(self, message: &Message) -> Message {
        let name = message.name.as_deref().unwrap_or("the tool");
        let content = &message.content;
        let content = match self {
            ResultCut::Replaced if !message.media.is_empty() => {
                let media: Vec<String> = message.media.iter().map(Media::to_string).collect();
                format!(
                    "[The result of {name} is left out here, so that the rest fits: {}]",
                    media.join(" ")
                )
            }
            ResultCut::Replaced => {
                let size = content.len();
                format!(
                    "[The result of {name} is left out here: {size} bytes. Call it again if you need it.]"
                )
            }
            ResultCut::Ends(bytes) => {
                let head = content.floor_char_boundary(bytes.div_ceil(2));
                let tail = content.ceil_char_boundary(content.len().saturating_sub(bytes / 2));
                let (first, last) = (&content[..head], &content[tail.max(head)..]);
                let between = content.len() - first.len() - last.len();
                format!(
                    "{first}\n[… {between} bytes are left out here: the result is too long …]\n{last}"
                )
            }
        };
        Message {
            content,
            media: Vec::new(),
            ..message.clone()
        }
    }
}

/// Truncates so much that the messages fit; the same truncation where they fit already. `costs` belong to
/// `messages`.
///
/// # Errors
/// The last turn alone does not fit, even with its results cut.
pub fn fit(
    messages: &[Message],
    costs: &[Cost],
    limit: Cost,
    truncation: &Truncation,
) -> Result<Truncation, DoesNotFit> {
    let mut fitting = Fitting {
        messages,
        costs,
        total: truncation.total(messages, costs),
        truncation: truncation.clone(),
    };
    if !fitting.total.exceeds(limit) {
        return Ok(fitting.truncation);
    }
    let enough = limit.three_quarters();
    let turn = last(messages, Role::User).max(fitting.truncation.start);
    let round = last(messages, Role::Assistant).max(turn);
    fitting.replace_results(fitting.truncation.start..turn, enough);
    fitting.leave_out_turns(turn, limit, enough);
    if fitting.total.exceeds(limit) {
        fitting.replace_results(turn..round, enough);
    }
    if fitting.total.exceeds(limit) {
        fitting.shorten_results(round, limit);
    }
    if fitting.total.exceeds(limit) {
        return Err(DoesNotFit {
            needs: fitting.total,
        });
    }
    Ok(fitting.truncation)
}

/// The last message of this role; 0 without one.
fn last(messages: &[Message], role: Role) -> usize {
    messages
        .iter()
        .rposition(|message| message.role == role)
        .unwrap_or(0)
}

struct Fitting<'a> {
    messages: &'a [Message],
    costs: &'a [Cost],
    truncation: Truncation,
    /// What is sent under these cuts.
    total: Cost,
}

impl Fitting<'_> {
    fn cost(&self, index: usize) -> Cost {
        let message = self.messages.get(index).zip(self.costs.get(index));
        message.map_or(Cost::default(), |(message, cost)| {
            self.truncation.cost(index, message, *cost)
        })
    }

    fn is_result(&self, index: usize) -> bool {
        self.messages
            .get(index)
            .is_some_and(|message| message.role == Role::Tool)
    }

    fn cut_result(&mut self, index: usize, cut: ResultCut) {
        self.total -= self.cost(index);
        self.truncation.results.insert(index, cut);
        self.total += self.cost(index);
    }

    /// Replaces results, oldest first, until enough is free.
    fn replace_results(&mut self, range: std::ops::Range<usize>, enough: Cost) {
        for index in range {
            if !self.total.exceeds(enough) {
                return;
            }
            if self.is_result(index) && self.cost(index).exceeds(PLACEHOLDER + WORTH_REPLACING) {
                self.cut_result(index, ResultCut::Replaced);
            }
        }
    }

    /// Leaves out turns before the last one, oldest first, until enough is free.
    fn leave_out_turns(&mut self, last: usize, limit: Cost, enough: Cost) {
        while self.total.exceeds(enough) && self.truncation.start < last {
            let next = (self.truncation.start + 1..last)
                .find(|index| self.messages[*index].role == Role::User)
                .unwrap_or(last);
            let before = self.truncation.note_cost();
            // What stands for the beginning may be a summary already.
            if self.truncation.start == 0 {
                let first = self.cost(0);
                let part = Cost {
                    tokens: limit.tokens / FIRST_PART,
                    lines: limit.lines / FIRST_PART,
                };
                self.truncation.keeps_first =
                    self.messages[0].role == Role::User && !first.exceeds(part);
            }
            for index in self.truncation.start..next {
                let is_kept = index == 0 && self.truncation.keeps_first;
                if !is_kept {
                    self.total -= self.cost(index);
                }
            }
            self.truncation.start = next;
            self.total -= before;
            self.total += self.truncation.note_cost();
        }
        // What is not sent at all is not cut besides.
        self.truncation.results = self.truncation.results.split_off(&self.truncation.start);
    }

    /// Sends results from here on in part until they fit: those with images and documents, which have no ends, not at all, and
    /// then always half of the largest.
    fn shorten_results(&mut self, from: usize, limit: Cost) {
        while self.total.exceeds(limit) {
            let has_media = |index: &usize| {
                let is_whole = !self.truncation.results.contains_key(index);
                is_whole && self.is_result(*index) && !self.messages[*index].media.is_empty()
            };
            let costs = (from..self.messages.len()).filter(has_media);
            let Some(largest) = costs.max_by_key(|index| self.cost(*index).tokens) else {
                break;
            };
            self.cut_result(largest, ResultCut::Replaced);
        }
        while self.total.exceeds(limit) {
            let bytes = |index: &usize| match self.truncation.results.get(index) {
                None => self.messages[*index].content.len(),
                Some(ResultCut::Ends(bytes)) => *bytes,
                Some(ResultCut::Replaced) => 0,
            };
            let largest = (from..self.messages.len())
                .filter(|index| self.is_result(*index) && bytes(index) > LEAST_PART)
                .max_by_key(|index| (bytes(index), std::cmp::Reverse(*index)));
            let Some(largest) = largest else { return };
            let half = (bytes(&largest) / 2).max(LEAST_PART);
            self.cut_result(largest, ResultCut::Ends(half));
        }
    }
}

#[cfg(test)]
#[path = "truncation_tests.rs"]
mod tests;
