//! Guests that show one command and run another.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use dunlin_host::ask::{Answer, Ask, Origin, Question, Scope};
use dunlin_host::call::{Action, Failure};
use dunlin_tests::sandbox::{Asker, assert_alive};
use serde_json::json;

use super::Yard;

#[tokio::test]
async fn what_was_not_shown_is_shown() {
    for (shown, network) in [
        (Some("echo a"), false),
        (None, false),
        (Some("touch ran"), true),
    ] {
        for allow in [true, false] {
            let yard = Yard::new();
            let asker = Arc::new(Declared::new(allow));
            let arguments = json!({ "shown": shown, "run": "touch ran", "network": network });
            let ran = yard
                .call("command_otherwise", arguments, asker.clone())
                .await;
            let context = format!("{shown:?} {network} {allow}");
            let questions = asker.inner.questions();
            let last = questions.last().unwrap();
            assert_eq!(last.origin, Origin::Undeclared, "{context}");
            let with = if network { " with the network" } else { "" };
            let wording = format!(
                "Allow command_otherwise to run 'touch ran'{with}? It did not announce this."
            );
            assert_eq!(last.wording, wording, "{context}");
            let [Action::Command(command)] = last.actions.as_slice() else {
                panic!("{context}: {last:?}");
            };
            assert_eq!(
                (command.line.as_str(), command.network),
                ("touch ran", network)
            );
            assert_eq!(
                yard.sandbox.project().join("ran").exists(),
                allow,
                "{context}"
            );
            match allow {
                true => assert_eq!(ran.unwrap().text, "Exited(0)"),
                false => assert!(matches!(ran, Err(Failure::Denied { .. })), "{ran:?}"),
            }
            assert_alive(&yard.host).await;
        }
    }
}

/// Says yes to what was declared, and to the rest as it was told.
struct Declared {
    inner: Asker,
    allow: bool,
}

impl Declared {
    fn new(allow: bool) -> Declared {
        Declared {
            inner: Asker::yes(),
            allow,
        }
    }
}

#[async_trait::async_trait]
impl dunlin_host::ask::Ask for Declared {
    async fn ask(&self, question: Question) -> dunlin_host::ask::Answer {
        let declared = question.origin == Origin::Declared;
        let mut answer = self.inner.ask(question).await;
        answer.allow = self.allow || declared;
        answer
    }
}

#[tokio::test]
async fn commands_without_end_come_to_one() {
    let yard = Yard::new();
    // One start is what a yes is to; until the session ends it is one to all.
    let asker = Arc::new(Asker::new(Answer {
        allow: true,
        scope: Scope::Session,
    }));
    let failed = yard.call("command_many", json!({}), asker).await;
    let failed = failed.unwrap_err().to_string();
    assert!(failed.contains("has started 16 commands"), "{failed}");
    yard.wait_until_nothing_is_left();
    assert_alive(&yard.host).await;
}

/// What was shown is done once: the next time it may do something else.
#[tokio::test]
async fn a_yes_to_a_command_is_one_to_one_start() {
    let yard = Yard::new();
    let asker = Arc::new(Asker::first_yes());
    let line = "echo a >> ran";
    let arguments = json!({ "shown": line, "run": line, "times": 2 });
    let ran = yard
        .call("command_otherwise", arguments, asker.clone())
        .await;
    assert!(matches!(ran, Err(Failure::Denied { .. })), "{ran:?}");
    assert_eq!(asker.questions().len(), 2);
    let ran = fs::read_to_string(yard.sandbox.project().join("ran"));
    assert_eq!(ran.unwrap(), "a\n");
}

/// Says yes to everything, and so often writes another script before it does.
struct Rewriting {
    script: PathBuf,
    most: usize,
    asked: Mutex<Vec<Question>>,
}

#[async_trait::async_trait]
impl Ask for Rewriting {
    async fn ask(&self, question: Question) -> Answer {
        let mut asked = self.asked.lock().expect("the questions");
        asked.push(question);
        if asked.len() <= self.most {
            let text = format!("echo {} >>ran.txt\n", asked.len());
            fs::write(&self.script, text).expect("the script");
        }
        Answer {
            allow: true,
            scope: Scope::Once,
        }
    }
}

#[tokio::test]
async fn a_script_that_is_written_while_the_user_is_asked_does_not_run_under_that_yes() {
    for (most, ran) in [
        (0, Some("0\n")),
        (1, Some("1\n")),
        (2, Some("2\n")),
        (99, None),
    ] {
        let yard = Yard::new();
        let script = yard.sandbox.project().join("r.sh");
        fs::write(&script, "echo 0 >>ran.txt\n").expect("the script");
        let ask = Arc::new(Rewriting {
            script,
            most,
            asked: Mutex::default(),
        });
        let arguments = json!({ "command": "sh r.sh" });
        let ended = yard
            .call("run_terminal_command", arguments, ask.clone())
            .await;
        assert_eq!(ended.is_ok(), ran.is_some(), "{most}: {ended:?}");
        let found = fs::read_to_string(yard.sandbox.project().join("ran.txt")).ok();
        assert_eq!(found.as_deref(), ran, "{most}");
        let asked = ask.asked.lock().expect("the questions");
        for (number, question) in asked.iter().enumerate() {
            let is_told = question
                .notices
                .iter()
                .any(|notice| notice.ends_with("r.sh has changed since the command was shown."));
            assert_eq!(is_told, number > 0, "{question:?}");
        }
        assert!(most == 99 || asked.len() == most + 1, "{asked:?}");
    }
}
