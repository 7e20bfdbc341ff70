use std::path::Path;
use std::pin::Pin;

use dunlin_host::ask::{Origin, Scope};
use dunlin_host::target::{Need, Operation, Target};
use dunlin_terminal::approval::pending::Reply as PendingReply;
use dunlin_terminal::ui::style::Styles;
use serde_json::json;

use super::*;

const WINDOW: Window = Window {
    columns: 100,
    rows: 60,
    styles: Styles::plain(),
};

const YES: Choice = Choice::Answer(Answer {
    allow: true,
    scope: Scope::Once,
});
const NO: Choice = Choice::Answer(Answer {
    allow: false,
    scope: Scope::Once,
});

/// The call with this number of the session, and this one of its turn.
fn entry(index: usize, number: usize) -> Entry {
    let path = format!("/outside/{index}");
    Entry {
        number,
        ..Entry::asked(
            index,
            Question {
                call: format!("call_{index}"),
                tool: "read_file".to_owned(),
                arguments: json!({ "file_path": path }),
                wording: format!("Read file '{path}'?"),
                needs: vec![Need {
                    target: Target::Path(Path::new(&path).to_path_buf()),
                    operation: Operation::Read,
                }],
                actions: Vec::new(),
                notices: Vec::new(),
                lasting: Vec::new(),
                longest: Scope::Always,
                origin: Origin::Declared,
            },
        )
    }
}

fn of_subagent(index: usize, number: usize, name: &str) -> Entry {
    Entry {
        subagent: Some(name.to_owned()),
        ..entry(index, number)
    }
}

fn running(index: usize) -> Entry {
    Entry {
        runs: true,
        ..entry(index, 0)
    }
}

type Waiting<'a> = Pin<Box<dyn Future<Output = Resolution> + 'a>>;

/// Calls of a turn that wait; they do from now on.
fn waits(queue: &ApprovalQueue, turn: u64, entries: Vec<Entry>) -> Waiting<'_> {
    let first = entries.first().map_or(0, |entry| entry.number as u64);
    let mut waiting: Waiting<'_> = Box::pin(queue.decide(Reply { turn, first }, entries));
    assert_eq!(resolved(&mut waiting), None);
    waiting
}

/// A call that runs and asks something.
fn asks(queue: &ApprovalQueue, entry: Entry) -> Waiting<'_> {
    let waits = queue.add(Source::Running, None, vec![entry]);
    let mut waiting: Waiting<'_> = Box::pin(waits.resolution());
    assert_eq!(resolved(&mut waiting), None);
    waiting
}

/// What was decided about calls that wait, if anything was.
fn resolved(waiting: &mut Waiting<'_>) -> Option<Resolution> {
    futures::FutureExt::now_or_never(waiting)
}

