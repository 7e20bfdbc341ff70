//! The tool with a file of a mocked host.

mod arguments;
mod outline;
mod read;
