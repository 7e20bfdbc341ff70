//! What ends a program, and what does not.

use super::*;
use crate::limits::{APP_AUDIT_PERIOD, MAX_APP_STARTS, MAX_EMITS_PER_SECOND, MAX_OPEN_APPS};

/// `n` counts the calls since the program was started.
const COUNTS: &str = "let n = 0; dunlin.handle('count', () => (n += 1));\n";

#[tokio::test]
async fn what_breaks_a_program_has_it_started_again() {
    let place = Place::with_run_time(SHORT);
    let memory = AppError::Memory { mebibytes: 64 };
    for (what, source, expected) in [
        (
            "a loop in a handler",
            "for (;;) {}",
            AppError::Deadline(SHORT),
        ),
        (
            "a loop in a microtask",
            "await null; for (;;) {}",
            AppError::Deadline(SHORT),
        ),
        ("one large array", "new Uint8Array(1e9)", memory.clone()),
        (
            "many arrays",
            "const all = []; for (;;) all.push(new Uint8Array(1e6).fill(1))",
            memory.clone(),
        ),
        ("a long text", "'x'.repeat(2 ** 29)", memory.clone()),
    ] {
        let source = format!("{COUNTS} dunlin.handle('break', async () => {{ {source} }});");
        let (app, heard) = place.open(&source);
        assert_eq!(app.invoke("count", "1").await.as_deref(), Ok("1"), "{what}");
        let broken = app.invoke("break", "1").await;
        assert_eq!(broken, Err(expected), "{what}");
        assert_eq!(broken.unwrap_err().kind(), "ProgramEndedError", "{what}");
        // Whoever called was told.
        assert_eq!(heard.messages(), [], "{what}");
        assert_eq!(app.invoke("count", "1").await.as_deref(), Ok("1"), "{what}");
    }
}

#[tokio::test]
async fn a_program_may_come_to_terms_with_its_limits() {
    let place = Place::new();
    let (app, heard) = place.open(&format!(
        "{COUNTS} dunlin.handle('memory', () => {{ try {{ new Uint8Array(1e9); }} catch (e) {{ return e.name; }} }});
         dunlin.handle('deep', (how) => {{
           const f = (x) => f(x) + 1;
           const deep = {{
             calls: () => f(1),
             json: () => JSON.parse('['.repeat(1e5) + ']'.repeat(1e5)),
             getter: () => {{ const o = {{ get a() {{ return o.a; }} }}; return o.a; }},
             proxy: () => {{ let p = {{}}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {{}}); return p.x; }},
             regex: () => new RegExp('('.repeat(1e5) + ')'.repeat(1e5)),
             text: () => {{ const o = {{ toString() {{ return `${{o}}`; }} }}; return `${{o}}`; }},
             sort: () => {{ const s = () => [2, 1].sort(s); return s(); }},
             spread: () => {{ const g = (...a) => g(...a, 1); return g(); }},
             async: () => {{ const h = async () => h(); return h(); }},
             generator: () => {{ function* y() {{ yield* y(); }} return [...y()]; }},
             replace: () => {{ const r = () => 'a'.replace('a', r); return r(); }},
           }};
           return how ? deep[how]() : Object.keys(deep);
         }});"
    ));
    assert_eq!(app.invoke("count", "1").await.as_deref(), Ok("1"));
    let name = app.invoke("memory", "1").await.unwrap();
    assert!(name.contains("Error"), "{name}");
    let ways = app.invoke("deep", "null").await.unwrap();
    let ways: Vec<String> = serde_json::from_str(&ways).unwrap();
    assert!(ways.len() > 10);
    for way in ways {
        let error = thrown(app.invoke("deep", &format!("{way:?}")).await);
        let kind = error.kind.as_deref().unwrap_or_default();
        assert!(
            ["RangeError", "InternalError", "SyntaxError"].contains(&kind),
            "{way}: {error}"
        );
    }
    // The same instance all the time.
    assert_eq!(app.invoke("count", "1").await.as_deref(), Ok("2"));
    assert_eq!(heard.messages(), []);
}

