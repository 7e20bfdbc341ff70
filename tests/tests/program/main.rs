//! The whole program against a scripted provider: what a person sees and what a server receives.
//!
//! One binary for all subjects: linking it is most of what a test run waits for.

mod acp;
mod apps;
mod chat;
mod configuration;
mod documentation;
mod hooks;
mod mcp;
mod permissions;
mod plugins;
mod providers;
mod requests;
mod scripting;
mod sessions;
mod stage;
mod subagents;
mod tools;
