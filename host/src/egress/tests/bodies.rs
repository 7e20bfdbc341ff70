//! Answers: streamed, bounded, cut off, damaged, slow; and connections that never come to be.

use super::server::{Answer, Names, PUBLIC, Server, dropping_port, refusing_port, talking_port};
use super::*;

const CA: &[u8] = include_bytes!("certificates/ca.der");
const GOOD: &[u8] = include_bytes!("certificates/good.der");
const EXPIRED: &[u8] = include_bytes!("certificates/expired.der");

fn names() -> Arc<Names> {
    Names::new(&[("good.example", &[PUBLIC]), ("other.example", &[PUBLIC])])
}

fn here(port: u16) -> Request {
    get(&format!("http://127.0.0.1:{port}/"))
}

#[tokio::test]
async fn trouble_on_the_way_has_its_own_words() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc".to_owned();
    let gzip = |body: &[u8]| {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    for (answer, expected) in [
        (head.into_bytes(), "broke off in the middle of its answer"),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab".to_vec(),
            "broke off in the middle of its answer",
        ),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nab".to_vec(),
            "cannot be understood: its parts are not as HTTP has them",
        ),
        (
            b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n\r\n".to_vec(),
            "cannot be understood: it is not HTTP",
        ),
        (
            b"HTTP/1.1 200 OK\r\n".to_vec(),
            "broke off before it answered",
        ),
        (Vec::new(), "broke off before it answered"),
        (
            gzip(b"not gzip at all, not at all"),
            "cannot be decompressed",
        ),
        (gzip(&GZIP[..40]), "broke off in the middle of its answer"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-encoding: zstd\r\ncontent-length: 1\r\n\r\nx".to_vec(),
            "is compressed with zstd, which nobody asked for",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip, gzip\r\ncontent-length: 1\r\n\r\nx"
                .to_vec(),
            "is compressed with gzip, gzip, which nobody asked for",
        ),
    ] {
        let shown = String::from_utf8_lossy(&answer).into_owned();
        let server = Server::start(move |_, _| Answer::Bytes(answer.clone()));
        let error = text(&egress(&names()), here(server.port))
            .await
            .unwrap_err();
        let error = error.to_string();
        assert!(error.contains(expected), "{shown:?}: {error}");
        assert!(
            error.contains(&format!("127.0.0.1:{}", server.port)),
            "{error}"
        );
    }
    let port = refusing_port();
    let error = text(&egress(&names()), here(port)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("127.0.0.1:{port} refused the connection: nothing listens there")
    );
    let port = dropping_port();
    let error = text(&egress(&names()), here(port)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("127.0.0.1:{port} broke off before it answered")
    );
}

