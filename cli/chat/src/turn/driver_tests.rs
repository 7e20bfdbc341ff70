use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dunlin_host::Progress;
use dunlin_host::ask::{Ask, Origin, Question, Scope};
use dunlin_host::call::{Failure, PlanStatus, Success};
use dunlin_host::target::{Need, Operation, Target};
use futures::stream;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::*;
use crate::agent::Agent;
use crate::message::{Message, Role};
use crate::provider::Provider;
use crate::provider::error::{Endpoint, ProviderError};
use crate::provider::plain::Plain;
use crate::provider::retry::{RetryPolicy, Retrying};
use crate::provider::{Dialect, EventStream, ProposedCall};
use crate::request::Draft;
use crate::request::editor::{Origin as SectionOrigin, Outline};
use crate::request::{ContextBudget, HistoryLimits};
use crate::turn::approve::Approver;
use crate::turn::approve::{Choice, Decision};
use crate::turn::call::CallView;
use crate::turn::context::Frontend;
use crate::turn::event::OnDenial;
use crate::turn::event::TurnRules;
use crate::turn::pause::NoInterceptor;

/// What happened, in the order in which it did, from all sides.
type Log = Arc<Mutex<Vec<String>>>;

fn note(log: &Log, line: impl Into<String>) {
    log.lock().push(line.into());
}

pub(in crate::turn) enum Piece {
    /// As the only piece: the request is refused.
    Refuse(ProviderError),
    Event(StreamEvent),
    Fail,
    Hang,
}

/// How requests are written after the endpoint has said what it wants otherwise.
struct Learned;

impl Dialect for Learned {
    fn body(&self, draft: &Draft<'_>) -> Value {
        let mut body = Plain.body(draft);
        body["stream"] = true.into();
        if let Some(body) = body.as_object_mut() {
            body.remove("model");
        }
        body
    }

    fn outline(&self, body: &Value, origins: &[SectionOrigin]) -> Outline {
        Plain.outline(body, origins)
    }
}

/// Plays one script for each request.
struct Scripted {
    scripts: Mutex<VecDeque<Vec<Piece>>>,
    /// The body of each request.
    sent: Mutex<Vec<Value>>,
    /// Whether requests are written otherwise after the first.
    learns: AtomicBool,
    log: Log,
    /// Told when the script hangs.
    hanging: Arc<Notify>,
}

#[async_trait]
impl Provider for Scripted {
    fn dialect(&self) -> Arc<dyn Dialect> {
        let has_learned = self.learns.load(Ordering::Relaxed) && !self.sent.lock().is_empty();
        match has_learned {
            true => Arc::new(Learned),
            false => Arc::new(Plain),
        }
    }

    async fn send(&self, request: &Request) -> Result<EventStream, ProviderError> {
        let messages = request.body()["messages"].as_array().map_or(0, Vec::len);
        note(&self.log, format!("request with {messages} messages"));
        self.sent.lock().push(request.body().clone());
        let mut script = self.scripts.lock().pop_front().unwrap_or_default();
        if let Some(Piece::Refuse(_)) = script.first()
            && let Piece::Refuse(error) = script.remove(0)
        {
            return Err(error);
        }
        let hanging = self.hanging.clone();
        Ok(Box::pin(stream::iter(script).then(move |piece| {
            let hanging = hanging.clone();
            async move {
                match piece {
                    Piece::Refuse(error) => Err(error),
                    Piece::Event(event) => Ok(event),
                    Piece::Fail => {
                        let endpoint =
                            Endpoint::of(&"http://u:p@127.0.0.1/v1?key=x".parse().unwrap());
                        Err(ProviderError::Incomplete {
                            endpoint,
                            source: None,
                        })
                    }
                    Piece::Hang => {
                        hanging.notify_one();
                        std::future::pending().await
                    }
                }
            }
        })))
    }
}

/// Files named `outside` are asked about, `forbidden` ones ruled out, `slow` ones never end.
struct FakeTools {
    log: Log,
    hanging: Arc<Notify>,
}

#[async_trait]
impl Tools for FakeTools {
    async fn prepare(&self, call: &Call) -> Result<Plan, Failure> {
        let path = call.arguments["path"].as_str().unwrap_or_default();
        let need = Need {
            target: Target::Path(path.into()),
            operation: Operation::Read,
        };
        let status = match path {
            "outside" => PlanStatus::Ask {
                needs: vec![need.clone()],
                notices: vec!["outside the project".to_owned()],
                lasting: vec![need],
                longest: Scope::Always,
            },
            "forbidden" => PlanStatus::Denied {
                need: Some(need),
                rule: "/ is ---".to_owned(),
                revert: None,
            },
            _ => PlanStatus::Allowed,
        };
        Ok(Plan {
            question: format!("Read file '{path}'?"),
            needs: Vec::new(),
            actions: Vec::new(),
            status,
            runs_in_parallel: false,
        })
    }

