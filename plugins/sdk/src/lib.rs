//! What the author of a Dunlin tool depends on.
//!
//! A tool is an empty struct that implements [`Tool`]: what it is called, what it takes, what it
//! will touch, what it does. It compiles to a WebAssembly component that has no authority of its own:
//! [`Tool::prepare`] says in advance what a call will touch, the user is asked in the tool's words,
//! and every use of [`files`] is checked again when it happens. This is all of a plugin:
//!
//! ```
#![doc = include_str!("../examples/count_lines.rs")]
//! ```
//!
//! [`tutorial`] goes on from here: testing, asking, progress, state, failures, versions.
//!
//! Its crate is a library with `crate-type = ["cdylib"]`. Wrong arguments never reach the tool: the
//! model gets a failure that names the field. An [`Error`] of an import becomes a [`Failure`] by `?`.
//!
//! Everything also compiles for the machine it is written on. A plain `cargo test` runs a whole tool there, with the host
//! of [`mock`]; without one the imports fail with [`Error::Unsupported`].
//!
//! Below the comfort lies [`Plugin`]: three functions with free hands, exported by
//! [`export_plugin!`].

#![warn(missing_docs)]

pub mod background;
mod bindings;
pub mod chat;
pub mod clock;
mod crash;
pub mod embedding;
mod error;
mod export;
pub mod files;
mod host;
pub mod log;
#[cfg(not(target_arch = "wasm32"))]
mod memory;
#[cfg(not(target_arch = "wasm32"))]
pub mod mock;
mod need;
mod plugin;
pub mod process;
pub mod random;
mod schema;
pub mod search;
mod section;
pub mod settings;
pub mod store;
pub mod subagent;
mod tool;
pub mod tree;
pub mod web;

pub use error::{Error, Failure, FailureKind};
pub use need::{Need, Operation, Target};
pub use plugin::{
    Action, CONTRACT, Call, Content, Output, Parameters, Plan, Plugin, PluginInfo, ToolInfo,
};
pub use schema::Schema;
pub use tool::{Tool, parse_arguments};

pub use dunlin_sdk_macros::{Schema, parameters};

// The macros name the crate.
#[cfg(test)]
extern crate self as dunlin_sdk;

/// What the macros expand to. Not for authors, and not stable.
#[doc(hidden)]
pub mod __private {
    pub mod bindings {
        pub use crate::bindings::*;
    }
    pub use crate::export::Bridge;
    pub use crate::schema::{join, length, members, more_members, text};
    pub use crate::section::{size, texts, write};
    pub use crate::tool::{info, prepare, run, unknown};
}

#[doc = include_str!("tutorial.md")]
pub mod tutorial {}

#[cfg(test)]
mod tests;
