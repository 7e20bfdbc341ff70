//! What the host is told, made of the settings.

pub mod commands;
pub mod hooks;
pub mod meaning;
pub mod search;