#[tokio::test]
async fn loops_where_nobody_calls_end_it_too() {
    let place = Place::with_run_time(SHORT);
    let (app, _heard) = place.open("for (;;) {}");
    assert_eq!(app.start().await, Err(AppError::Deadline(SHORT)));

    // In a timer, while nobody waits.
    let (app, mut heard) = place
        .open("dunlin.handle('arm', () => { setTimeout(() => { for (;;) {} }, 1); return 1; });");
    assert_eq!(app.invoke("arm", "1").await.as_deref(), Ok("1"));
    let told = heard.next_message().await;
    let text = "the program was ended: it did not finish within 2 s".to_owned();
    assert_eq!(told, (LogLevel::Error, text));

    // In a timer: the calls that wait are told.
    let (app, mut heard) = place.open(&format!(
        "{COUNTS} dunlin.handle('wait', () => {{ setTimeout(() => {{ dunlin.emit('loops', 1); for (;;) {{}} }}, 1); return new Promise(() => {{}}); }});"
    ));
    assert_eq!(app.invoke("count", "1").await.as_deref(), Ok("1"));
    let (waited, _) = tokio::join!(app.invoke("wait", "1"), heard.next());
    assert_eq!(waited, Err(AppError::Deadline(SHORT)));
    assert_eq!(heard.messages(), []);
    assert_eq!(app.invoke("count", "1").await.as_deref(), Ok("1"));
}

#[tokio::test]
async fn a_loop_holds_up_nobody_else() {
    let place = Place::new();
    let (looping, mut heard) =
        place.open("dunlin.handle('loop', () => { dunlin.emit('loops', 1); for (;;) {} });");
    let (other, _other_heard) = place.open_as("other", COUNTS, Arc::new(DenyAll));
    let meanwhile = async {
        heard.next().await;
        // On the one thread that there is.
        for n in 1..=20 {
            assert_eq!(other.invoke("count", "1").await, Ok(n.to_string()));
        }
    };
    tokio::select! {
        _ = looping.invoke("loop", "1") => panic!("it does not end"),
        () = meanwhile => {}
    }
}

#[tokio::test]
async fn a_program_that_always_breaks_rests() {
    let place = Place::with_run_time(Duration::from_millis(100));
    let (app, _heard) = place.open("for (;;) {}");
    let last = AppError::Deadline(Duration::from_millis(100));
    for _ in 0..MAX_APP_STARTS {
        assert_eq!(app.invoke("x", "1").await, Err(last.clone()));
    }
    let resting = app.invoke("x", "1").await.unwrap_err();
    assert_eq!(resting.kind(), "UnavailableError");
    let last = Box::new(last);
    assert_eq!(resting, AppError::Resting { last });
    assert_eq!(
        resting.to_string(),
        "it was started 5 times within 60 s and ended each time; the last time: it did not finish within 100 ms"
    );
}

#[tokio::test]
async fn a_flood_of_events_is_cut() {
    let place = Place::new();
    let (app, mut heard) = place.open(
        "dunlin.handle('flood', () => { for (let i = 0; i < 5000; i++) dunlin.emit('n', i); });\n\
         dunlin.handle('large', () => dunlin.emit('l', 'x'.repeat(2 ** 21)));\n\
         dunlin.handle('log', () => { for (let i = 0; i < 5000; i++) console.log(i); });",
    );
    app.invoke("flood", "1").await.unwrap();
    let mut events = 0;
    while heard.events.try_recv().is_ok() {
        events += 1;
    }
    // A loaded machine may take more than a second for it.
    assert!((MAX_EMITS_PER_SECOND..4_000).contains(&events), "{events}");
    let note = "more than 240 events or 8 MiB in a second: the rest is dropped".to_owned();
    assert_eq!(heard.messages(), [(LogLevel::Warn, note)]);

    app.invoke("large", "1").await.unwrap();
    let last = heard.messages().pop().unwrap().1;
    assert!(
        last.contains("an event of 2097155 bytes is dropped"),
        "{last}"
    );
    assert!(heard.events.try_recv().is_err());

    app.invoke("log", "1").await.unwrap();
    let messages = heard.messages();
    assert!(messages.len() < 1_000, "{}", messages.len());
    let notes = messages
        .iter()
        .filter(|(_, text)| text.contains("messages in a second"));
    assert_eq!(notes.count(), 1);
}

