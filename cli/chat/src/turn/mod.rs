//! The turn: from the user's message to the model's answer.
//!
//! ```text
//! compose ──▶ (pause) ──▶ stream ──▶ prepare ◀──▶ wait ──▶ run ──┐
//!    ▲           │            │ no calls                             │
//!    │       cancelled        ▼                                      │
//!    │           └─────────▶ end ◀── denied, limit                   │
//!    └──────────────────────────────────────────────── all settled ──┘
//! ```
//!
//! A request that fails before a reply has begun is sent again where that may help: composed anew, where the
//! endpoint has said what it wants otherwise, or after a wait. That is a part of streaming.
//!
//! The user may have requests paused, look at them and edit them before they are sent ([`pause`]). A request that the
//! endpoint takes only in another form is paused again.
//!
//! A refused request is tried without pictures and documents, first without those that no accepted request has held
//! ([`verdicts`](crate::request::verdicts)). Where those are of the user's own message the turn ends, and the message is taken
//! back: with them every later request would be refused, too.
//!
//! [`machine`] is the turn itself, without time, network or terminal: an event goes in, effects
//! come out. [`driver`] performs the effects. Waiting for the user is a state like any other, and
//! cancelling is dropping.
//!
//! All calls of one reply are prepared first, in their order, so that the user can see what is wanted as
//! a whole. If any is undecided the turn waits; meanwhile calls are allowed, denied, skipped and edited in any
//! order ([`approve`]). Then the approved ones run in their order.
//!
//! - A decision holds for the form of the call that was shown. A call that comes out otherwise when it is
//!   prepared again, because it was edited or a file changed, is shown and asked about again.
//! - An answer that holds for longer than its call may settle others: they are prepared again, and what
//!   stands otherwise by then is shown.
//! - With `on_denial = "stop"` a no without a comment ends the turn: nobody is asked any more. What the user has
//!   said yes to before, in so many words, is still run; what was allowed without a question only where it
//!   comes before the denied call. Whoever wants none of it interrupts. A no to a question that comes up while
//!   a call runs stops everything after it.
//! - With a comment, or `on_denial = "continue"`, the other calls go on waiting, and all results go back to the
//!   model together, each with the comment on its call. So do the results of calls that a rule, a mode or a hook
//!   denies: they were there before the call, and say nothing about whether the user wants to stop.
//!
//! What an interruption (Ctrl-C) leaves behind, state by state; the conversation is fit to be sent
//! after each of them, also when the turn is dropped without being told:
//!
//! | State | Left behind |
//! | --- | --- |
//! | compose | the user's message |
//! | pause, first request of the turn | nothing: the user's message is taken back (so, too, while that request is composed) |
//! | pause, a later one | the reply and the results before it |
//! | stream, a wait included | the text so far, marked as partial; calls that were being written are forgotten |
//! | prepare, wait | the reply; its calls "cancelled by user", except those denied or skipped before |
//! | run | the reply and the results of the calls that had ended; the others "cancelled by user" |
//! | end | everything |

pub mod approve;
pub mod call;
pub mod compact;
mod context;
pub mod driver;
pub mod event;
mod fit;
pub mod in_flight;
pub mod journal;
pub mod log;
pub mod machine;
pub mod pause;
mod review;
#[cfg(test)]
mod scripted_tests;
mod sending;

pub use approve::{Approver, Choice, Decision, Resolution, Waiting};
pub use call::{
    CallRecord, CallState, CallView, ChangedLines, Changes, Denial, DeniedBy, TurnCall,
    changed_files, own_edits, patch_of,
};
pub use context::{CallContext, Frontend, Tools, TurnContext};
pub use driver::{TurnReport, run_calls, run_turn};
pub use event::{OnDenial, TurnEnd, TurnRules};
pub use fit::with_joined;
pub use journal::{Journal, NoJournal};
pub use pause::{CancelReason, Interceptor, NextRequest, NoInterceptor, PausedRequest, Verdict};
pub use review::preview;