    async fn answer(&self, call: &Call, _plan: &Plan, answer: Answer) -> Result<(), Failure> {
        note(&self.log, format!("answer {} {}", call.id, answer.allow));
        Ok(())
    }

    fn cancelled(&self, call: &Call) -> Option<Outcome> {
        note(&self.log, format!("cancelled {}", call.id));
        None
    }

    async fn run(
        &self,
        call: &Call,
        _plan: &Plan,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Outcome {
        let path = call.arguments["path"].as_str().unwrap_or_default();
        note(&self.log, format!("run {} {path}", call.id));
        progress.progress(&call.id, "half", Some(50));
        let mut result = Ok(Success {
            text: format!("contents of {path}"),
            blobs: Vec::new(),
            structured: None,
            note: None,
            has_failed: false,
        });
        if path == "slow" {
            self.hanging.notify_one();
            std::future::pending::<()>().await;
        }
        if path == "surprise" {
            let question = Question {
                call: call.id.clone(),
                tool: call.tool.clone(),
                arguments: call.arguments.clone(),
                wording: "Read '/etc/passwd'?".to_owned(),
                needs: Vec::new(),
                actions: Vec::new(),
                notices: Vec::new(),
                lasting: Vec::new(),
                longest: Scope::Always,
                origin: Origin::Undeclared,
            };
            if !ask.ask(question.clone()).await.allow {
                result = Err(Failure::Denied {
                    question: question.wording,
                    by_user: true,
                });
            }
        }
        Outcome {
            result,
            duration: Duration::from_millis(7),
            edits: Vec::new(),
            said: String::new(),
        }
    }
}

struct FakeFrontend(Log);

impl Progress for FakeFrontend {
    fn progress(&self, call: &str, message: &str, _percent: Option<u8>) {
        note(&self.0, format!("progress {call} {message}"));
    }
}

impl Frontend for FakeFrontend {
    fn text(&self, piece: &str) {
        note(&self.0, format!("text {piece}"));
    }

    fn call(&self, call: &CallView) {
        let reason = call
            .note
            .as_deref()
            .map(|note| format!(" ({note})"))
            .unwrap_or_default();
        note(
            &self.0,
            format!(
                "{} {} {:?}{reason}",
                call.number.unwrap_or_default(),
                call.target,
                call.state
            ),
        );
    }

    fn notice(&self, text: &str) {
        note(&self.0, format!("notice {text}"));
    }

