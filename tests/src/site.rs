//! A site on this machine, whose pages a test writes.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What a site answers.
#[derive(Debug, Clone)]
pub struct Page {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Page {
    /// A page of HTML.
    pub fn html(body: impl Into<String>) -> Self {
        Self::of("text/html; charset=utf-8", body.into())
    }

    /// Anything.
    pub fn of(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: body.into(),
        }
        .with_header("content-type", content_type)
    }

    /// Leads on.
    pub fn redirect(location: &str) -> Self {
        Self::html("")
            .with_status(302)
            .with_header("location", location)
    }

    /// With another status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// With one more header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A server for as long as the test runs.
#[derive(Debug)]
pub struct Site {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// Answers each request, head and body, as `answer` says.
    ///
    /// # Panics
    ///
    /// When this machine has no loopback.
    pub fn start(answer: impl Fn(&str) -> Page + Send + 'static) -> Self {
        Self::of_bytes(move |request, _| answer(request))
    }

    /// Answers each request as `answer` says, which gets all of it as text, and its body as it came.
    ///
    /// # Panics
    ///
    /// When this machine has no loopback.
    pub fn of_bytes(answer: impl Fn(&str, &[u8]) -> Page + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away is not trouble of the site.
                let _ = serve(stream, |request, body| {
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.push(request.to_owned());
                    answer(request, body)
                });
            }
        });
        Self { port, requests }
    }

    /// The same page for everybody.
    pub fn of(page: Page) -> Self {
        Self::start(move |_| page.clone())
    }

    /// The port at which it is.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// An address of it; `path` begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The same as a target of permissions.
    pub fn target(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    /// What it was asked until now, head and body.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(mut stream: TcpStream, answer: impl FnOnce(&str, &[u8]) -> Page) -> io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    let body = loop {
        let end = request.windows(4).position(|part| part == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
            let mut lengths = head
                .lines()
                .filter_map(|line| line.strip_prefix("content-length:"));
            let length = lengths.next().and_then(|length| length.trim().parse().ok());
            if request.len() >= end + 4 + length.unwrap_or(0) {
                break end + 4;
            }
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&buffer[..read]),
        }
    };
    let page = answer(&String::from_utf8_lossy(&request), &request[body..]);
    // A client that asks for the head alone would take a body for the next answer.
    let is_head = request.starts_with(b"HEAD ");
    let mut head = format!(
        "HTTP/1.1 {} Status\r\ncontent-length: {}\r\nconnection: close\r\n",
        page.status,
        page.body.len()
    );
    for (name, value) in &page.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(head.as_bytes())?;
    stream.write_all(b"\r\n")?;
    match is_head {
        true => Ok(()),
        false => stream.write_all(&page.body),
    }
}
