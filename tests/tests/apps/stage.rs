//! An app in a window, and servers that it should not reach.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;

use async_trait::async_trait;
use dunlin_apps::page::{Backend, BackendError, Content, Page, PageError, PageOptions};
use dunlin_tests::{Browser, DEADLINE, Tab, Watched};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

/// What an app called.
#[derive(Default)]
pub struct Calls(Watched<Vec<(String, Value)>>);

#[async_trait]
impl Backend for Calls {
    async fn invoke(&self, name: &str, arguments: &str) -> Result<String, BackendError> {
        let value = serde_json::from_str(arguments).expect("JSON");
        self.0.update(|calls| calls.push((name.to_owned(), value)));
        match name {
            "fail" => Err(BackendError {
                message: "no tides today".to_owned(),
                kind: "handler".to_owned(),
                line: Some(3),
                column: None,
            }),
            "never" => std::future::pending().await,
            _ => Ok(arguments.to_owned()),
        }
    }
}

impl Calls {
    /// Waits for a call of this name, and answers with its arguments.
    pub fn wait(&self, name: &str) -> Value {
        let found = self.0.wait(DEADLINE, |calls| {
            let found = calls.iter().find(|(it, _)| it == name);
            found.map(|(_, value)| value.clone())
        });
        found.unwrap_or_else(|_| panic!("no call of {name}: {:?}", self.0.read(Clone::clone)))
    }

    /// Waits until this name was called so often.
    pub fn wait_for_count(&self, name: &str, count: usize) {
        let is_enough = self.0.wait(DEADLINE, |calls| {
            let found = calls.iter().filter(|(it, _)| it == name).count();
            (found >= count).then_some(())
        });
        is_enough.unwrap_or_else(|_| panic!("{name} was called {} times", self.count(name)));
    }

    /// How often this name was called.
    pub fn count(&self, name: &str) -> usize {
        self.0
            .read(|calls| calls.iter().filter(|(it, _)| it == name).count())
    }
}

/// An app in a window.
pub struct App {
    pub page: Page,
    pub calls: Arc<Calls>,
    pub tab: Tab<'static>,
    errors: mpsc::Receiver<PageError>,
    runtime: Runtime,
}

pub fn content(html: &str, renderer: &str) -> Content {
    Content {
        title: "Tide <b>table</b>".to_owned(),
        html: html.to_owned(),
        renderer: renderer.to_owned(),
    }
}

impl App {
    /// Opens an app and waits until the window shows its page.
    pub fn open(html: &str, renderer: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let calls = Arc::new(Calls::default());
        // More than a test causes.
        let (to, errors) = mpsc::channel(1000);
        let options = PageOptions {
            content: content(html, renderer),
            backend: Some(Arc::clone(&calls) as Arc<dyn Backend>),
            errors: to,
        };
        let page = runtime.block_on(Page::serve(options)).expect("a port");
        let tab = Browser::shared().open(&page.url());
        let app = Self {
            page,
            calls,
            tab,
            errors,
            runtime,
        };
        app.wait_for_windows(1);
        app
    }

    /// Opens an app whose script fills `found`, which is what this returns.
    pub fn found(html: &str, renderer: &str) -> (Self, Value) {
        let script = format!(
            "(async () => {{ const found = {{}}; {renderer}\nawait dunlin.invoke('found', found); }})()"
        );
        let app = Self::open(html, &script);
        let found = app.calls.wait("found");
        (app, found)
    }

    pub fn wait_for_windows(&self, count: usize) {
        let mut windows = self.page.connections();
        let waited = self.runtime.block_on(async {
            tokio::time::timeout(DEADLINE, windows.wait_for(|open| *open == count))
                .await
                .is_ok()
        });
        assert!(waited, "never {count} windows");
    }

    pub fn reload(&self, html: &str, renderer: &str) {
        let backend = Arc::clone(&self.calls) as Arc<dyn Backend>;
        self.page.reload(content(html, renderer), Some(backend));
    }

    pub fn emit(&self, event: &str, payload: &Value) {
        let sent = self.page.emit(event, &payload.to_string());
        sent.expect("an event of this size");
    }

    /// Waits for an error of the page.
    pub fn error(&mut self) -> PageError {
        self.error_with("")
    }

    /// Waits for an error of the page with this in its text.
    pub fn error_with(&mut self, part: &str) -> PageError {
        let mut others = Vec::new();
        loop {
            let error = self.runtime.block_on(async {
                let error = tokio::time::timeout(DEADLINE, self.errors.recv()).await;
                error.unwrap_or_else(|_| panic!("no error with {part:?}, only {others:?}"))
            });
            let error = error.expect("a page");
            if error.message.contains(part) {
                return error;
            }
            others.push(error);
        }
    }

    /// The text of the bar above the app.
    pub fn wait_for_notice(&self, part: &str) {
        let part = json!(part);
        let notice = "document.querySelector('#notice')";
        self.tab.wait_for(&format!(
            "({notice}.hidden ? '' : {notice}.textContent).includes({part})"
        ));
    }

    /// Ends the app as the end of Dunlin does.
    pub fn abandon(self) -> Tab<'static> {
        self.tab
    }

    /// Ends the app as its owner does.
    pub fn close(self) -> Tab<'static> {
        self.runtime.block_on(self.page.close());
        self.tab
    }
}

/// A server that writes down who asks it for what. It answers with one page to those who ask for `/`.
pub struct Elsewhere {
    port: u16,
    heads: Arc<Watched<Vec<String>>>,
    datagrams: UdpSocket,
}

impl Elsewhere {
    pub fn start(page: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let datagrams = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).expect("the same port");
        datagrams.set_nonblocking(true).expect("a socket");
        let heads = Arc::new(Watched::new(Vec::new()));
        let seen = Arc::clone(&heads);
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{page}",
            page.len()
        );
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (seen, answer) = (Arc::clone(&seen), answer.clone());
                // Browsers open connections that they may not use.
                thread::spawn(move || {
                    let mut head = [0; 4096];
                    let length = stream.read(&mut head).unwrap_or(0);
                    if length > 0 {
                        let head = String::from_utf8_lossy(&head[..length]).into_owned();
                        let line = head.lines().next().unwrap_or_default().to_owned();
                        seen.update(|it| it.push(line));
                        let _gone = stream.write_all(answer.as_bytes());
                    }
                });
            }
        });
        Self {
            port,
            heads,
            datagrams,
        }
    }

    /// Where it is, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where it is by a name, which is another origin and another site.
    pub fn named(&self) -> String {
        format!("http://elsewhere.test:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits until somebody asked for something with this in the first line of the request, which it answers.
    pub fn wait(&self, part: &str) -> String {
        let found = self.heads.wait(DEADLINE, |heads| {
            heads.iter().find(|it| it.contains(part)).cloned()
        });
        found.unwrap_or_else(|_| {
            panic!(
                "nobody asked for {part}: {:?}",
                self.heads.read(Clone::clone)
            )
        })
    }

    /// Nobody asked it for anything until now.
    pub fn assert_untouched(&self) {
        let url = ("127.0.0.1", self.port);
        let mut stream = TcpStream::connect(url).expect("a connection");
        stream
            .write_all(b"GET /last HTTP/1.1\r\n\r\n")
            .expect("sent");
        self.wait("/last");
        self.heads
            .read(|heads| assert_eq!(*heads, ["GET /last HTTP/1.1"]));
        let received = self.datagrams.recv(&mut [0; 100]);
        assert!(received.is_err(), "a datagram arrived");
    }
}
