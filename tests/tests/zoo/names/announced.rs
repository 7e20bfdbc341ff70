//! What of a change of names an announcement covers, and what the question says beyond it.

use std::fs;

use dunlin_host::ask::{Origin, Question, Scope};
use dunlin_tests::sandbox::Asker;

use super::Stage;

/// A file that the call has changed itself did not change since it was proposed. What comes next was not shown, and is asked
/// about.
#[tokio::test]
async fn one_name_can_be_changed_twice_in_a_call() {
    for (plan, steps, left) in [
        ("write a x", ["write a x", "remove a"], vec![]),
        ("write a x", ["write a x", "rename a b"], vec![("b", "x")]),
        ("remove a", ["remove a", "write a y"], vec![("a", "y")]),
        (
            "rename a b",
            ["rename a b", "write a y"],
            vec![("b", "one\ntwo\n"), ("a", "y")],
        ),
    ] {
        let stage = Stage::new();
        stage.grant("./", "rw?");
        let before = stage.picture();
        let (result, questions, _) = stage.play(&[plan], &steps, Asker::yes()).await;
        assert_eq!(result.unwrap(), ["ok", "ok"], "{steps:?}");
        let origins: Vec<_> = questions.iter().map(|it| it.origin).collect();
        assert_eq!(origins, [Origin::Undeclared], "{steps:?}");
        for name in ["a", "b"] {
            let expected = left.iter().find(|(left, _)| *left == name);
            let found = fs::read_to_string(stage.at(name)).ok();
            assert_eq!(
                found.as_deref(),
                expected.map(|(_, text)| *text),
                "{steps:?}"
            );
        }
        stage.host.undo_last().unwrap().unwrap();
        assert_eq!(stage.picture(), before, "{steps:?}");
    }
}

/// Whatever may be written: that a file is changed does not say that it is removed.
#[tokio::test]
async fn an_announced_change_is_neither_a_removal_nor_a_rename() {
    for (plan, step, asked) in [
        (&["change a"][..], "write a x", ""),
        (&["change a"], "remove a", "remove"),
        (&["change a", "change b"], "rename a b", "rename"),
        (&["change d"], "mkdir d", "make"),
        (&["rename a b"], "rename a b", ""),
        (&["remove a"], "remove a", ""),
    ] {
        let stage = Stage::new();
        stage.grant("./", "rw?");
        let (result, questions, _) = stage.play(plan, &[step], Asker::yes()).await;
        assert_eq!(result.unwrap(), ["ok"], "{plan:?} {step}");
        let wordings: Vec<_> = questions.iter().map(|it| it.wording.as_str()).collect();
        match (asked, wordings.as_slice()) {
            ("", []) => {}
            (verb, [wording]) if !verb.is_empty() => {
                assert!(
                    wording.starts_with(&format!("Allow names to {verb} ")),
                    "{wording}"
                );
                assert_eq!(questions[0].longest, Scope::Once);
            }
            other => panic!("{plan:?} {step}: {other:?}"),
        }
    }
}

/// A rename must not take a secret out of its protection unnoticed.
#[tokio::test]
async fn a_rename_of_a_secret_warns() {
    let ends =
        "Dunlin protects '.env' as a secret. Under its new name, it would no longer be protected.";
    let begins = "The new name of 'a' is one that usually holds secrets: programs may use what is in it as such.";
    for (step, warning) in [
        ("rename .env b", Some(ends)),
        ("rename a .env.local", Some(begins)),
        ("rename .env .env.local", None),
        ("rename a b", None),
    ] {
        for plan in [&[][..], &[step]] {
            let stage = Stage::new();
            let (result, questions, _) = stage.play(plan, &[step], Asker::yes()).await;
            assert_eq!(result.unwrap(), ["ok"], "{step}");
            // Whether `.env` may be read is a question of its own.
            let about_names =
                |it: &&Question| it.origin == Origin::Declared || !it.actions.is_empty();
            let questions = questions.iter().filter(about_names);
            for question in questions {
                let notices = &question.notices;
                let warned = notices
                    .iter()
                    .filter(|it| [ends, begins].contains(&it.as_str()));
                let warned: Vec<_> = warned.collect();
                assert_eq!(warned, Vec::from_iter(warning), "{step}: {notices:?}");
            }
        }
    }
}
