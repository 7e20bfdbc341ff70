use dunlin_sdk::files::File;
use dunlin_sdk::mock::MockHost;
use dunlin_sdk::{Failure, FailureKind};
use proptest::prelude::*;

use crate::arguments::Selection;
use crate::page::MAX_PAGE_BYTES;
use crate::read::{self, OUTLINE_FILE_BYTES};

const FILE: &str = "a.rs";

const BEGINNING: Selection = Selection::Beginning;
const ENTIRE: Selection = Selection::Entire;

const fn range(first: i64, last: i64) -> Selection {
    Selection::Range {
        first,
        last: Some(last),
    }
}

/// `count` lines, every hundredth of which is a function.
fn code(count: u64) -> String {
    (1..=count)
        .map(|n| {
            if n % 100 == 0 {
                format!("fn f{n}() {{\n")
            } else {
                format!("line {n}\n")
            }
        })
        .collect()
}

/// A project with one file.
fn file(bytes: impl Into<Vec<u8>>) -> MockHost {
    MockHost::new().file(FILE, bytes)
}

/// Reads it as if it were called `path`.
fn read(host: &MockHost, path: &str, selection: Selection) -> Result<String, Failure> {
    host.call(|| read::read(&File::open(FILE)?, path, selection))
}

fn check(source: &MockHost, selection: Selection, expected: &str) {
    assert_eq!(read(source, "a.rs", selection).unwrap(), expected);
}

fn check_failure(source: &MockHost, selection: Selection, kind: FailureKind, message: &str) {
    let failure = read(source, "a.rs", selection).unwrap_err();
    assert_eq!((failure.kind, failure.message.as_str()), (kind, message));
}

#[test]
fn small_files_are_given_whole() {
    for selection in [
        BEGINNING,
        ENTIRE,
        range(1, 2),
        Selection::Range {
            first: 1,
            last: None,
        },
    ] {
        check(
            &file("one\ntwo\n"),
            selection,
            "File 'a.rs': 2 lines\n     1\tone\n     2\ttwo\n",
        );
    }
    check(&file("\n"), BEGINNING, "File 'a.rs': 1 line\n     1\t\n");
    check(&file(""), BEGINNING, "The file 'a.rs' is empty.");
    check(&file(""), range(1, 5), "The file 'a.rs' is empty.");
}

#[test]
fn what_numbered_lines_do_not_show_is_said() {
    check(
        &file("one"),
        BEGINNING,
        "File 'a.rs': 1 line; no newline at the end\n     1\tone\n",
    );
    check(
        &file("a\r\nb\r\n"),
        BEGINNING,
        "File 'a.rs': 2 lines; lines end with CRLF\n     1\ta\n     2\tb\n",
    );
    check(
        &file("\u{feff}a\nb\n"),
        BEGINNING,
        "File 'a.rs': 2 lines; begins with a byte order mark\n     1\ta\n     2\tb\n",
    );
}

#[test]
fn a_range_is_given_with_what_is_not_shown() {
    let host = file(code(1200));
    for (selection, lines) in [
        (
            range(99, 101),
            "File 'a.rs': lines 99-101 of 1200\n    99\tline 99\n   100\tfn f100() {\n   101\tline 101\n\
             [lines 1-98 and lines 102-1200 not shown]\n",
        ),
        (
            range(1, 1),
            "File 'a.rs': line 1 of 1200\n     1\tline 1\n[lines 2-1200 not shown]\n",
        ),
        (
            range(1199, 5000),
            "File 'a.rs': lines 1199-1200 of 1200\n  1199\tline 1199\n  1200\tfn f1200() {\n\
             [end_line 5000 is beyond the end of the file]\n[lines 1-1198 not shown]\n",
        ),
    ] {
        check(&host, selection, lines);
    }
    check(
        &file("a\nb\n"),
        range(1, 2),
        "File 'a.rs': 2 lines\n     1\ta\n     2\tb\n",
    );
}

#[test]
fn wrong_ranges_are_told_the_number_of_lines() {
    let host = file(code(1200));
    for (selection, message) in [
        (
            range(0, 5),
            "start_line: 0 is not a line, lines count from 1; 'a.rs' has 1200 lines",
        ),
        (
            range(-3, 5),
            "start_line: -3 is not a line, lines count from 1; 'a.rs' has 1200 lines",
        ),
        (
            range(1, 0),
            "end_line: 0 is not a line, lines count from 1; 'a.rs' has 1200 lines",
        ),
        (
            range(9, 5),
            "end_line: 5 is before start_line 9; 'a.rs' has 1200 lines",
        ),
        (
            range(1201, 1300),
            "start_line: 1201 is beyond the end, 'a.rs' has 1200 lines",
        ),
        (
            range(i64::MAX, i64::MAX),
            "start_line: 9223372036854775807 is beyond the end, 'a.rs' has 1200 lines",
        ),
    ] {
        check_failure(&host, selection, FailureKind::InvalidArguments, message);
    }
}

