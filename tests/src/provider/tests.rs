//! The scripted provider against a client of a few lines.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use serde_json::json;

use super::*;

fn send(provider: &Provider, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(provider.address).expect("connects");
    let body = body.to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("sends");
    stream
}

/// Reads until the server pauses behind `end`.
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(end.as_bytes()) {
        match stream.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => seen.push(byte[0]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&seen)),
        }
    }
    String::from_utf8(seen).expect("text")
}

fn hello() -> Value {
    json!({ "model": MODEL, "stream": true, "messages": [{ "role": "user", "content": "hi" }] })
}

#[test]
fn a_reply_comes_as_events_and_ends_regularly() {
    let provider = Provider::play([Response::reply("Hello")]);
    let seen = read_until(&mut send(&provider, &hello()), "0\r\n\r\n");
    assert!(seen.starts_with("HTTP/1.1 200 "), "{seen}");
    assert!(seen.contains(r#""delta":{"content":"Hello"}"#), "{seen}");
    assert!(seen.contains("data: [DONE]\n\n"), "{seen}");
    let request = provider.wait_for_request(0);
    assert_eq!(request.header("host"), Some("x"));
    assert_eq!(request.messages().len(), 1);
}

#[test]
fn a_gate_holds_a_response_until_the_test_opens_it() {
    let gate = Gate::new();
    let provider = Provider::play([Response::stream().raw("one").wait(&gate).raw("two")]);
    let mut stream = send(&provider, &hello());
    gate.wait_reached();
    assert!(read_until(&mut stream, "one\r\n").ends_with("3\r\none\r\n"));
    gate.open();
    assert_eq!(
        read_until(&mut stream, "0\r\n\r\n"),
        "3\r\ntwo\r\n0\r\n\r\n"
    );
}

#[test]
fn a_cut_leaves_the_body_without_its_end() {
    let provider = Provider::play([Response::stream().raw("half").cut()]);
    let seen = read_until(&mut send(&provider, &hello()), "never");
    assert!(seen.ends_with("4\r\nhalf\r\n"), "{seen}");
}

#[test]
fn hanging_up_on_a_stalled_answer_is_noticed() {
    let provider = Provider::play([Response::stream().stall()]);
    let stream = send(&provider, &hello());
    provider.wait_for_request(0);
    drop(stream);
    provider.wait_for_hang_up(0);
}

#[test]
fn pieces_may_cut_a_character() {
    let provider = Provider::play([Response::stream().raw("ü").in_pieces_of(1)]);
    let mut seen = Vec::new();
    let mut stream = send(&provider, &hello());
    while !seen.ends_with(b"0\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("reads");
        seen.push(byte[0]);
    }
    assert!(
        seen.ends_with(b"1\r\n\xc3\r\n1\r\n\xbc\r\n0\r\n\r\n"),
        "{seen:?}"
    );
}

#[test]
fn complaints_fail_the_test_when_the_provider_is_dropped() {
    let failed = std::panic::catch_unwind(|| {
        let provider = Provider::play([Response::status(500, "x"), Response::reply("unplayed")]);
        let body = json!({ "model": MODEL, "stream": true, "messages": [] });
        read_until(&mut send(&provider, &body), "0\r\n\r\n");
    });
    let message = *failed
        .expect_err("must fail")
        .downcast::<String>()
        .expect("a message");
    assert!(
        message.contains("request 0: the last message is of"),
        "{message}"
    );
    assert!(
        message.contains("1 answers of the script were never asked for"),
        "{message}"
    );
}
