//! Apps: small programs that a model writes and that run in a browser, with their back end in the sandbox.
//!
//! Nothing here knows the chat, the host or the terminal: the parts of an app are found in a reply ([`blocks`]), kept in a
//! folder with their versions ([`store`]) and served to a browser ([`page`]).

mod allowance;
pub mod blocks;
pub mod page;
mod part;
mod prompt;
pub mod store;

pub use allowance::Allowance;
pub use part::{Part, Parts};
pub use prompt::PROMPT;
