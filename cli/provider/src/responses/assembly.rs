//! Items to text, reasoning, calls, usage and an end.
//!
//! A reply is a list of items. Each begins, grows by pieces, and is said once more as a whole when it is done: what came in
//! pieces is not said again, and what did not is taken from there. Reasoning that goes back is only whole at the end of its
//! item. Like the other assemblies this one reads JSON without a fixed shape.

use dunlin_chat::message::ReplayPart;
use dunlin_chat::provider::{ReplyEnd, StreamEvent};
use serde_json::Value;

use super::wire;
use crate::assembly::{BrokeOff, ReportedError, Values, damage, feed, read_usage, reported};
use crate::calls::Piece;
use crate::framing::Frame;
use crate::parts::{self, Parts, string};
use crate::reply::Assemble;

/// The most items of a reply. Models make a handful.
const MAX_ITEMS: usize = 1024;

/// Reasons for the end of a reply that was cut off: OpenAI's, and those of gateways.
const AT_LIMIT: [&str; 3] = ["max_output_tokens", "max_tokens", "length"];

/// The name that reasoning is kept under.
const REASONING: &str = "reasoning";

/// Puts one reply together.
#[derive(Debug, Default)]
pub struct Items {
    /// Who may get back what this reply wants back.
    replays_to: String,
    parts: Parts,
    items: Vec<Item>,
    /// What goes back, and whether that can only be read because it is not encrypted.
    back: Vec<(ReplayPart, bool)>,
    back_bytes: usize,
    /// The texts that reasoning is read from: a reply that has both says the same in them.
    thinks_in: Option<&'static str>,
    /// Why the reply is incomplete, if it says so.
    incomplete: Option<String>,
    done: bool,
    damaged: bool,
}

/// An item that has begun.
#[derive(Debug)]
struct Item {
    /// Its number in the list. Some servers leave it out.
    index: Option<u64>,
    /// Its own id, and that of the call that it is. Some servers name one for the other, and some gateways change them from
    /// event to event.
    ids: [String; 2],
    kind: Kind,
    /// Where it stands among text and calls.
    place: (usize, usize),
    /// Whether any of its content has come.
    has_content: bool,
    is_done: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Reasoning,
    Call,
    Other,
}

impl Kind {
    fn of(item: &Value) -> Kind {
        match string(item, "type") {
            "message" => Kind::Message,
            "reasoning" => Kind::Reasoning,
            "function_call" => Kind::Call,
            _ => Kind::Other,
        }
    }
}

impl Items {
    /// For a reply of this endpoint and model.
    pub fn of(replays_to: &str) -> Items {
        Items {
            replays_to: replays_to.to_owned(),
            ..Items::default()
        }
    }

