//! Calls, events and errors of a page that is open.

use super::*;

#[tokio::test]
async fn arguments_reach_the_back_end_as_they_were_sent() {
    let stage = stage().await;
    let mut ask = stage.invoke("say", &Value::Null);
    let arguments = r#"{"__proto__": {"admin": true}, "n": 1.10, "b": 12345678901234567890123}"#;
    ask.body = format!(r#"{{"version":1,"name":"say","arguments":{arguments}}}"#);
    assert_eq!(stage.answer(&ask).await.body, arguments);
    assert_eq!(*stage.backend.arguments.lock(), [arguments]);
}

#[tokio::test]
async fn a_call_that_fails_says_why_and_where() {
    let stage = stage().await;
    let answer = stage.answer(&stage.invoke("fail", &json!(1))).await;
    assert_eq!(answer.status, 422);
    let error = json!({ "message": "no tides today", "kind": "RangeError", "line": 3 });
    assert_eq!(answer.json(), error);
    let answer = stage.answer(&stage.invoke("long", &json!(1))).await;
    assert_eq!(answer.status, 200, "its size is for the back end to limit");
    stage.page.reload(content(), None);
    let call = json!({ "version": 2, "name": "say", "arguments": 1 });
    let answer = stage.answer(&stage.post("invoke", &call)).await;
    assert_eq!(
        (answer.status, &answer.json()["kind"]),
        (422, &json!("NoHandlerError"))
    );
}

#[tokio::test]
async fn more_calls_than_may_run_are_refused_and_a_call_ends_with_its_connection() {
    let stage = stage().await;
    let mut running = Vec::new();
    for _ in 0..MAX_CALLS {
        let mut stream = stage.connect().await;
        let ask = stage.invoke("never", &json!(1)).text();
        stream.write_all(ask.as_bytes()).await.expect("sent");
        running.push(stream);
    }
    while stage.backend.called.load(Ordering::SeqCst) < MAX_CALLS {
        tokio::task::yield_now().await;
    }
    let answer = stage.answer(&stage.invoke("say", &json!(1))).await;
    assert_eq!(
        (answer.status, &answer.json()["kind"]),
        (429, &json!("BusyError"))
    );
    assert_eq!(stage.backend.called.load(Ordering::SeqCst), MAX_CALLS);
    running.pop();
    stage.backend.cancelled.notified().await;
    assert_eq!(stage.status(&stage.invoke("say", &json!(1))).await, 200);
}

#[tokio::test]
async fn browsers_are_told_of_versions_and_events() {
    let stage = stage().await;
    let mut open = stage.page.connections();
    let mut events = stage.events().await;
    open.wait_for(|open| *open == 1).await.expect("a page");
    let frame = stage.address().frame_token.to_string();
    let shown = json!({
        "version": 1,
        "title": "Tides",
        "path": format!("/{frame}/1/"),
        "sandbox": "allow-scripts allow-forms",
    });
    assert_eq!(events.next().await, Some(("content".to_owned(), shown)));
    stage
        .page
        .emit("tide\n", "{\r\n\"high\": [1,\n2]}")
        .expect("sent");
    let sent = json!({ "event": "tide\n", "payload": { "high": [1, 2] } });
    assert_eq!(events.next().await, Some(("emit".to_owned(), sent)));
    stage.page.reload(content(), None);
    let (kind, shown) = events.next().await.expect("an event");
    assert_eq!((kind.as_str(), &shown["version"]), ("content", &json!(2)));
    assert_eq!(stage.status(&stage.of_frame("1/", "iframe")).await, 404);
    assert_eq!(stage.status(&stage.of_frame("2/", "iframe")).await, 200);
    drop(events);
    open.wait_for(|open| *open == 0).await.expect("a page");
}

#[tokio::test]
async fn events_that_are_too_large_are_refused() {
    let stage = stage().await;
    let large = format!("\"{}\"", "x".repeat(4 << 20));
    let emitted = stage.page.emit("x", &large);
    assert_eq!(emitted, Err(EmitError(large.len() + 1)));
}

#[tokio::test]
async fn a_browser_that_does_not_read_misses_events_and_is_told_how_many() {
    let stage = stage().await;
    let mut events = stage.events().await;
    let (kind, _) = events.next().await.expect("an event");
    assert_eq!(kind, "content");
    let payload = format!("\"{}\"", "x".repeat(1_000_000));
    let sent = 30;
    for _ in 0..sent {
        stage.page.emit("x", &payload).expect("sent");
        // The server sends while the browser does not read.
        tokio::task::yield_now().await;
    }
    let mut received = 0;
    let lost = loop {
        // There is room again as soon as something was read.
        stage.page.emit("last", "1").expect("sent");
        let (kind, data) = events.next().await.expect("an event");
        match kind.as_str() {
            "lost" => break data["events"].as_u64().expect("a number"),
            "emit" if data["event"] == "x" => received += 1,
            _ => {}
        }
    };
    assert!(lost > 5 && received > 0, "{lost} lost, {received} received");
}

#[tokio::test]
async fn one_window_more_takes_the_place_of_the_oldest() {
    let stage = stage().await;
    let mut windows = Vec::new();
    for _ in 0..4 {
        let mut events = stage.events().await;
        events.next().await.expect("an event");
        windows.push(events);
    }
    let (kind, _) = windows[0].next().await.expect("an event");
    assert_eq!(kind, "replaced");
    assert_eq!(windows[0].next().await, None);
    stage.page.emit("x", "1").expect("sent");
    for window in &mut windows[1..] {
        let (kind, _) = window.next().await.expect("an event");
        assert_eq!(kind, "emit");
    }
}

#[tokio::test]
async fn errors_arrive_with_their_place_in_what_the_model_wrote() {
    let mut stage = stage().await;
    let document = stage.answer(&stage.of_frame("1/", "iframe")).await.body;
    let before = document.find("<p>Tides").expect("the app");
    let report = |location: Value| json!({ "version": 1, "message": "broken", "location": location, "omitted": 0 });
    let cases = [
        (
            json!({ "source": "renderer-js", "line": 1, "column": 7 }),
            Some((Part::Renderer, 1, 7)),
        ),
        (
            json!({ "source": "html", "line": 2, "column": 7 }),
            Some((Part::Html, 2, 7)),
        ),
        (
            json!({ "source": "html", "line": 1, "column": before + 7 }),
            Some((Part::Html, 1, 7)),
        ),
        (Value::Null, None),
    ];
    for (location, expected) in cases {
        assert_eq!(
            stage.status(&stage.post("error", &report(location))).await,
            204
        );
        let error = stage.errors.recv().await.expect("an error");
        let location = error.location.map(|it| (it.part, it.line, it.column));
        assert_eq!((error.message.as_str(), location), ("broken", expected));
    }
    stage.page.reload(content(), None);
    assert_eq!(
        stage
            .status(&stage.post("error", &report(Value::Null)))
            .await,
        204
    );
    assert!(
        stage.errors.try_recv().is_err(),
        "an error of an app that is gone"
    );
}

#[tokio::test]
async fn the_end_of_a_page_is_told_and_closes_its_port() {
    let stage = stage().await;
    let mut events = stage.events().await;
    events.next().await.expect("an event");
    let host = stage.address().host.clone();
    let closing = tokio::spawn(async move { stage.page.close().await });
    assert_eq!(events.next().await, Some(("closed".to_owned(), json!({}))));
    assert_eq!(events.next().await, None);
    closing.await.expect("closed");
    assert!(TcpStream::connect(&host).await.is_err());
}

/// Calls what never answers, in a connection that stays open. `&str`: what the answer says, once it comes.
async fn call_without_end(stage: &Stage) -> impl Future<Output = Answer> + use<> {
    let mut stream = stage.connect().await;
    let ask = stage.invoke("never", &json!(1)).and("connection", "close");
    stream.write_all(ask.text().as_bytes()).await.expect("sent");
    while stage.backend.called.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    async move {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("the end");
        Answer::of(&answer)
    }
}

#[tokio::test]
async fn another_version_cancels_the_calls_of_the_one_before() {
    let stage = stage().await;
    let answer = call_without_end(&stage).await;
    stage.page.reload(
        content(),
        Some(Arc::clone(&stage.backend) as Arc<dyn Backend>),
    );
    stage.backend.cancelled.notified().await;
    let answer = answer.await;
    assert_eq!(
        (answer.status, &answer.json()["kind"]),
        (409, &json!("ReplacedError"))
    );
    let call = json!({ "version": 2, "name": "say", "arguments": 1 });
    assert_eq!(stage.status(&stage.post("invoke", &call)).await, 200);
}

#[tokio::test]
async fn the_end_of_a_page_cancels_its_calls_before_browsers_are_told() {
    let stage = stage().await;
    // Does not read, so that the end waits for it.
    let _window = stage.events().await;
    let answer = call_without_end(&stage).await;
    let closing = tokio::spawn(async move { stage.page.close().await });
    let answer = answer.await;
    assert_eq!(
        (answer.status, &answer.json()["kind"]),
        (409, &json!("ClosedError"))
    );
    stage.backend.cancelled.notified().await;
    closing.await.expect("closed");
}

#[tokio::test]
async fn scripts_that_do_not_run_are_an_error() {
    let mut stage = stage().await;
    let with_scripts = |count: usize| Content {
        html: "<p onclick='go()'>".repeat(count),
        ..content()
    };
    stage.page.reload(with_scripts(500), None);
    stage.page.reload(with_scripts(501), None);
    let error = stage.errors.recv().await.expect("an error");
    assert_eq!(
        error.message,
        "the html has 501 scripts and handlers in attributes; only the first 500 run"
    );
    assert!(stage.errors.try_recv().is_err());
    let (to, mut errors) = mpsc::channel(10);
    let options = PageOptions {
        content: with_scripts(502),
        backend: None,
        errors: to,
    };
    let _page = Page::serve(options).await.expect("a port");
    let error = errors.recv().await.expect("an error");
    assert!(error.message.starts_with("the html has 502 "), "{error:?}");
}

#[tokio::test]
async fn dropping_a_page_cancels_its_calls() {
    let stage = stage().await;
    let _answer = call_without_end(&stage).await;
    drop(stage.page);
    stage.backend.cancelled.notified().await;
}