    fn retrying(&self, wait: Option<&Retrying>) {
        note(
            &self.0,
            wait.map_or_else(|| "no longer waiting".to_owned(), Retrying::line),
        );
    }
}

/// Says yes or no, or never anything.
struct Answers {
    log: Log,
    answer: Option<bool>,
    hanging: Arc<Notify>,
}

impl Answers {
    async fn answer(&self, wording: &str, notices: &[String]) -> Option<Answer> {
        note(&self.log, format!("ask {wording} {notices:?}"));
        let Some(allow) = self.answer else {
            self.hanging.notify_one();
            return std::future::pending().await;
        };
        let scope = Scope::Once;
        Some(Answer { allow, scope })
    }
}

#[async_trait]
impl Ask for Answers {
    async fn ask(&self, question: Question) -> Answer {
        let answer = self.answer(&question.wording, &question.notices).await;
        answer.unwrap_or(Answer::DENY)
    }
}

#[async_trait(?Send)]
impl Approver for Answers {
    async fn decide(&self, waiting: Waiting<'_>) -> Resolution {
        let call = waiting.asking().next().expect("a call that waits");
        let plan = call.plan.as_ref().expect("a plan");
        let question = plan.question(&call.call).expect("a question");
        match self.answer(&question.wording, &question.notices).await {
            Some(answer) => Resolution::Decided(vec![Decision {
                number: call.number,
                revision: call.revision,
                choice: Choice::Answer(answer),
                comment: None,
            }]),
            None => Resolution::Stop,
        }
    }
}

pub(in crate::turn) fn text(text: &str) -> Piece {
    Piece::Event(StreamEvent::Text(text.to_owned()))
}

pub(in crate::turn) fn end(paths: &[&str]) -> Piece {
    let call = |(index, path): (usize, &&str)| {
        let arguments: Map<String, Value> = json!({"path": path})
            .as_object()
            .cloned()
            .unwrap_or_default();
        ProposedCall::new(format!("c{index}"), "read_file", arguments)
    };
    Piece::Event(StreamEvent::End(ReplyEnd {
        calls: paths.iter().enumerate().map(call).collect(),
        finish: Finish::Complete,
        replay: None,
    }))
}

fn usage(output_tokens: u64) -> Piece {
    Piece::Event(StreamEvent::Usage(Usage {
        output_tokens,
        ..Usage::default()
    }))
}

/// Everything a turn meets.
pub(in crate::turn) struct World {
    log: Log,
    agent: Agent,
    provider: Scripted,
    tools: FakeTools,
    ask: Arc<Answers>,
    limits: HistoryLimits,
    context_budget: Mutex<ContextBudget>,
    hanging: Arc<Notify>,
}

impl World {
    /// A world in which everything asked about gets this answer.
    pub(in crate::turn) fn new(scripts: Vec<Vec<Piece>>, answer: Option<bool>) -> World {
        let log = Log::default();
        let hanging = Arc::new(Notify::new());
        World {
            agent: Agent::sample(),
            provider: Scripted {
                scripts: Mutex::new(scripts.into()),
                sent: Mutex::default(),
                learns: AtomicBool::new(false),
                log: log.clone(),
                hanging: hanging.clone(),
            },
            tools: FakeTools {
                log: log.clone(),
                hanging: hanging.clone(),
            },
            ask: Arc::new(Answers {
                log: log.clone(),
                answer,
                hanging: hanging.clone(),
            }),
            limits: HistoryLimits::default(),
            context_budget: Mutex::default(),
            log,
            hanging,
        }
    }

    pub(in crate::turn) fn context(&self, on_denial: OnDenial) -> TurnContext<'_> {
        TurnContext {
            agent: &self.agent,
            provider: &self.provider,
            tool_list: &[],
            limits: self.limits,
            context_budget: &self.context_budget,
            retries: RetryPolicy::default(),
            journal: &crate::turn::NoJournal,
            interceptor: &NoInterceptor,
            calls: CallContext {
                tools: &self.tools,
                rules: TurnRules {
                    on_denial,
                    ..TurnRules::default()
                },
                approver: self.ask.as_ref(),
                ask: self.ask.clone(),
                frontend: Arc::new(FakeFrontend(self.log.clone())),
            },
        }
    }

    /// The endpoint teaches with its first answer how it wants requests.
    pub(in crate::turn) fn says_it_otherwise_after_a_refusal(&self) {
        self.provider.learns.store(true, Ordering::Relaxed);
    }

    /// The bodies of the requests.
    pub(in crate::turn) fn sent(&self) -> Vec<Value> {
        self.provider.sent.lock().clone()
    }

    pub(in crate::turn) fn log(&self) -> Vec<String> {
        self.log.lock().clone()
    }
}

/// Takes a turn that is interrupted when something hangs.
async fn turn(world: &World, on_denial: OnDenial) -> (TurnReport, Conversation) {
    let mut conversation = Conversation::new();
    let context = world.context(on_denial);
    let report = run_turn(
        &mut conversation,
        "Go".into(),
        &context,
        world.hanging.notified(),
    )
    .await;
    (report, conversation)
}

fn last(conversation: &Conversation) -> &Message {
    conversation.messages().last().unwrap()
}

#[tokio::test]
async fn a_whole_turn() {
    let scripts = vec![
        vec![
            text("Let me see"),
            usage(3),
            usage(5),
            end(&["a.txt", "outside"]),
        ],
        vec![text("Do"), text("ne"), usage(2), end(&[])],
    ];
    let world = World::new(scripts, Some(true));
    let (report, _) = turn(&world, OnDenial::Stop).await;
    let expected = [
        "request with 1 messages",
        "text Let me see",
        "1 a.txt Proposed",
        "2 outside Proposed",
        "2 outside Asking",
        "ask Read file 'outside'? [\"outside the project\"]",
        "answer c1 true",
        "1 a.txt Running",
        "run c0 a.txt",
        "progress c0 half",
        "1 a.txt Completed",
        "2 outside Running",
        "run c1 outside",
        "progress c1 half",
        "2 outside Completed",
        "request with 4 messages",
        "text Do",
        "text ne",
    ];
    assert_eq!(world.log(), expected);
    assert!(matches!(report.end, TurnEnd::Answered), "{:?}", report.end);
    assert_eq!(
        (
            report.reply.as_str(),
            report.rounds,
            report.charge.usage.output_tokens
        ),
        ("Done", 2, 7)
    );
    assert_eq!(
        serde_json::to_value(&report.calls[1]).unwrap(),
        json!({
            "id": "c1", "tool": "read_file", "arguments": {"path": "outside"}, "state": "completed",
            "result": "contents of outside", "duration_ms": 7.0,
        })
    );
}

