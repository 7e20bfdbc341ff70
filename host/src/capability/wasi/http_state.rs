//! What `wasi:http` keeps of a call, and what its library may do.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::AbortHandle;
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx,
    WasiHttpCtxView, WasiHttpHooks,
};

use super::http::Waiting;
use crate::capability::web_headers::HIDDEN;
use crate::egress::HeaderName;
use crate::limits::MAX_WEB_CHUNK_BYTES;

/// What `wasi:http` keeps beside the handles.
#[derive(Default)]
pub(super) struct Http {
    context: WasiHttpCtx,
    hooks: Hooks,
    /// What is being sent.
    pub(super) sending: Vec<AbortHandle>,
    /// Requests whose bodies the component may still write: the handle of the request, and that of its body.
    open: Vec<(u32, u32)>,
    /// Why the last request failed, if it did: the runtimes of some languages tell their program only that one failed.
    pub(super) problem: Arc<Mutex<Option<String>>>,
    /// Requests that wait for their bodies, by the handles of these.
    waiting: Vec<(u32, Waiting)>,
}

impl Http {
    /// Ends what is being sent. Nobody can wait for it any more.
    pub(super) fn stop(&mut self) {
        for sending in self.sending.drain(..) {
            sending.abort();
        }
    }

    /// The component has a handle of the body of a request. Handles are used again: what was known of an earlier body of this
    /// number is over.
    pub(super) fn opened(&mut self, request: u32, body: u32) {
        self.open
            .retain(|(of, open)| *of != request && *open != body);
        self.waiting.retain(|(of, _)| *of != body);
        self.open.push((request, body));
    }

    /// The handle of the body of a request that is being sent, unless that is finished.
    pub(super) fn open_body_of(&mut self, request: u32) -> Option<u32> {
        let at = self.open.iter().position(|(of, _)| *of == request)?;
        Some(self.open.swap_remove(at).1)
    }

    /// A request waits until this body is finished.
    pub(super) fn wait_for(&mut self, body: u32, waiting: Waiting) {
        self.waiting.push((body, waiting));
    }

    /// A body is finished; the request that waits for it.
    pub(super) fn finished(&mut self, body: u32) -> Option<Waiting> {
        self.open.retain(|(_, open)| *open != body);
        let at = self.waiting.iter().position(|(of, _)| *of == body)?;
        Some(self.waiting.swap_remove(at).1)
    }

    /// What the library works on.
    pub(super) fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView {
            hooks: &mut self.hooks,
            table,
            ctx: &mut self.context,
        }
    }
}

/// The library's questions to its host.
#[derive(Default)]
struct Hooks;

/// A future of an answer, which the library never gets from here.
type Sent = Result<
    (
        hyper::Response<WasiBody>,
        Box<dyn Future<Output = Result<(), Error>> + Send>,
    ),
    Error,
>;

impl WasiHttpHooks for Hooks {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        is_forbidden(name)
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_forbidden)
    }

    // The library's own way out is not linked. If it ever were, it would lead nowhere.
    fn send_request(
        &mut self,
        _: hyper::Request<WasiBody>,
        _: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        Box::new(async { Err(Error::HttpRequestDenied) })
    }

    // A body waits in the host until it is sent, and there may be as many as there are handles.
    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        MAX_WEB_CHUNK_BYTES
    }
}

/// Headers that neither go nor come: those of the connection, and what would let a tool speak as the user.
fn is_forbidden(name: &HeaderName) -> bool {
    DEFAULT_FORBIDDEN_HEADERS.contains(name) || HIDDEN.contains(&name.as_str())
}
