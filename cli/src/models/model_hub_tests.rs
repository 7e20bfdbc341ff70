//! A hub on this machine: it redirects to a storage, answers ranges, breaks off, and lies.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;

fn file() -> Vec<u8> {
    (0..200_000_u32).flat_map(u32::to_le_bytes).collect()
}

fn entry(sha256: Option<&'static str>) -> Entry {
    Entry {
        repository: "birds/sandpiper-GGUF",
        revision: "0123456789abcdef0123456789abcdef01234567",
        file: "bird.gguf",
        bytes: file().len() as u64,
        sha256,
        package: None,
        ..super::super::SMALLEST
    }
}

/// One answer: its head, and how much of its body comes before the connection ends.
struct Answer {
    head: String,
    body: Vec<u8>,
}

fn answer(head: &str, body: &[u8]) -> Answer {
    Answer {
        head: head.to_owned(),
        body: body.to_vec(),
    }
}

struct ModelHub {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for ModelHub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ModelHub {
    /// Gives these answers, one for each connection, and 500 after the last.
    async fn start(answers: Vec<Answer>) -> ModelHub {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        let here = url.clone();
        let task = tokio::spawn(async move {
            let mut answers = VecDeque::from(answers);
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let question = read_head(&mut stream).await;
                heard.lock().unwrap().push(question);
                let answer = answers
                    .pop_front()
                    .unwrap_or_else(|| answer("500 Out Of Answers\r\n", b""));
                let head = answer.head.replace("HERE", &here);
                let head = format!("HTTP/1.1 {head}connection: close\r\n\r\n");
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = stream.write_all(&answer.body).await;
                let _ = stream.shutdown().await;
            }
        });
        ModelHub { url, asked, task }
    }

    /// The request lines and ranges, in order.
    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    async fn fetch(&self, entry: &Entry, target: &Path) -> Result<PathBuf, ModelHubError> {
        let mut last = 0;
        fetch(
            entry,
            &self.url,
            target.to_owned(),
            &mut |received, whole| {
                assert!(received <= whole);
                last = received;
            },
        )
        .await
    }
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).await.unwrap_or(0) == 0 {
            break;
        }
        head.extend_from_slice(&byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let range = head.lines().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("range: ")
            .map(str::to_owned)
    });
    format!("{path} {}", range.unwrap_or_default())
}

/// What the hub says before it redirects.
fn linked(sum: &str, size: usize) -> Answer {
    answer(
        &format!(
            "302 Found\r\nx-linked-size: {size}\r\nx-linked-etag: \"{sum}\"\r\nlocation: HERE/storage?signed=1\r\ncontent-length: 0\r\n"
        ),
        b"",
    )
}

/// The part of a file from `first` on, of which `sent` bytes really come.
fn part(file: &[u8], first: usize, sent: usize) -> Answer {
    let whole = file.len();
    let rest = &file[first..];
    answer(
        &format!(
            "206 Partial Content\r\ncontent-range: bytes {first}-{}/{whole}\r\ncontent-length: {}\r\n",
            whole - 1,
            rest.len()
        ),
        &rest[..sent.min(rest.len())],
    )
}

const ALL: usize = usize::MAX;

const FILE: &str =
    "/birds/sandpiper-GGUF/resolve/0123456789abcdef0123456789abcdef01234567/bird.gguf";

fn target() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("models/bird.gguf");
    (folder, target)
}

#[tokio::test]
async fn a_file_comes_from_the_storage_behind_the_hub() {
    let file = file();
    let sum = dunlin_host::sha256_hex(&file);
    let hub = ModelHub::start(vec![linked(&sum, file.len()), part(&file, 0, ALL)]).await;
    let (_folder, target) = target();
    assert_eq!(hub.fetch(&entry(None), &target).await.unwrap(), target);
    assert_eq!(std::fs::read(&target).unwrap(), file);
    let last = file.len() - 1;
    assert_eq!(
        hub.asked(),
        [
            format!("{FILE} bytes=0-0"),
            format!("/storage?signed=1 bytes=0-{last}")
        ]
    );
}

#[tokio::test]
async fn a_download_that_breaks_off_goes_on() {
    let file = file();
    let sum = dunlin_host::sha256_hex(&file);
    let hub = ModelHub::start(vec![
        linked(&sum, file.len()),
        part(&file, 0, 300_000),
        linked(&sum, file.len()),
        part(&file, 300_000, 100_000),
        linked(&sum, file.len()),
        part(&file, 400_000, ALL),
    ])
    .await;
    let (_folder, target) = target();
    hub.fetch(&entry(None), &target).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), file);
    let last = file.len() - 1;
    assert_eq!(
        hub.asked()[3],
        format!("/storage?signed=1 bytes=300000-{last}")
    );
}

#[tokio::test]
async fn what_came_is_kept_for_the_next_time() {
    let file = file();
    let sum = dunlin_host::sha256_hex(&file);
    let (_folder, target) = target();
    let first = ModelHub::start(vec![
        linked(&sum, file.len()),
        part(&file, 0, 300_000),
        linked(&sum, file.len()),
        part(&file, 300_000, 0),
    ])
    .await;
    let error = first.fetch(&entry(None), &target).await.unwrap_err();
    assert!(
        matches!(
            error,
            ModelHubError::BrokeOff {
                received: 300_000,
                ..
            }
        ),
        "{error}"
    );
    assert!(!target.exists());
    let second = ModelHub::start(vec![linked(&sum, file.len()), part(&file, 300_000, ALL)]).await;
    second.fetch(&entry(None), &target).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), file);
}

