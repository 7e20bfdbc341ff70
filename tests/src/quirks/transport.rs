//! The bytes of a response: line ends, comments, where it ends and where it breaks off.

use serde_json::{Value, json};

use super::case::Case;
use crate::provider::Response;

const HI: &str = r#"{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}"#;
const THERE: &str =
    r#"{"choices":[{"index":0,"delta":{"content":" there"},"finish_reason":null}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const USAGE: &str =
    r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#;

/// A stream of these bytes.
fn raw(text: impl AsRef<str>) -> Response {
    Response::stream().raw(text.as_ref())
}

/// A stream of these payloads.
fn events(payloads: &[&str]) -> Response {
    let events = payloads
        .iter()
        .map(|payload| format!("data: {payload}\n\n"));
    raw(events.collect::<String>())
}

fn document(extra: Value) -> Value {
    let mut document = json!({
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi there"}, "finish_reason": "stop"}],
    });
    if let (Some(document), Value::Object(extra)) = (document.as_object_mut(), extra) {
        document.extend(extra);
    }
    document
}

const KEPT: &str = "run it again";
const ENDED: &str = "ended in the middle";

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn cases() -> Vec<Case> {
    let says = |name, answer| Case::says(name, answer, "Hi there");
    let ended = |end: &str| {
        let parts = [HI, THERE, STOP, USAGE, "[DONE]"];
        raw(parts.map(|part| format!("data: {part}{end}{end}")).concat())
    };
    let error = |name, error: Value, said| {
        let chunk = error.to_string();
        Case::fails(name, events(&[HI, &chunk]), "Hi", said)
    };
    let refused = |name, status, said| {
        let body = json!({"error": {"message": "no, not this"}});
        Case::fails(name, Response::json(status, &body), "", said)
    };
    vec![
        // Line ends and fields.
        says("lines end with LF", ended("\n")),
        says("lines end with CRLF", ended("\r\n")),
        says("lines end with CR", ended("\r")),
        says(
            "line ends are mixed",
            raw(format!("data: {HI}\r\n\r\ndata: {THERE}\n\ndata: {STOP}\r\rdata: [DONE]\n\n")),
        ),
        says("CRLF is cut between reads", ended("\r\n").in_pieces_of(1)),
        says(
            "no space behind data:",
            raw(format!("data:{HI}\n\ndata:{THERE}\n\ndata:{STOP}\n\ndata:[DONE]\n\n")),
        ),
        says(
            "two spaces behind data:",
            raw(format!("data:  {HI}\n\ndata:  {THERE}\n\ndata:  {STOP}\n\ndata:  [DONE]\n\n")),
        ),
        says(
            "one event over several data: lines",
            raw(format!(
                "data: {{\"choices\":[{{\"index\":0,\ndata: \"delta\":{{\"content\":\"Hi there\"}},\ndata: \"finish_reason\":null}}]}}\n\ndata: {STOP}\n\ndata: [DONE]\n\n"
            )),
        ),
        says(
            "event, id and retry fields",
            raw(format!(
                "retry: 3000\nevent: message\nid: 1\ndata: {HI}\n\nid: 2\ndata: {THERE}\nevent: chunk\n\ndata: {STOP}\n\ndata: [DONE]\n\n"
            )),
        ),
        says(
            "a field that nobody knows",
            raw(format!("foo: bar\ndata: {HI}\n\ndata: {THERE}\n\ndata: {STOP}\n\ndata: [DONE]\n\n")),
        ),
        says(
            "empty data: lines",
            raw(format!("data:\n\ndata: {HI}\n\ndata: \n\ndata: {THERE}\n\ndata: {STOP}\n\ndata: [DONE]\n\n")),
        ),
        says(
            "empty lines before the first event",
            raw(format!("\n\n\r\n data\n\ndata: {HI}\n\ndata: {THERE}\n\ndata: {STOP}\n\ndata: [DONE]\n\n")),
        ),
        says(
            "a byte order mark",
            raw(format!("\u{feff}data: {HI}\n\ndata: {THERE}\n\ndata: {STOP}\n\ndata: [DONE]\n\n")),
        ),
        // Comments.
        says(
            "comments keep the connection alive",
            raw(format!(
                ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: {HI}\n\n: OPENROUTER PROCESSING\n\ndata: {THERE}\n\ndata: {STOP}\n\ndata: [DONE]\n\n"
            )),
        ),
        says(
            "a gateway wraps comments in data",
            events(&[": OPENROUTER PROCESSING", HI, ": OPENROUTER PROCESSING", THERE, STOP, "[DONE]"]),
        ),
        says(
            "empty comments",
            raw(format!(":\n\ndata: {HI}\n:\n\n:\n:\ndata: {THERE}\n\ndata: {STOP}\n\n:\ndata: [DONE]\n\n")),
        ),
        says(
            "a comment before the error-free end",
            raw(format!("data: {HI}\n\ndata: {THERE}\n\ndata: {STOP}\n\n: done\n\n")),
        ),
        // The end.
        says("[DONE] is missing, the connection is closed", events(&[HI, THERE, STOP])),
        says(
            "[DONE] is missing, the body ends with the connection",
            events(&[HI, THERE, STOP]).unframed(),
        ),
        says("[DONE] is missing, the connection stays open", events(&[HI, THERE, STOP]).stall()),
        says(
            "[DONE] is missing, usage comes, the connection stays open",
            events(&[HI, THERE, STOP, USAGE]).stall(),
        ),
        says("the connection stays open after [DONE]", events(&[HI, THERE, STOP, "[DONE]"]).stall()),
        says("the connection breaks after the reason", events(&[HI, THERE, STOP]).cut()),
        says("the connection breaks after [DONE]", events(&[HI, THERE, STOP, "[DONE]"]).cut()),
        says("[DONE] without a reason", events(&[HI, THERE, "[DONE]"])),
        says(
            "[DONE] with a carriage return",
            raw(format!("data: {HI}\n\ndata: {THERE}\n\ndata: {STOP}\n\ndata: [DONE]\r\n\n")),
        ),
        says("[DONE] with a space", events(&[HI, THERE, STOP, "[DONE] "])),
        says("[DONE] without line ends", raw(format!("data: {HI}\n\ndata: {THERE}\n\ndata: {STOP}\n\ndata: [DONE]"))),
        says("something behind [DONE]", events(&[HI, THERE, STOP, "[DONE]", HI])),
        says(
            "the last event lacks its line end",
            raw(format!("data: {HI}\n\ndata: {THERE}\n\ndata: {STOP}")),
        ),
        Case::fails("no reason and no [DONE]", events(&[HI]), "Hi", ENDED).saying(KEPT),
        Case::fails("no reason, the body ends with the connection", events(&[HI]).unframed(), "Hi", ENDED),
        Case::fails("the connection breaks in the middle", events(&[HI]).cut(), "Hi", ENDED),
        Case::fails(
            "the connection breaks within an event",
            raw(format!("data: {HI}\n\ndata: {{\"choi")).cut(),
            "Hi",
            ENDED,
        ),
        Case::fails("nothing at all", raw(""), "", ENDED),
        Case::fails("nothing but a role", events(&[r#"{"choices":[{"delta":{"role":"assistant"}}]}"#]), "", ENDED),
        Case::fails("nothing but a comment", raw(": hello\n\n"), "", ENDED),
        Case::fails(
            "a call in a stream that never finished",
            Response::stream()
                .text("I read.")
                .call_start(0, "a", "read_file")
                .call_arguments(0, r#"{"file_path":"a.txt"}"#),
            "I read.",
            ENDED,
        ),
        Case::fails(
            "a call in a stream that broke",
            Response::stream()
                .call_start(0, "a", "read_file")
                .call_arguments(0, r#"{"file_path":"a.txt"}"#)
                .cut(),
            "",
            ENDED,
        ),
        Case::fails("silence in the middle", events(&[HI]).stall(), "Hi", "did not continue its reply within 1 s")
            .configured("[limits]\nrequest_timeout_secs = 1"),
        // Pieces.
        says("all in one piece", events(&[HI, THERE, STOP, USAGE, "[DONE]"])),
        says("byte by byte", events(&[HI, THERE, STOP, USAGE, "[DONE]"]).in_pieces_of(1)),
        Case::says(
            "characters are cut between reads",
            Response::reply("süß 日本 🪶 e\u{301}").in_pieces_of(1),
            "süß 日本 🪶 e\u{301}",
        ),
        Case::says(
            "characters are cut within an escape",
            raw(format!(
                "data: {{\"choices\":[{{\"delta\":{{\"content\":\"\\ud83e\\udeb6 \\u00fc\"}}}}]}}\n\ndata: {STOP}\n\n"
            ))
            .in_pieces_of(3),
            "🪶 ü",
        ),
        says("two objects in one payload", events(&[&format!("{HI}{THERE}"), STOP, "[DONE]"])),
        says(
            "two objects in one payload, on two lines",
            raw(format!("data: {HI}\ndata: {THERE}\n\ndata: {STOP}\n\ndata: [DONE]\n\n")),
        ),
        Case::says(
            "one object cut and another begun within it",
            raw(format!(
                "data: {HI}\n\ndata: {{\"choices\":[{{\"delta\":{{\"contdata: {THERE}\n\ndata: {STOP}\n\ndata: [DONE]\n\n"
            )),
            "Hi there",
        )
        .saying("a damaged piece of the reply was skipped"),
        Case::says("a damaged event is skipped", events(&[HI, "{\"choi", THERE, STOP, "[DONE]"]), "Hi there")
            .saying("a damaged piece of the reply was skipped"),
        Case::says("an event that is not JSON is skipped", events(&[HI, "ping", THERE, STOP, "[DONE]"]), "Hi there")
            .saying("a damaged piece of the reply was skipped"),
        // Errors within the stream.
        error("an error without choices", json!({"error": {"message": "overloaded", "code": 529}}), "broke off its reply: overloaded"),
        error(
            "an error beside choices",
            json!({"error": {"message": "overloaded"}, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}),
            "broke off its reply: overloaded",
        ),
        error("an error that is a text", json!({"error": "out of memory"}), "broke off its reply: out of memory"),
        error("an error with a code that is null", json!({"error": {"message": "no", "code": null}}), "broke off its reply: no"),
        error("an error with a code that is a text", json!({"error": {"message": "no", "code": "server_error"}}), "broke off its reply: no"),
        error(
            "an error with what the router was told",
            json!({"error": {"message": "Provider returned error", "metadata": {"raw": "{\"message\":\"too hot\"}"}}}),
            "Provider returned error: too hot",
        ),
        error("an object of the kind error", json!({"object": "error", "message": "no", "code": 400}), "broke off its reply: no"),
        Case::fails(
            "an event named error",
            raw(format!("data: {HI}\n\nevent: error\ndata: {{\"message\":\"no\"}}\n\n")),
            "Hi",
            "broke off its reply: no",
        ),
        Case::fails("an error before any text", events(&[r#"{"error":{"message":"no"}}"#]), "", "broke off its reply: no"),
        Case::fails(
            "an error, and the connection stays open",
            events(&[HI, r#"{"error":{"message":"no"}}"#]).stall(),
            "Hi",
            "broke off its reply: no",
        ),
        Case::fails(
            "an error behind a whole call",
            Response::stream()
                .call_start(0, "a", "read_file")
                .call_arguments(0, r#"{"file_path":"a.txt"}"#)
                .event(&json!({"error": {"message": "no"}})),
            "",
            "broke off its reply: no",
        ),
        says("an error that is null", events(&[r#"{"error":null,"choices":[]}"#, HI, THERE, STOP, "[DONE]"])),
        // Not a stream.
        says("a document instead of a stream", Response::json(200, &document(json!({})))),
        says(
            "a document that is called a stream",
            Response::stream().raw(document(json!({})).to_string()),
        ),
        says("a document without a type", Response::status(200, &document(json!({})).to_string())),
        says("a document with a byte order mark", Response::status(200, &format!("\u{feff}{}", document(json!({}))))),
        says(
            "a document with spaces and lines",
            Response::status(200, &format!("\n  {}\n\n", serde_json::to_string_pretty(&document(json!({}))).unwrap_or_default())),
        ),
        says("a document with an error that is null", Response::json(200, &document(json!({"error": null})))),
        says(
            "a stream without a type",
            Response::status(200, &format!("data: {HI}\n\ndata: {THERE}\n\ndata: {STOP}\n\n")),
        ),
        says(
            "a stream that is called a document",
            Response::status(200, &format!("data: {HI}\n\ndata: {THERE}\n\ndata: {STOP}\n\n")).header("content-type", "application/json"),
        ),
        says(
            "chunks on lines without data:",
            Response::status(200, &format!("{HI}\n{THERE}\n{STOP}\n")).header("content-type", "application/x-ndjson"),
        ),
        Case::fails("a document that is an error", Response::json(200, &json!({"error": {"message": "no"}})), "", "broke off its reply: no"),
        Case::fails("a document with a detail", Response::json(200, &json!({"detail": "Not Found"})), "", "Not Found"),
        Case::fails(
            "half a document",
            Response::status(200, &document(json!({})).to_string()[..60]),
            "",
            ENDED,
        ),
        Case::fails("a web page", Response::status(200, "<!doctype html><p>Log in</p>"), "", "did not answer with a reply"),
        Case::fails("an empty body", Response::status(200, ""), "", ENDED),
        // Refusals.
        refused("400 is not asked again", 400, "answered 400: no, not this"),
        refused("401 is not asked again", 401, "answered 401: no, not this"),
        refused("403 is not asked again", 403, "answered 403: no, not this"),
        refused("404 is not asked again", 404, "answered 404: no, not this"),
        refused("422 is not asked again", 422, "answered 422: no, not this"),
        Case::fails(
            "a redirect is not followed",
            Response::status(307, "").header("location", "http://127.0.0.1:9/v1/chat/completions"),
            "",
            "it redirects to",
        ),
    ]
}
