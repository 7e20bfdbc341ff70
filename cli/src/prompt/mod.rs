//! Lines that the user types, at the prompt and within a turn: the line editor with its completion, the table of slash commands,
//! and who reads a line while calls wait for an answer or a request is paused.
//!
//! What slash commands do is in [`crate::repl`], which is above the turn; this is below it.

pub mod approval_queue;
pub mod approver;
pub mod complete;
pub mod decider;
pub mod elsewhere;
pub mod files;
pub mod inspecting;
pub mod interceptor;
pub mod line;
pub mod metadata;
pub mod own_command;
pub mod paste;
pub mod put_back;
pub mod question_handler;
pub mod slash_table;
pub mod steps;
pub mod templates;
