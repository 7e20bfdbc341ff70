//! Changes of a file that need not have been read: what is declared is asked about once, whatever it takes to know it.

use std::fs;
use std::sync::Arc;

use dunlin_host::Host;
use dunlin_host::ask::{Origin, Question};
use dunlin_host::call::{Action, Failure};
use dunlin_host::undo::Fate;
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, call, play, plugin};
use serde_json::{Value, json};

/// A host with the guest that changes files.
struct Stage {
    sandbox: Sandbox,
    host: Host,
}

impl Stage {
    fn new() -> Stage {
        let sandbox = Sandbox::new();
        let host = sandbox.host_of(vec![plugin("diary")], PATIENT);
        host.begin_turn();
        Stage { sandbox, host }
    }

    fn write(&self, text: &str) {
        fs::write(self.sandbox.project().join("diary.md"), text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.sandbox.project().join("diary.md")).unwrap_or_default()
    }

    /// Plays a call with these arguments beside the path. The result, and what was asked.
    async fn change(
        &self,
        arguments: Value,
        asker: Asker,
    ) -> (Result<String, Failure>, Vec<Question>) {
        let mut all = json!({ "path": "diary.md" });
        let more = arguments.as_object().cloned().unwrap_or_default();
        all.as_object_mut().unwrap().extend(more);
        let asker = Arc::new(asker);
        let outcome = play(&self.host, &call("diary", all), asker.clone()).await;
        let result = outcome.and_then(|outcome| outcome.result);
        (result.map(|success| success.text), asker.questions())
    }
}

fn diff_of(question: &Question) -> String {
    match question.actions.as_slice() {
        [Action::Edit(edit)] => edit.diff.to_string(),
        other => panic!("not one edit: {other:?}"),
    }
}

#[tokio::test]
async fn what_is_declared_is_asked_about_once_and_can_be_undone() {
    for (how, old, wording, after) in [
        (
            "append",
            None,
            "Append to file 'diary.md'?",
            "Monday\nTuesday\n",
        ),
        (
            "replace",
            Some("Mon"),
            "Replace text in file 'diary.md'?",
            "Tuesday\nday\n",
        ),
        ("write", None, "Rewrite file 'diary.md'?", "Tuesday\n"),
    ] {
        let stage = Stage::new();
        stage.write("Monday\n");
        let arguments = json!({ "how": how, "text": "Tuesday\n", "old": old });
        let (result, questions) = stage.change(arguments, Asker::yes()).await;
        assert!(result.is_ok(), "{how}: {result:?}");
        let [question] = questions.as_slice() else {
            panic!("{how}: not one question: {questions:?}");
        };
        assert_eq!(
            (question.wording.as_str(), question.origin),
            (wording, Origin::Declared)
        );
        assert!(
            diff_of(question).contains("+Tuesday"),
            "{how}: {question:?}"
        );
        assert_eq!(stage.text(), after, "{how}");
        let undone = stage.host.undo_last().unwrap().unwrap();
        assert_eq!(undone.files[0].1, Fate::Restored, "{how}");
        assert_eq!(stage.text(), "Monday\n", "{how}");
    }
}

/// The content that it makes is known in the middle of the call: that is when it is asked, with the tool's own question.
#[tokio::test]
async fn what_only_the_run_can_tell_is_asked_about_when_it_is_known() {
    let stage = Stage::new();
    stage.write("Monday\n");
    let arguments = json!({ "how": "capitals", "text": "", "later": true });
    let (result, questions) = stage.change(arguments.clone(), Asker::yes()).await;
    assert_eq!(result.unwrap(), "1 lines");
    let [question] = questions.as_slice() else {
        panic!("not one question: {questions:?}");
    };
    assert_eq!(question.wording, "Keep the diary 'diary.md'?");
    assert_eq!(question.origin, Origin::Declared);
    assert_eq!(diff_of(question), "@@ -1 +1 @@\n-Monday\n+MONDAY\n");
    assert_eq!(stage.text(), "MONDAY\n");
    // A no leaves everything as it is.
    stage.write("Tuesday\n");
    let (result, questions) = stage.change(arguments, Asker::no()).await;
    assert!(matches!(result, Err(Failure::Denied { .. })), "{result:?}");
    assert_eq!(questions.len(), 1);
    assert_eq!(stage.text(), "Tuesday\n");
}

/// A week of entries after a single yes: nothing is asked twice.
#[tokio::test]
async fn a_diary_is_kept_for_a_week_without_another_question() {
    for later in [false, true] {
        let stage = Stage::new();
        stage.write("");
        let permissions = stage.host.permissions();
        permissions.allow_for_session("./diary.md", "rw?").unwrap();
        for day in 1..=7 {
            let text = format!("day {day}\n");
            let arguments = json!({ "how": "append", "text": text, "later": later });
            let (result, questions) = stage.change(arguments, Asker::no()).await;
            assert!(result.is_ok(), "later: {later}, day {day}: {result:?}");
            assert_eq!(questions.len(), 0, "later: {later}, day {day}");
        }
        assert_eq!(stage.text().lines().count(), 7);
    }
}

#[tokio::test]
async fn another_change_than_the_declared_one_is_asked_about_whatever_was_granted() {
    for granted in [false, true] {
        let stage = Stage::new();
        stage.write("Monday\n");
        if granted {
            let permissions = stage.host.permissions();
            permissions.allow_for_session("./", "rw?").unwrap();
        }
        let arguments = json!({ "how": "append", "text": "harmful\n", "declared": "harmless\n" });
        let (result, questions) = stage.change(arguments, Asker::yes()).await;
        assert!(result.is_ok(), "{result:?}");
        let question = questions.last().unwrap();
        assert_eq!(question.origin, Origin::Undeclared, "granted: {granted}");
        assert!(diff_of(question).contains("+harmful"));
        assert_eq!(questions.len(), 2 - usize::from(granted));
    }
}

#[tokio::test]
async fn what_is_denied_or_does_not_fit_changes_nothing() {
    let stage = Stage::new();
    stage.write("Monday, Monday\n");
    let replace = |old: &str| json!({ "how": "replace", "text": "Tuesday", "old": old });
    for (old, said) in [
        ("Friday", "the text to replace is not in the file"),
        ("Monday", "the text to replace is in the file several times"),
        ("", "the text to replace is empty"),
    ] {
        let (result, questions) = stage.change(replace(old), Asker::yes()).await;
        let failure = result.unwrap_err().to_string();
        assert!(failure.contains(said), "{failure}");
        assert_eq!(questions.len(), 0, "{old}");
    }
    stage
        .host
        .permissions()
        .allow_for_session("./diary.md", "?-?")
        .unwrap();
    for later in [false, true] {
        let arguments = json!({ "how": "append", "text": "x\n", "later": later });
        let (result, questions) = stage.change(arguments, Asker::yes()).await;
        assert!(matches!(result, Err(Failure::Denied { .. })), "{result:?}");
        assert_eq!(questions.len(), 0);
    }
    assert_eq!(stage.text(), "Monday, Monday\n");
}
