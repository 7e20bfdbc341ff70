//! Makes requests that fit: has earlier turns compacted where that is wanted, leaves out what is too much, and makes a
//! request shorter that turned out to be too long.

use std::borrow::Cow;
use std::pin::Pin;

use bytes::Bytes;
use dunlin_host::Tool;
use dunlin_host::call::Failure;
use dunlin_host::display::shorten;
use parking_lot::MutexGuard;

use super::compact::summarise;
use super::context::{TurnContext, unless};
use super::event::Event;
use super::machine::Turn;
use super::review::Review;
use crate::media::Media;
use crate::price::Charge;
use crate::provider::Dialect;
use crate::provider::error::ProviderError;
use crate::request::truncation::Compacted;
use crate::request::verdicts::{Suspicion, attached, names};
use crate::request::{ContextBudget, HistoryLimits, Occasion, Request, TooLong, compose};
use crate::tokens::counted;
use dunlin_host::nearest::nearest;

/// How much of a name that the model made up is quoted, in characters.
const MAX_NAME_CHARS: usize = 100;

/// How much of a refusal is quoted, in characters: two or three lines.
const MAX_REFUSAL_CHARS: usize = 200;

/// Some tools, and those that joined them.
pub fn with_joined(tools: &[Tool], joined: Vec<Tool>) -> Cow<'_, [Tool]> {
    match joined.is_empty() {
        true => Cow::Borrowed(tools),
        false => Cow::Owned(tools.iter().cloned().chain(joined).collect()),
    }
}

