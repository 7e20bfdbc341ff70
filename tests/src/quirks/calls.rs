//! How calls arrive: indices, ids, names and arguments in every disorder that servers have.

use serde_json::{Value, json};

use super::case::{Called, Case, read, unread};
use crate::provider::Response;

const A: &str = r#"{"file_path":"a.txt"}"#;
const B: &str = r#"{"file_path":"b.txt"}"#;

/// A delta with these elements of `tool_calls`.
trait Pieces {
    fn pieces(self, pieces: Value) -> Self;
}

impl Pieces for Response {
    fn pieces(self, pieces: Value) -> Self {
        self.delta(json!({ "tool_calls": pieces }))
    }
}

fn stream() -> Response {
    Response::stream()
}

/// One piece with everything.
fn whole(index: Value, id: Value, arguments: Value) -> Value {
    json!({ "index": index, "id": id, "type": "function", "function": { "name": "read_file", "arguments": arguments } })
}

fn more(index: Value, arguments: &str) -> Value {
    json!({ "index": index, "function": { "arguments": arguments } })
}

fn no_index(id: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": "read_file", "arguments": arguments } })
}

/// A call that was answered with an error about its arguments; what is sent back is `{}`.
fn bad(result: &'static str) -> Called {
    unread(json!({}), result)
}

