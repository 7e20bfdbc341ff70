//! The request editor's model: one request that can be read, changed leaf by leaf, and sent.
//!
//! An [`EditableRequest`] holds the body as composed, its [`Section`]s, and a history of [`Edit`]s. The current body is
//! a function of the original bytes and the edits that are done: values that are edited are replaced in the original
//! text, sections that are deleted are left out of it, and every other byte is kept as it was composed, numbers and
//! escapes included. So undoing everything restores the original bytes, and a request without edits is the request
//! that would be sent without the editor.
//!
//! Which part of a body is which section is for the [`Dialect`](crate::provider::Dialect) that wrote it to say: its
//! [`Outline`] is the input beside the body. [`origins`] tells which message of the session each message is.
//!
//! What was edited in a request of the log is found by [`EditableRequest::between`].
//!
//! A [`SavedEdit`] is done again in later requests, as long as it finds the text that it replaces.
//!
//! [`Counts`] hold the tokens of the sections, [`EditableRequest::check`] decides whether the current body may be sent,
//! and [`EditableRequest::kept_prefix`] says what an edit costs. Everything here is pure: no I/O, no clock, no
//! terminal. Texts of sections are foreign: escape before showing.

mod between;
mod blocks;
mod checks;
mod counts;
mod document;
mod edits;
mod items;
mod json_string;
#[cfg(test)]
#[path = "laws_tests.rs"]
mod laws;
mod layout;
mod leaves;
mod model;
mod options;
mod origins;
mod overlay;
mod path;
mod saved;
mod sections;
mod tree;

pub use checks::{Problem, Unsendable};
pub use counts::{Counts, LastRequest};
pub use document::LeafKind;
pub use edits::{Change, Edit, EditError, SectionStep, Target};
pub use leaves::{Difference, Leaf, Row, RowValue};
pub use model::EditableRequest;
pub use origins::origins;
pub use path::{Path, PathSyntax, Step};
pub use saved::{Outcome, SavedEdit};
pub use sections::{
    InvalidId, KnownOption, OptionKind, Origin, Outline, Section, SectionId, SectionKind,
};

#[cfg(test)]
mod tests;