#[tokio::test]
async fn the_log_of_all_plugins_is_not_filled_by_one_app() {
    let place = Place::new();
    let (app, _heard) = place.open(
        "dunlin.handle('log', () => { const text = 'x'.repeat(4000);\n\
           for (let i = 0; i < 1000; i++) console.log(text); });\n\
         dunlin.handle('large', () => 'x'.repeat(12000000));",
    );
    let log = || std::fs::read_to_string(place.path("data/log.jsonl")).unwrap();
    let note = "this app has filled 2 MiB of the log within an hour";
    for _ in 0..2 {
        app.invoke("log", "1").await.unwrap();
    }
    let full = log().len();
    // The second one found no room any more.
    assert!((3 << 20..6 << 20).contains(&full), "{full}");
    assert_eq!(log().matches(note).count(), 1);
    // It does not help to break.
    let crash = app.invoke("large", "1").await.unwrap_err();
    assert!(matches!(crash, AppError::Crash(_)), "{crash}");
    app.invoke("log", "1").await.unwrap();
    assert_eq!(log().len(), full);
    tokio::time::pause();
    tokio::time::advance(APP_AUDIT_PERIOD).await;
    tokio::time::resume();
    app.invoke("log", "1").await.unwrap();
    assert_eq!(log().matches(note).count(), 2);
}

#[tokio::test]
async fn sizes_have_limits() {
    let place = Place::new();
    let (app, _heard) = place.open(
        "dunlin.handle('large', (n) => 'x'.repeat(n)); dunlin.handle('length', (x) => x.length);",
    );
    assert_eq!(app.invoke("large", "8388606").await.unwrap().len(), 8 << 20);
    assert_eq!(
        app.invoke("large", "8388607")
            .await
            .unwrap_err()
            .to_string(),
        "the JSON of the value has 8388609 bytes; at most 8388608 are possible"
    );
    let crash = app.invoke("large", "12000000").await.unwrap_err();
    assert_eq!(
        crash,
        AppError::Crash("handed over more than 9 MiB at once".to_owned())
    );
    let fits = format!("{:?}", "x".repeat(4 << 20 >> 1));
    assert_eq!(app.invoke("length", &fits).await.as_deref(), Ok("2097152"));
    let large = format!("{:?}", "x".repeat(4 << 20));
    assert_eq!(
        app.invoke("length", &large).await.unwrap_err().to_string(),
        "the JSON of the arguments has 4194306 bytes; at most 4194304 are possible"
    );
    let (app, _heard) = place.open(&"/".repeat((1 << 20) + 1));
    assert!(matches!(
        app.start().await,
        Err(AppError::TooLarge {
            what: "the program",
            ..
        })
    ));
}

#[tokio::test]
async fn as_many_apps_are_open_as_may_be() {
    let place = Place::new();
    let mut open = Vec::new();
    for n in 0..MAX_OPEN_APPS {
        let (app, heard) = place.open_as(&format!("app-{n}"), COUNTS, Arc::new(DenyAll));
        assert_eq!(app.start().await, Ok(()), "{n}");
        open.push((app, heard));
    }
    let (more, _heard) = place.open(COUNTS);
    assert_eq!(
        more.start().await,
        Err(AppError::TooManyApps(MAX_OPEN_APPS))
    );
    for (app, _) in &open {
        assert_eq!(
            app.invoke("count", "1").await.as_deref(),
            Ok("1"),
            "each for itself"
        );
    }
}
