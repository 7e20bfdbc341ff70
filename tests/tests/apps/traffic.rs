//! What an app and its main part say to each other, and what the chat hears.

use std::time::Instant;

use dunlin_apps::Part;
use dunlin_apps::page::Location;
use dunlin_tests::DEADLINE;
use serde_json::json;

use super::stage::App;

#[test]
fn a_call_reaches_the_back_end_and_its_answer_the_app() {
    let (app, found) = App::found(
        "",
        "found.value = await dunlin.invoke('say', { tides: [1, 2.5, null, 'ä'] });
         found.nothing = await dunlin.invoke('nothing');
         const error = await dunlin.invoke('fail').catch((error) => error);
         found.error = [error instanceof Error, error.message, error.kind, error.line, error.column === undefined];
         const circle = {};
         circle.circle = circle;
         found.circle = await dunlin.invoke('circle', circle).catch((error) => error.name);",
    );
    let expected = json!({
        "value": { "tides": [1, 2.5, null, "ä"] },
        "nothing": null,
        "error": [true, "no tides today", "handler", 3, true],
        "circle": "TypeError",
    });
    assert_eq!(found, expected);
    assert_eq!(app.calls.wait("nothing"), json!(null));
    assert_eq!(app.calls.count("circle"), 0);
}

#[test]
fn keys_with_a_meaning_in_javascript_are_keys_like_others() {
    let (app, found) = App::found(
        "",
        r#"const sent = JSON.parse('{"__proto__": {"admin": true}, "constructor": {"prototype": {"admin": true}}}');
         dunlin.on('__proto__', (payload) => dunlin.invoke('event', payload));
         const answer = await dunlin.invoke('__proto__', sent);
         found.own = Object.keys(answer);
         found.polluted = [{}.admin === undefined, answer.admin === undefined];"#,
    );
    let expected = json!({ "own": ["__proto__", "constructor"], "polluted": [true, true] });
    assert_eq!(found, expected);
    let sent = r#"{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}"#;
    assert_eq!(app.calls.wait("__proto__").to_string(), sent);
    app.emit("__proto__", &app.calls.wait("__proto__"));
    assert_eq!(app.calls.wait("event").to_string(), sent);
    let polluted = app.tab.evaluate("({}).admin !== undefined");
    assert_eq!(polluted, json!(false));
}

#[test]
fn events_reach_all_handlers_and_wait_for_the_first() {
    let app = App::open(
        "",
        "dunlin.invoke('loaded').then(() => {
             dunlin.on('tide', (payload) => dunlin.invoke(`first ${payload.high}`));
             dunlin.on('tide', (payload) => dunlin.invoke(`second ${payload.high}`));
         });",
    );
    app.emit("tide", &json!({ "high": 1 }));
    app.emit("other", &json!(null));
    app.calls.wait("first 1");
    app.emit("tide", &json!({ "high": 2 }));
    app.calls.wait("second 2");
    // Calls may overtake each other.
    app.calls.wait("first 2");
    app.calls.wait("second 1");
    let once = ["first 1", "first 2", "second 1"].map(|name| app.calls.count(name));
    assert_eq!(once, [1; 3]);
}

#[test]
fn a_flood_of_calls_is_refused_and_the_app_works_on() {
    let (app, found) = App::found(
        "",
        "const calls = Array.from({ length: 2000 }, () => dunlin.invoke('flood'));
         const ends = await Promise.allSettled(calls);
         found.refused = ends.filter((end) => end.reason?.kind === 'BusyError').length;
         found.answered = ends.filter((end) => end.status === 'fulfilled').length;
         found.later = await dunlin.invoke('later', 1);",
    );
    let number = |name: &str| found[name].as_u64().expect("a number");
    assert_eq!(number("refused") + number("answered"), 2000);
    assert!(
        number("answered") >= 100 && number("refused") >= 1000,
        "{found}"
    );
    assert_eq!(found["later"], 1);
    assert_eq!(app.calls.count("flood") as u64, number("answered"));
}

