//! The chat: arguments, configuration, the prompt, and the turn between user, model and tools.

pub mod agent;
pub mod args;
pub mod config;
pub mod error;
pub mod message;
pub mod provider;
pub mod request;
pub mod secret;
pub mod settings;
pub mod turn;
pub mod ui;
