//! Plain requests against the server of a page. What a browser makes of the answers is tested in a browser.

mod requests;
mod traffic;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc};

use super::*;
use crate::part::Part;

/// Answers with what it was asked, or as its name says.
#[derive(Default)]
struct Echo {
    called: AtomicUsize,
    cancelled: Notify,
    arguments: Mutex<Vec<String>>,
}

#[async_trait]
impl Backend for Echo {
    async fn invoke(&self, name: &str, arguments: &str) -> Result<String, BackendError> {
        self.called.fetch_add(1, Ordering::SeqCst);
        self.arguments.lock().push(arguments.to_owned());
        match name {
            "fail" => Err(BackendError {
                message: "no tides today".to_owned(),
                kind: "RangeError".to_owned(),
                line: Some(3),
                column: None,
            }),
            "long" => Ok(format!("\"{}\"", "x".repeat(9 << 20))),
            "never" => {
                /// Tells that the call was dropped.
                struct Dropped<'a>(&'a Notify);
                impl Drop for Dropped<'_> {
                    fn drop(&mut self) {
                        self.0.notify_one();
                    }
                }
                let _dropped = Dropped(&self.cancelled);
                std::future::pending().await
            }
            _ => Ok(arguments.to_owned()),
        }
    }
}

struct Stage {
    page: Page,
    backend: Arc<Echo>,
    errors: mpsc::Receiver<PageError>,
}

fn content() -> Content {
    Content {
        title: "Tides".to_owned(),
        html: "<p>Tides</p><script>start()</script>".to_owned(),
        renderer: "dunlin.on('tide', show);\n".to_owned(),
    }
}

async fn stage() -> Stage {
    let backend = Arc::new(Echo::default());
    let (to, errors) = mpsc::channel(10);
    let options = PageOptions {
        content: content(),
        backend: Some(Arc::clone(&backend) as Arc<dyn Backend>),
        errors: to,
    };
    let page = Page::serve(options).await.expect("a port");
    Stage {
        page,
        backend,
        errors,
    }
}

/// An answer of the server.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn of(answer: &str) -> Self {
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        Self {
            status: status.unwrap_or_default(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect(&self.body)
    }
}

/// A request as the page's own browser sends it; a test changes what it is about.
#[derive(Clone)]
struct Ask {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Ask {
    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(it, _)| *it != name);
        self
    }

    fn with(self, name: &'static str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    fn and(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn at(mut self, path: String) -> Self {
        self.path = path;
        self
    }

    fn by(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    fn text(&self) -> String {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() {
            text.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        text + "\r\n" + &self.body
    }
}

impl Stage {
    fn address(&self) -> &Address {
        &self.page.shared.address
    }

    fn get(&self, path: &str, dest: &str) -> Ask {
        Ask {
            method: "GET",
            path: format!("/{}/{path}", self.address().token),
            headers: vec![
                ("host", self.address().host.clone()),
                ("sec-fetch-site", "same-origin".to_owned()),
                ("sec-fetch-dest", dest.to_owned()),
            ],
            body: String::new(),
        }
    }

    fn of_frame(&self, path: &str, dest: &str) -> Ask {
        let ask = self.get("", dest);
        let path = format!("/{}/{path}", self.address().frame_token);
        if dest == "iframe" {
            return ask.at(path);
        }
        ask.at(path)
            .with("sec-fetch-site", "cross-site")
            .and("origin", "null")
    }

    fn post(&self, path: &str, body: &Value) -> Ask {
        let mut ask = self.get(path, "empty").by("POST");
        ask.body = body.to_string();
        ask.and("origin", &self.address().origin)
            .and("content-type", "application/json")
    }

    fn invoke(&self, name: &str, arguments: &Value) -> Ask {
        let call = json!({ "version": 1, "name": name, "arguments": arguments });
        self.post("invoke", &call)
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address().host)
            .await
            .expect("a connection")
    }

    async fn answer(&self, ask: &Ask) -> Answer {
        let ask = ask.clone().and("connection", "close");
        let mut stream = self.connect().await;
        // The server may have refused before it read everything.
        let _refused = stream.write_all(ask.text().as_bytes()).await;
        let mut answer = String::new();
        let _reset = stream.read_to_string(&mut answer).await;
        Answer::of(&answer)
    }

    async fn status(&self, ask: &Ask) -> u16 {
        self.answer(ask).await.status
    }

    async fn events(&self) -> Events {
        let (from, mut to) = self.connect().await.into_split();
        let ask = self.get("events", "empty").text();
        to.write_all(ask.as_bytes()).await.expect("sent");
        let mut events = Events {
            from: BufReader::with_capacity(1 << 20, from),
            _to: to,
        };
        while !events.line().await.expect("a head").is_empty() {}
        events
    }
}

/// A stream of events as a browser reads it.
struct Events {
    from: BufReader<OwnedReadHalf>,
    _to: OwnedWriteHalf,
}

impl Events {
    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.from.read_line(&mut line).await.expect("a line");
        (length > 0).then(|| line.trim_end().to_owned())
    }

    /// The kind and the data of the next event; nothing at the end.
    async fn next(&mut self) -> Option<(String, Value)> {
        let mut kind = None;
        loop {
            let line = self.line().await?;
            // The last chunk of the body.
            if line == "0" {
                return None;
            }
            if let Some(text) = line.strip_prefix("event: ") {
                kind = Some(text.to_owned());
            } else if let Some(data) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(data).expect(data);
                return Some((kind.expect("a kind"), data));
            }
        }
    }
}
