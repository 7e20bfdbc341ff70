use dunlin_project_files::Files;
use dunlin_sdk::tree::Entry;
use dunlin_sdk::{FailureKind, Plan, Tool, parse_arguments};

use crate::{Arguments, ListFiles, report};

fn files(paths: impl IntoIterator<Item = String>) -> Files {
    let entry = |path: String| Entry {
        size_bytes: path.len() as u64,
        path,
        version: 1,
    };
    let mut entries: Vec<Entry> = paths.into_iter().map(entry).collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Files {
        in_folder: entries.len(),
        entries,
        ..Files::default()
    }
}

fn text(arguments: &str, files: &Files) -> String {
    let arguments: Arguments = parse_arguments(arguments).unwrap();
    let limit = arguments.limit().unwrap();
    report::text(&arguments.scope().unwrap(), files, limit, arguments.sizes)
}

#[test]
fn a_call_needs_the_folder() {
    let check = |arguments: &str, expected: Plan| {
        let plan = ListFiles::prepare(&parse_arguments(arguments).unwrap());
        assert_eq!(plan, Ok(expected), "{arguments}");
    };
    check(
        "{}",
        Plan::ask("List the files in the project?").reads_all_in("."),
    );
    check(
        r#"{"path":"/etc/","globs":["*.conf"]}"#,
        Plan::ask("List the files in '/etc'?").reads_all_in("/etc"),
    );
}

#[test]
fn what_is_wrong_is_named() {
    let check = |arguments: &str, expected: &str| {
        let failure = parse_arguments(arguments)
            .and_then(|arguments| ListFiles::prepare(&arguments))
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidArguments);
        assert!(failure.message.starts_with(expected), "{failure}");
    };
    check(r#"{"max_results":0}"#, "max_results: 0 is not 1 to 2000");
    check(r#"{"max_results":2001}"#, "max_results: 2001 is not");
    check(r#"{"globs":["[a"]}"#, "globs: '[a' is not a glob");
    check(r#"{"globs":"*.rs"}"#, "globs: ");
}

#[test]
fn paths_are_listed_for_other_tools() {
    let some = files(["src/b.rs", "a.md"].map(str::to_owned));
    assert_eq!(
        text("{}", &some),
        "2 files in the project:\na.md\nsrc/b.rs\n"
    );
    assert_eq!(
        text(r#"{"path":"sub","sizes":true,"globs":["*.rs"]}"#, &some),
        "2 matching files in 'sub', sizes in bytes:\nsub/a.md  4\nsub/src/b.rs  8\n"
    );
    let none = Files {
        withheld: 1,
        ..Files::default()
    };
    assert_eq!(
        text(r#"{"include_hidden":true}"#, &none),
        "0 files in the project\n[ignored files are left out (include_ignored)]\n[1 file left out: it may not be read \
         without a question]\n"
    );
}

#[test]
fn what_has_no_room_is_counted_by_folder() {
    let many = (0..500).map(|number| match number % 5 {
        0 => format!("top/{number}.rs"),
        1..4 => format!("top/src/{number}.rs"),
        _ => format!("top/src/deep/{number}.rs"),
    });
    let shown = text(r#"{"max_results":2}"#, &files(many));
    assert_eq!(
        shown,
        "500 files in the project:\ntop/0.rs\ntop/10.rs\n[498 more not listed; narrow the list with path and globs, or raise \
         max_results. All by folder: top/src/ 400 · top/ 100]\n"
    );
    // However many folders and however long the names.
    let many = (0..100_000).map(|number| format!("{number}/{}", "x".repeat(200)));
    let shown = text(r#"{"max_results":2000}"#, &files(many));
    assert!(shown.len() < 50_000, "{}", shown.len());
    assert!(shown.contains("99975 more folders]"), "{shown}");
    assert!(shown.contains(" more not listed"), "{shown}");
}
