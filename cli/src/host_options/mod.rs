//! What the host is told, made of the settings.

pub mod commands;
pub mod embedding;
pub mod hooks;
pub mod search;
