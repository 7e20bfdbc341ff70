//! The chat without a terminal and without a network: messages, agents, the request, the turn and its sessions.
//!
//! A [`provider::Provider`] answers, a [`turn::Frontend`] shows, and the host's tools run; none of them is known
//! here but by its trait.

pub mod agent;
pub mod endpoint;
pub mod instructions;
pub mod media;
pub mod message;
pub mod price;
pub mod provider;
pub mod request;
pub mod secret;
pub mod session;
pub mod todo;
pub mod tokens;
pub mod turn;
pub mod usage;
