//! Changes of a file that need not have been read: what is declared is asked about once, whatever it takes to know it.

use std::fs;
use std::sync::Arc;

use dunlin_host::ask::{Answer, Origin, Question, Scope};
use dunlin_host::call::{Action, Failure};
use dunlin_host::edit::FileEdit;
use dunlin_host::permission::ToolMode;
use dunlin_host::target::Operation;
use dunlin_host::undo::UndoOutcome;
use dunlin_host::{Host, NoProgress};
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, call, play, plugin};
use serde_json::{Value, json};

const ONCE: Answer = Answer {
    allow: true,
    scope: Scope::Once,
};

const ALWAYS: Answer = Answer {
    allow: true,
    scope: Scope::Always,
};

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
        fs::write(self.sandbox.project().join("diary.md"), text).expect("a diary");
    }

    fn text(&self) -> String {
        fs::read_to_string(self.sandbox.project().join("diary.md")).unwrap_or_default()
    }

    /// Plays a call with these arguments beside the path. The result, and what was asked.
    async fn change(
        &self,
        arguments: Value,
        asker: Asker,
    ) -> (Result<Vec<FileEdit>, Failure>, Vec<Question>) {
        let mut all = json!({ "path": "diary.md" });
        let more = arguments.as_object().cloned().unwrap_or_default();
        all.as_object_mut().expect("an object").extend(more);
        let asker = Arc::new(asker);
        let outcome = play(&self.host, &call("diary", all), asker.clone()).await;
        let result = outcome.and_then(|outcome| {
            let edits = outcome.edits;
            outcome.result.map(|_| edits)
        });
        (result, asker.questions())
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
        let edits = result.unwrap();
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
        let made: Vec<Action> = edits.into_iter().map(Action::Edit).collect();
        assert_eq!(made, question.actions, "{how}: what it says that it did");
        assert_eq!(stage.text(), after, "{how}");
        let undone = stage.host.undo_last().unwrap().unwrap();
        assert_eq!(undone.files[0].1, UndoOutcome::Restored, "{how}");
        assert_eq!(stage.text(), "Monday\n", "{how}");
    }
}

/// The content that it makes is known in the middle of the call: that is when it is asked, with the tool's own question.
/// Several calls of one message are shown together and run one after the other: each adds what was shown. What somebody else
/// wrote in between is a conflict.
#[tokio::test]
async fn additions_to_one_file_do_not_exclude_each_other() {
    for between in [None, Some("by an editor\n")] {
        let stage = Stage::new();
        stage.write("zero\n");
        let calls = ["one\n", "two\n"].map(|text| {
            let arguments = json!({ "path": "diary.md", "how": "append", "text": text });
            let mut call = call("diary", arguments);
            call.id = text.to_owned();
            call
        });
        let mut plans = Vec::new();
        for call in &calls {
            let plan = stage.host.prepare(call).await.unwrap();
            let yes = ONCE;
            stage.host.answer(call, &plan, yes).await.unwrap();
            plans.push(plan);
        }
        let mut results = Vec::new();
        for (call, plan) in calls.iter().zip(&plans) {
            let asker = Arc::new(Asker::no());
            let outcome = stage
                .host
                .run(call, plan, asker.clone(), Arc::new(NoProgress));
            results.push(outcome.await.result);
            assert!(asker.questions().is_empty());
            if let Some(text) = between {
                stage.write(text);
            }
        }
        assert!(results[0].is_ok(), "{results:?}");
        match between {
            None => {
                assert!(results[1].is_ok(), "{results:?}");
                assert_eq!(stage.text(), "zero\none\ntwo\n");
            }
            Some(_) => {
                let error = results[1].as_ref().unwrap_err().to_string();
                assert!(error.contains("changed since"), "{error}");
            }
        }
    }
}

