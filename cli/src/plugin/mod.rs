//! Plugins that the user installed, and what is known of one before it is.
//!
//! A plugin is a component in a file. Installing copies it below the data folder, where no tool can reach it, beside
//! a record of what was shown when it was agreed to. Nothing of it runs before it is examined, and it is examined
//! in the same sandbox that it will live in.

mod abilities;
pub mod build;
pub mod examine;
pub mod manifest;
pub mod registry;
mod sample;
pub mod shelf;
pub mod template;
pub mod trial;
mod tricks;
pub mod zoo;

pub use abilities::in_words;
