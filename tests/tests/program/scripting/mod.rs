//! Dunlin without a person: `dunlin ask`, pipes, lists for programs, and machines on which something is missing.

mod ask;
mod ask_scripts;
mod hardship;
mod lists;
mod piped;
