//! What an app costs: until its program runs, for each call, and in memory.
//!
//! A call is measured as a page makes it, by a POST, beside the same POST to a server that reads it and answers at once: the
//! rest is what the checks of the page, the sandbox and the audit log cost.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dunlin_apps::page::{Backend, BackendError, Content, Page, PageOptions};
use dunlin_host::app::{AppOptions, AppPage, AppProgram, LogLevel};
use dunlin_host::ask::DenyAll;
use dunlin_host::{Host, HostOptions, Limits, Plugin};
use dunlin_tests::sandbox::Sandbox;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

const ROUNDS: usize = 2_000;

/// Apps that are open at once.
const APPS: u32 = 10;

const PROGRAM: &str = "dunlin.handle('nothing', () => null);";

struct NoPage;

impl AppPage for NoPage {
    fn emit(&self, _event: &str, _payload: &str) {}

    fn logged(&self, _level: LogLevel, _text: &str) {}
}

/// What a page calls.
struct Program(AppProgram);

#[async_trait]
impl Backend for Program {
    async fn invoke(&self, name: &str, arguments: &str) -> Result<String, BackendError> {
        let answer = self.0.invoke(name, arguments).await;
        Ok(answer.expect("a value"))
    }
}

fn host(sandbox: &Sandbox) -> Host {
    let embedded = dunlin_plugins::app_engine::ALL.first().expect("the engine");
    let options = HostOptions {
        app_engine: Some(Plugin {
            name: embedded.name.into(),
            bytes: embedded.bytes.into(),
            digest: embedded.digest.into(),
            built_in: true,
            origin: None,
            description: None,
            tools_digest: None,
        }),
        ..sandbox.options(Limits::standard())
    };
    Host::new(options, Vec::new()).expect("a host")
}

fn open(host: &Host, id: u32) -> AppProgram {
    host.open_app(AppOptions {
        name: id.to_string(),
        id: id.to_string(),
        source: PROGRAM.to_owned(),
        version: String::new(),
        page: Arc::new(NoPage),
        ask: Arc::new(DenyAll),
    })
}

async fn serve(app: AppProgram) -> Page {
    let options = PageOptions {
        content: Content::default(),
        backend: Some(Arc::new(Program(app))),
        errors: mpsc::channel(1).0,
    };
    Page::serve(options).await.expect("a port")
}

/// A server that answers every request with `null`. Its URL.
async fn plain() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("its number"));
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut stream, _) = listener.accept().await.expect("a client");
        let mut read = Vec::new();
        loop {
            let Some(request) = complete(&read) else {
                if stream.read_buf(&mut read).await.expect("a request") == 0 {
                    return;
                }
                continue;
            };
            read.drain(..request);
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\nnull";
            stream.write_all(answer.as_bytes()).await.expect("a client");
        }
    });
    url
}

/// The length of the first message in these bytes, once it is complete.
fn complete(bytes: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(bytes).expect("text");
    let head = text.find("\r\n\r\n")? + 4;
    let lower = text[..head].to_lowercase();
    let (_, length) = lower.split_once("content-length: ")?;
    let length: usize = length.split('\r').next()?.parse().expect("a number");
    (bytes.len() >= head + length).then_some(head + length)
}

/// How long each of these calls takes, on one connection.
fn calls(url: &str) -> Vec<Duration> {
    let (host, path) = url["http://".len()..].split_once('/').expect("a path");
    let body = r#"{"version":1,"name":"nothing","arguments":null}"#;
    let request = format!(
        "POST /{path}invoke HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\nsec-fetch-site: same-origin\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(host).expect("a server");
    stream.set_nodelay(true).expect("a socket");
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        stream.write_all(request.as_bytes()).expect("a server");
        let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
        while complete(&answer).is_none() {
            let length = stream.read(&mut piece).expect("an answer");
            assert!(length > 0, "the server hung up");
            answer.extend_from_slice(&piece[..length]);
        }
        times.push(begun.elapsed());
        assert!(answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(b"null"));
    }
    times
}

/// Memory of this process that is resident, in KiB.
fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|it| it.parse().ok()).expect("a number")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let builder = builder.worker_threads(2).enable_all();
    builder.build().expect("a runtime")
}

/// The time from nothing to a program that can be called, once.
fn started(runtime: &Runtime, sandbox: &Sandbox) -> Duration {
    let begun = Instant::now();
    let app = open(&host(sandbox), 0);
    runtime.block_on(app.start()).expect("it starts");
    begun.elapsed()
}

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() {
    let (runtime, sandbox) = (runtime(), Sandbox::new());
    let first = started(&runtime, &sandbox);
    println!("ready, compiled first     {first:>9.1?}");
    let times = (0..20).map(|_| started(&runtime, &sandbox)).collect();
    println!("ready, from the cache     {:>9.1?}", median(times));

    let host = host(&sandbox);
    let app = open(&host, 0);
    runtime.block_on(async {
        app.start().await.expect("it starts");
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            app.invoke("nothing", "null").await.expect("a value");
            times.push(begun.elapsed());
        }
        println!("a call of a handler       {:>9.1?}", median(times));
    });
    let page = runtime.block_on(serve(app));
    let url = page.url();
    let called = thread::spawn(move || calls(&url)).join();
    let called = median(called.expect("calls"));
    let url = runtime.block_on(plain());
    let asked = thread::spawn(move || calls(&url)).join();
    let asked = median(asked.expect("calls"));
    let ratio = called.as_secs_f64() / asked.as_secs_f64();
    println!("the same from a page      {called:>9.1?}");
    println!("a POST to a plain server  {asked:>9.1?}  ×{ratio:.1}");

    let before = resident_kib();
    let mut times = Vec::new();
    let mut pages = Vec::new();
    for id in 1..=APPS {
        let begun = Instant::now();
        let app = open(&host, id);
        runtime.block_on(app.start()).expect("it starts");
        pages.push(runtime.block_on(serve(app)));
        times.push(begun.elapsed());
    }
    println!("start of one more         {:>9.1?}", median(times));
    let all = resident_kib() - before;
    println!("memory of {APPS} more         {all:>6} KiB");
}
