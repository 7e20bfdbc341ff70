//! Which requests are answered, and with which headers.

use super::*;

#[tokio::test]
async fn what_the_page_itself_asks_for_is_answered() {
    let stage = stage().await;
    let cases = [
        (
            stage.get("", "document"),
            "text/html; charset=utf-8",
            "<iframe>",
        ),
        (
            stage.get("outer.js", "script"),
            "text/javascript; charset=utf-8",
            "EventSource",
        ),
        (
            stage.get("outer.css", "style"),
            "text/css; charset=utf-8",
            "#notice",
        ),
        (
            stage.of_frame("1/", "iframe"),
            "text/html; charset=utf-8",
            "<p>Tides</p>",
        ),
        (
            stage.of_frame("1/bridge.js", "script"),
            "text/javascript; charset=utf-8",
            "'dunlin'",
        ),
        (
            stage.of_frame("1/renderer.js", "script"),
            "text/javascript; charset=utf-8",
            "show);\n",
        ),
        (
            stage.invoke("say", &json!("hello")),
            "application/json",
            "\"hello\"",
        ),
    ];
    for (ask, content_type, part) in cases {
        let answer = stage.answer(&ask).await;
        assert_eq!(answer.status, 200, "{}: {answer:?}", ask.path);
        assert!(
            answer
                .head
                .contains(&format!("content-type: {content_type}")),
            "{answer:?}"
        );
        assert!(answer.body.contains(part), "{answer:?}");
    }
}