#[tokio::test]
async fn a_storage_without_ranges_begins_anew() {
    let file = file();
    let sum = dunlin_host::sha256_hex(&file);
    let (_folder, target) = target();
    let whole = |sent: usize| {
        answer(
            &format!("200 OK\r\ncontent-length: {}\r\n", file.len()),
            &file[..sent],
        )
    };
    let hub = ModelHub::start(vec![
        linked(&sum, file.len()),
        whole(1000),
        linked(&sum, file.len()),
        whole(file.len()),
    ])
    .await;
    hub.fetch(&entry(None), &target).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), file);
}

#[tokio::test]
async fn a_mirror_may_send_the_file_itself() {
    let file = file();
    let sum: &'static str = Box::leak(dunlin_host::sha256_hex(&file).into_boxed_str());
    let (_folder, target) = target();
    let hub = ModelHub::start(vec![part(&file, 0, 1), part(&file, 0, ALL)]).await;
    hub.fetch(&entry(Some(sum)), &target).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), file);
}

#[tokio::test]
async fn what_is_not_the_file_is_refused() {
    let file = file();
    let sum = dunlin_host::sha256_hex(&file);
    let other = "0".repeat(64);
    let known: &'static str = Box::leak(sum.clone().into_boxed_str());
    let mut damaged = file.clone();
    damaged[123_456] ^= 1;
    let size = file.len();
    let cases = [
        // The hub has exchanged the file.
        (
            vec![linked(&other, size)],
            entry(Some(known)),
            "has another file: its SHA-256 is 000000",
        ),
        (
            vec![linked(&sum, 7)],
            entry(None),
            "has another file: it has 7 bytes",
        ),
        // It was damaged on the way.
        (
            vec![linked(&sum, size), part(&damaged, 0, ALL)],
            entry(None),
            "what came is not what was expected",
        ),
        (
            vec![part(&file, 0, 1)],
            entry(None),
            "its SHA-256 is not published",
        ),
        (
            vec![answer("404 Not Found\r\ncontent-length: 0\r\n", b"")],
            entry(None),
            "answered 404",
        ),
        (
            vec![
                linked(&sum, size),
                answer("403 Forbidden\r\ncontent-length: 0\r\n", b""),
            ],
            entry(None),
            "answered 403",
        ),
        (
            vec![answer("302 Found\r\ncontent-length: 0\r\n", b"")],
            entry(None),
            "redirects to no address",
        ),
        (
            vec![answer(
                "302 Found\r\nlocation: ftp://example.org/\r\ncontent-length: 0\r\n",
                b"",
            )],
            entry(None),
            "not encrypted",
        ),
        (
            vec![linked(&sum, size), part(&file, 9, ALL)],
            entry(None),
            "another part of the file",
        ),
    ];
    for (answers, entry, expected) in cases {
        let hub = ModelHub::start(answers).await;
        let (folder, target) = target();
        let error = hub.fetch(&entry, &target).await.unwrap_err();
        assert!(
            error.to_string().contains(expected),
            "{error}, not {expected}"
        );
        assert!(!target.exists());
        drop(folder);
    }
}

#[tokio::test]
async fn redirects_end() {
    let round = || {
        answer(
            "302 Found\r\nlocation: HERE/round\r\ncontent-length: 0\r\n",
            b"",
        )
    };
    let hub = ModelHub::start((0..20).map(|_| round()).collect()).await;
    let (_folder, target) = target();
    let error = hub.fetch(&entry(None), &target).await.unwrap_err();
    assert!(error.to_string().contains("too many redirects"), "{error}");
    assert!(hub.asked().len() <= MAX_REDIRECTS + 1);
}

#[tokio::test]
async fn nobody_there_is_said() {
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let (_folder, target) = target();
    let error = fetch(&entry(None), &gone, target, &mut |_, _| {})
        .await
        .unwrap_err();
    assert!(
        matches!(error, ModelHubError::Unreachable { .. }),
        "{error}"
    );
    assert!(error.is_out_of_reach());
}

#[test]
fn addresses_are_put_together() {
    let check = |endpoint: &str, expected: Option<&str>| {
        let found = address(&entry(None), endpoint)
            .ok()
            .map(|url| url.to_string());
        let expected = expected.map(|base| format!("{base}{FILE}"));
        assert_eq!(found, expected, "{endpoint}");
    };
    check("https://huggingface.co", Some("https://huggingface.co"));
    check(
        "http://127.0.0.1:1/mirror/",
        Some("http://127.0.0.1:1/mirror"),
    );
    check("huggingface.co", None);
    check("ftp://huggingface.co", None);
}

#[test]
fn encryption_is_never_lost_on_the_way() {
    let check = |from: &str, to: &str, expected: bool| {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, to.parse().unwrap());
        let found = redirect(&from.parse().unwrap(), &headers);
        assert_eq!(found.is_ok(), expected, "{from} {to}");
    };
    check("https://a.example/x", "https://b.example/y", true);
    check("https://a.example/x", "/y", true);
    check("https://a.example/x", "http://a.example/x", false);
    check("http://127.0.0.1:1/x", "https://b.example/y", true);
    check("http://127.0.0.1:1/x", "http://127.0.0.1:2/y", true);
    check("http://127.0.0.1:1/x", "file:///etc/passwd", false);
}
