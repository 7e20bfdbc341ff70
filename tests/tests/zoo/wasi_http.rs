//! A guest that reaches for the web through `wasi:http`: it gets as far as one that does so through the contract.

use std::sync::Arc;

use dunlin_host::Host;
use dunlin_host::ask::{Ask, DenyAll};
use dunlin_host::egress::SiteHeaders;
use dunlin_tests::sandbox::{Asker, Sandbox, assert_alive, call, play};
use dunlin_tests::{Page, Site};
use serde_json::{Value, json};

use crate::assert_one_clear_line;
use crate::web::host_with;

fn host(sandbox: &Sandbox) -> Host {
    host_with(sandbox, SiteHeaders::default(), "wasi_http")
}

/// What the guest saw, or how it failed.
async fn sent(host: &Host, arguments: Value, ask: Arc<dyn Ask>) -> Result<String, String> {
    let outcome = play(host, &call("wasi_http", arguments), ask).await;
    let result = outcome.and_then(|outcome| outcome.result);
    assert_alive(host).await;
    result
        .map(|success| success.text)
        .map_err(|failure| failure.to_string())
}

/// A request to this machine.
fn here(port: u16, more: Value) -> Value {
    let mut arguments = json!({ "authority": format!("127.0.0.1:{port}"), "path": "/a?b=c" });
    let more = more.as_object().cloned().unwrap_or_default();
    arguments.as_object_mut().expect("an object").extend(more);
    arguments
}

#[tokio::test]
async fn an_address_is_asked_about_and_what_comes_is_counted() {
    let sandbox = Sandbox::new();
    let page = Page::of("text/plain", "hello").with_header("set-cookie", "id=s3cret");
    let site = Site::of(page);
    let host = host(&sandbox);
    let asker = Arc::new(Asker::yes());
    let text = sent(&host, here(site.port(), json!({})), asker.clone()).await;
    let text = text.unwrap();
    assert!(
        text.starts_with("200\n") && text.ends_with("hello"),
        "{text}"
    );
    assert!(!text.contains("s3cret"), "{text}");
    let questions = asker.questions();
    let [question] = questions.as_slice() else {
        panic!("{questions:?}");
    };
    assert_eq!(
        question.wording,
        format!(
            "Allow wasi_http to read '{}'? It did not announce this.",
            site.url("/a?b=c")
        )
    );
    assert_eq!(
        question.notices,
        ["This is a server on this machine, not on the internet."]
    );
    assert_eq!(site.requests().len(), 1);
    let audit = sandbox.audit();
    let used = audit.iter().find(|line| line["event"] == "used");
    assert_eq!(used.unwrap()["target"], site.target("/a"));
    assert_eq!(used.unwrap()["bytes"], 5);
}

#[tokio::test]
async fn a_no_sends_nothing() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "hello"));
    let host = host(&sandbox);
    for (arguments, ask) in [
        (json!({}), Arc::new(DenyAll) as Arc<dyn Ask>),
        (json!({}), Arc::new(Asker::no())),
        (json!({ "method": "HEAD" }), Arc::new(Asker::no())),
        (json!({ "body": ["data", 1] }), Arc::new(Asker::no())),
    ] {
        let failure = sent(&host, here(site.port(), arguments), ask).await;
        let failure = failure.unwrap_err();
        assert!(
            failure.starts_with("Permission denied: wasi_http wanted to ")
                || failure == "handle: ErrorCode::HttpRequestDenied",
            "{failure}"
        );
    }
    assert_eq!(site.requests(), [""; 0]);
}

/// The engines of some languages tell their program no more than that a request failed.
#[tokio::test]
async fn the_reason_reaches_the_author_whatever_the_guest_says() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "hello"));
    let host = host(&sandbox);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let header = json!({ "vague": true, "headers": [["x-own", "1"]] });
    for (arguments, reason) in [
        (
            here(site.port(), header),
            "NetworkError (its last request failed: the header \"x-own\" cannot be set: a tool may set accept, ".to_owned(),
        ),
        (
            here(port, json!({ "vague": true })),
            format!("NetworkError (its last request failed: 127.0.0.1:{port} refused the connection"),
        ),
        (
            here(port, json!({})),
            String::new(),
        ),
    ] {
        let failure = sent(&host, arguments, Arc::new(Asker::yes())).await;
        let failure = failure.unwrap_err();
        assert!(failure.starts_with(&reason), "{failure}");
        assert_eq!(failure.matches("its last request").count(), usize::from(!reason.is_empty()), "{failure}");
        assert_one_clear_line(&failure);
    }
    // What fails later has another reason.
    let fine = json!({ "vague": true });
    let text = sent(&host, here(site.port(), fine), Arc::new(Asker::yes())).await;
    assert!(text.is_ok_and(|text| text.ends_with("hello")));
}

