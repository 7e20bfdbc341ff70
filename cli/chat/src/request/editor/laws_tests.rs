//! What holds for every body and every sequence of edits. The unit tests and the fuzzer run the same function.
//!
//! Bodies and edits are made of random bytes, one small decision each, so that the smallest failing case is short.

// The fuzzer has this file from elsewhere.
#[path = "laws_tests/bodies.rs"]
mod bodies;

use std::fmt::Debug;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::{
    Change, Counts, EditError, EditableRequest, Leaf, LeafKind, Path, Row, RowValue, SectionId,
    Step, Target,
};

use self::bodies::{Source, body};

/// What is broken, and with which body.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Broken(String);

/// What is broken, if anything.
type Law = Result<(), String>;

/// Makes a request of the first decisions, edits it as the others say, and checks all laws.
///
/// # Errors
/// One of them is broken.
pub fn hold(of_body: &[u8], of_edits: &[u8]) -> Result<(), Broken> {
    let (body, outline) = body(&mut Source { decisions: of_body });
    let original = Bytes::from(body);
    let mut request = EditableRequest::new(original.clone(), outline);
    let tell = |law: String| {
        Broken(format!(
            "{law}\nbody: {}",
            String::from_utf8_lossy(&original)
        ))
    };
    let is_shared = request.bytes().as_ptr() == original.as_ptr();
    same(&is_shared, &true, "an unedited body is not copied").map_err(tell)?;
    let fresh = request.clone();
    let mut case = Case {
        states: vec![original.clone()],
        at: 0,
    };
    let mut source = Source {
        decisions: of_edits,
    };
    while !source.is_empty() {
        case.step(&mut request, &mut source).map_err(tell)?;
    }
    structure(&request).map_err(tell)?;
    sendable(&request).map_err(tell)?;
    whole_history(request, fresh, &case).map_err(tell)
}

/// The bodies of all states that undo and redo lead to.
struct Case {
    states: Vec<Bytes>,
    at: usize,
}

/// What was asked of the request.
#[derive(Clone, Copy, PartialEq)]
enum Action {
    Edit,
    Undo,
    Redo,
}

impl Case {
    fn step(&mut self, request: &mut EditableRequest, source: &mut Source<'_>) -> Law {
        let before = request.clone();
        let number = 1 + source.below(request.sections().len());
        let (action, change) = match source.below(13) {
            12 => return self.tree(request, source),
            0 => (Action::Edit, request.delete(number)),
            1 => (Action::Edit, request.restore(number)),
            2 => (Action::Undo, request.undo()),
            3 => (Action::Redo, request.redo()),
            4 => (Action::Edit, request.reset()),
            5 => {
                let options = [
                    "temperature",
                    "options.top_p",
                    "tool_choice",
                    "num_predict",
                    "$",
                    "messages",
                ];
                let option = options[source.below(options.len())];
                (
                    Action::Edit,
                    request.set(option, source.pick(&["2", "0.5", "auto"])),
                )
            }
            6 | 7 => (Action::Edit, option(request, source)?),
            _ => (Action::Edit, set(request, number, source)?),
        };
        same(
            &request.sections(),
            &before.sections(),
            "sections keep their ids and order",
        )?;
        let Ok(change) = change else {
            return same(
                request.bytes(),
                before.bytes(),
                "an edit that is refused changes nothing",
            );
        };
        match action {
            Action::Undo => self.at -= 1,
            Action::Redo => self.at += 1,
            Action::Edit if change.edit.is_some() => {
                self.at += 1;
                self.states.truncate(self.at);
                self.states.push(request.bytes().clone());
                same(
                    &request.undone().len(),
                    &0,
                    "a new edit leaves nothing to redo",
                )?;
            }
            Action::Edit => {}
        }
        same(
            &request.edits().len(),
            &self.at,
            "each edit is one step of the history",
        )?;
        same(
            &Some(request.bytes()),
            &self.states.get(self.at),
            "undo and redo lead to the same bytes",
        )?;
        for (index, section) in request.sections().iter().enumerate() {
            let number = index + 1;
            if section.id != SectionId::Options && !change.sections.contains(&number) {
                same(
                    &request.text(number),
                    &before.text(number),
                    "other sections stay byte for byte",
                )?;
            }
        }
        Ok(())
    }

