//! The whole program against a scripted provider: what a person sees and what a server receives.
//!
//! One binary for all subjects: linking it is most of what a test run waits for.

mod agents;
mod answers;
mod approval;
mod ask;
mod batch;
mod commands;
mod composing;
mod documentation;
mod editing;
mod edits;
mod escapes;
mod failures;
mod first_run;
mod hardship;
mod interruption;
mod keys;
mod limits;
mod local;
mod mcp;
mod mcp_login;
mod mcp_serve;
mod mcp_servers;
mod mentions;
mod numbers;
mod ollama;
mod piped;
mod plugins;
mod prompt;
mod questions;
mod quirks;
mod registry;
mod rendering;
mod retries;
mod search;
mod sessions;
mod stage;
mod startup;
mod steps;
mod storing;
mod surroundings;
mod terminal_commands;
mod type_ahead;
mod web;
mod web_search;
