//! What the host says of files that an edit breaks, with the real parsers and with others that fail.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin::built_in_plugins;
use dunlin_host::ask::{Answer, Scope};
use dunlin_host::call::{Action, Plan};
use dunlin_host::edit::Syntax;
use dunlin_host::{Host, NoProgress, Plugin};
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, built_in, call, play, plugin, plugin_of};
use serde_json::{Value, json};

/// Within this the parsers are compiled, beside whatever else the machine does.
const COMPILED: Duration = Duration::from_secs(300);

/// A host that has these parsers.
fn host(sandbox: &Sandbox, syntax: Option<Plugin>) -> Host {
    let mut options = sandbox.options(PATIENT);
    options.syntax = syntax;
    Host::new(options, built_in_plugins::all()).expect("a host")
}

fn new_file(path: &str, text: &str) -> Value {
    let edits = json!([{ "range": [1, 1], "replacement": text }]);
    json!({ "file_path": path, "edits": edits })
}

async fn plan(host: &Host, arguments: Value) -> Plan {
    let call = call("edit_file", arguments);
    host.prepare(&call).await.expect("a plan")
}

async fn syntax(host: &Host, arguments: Value) -> Syntax {
    let plan = plan(host, arguments).await;
    match plan.actions.as_slice() {
        [Action::Edit(edit)] => edit.syntax,
        other => panic!("{other:?}"),
    }
}

/// Waits until the parsers are compiled: until then nothing is known of a file.
async fn ready(host: &Host) {
    let begun = Instant::now();
    while syntax(host, new_file("a.py", "a = 1")).await == Syntax::Unchecked {
        assert!(begun.elapsed() < COMPILED, "no parsers");
    }
}

#[tokio::test]
async fn every_language_has_a_parser() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, Some(built_in("codebase_search")));
    ready(&host).await;
    let table = [
        ("a.py", "def a(b):\n    return (b\n", Some(2)),
        ("a.rs", "fn main() { let x = ; }\n", Some(1)),
        ("a.js", "let a = 1;\nlet b = [;\n", Some(2)),
        ("a.ts", "let a = <T>(b: T) => b;\nlet c: = 1;\n", Some(2)),
        ("a.tsx", "let a = <p>b</p>;\nlet c: = 1;\n", Some(2)),
        ("a.go", "package a\n\nfunc b( {\n}\n", Some(3)),
        ("A.java", "class A {\n    int b = ;\n}\n", Some(2)),
        ("a.json", "{\"a\": [1,2}", Some(1)),
        ("a.toml", "a = 1\nb =\n", Some(2)),
        ("b.py", "def a(b):\n    return (b)\n", None),
        ("b.json", "{\"a\": [1,2]}", None),
        ("a.c", "int a(\n", None),
        ("a.txt", "(((", None),
    ];
    for (path, text, line) in table {
        let expected = match line {
            Some(line) => Syntax::Broken { line },
            None => Syntax::Unremarkable,
        };
        assert_eq!(
            syntax(&host, new_file(path, text)).await,
            expected,
            "{path}"
        );
    }
    // Those whose new files are not judged, by an edit.
    for path in ["a.c", "a.cpp"] {
        std::fs::write(sandbox.project().join(path), "int a;\nint b;\n").expect("a file");
        let read = call("read_file", json!({ "file_path": path }));
        let read = play(&host, &read, Arc::new(Asker::yes())).await;
        assert!(read.is_ok_and(|read| read.result.is_ok()));
        let edits = json!([{ "range": [2, 3], "replacement": "int b(" }]);
        let edit = json!({ "file_path": path, "edits": edits });
        assert_eq!(syntax(&host, edit).await, Syntax::Broken { line: 2 });
    }
}

#[tokio::test]
async fn the_model_is_told_in_the_words_of_the_host() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, Some(built_in("codebase_search")));
    ready(&host).await;
    let edit = call("edit_file", new_file("sub/a.rs", "fn main() { let x = ;"));
    let outcome = play(&host, &edit, Arc::new(Asker::yes())).await;
    let success = outcome.and_then(|it| it.result).expect("a result");
    let end = "\nsub/a.rs does not parse: line 1";
    assert!(success.text.ends_with(end), "{}", success.text);
    assert_eq!(success.note, None);
}

