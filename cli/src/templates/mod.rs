//! Prompt templates: texts with placeholders that `/NAME` sends, in the folders of the user and of the project.
//!
//! [`text`] understands the text of one file and fills it in; [`folder`] finds and reads the files, and saves new ones.
//! Nothing is read before somebody types `/` or asks for a list. A project's template is foreign text: whoever sends one
//! has it shown and trusted first, see `trust`.

pub mod folder;
pub mod text;

pub use folder::{Listing, Owner, Places, Template};
