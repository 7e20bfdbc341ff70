//! Puts calls together from their pieces.
//!
//! A piece should carry the index of its call, the id and name once, and the arguments bit by bit.
//! Servers leave the index out, give every call the same one, repeat or split the name, reuse ids
//! or send none. A piece belongs to the call of its index or, without one, to the last; it opens a
//! new call when it contradicts that one: another id with a name, or a name and arguments although
//! the arguments there are already whole.

use serde_json::Value;

use self::growing::Growing;
use super::MAX_CALLS;
use super::arguments::{self, Arguments};
use dunlin_chat::provider::{BadArguments, Finish, ProposedCall};

mod growing;

/// Longest name of a tool, in bytes. Endpoints allow 64; a longer name is unknown anyway.
const MAX_NAME_BYTES: usize = 256;

/// One piece of a call, as sent.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Piece {
    /// A piece of the call with this index. Id and name are empty behind the first one.
    pub(super) fn new(index: u64, id: &str, name: &str, arguments: String) -> Piece {
        Piece {
            index: Some(index),
            id: id.to_owned(),
            name: name.to_owned(),
            arguments,
        }
    }

    /// Reads an element of `tool_calls`; whatever has the wrong type counts as absent.
    pub(super) fn read(piece: &Value) -> Piece {
        let function = piece.get("function").unwrap_or(piece);
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            // Sent as a value although the protocol wants a text.
            Some(value) => value.to_string(),
        };
        Piece {
            index: piece.get("index").and_then(Value::as_u64),
            id: text(piece.get("id")),
            name: text(function.get("name")),
            arguments,
        }
    }

    /// Reads a call that is known by this index and this id.
    pub(super) fn of(index: u64, id: &str, call: &Value) -> Piece {
        Piece {
            index: Some(index),
            id: id.to_owned(),
            ..Piece::read(call)
        }
    }

    pub(super) fn has_arguments(&self) -> bool {
        !self.arguments.is_empty()
    }
}

/// The calls of one reply.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Partial>,
    overflowed: bool,
}

#[derive(Debug, Default)]
struct Partial {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: Growing,
}

impl Partial {
    fn is_whole(&self) -> bool {
        self.arguments.is_whole()
    }

    fn add(&mut self, piece: Piece) {
        if self.id.is_empty() {
            self.id = piece.id;
        }
        if piece.name.starts_with(&self.name) {
            self.name = piece.name;
        } else if self.arguments.text().is_empty()
            && self.name.len() + piece.name.len() <= MAX_NAME_BYTES
        {
            self.name.push_str(&piece.name);
        }
        self.arguments.push(&piece.arguments);
    }
}

impl Calls {
    /// Adds a piece. `Some`: it has opened a call; the name as far as known.
    pub(super) fn add(&mut self, piece: Piece) -> Option<String> {
        let last = self
            .calls
            .iter()
            .rposition(|call| piece.index.is_none() || call.index == piece.index);
        let same_id = (!piece.id.is_empty())
            .then(|| self.calls.iter().rposition(|call| call.id == piece.id))
            .flatten();
        let place = match piece.index {
            Some(_) => last,
            None if piece.id.is_empty() => last,
            None => same_id,
        };
        let place = place.filter(|&place| !opens_another(&self.calls[place], &piece));
        // Without index and name an unknown id is one that changed within a call.
        let place = place.or_else(|| {
            let continues = piece.name.is_empty() && piece.index.is_none();
            last.filter(|&place| continues && !self.calls[place].is_whole())
        });
        if let Some(place) = place {
            let call = &mut self.calls[place];
            if !is_replay(call, &piece) {
                call.add(piece);
            }
            return None;
        }
        if self.calls.len() >= MAX_CALLS {
            self.overflowed = true;
            return None;
        }
        let name = piece.name.clone();
        self.calls.push(Partial {
            index: piece.index,
            id: piece.id,
            name: piece.name,
            arguments: Growing::of(piece.arguments),
        });
        Some(name)
    }

    /// The calls in the order in which they were opened, and whether the reply is whole. `at_limit`: it was cut off;
    /// `is_doubtful`: none of its calls may be run. A call with a piece missing may still be readable and mean something else.
    pub(super) fn end(self, at_limit: bool, is_doubtful: bool) -> (Vec<ProposedCall>, Finish) {
        let is_doubtful = is_doubtful && !self.calls.is_empty();
        let (calls, are_whole) = self.finish();
        let finish = match at_limit || is_doubtful || !are_whole {
            true => Finish::Cut,
            false => Finish::Complete,
        };
        (calls, finish)
    }