#[tokio::test]
async fn requests_of_others_are_refused_and_call_nothing() {
    let stage = stage().await;
    let address = stage.address();
    let port = address.host.rsplit(':').next().expect("a port");
    let (token, frame) = (address.token.to_string(), address.frame_token.to_string());
    let invoke = stage.invoke("say", &json!(1));
    let other = if token.starts_with('0') { "1" } else { "0" };
    let guessed = format!("{other}{}", &token[1..]);
    let long = "x".repeat(9 << 20);
    let cases: Vec<(&str, Ask, u16)> = vec![
        (
            "another host",
            invoke.clone().with("host", "evil.example"),
            421,
        ),
        (
            "another spelling",
            invoke.clone().with("host", &format!("localhost:{port}")),
            421,
        ),
        ("no port", invoke.clone().with("host", "127.0.0.1"), 421),
        (
            "another port",
            invoke.clone().with("host", "127.0.0.1:1"),
            421,
        ),
        ("no host", invoke.clone().without("host"), 421),
        ("two hosts", invoke.clone().and("host", &address.host), 421),
        (
            "a host in the line",
            invoke
                .clone()
                .at(format!("http://evil.example{}", invoke.path)),
            421,
        ),
        (
            "a guessed token",
            invoke.clone().at(format!("/{guessed}/invoke")),
            404,
        ),
        (
            "the token of the frame",
            invoke.clone().at(format!("/{frame}/invoke")),
            404,
        ),
        ("no token", invoke.clone().at("/invoke".to_owned()), 404),
        (
            "an empty token",
            invoke.clone().at("//invoke".to_owned()),
            404,
        ),
        (
            "a shorter token",
            invoke.clone().at(format!("/{}/invoke", &token[..31])),
            404,
        ),
        (
            "a longer token",
            invoke.clone().at(format!("/{token}0/invoke")),
            404,
        ),
        (
            "capitals",
            invoke
                .clone()
                .at(format!("/{}/invoke", token.replace(|_| true, "A"))),
            404,
        ),
        (
            "another path",
            invoke.clone().at(format!("/{token}/invoke/x")),
            404,
        ),
        (
            "a query",
            invoke.clone().at(format!("/{token}/invoke?x")),
            404,
        ),
        (
            "an upward path",
            invoke.clone().at(format!("/{token}/../{token}/invoke")),
            404,
        ),
        (
            "the root",
            stage.get("", "document").at("/".to_owned()),
            404,
        ),
        ("an older version", stage.of_frame("0/", "iframe"), 404),
        (
            "the app by the token of the page",
            stage.get("1/", "iframe"),
            404,
        ),
        ("another method", invoke.clone().by("PUT"), 405),
        ("a preflight", invoke.clone().by("OPTIONS"), 405),
        ("a call by GET", invoke.clone().by("GET"), 405),
        ("a page by POST", stage.get("", "document").by("POST"), 405),
        (
            "another origin",
            invoke.clone().with("origin", "https://evil.example"),
            403,
        ),
        (
            "the origin of another port",
            invoke.clone().with("origin", "http://127.0.0.1:1"),
            403,
        ),
        (
            "the origin of a frame",
            invoke.clone().with("origin", "null"),
            403,
        ),
        ("no origin", invoke.clone().without("origin"), 403),
        (
            "two origins",
            invoke.clone().and("origin", &address.origin),
            403,
        ),
        (
            "another site",
            invoke.clone().with("sec-fetch-site", "cross-site"),
            403,
        ),
        (
            "another port of this host",
            invoke.clone().with("sec-fetch-site", "same-site"),
            403,
        ),
        ("no site", invoke.clone().without("sec-fetch-site"), 403),
        (
            "events for another site",
            stage
                .get("events", "empty")
                .with("sec-fetch-site", "same-site"),
            403,
        ),
        ("the page in a frame", stage.get("", "iframe"), 403),
        (
            "the app as a window",
            stage
                .of_frame("1/", "iframe")
                .with("sec-fetch-dest", "document"),
            403,
        ),
        (
            "the app in a frame of another site",
            stage
                .of_frame("1/", "iframe")
                .with("sec-fetch-site", "cross-site"),
            403,
        ),
        (
            "the script for another site",
            stage
                .of_frame("1/renderer.js", "script")
                .with("origin", "https://evil.example"),
            403,
        ),
        (
            "the script as text",
            stage.of_frame("1/renderer.js", "empty"),
            403,
        ),
        (
            "a form",
            invoke.clone().with("content-type", "text/plain"),
            415,
        ),
        ("too large", stage.invoke("say", &json!(long)), 413),
        (
            "too large an error",
            stage.post("error", &json!(&long[..20_000])),
            413,
        ),
        ("no call", stage.post("invoke", &json!({"version": 1})), 400),
        ("no report", stage.post("error", &json!([])), 400),
        (
            "a call of an older version",
            stage.post(
                "invoke",
                &json!({"version": 0, "name": "say", "arguments": 1}),
            ),
            409,
        ),
    ];
    let headers = [
        "content-security-policy: default-src 'none';",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cross-origin-opener-policy: same-origin",
        "cross-origin-resource-policy: same-origin",
        "cache-control: no-store",
        "x-dns-prefetch-control: off",
        "permissions-policy: accelerometer=(), ",
    ];
    for (name, ask, status) in cases {
        let answer = stage.answer(&ask).await;
        assert_eq!(answer.status, status, "{name}: {answer:?}");
        for header in headers {
            assert!(
                answer.head.contains(header),
                "{name}: {header} in {}",
                answer.head
            );
        }
        assert!(
            !answer.head.contains("access-control"),
            "{name}: {answer:?}"
        );
        if status == 404 || status == 421 {
            assert_eq!(answer.body, "", "{name}");
        }
    }
    assert_eq!(stage.backend.called.load(Ordering::SeqCst), 0);
    assert_eq!(stage.status(&invoke).await, 200);
}

