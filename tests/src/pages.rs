//! A server of web pages for tools: each request is answered by a function of the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Bytes of a request's body that are read; tools send less.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// What a tool asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// `GET`, `POST`.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct Page {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Page {
    /// A page of this media type.
    pub fn new(status: u16, media_type: &str, body: impl Into<Vec<u8>>) -> Page {
        Page {
            status,
            headers: vec![("content-type".to_owned(), media_type.to_owned())],
            body: body.into(),
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Page {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A server on loopback. Dropping it ends it.
#[derive(Debug)]
pub struct Pages {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<PageRequest>>>,
    thread: Option<JoinHandle<()>>,
    /// Set when it is to end.
    over: Arc<Mutex<bool>>,
}

impl Pages {
    /// Starts a server that answers one request after the other, a connection each.
    ///
    /// # Panics
    ///
    /// When loopback has no free port.
    pub fn serve(mut answer: impl FnMut(&PageRequest) -> Page + Send + 'static) -> Pages {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the address of an own socket");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let over = Arc::new(Mutex::new(false));
        let thread = {
            let (seen, over) = (Arc::clone(&seen), Arc::clone(&over));
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    if *lock(&over) {
                        break;
                    }
                    // A client that went away is no failure of the server.
                    let Ok(mut stream) = stream else { continue };
                    let Some(request) = read(&stream) else {
                        continue;
                    };
                    let page = answer(&request);
                    lock(&seen).push(request);
                    let _ = write(&mut stream, &page);
                }
            })
        };
        Pages {
            address,
            seen,
            thread: Some(thread),
            over,
        }
    }

    /// An address of it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests until now.
    pub fn requests(&self) -> Vec<PageRequest> {
        lock(&self.seen).clone()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        *lock(&self.over) = true;
        // Wakes it up.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(stream: &TcpStream) -> Option<PageRequest> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(Some(0), |(_, value)| value.parse().ok())?;
    let mut body = vec![0; length.min(MAX_BODY_BYTES)];
    reader.read_exact(&mut body).ok()?;
    Some(PageRequest {
        method,
        path,
        headers,
        body,
    })
}

fn write(stream: &mut TcpStream, page: &Page) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Played\r\n", page.status);
    for (name, value) in &page.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!(
        "content-length: {}\r\nconnection: close\r\n\r\n",
        page.body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&page.body)?;
    stream.shutdown(Shutdown::Write)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
