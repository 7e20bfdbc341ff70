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
mod output;
mod random;
mod refused;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use wasmtime::Engine;
use wasmtime::component::{Component, HasSelf, Linker, ResourceTable};
use wasmtime_wasi_io::IoView;

use super::CallState;
pub(crate) use cli::Ended;
use output::Output;
pub(crate) use output::Source;

/// What the names of WASI's interfaces begin with.
const PREFIX: &str = "wasi:";

/// The machine of one call.
pub(crate) struct Machine {
    /// When it was switched on.
    since: Instant,
    output: Arc<Output>,
    /// Bytes that were written to files.
    written: Arc<AtomicU64>,
    /// How many numbers `describe` has drawn.
    drawn: u64,
    http: http::Http,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            since: Instant::now(),
            output: Arc::default(),
            written: Arc::default(),
            drawn: 0,
            http: http::Http::default(),
        }
    }
}

impl Machine {
    /// What was printed, line by line, and how many lines were too many. Nothing is left.
    pub(crate) fn printed(&self) -> (VecDeque<(Source, String)>, usize) {
        self.output.take()
    }

    /// Ends what goes on behind the component.
    pub(super) fn stop(&mut self) {
        self.http.stop();
    }

    /// The last line on the standard error.
    pub(crate) fn last_words(&self) -> Option<String> {
        self.output.last_words()
    }
}

impl IoView for CallState {
    fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }
}

/// Whether an import is one of WASI's.
pub(crate) fn is_wasi(import: &str) -> bool {
    import.starts_with(PREFIX)
}

/// `wasi:filesystem/types@0.2.6` → `wasi:filesystem`: an ability is a package, its interfaces are the ways to use it.
pub(crate) fn short_name(import: &str) -> Option<&str> {
    is_wasi(import).then(|| import.split(['/', '@']).next().unwrap_or(import))
}

/// Adds the machine to a linker that has the contract's own interfaces.
pub(crate) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    use bindings::wasi;
    wasmtime_wasi_io::add_to_linker_async(linker)?;
    wasi::cli::environment::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::cli::exit::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::cli::stdin::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::cli::stdout::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::cli::stderr::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::cli::terminal_input::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::cli::terminal_output::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::cli::terminal_stdin::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::cli::terminal_stdout::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::cli::terminal_stderr::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::clocks::monotonic_clock::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::clocks::wall_clock::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::filesystem::types::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::filesystem::preopens::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::random::random::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::random::insecure::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    wasi::random::insecure_seed::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    http::link(linker)
}

/// Adds what this one component imports and nobody gets.
pub(crate) fn refuse(
    linker: &mut Linker<CallState>,
    engine: &Engine,
    component: &Component,
) -> wasmtime::Result<()> {
    refused::link(linker, engine, component)
}