#[test]
fn the_beginning_of_a_long_file_comes_with_an_outline() {
    let text = read(&file(code(420)), "a.rs", BEGINNING).unwrap();
    assert!(
        text.starts_with("File 'a.rs': lines 1-250 of 420\n     1\tline 1\n"),
        "{text}"
    );
    let end = "   250\tline 250\n\
               [lines 251-420 not shown; read them with start_line and end_line]\n\
               \n\
               Outline:\n   \
               100\tfn f100()\n   200\tfn f200()\n   300\tfn f300()\n   400\tfn f400()\n";
    assert!(text.ends_with(end), "{text}");

    // A file in no known language has none.
    let text = read(&file(code(420)), "notes", BEGINNING).unwrap();
    assert!(
        text.ends_with("[lines 251-420 not shown; read them with start_line and end_line]\n"),
        "{text}"
    );

    let large = "x".repeat(99) + "\n";
    let large = large.repeat(OUTLINE_FILE_BYTES as usize / 100 + 1);
    let text = read(&file(large), "a.rs", BEGINNING).unwrap();
    assert!(
        text.ends_with("\nNo outline: the file has 2.0 MB, more than 2.0 MB.\n"),
        "{text}"
    );
}

#[test]
fn long_files_are_given_whole_only_when_they_are_the_subject() {
    let text = read(&file(code(500)), "a.rs", ENTIRE).unwrap();
    assert!(
        text.starts_with("File 'a.rs': 500 lines\n") && text.ends_with("   500\tfn f500() {\n"),
        "{text}"
    );

    let failure = read(&file(code(620)), "a.rs", ENTIRE).unwrap_err();
    assert_eq!(failure.kind, FailureKind::TooLarge);
    let start = "'a.rs' has 620 lines. Files of more than 500 lines are read whole only when they were edited or \
                 attached in this session; read the part you need with start_line and end_line.\n\nOutline:\n   \
                 100\tfn f100()\n";
    assert!(failure.message.starts_with(start), "{}", failure.message);
    let failure = read(
        &file("fn long_name_of_a_function() {}\n".repeat(9000)),
        "a.rs",
        ENTIRE,
    )
    .unwrap_err();
    assert!(
        failure.message.len() < 4096 && failure.message.ends_with("more not listed]\n"),
        "{}",
        failure.message
    );

    let text = read(&file(code(620)).attached(FILE), "a.rs", ENTIRE).unwrap();
    assert!(
        text.starts_with("File 'a.rs': 620 lines\n") && text.ends_with("   620\tline 620\n"),
        "{text}"
    );
}

#[test]
fn what_has_no_room_is_named() {
    let text = read(&file(code(9000)), "a.rs", range(11, 8000)).unwrap();
    assert!(
        text.starts_with("File 'a.rs': lines 11-2010 of 9000\n"),
        "{text}"
    );
    assert!(text.contains(
        "\n[lines 2011-8000 left out, too much for one answer; continue with start_line 2011]\n"
    ));

    let wide = format!("{}\n", "ü".repeat(500)).repeat(1000);
    for (selection, end) in [
        (ENTIRE, 1000),
        (range(1, 900), 900),
        (
            Selection::Range {
                first: 1,
                last: None,
            },
            1000,
        ),
    ] {
        let text = read(&file(wide.clone()).attached(FILE), "a.rs", selection).unwrap();
        assert!(text.len() < MAX_PAGE_BYTES + 300);
        assert!(text.contains(&format!(
            "\n[lines 102-{end} left out, too much for one answer; continue with start_line 102]\n"
        )));
    }
}

#[test]
fn long_lines_hide_nothing_else() {
    let text = read(
        &file(format!("a\n{}\nb\n", "x".repeat(600_000))),
        "a.js",
        BEGINNING,
    )
    .unwrap();
    let expected = format!(
        "File 'a.js': 3 lines; 1 long line shortened\n     1\ta\n     2\t{}… [598.0 kB more in this line]\n     3\tb\n",
        "x".repeat(2000)
    );
    assert_eq!(text, expected);
}

#[test]
fn what_is_no_text_is_refused() {
    for (bytes, message) in [
        (
            &b"\x7fELF\0\x01"[..],
            "'a.rs' is a binary file (6 bytes); text, PNG, JPEG, GIF, WebP and PDF can be read",
        ),
        (
            b"\xff\xfea\0",
            "'a.rs' (4 bytes) is UTF-16 text, only UTF-8 can be read",
        ),
        (
            b"a\nb\xffc\nd\n",
            "'a.rs' is not UTF-8 text throughout: line 2 is not UTF-8. Read the lines before or after that one with \
             start_line and end_line",
        ),
    ] {
        check_failure(&file(bytes), BEGINNING, FailureKind::Failed, message);
    }
    check(
        &file(&b"a\nb\xffc\nd\n"[..]),
        range(3, 3),
        "File 'a.rs': line 3 of 3\n     3\td\n[lines 1-2 not shown]\n",
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the file and the range: an answer or a failure, and neither too long.
    #[test]
    fn every_file_has_an_answer(
        bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'f'), Just(b' '), any::<u8>()], 0..400),
        first in prop_oneof![-2..20_i64, any::<i64>()],
        last in prop::option::of(prop_oneof![-2..20_i64, any::<i64>()]),
        extension in prop::sample::select(vec!["rs", "py", "js", "go", "c", "java", "rb", "sh", "md", "toml", "txt"]),
    ) {
        let host = file(bytes);
        for selection in [BEGINNING, ENTIRE, Selection::Range { first, last }] {
            let length = match read(&host, &format!("a.{extension}"), selection) {
                Ok(text) => text.len(),
                Err(failure) => failure.message.len(),
            };
            prop_assert!(length > 0 && length < MAX_PAGE_BYTES);
        }
    }
}
