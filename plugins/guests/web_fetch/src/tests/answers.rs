//! Answers of servers, played.

use std::cell::RefCell;
use std::collections::VecDeque;

use dunlin_sdk::web::Request;
use dunlin_sdk::{Error, FailureKind};

use crate::answer::{MAX_BASE64_BYTES, MAX_TEXT_BYTES};
use crate::arguments::{Format, Wanted};
use crate::fetch::{MAX_BYTES, fetch};
use crate::source::{Answer, Source};

struct Played {
    status: u16,
    url: &'static str,
    headers: Vec<(String, String)>,
    pieces: VecDeque<Result<Vec<u8>, Error>>,
}

impl Answer for Played {
    fn status(&self) -> u16 {
        self.status
    }

    fn url(&self) -> String {
        self.url.to_owned()
    }

    fn headers(&self) -> Vec<(String, String)> {
        self.headers.clone()
    }

    fn read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        self.pieces.pop_front().transpose()
    }
}

struct Server(RefCell<Option<Played>>);

impl Source for Server {
    type Answer = Played;

    fn send(&self, _: Request) -> Result<Played, Error> {
        Ok(self.0.borrow_mut().take().unwrap())
    }
}

const URL: &str = "https://example.com/a";

fn server(content_type: &str, body: impl Into<Vec<u8>>) -> Played {
    let body = body.into();
    Played {
        status: 200,
        url: URL,
        headers: vec![
            ("content-type".to_owned(), content_type.to_owned()),
            ("content-length".to_owned(), body.len().to_string()),
        ],
        pieces: body.chunks(1000).map(|piece| Ok(piece.to_vec())).collect(),
    }
}

fn ask(played: Played, format: Format) -> Result<String, (FailureKind, String)> {
    let wanted = Wanted {
        url: URL,
        body: None,
        format,
    };
    fetch(&Server(RefCell::new(Some(played))), &wanted).map_err(|f| (f.kind, f.message))
}

const PAGE: &str = "<title>Birds</title><p>Hello <b>you</b>";

#[test]
fn the_content_type_decides() {
    use Format::{Base64, Markdown, Raw};
    let json = r#"{"a": [1, 2]}"#;
    let page = "# Birds\n\nHello **you**";
    for (content_type, body, format, expected) in [
        ("text/html", PAGE.as_bytes(), Markdown, page),
        ("TEXT/HTML; charset=utf-8", PAGE.as_bytes(), Markdown, page),
        ("application/xhtml+xml", PAGE.as_bytes(), Markdown, page),
        ("text/html", PAGE.as_bytes(), Raw, PAGE),
        ("text/html", b"<p>", Base64, "PHA+"),
        (
            "",
            b"<!DOCTYPE html><title>Birds</title><p>Hello <b>you</b>",
            Markdown,
            page,
        ),
        (
            "nonsense",
            b" <HTML><title>Birds</title><p>Hello <b>you</b>",
            Markdown,
            page,
        ),
        ("application/json", json.as_bytes(), Markdown, json),
        ("application/problem+json", json.as_bytes(), Markdown, json),
        ("application/json", b"{}", Base64, "e30="),
        ("text/plain", PAGE.as_bytes(), Markdown, PAGE),
        ("text/x-rust", b"fn main() {}", Markdown, "fn main() {}"),
        ("application/atom+xml", b"<feed/>", Markdown, "<feed/>"),
        (
            "application/octet-stream",
            b"plain words",
            Markdown,
            "plain words",
        ),
        ("", b"plain words", Raw, "plain words"),
        ("application/octet-stream", b"\x00\x01\x02", Raw, "AAEC"),
        ("", b"\x7fELF\x02\x01\x01\x00", Markdown, "f0VMRgIBAQA="),
        ("image/png", b"\x89PNG", Markdown, "iVBORw=="),
        ("image/png", b"\x89PNG", Raw, "iVBORw=="),
        ("image/svg+xml", b"<svg/>", Markdown, "PHN2Zy8+"),
        ("application/pdf", b"%PDF", Raw, "JVBERg=="),
        ("font/woff2", b"wOF2", Markdown, "d09GMg=="),
    ] {
        let found = ask(server(content_type, body), format);
        assert_eq!(found.as_deref(), Ok(expected), "{content_type} {format:?}");
    }
    assert_eq!(
        ask(server("text/plain", ""), Markdown).as_deref(),
        Ok("(empty)")
    );
    assert_eq!(
        ask(server("text/html", "<script>x</script>"), Markdown).as_deref(),
        Ok("(empty)")
    );
}

#[test]
fn a_redirect_is_said() {
    let mut played = server("text/plain", "x");
    played.url = "https://www.example.com/b";
    let expected = "(redirected to https://www.example.com/b)\n\nx";
    assert_eq!(ask(played, Format::Raw).as_deref(), Ok(expected));
}

