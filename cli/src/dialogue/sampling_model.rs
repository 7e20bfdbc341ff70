//! The sampling model: the chat's model, for MCP servers that ask it something.
//!
//! A server gets an answer to what it asks and nothing of the conversation; the agent's own instructions and tools stay
//! out. What it costs counts like everything else.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use dunlin_host::ForeignError;
use dunlin_host::ask::{Answer, Ask, Question, TextQuestion};
use dunlin_host::model::{
    Model, Role as SamplingRole, SamplingRequest, SamplingResult, StopReason,
};
use dunlin_host::subagent::Subagents;
use futures::StreamExt;
use parking_lot::Mutex;

use dunlin_chat::agent::Agent;
use dunlin_chat::message::{Message, Role};
use dunlin_chat::price::{Charge, Money};
use dunlin_chat::provider::{Finish, Provider, StreamEvent, Usage};
use dunlin_chat::request::compose;
use dunlin_chat::request::report::Cost;
use dunlin_chat::session::requests::{Ending, Kind, RequestLog};
use dunlin_chat::turn::in_flight::InFlight;
use dunlin_chat::turn::{Denial, Journal, NoJournal};

/// Bytes of an answer: more than its tokens can be. A server of models that counts none is cut off here.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The model, and what it was used for.
pub struct SamplingModel {
    provider: Arc<dyn Provider>,
    agent: Agent,
    /// Where its requests are logged; `None`: nowhere.
    log: Option<RequestLog>,
    spent: Mutex<Cost>,
}

impl SamplingModel {
    /// Samples from the model of this agent.
    pub fn new(
        provider: Arc<dyn Provider>,
        agent: &Agent,
        log: Option<RequestLog>,
    ) -> SamplingModel {
        SamplingModel {
            provider,
            agent: agent.clone(),
            log,
            spent: Mutex::default(),
        }
    }

    /// What it has cost so far.
    pub fn spent(&self) -> Cost {
        *self.spent.lock()
    }
}

/// Counts a request when it is over, also one that is broken off.
struct Counting<'a> {
    model: &'a SamplingModel,
    /// Of a request that is broken off nobody knows what it costs.
    charge: Charge,
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        let mut spent = self.model.spent.lock();
        *spent = spent.plus(Cost {
            charge: self.charge,
            requests: 1,
        });
    }
}

#[async_trait]
impl Model for SamplingModel {
    fn name(&self) -> String {
        self.agent.model.clone()
    }

    async fn answer(&self, request: &SamplingRequest) -> Result<SamplingResult, ForeignError> {
        let own = self.agent.max_tokens.unwrap_or(u32::MAX);
        let temperature = request.temperature_thousandths;
        let agent = Agent {
            max_tokens: Some(request.max_tokens.min(own)),
            temperature: temperature
                .map(|it| f64::from(it) / 1_000.0)
                .or(self.agent.temperature),
            ..self
                .agent
                .clone()
                .with_prompt_only(request.system_prompt.clone())
        };
        let messages = request.messages.iter().map(|message| {
            let role = match message.role {
                SamplingRole::User => Role::User,
                SamplingRole::Assistant => Role::Assistant,
            };
            Cow::Owned(Message::text(role, message.text.clone()))
        });
        let dialect = self.provider.dialect();
        let composed = compose(messages, &agent, dialect.as_ref(), &[]);
        let journal: &(dyn Journal + Sync) = match &self.log {
            Some(log) => log,
            None => &NoJournal,
        };
        let mut in_flight = InFlight::new(journal);
        let speaker = (&agent, self.provider.as_ref());
        in_flight.begin(Kind::Sampling, speaker, &composed, None);
        let mut events = match self.provider.send(&composed).await {
            Ok(events) => events,
            Err(error) => {
                in_flight.failed(&error, Usage::default());
                return Err(error.into());
            }
        };
        let mut counting = Counting {
            model: self,
            charge: Charge {
                usage: Usage::default(),
                money: Money::unknown(),
            },
        };
        let mut text = String::new();
        let mut stop_reason = StopReason::MaxTokens;
        while let Some(event) = events.next().await {
            in_flight.event();
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    counting.charge = in_flight.failed(&error, counting.charge.usage);
                    return Err(error.into());
                }
            };
            match event {
                StreamEvent::Text(piece) => text.push_str(&piece),
                StreamEvent::WasReasoning { .. } => text.clear(),
                StreamEvent::Usage(usage) => counting.charge.usage = usage,
                StreamEvent::End(ended) => {
                    stop_reason = match ended.finish {
                        Finish::Complete => StopReason::EndTurn,
                        _ => StopReason::MaxTokens,
                    };
                }
                _ => {}
            }
            if text.len() > MAX_ANSWER_BYTES {
                text.truncate(text.floor_char_boundary(MAX_ANSWER_BYTES));
                break;
            }
        }
        counting.charge = in_flight.end(Ending::Answered, counting.charge.usage);
        // Not while it streams: what was said so far may turn out to have been thoughts.
        let stops = request
            .stop_sequences
            .iter()
            .filter_map(|stop| text.find(stop.as_str()));
        if let Some(at) = stops.min() {
            text.truncate(at);
            stop_reason = StopReason::StopSequence;
        }
        Ok(SamplingResult { text, stop_reason })
    }
}

/// Asks as somebody else does, and has a model besides, and what runs subagents.
pub struct AskWithModel {
    /// Who asks.
    pub ask: Arc<dyn Ask>,
    /// The model.
    pub model: Arc<SamplingModel>,
    /// What runs subagents, where there may be any.
    pub subagents: Option<Arc<dyn Subagents>>,
    /// The first question of each call that was denied because nobody could be asked.
    pub unasked: Mutex<Vec<Question>>,
}

impl AskWithModel {
    /// Says of calls that were denied in their midst what would have been asked, and what allows it beforehand.
    pub fn complete(&self, denials: &mut [Denial]) {
        let unasked = self.unasked.lock();
        for denial in denials.iter_mut().filter(|denial| denial.rule.is_none()) {
            if let Some(question) = unasked.iter().find(|it| it.call == denial.call) {
                denial.question.clone_from(&question.wording);
                denial.needs.clone_from(&question.needs);
                denial.longest = Some(question.longest);
            }
        }
    }
}

#[async_trait]
impl Ask for AskWithModel {
    async fn ask(&self, question: Question) -> Answer {
        self.ask.ask(question).await
    }

    async fn ask_text(&self, question: TextQuestion) -> Option<String> {
        self.ask.ask_text(question).await
    }

    fn is_attended(&self) -> bool {
        self.ask.is_attended()
    }

    fn answers_texts(&self) -> bool {
        self.ask.answers_texts()
    }

    fn model(&self) -> Option<Arc<dyn Model>> {
        let model: Arc<dyn Model> = self.model.clone();
        Some(model)
    }

    fn subagents(&self) -> Option<Arc<dyn Subagents>> {
        self.subagents.clone()
    }

    fn went_unasked(&self, question: &Question) {
        let mut unasked = self.unasked.lock();
        if unasked.iter().all(|it| it.call != question.call) {
            unasked.push(question.clone());
        }
        drop(unasked);
        self.ask.went_unasked(question);
    }
}