/// Reading is `GET` and `HEAD`; whatever else is sent may change something, and stands in the log before it is sent.
#[tokio::test]
async fn what_is_no_reading_is_writing() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "done"));
    let host = host(&sandbox);
    let asker = Arc::new(Asker::no());
    host.permissions().set(&site.target("/"), "r??").unwrap();
    let arguments = here(site.port(), json!({ "method": "PUT" }));
    sent(&host, arguments, asker.clone()).await.unwrap_err();
    let wording = asker.questions()[0].wording.clone();
    assert!(
        wording.contains(" to PUT to '") && wording.contains("/a?b=c'? It did not announce this."),
        "{wording}"
    );
    host.permissions().set(&site.target("/"), "r-?").unwrap();
    for method in ["POST", "PUT", "DELETE", "PROPFIND"] {
        let arguments = here(site.port(), json!({ "method": method }));
        let failure = sent(&host, arguments, Arc::new(Asker::yes())).await;
        assert_eq!(failure.unwrap_err(), "handle: ErrorCode::HttpRequestDenied");
    }
    for method in ["CONNECT", "TRACE"] {
        let arguments = here(site.port(), json!({ "method": method }));
        let failure = sent(&host, arguments, Arc::new(Asker::yes())).await;
        let failure = failure.unwrap_err();
        assert!(
            failure.contains("cannot send requests of this method"),
            "{failure}"
        );
    }
    assert_eq!(site.requests(), [""; 0]);
    host.permissions().set(&site.target("/"), "rw?").unwrap();
    let arguments = here(
        site.port(),
        json!({ "method": "PUT", "body": ["0123456789", 20_000], "headers": [["content-length", "200000"]] }),
    );
    let text = sent(&host, arguments, Arc::new(DenyAll)).await.unwrap();
    assert!(text.ends_with("done"), "{text}");
    // Byte by byte is no other body.
    let bytewise = here(
        site.port(),
        json!({ "method": "POST", "body": ["x", 3_000] }),
    );
    sent(&host, bytewise, Arc::new(DenyAll)).await.unwrap();
    let requests = site.requests();
    assert!(requests[1].ends_with(&"x".repeat(3_000)), "{requests:?}");
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("PUT /a?b=c HTTP/1.1\r\n"), "{head}");
    assert_eq!(body.len(), 200_000);
    let audit = sandbox.audit();
    let bytes = |event: &str| -> Vec<&Value> {
        let lines = audit.iter().filter(|line| line["event"] == event);
        lines.map(|line| &line["bytes"]).collect()
    };
    assert_eq!(bytes("sent"), [200_000, 3_000]);
    // What came back.
    assert_eq!(bytes("used"), [4, 4]);
}

#[tokio::test]
async fn a_redirect_is_the_guests_own_to_follow() {
    let sandbox = Sandbox::new();
    let there = Site::of(Page::of("text/plain", "there"));
    let location = there.url("/b");
    let site = Site::start(move |_| Page::redirect(&location));
    let host = host(&sandbox);
    let asker = Arc::new(Asker::yes());
    let text = sent(&host, here(site.port(), json!({})), asker.clone()).await;
    let text = text.unwrap();
    assert!(
        text.starts_with("302\n") && text.contains("location: "),
        "{text}"
    );
    assert_eq!(asker.questions().len(), 1);
    assert_eq!(there.requests(), [""; 0]);
}

#[tokio::test]
async fn what_a_guest_may_not_send_is_refused() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "hello"));
    let host = host(&sandbox);
    let port = site.port();
    let at = |authority: &str, path: &str| json!({ "authority": authority, "path": path });
    let posted_to = |authority: &str| json!({ "authority": authority, "path": "/", "method": "POST", "body": ["x", 1] });
    let header = |name: &str| here(port, json!({ "headers": [[name, "x"]] }));
    let written = |text: &str, times: usize, more: Value| {
        let mut arguments = here(port, json!({ "method": "POST", "body": [text, times] }));
        let more = more.as_object().cloned().unwrap_or_default();
        arguments.as_object_mut().expect("an object").extend(more);
        arguments
    };
    for (arguments, expected) in [
        (
            header("authorization"),
            r#"the header \"authorization\" cannot be set"#,
        ),
        (header("cookie"), r#"the header \"cookie\" cannot be set"#),
        (
            header("x-api-key"),
            r#"the header \"x-api-key\" cannot be set"#,
        ),
        (
            here(
                port,
                json!({ "headers": [["accept", "*/*"], ["accept", "*/*"]] }),
            ),
            r#"the header \"accept\" cannot be set: it is set twice"#,
        ),
        (header("host"), "fields: HeaderError::Forbidden"),
        (
            header("transfer-encoding"),
            "fields: HeaderError::Forbidden",
        ),
        (
            here(port, json!({ "headers": [["accept", "a\r\nhost: b"]] })),
            "fields: HeaderError::InvalidSyntax",
        ),
        (
            at("u:p@127.0.0.1", "/"),
            "carries a user name or a password",
        ),
        (at("127.0.0.1/x", "/"), "authority: not taken"),
        (at("", "/"), "authority: not taken"),
        (at("127.0.0.1", "http://evil.example/"), "path: not taken"),
        (
            here(port, json!({ "scheme": "ftp" })),
            "only http and https",
        ),
        (at("no.example", "/"), "DestinationNotFound"),
        (posted_to("no.example"), "DestinationNotFound"),
        (at("169.254.169.254", "/"), "HttpRequestDenied"),
        (
            at("metadata.example", "/"),
            "HttpRequestDenied|169.254.169.254",
        ),
        (here(port, json!({ "times": 33 })), "32 requests"),
        (
            written("0123456789abcdef", 100_000, json!({})),
            "HttpRequestBodySize|closed",
        ),
        (
            written("half", 1, json!({ "torn": true })),
            "HttpProtocolError",
        ),
        (
            written("half", 1, json!({ "headers": [["content-length", "400"]] })),
            "finish: ErrorCode::HttpRequestBodySize(Some(4))",
        ),
    ] {
        let failure = sent(&host, arguments.clone(), Arc::new(Asker::yes())).await;
        let failure = failure.unwrap_err();
        assert!(
            expected
                .split('|')
                .any(|expected| failure.contains(expected)),
            "{arguments}: {failure}"
        );
        assert_one_clear_line(&failure);
    }
    let requests = site.requests();
    assert!(
        requests.iter().all(|request| request.starts_with("GET ")),
        "{requests:?}"
    );
}

