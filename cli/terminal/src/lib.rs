//! The terminal: what is shown, what is typed, and the questions to the user.

pub mod approval;
pub mod editor;
pub mod inspector;
pub mod request;
pub mod shell_word;
pub mod ui;
pub mod variables;
