use std::cell::RefCell;
use std::future::pending;

use super::*;
use crate::message::Conversation;
use crate::provider::error::{ProfileChange, ProviderError, Refusal};
use crate::request::editor::SectionId;
use crate::turn::driver::run_turn;
use crate::turn::pause::NextRequest;
use crate::turn::scripted_tests::{Piece, World, end, text};
use crate::turn::{CancelReason, OnDenial, TurnEnd, TurnReport};

/// What the user does with one paused request.
type Step = Box<dyn FnOnce(PausedRequest<'_>) -> Verdict>;

/// Pauses as many requests of a turn as there are steps.
struct Steps {
    steps: RefCell<Vec<Step>>,
}

impl Steps {
    fn new(steps: Vec<Step>) -> Steps {
        let mut steps = steps;
        steps.reverse();
        Steps {
            steps: RefCell::new(steps),
        }
    }
}

#[async_trait(?Send)]
impl Interceptor for Steps {
    fn pauses(&self, _next: NextRequest) -> bool {
        !self.steps.borrow().is_empty()
    }

    async fn review(&self, paused: PausedRequest<'_>) -> Verdict {
        let step = self.steps.borrow_mut().pop();
        let step = step.expect("no request is paused again without a reason");
        step(paused)
    }
}

fn step(act: impl FnOnce(PausedRequest<'_>) -> Verdict + 'static) -> Step {
    Box::new(act)
}

/// Sends the request after these leaves were set.
fn send(edits: &'static [(&'static str, &'static str)]) -> Step {
    step(move |mut paused| {
        for (path, value) in edits {
            paused.request.set(path, value).unwrap();
        }
        Verdict::Send(Box::new(paused.request))
    })
}

fn cancel(reason: CancelReason) -> Step {
    step(move |_| Verdict::Cancel(reason))
}

async fn turn(world: &World, steps: Vec<Step>) -> (TurnReport, Conversation) {
    let steps = Steps::new(steps);
    let mut context = world.context(OnDenial::Stop);
    context.interceptor = &steps;
    let mut conversation = Conversation::new();
    let report = run_turn(&mut conversation, "Go".into(), &context, pending()).await;
    (report, conversation)
}

fn answered() -> Vec<Piece> {
    vec![text("Hi"), end(&[])]
}

#[tokio::test]
async fn what_is_sent_is_what_the_user_made_of_the_request() {
    let world = World::new(vec![vec![end(&["a.txt"])], answered()], Some(true));
    let steps = vec![
        step(|paused| {
            assert_eq!((paused.round, paused.messages.len()), (1, 1));
            assert_eq!((paused.last_sent.as_ref(), paused.notice), (None, None));
            let mut request = paused.request;
            request.set("messages[0].content", "Stop").unwrap();
            Verdict::Send(Box::new(request))
        }),
        step(|paused| {
            assert_eq!((paused.round, paused.messages.len()), (2, 3));
            assert!(paused.last_sent.is_some());
            let ids: Vec<String> = paused
                .request
                .sections()
                .iter()
                .map(|it| it.id.to_string())
                .collect();
            assert_eq!(ids, ["message:0", "message:1", "message:2", "options"]);
            let mut request = paused.request;
            request.delete(2).unwrap();
            Verdict::Send(Box::new(request))
        }),
    ];
    let (report, conversation) = turn(&world, steps).await;
    assert!(matches!(report.end, TurnEnd::Answered), "{:?}", report.end);
    let sent: Vec<String> = world
        .sent()
        .iter()
        .map(|body| body["messages"].to_string())
        .collect();
    assert_eq!(
        sent,
        [
            r#"[{"role":"user","content":"Stop"}]"#,
            r#"[{"role":"user","content":"Go"}]"#
        ]
    );
    // The conversation holds what was said.
    let said: Vec<&str> = conversation
        .messages()
        .iter()
        .map(|it| it.content.as_str())
        .collect();
    assert_eq!(said, ["Go", "", "contents of a.txt", "Hi"]);
}

#[tokio::test]
async fn a_cancelled_request_is_not_sent_and_leaves_no_message() {
    let reasons = [
        CancelReason::User,
        CancelReason::ModeOff,
        CancelReason::ContextChanged,
    ];
    for reason in reasons {
        let world = World::new(vec![answered()], None);
        let (report, conversation) = turn(&world, vec![cancel(reason)]).await;
        let is_unsent = matches!(report.end, TurnEnd::Withdrawn { reason: why, is_unsent: true } if why == reason);
        assert!(is_unsent, "{:?}", report.end);
        assert_eq!((world.log(), report.rounds), (Vec::new(), 0));
        assert!(conversation.messages().is_empty());
    }
}

#[tokio::test]
async fn a_later_request_that_is_cancelled_leaves_what_came_before() {
    let world = World::new(vec![vec![end(&["a.txt"])]], Some(true));
    let (report, conversation) = turn(&world, vec![send(&[]), cancel(CancelReason::User)]).await;
    let is_sent = matches!(
        report.end,
        TurnEnd::Withdrawn {
            is_unsent: false,
            ..
        }
    );
    assert!(is_sent, "{:?}", report.end);
    assert_eq!((world.sent().len(), report.rounds), (1, 1));
    assert_eq!(conversation.messages().len(), 3);
    assert!(conversation.open_calls().is_empty());
}

/// Waits for ever.
struct Waits;

#[async_trait(?Send)]
impl Interceptor for Waits {
    fn pauses(&self, _next: NextRequest) -> bool {
        true
    }

    async fn review(&self, _paused: PausedRequest<'_>) -> Verdict {
        pending().await
    }
}

#[tokio::test]
async fn an_interruption_and_a_drop_take_the_message_back() {
    let world = World::new(vec![answered()], None);
    let mut context = world.context(OnDenial::Stop);
    context.interceptor = &Waits;
    let mut conversation = Conversation::new();
    conversation.push_user("before");
    let go = || "Go".into();
    let interrupt = tokio::task::yield_now();
    let report = run_turn(&mut conversation, go(), &context, interrupt).await;
    let is_unsent = matches!(
        report.end,
        TurnEnd::Withdrawn {
            is_unsent: true,
            ..
        }
    );
    assert!(is_unsent, "{:?}", report.end);
    {
        let mut turn = Box::pin(run_turn(&mut conversation, go(), &context, pending()));
        let pending = futures::poll!(turn.as_mut()).is_pending();
        assert!(pending, "it waits");
    }
    assert_eq!(conversation.messages().len(), 1);
    assert_eq!(world.log(), Vec::<String>::new());
}

#[tokio::test]
async fn a_tool_that_was_left_out_is_unknown_for_this_reply() {
    let world = World::new(vec![vec![end(&["a.txt"])], answered()], Some(true));
    let tools = [dunlin_host::Tool {
        name: "read_file".to_owned(),
        plugin: "test".to_owned(),
        description: "Reads".to_owned(),
        parameters: serde_json::json!({"type": "object"}),
        imports: Vec::new(),
        annotations: dunlin_host::Annotations::default(),
    }];
    let steps = Steps::new(vec![
        step(|mut paused| {
            let tool = paused
                .request
                .number(&SectionId::Tool("read_file".to_owned()));
            paused.request.delete(tool.unwrap()).unwrap();
            Verdict::Send(Box::new(paused.request))
        }),
        send(&[]),
    ]);
    let mut context = world.context(OnDenial::Continue);
    (context.tool_list, context.interceptor) = (&tools, &steps);
    let mut conversation = Conversation::new();
    let report = run_turn(&mut conversation, "Go".into(), &context, pending()).await;
    let result = report.calls[0].result.clone().unwrap_or_default();
    assert!(result.contains("there is no tool named"), "{result}");
    let offers: Vec<bool> = world
        .sent()
        .iter()
        .map(|body| body["tools"][0].is_object())
        .collect();
    assert_eq!(offers, [false, true], "it is offered again");
}

/// Edits the first form of a request without a pause, and the others with one.
struct Auto {
    /// Whether each request that was reviewed had to be paused.
    paused: RefCell<Vec<bool>>,
    path: &'static str,
}

#[async_trait(?Send)]
impl Interceptor for Auto {
    fn pauses(&self, _next: NextRequest) -> bool {
        false
    }

    fn revises(&self) -> bool {
        true
    }

    async fn review(&self, mut paused: PausedRequest<'_>) -> Verdict {
        let is_first = self.paused.borrow().is_empty();
        self.paused.borrow_mut().push(paused.must_pause);
        if is_first {
            paused.request.set(self.path, "other").unwrap();
        }
        Verdict::Send(Box::new(paused.request))
    }
}

/// What the user wants of every request is not left out of one because the server wants it in another form.
#[tokio::test]
async fn another_form_that_loses_an_edit_is_paused() {
    for (path, pauses) in [("messages[0].content", false), ("model", true)] {
        let world = World::new(vec![taught(), answered()], None);
        world.says_it_otherwise_after_a_refusal();
        let auto = Auto {
            paused: RefCell::default(),
            path,
        };
        let mut context = world.context(OnDenial::Continue);
        context.interceptor = &auto;
        let mut conversation = Conversation::new();
        run_turn(&mut conversation, "Go".into(), &context, pending()).await;
        assert_eq!(auto.paused.into_inner(), [false, pauses], "{path}");
    }
}

fn taught() -> Vec<Piece> {
    let mut error = Refusal {
        status: 400,
        ..Refusal::sample()
    };
    error.profile_change = Some(ProfileChange {
        notice: Some("sends it otherwise".to_owned()),
    });
    vec![Piece::Refuse(ProviderError::Status(Box::new(error)))]
}

#[tokio::test]
async fn a_request_that_has_to_be_written_otherwise_is_paused_again_with_its_edits() {
    let world = World::new(vec![taught(), answered()], None);
    world.says_it_otherwise_after_a_refusal();
    let steps = vec![
        send(&[("messages[0].content", "Stop")]),
        step(|paused| {
            let notice = paused.notice.unwrap_or_default();
            assert!(
                notice.contains("paused again") && !notice.contains("make them"),
                "{notice}"
            );
            assert_eq!((paused.round, paused.request.edits().len()), (1, 1));
            Verdict::Send(Box::new(paused.request))
        }),
    ];
    let (report, _) = turn(&world, steps).await;
    assert!(matches!(report.end, TurnEnd::Answered), "{:?}", report.end);
    assert_eq!(report.rounds, 1);
    let sent = world.sent();
    assert_eq!(sent[0]["messages"], sent[1]["messages"]);
    assert_ne!(sent[0], sent[1]);
}