#[tokio::test]
async fn each_document_has_its_policy() {
    let stage = stage().await;
    let address = stage.address();
    let (origin, token, frame) = (&address.origin, &address.token, &address.frame_token);
    let outer = stage.answer(&stage.get("", "document")).await.head;
    for part in [
        "frame-ancestors 'none'".to_owned(),
        format!("script-src {origin}/{token}/outer.js;"),
        format!("frame-src {origin}/{frame}/;"),
        "connect-src 'self';".to_owned(),
    ] {
        assert!(outer.contains(&part), "{part} in {outer}");
    }
    let app = stage.answer(&stage.of_frame("1/", "iframe")).await.head;
    for part in [
        format!(
            "script-src {origin}/{frame}/1/bridge.js {origin}/{frame}/1/renderer.js 'unsafe-hashes' 'sha256-"
        ),
        format!("frame-ancestors {origin};"),
        "connect-src 'none';".to_owned(),
        "form-action 'none';".to_owned(),
        "sandbox allow-scripts allow-forms\r\n".to_owned(),
    ] {
        assert!(app.contains(&part), "{part} in {app}");
    }
    assert!(!app.contains(&token.to_string()), "{app}");
    let app = stage.answer(&stage.of_frame("1/", "iframe")).await.body;
    assert!(!app.contains(&token.to_string()), "{app}");
    for script in ["1/bridge.js", "1/renderer.js"] {
        let script = stage.answer(&stage.of_frame(script, "script")).await.head;
        assert!(
            script.contains("access-control-allow-origin: null"),
            "{script}"
        );
    }
}

#[tokio::test]
async fn a_head_or_body_that_does_not_come_ends_the_connection() {
    let stage = stage().await;
    let ask = stage.invoke("say", &json!(1));
    let whole = ask.text();
    for (part, status) in [
        ("", ""),
        ("GET / HTTP/1.1\r\nhost: x", ""),
        (&whole[..whole.len() - 1], " 408 "),
    ] {
        let mut stream = stage.connect().await;
        stream.write_all(part.as_bytes()).await.expect("sent");
        // Time passes by itself while everybody waits. The server must have read what was sent, so it is paused after that.
        assert_eq!(stage.status(&ask).await, 200);
        tokio::time::pause();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("the end");
        tokio::time::resume();
        assert!(answer.contains(status), "{part}: {answer}");
    }
}

#[tokio::test]
async fn too_many_headers_and_a_long_head_are_refused() {
    let stage = stage().await;
    let mut many = stage.invoke("say", &json!(1));
    for _ in 0..70 {
        many = many.and("x", "y");
    }
    assert_eq!(stage.status(&many).await, 431);
    let long = stage.invoke("say", &json!(1)).and("x", &"y".repeat(20_000));
    assert_eq!(stage.status(&long).await, 431);
}

#[tokio::test]
async fn connections_without_the_token_make_room() {
    let stage = stage().await;
    // A browser that reads the events, and another user of the machine.
    let mut events = stage.events().await;
    events.next().await.expect("an event");
    let guess = stage.get("", "document").at("/guess/".to_owned()).text();
    let mut strangers = Vec::new();
    for _ in 0..40 {
        let mut stranger = stage.connect().await;
        let _dropped = stranger.write_all(guess.as_bytes()).await;
        strangers.push(stranger);
    }
    let ask = stage.invoke("say", &json!(1));
    assert_eq!(stage.status(&ask).await, 200);
    // The first of them had to go, and not the browser.
    let mut rest = Vec::new();
    let _reset = strangers[0].read_to_end(&mut rest).await;
    stage.page.emit("tide", "1").expect("sent");
    assert_eq!(events.next().await.expect("an event").0, "emit");
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed_and_find_room_later() {
    let stage = stage().await;
    let mut open = Vec::new();
    let refused = loop {
        assert!(open.len() < 100, "no limit");
        let mut stream = stage.connect().await;
        let ask = stage.invoke("say", &json!(1)).text();
        let _refused = stream.write_all(ask.as_bytes()).await;
        if stream.read_u8().await.is_err() {
            break open.len();
        }
        open.push(stream);
    };
    assert_eq!(refused, 32);
    drop(open);
    while stage.status(&stage.invoke("say", &json!(1))).await != 200 {}
}
