use dunlin_sdk::files::{Edited, Line, LineEdit, TextEdit};
use dunlin_sdk::{Error, FailureKind, Plan, Tool, parse_arguments};

use crate::EditFile;
use crate::places::{Place, of_lines, of_texts};
use crate::report::report;

fn edit(first: u64, end: u64, replacement: &str) -> LineEdit {
    LineEdit {
        first,
        end,
        replacement: replacement.to_owned(),
    }
}

#[test]
fn a_call_becomes_edits() {
    let arguments = r#"{"file_path":"a.txt","edits":[{"range":[1,2],"replacement":"x"},{"range":[5,5],"replacement":""}]}"#;
    let plan = EditFile::prepare(&parse_arguments(arguments).unwrap());
    let edits = vec![edit(1, 2, "x"), edit(5, 5, "")];
    assert_eq!(
        plan,
        Ok(Plan::of_actions().reads("a.txt").edits("a.txt", edits))
    );
}

fn text(old: &str, new: &str, every: bool) -> TextEdit {
    TextEdit {
        old: old.to_owned(),
        new: new.to_owned(),
        every,
    }
}

#[test]
fn texts_become_edits() {
    let arguments = r#"{"file_path":"a.txt","edits":[{"old_text":"a","new_text":""},{"old_text":"b","new_text":"c","replace_all":true}]}"#;
    let plan = EditFile::prepare(&parse_arguments(arguments).unwrap());
    let edits = vec![text("a", "", false), text("b", "c", true)];
    assert_eq!(
        plan,
        Ok(Plan::of_actions()
            .reads("a.txt")
            .replaces_texts("a.txt", edits))
    );
}

#[test]
fn texts_are_found_where_they_stand_afterwards() {
    let check = |before: &str, edits: &[TextEdit], expected: &[(u64, u64)]| {
        let expected: Vec<Place> = expected
            .iter()
            .map(|&(first, lines)| Place { first, lines })
            .collect();
        assert_eq!(of_texts(before, edits), expected, "{edits:?}");
    };
    check("a\nb\nc\n", &[text("b", "x", false)], &[(2, 1)]);
    check(
        "a\r\nb\r\nc\r\n",
        &[text("a\nb", "x", false), text("c", "y\ny", false)],
        &[(1, 1), (2, 2)],
    );
    check(
        "a\na\nb\na",
        &[text("a", "x\ny", true), text("b", "", false)],
        &[(1, 2), (3, 2), (5, 1), (6, 2)],
    );
    check("a a\n", &[text("a", "b", true)], &[(1, 1), (1, 1)]);
    check("a", &[text("b", "c", false)], &[]);
    assert_eq!(
        of_texts(&"a\n".repeat(5_000), &[text("a", "b", true)]).len(),
        1_000
    );
}

#[test]
fn what_is_wrong_is_named() {
    let check = |arguments: &str, expected: &str| {
        let failure = parse_arguments(arguments)
            .and_then(|arguments| EditFile::prepare(&arguments))
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidArguments);
        assert_eq!(failure.message, expected, "{arguments}");
    };
    check(
        r#"{"file_path":"","edits":[{"range":[1,2],"replacement":"x"}]}"#,
        "file_path: it is empty; give the path of a file",
    );
    check(
        r#"{"file_path":"a","edits":[]}"#,
        "edits: the list is empty; give at least one edit",
    );
    check(
        r#"{"file_path":"a","edits":[{"range":[1,2],"replacement":"x"},{"range":[0,-1],"replacement":"x"}]}"#,
        "edit 2: range [0, -1] names line 0; lines count from 1",
    );
    check(
        r#"{"file_path":"a","edits":[{"range":[1],"replacement":"x"}]}"#,
        "edits[0].range: invalid length 1, expected an array of length 2",
    );
    check(
        r#"{"file_path":"a","edits":[{"range":[1,2]}]}"#,
        "edit 1: replacement is missing; give the new lines, or \"\" to remove",
    );
    check(
        r#"{"file_path":"a","edits":[{"new_text":"x"}]}"#,
        "edit 1: it has neither old_text nor range; give the text or the lines to replace",
    );
    check(
        r#"{"file_path":"a","edits":[{"old_text":"x","range":[1,2],"replacement":""}]}"#,
        "edit 1: it has both range and old_text; leave one out",
    );
    check(
        r#"{"file_path":"a","edits":[{"old_text":"x"}]}"#,
        "edit 1: new_text is missing; give the new text, or \"\" to remove",
    );
    check(
        r#"{"file_path":"a","edits":[{"old_text":"x","new_text":"y","replacement":"y"}]}"#,
        "edit 1: replacement belongs to range; write new_text",
    );
    check(
        r#"{"file_path":"a","edits":[{"range":[1,2],"replacement":"","replace_all":true}]}"#,
        "edit 1: new_text and replace_all belong to old_text, not to range",
    );
    check(
        r#"{"file_path":"a","edits":[{"old_text":"","new_text":"y"}]}"#,
        "edit 1: old_text is empty; give the text to replace, or use write_file for a new file",
    );
    check(
        r#"{"file_path":"a","edits":[{"old_text":"x","new_text":"y"},{"range":[1,2],"replacement":""}]}"#,
        "edits: some have a range and some an old_text; use one of them for all edits of a call",
    );
}