#[tokio::test]
async fn what_was_not_known_at_the_question_is_told_with_the_result() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, Some(built_in("codebase_search")));
    ready(&host).await;
    let edit = call("edit_file", new_file("a.json", "{"));
    let mut plan = host.prepare(&edit).await.expect("a plan");
    // As if the parsers had been compiled meanwhile.
    match plan.actions.as_mut_slice() {
        [Action::Edit(edit)] => edit.syntax = Syntax::Unchecked,
        other => panic!("{other:?}"),
    }
    let yes = Answer {
        allow: true,
        scope: Scope::Once,
    };
    host.answer(&edit, &plan, yes).await.expect("an answer");
    let asker = Arc::new(Asker::yes());
    let outcome = host.run(&edit, &plan, asker, Arc::new(NoProgress)).await;
    let success = outcome.result.expect("a result");
    let told = "a.json does not parse: line 1";
    assert!(success.text.ends_with(told), "{}", success.text);
    assert_eq!(success.note.as_deref(), Some(told));
}

#[tokio::test]
async fn an_edit_that_was_not_announced_is_asked_about_with_the_mark() {
    let sandbox = Sandbox::new();
    let mut options = sandbox.options(PATIENT);
    options.syntax = Some(built_in("codebase_search"));
    let plugins = built_in_plugins::all().into_iter();
    let plugins = plugins.chain([plugin("edit_undeclared")]);
    let host = Host::new(options, plugins.collect()).expect("a host");
    ready(&host).await;
    let asker = Arc::new(Asker::yes());
    let edit = call("edit_undeclared", json!({ "path": "a.json" }));
    let outcome = play(&host, &edit, asker.clone()).await;
    let success = outcome.and_then(|it| it.result).expect("a result");
    let marks: Vec<String> = asker
        .questions()
        .iter()
        .flat_map(|question| &question.actions)
        .filter_map(|action| match action {
            Action::Edit(edit) => edit.broken(),
            _ => None,
        })
        .collect();
    assert_eq!(marks, ["a.json does not parse after this edit: line 1"]);
    let end = "a.json does not parse: line 1";
    assert!(success.text.ends_with(end), "{}", success.text);
}

#[tokio::test]
async fn parsers_that_fail_do_not_stop_an_edit() {
    let garbage = plugin_of("garbage", b"no component".to_vec());
    let parsers = [
        None,
        Some(garbage),
        // It exports no parsers.
        Some(plugin("echo")),
    ];
    for parsers in parsers {
        let sandbox = Sandbox::new();
        let host = host(&sandbox, parsers);
        let planned = syntax(&host, new_file("a.json", "{\"a\": [1,2}")).await;
        assert!(!matches!(planned, Syntax::Broken { .. }));
        let edit = call("edit_file", new_file("a.json", "{\"a\": [1,2}"));
        let outcome = play(&host, &edit, Arc::new(Asker::yes())).await;
        let success = outcome.and_then(|it| it.result).expect("a result");
        assert!(!success.text.contains("parse"), "{}", success.text);
        assert!(sandbox.project().join("a.json").exists());
    }
}

/// A component whose only function never returns.
const ENDLESS: &str = r#"(component
    (core module $code
        (memory (export "memory") 1)
        (global $next (mut i32) (i32.const 1024))
        (func (export "realloc") (param i32 i32 i32 i32) (result i32)
            global.get $next
            global.get $next local.get 3 i32.add global.set $next)
        (func (export "line") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
            (loop (br 0)) unreachable))
    (core instance $code (instantiate $code))
    (func $line (param "name" string) (param "before" (option string)) (param "after" string)
        (result (option u32))
        (canon lift (core func $code "line") (memory $code "memory")
            (realloc (func $code "realloc"))))
    (instance $checker (export "broken-line" (func $line)))
    (export "dunlin:syntax/checker@0.1.0" (instance $checker)))"#;

#[tokio::test]
async fn a_parser_without_an_end_is_stopped() {
    let sandbox = Sandbox::new();
    let endless = wat::parse_str(ENDLESS).expect("the text of a component");
    let endless = plugin_of("endless", endless);
    let host = host(&sandbox, Some(endless));
    let begun = Instant::now();
    let mut planned = Syntax::Unchecked;
    while planned == Syntax::Unchecked {
        assert!(begun.elapsed() < COMPILED, "not compiled");
        planned = syntax(&host, new_file("a.json", "{")).await;
    }
    assert_eq!(planned, Syntax::Unremarkable);
    // It can be asked again: the one place for it is free.
    let planned = syntax(&host, new_file("b.json", "{")).await;
    assert_eq!(planned, Syntax::Unremarkable);
}