const UNFIT: &str = "ERROR: the arguments of read_file do not fit";
const CUT: &str = "ERROR: not run: the reply was cut off before it was complete";
const AGAIN: &str = "not run again";

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn cases() -> Vec<Case> {
    let both = || [read("a.txt"), read("b.txt")];
    let one =
        |name, answer: Response| Case::calls(name, answer.finish("tool_calls"), &[read("a.txt")]);
    let two = |name, answer: Response| Case::calls(name, answer.finish("tool_calls"), &both());
    vec![
        // As it should be.
        one("as the protocol says", stream().call_start(0, "a", "read_file").call_arguments(0, A)),
        one(
            "arguments by single characters",
            A.chars().fold(stream().call_start(0, "a", "read_file"), |stream, c| {
                stream.call_arguments(0, &c.to_string())
            }),
        ),
        two(
            "two calls, interleaved",
            stream()
                .call_start(0, "a", "read_file")
                .call_start(1, "b", "read_file")
                .call_arguments(1, &B[..5])
                .call_arguments(0, A)
                .call_arguments(1, &B[5..]),
        ),
        one("text before the call", stream().text("I read.").call_start(0, "a", "read_file").call_arguments(0, A))
            .printing("I read."),
        one("text behind the call", stream().call_start(0, "a", "read_file").call_arguments(0, A).text("Reading."))
            .printing("Reading."),
        // Index.
        one("no index", stream().pieces(json!([no_index("a", "")])).pieces(json!([{"function": {"arguments": A}}]))),
        two(
            "no index, ids tell calls apart",
            stream()
                .pieces(json!([no_index("a", "")]))
                .pieces(json!([{"function": {"arguments": A}}]))
                .pieces(json!([no_index("b", "")]))
                .pieces(json!([{"function": {"arguments": B}}])),
        ),
        two(
            "no index and no ids, whole calls",
            stream()
                .pieces(json!([{"function": {"name": "read_file", "arguments": A}}]))
                .pieces(json!([{"function": {"name": "read_file", "arguments": B}}])),
        ),
        two("no index, several in one chunk", stream().pieces(json!([no_index("a", A), no_index("b", B)]))),
        two(
            "index 0 for all, other ids",
            stream().pieces(json!([whole(json!(0), json!("a"), json!(A))])).pieces(json!([whole(json!(0), json!("b"), json!(B))])),
        ),
        two(
            "index 0 for all, other ids, arguments in pieces",
            stream()
                .call_start(0, "a", "read_file")
                .call_arguments(0, &A[..6])
                .call_arguments(0, &A[6..])
                .call_start(0, "b", "read_file")
                .call_arguments(0, &B[..6])
                .call_arguments(0, &B[6..]),
        ),
        two(
            "index 0 for all, no ids",
            stream()
                .pieces(json!([whole(json!(0), Value::Null, json!(A))]))
                .pieces(json!([whole(json!(0), Value::Null, json!(B))])),
        ),
        two(
            "index 0 for all, in one chunk",
            stream().pieces(json!([whole(json!(0), json!("a"), json!(A)), whole(json!(0), json!("b"), json!(B))])),
        ),
        two("several in one chunk", stream().pieces(json!([whole(json!(0), json!("a"), json!(A)), whole(json!(1), json!("b"), json!(B))]))),
        one("an index that does not begin at 0", stream().call_start(1, "a", "read_file").call_arguments(1, A)),
        two(
            "indices with gaps",
            stream().call_start(2, "a", "read_file").call_arguments(2, A).call_start(7, "b", "read_file").call_arguments(7, B),
        ),
        one("an index that is a text", stream().pieces(json!([whole(json!("0"), json!("a"), json!(A))]))),
        one("an index that is null", stream().pieces(json!([whole(Value::Null, json!("a"), json!(""))])).pieces(json!([more(Value::Null, A)]))),
        one("a huge index", stream().pieces(json!([whole(json!(4_000_000_000_u64), json!("a"), json!(A))]))),
        // Ids.
        one("the id is missing", stream().pieces(json!([{"index": 0, "function": {"name": "read_file", "arguments": A}}]))),
        one("the id is empty", stream().call_start(0, "", "read_file").call_arguments(0, A)),
        one("the id is null", stream().pieces(json!([whole(json!(0), Value::Null, json!(A))]))),
        one("the id is a number", stream().pieces(json!([whole(json!(0), json!(7), json!(A))]))),
        one(
            "the id with every piece",
            stream().call_start(0, "a", "read_file").pieces(json!([{"index": 0, "id": "a", "function": {"arguments": A}}])),
        ),
        one(
            "the id changes within a call",
            stream()
                .pieces(json!([whole(json!(0), json!("a"), json!(A[..7]))]))
                .pieces(json!([{"index": 0, "id": "z", "function": {"arguments": A[7..]}}])),
        ),
        one(
            "an empty id with every further piece",
            stream().call_start(0, "a", "read_file").pieces(json!([{"index": 0, "id": "", "function": {"name": "", "arguments": A}}])),
        ),
        one("the id comes last", stream().pieces(json!([{"index": 0, "function": {"name": "read_file", "arguments": A}}])).pieces(json!([{"index": 0, "id": "late"}]))),
        two("one id for two calls", stream().pieces(json!([no_index("same", A)])).pieces(json!([no_index("same", B)]))),
        two(
            "one id for two indices",
            stream().pieces(json!([whole(json!(0), json!("same"), json!(A)), whole(json!(1), json!("same"), json!(B))])),
        ),
        one("a very long id", stream().call_start(0, &"x".repeat(300), "read_file").call_arguments(0, A)),
        one("an id with spaces", stream().call_start(0, "call 1\n", "read_file").call_arguments(0, A)),
        Case {
            answers: vec![
                stream().call_start(0, "call_0", "read_file").call_arguments(0, A).finish("tool_calls"),
                stream().call_start(0, "call_0", "read_file").call_arguments(0, B).finish("tool_calls"),
                Response::reply("Done."),
            ],
            ..Case::says("the id of an earlier reply", Response::reply(""), "Done.")
        },
        // Names.
        one(
            "the name in fragments",
            stream().call_start(0, "a", "read").pieces(json!([{"index": 0, "function": {"name": "_file"}}])).call_arguments(0, A),
        ),
        one(
            "the name grows",
            stream().call_start(0, "a", "read").pieces(json!([{"index": 0, "function": {"name": "read_file", "arguments": A}}])),
        ),
        one(
            "the name with every piece",
            stream()
                .pieces(json!([whole(json!(0), json!("a"), json!(A[..7]))]))
                .pieces(json!([whole(json!(0), json!("a"), json!(A[7..]))])),
        ),
        one("the name comes with the last piece", stream().pieces(json!([{"index": 0, "id": "a", "function": {"arguments": A}}])).pieces(json!([{"index": 0, "function": {"name": "read_file"}}]))),
        one("the name is null in further pieces", stream().call_start(0, "a", "read_file").pieces(json!([{"index": 0, "function": {"name": null, "arguments": A}}]))),
        one(
            "the whole call again at the end",
            stream().pieces(json!([whole(json!(0), json!("a"), json!(A))])).pieces(json!([whole(json!(0), json!("a"), json!(A))])),
        ),
        one("the call without function", stream().pieces(json!([{"index": 0, "id": "a", "name": "read_file", "arguments": A}]))),
        one("the older function_call", stream().delta(json!({"function_call": {"name": "read_file", "arguments": A[..7]}})).delta(json!({"function_call": {"arguments": A[7..]}}))),
        Case::calls(
            "an unknown name",
            stream().call_start(0, "a", "open_the_file").call_arguments(0, A).finish("tool_calls"),
            &[Called { tool: "open_the_file", ..unread(json!({"file_path": "a.txt"}), "ERROR: there is no tool named \"open_the_file\"") }],
        ),
        Case::calls(
            "a name in the wrong case",
            stream().call_start(0, "a", "Read_File").call_arguments(0, A).finish("tool_calls"),
            &[Called { tool: "Read_File", ..unread(json!({"file_path": "a.txt"}), "similar: read_file") }],
        ),
        Case::calls(
            "a name with a prefix",
            stream().call_start(0, "a", "functions.read_file").call_arguments(0, A).finish("tool_calls"),
            &[Called { tool: "functions_read_file", ..unread(json!({"file_path": "a.txt"}), "similar: read_file") }],
        ),
        Case::calls(
            "an empty name",
            stream().call_start(0, "a", "").call_arguments(0, A).finish("tool_calls"),
            &[Called { tool: "unnamed", ..unread(json!({"file_path": "a.txt"}), "ERROR: there is no tool") }],
        ),
        Case::calls(
            "a name that no endpoint would take back",
            stream().call_start(0, "a", "read file!\u{1b}[2J").call_arguments(0, A).finish("tool_calls"),
            &[Called { tool: "read_file___2J", ..unread(json!({"file_path": "a.txt"}), "ERROR: there is no tool") }],
        )
        .without("\u{1b}"),
        // Arguments.
        one("arguments in one chunk with the name", stream().pieces(json!([whole(json!(0), json!("a"), json!(A))]))),
        one("arguments as an object", stream().pieces(json!([whole(json!(0), json!("a"), json!({"file_path": "a.txt"}))]))),
        one("arguments as a text within a text", stream().pieces(json!([whole(json!(0), json!("a"), json!(json!(A).to_string()))]))),
        one("something behind the arguments", stream().call_start(0, "a", "read_file").call_arguments(0, &format!("{A}</tool_call>"))),
        one("the arguments twice", stream().call_start(0, "a", "read_file").call_arguments(0, &format!("{A}{A}"))),
        one("an opening brace twice", stream().call_start(0, "a", "read_file").call_arguments(0, &format!("{{{A}"))),
        one("an empty object before the arguments", stream().call_start(0, "a", "read_file").call_arguments(0, "{}").call_arguments(0, A)),
        one("single quotes", stream().call_start(0, "a", "read_file").call_arguments(0, "{'file_path': 'a.txt'}")),
        one("a comma too many", stream().call_start(0, "a", "read_file").call_arguments(0, r#"{"file_path": "a.txt",}"#)),
        one("words of Python", stream().call_start(0, "a", "read_file").call_arguments(0, r#"{"file_path": "a.txt", "read_entire_file": True}"#)).rewritten(json!({"file_path": "a.txt", "read_entire_file": true})),
        one("marks of a template around the arguments", stream().call_start(0, "a", "read_file").call_arguments(0, &format!("<|tool_call_argument_begin|>{A}<|tool_call_end|>"))),
        Case::calls(
            "a line end within a text",
            stream().call_start(0, "a", "read_file").call_arguments(0, "{\"file_path\": \"a\nb\"}").finish("tool_calls"),
            &[unread(json!({"file_path": "a\nb"}), "ERROR")],
        ),
        Case::calls("no arguments: an empty text", stream().call_start(0, "a", "read_file").finish("tool_calls"), &[bad(UNFIT)]),
        Case::calls("no arguments: null", stream().pieces(json!([whole(json!(0), json!("a"), Value::Null)])).finish("tool_calls"), &[bad(UNFIT)]),
        Case::calls("no arguments: the word null", stream().call_start(0, "a", "read_file").call_arguments(0, "null").finish("tool_calls"), &[bad(UNFIT)]),
        Case::calls("no arguments: absent", stream().pieces(json!([{"index": 0, "id": "a", "function": {"name": "read_file"}}])).finish("tool_calls"), &[bad(UNFIT)]),
        Case::calls("arguments that are a list", stream().call_start(0, "a", "read_file").call_arguments(0, "[1]").finish("tool_calls"), &[bad(UNFIT)]),
        Case::calls("arguments as a list and no text", stream().pieces(json!([whole(json!(0), json!("a"), json!(["a.txt"]))])).finish("tool_calls"), &[bad(UNFIT)]),
        Case::calls(
            "arguments that are not JSON go back as an error and never into the history",
            stream().call_start(0, "a", "read_file").call_arguments(0, "{file_path: a.txt}").finish("tool_calls"),
            &[bad(UNFIT)],
        )
        .without("file_path: a.txt"),
        Case::calls(
            "one of two with broken arguments",
            stream().call_start(0, "a", "read_file").call_arguments(0, "a.txt").call_start(1, "b", "read_file").call_arguments(1, B).finish("tool_calls"),
            &[bad(UNFIT), read("b.txt")],
        ),
        Case::calls(
            "arguments that end in the middle",
            stream().call_start(0, "a", "read_file").call_arguments(0, r#"{"file_path": "a.t"#).finish("tool_calls"),
            &[bad(CUT)],
        ),
        Case::calls(
            "arguments that end in the middle, the reason says stop",
            stream().call_start(0, "a", "read_file").call_arguments(0, r#"{"file_path": "a.txt""#).finish("stop"),
            &[bad(CUT)],
        ),
        Case::calls(
            "one of two ends in the middle",
            stream().call_start(0, "a", "read_file").call_arguments(0, A).call_start(1, "b", "read_file").call_arguments(1, "{\"fi").finish("tool_calls"),
            &[unread(json!({"file_path": "a.txt"}), CUT), bad(CUT)],
        ),
        Case::calls(
            "a piece of a call is lost",
            stream().call_start(0, "a", "read_file").call_arguments(0, A).raw("data: {\"choi\n\n").finish("tool_calls"),
            &[unread(json!({"file_path": "a.txt"}), CUT)],
        ),
        // The same call.
        Case::calls(
            "the same call twice runs once",
            stream().call_start(0, "a", "read_file").call_arguments(0, A).call_start(1, "b", "read_file").call_arguments(1, A).finish("tool_calls"),
            &[read("a.txt"), unread(json!({"file_path": "a.txt"}), AGAIN)],
        ),
        Case::calls(
            "the same call three times, written otherwise",
            stream()
                .pieces(json!([
                    whole(json!(0), json!("a"), json!(A)),
                    whole(json!(1), json!("b"), json!(r#"{ "file_path" : "a.txt" }"#)),
                    whole(json!(2), json!("c"), json!({"file_path": "a.txt"})),
                ]))
                .finish("tool_calls"),
            &[
                read("a.txt"),
                unread(json!({"file_path": "a.txt"}), AGAIN),
                unread(json!({"file_path": "a.txt"}), AGAIN),
            ],
        ),
        // The reason.
        Case::calls("the reason says stop", stream().call_start(0, "a", "read_file").call_arguments(0, A).finish("stop"), &[read("a.txt")]),
        Case::calls("the reason is unknown", stream().call_start(0, "a", "read_file").call_arguments(0, A).finish("end_turn"), &[read("a.txt")]),
        Case::calls("no reason but [DONE]", stream().call_start(0, "a", "read_file").call_arguments(0, A).done(), &[read("a.txt")]),
        Case::calls(
            "the reason in the chunk of the call",
            stream()
                .event(&json!({"choices": [{"index": 0, "delta": {"tool_calls": [whole(json!(0), json!("a"), json!(A))]}, "finish_reason": "tool_calls"}]}))
                .done(),
            &[read("a.txt")],
        ),
        Case::calls(
            "the reason before the last piece",
            stream().call_start(0, "a", "read_file").finish_reason("tool_calls").call_arguments(0, A).done(),
            &[read("a.txt")],
        ),
        Case::calls(
            "a call at the token limit",
            stream().call_start(0, "a", "read_file").call_arguments(0, A).finish("length"),
            &[unread(json!({"file_path": "a.txt"}), CUT)],
        ),
        Case::calls("a call cut at the token limit", stream().call_start(0, "a", "read_file").call_arguments(0, "{\"file").finish("length"), &[bad(CUT)]),
        Case {
            answers: vec![
                stream().call_start(0, "a", "read_file").call_arguments(0, "{\"fi").finish("length"),
                stream().call_start(0, "b", "read_file").call_arguments(0, "{\"fi").finish("length"),
                stream().call_start(0, "c", "read_file").call_arguments(0, "{\"fi").finish("length"),
            ],
            ..Case::says("cut at the token limit again and again", Response::reply(""), "")
        },
        Case::calls(
            "a document with a call",
            Response::json(200, &json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [whole(json!(0), json!("a"), json!(A))]}}]})),
            &[read("a.txt")],
        ),
    ]
}

impl Case {
    /// With other arguments of its only call.
    fn rewritten(mut self, arguments: Value) -> Case {
        for call in &mut self.calls {
            call.arguments = arguments.clone();
        }
        self
    }
}
