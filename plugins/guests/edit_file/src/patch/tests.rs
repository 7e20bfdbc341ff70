use dunlin_sdk::files::TextEdit;
use dunlin_sdk::{Failure, FailureKind, Plan, Tool, parse_arguments};
use proptest::prelude::*;

use super::{Change, FilePatch, read};
use crate::apply_patch::ApplyPatch;

fn edit(old: &str, new: &str) -> TextEdit {
    TextEdit {
        old: old.to_owned(),
        new: new.to_owned(),
        every: false,
    }
}

#[test]
fn each_part_becomes_one_change() {
    let patch = "*** Begin Patch
*** Add File: new/hello.txt
+Hello

++1
*** Update File: src/app.py
@@ def greet():
 def greet():
-    print(\"Hi\")
+    print(\"Hello\")

@@
-last
+the end
*** End of File
*** Update File: old.md
*** Move to: new.md
*** Update File: log.txt
@@
+one more
*** Delete File: gone.txt
*** End Patch";
    let found = read(patch).unwrap();
    let expected = [
        ("new/hello.txt", Change::Add("Hello\n+1\n".to_owned())),
        (
            "src/app.py",
            Change::Edit(vec![
                edit(
                    "def greet():\n    print(\"Hi\")\n\n",
                    "def greet():\n    print(\"Hello\")\n\n",
                ),
                edit("last\n", "the end\n"),
            ]),
        ),
        ("old.md", Change::Rename("new.md")),
        ("log.txt", Change::Append("one more\n".to_owned())),
        ("gone.txt", Change::Remove),
    ]
    .map(|(path, change)| FilePatch { path, change });
    assert_eq!(found, expected);
    // As the input of a command of a shell, in a block of code, and with the line ends of Windows.
    for around in [
        format!("apply_patch <<'EOF'\n{patch}\nEOF\n"),
        format!("```\n{patch}\n```"),
        patch.replace('\n', "\r\n"),
    ] {
        assert_eq!(read(&around).unwrap(), expected, "{around}");
    }
}

#[test]
fn a_call_announces_all_of_it() {
    let input = "*** Begin Patch\n*** Update File: a\n-x\n+y\n*** Delete File: b\n*** End Patch\n";
    let arguments = format!("{{\"input\": {input:?}}}");
    let plan = ApplyPatch::prepare(&parse_arguments(&arguments).unwrap());
    assert_eq!(
        plan,
        Ok(Plan::of_actions()
            .replaces_texts("a", vec![edit("x\n", "y\n")])
            .removes("b"))
    );
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let check = |parts: &str, expected: &str| {
        let failure = read(&format!("*** Begin Patch\n{parts}*** End Patch")).unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidArguments);
        assert_eq!(failure.message, expected, "{parts}");
    };
    check(
        "",
        "input: the patch changes no file; add *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH",
    );
    check(
        "hello\n",
        "line 2 of the patch: it belongs to no file; begin with *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH",
    );
    check(
        "*** Add File:\n",
        "line 2 of the patch: the path is missing",
    );
    check(
        "*** Add File: a\n+x\ny\n",
        "a, line 4 of the patch: each line of a new file begins with +",
    );
    check(
        "*** Delete File: a\n-x\n",
        "a, line 3 of the patch: nothing follows *** Delete File: PATH",
    );
    check(
        "*** Update File: a\n@@\nx\n",
        "hunk 1 of a, line 4 of the patch: each line of a hunk begins with a space, + or -",
    );
    check(
        "*** Update File: a\n@@\n x\n",
        "a, line 2 of the patch: the part changes nothing",
    );
    check(
        "*** Update File: a\n-x\n*** Move to: b\n",
        "hunk 1 of a, line 4 of the patch: *** Move to: PATH stands once, directly below *** Update File: PATH",
    );
    check(
        "*** Update File: a\n*** Move to: b\n-x\n",
        "a, line 2 of the patch: one patch cannot both move and change a file; change it in one call, then move it in a second one",
    );
    check(
        "*** Update File: a\n@@\n-x\n@@\n+y\n",
        "hunk 2 of a, line 5 of the patch: it only adds lines; put a line of the file beside them that says where",
    );
    check(
        "*** Delete File: a\n*** Add File: a\n+x\n",
        "input: the patch names 'a' twice; put all changes of a file into one part",
    );
    let message = |patch| read(patch).map_err(|Failure { message, .. }| message);
    assert_eq!(
        message("--- a\n+++ b\n"),
        Err("input: it has no line \"*** Begin Patch\"; begin the patch with it".to_owned())
    );
    assert_eq!(
        message("*** Begin Patch\n*** Delete File: a\n"),
        Err("input: it has no line \"*** End Patch\"; end the patch with it".to_owned())
    );
}

proptest! {
    /// What a model may write: whatever comes of it, each edit has something to look for, and changes something.
    #[test]
    fn any_patch_is_read_or_refused(lines in prop::collection::vec(
        prop_oneof![
            Just("*** Begin Patch"), Just("*** End Patch"), Just("*** Update File: a"), Just("*** Update File: b"),
            Just("*** Add File: c"), Just("*** Delete File: d"), Just("*** Move to: e"), Just("*** End of File"),
            Just("@@"), Just("@@ x"), Just("+"), Just("-"), Just(" "), Just(""), Just("+x"), Just("-x"), Just(" x"), Just("ü"),
        ],
        0..24,
    )) {
        let patch = format!("*** Begin Patch\n{}\n*** End Patch", lines.join("\n"));
        for file in read(&patch).into_iter().flatten() {
            if let Change::Edit(edits) = file.change {
                prop_assert!(!edits.is_empty());
                for edit in edits {
                    prop_assert!(!edit.old.is_empty(), "{patch}");
                    prop_assert_ne!(edit.old, edit.new);
                }
            }
        }
    }
}
