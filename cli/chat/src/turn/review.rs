//! Gets a request ready to be looked at, and takes over what the user made of it.

use bytes::Bytes;
use jiff::Timestamp;

use super::context::TurnContext;
use super::fit::is_in_text;
use super::machine::Turn;
use super::pause::{CancelReason, NextRequest, PausedRequest, Verdict};
use crate::message::Message;
use crate::request::editor::{Counts, Edit, EditableRequest, SectionId, origins};
use crate::request::{ContextBudget, Occasion, Request, TooLong, compose};
use crate::tokens::counted;

/// The last request of a turn that was looked at: its edits outlive a change of its form.
#[derive(Debug, Default)]
pub(super) struct Review {
    /// Whether the request that is being sent, or was sent last, was looked at.
    is_reviewed: bool,
    /// Whether it has to be looked at again, in another form.
    is_outdated: bool,
    /// Whether the user has seen it, and not only the edits that are made without a pause.
    was_paused: bool,
    /// How many forms of it the endpoint has refused.
    forms: u32,
    /// What the user changed in it.
    edits: Vec<Edit>,
    /// The tools that the user left out of it.
    left_out: Vec<String>,
}

impl Review {
    /// Whether the next request of the turn is paused.
    pub(super) fn is_due(&mut self, speaker: &TurnContext<'_>, turn: &Turn<'_>) -> bool {
        if self.is_outdated {
            return true;
        }
        *self = Review::default();
        let interceptor = speaker.interceptor;
        interceptor.pauses(next_of(turn)) || interceptor.revises()
    }

    /// How many forms of the request that was looked at were refused; `None`: nobody has looked at it.
    pub(super) fn forms(&self) -> Option<u32> {
        self.is_reviewed.then_some(self.forms)
    }

    /// Whether the user has seen the request that is sent.
    pub(super) fn was_paused(&self) -> bool {
        self.was_paused
    }

    /// The endpoint does not take the request as it was looked at.
    pub(super) fn outdated(&mut self) {
        self.is_outdated = true;
        self.forms += 1;
    }

    /// Whether the user left this tool out of the request.
    pub(super) fn leaves_out(&self, tool: &str) -> bool {
        self.left_out.iter().any(|name| name == tool)
    }

    /// Does again what was done to the request in its other form. What there is to say about it, and how many of the edits
    /// have no place in this one.
    fn carry_over(&mut self, request: &mut EditableRequest) -> (Option<String>, usize) {
        if !std::mem::take(&mut self.is_outdated) {
            return (None, 0);
        }
        let edits = std::mem::take(&mut self.edits);
        let lost = edits
            .into_iter()
            .filter_map(|edit| request.apply(edit).err());
        let lost = lost.count();
        let again = match self.was_paused {
            true => "The server takes this request only in another form, so it is paused again.",
            false => "The server takes this request only in another form.",
        };
        let notice = match lost {
            0 => again.to_owned(),
            lost => {
                let edits = counted(lost, "edit does", "edits do");
                format!("{again} {edits} not fit it; make them again.")
            }
        };
        (Some(notice), lost)
    }

    fn sent(&mut self, request: &EditableRequest) {
        self.is_reviewed = true;
        self.edits = request.edits().to_vec();
        let sections = request.sections().iter().enumerate();
        let deleted = sections.filter(|(index, _)| request.is_deleted(index + 1));
        let tools = deleted.filter_map(|(_, section)| match &section.id {
            SectionId::Tool(name) => Some(name.clone()),
            _ => None,
        });
        self.left_out = tools.collect();
    }
}

pub(super) fn next_of(turn: &Turn<'_>) -> NextRequest {
    NextRequest::new(turn.rounds() + 1, turn.conversation().messages())
}

impl TurnContext<'_> {
    /// Has the user look at the request; what is to be sent in its place.
    ///
    /// # Errors
    /// It is not sent.
    pub(super) async fn review(
        &self,
        turn: &Turn<'_>,
        composed: Request,
        review: &mut Review,
    ) -> Result<Request, CancelReason> {
        let dialect = self.provider.dialect();
        let dialect = dialect.as_ref();
        let tools = self.tools();
        let occasion = self.occasion(dialect, &tools);
        let messages = turn.conversation().messages();
        let paused = {
            let budget = self.context_budget();
            let mut request = editable(&composed, messages, &budget, occasion);
            let next = next_of(turn);
            let again = review.is_outdated && review.was_paused;
            let (notice, lost) = review.carry_over(&mut request);
            // A request that would go without what the user wants of every one is for the user to decide about.
            review.was_paused = again || lost > 0 || self.interceptor.pauses(next);
            PausedRequest {
                round: next.round,
                must_pause: review.was_paused,
                number: self.journal.next_request(),
                time: Some(Timestamp::now()),
                notice,
                ..unsent(request, messages, &budget, occasion)
            }
        };
        let edited = match self.interceptor.review(paused).await {
            Verdict::Send(edited) => edited,
            Verdict::Cancel(reason) => return Err(reason),
        };
        review.sent(&edited);
        if !edited.is_dirty() {
            return Ok(composed);
        }
        let mut budget = self.context_budget();
        let tokens = Counts::of(&edited, budget.measure()).total();
        budget.edited(tokens);
        // Edits keep JSON what was JSON; a body that never was cannot be edited.
        composed.edited(&edited).map_err(|_| CancelReason::User)
    }
}

/// The request that would be sent now for an empty message, to be looked at. Nothing is changed: what does not fit is left
/// out of this one only.
///
/// # Errors
/// The last turn alone does not fit.
pub fn preview<'a>(
    messages: &'a [Message],
    budget: &ContextBudget,
    occasion: Occasion<'a>,
) -> Result<PausedRequest<'a>, TooLong> {
    let mut budget = budget.clone();
    let fitted = budget.fit(messages, occasion)?;
    let composed = compose(
        fitted.messages,
        occasion.agent,
        occasion.dialect,
        occasion.tools,
    );
    let request = editable(&composed, messages, &budget, occasion);
    Ok(unsent(request, messages, &budget, occasion))
}

fn editable(
    composed: &Request,
    messages: &[Message],
    budget: &ContextBudget,
    occasion: Occasion<'_>,
) -> EditableRequest {
    let dialect = occasion.dialect;
    let origins = origins(messages, budget.truncation(), is_in_text(dialect));
    let files = occasion.agent.instructions.files.iter();
    let files: Vec<&str> = files.map(|file| file.name.as_str()).collect();
    let outline = dialect.outline(composed.body(), &origins);
    let outline = outline.with_instructions(&files);
    EditableRequest::new(Bytes::clone(composed.bytes()), outline)
}

/// The first request of a turn, with what is known beside it.
fn unsent<'a>(
    request: EditableRequest,
    messages: &'a [Message],
    budget: &ContextBudget,
    occasion: Occasion<'a>,
) -> PausedRequest<'a> {
    let fixed = budget.fixed(occasion);
    PausedRequest {
        request,
        round: 1,
        number: None,
        time: None,
        model: &occasion.agent.model,
        described: match is_in_text(occasion.dialect) {
            true => occasion.tools.iter().map(|it| it.name.clone()).collect(),
            false => Vec::new(),
        },
        messages,
        measure: budget.measure().clone(),
        max_request_tokens: budget
            .available(occasion, fixed)
            .0
            .tokens
            .saturating_add(fixed),
        window: budget.window(&occasion.limits).map(|(tokens, _)| tokens),
        must_pause: false,
        last_sent: budget.last_sent().cloned(),
        notice: None,
    }
}
