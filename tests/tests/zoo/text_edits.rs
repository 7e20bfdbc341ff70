//! `edit_file` by exact texts, `write_file` and `apply_patch`, on the real host.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dunlin_host::Host;
use dunlin_host::ask::Ask;
use dunlin_host::call::{Action, Call, Failure};
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, built_in, call, play, plugin};
use serde_json::{Value, json};

use crate::assert_one_clear_line;

struct Desk {
    sandbox: Sandbox,
    host: Host,
    calls: AtomicUsize,
}

impl Desk {
    fn new() -> Desk {
        let sandbox = Sandbox::new();
        let tools = ["edit_file", "write_file", "read_file"].map(built_in);
        let host = sandbox.host_of(tools.into_iter().chain([plugin("echo")]).collect(), PATIENT);
        host.begin_turn();
        Desk {
            sandbox,
            host,
            calls: AtomicUsize::new(0),
        }
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.sandbox.project().join(name), text).expect("a file");
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.sandbox.project().join(name)).expect("a file")
    }

    /// A call of its own: an answer holds for one.
    fn numbered(&self, tool: &str, arguments: Value) -> Call {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        Call {
            id: format!("call {number}"),
            ..call(tool, arguments)
        }
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Value,
        ask: Arc<dyn Ask>,
    ) -> Result<String, Failure> {
        let outcome = play(&self.host, &self.numbered(tool, arguments), ask).await?;
        outcome.result.map(|success| success.text)
    }

    async fn replace(&self, name: &str, edits: Value) -> Result<String, Failure> {
        let arguments = json!({ "file_path": name, "edits": edits });
        self.call("edit_file", arguments, yes()).await
    }

    async fn write(&self, name: &str, content: &str) -> Result<String, Failure> {
        let arguments = json!({ "file_path": name, "content": content });
        self.call("write_file", arguments, yes()).await
    }

    async fn read(&self, name: &str) {
        let read = self.call("read_file", json!({ "file_path": name }), yes());
        assert!(read.await.is_ok());
    }
}

fn yes() -> Arc<Asker> {
    Arc::new(Asker::yes())
}

#[track_caller]
fn refused(result: Result<String, Failure>, expected: &str) {
    let failure = result.expect_err("a refusal").to_string();
    assert_one_clear_line(&failure);
    assert!(failure.contains(expected), "{failure}");
}

#[tokio::test]
async fn texts_are_replaced_as_they_were_shown() {
    let desk = Desk::new();
    desk.put("a.txt", "one\r\ntwo\r\nthree\r\ntwo\r\n");
    let asker = yes();
    let edits = json!([{ "old_text": "one\ntwo", "new_text": "1\n2" }, { "old_text": "three", "new_text": "3\n3" }]);
    let arguments = json!({ "file_path": "a.txt", "edits": edits });
    let text = desk
        .call("edit_file", arguments, asker.clone())
        .await
        .unwrap();
    assert_eq!(desk.text("a.txt"), "1\r\n2\r\n3\r\n3\r\ntwo\r\n");
    assert_eq!(
        text,
        "Edited 'a.txt': 4 lines before, 5 lines now. The numbers below are the new ones.\n     1\t1\n     2\t2\n     3\t3\n     \
         4\t3\n     5\ttwo\n"
    );
    let questions = asker.questions();
    assert_eq!(questions.len(), 1);
    assert_eq!(questions[0].wording, "Replace 2 texts in file 'a.txt'?");
    let [Action::Edit(edit)] = questions[0].actions.as_slice() else {
        panic!("{questions:?}");
    };
    assert!(edit.diff.to_string().contains("-one"), "{}", edit.diff);

    let edits = json!([{ "old_text": "3", "new_text": "three", "replace_all": true }]);
    desk.replace("a.txt", edits).await.unwrap();
    assert_eq!(desk.text("a.txt"), "1\r\n2\r\nthree\r\nthree\r\ntwo\r\n");
    let edits = json!([{ "old_text": "\ntwo\n", "new_text": "" }]);
    desk.replace("a.txt", edits).await.unwrap();
    assert_eq!(desk.text("a.txt"), "1\r\n2\r\nthree\r\nthree");
}

#[tokio::test]
async fn what_is_not_there_once_is_refused_before_anybody_is_asked() {
    let desk = Desk::new();
    desk.put("a.rs", "fn a() {\n    one();\n}\nfn b() {\n    one();\n}\n");
    let check = async |edits: Value, expected: &str| {
        let asker = yes();
        let arguments = json!({ "file_path": "a.rs", "edits": edits });
        let result = desk.call("edit_file", arguments, asker.clone()).await;
        refused(result, expected);
        assert!(asker.questions().is_empty());
    };
    check(
        json!([{ "old_text": "one();", "new_text": "" }]),
        "is in the file 2 times, at lines 2 and 5; give more of what is around it",
    )
    .await;
    check(
        json!([{ "old_text": "fn b() {\n  one();", "new_text": "" }]),
        "is not in the file; lines 4-5 have it with other white space",
    )
    .await;
    check(
        json!([{ "old_text": "fn a()", "new_text": "x" }, { "old_text": "fn c() {", "new_text": "" }]),
        "edit 2: the text to replace is not in the file; the most similar line is",
    )
    .await;
    check(
        json!([{ "old_text": "fn a()", "new_text": "fn a()" }]),
        "the edits change nothing",
    )
    .await;
    assert!(desk.text("a.rs").contains("fn b()"));
    refused(
        desk.replace("none.rs", json!([{ "old_text": "a", "new_text": "b" }]))
            .await,
        "is not in the file",
    );
    assert!(!desk.sandbox.project().join("none.rs").exists());
}

