//! What the user has agreed to before a call runs.

use crate::call::{Action, WebRequest};
use crate::target::Need;

/// What the plan of a call declared.
#[derive(Default)]
pub(crate) struct AgreedPlan {
    /// How it asks.
    pub(crate) question: String,
    pub(crate) declared: Vec<Need>,
    /// What it declared and the user agreed to.
    pub(crate) actions: Vec<Action>,
    /// Requests that read, which the user has seen with a question of this call and said yes to.
    pub(crate) shown_requests: Vec<ShownRequest>,
    /// Which usual `accept` goes with all requests of which it does not say this: one for each would say something.
    pub(super) usual_accept: Option<Option<&'static str>>,
}

/// A request that reads, which the user has seen and said yes to.
pub(crate) struct ShownRequest {
    pub(super) request: WebRequest,
    /// Which usual `accept` it was sent or announced with, and has to be sent with; `None`: the plan does not say.
    pub(super) usual_accept: Option<Option<&'static str>>,
}

impl ShownRequest {
    /// One that is about to be sent.
    pub(super) fn sent(request: WebRequest) -> ShownRequest {
        let usual_accept = Some(request.usual_accept);
        ShownRequest {
            request,
            usual_accept,
        }
    }

    /// One of a plan.
    pub(crate) fn planned(request: WebRequest) -> ShownRequest {
        let usual_accept = request.usual_accept.map(Some);
        ShownRequest {
            request,
            usual_accept,
        }
    }
}
