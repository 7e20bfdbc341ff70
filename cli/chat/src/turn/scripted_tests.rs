//! A turn on its own, for tests: a provider, tools and a user that follow a script, and a log of what happened.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dunlin_host::Progress;
use dunlin_host::ask::{Answer, Ask, Origin, Question, Scope};
use dunlin_host::call::{Call, Failure, Outcome, Plan, PlanStatus, Success};
use dunlin_host::target::{Need, Operation, Target};
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::approve::{Approver, Choice, Decision, Resolution, Waiting};
use super::call::CallView;
use super::context::{CallContext, Frontend, Tools, TurnContext};
use super::event::{OnDenial, TurnRules};
use super::pause::NoInterceptor;
use crate::agent::Agent;
use crate::provider::error::{Endpoint, ProviderError};
use crate::provider::plain::Plain;
use crate::provider::retry::{RetryPolicy, Retrying};
use crate::provider::{
    Dialect, EventStream, Finish, ProposedCall, Provider, ReplyEnd, StreamEvent, Usage,
};
use crate::request::editor::{Origin as SectionOrigin, Outline};
use crate::request::{ContextBudget, Draft, HistoryLimits, Request};

/// What happened, in the order in which it did, from all sides.
type Log = Arc<Mutex<Vec<String>>>;

fn note(log: &Log, line: impl Into<String>) {
    log.lock().push(line.into());
}

pub(super) enum Piece {
    /// As the only piece: the request is refused.
    Refuse(ProviderError),
    Event(StreamEvent),
    Fail,
    Hang,
}

/// How requests are written after a refusal has led to a compatibility fallback.
struct FallbackDialect;

impl Dialect for FallbackDialect {
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
            true => Arc::new(FallbackDialect),
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

pub(super) fn text(text: &str) -> Piece {
    Piece::Event(StreamEvent::Text(text.to_owned()))
}

pub(super) fn end(paths: &[&str]) -> Piece {
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

pub(super) fn usage(output_tokens: u64) -> Piece {
    Piece::Event(StreamEvent::Usage(Usage {
        output_tokens,
        ..Usage::default()
    }))
}

/// Everything a turn meets.
pub(super) struct World {
    log: Log,
    agent: Agent,
    provider: Scripted,
    tools: FakeTools,
    ask: Arc<Answers>,
    limits: HistoryLimits,
    context_budget: Mutex<ContextBudget>,
    /// Notified when a reply, a call or a question hangs.
    pub(super) hanging: Arc<Notify>,
}

impl World {
    /// A world in which everything asked about gets this answer.
    pub(super) fn new(scripts: Vec<Vec<Piece>>, answer: Option<bool>) -> World {
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

    pub(super) fn context(&self, on_denial: OnDenial) -> TurnContext<'_> {
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
    pub(super) fn says_it_otherwise_after_a_refusal(&self) {
        self.provider.learns.store(true, Ordering::Relaxed);
    }

    /// The bodies of the requests.
    pub(super) fn sent(&self) -> Vec<Value> {
        self.provider.sent.lock().clone()
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.log.lock().clone()
    }
}
