//! What components get that were made for WASI 0.2: those of other languages, and of Rust's standard library.
//!
//! Such a component believes that it runs in a small machine of its own. It does: without environment, arguments,
//! input and sockets, with an output that goes into the log, with a file system ([`files`]) of which every door
//! is one of the host's, guarded and asked about like the contract's own, and with a web ([`http`]) that is the same
//! as theirs. Nothing of this is linked into a component that does not want it.
//!
//! In `describe` the machine is the same everywhere: its clocks stand at their beginning and its random numbers are
//! always the same ones, since what is said there is kept. In `prepare` it has clocks, random numbers and output.

mod bindings;
mod cli;
mod clocks;
mod files;
mod http;
mod http_state;
mod last_words;
mod machine;
mod output;
mod random;
mod refused;

use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

pub(crate) use self::cli::Ended;
pub(crate) use self::last_words::LastWords;
pub(crate) use self::machine::{Machine, MachineView};
pub(crate) use self::output::Source;
use super::context::Of;

/// What the names of WASI's interfaces begin with.
const PREFIX: &str = "wasi:";

/// Whether an import is one of WASI's.
pub(crate) fn is_wasi(import: &str) -> bool {
    import.starts_with(PREFIX)
}

/// `wasi:filesystem/types@0.2.6` → `wasi:filesystem`: an ability is a package, its interfaces are the ways to use it.
pub(crate) fn short_name(import: &str) -> Option<&str> {
    is_wasi(import).then(|| import.split(['/', '@']).next().unwrap_or(import))
}

/// Adds the machine to a linker that has the contract's own interfaces.
pub(crate) fn link<T: MachineView>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    use bindings::wasi;
    wasmtime_wasi_io::add_to_linker_async(linker)?;
    wasi::cli::environment::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::cli::exit::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::cli::stdin::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::cli::stdout::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::cli::stderr::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::cli::terminal_input::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::cli::terminal_output::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::cli::terminal_stdin::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::cli::terminal_stdout::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::cli::terminal_stderr::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::clocks::monotonic_clock::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::clocks::wall_clock::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::filesystem::types::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::filesystem::preopens::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::random::random::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::random::insecure::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    wasi::random::insecure_seed::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    http::link(linker)
}

/// Adds what this one component imports and nobody gets.
pub(crate) fn refuse<T: Send + 'static>(
    linker: &mut Linker<T>,
    engine: &Engine,
    component: &Component,
) -> wasmtime::Result<()> {
    refused::link(linker, engine, component)
}
