//! The built-in tools, as a person and the model see them in a turn.

mod by_hand;
mod edits;
mod finding;
mod questions;
mod search;
mod terminal_commands;
mod web;
mod web_search;