/// What a file holds that may not be read is not told by an edit that does not fit.
#[tokio::test]
async fn an_edit_tells_nothing_of_a_secret() {
    let desk = Desk::new();
    desk.put(".env", "TOKEN=hunter2\n");
    for old in ["TOKEN=hunter2", "TOKEN=hunter3"] {
        let asker = Arc::new(Asker::no());
        let edits = json!([{ "old_text": old, "new_text": "x" }]);
        let arguments = json!({ "file_path": ".env", "edits": edits });
        let failure = desk
            .call("edit_file", arguments, asker.clone())
            .await
            .unwrap_err();
        assert!(failure.to_string().contains("denied"), "{failure}");
        assert!(!failure.to_string().contains("hunter"), "{failure}");
        assert_eq!(asker.questions().len(), 1);
    }
    assert_eq!(desk.text(".env"), "TOKEN=hunter2\n");
}

#[tokio::test]
async fn files_are_created_and_replaced_once_they_were_read() {
    let desk = Desk::new();
    let text = desk.write("sub/new.txt", "a\nb").await.unwrap();
    assert_eq!(text, "Created 'sub/new.txt' with 2 lines.");
    assert_eq!(desk.text("sub/new.txt"), "a\nb\n");
    // What it wrote it knows.
    let text = desk.write("sub/new.txt", "c\n").await.unwrap();
    assert_eq!(text, "Replaced 'sub/new.txt': 2 lines before, 1 line now.");
    refused(
        desk.write("sub/new.txt", "c\n").await,
        "already reads like this",
    );

    desk.put("old.txt", "one\r\ntwo\r\n");
    refused(
        desk.write("old.txt", "x\n").await,
        "was not read in this session; read it first",
    );
    desk.read("old.txt").await;
    desk.put("old.txt", "one\r\ntwo\r\nthree\r\n");
    refused(
        desk.write("old.txt", "x\n").await,
        "changed since it was read; read it again",
    );
    desk.read("old.txt").await;
    let asker = yes();
    let arguments = json!({ "file_path": "old.txt", "content": "one\nzwei\n" });
    desk.call("write_file", arguments, asker.clone())
        .await
        .unwrap();
    assert_eq!(desk.text("old.txt"), "one\r\nzwei\r\n");
    let questions = asker.questions();
    assert_eq!(questions[0].wording, "Rewrite file 'old.txt'?");
    let [Action::Edit(edit)] = questions[0].actions.as_slice() else {
        panic!("{questions:?}");
    };
    assert!(
        edit.diff.to_string().contains("-two\n-three\n+zwei\n"),
        "{}",
        edit.diff
    );
    let denied = desk.call(
        "write_file",
        json!({ "file_path": "other.txt", "content": "x" }),
        Arc::new(Asker::no()),
    );
    assert!(denied.await.is_err());
    assert!(!desk.sandbox.project().join("other.txt").exists());
}

#[tokio::test]
async fn a_file_that_is_gone_is_created_anew() {
    let desk = Desk::new();
    let created = "Created 'a.txt' with 1 line.";
    assert_eq!(desk.write("a.txt", "a\n").await.unwrap(), created);
    desk.host.undo_last().unwrap();
    assert_eq!(desk.write("a.txt", "b\n").await.unwrap(), created);
    fs::remove_file(desk.sandbox.project().join("a.txt")).unwrap();
    assert_eq!(desk.write("a.txt", "c\n").await.unwrap(), created);
    // What has taken its place was read by nobody.
    fs::remove_file(desk.sandbox.project().join("a.txt")).unwrap();
    desk.put("a.txt", "somebody's\n");
    let changed = "changed since it was read; read it again";
    refused(desk.write("a.txt", "d\n").await, changed);
    assert_eq!(desk.text("a.txt"), "somebody's\n");
}

