//! Guests that break, or have to be broken off.

use std::sync::Arc;
use std::time::Duration;

use dunlin_host::call::Failure;
use dunlin_host::{Limits, NoProgress, Progress};
use dunlin_tests::sandbox::{
    Asker, LIMITS, PATIENT, Sandbox, assert_alive, call, leaks, play, plugin, unplanned,
};
use serde_json::json;

use crate::assert_one_clear_line;

/// What is left of a call of this guest: its result, or the line that says why there is none.
async fn check(guest: &str, limits: Limits, expected: &str) {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&[guest], limits);
    let before = std::fs::read(sandbox.permissions_file()).expect("the permissions file");
    let call = call(guest, json!({}));
    let result = play(&host, &call, Arc::new(Asker::yes())).await;
    let failure = match result.and_then(|outcome| outcome.result) {
        Ok(success) => panic!("{guest} came through: {}", success.text),
        Err(failure) => failure,
    };
    assert!(matches!(failure, Failure::Fault { .. }), "{failure:?}");
    let line = failure.to_string();
    assert_eq!(line, expected);
    assert_one_clear_line(&line);
    assert_eq!(failure.for_model(), format!("ERROR: {expected}"));
    assert_eq!(leaks(&line), [""; 0]);
    assert_eq!(
        std::fs::read(sandbox.permissions_file()).expect("the permissions file"),
        before
    );
    let last = sandbox.audit().pop();
    assert_alive(&host).await;
    if guest != "loop_in_prepare" && guest != "many_needs" {
        let last = last.expect("a line of the audit log");
        assert_eq!(last["event"], "ended");
        assert_eq!(last["error"], expected);
    }
}

#[tokio::test]
async fn each_ends_in_one_line() {
    for (guest, limits) in [
        ("loop_forever", LIMITS),
        ("loop_in_prepare", LIMITS),
        ("host_call_flood", LIMITS),
        ("log_forever", LIMITS),
        ("allocate_forever", PATIENT),
        ("return_100_mb", PATIENT),
        ("huge_error", PATIENT),
        ("trap", PATIENT),
        ("deep_recursion", PATIENT),
        ("many_needs", PATIENT),
    ] {
        let expected = dunlin_zoo::line_of(guest).expect("a trial of the guest");
        check(guest, limits, expected).await;
    }
}

/// A result that the guest can hold and the host can copy, and that is still too large.
#[tokio::test]
async fn a_result_over_the_limit_is_refused() {
    let sandbox = Sandbox::new();
    let limits = Limits {
        result_bytes: 10,
        ..PATIENT
    };
    let host = sandbox.host(&[], limits);
    for (text, expected) in [
        ("ten bytes!", Ok("ten bytes!")),
        (
            "eleven byte",
            Err("echo returned 11 bytes; at most 10 are allowed"),
        ),
    ] {
        let call = call("echo", json!({ "text": text }));
        let outcome = play(&host, &call, Arc::new(Asker::no())).await.unwrap();
        let result = outcome.result.map(|success| success.text);
        assert_eq!(
            result.as_deref().map_err(ToString::to_string),
            expected.map_err(str::to_owned)
        );
    }
}

/// A million messages: the screen gets a few of them, and the result comes.
#[tokio::test]
async fn progress_is_thinned_out() {
    #[derive(Default)]
    struct Count(std::sync::atomic::AtomicU32);
    impl Progress for Count {
        fn progress(&self, call: &str, message: &str, percent: Option<u8>) {
            assert_eq!(call, "call of progress_flood");
            assert!(message.starts_with("step "), "{message}");
            assert!(percent.is_some_and(|percent| percent <= 100), "{percent:?}");
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["progress_flood"], PATIENT);
    let count = Arc::new(Count::default());
    let call = call("progress_flood", json!({}));
    let outcome = host
        .run(&call, &unplanned(), Arc::new(Asker::no()), count.clone())
        .await;
    assert_eq!(outcome.result.unwrap().text, "done");
    let shown = u128::from(count.0.load(std::sync::atomic::Ordering::Relaxed));
    let periods = outcome.duration.as_millis() / 100;
    assert!(
        (1..=periods + 1).contains(&shown),
        "{shown} messages in {periods} periods"
    );
    assert_alive(&host).await;
}

/// Many at once: none waits for another one's fault.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_side_by_side() {
    let sandbox = Sandbox::new();
    let guests = ["trap", "deep_recursion", "allocate_forever", "loop_forever"];
    let limits = Limits {
        run_time: Duration::from_secs(2),
        ..PATIENT
    };
    let host = sandbox.host(&guests, limits);
    let tasks: Vec<_> = (0..24)
        .map(|number| {
            let host = host.clone();
            let guest = guests[number % guests.len()];
            tokio::spawn(async move {
                let mut call = call(guest, json!({}));
                call.id = format!("call {number}");
                host.run(
                    &call,
                    &unplanned(),
                    Arc::new(Asker::no()),
                    Arc::new(NoProgress),
                )
                .await
            })
        })
        .collect();
    for task in tasks {
        let outcome = task.await.expect("no panic");
        assert!(
            matches!(outcome.result, Err(Failure::Fault { .. })),
            "{outcome:?}"
        );
    }
    assert_alive(&host).await;
}

/// The author learns why and where; what a guest says last acts on nothing.
#[tokio::test]
async fn a_panic_is_told_with_its_place() {
    let sandbox = Sandbox::new();
    let host = sandbox.host_of(vec![plugin("trap")], PATIENT);
    for (text, said) in [
        ("no tide today", "trap crashed: no tide today (".to_owned()),
        (
            "\u{1b}[2J\u{202e}",
            "trap crashed: \\u{1b}[2J\\u{202e} (".to_owned(),
        ),
        (
            &"x".repeat(100_000),
            format!("trap crashed: {}", "x".repeat(100)),
        ),
    ] {
        let call = call("trap", json!({ "text": text }));
        let result = play(&host, &call, Arc::new(Asker::yes())).await;
        let failure = result.and_then(|outcome| outcome.result).unwrap_err();
        let line = failure.to_string();
        assert!(line.starts_with(&said), "{line}");
        assert!(line.len() < 1000, "{line}");
        if text.len() < 100 {
            assert!(line.contains("trap/src/lib.rs:"), "{line}");
        }
    }
}
