//! The tool with a file of a mocked host.

mod arguments;
mod media;
mod outline;
mod read;