    fn event(&mut self, event: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        match string(event, "type") {
            "error" => return Err(reported(event)),
            "response.failed" => return Err(reported(event.get("response").unwrap_or(event))),
            // Some gateways report errors as others do.
            _ if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(reported(event));
            }
            "response.output_item.added" => {
                if let Some(item) = event.get("item") {
                    self.begin(index(event), item, out);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.get("item") {
                    self.finish(index(event), item, out);
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                // The start of the item may be what was lost.
                if let Some(number) = self.find_or_begin(event, Kind::Message, out) {
                    self.text(number, string(event, "delta"), out);
                }
            }
            "response.reasoning_summary_text.delta" => {
                self.think(event, "summary", "summary_index", out);
            }
            "response.reasoning_text.delta" => {
                self.think(event, "content", "content_index", out);
            }
            "response.function_call_arguments.delta" => {
                self.arguments(event, "delta", |_| true, out);
            }
            "response.function_call_arguments.done" => {
                self.arguments(event, "arguments", |item| !item.has_content, out);
            }
            "response.completed" | "response.incomplete" => {
                self.response(event.get("response").unwrap_or(&Value::Null), out);
                self.done = true;
            }
            // The whole reply at once, although a stream was asked for.
            _ if string(event, "object") == "response" => self.response(event, out),
            // Beginnings and ends of parts, what tools of the server do, and whatever will be invented.
            _ => {}
        }
        Ok(())
    }

    /// An item begins. `None`: there are too many.
    fn begin(
        &mut self,
        index: Option<u64>,
        item: &Value,
        out: &mut Vec<StreamEvent>,
    ) -> Option<usize> {
        if self.items.len() >= MAX_ITEMS {
            out.extend(damage(&mut self.damaged));
            return None;
        }
        let number = self.items.len();
        let kind = Kind::of(item);
        let place = self.parts.place();
        self.parts.interrupt();
        let mut has_content = false;
        match kind {
            Kind::Call => {
                let call = call(number, item);
                has_content = call.has_arguments();
                self.parts.call(call, out);
            }
            Kind::Other => self.parts.skip("part", string(item, "type"), out),
            Kind::Message | Kind::Reasoning => {}
        }
        self.items.push(Item {
            index,
            ids: [string(item, "id"), string(item, "call_id")].map(str::to_owned),
            kind,
            place,
            has_content,
            is_done: false,
        });
        Some(number)
    }

    /// An item is done: this is the whole of it.
    fn finish(&mut self, index: Option<u64>, item: &Value, out: &mut Vec<StreamEvent>) {
        let kind = Kind::of(item);
        let ids = [string(item, "id"), string(item, "call_id")];
        let is_done = |number: usize| self.items.get(number).is_some_and(|begun| begun.is_done);
        if self.named(ids, kind).is_some_and(is_done) {
            return;
        }
        // Another one may have the number of one that is done.
        let begun = self.find(index, ids, kind);
        let begun = begun.filter(|number| !is_done(*number));
        let Some(number) = begun.or_else(|| self.begin(index, item, out)) else {
            return;
        };
        let Some(begun) = self.items.get_mut(number) else {
            return;
        };
        begun.is_done = true;
        let (place, has_content) = (begun.place, begun.has_content);
        match kind {
            Kind::Message => {
                if let Some(phase) = wire::phase(item) {
                    self.keep(place, phase, false);
                }
                let content = item.get("content").and_then(Value::as_array);
                for part in content.into_iter().flatten().take_while(|_| !has_content) {
                    self.text(number, string(part, "text"), out);
                    self.text(number, string(part, "refusal"), out);
                }
            }
            Kind::Reasoning => {
                if !has_content {
                    self.reasoning(number, item, out);
                }
                if let Some(back) = wire::reasoning(item) {
                    let is_plain = back.get("encrypted_content").is_none();
                    self.keep(place, back, is_plain);
                }
            }
            Kind::Call if !has_content => {
                self.parts.call(call(number, item), out);
            }
            Kind::Call | Kind::Other => {}
        }
    }

    fn keep(&mut self, (after_text, after_calls): (usize, usize), value: Value, is_plain: bool) {
        self.back_bytes += value.to_string().len();
        // Nothing of more than that goes back.
        if self.back_bytes <= parts::MAX_REPLAY_BYTES {
            let part = ReplayPart {
                after_text,
                after_calls,
                value,
            };
            self.back.push((part, is_plain));
        }
    }

    /// The last item of this kind for which something holds.
    fn last(&self, kind: Kind, holds: impl Fn(&Item) -> bool) -> Option<usize> {
        let mut items = self.items.iter();
        items.rposition(|item| item.kind == kind && holds(item))
    }

    /// The item of this kind with one of these ids.
    fn named(&self, ids: [&str; 2], kind: Kind) -> Option<usize> {
        let has = |item: &Item, id: &str| !id.is_empty() && item.ids.iter().any(|own| own == id);
        self.last(kind, |item| ids.iter().any(|id| has(item, id)))
    }

    /// The item of this kind with one of these ids, or with this number, or the last one.
    fn find(&self, index: Option<u64>, ids: [&str; 2], kind: Kind) -> Option<usize> {
        let has_no_number = |item: &Item| index.is_none() || item.index.is_none();
        self.named(ids, kind)
            .or_else(|| self.last(kind, |item| index.is_some() && item.index == index))
            .or_else(|| self.last(kind, |item| !item.is_done && has_no_number(item)))
    }

    /// The item that an event is about.
    fn find_or_begin(
        &mut self,
        event: &Value,
        kind: Kind,
        out: &mut Vec<StreamEvent>,
    ) -> Option<usize> {
        let found = self.find(index(event), [string(event, "item_id"), ""], kind);
        let name = match kind {
            Kind::Message => "message",
            Kind::Reasoning => REASONING,
            Kind::Call | Kind::Other => return found,
        };
        let item = || serde_json::json!({"type": name, "id": string(event, "item_id")});
        found.or_else(|| self.begin(index(event), &item(), out))
    }

    fn text(&mut self, number: usize, text: &str, out: &mut Vec<StreamEvent>) {
        if let Some(item) = self.items.get_mut(number) {
            item.has_content |= !text.is_empty();
        }
        self.parts.text(text, out);
    }

    /// A piece of reasoning, which is one of the texts in `list`.
    fn think(
        &mut self,
        event: &Value,
        list: &'static str,
        paragraph: &str,
        out: &mut Vec<StreamEvent>,
    ) {
        let Some(number) = self.find_or_begin(event, Kind::Reasoning, out) else {
            return;
        };
        let paragraph = event.get(paragraph).and_then(Value::as_u64);
        let paragraph = (number, paragraph.unwrap_or(0));
        self.think_in(list, paragraph, string(event, "delta"), out);
    }

    fn think_in(
        &mut self,
        list: &'static str,
        paragraph: (usize, u64),
        text: &str,
        out: &mut Vec<StreamEvent>,
    ) {
        if text.is_empty() || *self.thinks_in.get_or_insert(list) != list {
            return;
        }
        if let Some(item) = self.items.get_mut(paragraph.0) {
            item.has_content = true;
        }
        self.parts.think(Some(paragraph), REASONING, text, out);
    }

    /// The reasoning of an item that came as a whole.
    fn reasoning(&mut self, number: usize, item: &Value, out: &mut Vec<StreamEvent>) {
        for list in ["summary", "content"] {
            let texts = item.get(list).and_then(Value::as_array);
            for (at, part) in (0..).zip(texts.into_iter().flatten()) {
                self.think_in(list, (number, at), string(part, "text"), out);
            }
        }
    }

    /// Arguments of a call, in this field of the event.
    fn arguments(
        &mut self,
        event: &Value,
        field: &str,
        is_wanted: impl Fn(&Item) -> bool,
        out: &mut Vec<StreamEvent>,
    ) {
        let text = string(event, field);
        let number = self.find(index(event), [string(event, "item_id"), ""], Kind::Call);
        let Some((number, item)) =
            number.and_then(|number| Some((number, self.items.get_mut(number)?)))
        else {
            // The start of the call was lost. Of an item that was skipped its pieces are, too.
            let is_skipped = self.find(index(event), [string(event, "item_id"), ""], Kind::Other);
            if is_skipped.is_none() {
                out.extend(damage(&mut self.damaged));
            }
            return;
        };
        if is_wanted(item) {
            item.has_content |= !text.is_empty();
            let piece = Piece::new(number as u64, "", "", text.to_owned());
            self.parts.call(piece, out);
        }
    }

    /// The response as a whole, at its end.
    fn response(&mut self, response: &Value, out: &mut Vec<StreamEvent>) {
        if self.items.is_empty() {
            let items = response.get("output").and_then(Value::as_array);
            for (index, item) in (0..).zip(items.into_iter().flatten()) {
                self.finish(Some(index), item, out);
            }
        }
        if let Some(usage) = response.get("usage").and_then(read_usage) {
            out.push(StreamEvent::Usage(usage));
        }
        let reason = response.pointer("/incomplete_details/reason");
        let reason = reason.and_then(Value::as_str);
        let status = string(response, "status");
        let reason = match (reason, status) {
            (Some(reason), _) => reason,
            // It may leave out why.
            (None, "incomplete") => status,
            _ => return,
        };
        let notice = match reason {
            reason if AT_LIMIT.contains(&reason) => None,
            "content_filter" => Some(StreamEvent::Notice(
                "the provider's content filter ended the reply".to_owned(),
            )),
            reason => Some(parts::ended_for(reason)),
        };
        out.extend(notice);
        self.incomplete = Some(reason.to_owned());
    }
}

fn call(number: usize, item: &Value) -> Piece {
    Piece::of(number as u64, string(item, "call_id"), item)
}

/// The number of the item that an event is about.
fn index(event: &Value) -> Option<u64> {
    event.get("output_index").and_then(Value::as_u64)
}

impl Assemble for Items {
    fn feed(&mut self, frame: Frame, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        Items::feed(self, frame, out)
    }