#[test]
fn a_status_that_is_no_success_is_a_failure() {
    for (status, content_type, body, kind, expected) in [
        (
            404,
            "text/html",
            "<h1>Gone fishing</h1><p>Come back <i>later</i>",
            FailureKind::NotFound,
            "https://example.com/a answered with status 404 Not Found: # Gone fishing Come back *later*",
        ),
        (
            500,
            "application/json",
            r#"{"error": "oops"}"#,
            FailureKind::Failed,
            r#"https://example.com/a answered with status 500 Internal Server Error: {"error": "oops"}"#,
        ),
        (
            599,
            "image/png",
            "\0",
            FailureKind::Failed,
            "https://example.com/a answered with status 599",
        ),
        (
            302,
            "",
            "",
            FailureKind::Failed,
            "https://example.com/a answered with status 302",
        ),
    ] {
        let mut played = server(content_type, body);
        played.status = status;
        assert_eq!(
            ask(played, Format::Markdown),
            Err((kind, expected.to_owned()))
        );
    }
    let mut played = server("text/plain", "x ".repeat(40_000));
    played.status = 503;
    let (_, message) = ask(played, Format::Markdown).unwrap_err();
    assert!(message.len() < 1000 && message.ends_with('…'), "{message}");
}

#[test]
fn what_is_too_long_is_cut_and_said() {
    let line = "0123456789 line\n";
    let body = line.repeat(20_000);
    let text = ask(server("text/plain", body.clone()), Format::Markdown).unwrap();
    assert!(text.len() < MAX_TEXT_BYTES + 200, "{}", text.len());
    assert!(text.starts_with(line), "{text}");
    assert!(text.contains("0123456789 line\n\n["), "cut at a line");
    assert!(
        text.ends_with(" of 320,000 characters are left out]"),
        "{}",
        &text[text.len() - 100..]
    );
    let page = ask(server("text/html", format!("<p>{body}")), Format::Markdown).unwrap();
    assert!(page.len() < MAX_TEXT_BYTES + 200, "{}", page.len());
    assert!(page.ends_with(" characters are left out]"));
    // Cut between characters.
    let page = ask(server("text/plain", "ß".repeat(100_000)), Format::Markdown).unwrap();
    assert!(page.len() < MAX_TEXT_BYTES + 200, "{}", page.len());
    // More than is read at all.
    let long = "x".repeat(MAX_BYTES + 5_000);
    let text = ask(server("text/plain", long.clone()), Format::Markdown).unwrap();
    assert!(
        text.contains(" more bytes were not read]"),
        "{}",
        &text[text.len() - 200..]
    );
    let mut played = server("text/plain", long);
    played.headers.truncate(1);
    let text = ask(played, Format::Markdown).unwrap();
    assert!(
        text.ends_with("; what comes behind that was not read]"),
        "{}",
        &text[text.len() - 200..]
    );
}

#[test]
fn half_of_an_image_is_not_given() {
    let fits = ask(
        server("image/png", vec![0; MAX_BASE64_BYTES]),
        Format::Markdown,
    );
    assert_eq!(fits.unwrap().len(), MAX_BASE64_BYTES.div_ceil(3) * 4);
    assert_eq!(
        ask(server("image/png", vec![0; 2_000_000]), Format::Markdown),
        Err((
            FailureKind::TooLarge,
            "image/png of 2,000,000 bytes: at most 524,288 can be given as base64".to_owned()
        ))
    );
    let mut played = server("image/png", vec![0; 5_000]);
    played.pieces[3] = Err(Error::Failed("example.com broke off".to_owned()));
    assert_eq!(
        ask(played, Format::Markdown),
        Err((FailureKind::Failed, "example.com broke off".to_owned()))
    );
}

#[test]
fn what_came_before_the_trouble_is_given() {
    let mut played = server("text/plain", "0123456789".repeat(500));
    played.pieces[3] = Err(Error::Failed("example.com broke off".to_owned()));
    let text = ask(played, Format::Markdown).unwrap();
    assert!(text.starts_with("0123456789"));
    assert!(text.ends_with("\n\n[the rest did not come: example.com broke off]"));
    let mut played = server("text/plain", "x");
    played.pieces[0] = Err(Error::TimedOut("too slow".to_owned()));
    assert_eq!(
        ask(played, Format::Markdown),
        Err((FailureKind::TimedOut, "too slow".to_owned()))
    );
    let mut played = server("text/plain", "0123456789".repeat(500));
    played.pieces[3] = Err(Error::Cancelled);
    assert_eq!(
        ask(played, Format::Raw).unwrap_err().0,
        FailureKind::Cancelled
    );
}
