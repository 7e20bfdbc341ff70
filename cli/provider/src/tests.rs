use std::error::Error;
use std::time::Duration;

use futures::StreamExt;
use serde_json::json;

use super::script::{Play, Server, event, response, stream_head};
use dunlin_chat::agent::Agent;
use dunlin_chat::provider::error::ProviderError;
use dunlin_chat::provider::{Provider, StreamEvent};
use dunlin_chat::request::Request;
use serde_json::Value;

use crate::http::Timeouts;
use crate::openai;
use crate::streamed::StreamedProvider;
use dunlin_chat::secret::Secret;

const KEY: &str = "sk-very-secret";

fn agent(base_url: &url::Url) -> Agent {
    Agent {
        base_url: base_url.clone(),
        api_key: Some(Secret::new("main", KEY)),
        ..Agent::sample()
    }
}

/// Sends one request and reads the reply to its end: one line for each event.
async fn ask(base_url: &url::Url, timeouts: Timeouts) -> Vec<String> {
    let provider = StreamedProvider::new(&openai::PROTOCOL, &agent(base_url), timeouts);
    let mut stream = match provider.send(&Request::new(json!({"messages": []}))).await {
        Ok(stream) => stream,
        Err(error) => return failure(&error),
    };
    let mut lines = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(StreamEvent::Text(text)) => lines.push(format!("text {text}")),
            Ok(StreamEvent::CallStarted { tool }) => lines.push(format!("started {tool}")),
            Ok(StreamEvent::Usage(usage)) => lines.push(format!("usage {}", usage.output_tokens)),
            Ok(StreamEvent::End(end)) => {
                let calls = end.calls.into_iter().map(|call| {
                    format!(
                        " {}({})",
                        call.tool,
                        call.arguments.map(Value::Object).unwrap_or(Value::Null)
                    )
                });
                lines.push(format!("{:?}{}", end.finish, calls.collect::<String>()));
            }
            Ok(other) => lines.push(format!("{other:?}")),
            Err(error) => lines.extend(failure(&error)),
        }
    }
    lines
}

/// Message, causes and hint; the port is not the same in every run.
fn failure(error: &ProviderError) -> Vec<String> {
    let mut lines = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        lines.push(format!("because {cause}"));
        source = cause.source();
    }
    lines.extend(error.hint().map(|hint| format!("hint: {hint}")));
    assert!(
        !format!("{error:?} {lines:?}").contains(KEY),
        "the key is shown: {error:?}"
    );
    let anonymous = |line: String| {
        let Some(start) = line.find("127.0.0.1:") else {
            return line;
        };
        let port = start + "127.0.0.1:".len();
        let digits = line[port..]
            .chars()
            .take_while(char::is_ascii_digit)
            .count();
        format!("{}PORT{}", &line[..port], &line[port + digits..])
    };
    lines.into_iter().map(anonymous).collect()
}

/// What comes of each of these, as it is kept in a snapshot.
async fn outcomes(cases: Vec<(&str, Vec<Play>)>) -> String {
    let mut outcomes = String::new();
    for (case, plays) in cases {
        let server = Server::start(plays).await;
        let seen = ask(&server.base_url, Timeouts::default()).await;
        let rows: String = seen.iter().map(|line| format!("  {line}\n")).collect();
        outcomes += &format!("{case}\n{rows}\n");
    }
    outcomes
}

const TEXT: &str = r#"{"choices":[{"delta":{"content":"Hi"}}]}"#;
const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
const HERE: &str = "http://127.0.0.1:PORT/v1/chat/completions";

#[tokio::test]
async fn a_reply_streams() {
    let server = Server::start(vec![
        stream_head(),
        event(TEXT),
        event(TEXT),
        event(STOP),
        event(USAGE),
        event("[DONE]"),
    ])
    .await;
    let seen = ask(&server.base_url, Timeouts::default()).await;
    assert_eq!(seen, ["text Hi", "text Hi", "usage 2", "Complete"]);

    let request = server.request().await;
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains(&format!("authorization: Bearer {KEY}")),
        "{head}"
    );
    assert!(head.contains("user-agent: dunlin/"), "{head}");
    assert_eq!(body, r#"{"messages":[]}"#);
}