#[tokio::test]
async fn tls_says_what_is_wrong() {
    for (certificate, trusted, host, expected) in [
        (GOOD, true, "good.example", Ok("secure")),
        (
            GOOD,
            true,
            "other.example",
            Err("shows a certificate of another server"),
        ),
        (
            GOOD,
            false,
            "good.example",
            Err("is not issued by anybody that this machine trusts"),
        ),
        (
            EXPIRED,
            true,
            "good.example",
            Err("has expired or is not valid yet"),
        ),
    ] {
        let server = Server::start_tls(certificate);
        let roots = if trusted { &[CA][..] } else { &[] };
        let egress = egress_trusting(&names(), roots);
        let url = format!("https://{host}:{}/", server.port);
        let found = text(&egress, get(&url))
            .await
            .map_err(|error| error.to_string());
        match expected {
            Ok(body) => assert_eq!(found.as_deref(), Ok(body)),
            Err(words) => {
                let error = found.unwrap_err();
                assert!(error.contains(words), "{host}: {error}");
            }
        }
    }
    // What speaks no TLS at all, or hangs up.
    for port in [talking_port(), dropping_port()] {
        let url = format!("https://good.example:{port}/");
        let error = text(&egress_trusting(&names(), &[CA]), get(&url)).await;
        let error = error.unwrap_err().to_string();
        assert!(
            error.starts_with("no secure connection to good.example"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn waiting_has_limits() {
    // Before the answer, and in the middle of it.
    let silent = Server::start(|_, _| Answer::Hang(Vec::new()));
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc".to_vec();
    let slow = Server::start(move |_, _| Answer::Hang(head.clone()));
    for (port, expected) in [
        (silent.port, "waiting for the answer took more than 500 ms"),
        (slow.port, "reading the answer took more than 500 ms"),
    ] {
        let mut request = here(port);
        request.limits.whole = Some(SHORT);
        let error = text(&egress(&names()), request).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        let mut request = here(port);
        request.limits.whole = None;
        request.limits.connect = SHORT / 2;
        request.limits.idle = Some(SHORT / 2);
        let error = text(&egress(&names()), request).await.unwrap_err();
        assert!(matches!(error, EgressError::TimedOut { .. }), "{error}");
    }
}

/// What is read piece by piece comes piece by piece.
#[tokio::test]
async fn bodies_are_streams() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\n".to_vec();
    let server = Server::start(move |_, _| Answer::Hang(head.clone()));
    let mut request = here(server.port);
    request.limits.whole = None;
    let mut gate = Remembering::default();
    let mut response = egress(&names()).send(request, &mut gate).await.unwrap();
    assert_eq!(
        response.body.next().await.unwrap().as_deref(),
        Some(&b"data: 1\n\n"[..])
    );
    // Dropping it closes the connection, and with it ends the server's wait.
    drop(response);
}

#[tokio::test]
async fn bombs_are_bounded() {
    let egress = egress(&names());
    // 20 MB of zeros in 20 KB.
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        BOMB.len()
    );
    let bomb = [head.as_bytes(), BOMB].concat();
    let server = Server::start(move |_, _| Answer::Bytes(bomb.clone()));
    let mut request = here(server.port);
    request.limits.body_bytes = 1_000_000;
    let mut gate = Remembering::default();
    let mut response = egress.send(request, &mut gate).await.unwrap();
    assert!(!response.headers.contains_key("content-length"));
    let mut read = 0;
    let error = loop {
        match response.body.next().await {
            Ok(piece) => read += piece.expect("more to come").len(),
            Err(error) => break error,
        }
    };
    assert!(read <= 1_000_000, "{read}");
    let host = format!("127.0.0.1:{}", server.port);
    assert_eq!(
        error,
        EgressError::TooLarge {
            host,
            most: 1_000_000
        }
    );
    assert_eq!(response.body.next().await, Ok(None));

    let endless = Server::start(|_, _| {
        Answer::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 65_536])
    });
    let mut request = here(endless.port);
    request.limits.body_bytes = 1_000_000;
    let error = text(&egress, request).await.unwrap_err();
    assert!(matches!(error, EgressError::TooLarge { .. }), "{error}");
    // Headers without end are not an answer either.
    let headers = Server::start(|_, _| {
        Answer::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"x: y\r\n".repeat(1000))
    });
    assert!(text(&egress, here(headers.port)).await.is_err());
}

#[tokio::test]
async fn what_was_compressed_is_read() {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        GZIP.len()
    );
    let answer = [head.as_bytes(), GZIP].concat();
    let server = Server::start(move |_, _| Answer::Bytes(answer.clone()));
    let body = text(&egress(&names()), here(server.port)).await.unwrap();
    assert_eq!(
        body,
        "The sandpiper nests in June. The sandpiper lays four eggs.\n"
    );
    let asked = server.requests().concat().to_ascii_lowercase();
    assert!(asked.contains("accept-encoding: gzip"), "{asked}");
}

/// Dropping the future ends the exchange.
#[tokio::test]
async fn dropping_ends_it() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let server = Server::start(move |_, _| {
        let _ = sender.send(());
        Answer::Hang(Vec::new())
    });
    let request = here(server.port);
    let egress = egress(&names());
    let task = tokio::spawn(async move {
        let mut gate = Remembering::default();
        egress.send(request, &mut gate).await.map(|_| ())
    });
    tokio::task::spawn_blocking(move || receiver.recv())
        .await
        .unwrap()
        .unwrap();
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
}

/// A sentence, compressed by gzip.
const GZIP: &[u8] = include_bytes!("sandpiper.gz");

/// Twenty million zeros, compressed by gzip.
const BOMB: &[u8] = include_bytes!("zeros.gz");
