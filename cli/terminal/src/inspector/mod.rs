//! The request inspector: one request on the whole screen.
//!
//! The left pane lists the sections, the right pane shows the selected one as a tree, or the payload, the differences,
//! the metadata or the session's log. Everything that a key does here can also be typed as a word at the prompt below a
//! paused request; [`KEYMAP`] names both.
//!
//! - `keymap` maps keys to actions: one table, from which the help is made.
//! - `state` applies an action to the request and to the view. It knows no terminal, so tests call it directly. `edits`, `search`,
//!   `found` and `mouse` are parts of it.
//! - `log` reads what was sent before, and opens it over the request.
//! - `layout`, `lines`, `list`, `tree`, `payload` and `tabs` lay out what the panes show; `entry` is the text area of an edit.
//! - `view` draws the state into a frame with the styles of `palette`; `help` draws the keys over it.
//! - `screen` owns the terminal: the alternate screen, keys, mouse, and giving all of it back.
//! - `chats` shows the requests of several running chats, for `dunlin inspect`.
//!
//! A request is untrusted text: everything is escaped before it is drawn. Colour never carries information alone: each
//! state also has a mark or a word.

pub mod chats;
mod edits;
mod entry;
mod found;
mod help;
mod keymap;
mod layout;
mod lines;
mod list;
mod log;
mod mouse;
mod palette;
mod payload;
mod screen;
mod search;
mod state;
mod tabs;
mod tree;
mod view;

#[cfg(test)]
mod tests;

pub use keymap::{Action, Binding, KEYMAP};
pub use log::{Logged, Logs, SessionLog};
pub use screen::{Alone, Closed, EditText, Remote, Step, run};
pub use state::{Changed, Effect, Event, Inspector, Mode, Sides, Typed};
pub use view::draw;