#[tokio::test]
async fn denials_are_noted_and_reported() {
    let scripts = || {
        vec![
            vec![end(&["outside", "forbidden", "a.txt"])],
            vec![text("I see"), end(&[])],
        ]
    };
    let world = World::new(scripts(), Some(false));
    let (report, _) = turn(&world, OnDenial::Stop).await;
    assert!(matches!(report.end, TurnEnd::Denied), "{:?}", report.end);
    // What a rule refuses is known before anybody is asked.
    assert_eq!(report.denials.len(), 2);
    assert_eq!(report.denials[0].question, "Read file 'outside'?");
    assert!(report.denials[0].lacks_comment());
    assert!(!report.denials[1].lacks_comment());
    let log = world.log().join("\n");
    assert!(log.contains("answer c0 false\n1 outside Denied"), "{log}");
    assert!(
        log.ends_with("3 a.txt NotRun (not run: call 1 was denied)"),
        "{log}"
    );

    // After a rule the model continues.
    let by_rule = vec![
        vec![end(&["forbidden", "a.txt"])],
        vec![text("Then without"), end(&[])],
    ];
    let world = World::new(by_rule, Some(false));
    let (report, _) = turn(&world, OnDenial::Stop).await;
    assert!(matches!(report.end, TurnEnd::Answered), "{:?}", report.end);
    assert_eq!(report.denials.len(), 1);
    let log = world.log().join("\n");
    assert!(log.contains("run c1 a.txt"), "{log}");

    let world = World::new(scripts(), Some(false));
    let (report, _) = turn(&world, OnDenial::Continue).await;
    assert!(matches!(report.end, TurnEnd::Answered), "{:?}", report.end);
    assert_eq!(report.denials[1].rule.as_deref(), Some("/ is ---"));
    let log = world.log().join("\n");
    assert!(log.contains("2 forbidden Denied (/ is ---)"), "{log}");
    assert!(log.contains("run c2 a.txt"), "{log}");
}

#[tokio::test]
async fn a_use_that_was_not_declared_is_asked_about_while_it_runs() {
    let scripts = || {
        vec![
            vec![end(&["surprise", "a.txt"])],
            vec![text("Fine"), end(&[])],
        ]
    };
    let world = World::new(scripts(), Some(true));
    let (report, _) = turn(&world, OnDenial::Stop).await;
    assert_eq!(report.reply, "Fine");
    let world = World::new(scripts(), Some(false));
    let (report, conversation) = turn(&world, OnDenial::Stop).await;
    assert!(matches!(report.end, TurnEnd::Denied), "{:?}", report.end);
    assert_eq!(report.denials[0].question, "Read '/etc/passwd'?");
    // There a no takes no text.
    assert!(!report.denials[0].lacks_comment());
    assert_eq!(last(&conversation).content, "not run: call 1 was denied");
}

#[tokio::test]
async fn a_failure_keeps_what_came() {
    let world = World::new(vec![vec![text("Hel"), Piece::Fail]], None);
    let (report, conversation) = turn(&world, OnDenial::Stop).await;
    let TurnEnd::Failed(error) = &report.end else {
        panic!("{:?}", report.end)
    };
    assert_eq!(
        error.to_string(),
        "the reply of http://127.0.0.1/v1 ended in the middle"
    );
    assert!(error.source().is_none());
    assert!(last(&conversation).partial);
    assert_eq!(report.reply, "Hel");
}

#[tokio::test]
async fn a_stream_without_an_end_is_not_taken_for_whole() {
    let world = World::new(vec![vec![text("Hel")]], None);
    let (report, _) = turn(&world, OnDenial::Stop).await;
    assert!(matches!(report.end, TurnEnd::CutOff), "{:?}", report.end);
}