    fn has_finish_reason(&self) -> bool {
        self.done
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn end(self: Box<Self>) -> Result<ReplyEnd, BrokeOff> {
        Items::end(*self)
    }
}

impl Values for Items {
    fn value(&mut self, value: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        self.event(value, out)
    }

    fn is_reply(&self, document: &Value) -> bool {
        !self.items.is_empty() || document.get("output").is_some()
    }

    fn done(&mut self) -> &mut bool {
        &mut self.done
    }

    fn damaged(&mut self) -> &mut bool {
        &mut self.damaged
    }
}

impl Items {
    /// Takes one frame and adds what it holds to `out`.
    ///
    /// # Errors
    /// What the server reports as an error. It ends the reply.
    pub fn feed(&mut self, frame: Frame, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        feed(self, frame, out)
    }

    /// What the reply came to.
    ///
    /// # Errors
    /// The server has not said that it is done.
    pub fn end(self) -> Result<ReplyEnd, BrokeOff> {
        if !self.done {
            return Err(BrokeOff);
        }
        let reason = self.incomplete.as_deref();
        let at_limit = reason.is_some_and(|reason| AT_LIMIT.contains(&reason));
        // A call of a reply that is incomplete for another reason is not meant.
        let is_doubtful = self.damaged || self.incomplete.is_some();
        let has_calls = self.parts.has_calls();
        let (calls, finish) = self.parts.end(at_limit, is_doubtful);
        // Reasoning in plain words is read again while calls are answered, as elsewhere.
        let back = self.back.into_iter();
        let back = back.filter(|(_, is_plain)| !self.damaged && (has_calls || !is_plain));
        let back = back.map(|(part, _)| part).collect();
        Ok(ReplyEnd {
            calls,
            finish,
            replay: parts::replay(&self.replays_to, back, self.back_bytes),
        })
    }
}

#[cfg(test)]
#[path = "assembly_tests.rs"]
mod tests;