/// A body that nobody ends is never sent, and neither is the half of it that was written.
#[tokio::test]
async fn what_is_not_finished_when_the_call_ends_is_not_sent() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "done"));
    let host = host(&sandbox);
    host.permissions().set(&site.target("/"), "rw?").unwrap();
    let arguments = json!({ "method": "POST", "body": ["half", 1], "left": true });
    let text = sent(&host, here(site.port(), arguments), Arc::new(DenyAll)).await;
    assert_eq!(text.unwrap(), "left");
    // A later request comes after whatever would have come.
    let later = sent(&host, here(site.port(), json!({})), Arc::new(DenyAll)).await;
    later.unwrap();
    let requests = site.requests();
    assert!(
        matches!(requests.as_slice(), [get] if get.starts_with("GET ")),
        "{requests:?}"
    );
}

/// A grant of a name is none of the machine that it leads to.
#[tokio::test]
async fn a_name_that_leads_home_is_asked_about_twice() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "inside"));
    let host = host(&sandbox);
    let port = site.port();
    let name = format!("https://home.example:{port}/");
    host.permissions().set(&name, "r??").unwrap();
    let arguments = json!({ "authority": format!("home.example:{port}"), "path": "/a" });
    let asker = Arc::new(Asker::no());
    let failure = sent(&host, arguments.clone(), asker.clone()).await;
    assert_eq!(
        failure.unwrap_err(),
        format!("Permission denied: wasi_http wanted to read 'http://home.example:{port}/a'")
    );
    assert!(
        asker.questions()[0]
            .wording
            .contains("/a', to which home.example leads and which is on this machine?"),
        "{:?}",
        asker.questions()
    );
    assert_eq!(site.requests(), [""; 0]);
    host.permissions().set(&site.target("/"), "r??").unwrap();
    let text = sent(&host, arguments, Arc::new(DenyAll)).await.unwrap();
    assert!(text.ends_with("inside"), "{text}");
}

#[tokio::test]
async fn nothing_is_sent_in_prepare() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "hello"));
    let host = host(&sandbox);
    host.permissions().set(&site.target("/"), "rw?").unwrap();
    let arguments = here(site.port(), json!({ "early": true }));
    let failure = sent(&host, arguments, Arc::new(Asker::yes())).await;
    let failure = failure.unwrap_err();
    assert!(
        failure.contains("nothing can be touched while a call is prepared"),
        "{failure}"
    );
    assert_eq!(site.requests(), [""; 0]);
}

/// Their order would say something that no question shows.
#[tokio::test]
async fn headers_come_in_one_order() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "hello"));
    let host = host(&sandbox);
    let headers = [
        ["user-agent", "a"],
        ["accept-language", "b"],
        ["accept", "c"],
    ];
    let mut reversed = headers;
    reversed.reverse();
    for headers in [headers, reversed] {
        let arguments = here(site.port(), json!({ "headers": headers }));
        sent(&host, arguments, Arc::new(Asker::yes()))
            .await
            .unwrap();
    }
    // What is added is where it would have been.
    for headers in [
        json!([["accept-language", "b"]]),
        json!([["accept", "*/*"], ["accept-language", "b"]]),
    ] {
        let arguments = here(site.port(), json!({ "headers": headers }));
        sent(&host, arguments, Arc::new(Asker::yes()))
            .await
            .unwrap();
    }
    let requests = site.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[0], requests[1]);
    assert_eq!(requests[2], requests[3]);
}
