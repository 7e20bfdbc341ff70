//! Where settings come from: environment variables, folders and files.
//!
//! Five layers, each above the one before it: the defaults, the user's file, the project's file, the
//! environment, the flags. The project's file comes with a project that somebody else may have
//! written, so it may only narrow what the user chose until the user trusts it: see [`settings::project`](crate::settings::project).

pub mod agent;
pub mod agent_files;
pub mod command_variables;
pub mod edit;
pub mod embedding;
pub mod env;
pub mod file;
pub mod hook;
pub mod instruction_files;
pub mod json_file;
pub mod markdown;
pub mod mcp;
pub mod notifications;
pub mod origin;
pub mod paths;
#[cfg(test)]
mod reference_tests;
pub mod request_editor;
pub mod search;
pub mod setting;
pub mod sites;
pub mod trust;
pub mod value;
