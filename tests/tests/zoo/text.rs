//! Guests whose weapon is what they write.

use std::sync::{Arc, Mutex};

use dunlin_host::call::{Failure, PlanStatus};
use dunlin_host::{Progress, display};
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, assert_alive, call, unplanned};
use serde_json::json;

use crate::assert_one_clear_line;

#[derive(Default)]
struct Messages(Mutex<Vec<String>>);

impl Progress for Messages {
    fn progress(&self, _call: &str, message: &str, percent: Option<u8>) {
        self.0
            .lock()
            .expect("no panic")
            .push(format!("{message} {percent:?}"));
    }
}

/// What the host shows by itself is harmless; what it hands on as the guest's words is said to be.
#[tokio::test]
async fn escapes_stay_text() {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["escapes_everywhere"], PATIENT);
    let mut call = call("escapes_everywhere", json!({ "fail": true }));
    let plan = host.prepare(&call).await.unwrap();
    assert!(plan.question.len() <= 1024);
    let PlanStatus::Ask { notices, .. } = &plan.status else {
        panic!("{:?}", plan.status);
    };
    assert_eq!(notices, &["Outside the project."]);

    let messages = Arc::new(Messages::default());
    let outcome = host
        .run(&call, &unplanned(), Arc::new(Asker::no()), messages.clone())
        .await;
    let failure = outcome.result.unwrap_err();
    assert!(matches!(failure, Failure::Tool { .. }), "{failure:?}");
    for text in [failure.to_string(), failure.for_model()] {
        assert_eq!(display::escape_multiline(&text), text);
        assert!(text.contains("A failure \\u{1b}[2J"), "{text}");
    }
    let messages = std::mem::take(&mut *messages.0.lock().unwrap());
    let [message] = messages.as_slice() else {
        panic!("{messages:?}");
    };
    assert_eq!(display::escape(message), message.as_str());
    assert!(message.ends_with("Some(100)"), "{message}");

    // A result is the model's to read and stays as it is; whoever shows it escapes it.
    call.arguments = json!({ "fail": false });
    let outcome = host
        .run(
            &call,
            &unplanned(),
            Arc::new(Asker::no()),
            Arc::new(dunlin_host::NoProgress),
        )
        .await;
    assert!(
        outcome
            .result
            .unwrap()
            .text
            .starts_with("A result \u{1b}[2J")
    );

    for file in [sandbox.log_file(), sandbox.audit_file()] {
        let bytes = std::fs::read(&file).unwrap();
        let raw = bytes
            .iter()
            .filter(|byte| **byte < b' ' && **byte != b'\n')
            .count();
        assert_eq!(raw, 0, "control characters in {}", file.display());
    }
    let levels: Vec<_> = sandbox
        .log()
        .iter()
        .map(|line| line["level"].clone())
        .collect();
    assert_eq!(levels, ["warn", "error", "error"]);
    assert_alive(&host).await;
}

/// A name of megabytes is refused in a line, not repeated.
#[tokio::test]
async fn huge_names_are_not_repeated() {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["huge_need"], PATIENT);
    for kind in ["path", "nul", "url", "program"] {
        let failure = host
            .prepare(&call("huge_need", json!({ "kind": kind })))
            .await
            .unwrap_err();
        assert_one_clear_line(&failure.to_string());
    }
    let failure = host
        .prepare(&call(&"long".repeat(100_000), json!({})))
        .await
        .unwrap_err();
    assert_one_clear_line(&failure.to_string());
    let failure = host
        .prepare(&call(
            "echo",
            json!({ "text": "t", "x\u{1b}[2J": "y".repeat(100_000) }),
        ))
        .await
        .unwrap_err();
    assert_one_clear_line(&failure.to_string());
    assert_alive(&host).await;
}
