use dunlin_sdk::Tool as _;

use crate::ReadFile;
use crate::arguments::{Arguments, Selection};
use crate::read::{BEGINNING_LINES, ENTIRE_LINES};

/// Arguments as models write them, the question they lead to, and what is read.
#[test]
fn the_question_says_what_will_be_read() {
    fn check(arguments: &str, question: &str, selection: Selection) {
        let parsed: Arguments = dunlin_sdk::parse_arguments(arguments).unwrap();
        assert_eq!(
            (parsed.question().as_str(), parsed.selection()),
            (question, selection),
            "{arguments}"
        );
        let plan = ReadFile::prepare(&parsed).unwrap();
        assert_eq!(plan, dunlin_sdk::Plan::ask(question).reads("src/main.rs"));
    }
    let lines_10_to_50 = Selection::Range {
        first: 10,
        last: Some(50),
    };

    check(
        r#"{"file_path": "src/main.rs"}"#,
        "Read file 'src/main.rs'?",
        Selection::Beginning,
    );
    check(
        r#"{"file_path": "src/main.rs", "start_line": 10, "end_line": 50}"#,
        "Read file 'src/main.rs' (lines 10-50)?",
        lines_10_to_50,
    );
    check(
        r#"{"file_path": "src/main.rs", "start_line": 10, "end_line": 50, "read_entire_file": false}"#,
        "Read file 'src/main.rs' (lines 10-50)?",
        lines_10_to_50,
    );
    check(
        r#"{"file_path": "src/main.rs", "read_entire_file": true}"#,
        "Read entire file 'src/main.rs'?",
        Selection::Entire,
    );
    check(
        r#"{"file_path": "src/main.rs", "start_line": null, "end_line": null, "read_entire_file": true}"#,
        "Read entire file 'src/main.rs'?",
        Selection::Entire,
    );
    check(
        r#"{"file_path": "src/main.rs", "start_line": 10, "end_line": 50, "read_entire_file": true}"#,
        "Read file 'src/main.rs' (lines 10-50)?",
        lines_10_to_50,
    );
    check(
        r#"{"file_path": "src/main.rs", "start_line": 7}"#,
        "Read file 'src/main.rs' (from line 7)?",
        Selection::Range {
            first: 7,
            last: None,
        },
    );
    check(
        r#"{"file_path": "src/main.rs", "start_line": 1}"#,
        "Read file 'src/main.rs'?",
        Selection::Beginning,
    );
    check(
        r#"{"file_path": "src/main.rs", "end_line": 7, "read_entire_file": null}"#,
        "Read file 'src/main.rs' (lines 1-7)?",
        Selection::Range {
            first: 1,
            last: Some(7),
        },
    );
    check(
        r#"{"file_path": "src/main.rs", "start_line": 7, "end_line": 7}"#,
        "Read file 'src/main.rs' (line 7)?",
        Selection::Range {
            first: 7,
            last: Some(7),
        },
    );
}

#[test]
fn wrong_arguments_are_named() {
    fn check(arguments: &str, message: &str) {
        let outcome =
            dunlin_sdk::parse_arguments::<Arguments>(arguments).and_then(|a| ReadFile::prepare(&a));
        assert_eq!(outcome.unwrap_err().message, message, "{arguments}");
    }
    check("", "missing field `file_path`");
    check(
        r#"{"file_path": 7}"#,
        "file_path: invalid type: integer `7`, expected a string",
    );
    check(
        r#"{"file_path": ""}"#,
        "file_path: it is empty; give the path of a file",
    );
    check(
        r#"{"file_path": "a", "start_line": "ten"}"#,
        "start_line: invalid type: string \"ten\", expected i64",
    );
    check(
        r#"{"file_path": "a", "end_line": 1.5}"#,
        "end_line: invalid type: floating point `1.5`, expected i64",
    );
}

/// The model is told the limits in words.
#[test]
fn the_description_tells_the_real_limits() {
    assert!(ReadFile::DESCRIPTION.contains(&format!("the first {BEGINNING_LINES} lines")));
    assert!(ReadFile::DESCRIPTION.contains(&format!("more than {ENTIRE_LINES} lines")));
}