    /// Edits an object with options as JSON and checks that the body is what was written.
    fn tree(&mut self, request: &mut EditableRequest, source: &mut Source<'_>) -> Law {
        let read =
            |json: &[u8]| serde_json::from_slice::<Value>(json).map_err(|error| error.to_string());
        let failed = |error: EditError| error.to_string();
        let before = request.bytes().clone();
        let path = source.pick(&["$", "options", "x"]);
        let key = source.pick(&[
            "temperature",
            "num_ctx",
            "top_p",
            "a",
            "model",
            "x",
            "messages",
        ]);
        let value = match source.below(3) {
            0 => None,
            1 => Some(read(source.object().as_bytes())?),
            _ => Some(read(source.scalar().as_bytes())?),
        };
        let mut expected = read(&before)?;
        let around = match path {
            "$" => Some(&mut expected),
            _ => expected.get_mut(path),
        };
        let Some(Value::Object(members)) = around else {
            return Ok(());
        };
        // A key that nothing has is an option, whatever it is called.
        let is_new = path == "$" && value.is_some() && !members.contains_key(key);
        match value {
            Some(value) => drop(members.insert(key.to_owned(), value)),
            None => drop(members.remove(key)),
        }
        let edited = Value::Object(members.clone()).to_string();
        let has_options = |it: &EditableRequest| it.number(&SectionId::Options).is_some();
        let is_free = is_new && key == "x" && has_options(request);
        let done = request.set_tree(path, &edited);
        if is_free {
            same(&done.is_ok(), &true, "a key that nothing has can be added")?;
        }
        let Ok(changes) = done else {
            return same(
                request.bytes(),
                &before,
                "an edit that is refused changes nothing",
            );
        };
        let mut states = Vec::new();
        for _ in &changes {
            states.push(request.bytes().clone());
            request.undo().map_err(failed)?;
        }
        same(
            request.bytes(),
            &before,
            "a tree is undone by as many steps as it took",
        )?;
        for _ in &changes {
            request.redo().map_err(failed)?;
        }
        if !changes.is_empty() {
            self.states.truncate(self.at + 1);
            self.at += changes.len();
            self.states.extend(states.into_iter().rev());
        }
        let mut found = read(request.bytes())?;
        without_empty_options([&mut found, &mut expected]);
        same(&found, &expected, "the body is what was written")
    }
}

/// The object around options comes with the first that is added and goes with the last.
fn without_empty_options(bodies: [&mut Value; 2]) {
    for body in bodies {
        if body["options"] == Value::Object(Map::new())
            && let Some(body) = body.as_object_mut()
        {
            body.remove("options");
        }
    }
}

/// Adds, removes or restores an option and checks that nothing else has changed.
fn option(
    request: &mut EditableRequest,
    source: &mut Source<'_>,
) -> Result<Result<Change, EditError>, String> {
    let read = |request: &EditableRequest| serde_json::from_slice::<Value>(request.bytes());
    let mut expected = read(request).map_err(|error| error.to_string())?;
    let key = source.pick(&["x", "stop", "temperature", "model", "messages"]);
    let (path, around) = match source.below(2) {
        0 => (key.to_owned(), None),
        _ => (format!("options.{key}"), Some("options")),
    };
    let (path, key) = match source.below(4) {
        0 => ("options".to_owned(), "options"),
        _ => (path, key),
    };
    let around = around.filter(|around| *around != key);
    let is_there = |value: &Value| match around {
        Some(around) => value[around].get(key).is_some(),
        None => value.get(key).is_some(),
    };
    let (was_there, change) = (
        is_there(&expected),
        match source.below(3) {
            0 => request.restore_option(&path),
            1 => request.remove(&path),
            _ => {
                let json = source.pick(&["1", "\"a\"", "{\"a\":[1,{}]}", "[]", "{}", "null", "{"]);
                request.add(&path, json)
            }
        },
    );
    if change.is_err() {
        return Ok(change);
    }
    let after = read(request).map_err(|error| error.to_string())?;
    same(&is_there(&after), &!was_there, "an option comes or goes")?;
    let new = match around {
        Some(around) => after[around].get(key),
        None => after.get(key),
    };
    let members = expected.as_object_mut();
    let members = members.and_then(|all| match around {
        Some(around) => {
            let inner = all.entry(around).or_insert_with(|| Map::new().into());
            inner.as_object_mut()
        }
        None => Some(all),
    });
    match (members, new) {
        (Some(members), Some(new)) => drop(members.insert(key.to_owned(), new.clone())),
        (Some(members), None) => drop(members.remove(key)),
        (None, _) => return Err("an option is in an object".to_owned()),
    }
    let mut found = after.clone();
    without_empty_options([&mut found, &mut expected]);
    same(&found, &expected, "nothing but the option changes")?;
    Ok(change)
}

