//! The turn: from the user's message to the model's answer.
//!
//! ```text
//! compose ──▶ (review) ──▶ stream ──▶ prepare ──▶ decide ──▶ run ──┐
//!    ▲                        │ no calls                           │
//!    │                        ▼                                    │
//!    └────────────────────── end ◀── denied, limit ── all settled ─┘
//! ```
//!
//! [`machine`] is the turn itself, without time, network or terminal: an event goes in, effects
//! come out. [`driver`] performs the effects. Waiting for the user is a state like any other, and
//! cancelling is dropping.
//!
//! All calls of one reply are prepared first, in their order, so that the user can see what is
//! wanted as a whole. Then they are decided in their order, then the approved ones run in their
//! order. With `on_denial = "stop"` nothing that comes after a denied call is asked about or run,
//! and the turn ends with the calls that were approved before it.
//!
//! What an interruption (Ctrl-C) leaves behind, state by state; the conversation is fit to be sent
//! after each of them, also when the turn is dropped without being told:
//!
//! | State | Left behind |
//! | --- | --- |
//! | compose, review | the user's message |
//! | stream | the text so far, marked as partial; calls that were being written are forgotten |
//! | prepare, decide | the reply; its calls "cancelled by user", except those denied before |
//! | run | the reply and the results of the calls that had ended; the others "cancelled by user" |
//! | end | everything |

pub mod call;
pub mod driver;
pub mod event;
pub mod machine;

pub use call::{CallRecord, CallState, CallView, Denial};
pub use driver::{Frontend, Tools, TurnContext, TurnReport, run_turn};
pub use event::{OnDenial, TurnEnd, TurnRules};