/// What was shown is done once.
#[tokio::test]
async fn an_addition_is_made_once_for_a_yes() {
    let stage = Stage::new();
    stage.write("");
    let arguments = json!({ "how": "append", "text": "one\n", "again": "one\n" });
    let (result, questions) = stage.change(arguments, Asker::first_yes()).await;
    assert!(result.is_err(), "{result:?}");
    assert!(questions.len() <= 2, "{questions:?}");
    assert_eq!(stage.text(), "one\n");
}

#[tokio::test]
async fn a_change_that_was_not_announced_is_allowed_once_at_a_time() {
    let stage = Stage::new();
    stage.write("");
    let arguments = json!({ "how": "append", "text": "one\n", "silent": true });
    for _ in 0..2 {
        let (result, questions) = stage.change(arguments.clone(), Asker::new(ALWAYS)).await;
        assert!(result.is_ok(), "{result:?}");
        let [question] = questions.as_slice() else {
            panic!("not one question: {questions:?}");
        };
        assert_eq!(question.longest, Scope::Once);
        let said = question.notices.join(" ");
        assert!(
            said.contains("not announced are asked about each time"),
            "{said}"
        );
    }
    // An announced one may be allowed for longer.
    let arguments = json!({ "how": "append", "text": "one\n", "later": true });
    let (_, questions) = stage.change(arguments, Asker::yes()).await;
    assert_eq!(questions[0].longest, Scope::Always);
}