/// Sets one leaf of a section and checks that nothing else has changed.
fn set(
    request: &mut EditableRequest,
    number: usize,
    source: &mut Source<'_>,
) -> Result<Result<Change, EditError>, String> {
    let before = request.bytes().clone();
    let is_deleted = request.is_deleted(number);
    let rows = request.rows(number);
    let row = &rows[source.below(rows.len())];
    if !is_deleted {
        let path = row
            .path
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        same(
            &request.target(&path),
            &Ok(row.target.clone()),
            "a path leads to its target",
        )?;
    }
    let RowValue::Leaf(leaf) = &row.value else {
        let change = request.set_target(&row.target, "1");
        same(
            &change.is_err(),
            &true,
            "an object or an array cannot be set",
        )?;
        return Ok(change);
    };
    if leaf.kind != LeafKind::String {
        let change = request.set_target(&row.target, "[]");
        same(
            &change.is_err(),
            &true,
            "a value of another type is refused",
        )?;
    }
    let steps = row.target.path.steps();
    let value = match leaf.kind {
        LeafKind::String => source.pick(&["other", "", "\"\n🪶", r#"{"a":[1]}"#]),
        // An option that is a count.
        LeafKind::Number if steps.last() == Some(&"num_predict".into()) => "7",
        LeafKind::Number => source.pick(&["7", "-0.50", "1E+2", "98765432109876543210"]),
        LeafKind::Boolean => source.pick(&["true", "false"]),
        LeafKind::Null => "null",
    };
    let change = request.set_target(&row.target, value);
    same(
        &change.is_err(),
        &is_deleted,
        "a leaf takes a value of its kind",
    )?;
    if let Ok(Change { edit: Some(_), .. }) = &change {
        let after = request.rows(number);
        let now = after.iter().find(|now| now.target == row.target);
        let now = now
            .and_then(|now| leaf_of(now))
            .map(|leaf| leaf.text().into_owned());
        same(&now.as_deref(), &Some(value), "the leaf has the new value")?;
        same(
            &others(&after, row),
            &others(&rows, row),
            "no other leaf changes",
        )?;
        // The string in the body, where the leaf is within one.
        let outer = rows.iter().find_map(|outer| {
            leaf_of(outer).filter(|_| steps.starts_with(outer.target.path.steps()))
        });
        let rest = before.len() - outer.map_or(0, |leaf| leaf.json.len());
        let is_same = common(&before, request.bytes()) >= rest;
        same(&is_same, &true, "all bytes beside the leaf stay")?;
    }
    Ok(change)
}

fn leaf_of(row: &Row) -> Option<&Leaf> {
    match &row.value {
        RowValue::Leaf(leaf) => Some(leaf),
        _ => None,
    }
}

/// All leaves but the one that was set, those in it, and the strings around it.
fn others<'a>(rows: &'a [Row], set: &Row) -> Vec<(&'a Target, &'a str)> {
    let leaves = rows
        .iter()
        .filter_map(|row| Some((&row.target, &*leaf_of(row)?.json)));
    let set = set.target.path.steps();
    leaves
        .filter(|(target, _)| {
            let steps = target.path.steps();
            !steps.starts_with(set) && !set.starts_with(steps)
        })
        .collect()
}

/// How many bytes two texts have in common at their beginning and end.
fn common(a: &[u8], b: &[u8]) -> usize {
    let alike = |(a, b): &(&u8, &u8)| a == b;
    let start = a.iter().zip(b).take_while(alike).count();
    let (a, b) = (&a[start..], &b[start..]);
    start + a.iter().rev().zip(b.iter().rev()).take_while(alike).count()
}

/// The body consists of its sections.
fn structure(request: &EditableRequest) -> Law {
    let body: Value = serde_json::from_slice(request.bytes()).map_err(|error| error.to_string())?;
    let mut sent: Vec<Path> = Vec::new();
    for (index, section) in request.sections().iter().enumerate() {
        let number = index + 1;
        if section.id != SectionId::Options
            && let Some(text) = request.text(number)
        {
            same(
                &request.is_deleted(number),
                &false,
                "a deleted section is not sent",
            )?;
            let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            let path = request.path(number).unwrap_or_default();
            same(
                &at(&body, &path),
                &Some(&value),
                "a path leads to its section as it is sent",
            )?;
            sent.push(path);
        }
    }
    let mut expected = Vec::new();
    for list in ["system", "messages", "input", "tools"] {
        for (index, element) in elements(&body, &Path::root().then(list)) {
            let path = Path::root().then(list).then(index);
            let content = path.then("content");
            match sent.contains(&path) {
                true => expected.push(path),
                // Its content is sections.
                false => expected.extend(
                    elements(element, &Path::root().then("content"))
                        .map(|(index, _)| content.then(index)),
                ),
            }
        }
        let is_empty = body
            .get(list)
            .is_some_and(|list| list == &Value::Array(Vec::new()));
        same(
            &(is_empty && !matches!(list, "messages" | "input")),
            &false,
            "there is no empty list of tools or instructions",
        )?;
    }
    same(
        &sent,
        &expected,
        "the body consists of its sections, in order",
    )?;
    same(
        &request.is_dirty(),
        &(request.bytes() != request.original()),
        "dirty is what differs",
    )?;
    same(
        &request.is_dirty(),
        &!request.differences().is_empty(),
        "differences are told",
    )
}

/// The value at a path.
fn at<'a>(body: &'a Value, path: &Path) -> Option<&'a Value> {
    let mut steps = path.steps().iter();
    steps.try_fold(body, |value, step| match step {
        Step::Key(key) => value.get(&**key),
        Step::Index(index) => value.get(index),
    })
}