impl TurnContext<'_> {
    /// Makes the next request. What is not sent any more is said.
    ///
    /// # Errors
    /// The last turn alone does not fit.
    pub(super) fn compose(&self, turn: &Turn<'_>) -> Result<Request, TooLong> {
        let dialect = self.provider.dialect();
        let tools = self.tools();
        let occasion = self.occasion(dialect.as_ref(), &tools);
        let messages = turn.conversation().messages();
        for notice in self.calls.tools.take_notices() {
            self.calls.frontend.notice(&format!("· {notice}"));
        }
        let fitted = self.context_budget().fit(messages, occasion)?;
        if let Some(notice) = &fitted.notice {
            self.calls.frontend.notice(notice);
        }
        let dialect = dialect.as_ref();
        Ok(compose(fitted.messages, self.agent, dialect, &tools))
    }

    /// A shorter request in the place of one that failed with this error, if it was too long for the model.
    /// `None`: another failure, or there is nothing to be left out.
    ///
    /// # Errors
    /// The last turn alone does not fit.
    pub(super) fn shorter(
        &self,
        turn: &Turn<'_>,
        error: &ProviderError,
        sent: &Bytes,
    ) -> Option<Result<Request, TooLong>> {
        let overflow = error.context_overflow()?;
        self.context_budget()
            .overflowed(overflow.needed, overflow.window);
        let again = self.compose(turn);
        match &again {
            Ok(again) if again.bytes() == sent => return None,
            Ok(_) => {
                let notice = "· the request was too long for the model and is sent again, shorter";
                self.calls.frontend.notice(notice);
            }
            Err(_) => {}
        }
        Some(again)
    }

    /// A request in the place of one that was refused, without pictures and documents that may be the reason; they are only
    /// named from then on.
    ///
    /// # Errors
    /// There is nothing to leave out, or nothing but what the user has just attached: how the turn goes on.
    pub(super) fn without_refused(
        &self,
        turn: &Turn<'_>,
        error: ProviderError,
        refused: &Request,
    ) -> Result<Request, Box<Event>> {
        let Some(fault) = error.content_fault() else {
            return Err(Event::StreamFailed(error).into());
        };
        let messages = turn.conversation().messages();
        let suspicion = self
            .context_budget()
            .verdicts
            .refused(refused.media(), messages, fault);
        match suspicion {
            Suspicion::Nothing => Err(Event::StreamFailed(error).into()),
            Suspicion::OfMessage(media) => Err(Event::Refused(error, media).into()),
            Suspicion::LeftOut(media) => {
                let again = self.compose(turn).map_err(Event::TooLong)?;
                let error = error.to_string();
                let notice = format!(
                    "· {}: the request is sent again without {}; later ones only name it",
                    shorten(&error, MAX_REFUSAL_CHARS),
                    names(&media)
                );
                self.calls.frontend.notice(&notice);
                Ok(again)
            }
        }
    }

    /// What the user has attached to the message, and what would be missing from a request in the place of this one.
    pub(super) fn missing_of_message(
        &self,
        turn: &Turn<'_>,
        sent: &Request,
        again: &Request,
    ) -> Vec<Media> {
        let holds = |request: &Request, media: &Media| {
            let mut held = request.media().iter();
            held.any(|it| it.has_bytes_of(media))
        };
        let attached = attached(turn.conversation().messages()).iter();
        let missing = attached.filter(|media| holds(sent, media) && !holds(again, media));
        missing.cloned().collect()
    }

    /// Has earlier turns compacted, where the limits want it. Whatever comes of it, the turn goes on: what does not
    /// fit then is left out.
    async fn compact(&self, turn: &Turn<'_>, charge: &mut Charge) {
        let messages = turn.conversation().messages();
        let dialect = self.provider.dialect();
        let tools = self.tools();
        let occasion = self.occasion(dialect.as_ref(), &tools);
        let compacting = self.context_budget().compacting(messages, occasion, false);
        let Some(compacting) = compacting else { return };
        let frontend = &self.calls.frontend;
        let count = counted(compacting.count, "earlier message", "earlier messages");
        frontend.notice(&format!("· compacting {count} …"));
        // Once is enough in a turn, whatever comes of it; an interruption counts as well.
        self.context_budget().not_compacted(messages);
        let speaker = (self.agent, self.provider);
        match summarise(speaker, &compacting.request, self.journal).await {
            Ok(summary) => {
                *charge = charge.plus(summary.charge);
                let compacted = Compacted {
                    through: compacting.through,
                    summary: summary.text,
                };
                self.journal.compacted(&compacted);
                let notice = self.context_budget().compacted(compacted);
                frontend.notice(&notice);
            }
            Err(error) => frontend.notice(&format!("· they were not compacted: {error}")),
        }
    }

    /// Why a call of this tool by the model comes to nothing before anybody looks at it: the agent has no such tool,
    /// whatever others there are, or the user left it out of the request.
    pub(super) fn withheld(&self, tool: &str, review: &Review) -> Option<Failure> {
        let may_use = |name: &str| self.agent.may_use(name) && !review.leaves_out(name);
        if may_use(tool) {
            return None;
        }
        let tools = self.tools();
        let its_own = tools.iter().map(|tool| tool.name.as_str());
        let near = nearest(tool, its_own.filter(|name| may_use(name)));
        Some(Failure::UnknownTool {
            name: shorten(tool, MAX_NAME_CHARS).into_owned(),
            near: near.map(str::to_owned).into_iter().collect(),
        })
    }

    /// All tools by now.
    pub(super) fn tools(&self) -> Cow<'_, [Tool]> {
        let mut tools = with_joined(self.tool_list, self.calls.tools.joined());
        let left_out = match is_in_text(self.provider.dialect().as_ref()) {
            true => self.interceptor.left_out_tools(),
            false => Vec::new(),
        };
        let is_off =
            |tool: &Tool| self.calls.tools.is_off(&tool.name) || left_out.contains(&tool.name);
        if tools.iter().any(is_off) {
            tools.to_mut().retain(|tool| !is_off(tool));
        }
        tools
    }

    pub(super) fn occasion<'b>(
        &'b self,
        dialect: &'b dyn Dialect,
        tools: &'b [Tool],
    ) -> Occasion<'b> {
        Occasion {
            agent: self.agent,
            tools,
            dialect,
            limits: HistoryLimits {
                window: self.provider.window(),
                ..self.limits
            },
        }
    }

    /// What the conversation costs. Never held while anything is waited for.
    pub(super) fn context_budget(&self) -> MutexGuard<'_, ContextBudget> {
        self.context_budget.lock()
    }
}

/// Whether tools are described in the system prompt.
pub(super) fn is_in_text(dialect: &dyn Dialect) -> bool {
    !dialect.offers_tools() && dialect.describes_tools()
}

/// Compacts what is to be compacted before a request is made. `false`: interrupted.
pub(super) async fn made(
    speaker: Option<&TurnContext<'_>>,
    turn: &Turn<'_>,
    charge: &mut Charge,
    interrupt: Pin<&mut impl Future<Output = ()>>,
) -> bool {
    match speaker {
        Some(speaker) if speaker.limits.compact_at.is_some() => {
            unless(interrupt, speaker.compact(turn, charge))
                .await
                .is_some()
        }
        _ => true,
    }
}
