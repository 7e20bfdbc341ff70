use std::time::Duration;

use futures::StreamExt;
use tokio::time::Instant;

use super::*;
use crate::message::Conversation;
use crate::provider::StreamEvent;
use crate::provider::error::Refusal;
use crate::turn::driver::run_turn;
use crate::turn::event::{OnDenial, TurnEnd};
use crate::turn::scripted_tests::{Piece, World, end, text};

fn refused(status: u16, retry_after: Option<u64>) -> Vec<Piece> {
    vec![Piece::Refuse(ProviderError::Status(Box::new(Refusal {
        status,
        reason: (status == 429).then(|| "too many requests".to_owned()),
        retry_after: retry_after.map(Duration::from_secs),
        ..Refusal::sample()
    })))]
}

fn answered() -> Vec<Piece> {
    vec![text("Hi"), end(&[])]
}

/// Takes a turn; what was told of waits and requests, how it ended, and how long it took.
async fn turn(scripts: Vec<Vec<Piece>>, patience: Duration) -> (Vec<String>, TurnEnd, Duration) {
    let world = World::new(scripts, Some(true));
    let mut conversation = Conversation::new();
    let context = world.context(OnDenial::Stop);
    let start = Instant::now();
    let report = run_turn(&mut conversation, "Go".into(), &context, sleep(patience)).await;
    (world.log(), report.end, start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_again_and_the_wait_is_counted_down() {
    let scripts = vec![refused(429, Some(3)), answered()];
    let (log, end, time) = turn(scripts, Duration::MAX).await;
    assert!(matches!(end, TurnEnd::Answered), "{end:?}");
    assert!((3.0..4.1).contains(&time.as_secs_f64()), "{time:?}");
    let again = |seconds: u64| {
        format!("429 too many requests · trying again in {seconds} s · attempt 2 of 4")
    };
    let (first, rest) = log.split_first().unwrap();
    assert_eq!(first, "request with 1 messages");
    // The jitter is a part of a second: the count begins at 4 and falls one by one.
    assert_eq!(
        rest,
        [
            again(4),
            again(3),
            again(2),
            again(1),
            "no longer waiting".to_owned(),
            "request with 1 messages".to_owned(),
            "text Hi".to_owned(),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn after_a_few_attempts_the_failure_is_told() {
    let scripts = (0..4).map(|_| refused(503, None)).collect();
    let (log, end, time) = turn(scripts, Duration::MAX).await;
    assert!(
        matches!(end, TurnEnd::Failed(ProviderError::Status(_))),
        "{end:?}"
    );
    let requests = log
        .iter()
        .filter(|line| line.starts_with("request"))
        .count();
    assert_eq!(requests, 4, "{log:?}");
    assert!((7.0..=14.1).contains(&time.as_secs_f64()), "{time:?}");
    assert_eq!(
        log.iter()
            .filter(|line| *line == "no longer waiting")
            .count(),
        3
    );
}

#[tokio::test(start_paused = true)]
async fn refusals_are_never_repeated() {
    for status in [400, 401, 403, 404, 422] {
        let (log, end, time) = turn(vec![refused(status, Some(1))], Duration::MAX).await;
        assert!(matches!(end, TurnEnd::Failed(_)), "{end:?}");
        assert_eq!(log, ["request with 1 messages"], "{status}");
        assert_eq!(time, Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_wants_too_long_a_rest_is_given_up() {
    let (log, end, _) = turn(vec![refused(429, Some(300))], Duration::MAX).await;
    let TurnEnd::Failed(error) = end else {
        panic!("{end:?}");
    };
    assert_eq!(
        error.hint().as_deref(),
        Some("the server asks you to wait 5 min; ask again then")
    );
    assert_eq!(log, ["request with 1 messages"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_again_once_a_reply_has_begun() {
    let (log, end, _) = turn(vec![vec![text("Hi"), Piece::Fail]], Duration::MAX).await;
    assert!(matches!(end, TurnEnd::Failed(_)), "{end:?}");
    assert_eq!(log, ["request with 1 messages", "text Hi"]);
}

#[tokio::test(start_paused = true)]
async fn an_interruption_ends_the_wait_at_once() {
    let patience = Duration::from_millis(10_500);
    let (log, end, time) = turn(vec![refused(429, Some(30))], patience).await;
    assert!(matches!(end, TurnEnd::Interrupted), "{end:?}");
    assert!(time - patience < Duration::from_millis(10), "{time:?}");
    assert_eq!(log.last().map(String::as_str), Some("no longer waiting"));
    assert_eq!(
        log.iter()
            .filter(|line| line.starts_with("request"))
            .count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn work_is_done_beside_a_reply_and_does_not_hold_it_up() {
    let events = || -> EventStream {
        Box::pin(stream::iter(["a", "b"]).then(|text| async move {
            sleep(Duration::from_secs(1)).await;
            Ok(StreamEvent::Text(text.to_owned()))
        }))
    };
    for (takes, is_done) in [(0, true), (1, true), (60, false)] {
        let mut done = false;
        let start = Instant::now();
        let work = async {
            sleep(Duration::from_secs(takes)).await;
            done = true;
        };
        let count = beside(events(), work).count().await;
        assert_eq!((count, start.elapsed().as_secs()), (2, 2));
        assert_eq!(done, is_done, "{takes}");
    }
}
