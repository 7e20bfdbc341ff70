//! Refusals: what is asked again, how, and what is not.

use serde_json::{Value, json};

use super::case::Case;
use crate::provider::Response;

fn refusal(status: u16, message: &str) -> Response {
    Response::json(status, &json!({ "error": { "message": message } }))
}

pub(super) fn cases() -> Vec<Case> {
    let reply = || Response::reply("Hi there");
    // The refusal, and then the reply to a second request.
    let again = |name, refusal: Response| Case {
        answers: vec![refusal, reply()],
        ..Case::says(name, reply(), "Hi there")
    };
    let never = |name, answer: Response, said| Case::fails(name, answer, "", said);
    let over = json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}});
    let busy = |status| Response::json(status, &over);
    vec![
        again(
            "429 with seconds in Retry-After",
            busy(429).header("retry-after", "1"),
        ),
        again(
            "429 with a date in Retry-After",
            busy(429).header("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ),
        again("429 without Retry-After", busy(429)),
        again(
            "429 with a Retry-After that says nothing",
            busy(429).header("retry-after", "soon"),
        ),
        again("500 and then a reply", refusal(500, "hiccup")),
        again("502 with a page", Response::status(502, "<html><title>Bad Gateway</title></html>")),
        again("503 while the model is loaded", refusal(503, "Loading model")),
        again("504 with nothing", Response::status(504, "")),
        again("408", refusal(408, "too slow")),
        again("529", refusal(529, "overloaded")),
        never(
            "429 with a Retry-After of an hour",
            busy(429).header("retry-after", "3600"),
            "answered 429: slow down",
        ),
        Case {
            answers: vec![busy(429), busy(429)],
            ..never("429 without end", reply(), "answered 429: slow down")
        }
        .configured("[limits]\nmax_retries = 1"),
        never(
            "429 because the money is gone",
            Response::json(429, &json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}})),
            "You exceeded your current quota",
        )
        .configured("[limits]\nmax_retries = 0"),
        never("402 is not asked again", refusal(402, "no money"), "answered 402: no money"),
        never("405 is not asked again", refusal(405, "not so"), "answered 405: not so"),
        never("451 is not asked again", refusal(451, "not here"), "answered 451: not here"),
        // What a refusal says is heeded, once.
        again(
            "stream_options is refused",
            refusal(400, "Unrecognized request argument supplied: stream_options"),
        )
        .without("stream_options"),
        again(
            "stream_options is refused as a field too many",
            Response::json(
                422,
                &json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}),
            ),
        )
        .without("stream_options"),
        again("tools are not supported", refusal(400, "registry.ollama.ai/library/x does not support tools"))
            .without("\"tools\""),
        never(
            "an error in the stream is not asked again",
            Response::stream().event(&json!({"error": {"message": "overloaded", "code": 503}})),
            "broke off its reply: overloaded",
        ),
        Case::fails(
            "a reply that breaks off is not asked again",
            Response::stream().text("Hi").cut(),
            "Hi",
            "ended in the middle",
        ),
        never(
            "a refusal with control characters",
            refusal(400, "no\u{1b}[2J, not this"),
            "answered 400: no\\u{1b}[2J, not this",
        ),
        never(
            "a refusal that is a list",
            Response::json(400, &json!([{"error": {"message": "no, not this"}}])),
            "answered 400: no, not this",
        ),
        never(
            "a refusal without a word",
            Response::json(400, &Value::Null),
            "answered 400: bad request",
        ),
    ]
}