    /// The calls in the order in which they were opened, and whether all of them are whole.
    fn finish(self) -> (Vec<ProposedCall>, bool) {
        let mut whole = !self.overflowed;
        let calls = self.calls.into_iter().map(|call| {
            let bad = |problem: &str| BadArguments {
                raw: call.arguments.text().to_owned(),
                problem: problem.to_owned(),
            };
            let mut repaired = false;
            let arguments = match arguments::read(call.arguments.text()) {
                Arguments::Read(arguments) => Ok(arguments),
                Arguments::Repaired(arguments) => {
                    repaired = true;
                    Ok(arguments)
                }
                Arguments::Unfinished => {
                    whole = false;
                    Err(bad("they end in the middle"))
                }
                Arguments::Malformed(problem) => Err(bad(&problem)),
            };
            ProposedCall {
                id: call.id,
                tool: call.name,
                arguments,
                recovered: false,
                repaired,
            }
        });
        (calls.collect(), whole)
    }
}

fn opens_another(call: &Partial, piece: &Piece) -> bool {
    if is_replay(call, piece) {
        return false;
    }
    let other_id = !piece.id.is_empty() && !call.id.is_empty() && piece.id != call.id;
    let named = !piece.name.is_empty();
    let other_name = named && !call.name.is_empty() && piece.name != call.name;
    (other_id && (named || call.is_whole()))
        || (named && call.is_whole() && (other_name || !piece.arguments.is_empty()))
}

