//! What was edited between two bodies, one of which was sent in place of the other.
//!
//! A log has both bodies, but not which message of the session each message was, so the edits that it names cannot be
//! done again. They are found anew: what is missing was left out, and what differs was set. That it is so is checked:
//! done to the first body, they have to make the second one, byte for byte.

use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use serde_json::Value;

use super::edits::SectionStep;
use super::layout::Layout;
use super::model::EditableRequest;

/// The longest bodies in which edits are looked for, in bytes: their trees take many times as much memory.
const MAX_BYTES: usize = 1 << 24;

/// The most pairs of elements that are compared. A pair is two numbers each, whatever the elements hold, so this bounds
/// the work. 2,000 messages of which 1,000 were left out are two million.
const MAX_PAIRS: usize = 1 << 22;

impl EditableRequest {
    /// The first body with the edits that make it the second. `None`: the editor's edits cannot do that, or the bodies are
    /// too large to look for them.
    pub fn between(original: Bytes, sent: &[u8]) -> Option<EditableRequest> {
        if original.len().max(sent.len()) > MAX_BYTES {
            return None;
        }
        let before: Value = serde_json::from_slice(&original).ok()?;
        let after: Value = serde_json::from_slice(sent).ok()?;
        let layout = Layout::of(&before);
        let messages = layout.said(&before)?;
        let outline = layout.outline(&before)?;
        let mut request = EditableRequest::new(original, outline);
        let gone_messages = left_out(&messages, &layout.said(&after)?)?;
        let gone_tools = left_out(&list(&before, "tools"), &list(&after, "tools"))?;
        let gone_tools = gone_tools.iter().map(|index| messages.len() + index);
        let gone = gone_messages.iter().copied().chain(gone_tools);
        let numbers: Vec<usize> = gone.map(|index| index + 1).collect();
        if let (_, Some(_)) = request.step_each(SectionStep::Delete, &numbers) {
            return None;
        }
        request
            .set_tree("$", std::str::from_utf8(sent).ok()?)
            .ok()?;
        (request.bytes() == sent).then_some(request)
    }
}

fn list<'a>(body: &'a Value, key: &str) -> Vec<&'a Value> {
    let list = body.get(key).and_then(Value::as_array);
    list.into_iter().flatten().collect()
}

/// An element of a list, as far as it is compared. Where two elements had the same hash by chance, other edits would be
/// found, and the check of the bytes would show it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Element {
    /// The hash of the whole.
    whole: u64,
    /// The hash of what it is: its role and its name.
    what: u64,
}

impl Element {
    /// Each element of a list, which is read once.
    fn all(list: &[&Value], state: &RandomState) -> Vec<Element> {
        let element = |value: &&Value| {
            let text = |value: Option<&Value>| state.hash_one(value.and_then(Value::as_str));
            let name = value.pointer("/function/name").or(value.get("name"));
            let role = value.get("role").or(value.get("type"));
            Element {
                whole: state.hash_one(value),
                what: state.hash_one((text(role), text(name))),
            }
        };
        list.iter().map(element).collect()
    }

    /// How much it differs from another one: text is edited more often than what a message is.
    fn edited(self, other: Element) -> usize {
        match self.whole == other.whole {
            true => 0,
            false if self.what == other.what => 1,
            false => 2,
        }
    }
}

/// Which elements of a list were left out, so that as few as possible of the others were edited.
fn left_out(before: &[&Value], after: &[&Value]) -> Option<Vec<usize>> {
    let most = before.len().checked_sub(after.len())?;
    if most == 0 {
        return Some(Vec::new());
    }
    let state = RandomState::new();
    let (before, after) = (Element::all(before, &state), Element::all(after, &state));
    gone(&before, &after)
}

