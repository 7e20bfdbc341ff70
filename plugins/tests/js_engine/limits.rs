//! What a program cannot do to the host.

use crate::host::App;

#[test]
fn the_imports_are_the_abilities() {
    let expected = [
        "dunlin:tool/app-page@0.1.0",
        "dunlin:tool/clock@0.1.0",
        "dunlin:tool/files@0.1.0",
        "dunlin:tool/log@0.1.0",
        "dunlin:tool/random@0.1.0",
        "dunlin:tool/store@0.1.0",
        "dunlin:tool/types@0.1.0",
        "dunlin:tool/web@0.1.0",
    ];
    let mut imports = App::imports();
    imports.sort();
    assert_eq!(imports, expected);
}

/// Ways to call without end. Each has to end as an error that the program can catch.
const DEEP: &[&str] = &[
    "(function again() { again() })()",
    "(function again(n) { return [1].map(() => again(n + 1)).concat([n]) })(0)",
    "(function again() { `${{ toString: again }}` })()",
    "(function again() { JSON.stringify({ toJSON: again }) })()",
    "(function again() { new Proxy({}, { get: again }).x })()",
    "(function again() { [2, 1].sort(again); return 0 })()",
    "(function again() { 'aa'.replace(/a/g, again); return 'b' })()",
    "(function again() { new (class { constructor() { again() } })() })()",
    "(function again() { Reflect.apply(again, null, []) })()",
    "(function again(...all) { again(...all, ...all.slice(0, 3)) })(1, 2, 3)",
    "const nested = '['.repeat(500) + ']'.repeat(500); (function again() { JSON.parse(nested); again() })()",
    "let f = () => 1; for (let i = 0; i < 1e5; i += 1) f = f.bind(null); f()",
    "JSON.parse('['.repeat(1e6))",
    "let deep = []; for (let i = 0; i < 1e6; i += 1) deep = [deep]; JSON.stringify(deep)",
    "let deep = []; for (let i = 0; i < 1e6; i += 1) deep = [deep]; structuredClone(deep)",
    "let deep = []; for (let i = 0; i < 1e6; i += 1) deep = [deep]; deep.flat(Infinity)",
    "let deep = {}; for (let i = 0; i < 1e5; i += 1) deep = new Proxy(deep, {}); deep.x",
    "new Function('if (1) '.repeat(1e5) + ';')",
    "new Function('{'.repeat(1e5))",
    "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))",
    "new RegExp('(?='.repeat(1e5) + ')'.repeat(1e5))",
];

/// Source that is nested too deeply for the parser, which does not count what it takes of the stack.
const NESTED: &[&str] = &[
    "new Function('('.repeat(1e5))",
    "new Function('return ' + '['.repeat(1e5))",
    "new Function('return ' + '-'.repeat(1e5) + '1')",
    "new Function('x => '.repeat(1e5) + '1')",
    "new Function('return ' + 'a ? '.repeat(1e5))",
    "new Function('return ' + '`${'.repeat(1e5))",
];

#[test]
fn calls_without_end_are_an_error_of_the_program() {
    let mut wrong = Vec::new();
    for body in DEEP {
        let mut app = App::start(&format!(
            "dunlin.handle('deep', () => {{ {body} }}); dunlin.handle('alive', () => 'yes');"
        ));
        match app.try_invoke("deep", "null") {
            Ok(Some(Err(error))) => {
                let kind = error.kind.unwrap_or_default();
                if !["RangeError", "InternalError", "SyntaxError"].contains(&kind.as_str()) {
                    wrong.push(format!("{body}: {kind}: {}", error.message));
                }
                let alive = app.invoke("alive", "null");
                if alive.as_deref().ok() != Some("\"yes\"") {
                    wrong.push(format!("{body}: afterwards {alive:?}"));
                }
            }
            Ok(other) => wrong.push(format!("{body}: {other:?}")),
            Err(trap) => wrong.push(format!("{body}: {}", trap.root_cause())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_program_that_fills_its_memory_is_told_so() {
    let mut app = App::start(
        "dunlin.handle('fill', () => { const all = []; for (;;) all.push(new Uint8Array(1 << 20)) });
         dunlin.handle('alive', () => 'yes');",
    );
    let error = app.invoke("fill", "null").unwrap_err();
    assert_eq!(error.message, "out of memory");
    assert_eq!(app.invoke("alive", "null").unwrap(), "\"yes\"");
}

#[test]
fn source_that_is_nested_without_end_ends_the_program() {
    for body in NESTED {
        let mut app = App::start(&format!("dunlin.handle('deep', () => {{ {body} }});"));
        let trap = app.try_invoke("deep", "null").expect_err(body);
        assert_eq!(
            trap.root_cause().to_string(),
            "wasm trap: call stack exhausted",
            "{body}"
        );
    }
}

#[test]
fn json_that_is_nested_too_deeply_is_refused() {
    let mut app = App::start("dunlin.handle('same', (value) => value);");
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(app.invoke("same", &nested(500)).unwrap(), nested(500));
    let error = app.invoke("same", &nested(501)).unwrap_err();
    assert_eq!(error.kind.as_deref(), Some("RangeError"));
    // Brackets in texts do not count.
    let text = format!("\"\\\"{}\"", "[".repeat(2000));
    assert_eq!(app.invoke("same", &text).unwrap(), text);
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let mut app = App::start("dunlin.handle('forever', () => { for (;;); });");
    app.out_of_time();
    let trap = app.try_invoke("forever", "null").unwrap_err();
    assert_eq!(trap.root_cause().to_string(), "wasm trap: interrupt");
}

#[test]
fn an_engine_takes_little_memory() {
    let mut app = App::start("dunlin.handle('ready', () => true);");
    app.invoke("ready", "null").unwrap();
    let bytes = app.world().memory_bytes;
    assert!(bytes <= 2 << 20, "{bytes} bytes");
}
