use proptest::prelude::*;

use super::*;

#[path = "model.rs"]
mod model;

fn edit(first: u64, end: u64, replacement: &str) -> LineEdit {
    LineEdit {
        first,
        end,
        replacement: replacement.to_owned(),
    }
}

fn edits(edits: &[(u64, u64, &str)]) -> Vec<LineEdit> {
    edits
        .iter()
        .map(|&(first, end, replacement)| edit(first, end, replacement))
        .collect()
}

#[test]
fn edits_do_what_the_user_of_an_editor_expects() {
    let check = |base: &str, changes: &[(u64, u64, &str)], expected: &str| {
        let applied = apply(Some(base.as_bytes()), &edits(changes));
        let found = applied.map(|applied| String::from_utf8(applied.bytes).unwrap());
        assert_eq!(found.as_deref(), Ok(expected), "{base:?} {changes:?}");
    };
    // Replacing, with or without a newline behind the new lines.
    check("a\nb\nc\n", &[(2, 3, "B")], "a\nB\nc\n");
    check("a\nb\nc\n", &[(2, 3, "B\n")], "a\nB\nc\n");
    check("a\nb\nc\n", &[(1, 4, "x")], "x\n");
    check("a\nb\nc\n", &[(2, 3, "x\ny\n")], "a\nx\ny\nc\n");
    // A newline more is an empty line more.
    check("a\nb\nc\n", &[(2, 3, "B\n\n")], "a\nB\n\nc\n");
    check("a\nb\nc\n", &[(2, 3, "\n")], "a\n\nc\n");
    // Removing.
    check("a\nb\nc\n", &[(2, 3, "")], "a\nc\n");
    check("a\nb\nc\n", &[(1, 4, "")], "");
    check("a\nb", &[(2, 3, "")], "a\n");
    // Inserting: before the first line, in between, behind the last.
    check("a\nb\n", &[(1, 1, "x")], "x\na\nb\n");
    check("a\nb\n", &[(2, 2, "x")], "a\nx\nb\n");
    check("a\nb\n", &[(3, 3, "x")], "a\nb\nx\n");
    check("a\nb\n", &[(3, 3, "x\n")], "a\nb\nx\n");
    // Without a newline at the end of the file: it stays like that unless the replacement has one.
    check("a\nb", &[(1, 2, "x")], "x\nb");
    check("a\nb", &[(2, 3, "x")], "a\nx");
    check("a\nb", &[(2, 3, "x\n")], "a\nx\n");
    check("a\nb", &[(3, 3, "x")], "a\nb\nx");
    check("a\nb", &[(3, 3, "x\n")], "a\nb\nx\n");
    check("a", &[(1, 1, "x")], "x\na");
    check("a", &[(2, 2, "x"), (2, 2, "y")], "a\nx\ny");
    // CRLF, whatever the replacement uses.
    check("a\r\nb\r\n", &[(2, 3, "x\ny")], "a\r\nx\r\ny\r\n");
    check("a\r\nb\r\n", &[(3, 3, "x\r\n")], "a\r\nb\r\nx\r\n");
    check("a\r\nb", &[(3, 3, "x")], "a\r\nb\r\nx");
    check("a\nb\n", &[(2, 3, "x\r\ny\r\n")], "a\nx\ny\n");
    // Mixed: new lines are as most are, the others keep theirs.
    check("a\r\nb\r\nc\n", &[(2, 3, "x\ny")], "a\r\nx\r\ny\r\nc\n");
    check("a\nb\nc\r\n", &[(1, 2, "x\r\n")], "x\nb\nc\r\n");
    check("a", &[(2, 2, "x\r\ny")], "a\r\nx\r\ny");
    // A CR alone is a character like others.
    check("a\rb\n", &[(2, 2, "c\rd")], "a\rb\nc\rd\n");
    // A byte order mark stays before the first line, once.
    check("\u{feff}a\nb\n", &[(1, 2, "x")], "\u{feff}x\nb\n");
    check("\u{feff}a\n", &[(1, 2, "\u{feff}x")], "\u{feff}x\n");
    check("\u{feff}a\n", &[(1, 1, "x")], "\u{feff}x\na\n");
    check("\u{feff}", &[(1, 1, "x")], "\u{feff}x\n");
    // The empty file has no lines.
    check("", &[(1, 1, "x")], "x\n");
    check("", &[(1, 1, "x\n")], "x\n");
    check("", &[(1, 1, "\n")], "\n");
    // Several at once, all numbers from before.
    check(
        "a\nb\nc\nd\n",
        &[
            (1, 1, "x"),
            (1, 2, ""),
            (2, 3, "y\nz"),
            (4, 4, "w"),
            (5, 5, "end"),
        ],
        "x\ny\nz\nc\nw\nd\nend\n",
    );
    check("a\nb\n", &[(2, 2, "x"), (2, 2, "y")], "a\nx\ny\nb\n");
    check("日本\nü\n", &[(2, 3, "ö")], "日本\nö\n");
}