#[tokio::test]
async fn what_only_the_run_can_tell_is_asked_about_when_it_is_known() {
    let stage = Stage::new();
    stage.write("Monday\n");
    let arguments = json!({ "how": "capitals", "text": "", "later": true });
    let (result, questions) = stage.change(arguments.clone(), Asker::yes()).await;
    assert_eq!(result.unwrap().len(), 1);
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
        ("Monday", "the text to replace is in the file 2 times"),
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

/// A yes is a yes to the difference that was shown, and to no other.
#[tokio::test]
async fn a_yes_to_one_change_is_none_to_the_next() {
    let stage = Stage::new();
    stage.write("");
    let arguments = json!({ "how": "append", "text": "one\n", "later": true, "again": "two\n" });
    let (result, questions) = stage.change(arguments.clone(), Asker::yes()).await;
    assert_eq!(result.unwrap().len(), 2);
    let diffs: Vec<String> = questions.iter().map(diff_of).collect();
    assert_eq!(diffs.len(), 2, "{diffs:?}");
    assert!(
        diffs[0].contains("+one") && diffs[1].contains("+two"),
        "{diffs:?}"
    );
    // Whoever may write the file as he likes is not asked.
    let permissions = stage.host.permissions();
    permissions.allow_for_session("./diary.md", "rw?").unwrap();
    let (result, questions) = stage.change(arguments, Asker::no()).await;
    assert_eq!((result.unwrap().len(), questions.len()), (2, 0));
    // So it is where whatever this tool declares is allowed.
    permissions.allow_for_session("./diary.md", "???").unwrap();
    permissions.set_tool_mode("diary", ToolMode::Always);
    let arguments = json!({ "how": "append", "text": "three\n", "later": true });
    let (result, questions) = stage.change(arguments, Asker::no()).await;
    assert_eq!((result.unwrap().len(), questions.len()), (1, 0));
}

/// Neither is a yes to "write this file".
#[tokio::test]
async fn a_need_to_write_does_not_stand_for_the_difference() {
    let stage = Stage::new();
    stage.write("");
    let arguments = json!({ "how": "append", "text": "one\n", "later": true, "writes": true });
    let (result, questions) = stage.change(arguments, Asker::yes()).await;
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(questions.len(), 2, "{questions:?}");
    assert!(diff_of(&questions[1]).contains("+one"));
}

/// What a file holds, and whether it is there, is told only to whoever may read it.
#[tokio::test]
async fn a_change_tells_nothing_of_a_file_that_may_not_be_read() {
    let stage = Stage::new();
    let secret = stage.sandbox.project().join(".env");
    let guess = |old: &str| json!({ "path": ".env", "how": "replace", "text": "x", "old": old, "silent": true });
    for content in [None, Some("KEY=abc\n")] {
        if let Some(content) = content {
            fs::write(&secret, content).unwrap();
            // That it was read in this session, in another call, changes nothing.
            let read = json!({ "path": ".env", "how": "capitals", "text": "", "later": true });
            let (result, _) = stage.change(read, Asker::yes()).await;
            assert!(result.is_ok(), "{result:?}");
        }
        for old in ["KEY=A", "KEY=B", "", "K"] {
            let (result, questions) = stage.change(guess(old), Asker::no()).await;
            assert!(matches!(result, Err(Failure::Denied { .. })), "{result:?}");
            let [question] = questions.as_slice() else {
                panic!("not one question: {questions:?}");
            };
            assert!(
                question.wording.starts_with("Allow diary to read "),
                "{question:?}"
            );
            assert_eq!(
                (question.actions.len(), question.origin),
                (0, Origin::Undeclared)
            );
        }
    }
    // With a yes, there is an answer.
    let (result, _) = stage.change(guess("KEY=B"), Asker::yes()).await;
    let failure = result.unwrap_err().to_string();
    assert!(failure.contains("not in the file"), "{failure}");
}

/// A declared change of a file that may not be read yet is asked about in two steps, and is still declared.
#[tokio::test]
async fn a_declared_change_of_a_secret_is_shown_once_it_may_be_read() {
    for (declared, origin) in [
        (None, Origin::Declared),
        (Some("C=3\n"), Origin::Undeclared),
    ] {
        let stage = Stage::new();
        let secret = stage.sandbox.project().join(".env");
        fs::write(&secret, "A=1\n").unwrap();
        let arguments =
            json!({ "path": ".env", "how": "append", "text": "B=2\n", "declared": declared });
        let (result, questions) = stage.change(arguments, Asker::yes()).await;
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(questions.len(), 2, "{questions:?}");
        assert_eq!(questions[0].origin, Origin::Declared);
        assert_eq!(questions[1].origin, origin);
        assert!(diff_of(&questions[1]).contains("+B=2"));
    }
}

/// What a call changed is known even where it ends badly: here the user says no to the second change.
#[tokio::test]
async fn what_a_failed_call_has_changed_is_told() {
    let stage = Stage::new();
    stage.write("");
    let arguments = json!({ "path": "diary.md", "how": "append", "text": "one\n", "again": "two\n", "later": true });
    let asker = Arc::new(Asker::first_yes());
    let outcome = play(&stage.host, &call("diary", arguments), asker).await;
    let outcome = outcome.unwrap();
    assert!(
        matches!(outcome.result, Err(Failure::Denied { .. })),
        "{outcome:?}"
    );
    assert_eq!(outcome.edits.len(), 1);
    assert_eq!(stage.text(), "one\n");
}

/// The kind of question and the kind of refusal tell nothing, whatever was shown before.
#[tokio::test]
async fn a_shown_change_opens_no_other() {
    let stage = Stage::new();
    let secret = stage.sandbox.project().join(".env");
    for old in ["A=1", "A=2"] {
        // Read in this session, by another call, which made it `A=1`.
        let read = json!({ "path": ".env", "how": "capitals", "text": "", "later": true });
        fs::write(&secret, "a=1\n").unwrap();
        let (result, _) = stage.change(read, Asker::yes()).await;
        assert!(result.is_ok(), "{result:?}");
        let arguments =
            json!({ "path": ".env", "how": "replace", "text": "z", "old": old, "shown": "#\n" });
        let (result, questions) = stage.change(arguments, Asker::first_yes()).await;
        let needs: Vec<_> = questions
            .iter()
            .map(|question| question.needs[0].operation)
            .collect();
        assert_eq!(
            needs,
            [Operation::Write, Operation::Read],
            "{old}: {result:?}"
        );
        assert!(matches!(result, Err(Failure::Denied { .. })), "{result:?}");
    }
}