/// The decisions, by the numbers of the calls in their turn.
fn decided(waiting: &mut Waiting<'_>) -> Vec<(usize, Choice)> {
    match resolved(waiting) {
        Some(Resolution::Decided(decisions)) => {
            let decisions = decisions.into_iter();
            decisions.map(|it| (it.number, it.choice)).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// The same of a call that runs, which has no number in a turn.
fn answered(waiting: &mut Waiting<'_>) -> Vec<Choice> {
    let decisions = decided(waiting).into_iter();
    decisions.map(|(_, choice)| choice).collect()
}

/// What is shown, in the order in which it is.
fn open(queue: &ApprovalQueue) -> String {
    queue.state().open(WINDOW).join("\n")
}

/// Types a line below what waits. What it decides is passed on; otherwise this is what is said.
fn types(queue: &ApprovalQueue, line: &str) -> String {
    open(queue);
    let reply = queue.state().approvals.answer(line, WINDOW);
    match reply {
        PendingReply::Resolve(_, resolution) => {
            queue.resolve(&resolution);
            String::new()
        }
        PendingReply::Say(rows) | PendingReply::Keep(rows) => rows.join("\n"),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn questions_stand_in_the_order_in_which_they_came() {
    let queue = ApprovalQueue::default();
    let _own = waits(&queue, 0, vec![entry(1, 0), entry(2, 1)]);
    let _subagent = waits(&queue, 3, vec![of_subagent(5, 0, "research 3")]);
    let _running = asks(&queue, running(4));
    let shown = open(&queue);
    let places = [
        "? 1 read_file",
        "? 2 read_file",
        "? 5 [research 3]",
        "? 4 read_file",
    ]
    .map(|text| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {shown}"))
    });
    assert!(places.is_sorted(), "{shown}");
    assert!(shown.contains("4 calls need your approval"), "{shown}");
    assert!(!queue.state().is_outdated());
}

#[test]
fn each_answer_goes_to_whoever_asked() {
    let queue = ApprovalQueue::default();
    // All of them are number 0 of their turns.
    let mut own = waits(&queue, 0, vec![entry(1, 0)]);
    let mut first = waits(&queue, 1, vec![of_subagent(5, 0, "research 1")]);
    let mut second = waits(
        &queue,
        2,
        vec![
            of_subagent(6, 0, "research 2"),
            of_subagent(7, 1, "research 2"),
        ],
    );
    let mut running = asks(&queue, running(3));
    open(&queue);
    assert!(types(&queue, "y").contains("Which of the 5 calls?"));
    assert!(types(&queue, "y 9").contains("No pending call 9"));
    types(&queue, "n 7 not that one");
    assert_eq!(decided(&mut second), [(1, NO)]);
    assert!(
        [&mut own, &mut first, &mut running]
            .into_iter()
            .all(|it| resolved(it).is_none())
    );
    // Its turn comes back with what is still open, under the same number.
    let mut second = waits(&queue, 2, vec![of_subagent(6, 0, "research 2")]);
    open(&queue);
    types(&queue, "y 3");
    assert_eq!(answered(&mut running), [YES]);
    types(&queue, "y 6 1");
    assert_eq!(decided(&mut second), [(0, YES)]);
    assert_eq!(decided(&mut own), [(0, YES)]);
    assert_eq!(resolved(&mut first), None);
    types(&queue, "y");
    assert_eq!(decided(&mut first), [(0, YES)]);
    assert!(queue.state().is_empty());
}

#[test]
fn an_answer_to_all_is_for_the_parent_and_its_subagents() {
    let queue = ApprovalQueue::default();
    let mut own = asks(&queue, running(2));
    let mut subagent = waits(&queue, 1, vec![of_subagent(5, 0, "research 1")]);
    open(&queue);
    types(&queue, "y all");
    assert_eq!(answered(&mut own), [YES]);
    assert_eq!(decided(&mut subagent), [(0, YES)]);
}

#[test]
fn a_question_that_disappears_is_not_answered() {
    let queue = ApprovalQueue::default();
    let mut own = waits(&queue, 0, vec![entry(1, 0)]);
    let cancelled = waits(&queue, 1, vec![of_subagent(5, 0, "research 1")]);
    open(&queue);
    drop(cancelled);
    assert!(queue.state().is_outdated(), "it is still shown");
    assert!(!open(&queue).contains("research 1"));
    assert!(types(&queue, "y 5").contains("No pending call 5: call 1 is pending."));
    // A call that runs and was cancelled, too.
    drop(asks(&queue, running(2)));
    open(&queue);
    types(&queue, "y");
    assert_eq!(decided(&mut own), [(0, YES)]);
    // Nothing is left, and nobody is told twice.
    drop(own);
    assert!(queue.state().is_empty());
    assert_eq!(open(&queue).matches("read_file").count(), 0);
}

#[test]
fn what_was_decided_for_a_call_that_is_gone_changes_nothing() {
    let queue = ApprovalQueue::default();
    let cancelled = waits(&queue, 1, vec![of_subagent(5, 0, "research 1")]);
    let mut other = waits(&queue, 2, vec![of_subagent(6, 0, "research 2")]);
    open(&queue);
    // The answer was understood before the call went.
    let reply = queue.state().approvals.answer("y 5", WINDOW);
    let PendingReply::Resolve(_, resolution) = reply else {
        panic!("{reply:?}");
    };
    drop(cancelled);
    assert!(queue.resolve(&resolution));
    assert_eq!(resolved(&mut other), None);
    assert!(open(&queue).contains("research 2"));
}

#[test]
fn what_is_for_whole_turns_leaves_a_call_that_runs() {
    let queue = ApprovalQueue::default();
    let mut subagent = waits(&queue, 1, vec![of_subagent(5, 0, "research 1")]);
    let mut running = asks(&queue, running(2));
    assert!(queue.resolve(&Resolution::Reconsider));
    assert_eq!(resolved(&mut subagent), Some(Resolution::Reconsider));
    assert_eq!(resolved(&mut running), None);
    // Whoever asks for the end of a turn that does not wait here has to end it elsewhere.
    assert!(!queue.resolve(&Resolution::Stop));
    assert_eq!(resolved(&mut running), Some(Resolution::Stop));
    let mut own = waits(&queue, 0, vec![entry(1, 0)]);
    assert!(queue.resolve(&Resolution::Stop));
    assert_eq!(resolved(&mut own), Some(Resolution::Stop));
}

/// Time is paused: what would wait for longer waits for ever.
#[tokio::test(start_paused = true)]
async fn a_list_is_shown_once_where_a_turn_comes_back_at_once() {
    let queue = ApprovalQueue::default();
    let calls = || {
        vec![
            of_subagent(5, 0, "research 1"),
            of_subagent(6, 1, "research 1"),
        ]
    };
    let mut subagent = waits(&queue, 1, calls());
    let _other = waits(&queue, 2, vec![of_subagent(7, 0, "research 2")]);
    queue.waits().await;
    open(&queue);
    types(&queue, "y 5");
    assert_eq!(decided(&mut subagent), [(0, YES)]);
    let mut shown = Box::pin(queue.waits());
    assert!(
        futures::poll!(shown.as_mut()).is_pending(),
        "it may come back"
    );
    let _subagent = waits(&queue, 1, calls()[1..].to_vec());
    shown.await;
    let rows = open(&queue);
    assert!(rows.contains(" 6 ") && !rows.contains("? 5"), "{rows}");
    // One that runs and asks nothing any more is not waited for.
    types(&queue, "y 7");
    queue.waits().await;
}

#[test]
fn a_line_that_was_begun_for_other_calls_is_no_answer() {
    for (line, is_over, expected) in [
        ("", false, Begun::Dropped),
        ("y", false, Begun::Dropped),
        ("y all", false, Begun::Dropped),
        ("y a", true, Begun::Dropped),
        ("always all", false, Begun::Dropped),
        ("y 5", false, Begun::Stays),
        ("y 5 6", false, Begun::Stays),
        ("tell me what the other one has found", false, Begun::Stays),
        ("y 5", true, Begun::IsForLater),
        (
            "tell me what the other one has found",
            true,
            Begun::IsForLater,
        ),
        ("                         ", true, Begun::Stays),
    ] {
        assert_eq!(Begun::of(line, is_over), expected, "{line:?}");
    }
}
