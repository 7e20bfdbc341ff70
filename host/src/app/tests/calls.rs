//! Values, errors, timers, and calls that wait.

use super::*;
use crate::limits::MAX_OPEN_APPS;

#[tokio::test]
async fn values_go_both_ways() {
    let place = Place::new();
    let (app, mut heard) = place.open(
        r#"
        dunlin.handle("same", (value) => value);
        dunlin.handle("later", async (value) => value + 1);
        dunlin.handle("after", (ms) => new Promise((settle) => setTimeout(() => settle("done"), ms)));
        dunlin.handle("nothing", () => undefined);
        dunlin.handle("tell", (value) => dunlin.emit("told", value));
        dunlin.handle("polluted", (value) => ({
            fresh: {}.admin ?? null,
            own: Object.keys(value),
            admin: value.admin ?? null,
            prototype: Object.getPrototypeOf(value) === Object.prototype,
        }));
        "#,
    );
    for (name, arguments, expected) in [
        ("same", "null", "null"),
        ("same", r#"{"a":[1,2.5,"ü🦀"]}"#, r#"{"a":[1,2.5,"ü🦀"]}"#),
        ("later", "41", "42"),
        ("after", "1", r#""done""#),
        ("nothing", "{}", "null"),
        ("tell", r#"{"x":1}"#, "null"),
        (
            "polluted",
            r#"{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}"#,
            r#"{"fresh":null,"own":["__proto__","constructor"],"admin":null,"prototype":true}"#,
        ),
        (
            "polluted",
            "{}",
            r#"{"fresh":null,"own":[],"admin":null,"prototype":true}"#,
        ),
    ] {
        let value = app.invoke(name, arguments).await;
        assert_eq!(value.as_deref(), Ok(expected), "{name} {arguments}");
    }
    assert_eq!(
        heard.next().await,
        ("told".to_owned(), r#"{"x":1}"#.to_owned())
    );
    assert_eq!(app.start().await, Ok(()), "it runs already");
    assert_eq!(heard.messages(), []);
}

#[tokio::test]
async fn errors_say_where() {
    let place = Place::new();
    let (app, _heard) = place.open(
        "\ndunlin.handle('fails', () => {\n  null.x;\n});\n\
         dunlin.handle('throws', (what) => { throw what; });\n\
         dunlin.handle('acts', () => { throw new Error('a\\u001b[2J\\nb\\u202e'); });",
    );
    let error = thrown(app.invoke("fails", "1").await);
    assert_eq!(
        (error.kind.as_deref(), error.line),
        (Some("TypeError"), Some(3))
    );
    assert!(error.stack.contains("main-js:3"), "{error:?}");
    let shown = error.to_string();
    assert!(
        shown.starts_with("TypeError: ") && shown.contains("(line 3, column "),
        "{shown}"
    );
    let error = thrown(app.invoke("acts", "1").await);
    assert_eq!(error.message, "a\\u{1b}[2J\\nb\\u{202e}");
    assert_eq!(thrown(app.invoke("throws", "7").await).to_string(), "7");
    let error = thrown(app.invoke("missing", "1").await);
    assert_eq!(error.kind.as_deref(), Some("NoHandlerError"));
    let error = thrown(app.invoke("fails", "{").await);
    assert_eq!(error.kind.as_deref(), Some("SyntaxError"));

    // A program that does not begin says so each time.
    for source in ["let a = ;", "\nthrow new SyntaxError('late');"] {
        let (app, _heard) = place.open(source);
        for _ in 0..2 {
            let error = thrown(app.start().await);
            assert_eq!(error.kind.as_deref(), Some("SyntaxError"), "{source}");
        }
        assert_eq!(
            thrown(app.invoke("x", "1").await).kind.as_deref(),
            Some("SyntaxError")
        );
    }
}

#[tokio::test]
async fn timers_run_without_a_call() {
    let place = Place::new();
    let (app, mut heard) = place.open(
        "let n = 0; const t = setInterval(() => { n += 1; dunlin.emit('tick', n); if (n === 3) clearInterval(t); }, 5);\n\
         setTimeout(() => { throw new TypeError('late'); }, 1);\n\
         await new Promise((go) => setTimeout(go, 5)); console.warn('ready');",
    );
    assert_eq!(app.start().await, Ok(()));
    for n in ["1", "2", "3"] {
        assert_eq!(heard.next().await, ("tick".to_owned(), n.to_owned()));
    }
    let messages = heard.messages();
    assert!(
        messages.contains(&(LogLevel::Warn, "ready".to_owned())),
        "{messages:?}"
    );
    assert!(
        messages
            .iter()
            .any(|(level, text)| *level == LogLevel::Error
                && text.contains("error in a timer: TypeError: late")),
        "{messages:?}"
    );
}

#[tokio::test]
async fn a_call_may_wait_for_another() {
    let place = Place::new();
    let (app, mut heard) = place.open(
        "let go; const gate = new Promise((open) => { go = open; });\n\
         dunlin.handle('wait', async () => { dunlin.emit('waits', 1); return await gate; });\n\
         dunlin.handle('fail', async () => { await gate; throw new RangeError('no'); });\n\
         dunlin.handle('open', (value) => { go(value); return 'opened'; });",
    );
    let steps = async {
        heard.next().await;
        app.invoke("open", "5").await
    };
    let (waited, failed, opened) =
        tokio::join!(app.invoke("wait", "1"), app.invoke("fail", "1"), steps);
    assert_eq!(waited.as_deref(), Ok("5"));
    assert_eq!(
        thrown(failed).to_string(),
        "RangeError: no (line 3, column 59)"
    );
    assert_eq!(opened.as_deref(), Ok("\"opened\""));
}

#[tokio::test]
async fn a_call_that_never_settles_has_a_deadline() {
    let run_time = Duration::from_millis(200);
    let place = Place::with_run_time(run_time);
    let (app, _heard) = place.open(
        "let n = 0; dunlin.handle('never', () => new Promise(() => {})); dunlin.handle('count', () => (n += 1));",
    );
    assert_eq!(app.invoke("count", "1").await.as_deref(), Ok("1"));
    let late = app.invoke("never", "1").await;
    assert_eq!(late, Err(AppError::Timeout(run_time)));
    let late = late.unwrap_err();
    assert_eq!(late.to_string(), "it did not answer within 200 ms");
    assert_eq!(late.kind(), "TimeoutError");
    // The program runs on.
    assert_eq!(app.invoke("count", "1").await.as_deref(), Ok("2"));
}

#[tokio::test]
async fn clocks_stand_while_the_user_is_asked() {
    let place = Place::with_run_time(Duration::from_secs(1));
    let ask = Arc::new(Answers {
        after: Duration::from_millis(1500),
        answer: Answer {
            allow: true,
            scope: Scope::Once,
        },
        questions: Mutex::default(),
    });
    let (app, mut heard) = place.open_as(
        "asking",
        "let go; const gate = new Promise((open) => { go = open; });\n\
         dunlin.handle('wait', () => { dunlin.emit('waits', 1); return gate; });\n\
         dunlin.handle('read', async () => { const text = await dunlin.files.readText('../outside.txt'); setTimeout(() => go(text), 20); });",
        ask.clone(),
    );
    let read = async {
        heard.next().await;
        app.invoke("read", "1").await
    };
    let (waited, read) = tokio::join!(app.invoke("wait", "1"), read);
    assert_eq!(read.as_deref(), Ok("null"));
    assert_eq!(waited.as_deref(), Ok("\"far away\""));
    assert_eq!(ask.questions.lock().len(), 1);
}

#[tokio::test]
async fn a_cancelled_call_leaves_the_program_running() {
    let place = Place::new();
    let (app, mut heard) = place.open(
        "let n = 0; let go; const gate = new Promise((open) => { go = open; });\n\
         dunlin.handle('wait', async () => { n += 1; dunlin.emit('waits', 1); await gate; n += 1; });\n\
         dunlin.handle('open', () => { go(); }); dunlin.handle('count', () => n);",
    );
    tokio::select! {
        _ = app.invoke("wait", "1") => panic!("it waits"),
        _ = heard.next() => {}
    }
    assert_eq!(app.invoke("open", "1").await.as_deref(), Ok("null"));
    assert_eq!(app.invoke("count", "1").await.as_deref(), Ok("2"));
}

#[tokio::test]
async fn closing_ends_whatever_runs() {
    let place = Place::new();
    let (app, mut heard) = place.open(
        "dunlin.handle('loop', () => { dunlin.emit('loops', 1); for (;;) {} }); dunlin.handle('x', () => 1);",
    );
    let close = async {
        heard.next().await;
        app.clone().close();
    };
    let (looped, queued, ()) = tokio::join!(app.invoke("loop", "1"), app.invoke("x", "1"), close);
    assert_eq!(looped, Err(AppError::Closed));
    assert_eq!(queued, Err(AppError::Closed));
    assert_eq!(app.invoke("x", "1").await, Err(AppError::Closed));
    assert_eq!(app.start().await, Err(AppError::Closed));
}

#[tokio::test]
async fn programs_that_loop_at_their_start_are_gone_when_they_are_closed() {
    let place = Place::new();
    // More than may run at one time.
    for n in 0..=MAX_OPEN_APPS {
        let (app, mut heard) = place.open("dunlin.emit('loops', 1); for (;;) {}");
        let close = async {
            heard.next().await;
            app.discard().await.unwrap();
        };
        let (started, ()) = tokio::join!(app.start(), close);
        assert_eq!(started, Err(AppError::Closed), "{n}");
    }
}

#[tokio::test]
async fn what_a_deleted_app_has_stored_is_removed() {
    let place = Place::new();
    let stores = || std::fs::read_dir(place.path("data/stores")).map_or(0, Iterator::count);
    let (app, mut heard) = place.open(
        "let n = 0; setInterval(() => dunlin.store.set('n', n++), 1);\n\
         await dunlin.store.set('n', n); dunlin.emit('stored', 1);",
    );
    app.start().await.unwrap();
    heard.next().await;
    assert_eq!(stores(), 1);
    app.discard().await.unwrap();
    assert_eq!(stores(), 0);
    assert_eq!(app.start().await, Err(AppError::Closed));
    assert_eq!(stores(), 0);
}