/// The whole call once more, as some servers send it with every piece or at the end.
fn is_replay(call: &Partial, piece: &Piece) -> bool {
    let same_id = piece.id.is_empty() || piece.id == call.id;
    same_id
        && piece.name == call.name
        && piece.arguments == call.arguments.text()
        && call.is_whole()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The pieces make these calls, written `id name arguments`.
    #[track_caller]
    fn check(case: &str, pieces: &[Value], expected: &[&str]) {
        let mut calls = Calls::default();
        for piece in pieces {
            calls.add(Piece::read(piece));
        }
        let (calls, whole) = calls.finish();
        let mut seen: Vec<String> = calls
            .into_iter()
            .map(|call| match call.arguments {
                Ok(arguments) => format!("{} {} {}", call.id, call.tool, Value::Object(arguments)),
                Err(bad) => format!("{} {} bad: {}", call.id, call.tool, bad.problem),
            })
            .collect();
        if !whole {
            seen.push("cut".to_owned());
        }
        assert_eq!(seen, expected, "{case}");
    }

    fn piece(index: Option<u64>, id: &str, name: &str, arguments: &str) -> Value {
        let mut piece = json!({"function": {}});
        if let Some(index) = index {
            piece["index"] = index.into();
        }
        for (field, text) in [("id", id), ("name", name), ("arguments", arguments)] {
            let place = if field == "id" {
                &mut piece
            } else {
                &mut piece["function"]
            };
            if !text.is_empty() {
                place[field] = text.into();
            }
        }
        piece
    }

    #[test]
    fn as_the_protocol_says() {
        check(
            "two calls, interleaved",
            &[
                piece(Some(0), "a", "f", ""),
                piece(Some(1), "b", "g", ""),
                piece(Some(0), "", "", "{\"x\":"),
                piece(Some(1), "", "", "{}"),
                piece(Some(0), "", "", "1}"),
            ],
            &["a f {\"x\":1}", "b g {}"],
        );
        check(
            "the same id everywhere",
            &[piece(Some(0), "a", "f", "{"), piece(Some(0), "a", "", "}")],
            &["a f {}"],
        );
        check(
            "no arguments at all",
            &[piece(Some(0), "a", "f", "")],
            &["a f {}"],
        );
    }

    #[test]
    fn without_index() {
        check(
            "ids tell calls apart",
            &[
                piece(None, "a", "f", "{"),
                piece(None, "", "", "}"),
                piece(None, "b", "f", "{}"),
            ],
            &["a f {}", "b f {}"],
        );
        check(
            "whole calls without ids",
            &[
                piece(None, "", "f", "{\"x\":1}"),
                piece(None, "", "f", "{\"x\":2}"),
                piece(None, "", "g", "{}"),
            ],
            &[" f {\"x\":1}", " f {\"x\":2}", " g {}"],
        );
        check(
            "the id changes within the call",
            &[piece(None, "a", "f", "{"), piece(None, "a2", "", "}")],
            &["a f {}"],
        );
    }

    #[test]
    fn one_index_for_all() {
        check(
            "another id",
            &[
                piece(Some(0), "a", "f", "{}"),
                piece(Some(0), "b", "f", "{}"),
            ],
            &["a f {}", "b f {}"],
        );
        check(
            "no ids, whole calls",
            &[
                piece(Some(0), "", "f", "{\"x\":1}"),
                piece(Some(0), "", "g", "{\"x\":1}"),
            ],
            &[" f {\"x\":1}", " g {\"x\":1}"],
        );
        check(
            "another id, arguments follow",
            &[
                piece(Some(0), "a", "f", ""),
                piece(Some(0), "", "", "{}"),
                piece(Some(0), "b", "g", ""),
                piece(Some(0), "", "", "{\"x\":1}"),
            ],
            &["a f {}", "b g {\"x\":1}"],
        );
        check(
            "the id changes within the call",
            &[piece(Some(0), "a", "f", "{"), piece(Some(0), "z", "", "}")],
            &["a f {}"],
        );
        check(
            "the id is reused",
            &[
                piece(None, "a", "f", "{\"x\":1}"),
                piece(None, "a", "f", "{\"x\":2}"),
            ],
            &["a f {\"x\":1}", "a f {\"x\":2}"],
        );
    }

    #[test]
    fn names() {
        check(
            "in fragments",
            &[
                piece(Some(0), "a", "read", ""),
                piece(Some(0), "", "_file", ""),
                piece(Some(0), "", "", "{}"),
            ],
            &["a read_file {}"],
        );
        check(
            "growing",
            &[
                piece(Some(0), "a", "read", ""),
                piece(Some(0), "", "read_file", "{}"),
            ],
            &["a read_file {}"],
        );
        check(
            "with every piece",
            &[
                piece(Some(0), "a", "f", "{\"x\""),
                piece(Some(0), "a", "f", ":1}"),
                piece(Some(0), "a", "f", ""),
            ],
            &["a f {\"x\":1}"],
        );
        check(
            "at the end",
            &[
                piece(Some(0), "a", "", "{\"x\":1}"),
                piece(Some(0), "", "f", ""),
            ],
            &["a f {\"x\":1}"],
        );
        check("none", &[piece(Some(0), "a", "", "{}")], &["a  {}"]);
    }

    #[test]
    fn arguments() {
        check(
            "as an object",
            &[json!({"function": {"name": "f", "arguments": {"x": 1}}})],
            &[" f {\"x\":1}"],
        );
        check(
            "as something else",
            &[json!({"function": {"name": "f", "arguments": [1]}})],
            &[" f bad: a JSON object is needed, not an array"],
        );
        check(
            "as null",
            &[json!({"function": {"name": "f", "arguments": null}})],
            &[" f {}"],
        );
        check(
            "the whole call again at the end",
            &[
                piece(Some(0), "a", "f", "{\"x\":1}"),
                piece(Some(0), "a", "f", "{\"x\":1}"),
            ],
            &["a f {\"x\":1}"],
        );
        check(
            "cut",
            &[piece(Some(0), "a", "f", "{\"x\":")],
            &["a f bad: they end in the middle", "cut"],
        );
        check(
            "of the wrong type",
            &[piece(Some(0), "a", "f", "[]")],
            &["a f bad: a JSON object is needed, not an array"],
        );
        check(
            "nonsense",
            &[
                json!("call"),
                json!(7),
                json!({"index": "0", "id": 3, "function": []}),
            ],
            &["  {}"],
        );
    }

    #[test]
    fn their_number_is_bounded() {
        let mut calls = Calls::default();
        for index in 0..=MAX_CALLS as u64 {
            calls.add(Piece::read(&piece(Some(index), "", "f", "{}")));
        }
        let (calls, whole) = calls.finish();
        assert_eq!((calls.len(), whole), (MAX_CALLS, false));
    }
}
