use proptest::prelude::*;

use super::*;

fn edit(old: &str, new: &str) -> TextEdit {
    TextEdit {
        old: old.to_owned(),
        new: new.to_owned(),
        every: false,
    }
}

fn every(old: &str, new: &str) -> TextEdit {
    TextEdit {
        every: true,
        ..edit(old, new)
    }
}

#[test]
fn texts_are_replaced_as_they_stand_before() {
    let check = |base: &str, edits: &[TextEdit], expected: &str| {
        assert_eq!(replaced(base, edits).as_deref(), Ok(expected), "{edits:?}");
    };
    check("- [ ] milk\n", &[edit("[ ]", "[x]")], "- [x] milk\n");
    check("a\r\nb\r\n", &[edit("a\nb", "b\na")], "b\r\na\r\n");
    check("a\nb\n", &[edit("a\r\nb", "c")], "c\n");
    check("\u{feff}a\n", &[edit("a", "b")], "\u{feff}b\n");
    check("a\nb", &[edit("b", "c")], "a\nc");
    // Neither sees what the other does.
    check("ab", &[edit("a", "b"), edit("b", "a")], "ba");
    check("cab", &[edit("b", "x"), edit("c", "")], "ax");
    check("aaa", &[every("a", "bb")], "bbbbbb");
    check("aaa", &[every("aa", "b")], "ba");
    check(
        "x = 1\ny = x\n",
        &[every("x", "z"), edit("y", "w")],
        "z = 1\nw = z\n",
    );
}

#[test]
fn what_is_wrong_names_the_lines() {
    let check = |base: &str, edits: &[TextEdit], expected: &str| {
        let error = replaced(base, edits).unwrap_err();
        assert_eq!(error.to_string(), expected, "{edits:?}");
    };
    check("a", &[], "there is no edit in the list");
    check("a", &[edit("", "b")], "the text to replace is empty");
    check("a", &[every("", "b")], "the text to replace is empty");
    check(
        "a",
        &[edit("a", "b"), edit("", "b")],
        "edit 2: the text to replace is empty",
    );
    check(
        "a",
        &[edit("b", "c")],
        "the text to replace is not in the file",
    );
    check(
        "",
        &[every("b", "c")],
        "the text to replace is not in the file",
    );
    check(
        "a\nb a\n",
        &[edit("a", "b")],
        "the text to replace is in the file 2 times, at lines 1 and 2; give more of what is around it, or replace every \
         occurrence",
    );
    // Those that overlap count, too.
    for (base, old) in [("aaa", "aa"), ("ééé", "éé")] {
        let error = replaced(base, &[edit(old, "b")]).unwrap_err().to_string();
        assert!(error.contains("2 times, at lines 1 and 1"), "{error}");
    }
    let error = replaced(&"a\n".repeat(500), &[edit("a", "b")]).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("500 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, …;"),
        "{error}"
    );
    check(
        "one\ntwo\nthree\n",
        &[edit("two\nthree", "x"), edit("one\ntwo", "y")],
        "edits 1 and 2 overlap at line 2; join them into one",
    );
    check(
        "fn a() {\n    if b {\n        c();\n    }\n}\n",
        &[edit("if b {\n    c();\n}", "x")],
        "the text to replace is not in the file; lines 2-4 have it with other white space",
    );
    check(
        "one\n\tif \"a\" {\n",
        &[edit("    if \"a\" {", "x")],
        "the text to replace is not in the file; line 2 has it with other white space: \"\\tif \\\"a\\\" {\"",
    );
    check(
        "one\n  let total = sum(items);\n",
        &[edit("let total = sum(all_items);", "x")],
        "the text to replace is not in the file; the most similar line is 2: let total = sum(items);",
    );
    check(
        "one\n",
        &[edit("\n\n\n\n", "x")],
        "the text to replace is not in the file",
    );
}

#[test]
fn what_takes_too_long_is_refused() {
    let many: Vec<TextEdit> = (0..1000).map(|_| edit("a", "b")).collect();
    let error = replaced(&" ".repeat(MAX_FILE_BYTES / 8), &many).unwrap_err();
    assert!(error.to_string().contains("use several calls"), "{error}");
    let often = "a".repeat(MAX_PLACES + 1);
    let error = replaced(&often, &[every("a", "b")]).unwrap_err();
    assert!(error.to_string().contains("very often"), "{error}");
    let large = "b".repeat(1000);
    let error = replaced(&often[1..], &[every("a", &large)]).unwrap_err();
    assert_eq!(
        error,
        ApplyError::TooLarge {
            bytes: MAX_PLACES * 1000,
            after: true
        }
    );
    // Nothing is compared for long.
    let file = "some line of a long file that is like all the others\n".repeat(150_000);
    let error = replaced(
        &file,
        &[edit(
            "some line of a long file, which is like the others",
            "",
        )],
    );
    assert!(error.unwrap_err().to_string().contains("line is "));
}

proptest! {
    /// With one place it is what the standard library does, with `every` as well.
    #[test]
    fn it_replaces_like_the_standard_library(text in "[ab\n]{0,20}", old in "[ab\n]{1,3}", new in "[ab]{0,3}") {
        let count = text.matches(&old).count();
        let all = replaced(&text, &[every(&old, &new)]);
        match count {
            0 => prop_assert!(all.is_err()),
            _ => prop_assert_eq!(all.unwrap(), text.replace(&old, &new)),
        }
        if let Ok(one) = replaced(&text, &[edit(&old, &new)]) {
            prop_assert_eq!(one, text.replacen(&old, &new, 1));
            prop_assert_eq!(count, 1);
        }
    }

    /// No text makes it panic.
    #[test]
    fn nothing_panics(text in "\\PC{0,40}", old in "\\PC{0,4}", new in "\\PC{0,4}", more in "\\PC{0,4}") {
        let _ = replaced(&text, &[edit(&old, &new), every(&more, &old)]);
    }
}
