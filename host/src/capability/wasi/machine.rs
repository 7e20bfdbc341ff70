//! The machine that a component made for WASI believes to run on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};
use wasmtime_wasi_io::IoView;

use super::http_state::Http;
use super::last_words::LastWords;
use super::output::{Output, Source};
use crate::capability::context::View;

/// The machine of one call.
pub(crate) struct Machine {
    /// When it was switched on.
    pub(super) since: Instant,
    pub(super) output: Arc<Output>,
    /// Bytes that were written to files.
    pub(super) written: Arc<AtomicU64>,
    /// How many numbers `describe` has drawn.
    pub(super) drawn: u64,
    pub(super) http: Http,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            since: Instant::now(),
            output: Arc::default(),
            written: Arc::default(),
            drawn: 0,
            http: Http::default(),
        }
    }
}

impl Machine {
    /// What the library of `wasi:http` works on.
    pub(in crate::capability) fn http_view<'a>(
        &'a mut self,
        table: &'a mut ResourceTable,
    ) -> WasiHttpCtxView<'a> {
        self.http.view(table)
    }

    /// What was printed, line by line, and how many lines were too many. Nothing is left.
    pub(crate) fn printed(&self) -> (VecDeque<(Source, String)>, usize) {
        self.output.take()
    }

    /// Ends what goes on behind the component.
    pub(in crate::capability) fn stop(&mut self) {
        self.http.stop();
    }

    /// Why the last request of the call failed, if it did.
    pub(crate) fn request_problem(&self) -> Option<String> {
        self.http.problem.lock().clone()
    }

    /// What says on the standard error why it ended.
    pub(crate) fn last_words(&self) -> Option<LastWords> {
        self.output.last_words()
    }
}

/// Whoever has such a machine can have WASI linked.
pub(crate) trait MachineView: IoView + WasiHttpView + Send + 'static {
    /// What WASI's interfaces see of a call.
    fn machine(&mut self) -> View<'_, Machine>;
}
