//! Replies of the Responses API: what servers and gateways leave out, repeat or change in its events.

use serde_json::{Value, json};

use super::case::{Called, Case, read};
use crate::provider::Response;

fn event(kind: &str, mut fields: Value) -> Value {
    fields["type"] = format!("response.{kind}").into();
    fields
}

fn added(item: Value) -> Value {
    event(
        "output_item.added",
        json!({ "output_index": 0, "item": item }),
    )
}

fn done(item: Value) -> Value {
    event(
        "output_item.done",
        json!({ "output_index": 0, "item": item }),
    )
}

fn text(piece: &str) -> Value {
    event(
        "output_text.delta",
        json!({ "output_index": 0, "delta": piece }),
    )
}

fn message(text: &str) -> Value {
    let part = json!({ "type": "output_text", "text": text });
    json!({ "id": "msg_0", "type": "message", "role": "assistant", "content": [part] })
}

fn call(id: &str, arguments: &str) -> Value {
    json!({
        "id": format!("fc_{id}"), "type": "function_call", "call_id": id, "name": "read_file",
        "arguments": arguments,
    })
}

fn input(fields: Value) -> Value {
    event("function_call_arguments.delta", fields)
}

fn completed() -> Value {
    event(
        "completed",
        json!({ "response": { "status": "completed" } }),
    )
}

const A: &str = "{\"file_path\":\"a.txt\"}";

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn cases() -> Vec<Case> {
    let stream = |events: &[Value]| {
        let events = events.iter();
        events.fold(Response::stream(), |stream, event| {
            stream.items_event(event)
        })
    };
    let of_items = |case: Case| case.configured("api = \"openai-responses\"");
    let says = |name, events: &[Value]| of_items(Case::says(name, stream(events), "Hi there"));
    let fails =
        |name, events: &[Value], said| of_items(Case::fails(name, stream(events), "Hi", said));
    let calls = |name, events: &[Value], calls: &[Called]| {
        let case = Case::calls(name, stream(events), calls);
        of_items(Case {
            answers: vec![stream(events), Response::items_reply("Done.")],
            ..case
        })
    };
    let reads = |name, events: &[Value]| calls(name, events, &[read("a.txt")]);
    let whole = json!({ "object": "response", "status": "completed", "error": null, "output": [message("Hi there")] });
    let failed = json!({ "status": "failed", "error": { "code": "server_error", "message": "it fell over" } });
    vec![
        of_items(Case::says(
            "items: a whole reply",
            Response::items_reply("Hi there"),
            "Hi there",
        )),
        of_items(Case::says(
            "items: a document",
            Response::json(200, &whole),
            "Hi there",
        )),
        of_items(Case::says(
            "items: lines without names of events",
            Response::stream()
                .event(&text("Hi there"))
                .event(&completed()),
            "Hi there",
        )),
        of_items(Case::says(
            "items: [DONE] behind the end",
            Response::stream()
                .event(&text("Hi there"))
                .event(&completed())
                .done(),
            "Hi there",
        )),
        says(
            "items: pieces without an item",
            &[text("Hi"), text(" there"), completed()],
        ),
        says(
            "items: the item that is done alone",
            &[done(message("Hi there")), completed()],
        ),
        says(
            "items: the last event alone",
            &[event("completed", json!({ "response": whole }))],
        ),
        says(
            "items: the text again with each end",
            &[
                added(message("")),
                text("Hi there"),
                event(
                    "output_text.done",
                    json!({ "output_index": 0, "text": "Hi there" }),
                ),
                done(message("Hi there")),
                event("completed", json!({ "response": whole })),
            ],
        ),
        says(
            "items: pieces without a number",
            &[
                event("output_item.added", json!({ "item": message("") })),
                event(
                    "output_text.delta",
                    json!({ "item_id": "msg_0", "delta": "Hi there" }),
                ),
                completed(),
            ],
        ),
        says(
            "items: a refusal",
            &[
                event(
                    "refusal.delta",
                    json!({ "output_index": 0, "delta": "Hi there" }),
                ),
                completed(),
            ],
        ),
        says(
            "items: reasoning",
            &[
                event(
                    "reasoning_summary_text.delta",
                    json!({ "output_index": 0, "delta": "hmm" }),
                ),
                event(
                    "output_text.delta",
                    json!({ "output_index": 1, "delta": "Hi there" }),
                ),
                completed(),
            ],
        )
        .without("hmm"),
        says(
            "items: events that are not known",
            &[
                event("invented.delta", json!({ "delta": "No" })),
                text("Hi there"),
                completed(),
            ],
        )
        .without("No"),
        says(
            "items: a search of the server's",
            &[
                added(json!({ "id": "ws_0", "type": "web_search_call", "status": "in_progress" })),
                event(
                    "web_search_call.searching",
                    json!({ "output_index": 0, "item_id": "ws_0" }),
                ),
                event(
                    "output_text.delta",
                    json!({ "output_index": 1, "delta": "Hi there" }),
                ),
                completed(),
            ],
        ),
        fails(
            "items: failed",
            &[text("Hi"), event("failed", json!({ "response": failed }))],
            "broke off its reply: it fell over",
        ),
        fails(
            "items: an error",
            &[
                text("Hi"),
                json!({ "type": "error", "code": null, "message": "it fell over", "param": null }),
            ],
            "broke off its reply: it fell over",
        ),
        fails("items: no end", &[text("Hi")], "ended in the middle"),
        reads(
            "items: a call in pieces and as a whole",
            &[
                added(call("call_0", "")),
                input(
                    json!({ "output_index": 0, "item_id": "fc_call_0", "delta": "{\"file_path\":" }),
                ),
                input(json!({ "output_index": 0, "item_id": "fc_call_0", "delta": "\"a.txt\"}" })),
                event(
                    "function_call_arguments.done",
                    json!({ "output_index": 0, "arguments": A }),
                ),
                done(call("call_0", A)),
                completed(),
            ],
        ),
        reads(
            "items: a call that is done alone",
            &[done(call("call_0", A)), completed()],
        ),
        reads(
            "items: a call with the event that ends its arguments",
            &[
                added(call("call_0", "")),
                event(
                    "function_call_arguments.done",
                    json!({ "item_id": "fc_call_0", "arguments": A }),
                ),
                completed(),
            ],
        ),
        reads(
            "items: ids that change from event to event",
            &[
                added(call("call_0", "")),
                input(json!({ "output_index": 0, "item_id": "other", "delta": A })),
                done(
                    json!({ "id": "another", "type": "function_call", "call_id": "call_0", "name": "read_file", "arguments": A }),
                ),
                completed(),
            ],
        ),
        calls(
            "items: two calls whose pieces alternate",
            &[
                added(call("call_0", "")),
                event(
                    "output_item.added",
                    json!({ "output_index": 1, "item": call("call_1", "") }),
                ),
                input(json!({ "output_index": 0, "delta": "{\"file_path\":" })),
                input(json!({ "output_index": 1, "delta": "{\"file_path\":\"b.txt\"}" })),
                input(json!({ "output_index": 0, "delta": "\"a.txt\"}" })),
                completed(),
            ],
            &[read("a.txt"), read("b.txt")],
        ),
    ]
}
