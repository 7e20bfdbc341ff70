//! The requests that were sent, as the log of each session has them.

mod about;
mod curl;
mod export;
mod fork;
mod har;
mod list;
mod log;
mod replay;
mod show;

pub use about::{net_edits, spent};
pub use export::run as export;
pub use fork::run as fork;
pub use list::{rows, run as list, summaries};
pub use log::{Log, sent};
pub use replay::run as replay;
pub use show::{Part, print};
