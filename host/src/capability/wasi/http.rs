//! `wasi:http`: requests of components that were made for WASI.
//!
//! What requests and answers are made of is `wasmtime-wasi-http`'s. What leaves goes the way of the contract's own
//! `web`, under the same rules: the address is asked about before anything is looked up, the headers are the same few,
//! and the network is [`crate::egress`]'s. Only redirects are the component's own to follow, each as a request of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::sync::oneshot;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::runtime::spawn;
use wasmtime_wasi_http::p2::bindings::LinkOptions;
use wasmtime_wasi_http::p2::bindings::http::types::{
    self as wire_types, ErrorCode, Host as _, HostOutgoingRequest as _, Scheme,
};
use wasmtime_wasi_http::p2::body::{HostOutgoingBody, HyperIncomingBody, HyperOutgoingBody};
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostOutgoingRequest};
use wasmtime_wasi_http::{Error, FieldMap, RequestOptions, WasiHttp};

use super::bindings::wasi::http::outgoing_handler;
use crate::bindings::dunlin::tool::types;
use crate::capability::context::{Of, View};
use crate::capability::refusal::Refusal;
use crate::capability::resources::UseId;
use crate::capability::wasi::machine::{Machine, MachineView};
use crate::capability::web::{WebGate, add_header, bad_header, operation};
use crate::capability::web_headers::{NOT_SETTABLE, SETTABLE};
use crate::egress::{
    Admitted, Body, Egress, EgressError, HeaderMap, Method, Request, RequestLimits, header,
    read_url,
};
use crate::limits::MAX_WEB_BODY_BYTES;
use crate::permission::Verdict;
use crate::resolve;
use crate::target::{Need, Operation};

/// The interface of requests and answers, as the library links it.
const TYPES: &str = "wasi:http/types@0.2.12";

/// Bytes of a method. Those of WebDAV have up to 16.
const MAX_METHOD_BYTES: usize = 64;

/// Bytes of a host and its port: a name has 255 at most.
const MAX_AUTHORITY_BYTES: usize = 1024;

/// Adds the interfaces to a linker.
pub(super) fn link<T: MachineView>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    outgoing_handler::add_to_linker::<_, Of<Machine>>(linker, T::machine)?;
    let options = LinkOptions::default();
    wire_types::add_to_linker::<_, WasiHttp>(linker, &options.into(), T::http)?;
    bound(linker)
}

