//! Guests that want answers in words, where and as often as they should not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dunlin_host::NoProgress;
use dunlin_host::ask::{Answer, Ask, DenyAll, Question, TextQuestion};
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, assert_alive, call, play, unplanned};
use serde_json::json;

/// Answers every question for a text in the same way, and counts them.
struct Talker(AtomicUsize);

#[async_trait::async_trait]
impl Ask for Talker {
    async fn ask(&self, _question: Question) -> Answer {
        Answer::DENY
    }

    async fn ask_text(&self, question: TextQuestion) -> Option<String> {
        assert_eq!(question.tool, "ask_forever");
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        assert_eq!(question.question, format!("Question {number}?"));
        // Larger than an answer may be: the rest is cut.
        Some("x".repeat(1_000_000))
    }
}

async fn told(ask: Arc<dyn Ask>) -> Vec<String> {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["ask_forever"], PATIENT);
    let call = call("ask_forever", json!({}));
    let outcome = host
        .run(&call, &unplanned(), ask, Arc::new(NoProgress))
        .await;
    let text = outcome.result.expect("a result").text;
    assert_alive(&host).await;
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_person_is_asked_a_few_times_and_no_more() {
    let talker = Arc::new(Talker(AtomicUsize::new(0)));
    let told = told(talker.clone()).await;
    assert_eq!(
        told,
        [
            "the question is empty",
            "the question has 5000 bytes; at most 4096 can be asked",
            "there are 21 options; at most 20 can be offered",
            "option 1 is empty",
            "option 1 has 501 bytes; at most 500 can be offered",
            "8 of 1000 answered",
            "this call has asked 8 times already; no more are possible",
        ]
    );
    assert_eq!(talker.0.load(Ordering::Relaxed), 8);
}

#[tokio::test]
async fn nobody_is_there() {
    let told = told(Arc::new(DenyAll)).await;
    assert_eq!(told[5], "0 of 1000 answered");
}

#[tokio::test]
async fn nothing_is_asked_before_the_call_runs() {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["ask_in_prepare"], PATIENT);
    let call = call("ask_in_prepare", json!({}));
    let failure = play(&host, &call, Arc::new(Asker::yes())).await;
    let failure = failure.expect_err("a failure").to_string();
    assert_eq!(failure, "nothing can be touched while a call is prepared");
    assert_alive(&host).await;
}
