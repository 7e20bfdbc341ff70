//! Approving calls at the prompt: what was typed, what waits, and how it looks.
//!
//! Nothing here touches a terminal. [`mod@line`] understands a typed line; [`storing`] says what an answer stores; [`entry`] is a call as it can be
//! shown; [`look`] makes the rows of it; [`pending`] holds one question with all its calls and says what a line
//! comes to. Reading and printing is done by whoever implements `Approver`, and by `ui::question`, which asks about what
//! comes up while a call runs.
//!
//! Three things keep an answer from being given by accident or by deceit:
//!
//! - An answer is a word and Enter. Anything else is not an answer and is never a yes.
//! - A yes counts for a call that stood on the screen whole, or was viewed; and for that form of it only.
//! - Every row with foreign text is begun by Dunlin, with a bar, also where a long line wraps. No tool,
//!   path or argument can make a row that looks like one of Dunlin's own.

pub mod editor;
pub mod entry;
pub mod line;
pub mod look;
pub mod pending;
pub mod storing;
pub mod text;