/// The library keeps a method and a host of whatever length, in as many requests as there are handles.
fn bound<T: MachineView>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    type SetterResult = wasmtime::Result<(Result<(), ()>,)>;
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store: StoreContextMut<'_, T>,
         (request, method): (Resource<HostOutgoingRequest>, wire_types::Method)|
         -> SetterResult {
            if matches!(&method, wire_types::Method::Other(name) if name.len() > MAX_METHOD_BYTES) {
                return Ok((Err(()),));
            }
            let mut http = store.data_mut().http();
            Ok((http.set_method(request, method)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store: StoreContextMut<'_, T>,
         (request, authority): (Resource<HostOutgoingRequest>, Option<String>)|
         -> SetterResult {
            if authority
                .as_ref()
                .is_some_and(|name| name.len() > MAX_AUTHORITY_BYTES)
            {
                return Ok((Err(()),));
            }
            let mut http = store.data_mut().http();
            Ok((http.set_authority(request, authority)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.body",
        |mut store: StoreContextMut<'_, T>,
         (request,): (Resource<HostOutgoingRequest>,)|
         -> wasmtime::Result<(Result<Resource<HostOutgoingBody>, ()>,)> {
            let rep = request.rep();
            let body =
                wire_types::HostOutgoingRequest::body(&mut store.data_mut().http(), request)?;
            if let Ok(body) = &body {
                let own = &mut store.data_mut().machine().own.http;
                own.opened(rep, body.rep());
            }
            Ok((body,))
        },
    )?;
    type Finished = wasmtime::Result<(Result<(), ErrorCode>,)>;
    types.func_wrap_async(
        "[static]outgoing-body.finish",
        |mut store: StoreContextMut<'_, T>,
         (body, trailers): (Resource<HostOutgoingBody>, Option<Resource<FieldMap>>)|
         -> Box<dyn Future<Output = Finished> + Send> {
            Box::new(async move {
                let rep = body.rep();
                let mut http = store.data_mut().http();
                let finished = wire_types::HostOutgoingBody::finish(&mut http, body, trailers);
                let finished = match finished {
                    Ok(()) => Ok(()),
                    Err(error) => Err(http.convert_error_code(error)?),
                };
                let mut machine = store.data_mut().machine();
                if let Some(waiting) = machine.own.http.finished(rep) {
                    match machine.ask_about(waiting).await {
                        Ok(()) | Err(Refusal::Guest(_)) => {}
                        Err(Refusal::Trap(error)) => return Err(error),
                    }
                }
                Ok((finished,))
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

impl outgoing_handler::Host for View<'_, Machine> {
    async fn handle(
        &mut self,
        request: Resource<HostOutgoingRequest>,
        options: Option<Resource<RequestOptions>>,
    ) -> wasmtime::Result<Result<Resource<HostFutureIncomingResponse>, ErrorCode>> {
        let open = self.own.http.open_body_of(request.rep());
        let request = self.handles.table.delete(request)?;
        let open_body = open.filter(|_| request.body.is_some());
        let options = match options {
            Some(options) => Some(self.handles.table.delete(options)?),
            None => None,
        };
        match self.send(request, options, open_body).await {
            Ok(pending) => Ok(Ok(self.handles.table.push(pending)?)),
            Err(Refusal::Guest(error)) => {
                *self.own.http.problem.lock() = text_of(&error);
                Ok(Err(code(error)))
            }
            Err(Refusal::Trap(error)) => Err(error),
        }
    }
}

impl View<'_, Machine> {
    /// Asks about a request and sends it behind the component. What may change something is asked about when all of its
    /// body is there, which the component may still be writing.
    async fn send(
        &mut self,
        request: HostOutgoingRequest,
        options: Option<RequestOptions>,
        open_body: Option<u32>,
    ) -> Result<HostFutureIncomingResponse, Refusal> {
        *self.own.http.problem.lock() = None;
        self.only_in_run()?;
        let kind = self.context.caller.kind;
        self.context.web.count_request(kind)?;
        let method = method(&request)?;
        let written = written(&request)?;
        let url = read_url(&written)?;
        let mut wanted = Request::new(method, url);
        wanted.headers = headers(&request)?;
        wanted.limits = limits(options);
        wanted.sites = Some(Arc::clone(&self.shared.sites));
        let body = request.body;
        if operation(&wanted.method) == Operation::Read || self.is_denied(&wanted)? {
            let (admitted, under) = self.admit(wanted, written).await?;
            let meter = self.meter(under);
            let egress = self.shared.egress.clone();
            return Ok(self.behind(async move {
                // Who may read an address sends it nothing.
                whole(body, 0).await?;
                exchange(&egress, admitted, meter).await
            }));
        }
        let (known, body_is_known) = oneshot::channel();
        let (answer, answered) = oneshot::channel::<Answered>();
        let egress = self.shared.egress.clone();
        let sending = self.behind(async move {
            let body = whole(body, MAX_WEB_BODY_BYTES).await?;
            // Fails where nobody waits for it any more, and then nobody answers either.
            let _ = known.send(body);
            let (admitted, meter) = answered.await.map_err(|_| Error::HttpRequestDenied)??;
            exchange(&egress, admitted, meter).await
        });
        let waiting = Waiting {
            request: wanted,
            written,
            body: body_is_known,
            answer,
        };
        match open_body {
            Some(open) => self.own.http.wait_for(open, waiting),
            // It is finished, or there is none.
            None => self.ask_about(waiting).await?,
        }
        Ok(sending)
    }

    /// Asks about a request whose body is finished, and lets go of it.
    async fn ask_about(&mut self, waiting: Waiting) -> Result<(), Refusal> {
        let Waiting {
            mut request,
            written,
            body,
            answer,
        } = waiting;
        // Whoever reads the body has failed, and says so.
        let Ok(body) = body.await else {
            return Ok(());
        };
        request.body = body;
        let answered = match self.admit(request, written).await {
            Ok((admitted, under)) => Ok((admitted, self.meter(under))),
            Err(Refusal::Guest(error)) => {
                *self.own.http.problem.lock() = text_of(&error);
                Err(code(error).into())
            }
            Err(trap) => return Err(trap),
        };
        // The component may have dropped the answer.
        let _ = answer.send(answered);
        Ok(())
    }

    /// Asks about a request as it leaves, and looks its name up.
    async fn admit(
        &mut self,
        request: Request,
        written: String,
    ) -> Result<(Admitted, UseId), Refusal> {
        let egress = self.shared.egress.clone();
        let mut gate = WebGate::new(self.context, written);
        let admitted = egress.admit(request, &mut gate).await;
        gate.outcome(admitted)
    }

    /// Whether a rule is against a request, whatever it sends.
    fn is_denied(&self, request: &Request) -> Result<bool, Refusal> {
        let need = Need {
            target: resolve::url(request.url.as_str())?,
            operation: operation(&request.method),
        };
        Ok(self.decide(&need)?.verdict == Verdict::Deny)
    }

    /// Does this while the component goes on.
    fn behind(
        &mut self,
        sending: impl Future<Output = Result<Incoming, Error>> + Send + 'static,
    ) -> HostFutureIncomingResponse {
        let problem = Arc::clone(&self.own.http.problem);
        let sending = spawn(async move {
            let sent = sending.await.inspect_err(|error| {
                if let Some(words) = in_words(error) {
                    *problem.lock() = Some(words);
                }
            });
            Ok((sent?, spawn(async {})))
        });
        self.own.http.sending.push(sending.abort_handle());
        HostFutureIncomingResponse::Pending(sending)
    }
}

/// An answer as the library takes it.
type Incoming = hyper::Response<HyperIncomingBody>;

/// What came of a question: a hop that may be made, and what counts its bytes.
type Answered = Result<(Admitted, Arc<AtomicU64>), Error>;

/// A request that is asked about when the component has finished its body.
pub(super) struct Waiting {
    request: Request,
    written: String,
    /// The body, as soon as it is finished.
    body: oneshot::Receiver<Bytes>,
    answer: oneshot::Sender<Answered>,
}

/// Makes a hop that was admitted, and counts what comes back.
async fn exchange(
    egress: &Egress,
    admitted: Admitted,
    meter: Arc<AtomicU64>,
) -> Result<Incoming, Error> {
    let answer = egress.make(admitted).await.map_err(wire)?;
    let mut response = hyper::Response::new(incoming(answer.body, meter));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

/// What would be done. A tunnel is not a request, and an echo would show what the host added.
fn method(request: &HostOutgoingRequest) -> Result<Method, types::Error> {
    let method: Result<Method, _> = request.method.clone().try_into();
    let known = method.ok();
    let refused = [Method::CONNECT, Method::TRACE];
    let is_refused = |method: &Method| {
        let mut refused = refused.iter();
        refused.any(|refused| method.as_str().eq_ignore_ascii_case(refused.as_str()))
    };
    known
        .filter(|method| !is_refused(method))
        .ok_or_else(|| types::Error::Invalid("a tool cannot send requests of this method".into()))
}

/// The address in the component's own words.
fn written(request: &HostOutgoingRequest) -> Result<String, types::Error> {
    let scheme = match &request.scheme {
        None | Some(Scheme::Https) => "https",
        Some(Scheme::Http) => "http",
        Some(Scheme::Other(other)) => other,
    };
    let authority = request.authority.as_deref().unwrap_or_default();
    let path = request.path_with_query.as_deref().unwrap_or("/");
    // What is not part of the path would be part of the name.
    if authority.is_empty()
        || !(path.starts_with('/') || path.starts_with('?'))
        || authority.contains(['/', '?', '#', '\\'])
    {
        return Err(types::Error::Invalid(
            "an address has a host, and a path that begins with '/'".into(),
        ));
    }
    Ok(format!("{scheme}://{authority}{path}"))
}

/// What goes along of what the component wants to say of itself.
fn headers(request: &HostOutgoingRequest) -> Result<HeaderMap, EgressError> {
    let mut headers = HeaderMap::new();
    for (name, value) in request.headers.iter() {
        // Known when the body is.
        if name == header::CONTENT_LENGTH {
            continue;
        }
        if !SETTABLE.contains(name) {
            return Err(bad_header(name.as_str(), NOT_SETTABLE));
        }
        add_header(&mut headers, name.clone(), value.clone())?;
    }
    Ok(headers)
}

/// The host's limits, or the component's own where those are closer.
fn limits(options: Option<RequestOptions>) -> RequestLimits {
    let standard = RequestLimits {
        redirects: 0,
        ..RequestLimits::standard()
    };
    let Some(options) = options else {
        return standard;
    };
    let waits: [Option<Duration>; 2] = [options.first_byte_timeout, options.between_bytes_timeout];
    RequestLimits {
        connect: options
            .connect_timeout
            .map_or(standard.connect, |own| own.min(standard.connect)),
        // One limit stands for both waits, so it is the longer one of two.
        idle: waits.into_iter().flatten().max(),
        ..standard
    }
}

/// The body of at most so many bytes, once the component has finished it.
async fn whole(body: Option<HyperOutgoingBody>, most: usize) -> Result<Bytes, Error> {
    let Some(mut body) = body else {
        return Ok(Bytes::new());
    };
    // In one piece: of a body that is written byte by byte, each byte would take as much as thirty.
    let mut all = BytesMut::new();
    // An error: it was dropped, or is not as long as it was said to be.
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else {
            continue;
        };
        if piece.len() > most - all.len() {
            return Err(Error::HttpRequestBodySize(Some(most as u64)));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all.freeze())
}

/// The body of an answer, counted as it comes.
fn incoming(body: Body, meter: Arc<AtomicU64>) -> HyperIncomingBody {
    let pieces = body.into_stream().map(move |piece| {
        let piece = piece.map_err(wire)?;
        meter.fetch_add(piece.len() as u64, Ordering::Relaxed);
        Ok(Frame::data(piece))
    });
    StreamBody::new(pieces).boxed_unsync()
}

/// Why a request failed, for whoever wrote it; `None`: whoever refused it has said so.
fn in_words(error: &Error) -> Option<String> {
    match error {
        Error::InternalError(text) => text.clone(),
        Error::HttpRequestDenied | Error::DestinationNotFound | Error::ConnectionTimeout => None,
        Error::ConnectionReadTimeout => Some("it took too long".to_owned()),
        Error::HttpRequestBodySize(Some(most)) => Some(format!(
            "its body has more than {most} bytes; GET and HEAD have none"
        )),
        other => Some(format!("{other:?}")),
    }
}

/// The same for one that is refused before it is sent. What the user refused ends the call in the host's own words.
fn text_of(error: &types::Error) -> Option<String> {
    match error {
        types::Error::NotFound(text)
        | types::Error::WrongKind(text)
        | types::Error::Invalid(text)
        | types::Error::TooLarge(text)
        | types::Error::Conflict(text)
        | types::Error::TimedOut(text)
        | types::Error::Unavailable(text)
        | types::Error::Unsupported(text)
        | types::Error::Failed(text) => Some(text.clone()),
        types::Error::Denied(_) | types::Error::Cancelled => None,
    }
}

/// What a component is told in the words of `wasi:http`, the nearest that says it.
fn code(error: types::Error) -> ErrorCode {
    match error {
        types::Error::Denied(_) => ErrorCode::HttpRequestDenied,
        types::Error::TimedOut(_) => ErrorCode::ConnectionTimeout,
        types::Error::NotFound(_) => ErrorCode::DestinationNotFound,
        types::Error::Cancelled => ErrorCode::ConnectionTerminated,
        types::Error::Invalid(text)
        | types::Error::TooLarge(text)
        | types::Error::Unsupported(text)
        | types::Error::Unavailable(text)
        | types::Error::Failed(text) => ErrorCode::InternalError(Some(text)),
        other => ErrorCode::InternalError(Some(format!("{other:?}"))),
    }
}

/// The same for what goes wrong on the way.
fn wire(error: EgressError) -> Error {
    match error {
        EgressError::TimedOut { .. } => Error::ConnectionReadTimeout,
        EgressError::TooLarge { most, .. } => Error::HttpResponseBodySize(Some(most)),
        other => Error::InternalError(Some(other.to_string())),
    }
}
