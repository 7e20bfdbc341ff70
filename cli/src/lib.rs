//! The chat: arguments, configuration, the prompt, and the turn between user, model and tools.

pub mod agent;
pub mod message;
pub mod provider;
pub mod request;
pub mod secret;
pub mod turn;