#[tokio::test]
async fn calls_arrive_in_pieces() {
    let piece =
        |call: Value| event(&json!({"choices": [{"delta": {"tool_calls": [call]}}]}).to_string());
    let plays = vec![
        stream_head(),
        piece(json!({"index": 0, "id": "a", "function": {"name": "read_file", "arguments": ""}})),
        piece(json!({"index": 0, "function": {"arguments": "{\"file_path\":"}})),
        piece(json!({"index": 0, "function": {"arguments": "\"a.txt\"}"}})),
        event(r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#),
        event("[DONE]"),
    ];
    let server = Server::start(plays).await;
    let seen = ask(&server.base_url, Timeouts::default()).await;
    assert_eq!(
        seen,
        [
            "started read_file",
            r#"Complete read_file({"file_path":"a.txt"})"#,
        ]
    );
}

#[tokio::test]
async fn endings() {
    let announced = format!("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\ndata: {TEXT}\n\n");
    let document = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let cases = vec![
        ("no [DONE]", vec![stream_head(), event(TEXT), event(STOP)]),
        ("cut", vec![stream_head(), event(TEXT)]),
        (
            "cut against its announced length",
            vec![Play::Write(announced.into_bytes())],
        ),
        ("a document", vec![response("200 OK", "", document)]),
        (
            "an error after text, connection left open",
            vec![
                stream_head(),
                event(TEXT),
                event(r#"{"error":{"message":"overloaded","code":529}}"#),
                Play::Stall,
            ],
        ),
        (
            "a web page",
            vec![response("200 OK", "", "<html>Log in</html>")],
        ),
    ];
    insta::assert_snapshot!(outcomes(cases).await);
}

#[tokio::test]
async fn refusals() {
    let refused = |status: &str, headers: &str, body: &str| vec![response(status, headers, body)];
    let quoted = json!({"error": {"message": format!("Incorrect API key: {KEY}.")}}).to_string();
    let page = "<html><title>502 Bad Gateway</title></html>";
    let cases = vec![
        (
            "a bad key, quoted by the server",
            refused("401 Unauthorized", "", &quoted),
        ),
        (
            "not there",
            refused("404 Not Found", "", r#"{"error":"model not found"}"#),
        ),
        (
            "a gateway's page",
            refused("502 Bad Gateway", "content-type: text/html\r\n", page),
        ),
        (
            "nothing said",
            refused("429 Too Many Requests", "retry-after: 7\r\n", ""),
        ),
        (
            "moved, with a password",
            refused(
                "301 Moved Permanently",
                "location: https://u:p@example.org/v1?k=1\r\n",
                "",
            ),
        ),
    ];
    insta::assert_snapshot!(outcomes(cases).await);
}

#[tokio::test]
async fn a_refusal_says_how_long_to_wait() {
    let server = Server::start(vec![response(
        "429 Too Many Requests",
        "retry-after: 7\r\n",
        "",
    )])
    .await;
    let provider = StreamedProvider::new(
        &openai::PROTOCOL,
        &agent(&server.base_url),
        Timeouts::default(),
    );
    let error = provider.send(&Request::new(json!({}))).await.err();
    assert!(
        matches!(&error, Some(ProviderError::Status(refusal)) if refusal.retry_after == Some(Duration::from_secs(7))),
        "{error:?}"
    );
}

#[tokio::test]
async fn silence_ends_the_wait() {
    let timeouts = Timeouts {
        connect: Duration::from_millis(500),
        idle: Duration::from_millis(500),
    };
    let slow = "hint: a slow model may need a larger request_timeout_secs under [limits]";
    let server = Server::start(vec![stream_head(), event(TEXT), Play::Stall]).await;
    let expected = [
        "text Hi".to_owned(),
        format!("{HERE} did not continue its reply within 0.5 s"),
        slow.to_owned(),
    ];
    assert_eq!(ask(&server.base_url, timeouts).await, expected);

    let server = Server::start(vec![Play::Stall]).await;
    assert_eq!(
        ask(&server.base_url, timeouts).await,
        [
            format!("{HERE} did not answer within 0.5 s"),
            slow.to_owned()
        ]
    );
}

#[tokio::test]
async fn nobody_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    drop(listener);
    let expected = [
        &format!("cannot connect to {HERE}"),
        "because Connection refused (os error 111)",
        "hint: is the server running? `dunlin doctor` looks for one",
    ];
    assert_eq!(ask(&base_url, Timeouts::default()).await, expected);
}

#[tokio::test]
async fn tls_where_there_is_none() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://{}/v1", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        stream
    };
    let (seen, _stream) = tokio::join!(ask(&base_url, Timeouts::default()), server);
    let expected = [
        "cannot connect securely to https://127.0.0.1:PORT/v1/chat/completions",
        "because received corrupt message of type InvalidContentType",
        "hint: check the agent's base_url: a server without a certificate is reached with http://",
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_key_that_cannot_be_sent() {
    let mut agent = agent(&"http://127.0.0.1:9/v1".parse().unwrap());
    agent.api_key = Some(Secret::new("main", "line\nbreak"));
    let error = StreamedProvider::new(&openai::PROTOCOL, &agent, Timeouts::default())
        .send(&Request::new(json!({})))
        .await
        .err();
    assert_eq!(
        error.map(|error| error.to_string()).as_deref(),
        Some("the API key \"main\" holds characters that cannot be sent in a header")
    );
}
