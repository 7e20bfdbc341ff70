//! The wire side of the scripted provider: as little HTTP as a chat client needs.
//!
//! One connection is one task, and all of them belong to the runtime of the provider's thread, so that
//! dropping that runtime closes everything. A body is sent in chunks, one chunk for one piece, which
//! makes a cut connection different from a regular end.

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::script::{NO_STATUS, Response, Step};
use super::{Log, MODEL, Received, anthropic, ollama, responses, rules};
use crate::watched::Watched;

/// Far above any request of a test; ends a runaway client with a clear failure.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, log: Arc<Watched<Log>>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(converse(stream, Arc::clone(&log)));
                }
            }
            Some(_ended) = connections.join_next() => {}
        }
    }
}

/// Answers the requests of one connection. An error is the end of the connection, nothing else: what
/// the client makes of it is what the tests look at.
async fn converse(mut stream: TcpStream, log: Arc<Watched<Log>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut unread = Vec::new();
    while let Some(received) = receive(&mut stream, &mut unread).await? {
        let (index, response) = log.update(|log| answer_to(received, log));
        let ended = play(&mut stream, response).await;
        if let Some(index) = index {
            log.update(|log| match ended {
                Ok(_) => log.chats[index].answered = true,
                Err(_) => log.chats[index].hung_up = true,
            });
        }
        match ended {
            Ok(KeepAlive(true)) => {}
            Ok(KeepAlive(false)) | Err(_) => break,
        }
    }
    Ok(())
}

/// Whether the connection can carry another request.
struct KeepAlive(bool);

/// Enters the request into the log and finds its answer.
fn answer_to(received: Received, log: &mut Log) -> (Option<usize>, Response) {
    match (received.method.as_str(), received.path.as_str()) {
        ("POST", "/v1/chat/completions" | "/v1/responses" | "/v1/messages" | "/api/chat") => {
            let index = log.chats.len();
            let wrong = match received.path.as_str() {
                "/api/chat" => ollama::violations(&received.body, &log.secrets),
                "/v1/responses" => responses::violations(&received.body, &log.secrets),
                "/v1/messages" => anthropic::violations(&received.body, &log.secrets),
                _ => rules::violations(&received.body, &log.secrets),
            };
            log.violations.extend(
                wrong
                    .into_iter()
                    .map(|what| format!("request {index}: {what}")),
            );
            let response = log.answer(&received);
            log.chats.push(received);
            let response = response.unwrap_or_else(|| {
                log.violations
                    .push(format!("request {index}: the script has no answer to it"));
                Response::status(500, "the script of this test has no further answer")
            });
            (Some(index), response)
        }
        ("GET", "/v1/models" | "/v1/models?limit=1000") if log.wants_key && !has_key(&received) => {
            (None, Response::status(401, "who are you?"))
        }
        ("GET", "/v1/models" | "/v1/models?limit=1000") => {
            let models = json!({ "object": "list", "data": [{ "id": MODEL, "object": "model" }] });
            (None, Response::json(200, &models))
        }
        (_, path) => {
            let answer = log.ollama.as_ref().and_then(|ollama| ollama.answer(path));
            let answer = answer.map(|answer| Response::json(200, &answer));
            let nothing = || Response::status(404, "nothing here");
            (None, answer.unwrap_or_else(nothing))
        }
    }
}

fn has_key(received: &Received) -> bool {
    received.header("authorization") == Some(&format!("Bearer {}", super::API_KEY))
}

/// Sends one answer; fails when the client is gone first.
async fn play(stream: &mut TcpStream, response: Response) -> io::Result<KeepAlive> {
    if response.status == NO_STATUS {
        return Err(hang_up(stream).await);
    }
    let framing = if response.unframed {
        "connection: close"
    } else {
        "transfer-encoding: chunked"
    };
    let mut head = format!("HTTP/1.1 {} Scripted\r\n{framing}\r\n", response.status);
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    for step in response.steps {
        match step {
            // An empty chunk would end the body.
            Step::Bytes(bytes) if bytes.is_empty() => {}
            Step::Bytes(bytes) if response.unframed => stream.write_all(&bytes).await?,
            Step::Bytes(bytes) => stream.write_all(&chunk(&bytes)).await?,
            Step::Endless(bytes) => {
                let piece = chunk(&bytes);
                loop {
                    stream.write_all(&piece).await?;
                }
            }
            Step::Wait(gate) => tokio::select! {
                () = gate.pass() => {}
                gone = hang_up(stream) => return Err(gone),
            },
            Step::Take(time) => tokio::time::sleep(time).await,
            Step::Stall => return Err(hang_up(stream).await),
            Step::Cut => return Ok(KeepAlive(false)),
        }
    }
    if response.unframed {
        return Ok(KeepAlive(false));
    }
    stream.write_all(b"0\r\n\r\n").await?;
    Ok(KeepAlive(true))
}

/// A piece of a body whose length nobody knows beforehand.
fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut piece = format!("{:x}\r\n", bytes.len()).into_bytes();
    piece.extend_from_slice(bytes);
    piece.extend_from_slice(b"\r\n");
    piece
}

/// Ends when the client closes the connection. A client that talks while it is being answered breaks
/// the protocol and is treated the same.
async fn hang_up(stream: &mut TcpStream) -> io::Error {
    let mut byte = [0];
    match stream.read(&mut byte).await {
        Ok(_) => io::ErrorKind::ConnectionAborted.into(),
        Err(error) => error,
    }
}

/// Reads one request; `None` when the client closed the connection between two of them.
async fn receive(stream: &mut TcpStream, unread: &mut Vec<u8>) -> io::Result<Option<Received>> {
    let head_end = loop {
        if let Some(at) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if read_more(stream, unread).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&unread[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (
        first.next().unwrap_or_default(),
        first.next().unwrap_or_default(),
    );
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(Ok(0), |(_, value)| value.parse::<usize>())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;

    let end = head_end + 4 + length;
    while unread.len() < end {
        if read_more(stream, unread).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let bytes = unread[head_end + 4..end].to_vec();
    unread.drain(..end);
    Ok(Some(Received {
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        bytes,
        answered: false,
        hung_up: false,
    }))
}

async fn read_more(stream: &mut TcpStream, unread: &mut Vec<u8>) -> io::Result<usize> {
    if unread.len() > MAX_REQUEST_BYTES {
        return Err(io::Error::other(
            "the request is larger than any test sends",
        ));
    }
    stream.read_buf(unread).await
}