/// The same for elements. `before` has more of them.
fn gone(before: &[Element], after: &[Element]) -> Option<Vec<usize>> {
    // What both end and begin with is kept.
    let pairs = before.iter().rev().zip(after.iter().rev());
    let ending = pairs.take_while(|(old, new)| old == new).count();
    let before = before.get(..before.len() - ending)?;
    let after = after.get(..after.len() - ending)?;
    let pairs = before.iter().zip(after);
    let beginning = pairs.take_while(|(old, new)| old == new).count();
    let before = before.get(beginning..)?;
    let after = after.get(beginning..)?;

    let most = before.len().checked_sub(after.len())?;
    if after.is_empty() {
        return Some((beginning..beginning + most).collect());
    }
    if before.len().saturating_mul(most + 1) > MAX_PAIRS {
        return None;
    }
    // For each number of elements that are left out so far: how much was edited in the others.
    let mut costs: Vec<Option<usize>> = vec![None; most + 1];
    if let Some(none) = costs.first_mut() {
        *none = Some(0);
    }
    let mut kept: Vec<Vec<bool>> = Vec::with_capacity(before.len());
    for (index, old) in before.iter().enumerate() {
        let cost = |out: usize| costs.get(out).copied().flatten();
        let step = |out: usize| {
            let new = index.checked_sub(out).and_then(|at| after.get(at));
            let keep = cost(out)
                .zip(new)
                .map(|(cost, new)| cost + old.edited(*new));
            let leave = out.checked_sub(1).and_then(cost);
            match (keep, leave) {
                (Some(keep), Some(leave)) if leave < keep => (Some(leave), false),
                (Some(keep), _) => (Some(keep), true),
                (None, leave) => (leave, false),
            }
        };
        let (next, is_kept) = (0..=most).map(step).unzip();
        costs = next;
        kept.push(is_kept);
    }
    costs.last().copied().flatten()?;
    let (mut out, mut gone) = (most, Vec::new());
    for (index, is_kept) in kept.iter().enumerate().rev() {
        if is_kept.get(out) == Some(&false) {
            gone.push(beginning + index);
            out = out.checked_sub(1)?;
        }
    }
    gone.reverse();
    Some(gone)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::editor::{KnownOption, OptionKind, Origin, Outline, SectionId};

    fn body() -> Value {
        let tool =
            |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {}}});
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief"},
                {"role": "user", "content": "Again"},
                {"role": "assistant", "content": "", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{\"a\":1}"}},
                ]},
                {"role": "tool", "tool_call_id": "c1", "content": "text"},
                {"role": "user", "content": "Again"},
            ],
            "tools": [tool("read_file"), tool("edit_file")],
            "options": {"temperature": 0.5},
        })
    }

    fn original() -> EditableRequest {
        let body = body();
        let origins: Vec<Origin> = (0..4).map(|it| SectionId::Message(it).into()).collect();
        let options = vec![
            KnownOption::new(&["seed"], OptionKind::WholeNumber),
            KnownOption::new(&["options", "top_p"], OptionKind::Number),
        ];
        let outline = Outline::of_chat(&body, &origins, options);
        EditableRequest::new(body.to_string().into(), outline)
    }

    #[test]
    fn edits_are_found_in_what_was_sent() {
        let check = |edit: &dyn Fn(&mut EditableRequest)| {
            let mut request = original();
            edit(&mut request);
            let found = EditableRequest::between(request.original().clone(), request.bytes());
            let found = found.expect("edits");
            assert_eq!(found.differences(), request.differences());
        };
        check(&|_| {});
        check(&|request| drop(request.delete(3).unwrap()));
        check(&|request| drop(request.delete(7).unwrap()));
        check(&|request| {
            for number in [1, 6, 7] {
                request.delete(number).unwrap();
            }
        });
        check(&|request| {
            request.delete(3).unwrap();
            request.set_text(2, "Count the terns").unwrap();
            request.set("options.top_p", "0.25").unwrap();
            request.set("seed", "7").unwrap();
            request.set("options.temperature", "1").unwrap();
        });
    }

    #[test]
    fn what_the_editor_cannot_do_has_no_edits() {
        let original = original();
        let mut more = body();
        more["messages"][1]["name"] = json!({"a": 1});
        let mut longer = body();
        let list = longer["messages"].as_array_mut().unwrap();
        list.push(json!({"role": "user", "content": "More"}));
        for sent in [
            more.to_string(),
            longer.to_string(),
            format!(" {}", body()),
            "text".to_owned(),
            String::new(),
        ] {
            let found = EditableRequest::between(original.original().clone(), sent.as_bytes());
            assert!(found.is_none(), "{sent}");
        }
        let found = EditableRequest::between("not JSON".into(), b"{}");
        assert!(found.is_none());
    }

    #[test]
    fn each_element_is_read_once_however_many_pairs_there_are() {
        // All differ, and only in what stands at the end of a role that is no text.
        let message = |last: usize| {
            let mut role = vec![json!(0); 40];
            role.push(last.into());
            json!({"role": role, "content": "x"})
        };
        let list = |range: std::ops::Range<usize>| range.map(message).collect::<Vec<Value>>();
        let state = RandomState::new();
        let (first, second) = (list(0..600), list(1000..1300));
        let elements = Element::all(&first.iter().collect::<Vec<_>>(), &state);
        let others = Element::all(&second.iter().collect::<Vec<_>>(), &state);
        // What is no text is not what an element is.
        assert!(
            elements
                .iter()
                .chain(&others)
                .all(|one| one.what == elements[0].what)
        );
        assert!(elements[0].edited(others[0]) == 1 && elements[0].edited(elements[0]) == 0);
        // Pairs are of numbers, of which there are two for each element.
        assert_eq!(gone(&elements, &others).map(|gone| gone.len()), Some(300));
        assert_eq!(size_of::<Element>(), 16);
    }

    #[test]
    fn what_both_begin_and_end_with_is_not_paired() {
        let element = |whole: u64| Element { whole, what: 0 };
        let before: Vec<Element> = (0..100_000).map(element).collect();
        let mut after = before.clone();
        after.drain(10_000..60_000);
        assert_eq!(
            gone(&before, &after),
            Some((10_000..60_000).collect::<Vec<_>>())
        );
        // One that was edited among them takes a table, and that would be too large.
        after[10_000].whole = 1_000_000;
        after[20_000].whole = 1_000_000;
        assert_eq!(gone(&before, &after), None);
        // Of two that are the same the first one is gone.
        let same = [element(1), element(1)];
        assert_eq!(gone(&same, &same[1..]), Some(vec![0]));
    }

    #[test]
    fn edits_are_not_looked_for_in_large_bodies() {
        let text = "x".repeat(MAX_BYTES);
        let body = |content: &str| json!({"messages": [{"role": "user", "content": content}]});
        let (large, small) = (body(&text).to_string(), body("x").to_string());
        assert!(EditableRequest::between(large.clone().into(), small.as_bytes()).is_none());
        assert!(EditableRequest::between(small.clone().into(), large.as_bytes()).is_none());
        assert!(EditableRequest::between(small.into(), body("y").to_string().as_bytes()).is_some());
    }
}
