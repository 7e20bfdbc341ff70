//! What is said of an error, and where.

use crate::host::App;

/// Kind, message, line and column.
type ExpectedError<'a> = (Option<&'a str>, &'a str, Option<u32>, Option<u32>);

/// A program, and how it fails at its beginning.
const BEGINNINGS: &[(&str, ExpectedError)] = &[
    (
        "let x = 1;\nlet = ;",
        (
            Some("SyntaxError"),
            "variable name expected",
            Some(2),
            Some(5),
        ),
    ),
    (
        "const a = 1;\n\n  nowhere();",
        (
            Some("ReferenceError"),
            "nowhere is not defined",
            Some(3),
            Some(3),
        ),
    ),
    (
        "null.x",
        (
            Some("TypeError"),
            "cannot read property 'x' of null",
            Some(1),
            Some(1),
        ),
    ),
    ("throw 'just text'", (None, "just text", None, None)),
    ("throw { code: 7 }", (None, r#"{"code":7}"#, None, None)),
    ("throw undefined", (None, "undefined", None, None)),
    ("throw Symbol('s')", (None, "a symbol", None, None)),
    (
        "import x from 'fs';",
        (
            Some("ReferenceError"),
            "could not load module 'fs'",
            None,
            None,
        ),
    ),
    (
        "dunlin.handle('x', 1)",
        (
            Some("TypeError"),
            "dunlin.handle('x', …): the handler is not a function",
            Some(1),
            Some(7),
        ),
    ),
    (
        "\nawait dunlin.files.readText('none.txt')",
        (
            Some("NotFoundError"),
            "'none.txt' does not exist",
            Some(2),
            Some(20),
        ),
    ),
    (
        "throw Object.defineProperty(new Error('x'), 'name', { get() { throw 1 } })",
        (Some(""), "x", Some(1), Some(33)),
    ),
    (
        "class E extends Error { get message() { throw 1 } }; throw new E()",
        (Some("Error"), "", Some(1), Some(1)),
    ),
];

#[test]
fn an_error_at_the_beginning_is_told_with_its_line() {
    let mut wrong = Vec::new();
    for (source, expected) in BEGINNINGS {
        let (mut app, begun) = App::begun(source);
        let error = begun.expect_err(source);
        let said = (
            error.kind.as_deref(),
            error.message.as_str(),
            error.line,
            error.column,
        );
        if said != *expected {
            wrong.push(format!("{source}\n  {said:?}\n  and not {expected:?}"));
        }
        // Said once.
        let logged = &app.world().logged;
        if !logged.is_empty() {
            wrong.push(format!("{source}\n  logged {logged:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The body of a handler, and how it fails.
const HANDLERS: &[(&str, ExpectedError)] = &[
    (
        "value.missing.deep",
        (
            Some("TypeError"),
            "cannot read property 'deep' of undefined",
            Some(2),
            Some(1),
        ),
    ),
    (
        "await 0;\n throw new RangeError('far')",
        (Some("RangeError"), "far", Some(3), Some(12)),
    ),
    (
        "return 1n",
        (
            Some("TypeError"),
            "BigInt are forbidden in JSON.stringify",
            None,
            None,
        ),
    ),
    (
        "const a = {}; a.a = a; return a",
        (Some("TypeError"), "circular reference", None, None),
    ),
    (
        "await dunlin.files.readText('secret.txt')",
        (
            Some("PermissionDeniedError"),
            "permission to read 'secret.txt' was denied",
            Some(2),
            Some(20),
        ),
    ),
    (
        "await dunlin.files.writeText('secret.txt', '')",
        (
            Some("PermissionDeniedError"),
            "permission to write 'secret.txt' was denied",
            Some(2),
            Some(20),
        ),
    ),
    (
        "await fetch('https://other.example/')",
        (
            Some("PermissionDeniedError"),
            "permission to read 'https://other.example/' was denied",
            Some(2),
            Some(7),
        ),
    ),
    (
        "await dunlin.files.list('notes.txt')",
        (
            Some("WrongKindError"),
            "'notes.txt' is a file",
            Some(2),
            Some(20),
        ),
    ),
    (
        "await dunlin.files.readText('picture.png')",
        (
            Some("WrongKindError"),
            "'picture.png' is not UTF-8 text: use readBytes",
            Some(2),
            Some(20),
        ),
    ),
    ("await Promise.reject(7)", (None, "7", None, None)),
    (
        "JSON.parse('{')",
        (
            Some("SyntaxError"),
            "Expected property name or '}' in JSON at position 1 (line 1 column 2)",
            Some(2),
            Some(6),
        ),
    ),
    (
        "new Function('return (')()",
        (
            Some("SyntaxError"),
            "unexpected token in expression: '}'",
            Some(2),
            Some(5),
        ),
    ),
    (
        "setTimeout('text')",
        (
            Some("TypeError"),
            "a timer takes a function",
            Some(2),
            Some(1),
        ),
    ),
];

#[test]
fn an_error_in_a_handler_is_told_with_its_line() {
    let mut wrong = Vec::new();
    for (body, expected) in HANDLERS {
        let mut app = App::start(&format!(
            "dunlin.handle('row', async (value) => {{\n{body}\n}});"
        ));
        let error = app.invoke("row", "{}").expect_err(body);
        let said = (
            error.kind.as_deref(),
            error.message.as_str(),
            error.line,
            error.column,
        );
        if said != *expected {
            wrong.push(format!(
                "{body}\n  {said:?}\n  and not {expected:?}\n  {}",
                error.stack
            ));
        }
        let logged = &app.world().logged;
        if !logged.is_empty() {
            wrong.push(format!("{body}\n  logged {logged:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_stack_has_the_calls_of_the_program_alone() {
    let mut app = App::start(
        "function inner() { throw new Error('x') }\nfunction outer() { [1].map(inner) }\ndunlin.handle('row', () => outer());",
    );
    let error = app.invoke("row", "null").unwrap_err();
    let stack = "at inner (main-js:1:30)\nat outer (main-js:2:28)\nat <anonymous> (main-js:3:28)";
    assert_eq!(error.stack, stack);
}

#[test]
fn what_nobody_waits_for_is_logged_with_its_line() {
    let mut app = App::start(
        "setTimeout(() => { throw new Error('in a timer') }, 1);\n\
         setTimeout(async () => { throw new Error('in a promise') }, 2);\n\
         dunlin.handle('forgets', () => { Promise.reject(new Error('forgotten')) });\n\
         queueMicrotask(() => { throw new Error('in a microtask') });\n\
         const late = Promise.reject(new Error('handled')); queueMicrotask(() => late.catch(() => 0));",
    );
    assert_eq!(app.invoke("forgets", "null").unwrap(), "null");
    app.after(1);
    app.after(1);
    let expected = [
        "Level::Error error in a microtask: Error: in a microtask\nat <anonymous> (main-js:4:34)",
        "Level::Error unhandled rejection: Error: forgotten\nat <anonymous> (main-js:3:53)",
        "Level::Error error in a timer: Error: in a timer\nat <anonymous> (main-js:1:30)",
        "Level::Error unhandled rejection: Error: in a promise\nat <anonymous> (main-js:2:36)",
    ];
    assert_eq!(app.world().logged, expected);
}

#[test]
fn a_program_that_fails_after_it_waited_is_logged() {
    let mut app = App::start(
        "await new Promise((done) => setTimeout(done, 5));\nthrow new Error('too late');",
    );
    app.after(5);
    let expected =
        ["Level::Error unhandled rejection: Error: too late\nat <anonymous> (main-js:2:11)"];
    assert_eq!(app.world().logged, expected);
}

#[test]
fn the_functions_need_a_program() {
    let mut app = App::empty();
    let error = app.invoke("any", "null").unwrap_err();
    assert_eq!(error.message, "no program was started");
    assert_eq!(app.after(0).next_timer_ms, None);
    app.try_start("dunlin.handle('any', () => 1)")
        .unwrap()
        .unwrap();
    let twice = app.try_start("1").unwrap().unwrap_err();
    assert_eq!(twice.message, "the engine runs a program already");
    assert_eq!(app.invoke("any", "null").unwrap(), "1");
}
