//! A scripted server for the tests of providers: plays one response and keeps what it was sent.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

/// What the server does after it has read the request.
#[derive(Debug, Clone)]
pub enum Play {
    /// Writes these bytes.
    Write(Vec<u8>),
    /// Keeps the connection open without another byte.
    Stall,
}

/// The head of a streamed response.
pub fn stream_head() -> Play {
    Play::Write(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec(),
    )
}

/// One event.
pub fn event(payload: &str) -> Play {
    Play::Write(format!("data: {payload}\n\n").into_bytes())
}

/// A whole response.
pub fn response(status: &str, headers: &str, body: &str) -> Play {
    let length = body.len();
    Play::Write(
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
            .into_bytes(),
    )
}

/// Serves one connection. Dropping it closes the connection.
pub struct Server {
    /// Where it listens.
    pub base_url: Url,
    task: JoinHandle<String>,
}

impl Server {
    pub async fn start(plays: Vec<Play>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let task = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let request = read_request(&mut stream).await;
            for play in plays {
                match play {
                    Play::Write(bytes) => {
                        // The client may have heard enough.
                        if stream.write_all(&bytes).await.is_err() {
                            break;
                        }
                    }
                    Play::Stall => tokio::time::sleep(Duration::MAX).await,
                }
            }
            request
        });
        Server { base_url, task }
    }

    /// The request as it was sent, head and body.
    pub async fn request(mut self) -> String {
        (&mut self.task).await.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "the request ended early");
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map_or(0, |(_, length)| length.parse().unwrap());
        if body.len() >= length {
            return text.into_owned();
        }
    }
}
