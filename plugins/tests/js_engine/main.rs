//! The engine that runs the programs of apps, in wasmtime, with a host that pretends.

mod api;
mod errors;
mod host;
mod limits;
mod timers;
