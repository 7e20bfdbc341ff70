//! Time: interruptions are felt at once, limits are kept to, and a user who thinks costs a call nothing.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dunlin_host::ask::{Answer, Ask, DenyAll, Question, Scope};
use dunlin_host::call::Failure;
use dunlin_host::{Host, Limits, NoProgress};
use dunlin_tests::DEADLINE;
use dunlin_tests::sandbox::{LIMITS, SECRET, Sandbox, assert_alive, call, unplanned};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

/// The ways a program may run its futures.
fn runtimes() -> Vec<(&'static str, Runtime)> {
    let workers = |count| {
        let mut builder = Builder::new_multi_thread();
        builder
            .worker_threads(count)
            .enable_all()
            .build()
            .expect("a runtime")
    };
    let one = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    vec![
        ("current thread", one),
        ("one worker", workers(1)),
        ("two workers", workers(2)),
    ]
}

/// Runs a future as a task, and on the thread of `block_on`.
fn everywhere<F>(run: impl Fn(&'static str) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for (name, runtime) in runtimes() {
        runtime.block_on(run(name));
        runtime.block_on(async { tokio::spawn(run(name)).await.expect("the task") });
    }
}

/// Loads what a call needs, so that what follows is the call alone.
async fn warm(host: &Host, guest: &str) {
    let (_, errors) = host.tools().await;
    assert!(errors.is_empty(), "{errors:?}");
    assert_alive(host).await;
    let call = call(guest, json!({}));
    // The first run compiles.
    let _ = host.prepare(&call).await;
}

/// Drops a future while its guest is running, as Ctrl-C does, and says how long that took.
async fn interrupt(future: impl Future) -> Duration {
    let stop = Arc::new(Notify::new());
    let (running, wait) = mpsc::channel::<()>();
    let key = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            wait.recv().expect("the guest runs");
            let pressed = Instant::now();
            stop.notify_one();
            pressed
        }
    });
    {
        let mut future = pin!(future);
        let mut polls = 0;
        let watched = std::future::poll_fn(|context| {
            polls += 1;
            // A guest that gave way a few times is in the middle of its work.
            if polls == 5 {
                running.send(()).expect("somebody waits for the guest");
            }
            future.as_mut().poll(context).map(|_| ())
        });
        tokio::select! {
            () = watched => panic!("it ended by itself after {polls} polls"),
            () = stop.notified() => {}
        }
    }
    let dropped = Instant::now();
    dropped - key.join().expect("the thread of the key")
}

#[test]
fn interruptions_are_felt_at_once() {
    for guest in [
        "loop_forever",
        "host_call_flood",
        "log_forever",
        "loop_in_prepare",
    ] {
        everywhere(move |runtime| async move {
            let sandbox = Sandbox::new();
            // Longer than any test: only the interruption ends it.
            let endless = Duration::from_secs(600);
            let host = sandbox.host(
                &[guest],
                Limits {
                    run_time: endless,
                    ..LIMITS
                },
            );
            warm(&host, guest).await;
            let host = sandbox.host(
                &[guest],
                Limits {
                    run_time: endless,
                    prepare_time: endless,
                    ..LIMITS
                },
            );
            let call = call(guest, json!({}));
            host.tools().await;
            assert_alive(&host).await;
            let spent = if guest == "loop_in_prepare" {
                interrupt(host.prepare(&call)).await
            } else {
                interrupt(host.run(&call, &unplanned(), Arc::new(DenyAll), Arc::new(NoProgress)))
                    .await
            };
            host.cancelled(&call);
            assert!(spent < DEADLINE, "{guest} on {runtime}: {spent:?}");
            if guest != "loop_in_prepare" {
                let last = sandbox.audit().pop().expect("a line of the audit log");
                assert_eq!(
                    (&last["event"], &last["error"]),
                    (&json!("ended"), &json!("cancelled"))
                );
            }
            assert_alive(&host).await;
        });
    }
}

#[test]
fn limits_of_time_are_kept() {
    everywhere(|runtime| async move {
        let sandbox = Sandbox::new();
        let host = sandbox.host(&["loop_forever"], LIMITS);
        warm(&host, "loop_forever").await;
        let call = call("loop_forever", json!({}));
        let outcome = host
            .run(&call, &unplanned(), Arc::new(DenyAll), Arc::new(NoProgress))
            .await;
        assert!(
            matches!(outcome.result, Err(Failure::Fault { .. })),
            "{outcome:?}"
        );
        let late = outcome.duration.saturating_sub(LIMITS.run_time);
        assert!(late < DEADLINE, "{late:?} too late on {runtime}");
    });
}

/// A user who thinks for longer than a call may take: until others, one after the other, have used up their time.
struct Thinker(Host);

#[async_trait::async_trait]
impl Ask for Thinker {
    async fn ask(&self, _question: Question) -> Answer {
        let endless = call("loop_forever", json!({}));
        for _ in 0..2 {
            let plan = unplanned();
            let run = self
                .0
                .run(&endless, &plan, Arc::new(DenyAll), Arc::new(NoProgress));
            let ended = run.await.result.expect_err("its time ends");
            assert!(matches!(ended, Failure::Fault { .. }), "{ended:?}");
        }
        Answer {
            allow: true,
            scope: Scope::Once,
        }
    }
}

#[tokio::test]
async fn thinking_is_not_counted() {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["undeclared", "loop_forever"], LIMITS);
    let call = call("undeclared", json!({ "path": sandbox.secret() }));
    let start = Instant::now();
    let thinker = Arc::new(Thinker(host.clone()));
    let outcome = host
        .run(&call, &unplanned(), thinker, Arc::new(NoProgress))
        .await;
    let elapsed = start.elapsed();
    assert_eq!(outcome.result.expect("its time is not over").text, SECRET);
    let thought = LIMITS.run_time * 2;
    assert!(
        outcome.duration + thought <= elapsed,
        "{:?} of {elapsed:?}",
        outcome.duration
    );
}

/// Dropping the call takes the question back.
#[tokio::test]
async fn an_interrupted_question_is_withdrawn() {
    struct Open {
        asked: Notify,
        withdrawn: Mutex<Option<mpsc::Sender<()>>>,
    }
    #[async_trait::async_trait]
    impl Ask for Open {
        async fn ask(&self, _question: Question) -> Answer {
            // Dropped with this future: then the receiver knows.
            let _open = self.withdrawn.lock().expect("the only question").take();
            self.asked.notify_one();
            std::future::pending().await
        }
    }
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["undeclared"], LIMITS);
    let call = call("undeclared", json!({ "path": sandbox.secret() }));
    let (open, withdrawn) = mpsc::channel();
    let ask = Arc::new(Open {
        asked: Notify::new(),
        withdrawn: Mutex::new(Some(open)),
    });
    let plan = unplanned();
    tokio::select! {
        outcome = host.run(&call, &plan, ask.clone(), Arc::new(NoProgress)) => panic!("{outcome:?}"),
        () = ask.asked.notified() => {}
    }
    assert_eq!(withdrawn.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    host.cancelled(&call);
    assert_alive(&host).await;
}