/// The answer to edits of a file of `before` lines that has `after` now, each of them its number.
fn answer(edits: &[LineEdit], before: u64, after: u64) -> String {
    let edited = Edited {
        created: false,
        lines_before: before,
        lines_after: after,
    };
    report("a.txt", &of_lines(edits), edited, |first, count| {
        let lines = (first..=after).take(count as usize);
        Ok(lines
            .map(|number| Line {
                text: format!("line {number}"),
                omitted_bytes: u64::from(number == 2),
            })
            .collect())
    })
}

/// The numbers in an answer.
fn numbers(text: &str) -> Vec<&str> {
    text.lines()
        .skip(1)
        .map(|line| line.split('\t').next().unwrap_or_default().trim())
        .collect()
}

#[test]
fn the_answer_shows_where_the_new_lines_stand() {
    assert_eq!(
        answer(&[edit(5, 6, "x\ny\n")], 20, 21),
        "Edited 'a.txt': 20 lines before, 21 lines now. The numbers below are the new ones.\n...\n\
         \x20    2\tline 2…\n     3\tline 3\n     4\tline 4\n     5\tline 5\n     6\tline 6\n     \
         7\tline 7\n     8\tline 8\n     9\tline 9\n...\n"
    );
    let check = |edits: &[LineEdit], before: u64, after: u64, expected: &[&str]| {
        assert_eq!(
            numbers(&answer(edits, before, after)),
            expected,
            "{edits:?}"
        );
    };
    check(&[edit(1, 2, "x")], 3, 3, &["1", "2", "3"]);
    check(&[edit(1, 3, "")], 2, 0, &[]);
    check(&[edit(3, 3, "x")], 2, 3, &["1", "2", "3"]);
    // A removal shows what meets now; edits that are near are shown together.
    check(
        &[edit(10, 15, "")],
        20,
        15,
        &["...", "7", "8", "9", "10", "11", "12", "..."],
    );
    check(
        &[edit(2, 3, "x"), edit(8, 8, "y")],
        20,
        21,
        &[
            "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "...",
        ],
    );
    check(
        &[edit(2, 2, "a\nb"), edit(20, 21, "")],
        30,
        31,
        &[
            "1", "2", "3", "4", "5", "6", "...", "19", "20", "21", "22", "23", "24", "...",
        ],
    );
}

#[test]
fn a_long_edit_is_shown_by_its_ends() {
    let new = "x\n".repeat(1000);
    let text = answer(&[edit(5, 6, &new)], 20, 1019);
    let shown = numbers(&text);
    assert_eq!(shown.first(), Some(&"..."));
    assert_eq!(shown[1], "2");
    assert!(shown.contains(&"14") && shown.contains(&"995"), "{text}");
    assert!(shown.len() < 32, "{text}");
}

#[test]
fn many_edits_are_cut() {
    let edits: Vec<LineEdit> = (0..500)
        .map(|n| edit(1 + n * 20, 2 + n * 20, "x"))
        .collect();
    let text = answer(&edits, 10_000, 10_000);
    assert!(
        text.ends_with("[more changes not shown; read the file to see them]\n"),
        "{text}"
    );
    assert!(text.lines().count() < 160, "{text}");
}

#[test]
fn an_edit_that_cannot_be_shown_has_still_happened() {
    let edited = Edited {
        created: false,
        lines_before: 1,
        lines_after: 1,
    };
    let text = report("a.txt", &of_lines(&[edit(1, 2, "x")]), edited, |_, _| {
        Err(Error::Failed("no".to_owned()))
    });
    assert!(text.starts_with("Edited 'a.txt'"), "{text}");
    assert!(
        text.ends_with("[the new lines cannot be shown: no]\n"),
        "{text}"
    );
    let created = Edited {
        created: true,
        lines_before: 0,
        lines_after: 2,
    };
    let text = report(
        "a.txt",
        &of_lines(&[edit(1, 1, "x\ny")]),
        created,
        |_, _| Ok(Vec::new()),
    );
    assert_eq!(text, "Created 'a.txt' with 2 lines.\n");
}