#[test]
fn a_flood_of_events_arrives_in_order_or_is_counted() {
    let mut app = App::open(
        "",
        "let last = 0, received = 0;
         dunlin.on('flood', (number) => {
             if (number <= last) { throw new Error('out of order'); }
             last = number;
             received += 1;
         });
         dunlin.on('end', () => dunlin.invoke('received', received));
         dunlin.invoke('loaded');",
    );
    app.calls.wait("loaded");
    let sent = 20_000;
    for number in 1..=sent {
        app.emit("flood", &json!(number));
    }
    // The last one may be lost as well.
    let start = Instant::now();
    let received = loop {
        assert!(start.elapsed() < DEADLINE, "the app never saw the end");
        app.emit("end", &json!(null));
        if app.calls.count("received") > 0 {
            break app.calls.wait("received").as_u64().expect("a number");
        }
    };
    assert!(received >= 1000, "{received}");
    if received < sent {
        let error = app.error_with("too busy");
        assert!(error.message.contains("which were lost"), "{error:?}");
    }
}

#[test]
fn errors_say_where_they_are_in_what_the_model_wrote() {
    let at = |part, line, column| Some(Location { part, line, column });
    let cases = [
        (
            "",
            "\n  nope();",
            "ReferenceError: nope is not defined",
            at(Part::Renderer, 2, 3),
        ),
        (
            "",
            "let a = 1;\nlet a = 2;",
            "SyntaxError",
            at(Part::Renderer, 2, 5),
        ),
        (
            "",
            "\nPromise.reject(new Error('low tide'));",
            "in a promise: Error: low tide",
            at(Part::Renderer, 2, 16),
        ),
        (
            "",
            "dunlin.on('x', () => 1);\nsetTimeout(() => {\n throw new TypeError('late'); }, 1);",
            "TypeError: late",
            at(Part::Renderer, 3, 2),
        ),
        (
            "<script>nope();</script>",
            "",
            "ReferenceError",
            at(Part::Html, 1, 9),
        ),
        (
            "<!doctype html>\n<html><head>\n<script>\nnope();\n</script>",
            "",
            "ReferenceError",
            at(Part::Html, 4, 1),
        ),
        (
            "",
            "\nalert('tide');",
            "alert() does nothing in an app",
            at(Part::Renderer, 2, 1),
        ),
        (
            "<p id=p>",
            "\np.innerHTML = '<i onclick=\"a()\">x</i>'; p.firstChild.click();",
            "use addEventListener",
            None,
        ),
        ("", "eval('1');", "EvalError", at(Part::Renderer, 1, 1)),
        (
            "<img src=https://elsewhere.test/x>",
            "",
            "an app cannot load an image from or to another place: https://elsewhere.test/x (img-src)",
            None,
        ),
    ];
    let mut app = App::open("", "");
    for (html, renderer, part, location) in cases {
        app.reload(html, renderer);
        let error = app.error_with(part);
        // Browsers name a place of their own choice for what they did not load.
        if location.is_some() {
            assert_eq!(error.location, location, "{html} {renderer}: {error:?}");
        }
    }
}

#[test]
fn a_flood_of_errors_is_counted() {
    let mut app = App::open("", "setInterval(() => { throw new Error('again'); }, 0);");
    // The first ones pass, and the next ones say how many did not.
    let omitted: u64 = (0..25).map(|_| app.error_with("again").omitted).sum();
    assert!(omitted > 0);
    // It took the flood, and is still there.
    app.reload("", "dunlin.invoke('calm')");
    app.calls.wait("calm");
}

#[test]
fn a_new_version_replaces_the_app_at_once() {
    let app = App::open("", "dunlin.invoke('never'); dunlin.invoke('first');");
    app.calls.wait("first");
    let start = Instant::now();
    app.reload(
        "<p id=p>second</p>",
        "dunlin.invoke('second', p.textContent)",
    );
    assert_eq!(app.calls.wait("second"), "second");
    println!(
        "a new version shows after {} ms",
        start.elapsed().as_millis()
    );
}