#[tokio::test]
async fn a_patch_is_one_question_about_several_files() {
    let desk = Desk::new();
    desk.put("a.txt", "one\r\ntwo\r\nthree\r\n");
    desk.put("gone.txt", "x\n");
    desk.put("old.txt", "y\n");
    let input = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: sub/new.txt\n+new\n\
                 *** Delete File: gone.txt\n*** Update File: old.txt\n*** Move to: moved.txt\n*** End Patch";
    let patch = |input: &str| json!({ "input": input });
    let denied = desk.call("apply_patch", patch(input), Arc::new(Asker::no()));
    assert!(denied.await.is_err());
    assert_eq!(desk.text("gone.txt"), "x\n");
    let asker = yes();
    let text = desk.call("apply_patch", patch(input), asker.clone()).await;
    assert_eq!(
        text.unwrap(),
        "Changed 'a.txt'.\nWrote 'sub/new.txt'.\nRemoved 'gone.txt'.\nRenamed 'old.txt' to 'moved.txt'."
    );
    assert_eq!(asker.questions().len(), 1);
    assert_eq!(asker.questions()[0].actions.len(), 4);
    assert_eq!(
        asker.questions()[0].wording,
        "Edit file 'a.txt', and create file 'sub/new.txt', and remove file 'gone.txt', and rename file 'old.txt' to \
         'moved.txt'?"
    );
    // A file that is made is not said to be edited.
    for (more, wording) in [
        ("", "Create 2 files?"),
        (
            "*** Update File: a.txt\n@@\n-2\n+3\n",
            "Create 2 and edit 1 file?",
        ),
    ] {
        let asker = Arc::new(Asker::no());
        let input = format!(
            "*** Begin Patch\n*** Add File: x/1.txt\n+new\n*** Add File: x/2.txt\n+new\n{more}*** End Patch"
        );
        let denied = desk.call("apply_patch", patch(&input), asker.clone());
        assert!(denied.await.is_err());
        assert_eq!(asker.questions()[0].wording, wording);
    }
    assert_eq!(desk.text("a.txt"), "one\r\n2\r\nthree\r\n");
    assert_eq!(desk.text("sub/new.txt"), "new\n");
    assert_eq!(desk.text("moved.txt"), "y\n");
    assert!(!desk.sandbox.project().join("gone.txt").exists());
    assert!(!desk.sandbox.project().join("old.txt").exists());

    let one = |old: &str| {
        patch(&format!(
            "*** Begin Patch\n*** Update File: a.txt\n-{old}\n+x\n*** End Patch"
        ))
    };
    let absent = desk.call("apply_patch", one("four"), yes()).await;
    refused(absent, "a.txt");
    desk.put("a.txt", "one\none\n");
    refused(desk.call("apply_patch", one("one"), yes()).await, "a.txt");
    assert_eq!(desk.text("a.txt"), "one\none\n");
    refused(
        desk.call("apply_patch", patch("--- a\n+++ b\n"), yes())
            .await,
        "*** Begin Patch",
    );
}

#[tokio::test]
async fn a_patch_is_done_as_a_whole_or_not_at_all() {
    let desk = Desk::new();
    desk.put("a.txt", "one\n");
    desk.put("gone.txt", "x\n");
    desk.put("old.txt", "y\n");
    desk.read("a.txt").await;
    let project = desk.sandbox.project();
    let is_untouched = || {
        assert_eq!(desk.text("a.txt"), "one\n");
        assert_eq!(desk.text("gone.txt"), "x\n");
        assert_eq!(desk.text("old.txt"), "y\n");
        assert!(!project.join("new").exists() && !project.join("moved.txt").exists());
        // There is nothing that could be taken back.
        assert_eq!(desk.host.undo_last().unwrap(), None);
    };
    let patch = |last: &str| {
        let input = format!(
            "*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** Delete File: gone.txt\n*** Update File: old.txt\n\
             *** Move to: moved.txt\n*** Add File: new/x\n+x\n{last}\n*** End Patch"
        );
        json!({ "input": input })
    };
    // Outside of the project, what the file holds is known when the user has agreed to the reading.
    let outside = desk.sandbox.secret().display().to_string();
    let update = |old: &str| patch(&format!("*** Update File: {outside}\n-{old}\n+x"));
    let absent = desk.call("apply_patch", update("none"), yes());
    refused(absent.await, &outside);
    is_untouched();
    // The difference there is denied in the middle of the call.
    fs::write(&outside, "held\n").unwrap();
    let asker = Arc::new(Asker::first_yes());
    let denied = desk.call("apply_patch", update("held"), asker.clone());
    refused(denied.await, &outside);
    assert_eq!(asker.questions().len(), 2);
    is_untouched();
    // The last one fails when the others are done: its folder is a file by then.
    let broken = desk.call("apply_patch", patch("*** Add File: new/x/y\n+y"), yes());
    refused(broken.await, "new/x/y");
    is_untouched();
    let audit = desk.sandbox.audit();
    let taken_back = audit.iter().filter(|line| line["change"] == "reverted");
    assert!(taken_back.count() >= 4, "{audit:?}");
    // What was read before is still known.
    let text = desk.write("a.txt", "two\n").await;
    assert_eq!(
        text.unwrap(),
        "Replaced 'a.txt': 1 line before, 1 line now."
    );
    desk.host.undo_last().unwrap();
    desk.call("apply_patch", patch(""), yes()).await.unwrap();
    assert_eq!(desk.text("a.txt"), "1\n");
    assert_eq!(desk.text("moved.txt"), "y\n");
    assert_eq!(desk.text("new/x"), "x\n");
}