#[tokio::test]
async fn an_interruption_ends_the_turn_wherever_it_waits() {
    let world = World::new(vec![vec![text("Hel"), Piece::Hang]], None);
    let (report, conversation) = turn(&world, OnDenial::Stop).await;
    assert!(
        matches!(report.end, TurnEnd::Interrupted),
        "{:?}",
        report.end
    );
    assert_eq!(
        (report.reply.as_str(), last(&conversation).partial),
        ("Hel", true)
    );

    let world = World::new(vec![vec![end(&["outside"])]], None);
    let (report, conversation) = turn(&world, OnDenial::Stop).await;
    assert!(
        matches!(report.end, TurnEnd::Interrupted),
        "{:?}",
        report.end
    );
    assert_eq!(last(&conversation).content, "cancelled by user");

    let world = World::new(vec![vec![end(&["a.txt", "slow", "b.txt"])]], None);
    let (report, conversation) = turn(&world, OnDenial::Stop).await;
    assert!(
        matches!(report.end, TurnEnd::Interrupted),
        "{:?}",
        report.end
    );
    let results: Vec<&str> = conversation.messages()[2..]
        .iter()
        .map(|result| result.content.as_str())
        .collect();
    assert_eq!(
        results,
        [
            "contents of a.txt",
            "cancelled by user",
            "cancelled by user"
        ]
    );
    let log = world.log();
    let cancelled: Vec<&String> = log
        .iter()
        .filter(|line| line.starts_with("cancelled"))
        .collect();
    assert_eq!(
        cancelled,
        ["cancelled c1"],
        "the host hears of the call that ran"
    );
}

/// Leaves the question.
struct Leaves;

#[async_trait(?Send)]
impl Approver for Leaves {
    async fn decide(&self, _waiting: Waiting<'_>) -> Resolution {
        Resolution::Stop
    }
}

#[tokio::test]
async fn leaving_the_question_denies_what_was_asked() {
    let world = World::new(vec![vec![end(&["a.txt", "outside"])]], None);
    let mut context = world.context(OnDenial::Stop);
    context.calls.approver = &Leaves;
    let mut conversation = Conversation::new();
    let go = "Go".into();
    let report = run_turn(&mut conversation, go, &context, std::future::pending()).await;
    assert!(
        matches!(report.end, TurnEnd::Interrupted),
        "{:?}",
        report.end
    );
    assert_eq!(last(&conversation).content, "cancelled by user");
    let log = world.log().join("\n");
    assert!(
        log.contains("answer c1 false") && !log.contains("run "),
        "{log}"
    );
}

#[tokio::test]
async fn a_call_by_hand_takes_the_same_steps() {
    let world = World::new(Vec::new(), Some(true));
    let context = world.context(OnDenial::Stop);
    let Piece::Event(StreamEvent::End(reply)) = end(&["outside"]) else {
        unreachable!()
    };
    let report = run_calls(reply.calls, 0, &context.calls, std::future::pending()).await;
    assert!(matches!(report.end, TurnEnd::Answered), "{:?}", report.end);
    assert_eq!(
        report.calls[0].result.as_deref(),
        Some("contents of outside")
    );
    let log = world.log().join("\n");
    assert!(
        log.contains("ask Read file 'outside'?") && log.contains("answer c0 true\n"),
        "{log}"
    );
}

#[tokio::test]
async fn an_interruption_needs_one_poll() {
    let world = World::new(Vec::new(), None);
    let context = world.context(OnDenial::Stop);
    let mut conversation = Conversation::new();
    let turn = run_turn(
        &mut conversation,
        "Go".into(),
        &context,
        std::future::ready(()),
    );
    let report = futures::FutureExt::now_or_never(turn).expect("one poll is enough");
    assert!(
        matches!(report.end, TurnEnd::Interrupted),
        "{:?}",
        report.end
    );
    assert_eq!(last(&conversation).role, Role::User);
}

#[tokio::test]
async fn a_dropped_turn_leaves_a_legal_conversation() {
    let world = World::new(vec![vec![end(&["slow"])]], None);
    let context = world.context(OnDenial::Stop);
    let mut conversation = Conversation::new();
    tokio::select! {
        biased;
        report = run_turn(&mut conversation, "Go".into(), &context, std::future::pending()) => panic!("{report:?}"),
        () = world.hanging.notified() => {}
    }
    assert_eq!(last(&conversation).content, "cancelled by user");
    assert!(conversation.open_calls().is_empty());
    assert_eq!(world.log().last().map(String::as_str), Some("cancelled c0"));
}