/// The elements of the array at a path; none where there is no array.
fn elements<'a>(body: &'a Value, path: &Path) -> impl Iterator<Item = (usize, &'a Value)> {
    let elements = at(body, path).and_then(Value::as_array);
    elements.into_iter().flatten().enumerate()
}

/// What may be sent has a user message, and its calls and results pair.
fn sendable(request: &EditableRequest) -> Law {
    // Without a context window nothing has to be counted.
    if request.check(&Counts::default(), None).is_err() {
        return same(
            &request.is_dirty(),
            &true,
            "an unedited request can be sent",
        );
    }
    let body: Value = serde_json::from_slice(request.bytes()).map_err(|error| error.to_string())?;
    let mut open: Vec<&Value> = Vec::new();
    let mut has_user = false;
    let lists = ["messages", "input"].into_iter();
    for said in lists.filter_map(|list| body[list].as_array()).flatten() {
        let content = said["content"].as_array().map_or(&[][..], Vec::as_slice);
        let is_result = |block: &&Value| block["type"] == "tool_result";
        let role = said["role"].as_str();
        // Either it is a result, or it has some among its blocks.
        let mut results: Vec<&Value> = Vec::new();
        if role == Some("tool") {
            results.push(&said["tool_call_id"]);
        } else if said["type"] == "function_call_output" {
            results.push(&said["call_id"]);
        } else if role == Some("user") {
            let blocks = content.iter().filter(is_result);
            results.extend(blocks.map(|block| &block["tool_use_id"]));
        }
        let says_more = results.is_empty() || content.iter().any(|block| !is_result(&block));
        for id in results {
            let answered = open.iter().position(|open| *open == id);
            let answered = answered.ok_or("a result without its call is sent")?;
            open.remove(answered);
        }
        // A call by itself.
        open.extend(
            said.get("call_id")
                .filter(|_| said["type"] == "function_call"),
        );
        if !matches!(role, None | Some("tool")) && says_more {
            same(&open.len(), &0, "each call has its result")?;
            has_user |= role == Some("user");
            let is_call = |block: &&Value| block["type"] == "tool_use";
            let calls = said["tool_calls"].as_array().into_iter().flatten();
            let calls = calls.chain(content.iter().filter(is_call));
            open = calls
                .filter(|_| role == Some("assistant"))
                .map(|call| &call["id"])
                .collect();
        }
    }
    same(&open.len(), &0, "each call has its result")?;
    same(&has_user, &true, "a user message is sent")
}

/// The original and the edits that are done give the current bytes; all undone, the original is left; all done again,
/// the bytes of the last state.
fn whole_history(mut request: EditableRequest, fresh: EditableRequest, case: &Case) -> Law {
    let mut again = fresh;
    for edit in request.edits() {
        again
            .apply(edit.clone())
            .map_err(|error| error.to_string())?;
    }
    same(
        again.bytes(),
        request.bytes(),
        "the edits give the same bytes again",
    )?;
    while request.undo().is_ok() {}
    same(
        request.bytes(),
        request.original(),
        "undoing everything restores the original",
    )?;
    while request.redo().is_ok() {}
    same(
        &Some(request.bytes()),
        &case.states.last(),
        "redoing everything restores the last state",
    )
}

fn same<T: PartialEq + Debug + ?Sized>(found: &T, expected: &T, law: &str) -> Law {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{law}: found {found:?}, expected {expected:?}")),
    }
}