#[test]
fn a_new_file_holds_what_it_was_given() {
    let check = |replacement: &str, expected: &str| {
        let applied = apply(None, &[edit(1, 1, replacement)]).unwrap();
        assert_eq!(String::from_utf8(applied.bytes).unwrap(), expected);
        assert_eq!(applied.lines_before, 0);
    };
    check("", "");
    check("a", "a\n");
    check("a\nb\n", "a\nb\n");
    check("a\r\nb", "a\r\nb\r\n");
}

#[test]
fn what_does_not_fit_is_named() {
    let check = |base: &[u8], changes: &[(u64, u64, &str)], expected: &str| {
        let error = apply(Some(base), &edits(changes)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let base = b"a\nb\nc\nd\ne\n";
    check(base, &[], "there is no edit in the list");
    check(
        base,
        &[(0, 1, "x")],
        "edit 1 [0, 1] names line 0; lines count from 1",
    );
    check(
        base,
        &[(3, 2, "x")],
        "edit 1 [3, 2] ends before it starts; the end is the first line that stays",
    );
    check(
        base,
        &[(1, 2, "x"), (6, 7, "y")],
        "edit 2 [6, 7] is out of range: the file has 5 lines, so the end is at most 6",
    );
    check(
        b"",
        &[(1, 2, "x")],
        "edit 1 [1, 2] is out of range: the file has no lines, so the end is at most 1",
    );
    check(
        base,
        &[(2, u64::MAX, "x")],
        "edit 1 [2, 18446744073709551615] is out of range: the file has 5 lines, so the end is at most 6",
    );
    check(
        base,
        &[(4, 5, "x"), (2, 3, "y")],
        "edit 2 [2, 3] comes after edit 1 [4, 5] and names earlier lines; sort the edits",
    );
    check(
        base,
        &[(1, 1, "w"), (2, 4, "x"), (3, 5, "y")],
        "edit 3 [3, 5] overlaps edit 2 [2, 4]; join them into one",
    );
    check(
        base,
        &[(2, 3, "x"), (2, 2, "y")],
        "edit 2 [2, 2] overlaps edit 1 [2, 3]; join them into one",
    );
    check(
        b"a\nb\xff\n",
        &[(1, 1, "x")],
        "line 2 of the file is not UTF-8 text",
    );
    check(
        base,
        &[(2, 3, "b")],
        "the edits change nothing: the file already reads like this",
    );
    let huge = vec![b'a'; MAX_FILE_BYTES + 1];
    check(
        &huge,
        &[(1, 1, "x")],
        "the file has 8388609 bytes; at most 8388608 can be edited",
    );
    let full = vec![b'a'; MAX_FILE_BYTES];
    check(
        &full,
        &[(1, 1, "x")],
        "the file would have 8388610 bytes; at most 8388608 can be edited",
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn fitting_edits_do_what_a_list_of_lines_does((base, edits) in model::fitting()) {
        model::check_fitting(&base, &edits)?;
    }

    #[test]
    fn any_edits_of_any_bytes_give_an_answer((base, edits) in model::any_edits()) {
        model::check_any(&base, &edits)?;
    }
}
