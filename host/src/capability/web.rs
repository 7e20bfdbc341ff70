//! `web`: requests over the network.
//!
//! Each address of a request, those of its redirects included, is a target of its own and authorised like any
//! other before anything is looked up. What leaves and what comes back is [`crate::egress`]'s business.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;
use wasmtime::component::Resource;

use super::context::{CallContext, Phase, UsedInDescribe};
use super::refusal::Refusal;
use super::resources::{OpenResponse, UseId};
use super::web_headers::{HIDDEN, NOT_SETTABLE, SETTABLE, USUAL_ACCEPT};
use crate::arguments::is_of;
use crate::ask::Origin;
use crate::bindings::declared::{DeclaredGet, DeclaredRequest};
use crate::bindings::dunlin::tool::types::{Error, Header, Target as Written};
use crate::bindings::dunlin::tool::web;
use crate::call::WebRequest;
use crate::egress::{
    EgressError, Gate, HeaderMap, HeaderName, HeaderValue, Hop, Method, Place, Request, Response,
    header::ACCEPT, read_url,
};
use crate::limits::{MAX_HANDLES, MAX_WEB_BODY_BYTES, MAX_WEB_CHUNK_BYTES};
use crate::resolve;
use crate::target::{Need, Operation, Target};

type Answer<T> = Result<T, Refusal>;

impl web::Host for CallContext {
    async fn fetch(
        &mut self,
        request: Resource<DeclaredRequest>,
    ) -> Answer<Resource<OpenResponse>> {
        let request = self.take(request)?;
        let (values, bytes) = request.size();
        self.release(values, bytes);
        self.only_in_run()?;
        let kind = self.caller.kind;
        self.web.count_request(kind)?;
        let (request, written) = self.read_request(request)?;
        let egress = self.shared.egress.clone();
        let mut gate = WebGate::new(self, written);
        let outcome = egress.send(request, &mut gate).await;
        let (response, under) = gate.outcome(outcome)?;
        let response = OpenResponse::of(response, under);
        let handle = self.handles.table.push(response).map_err(|_| {
            Error::TooLarge(format!(
                "more than {MAX_HANDLES} files and answers are open; close some"
            ))
        })?;
        Ok(handle)
    }
}

impl web::HostRequest for CallContext {
    async fn new(
        &mut self,
        method: String,
        url: String,
    ) -> wasmtime::Result<Resource<DeclaredRequest>> {
        if self.phase == Phase::Describe {
            return Err(UsedInDescribe.into());
        }
        self.declare(1, method.len() + url.len())?;
        let request = DeclaredRequest {
            method,
            url,
            headers: Vec::new(),
            body: Vec::new(),
        };
        Ok(self.handles.values.push(request)?)
    }

    async fn add_header(
        &mut self,
        request: Resource<DeclaredRequest>,
        header: Header,
    ) -> wasmtime::Result<()> {
        self.declare(1, header.name.len() + header.value.len())?;
        self.handles.values.get_mut(&request)?.headers.push(header);
        Ok(())
    }

    async fn set_body(
        &mut self,
        request: Resource<DeclaredRequest>,
        body: Vec<u8>,
    ) -> wasmtime::Result<()> {
        self.declare(0, body.len())?;
        let old = std::mem::replace(&mut self.handles.values.get_mut(&request)?.body, body);
        self.release(0, old.len());
        Ok(())
    }

    async fn drop(&mut self, request: Resource<DeclaredRequest>) -> wasmtime::Result<()> {
        let (values, bytes) = self.take(request)?.size();
        self.release(values, bytes);
        Ok(())
    }
}

impl web::HostResponse for CallContext {
    async fn status(&mut self, handle: Resource<OpenResponse>) -> wasmtime::Result<u16> {
        Ok(self.handles.table.get(&handle)?.status)
    }

    async fn url(&mut self, handle: Resource<OpenResponse>) -> wasmtime::Result<String> {
        Ok(self.handles.table.get(&handle)?.url.clone())
    }

    async fn headers(&mut self, handle: Resource<OpenResponse>) -> wasmtime::Result<Vec<Header>> {
        let headers = self.handles.table.get(&handle)?.headers.iter().cloned();
        Ok(headers
            .map(|(name, value)| Header { name, value })
            .collect())
    }

    async fn read(
        &mut self,
        handle: Resource<OpenResponse>,
        max_bytes: u32,
    ) -> Answer<Option<Vec<u8>>> {
        if max_bytes == 0 {
            return Err(Error::Invalid("a maximum of 0 gives nothing".into()).into());
        }
        let entry = self
            .handles
            .table
            .get_mut(&handle)
            .map_err(wasmtime::Error::from)?;
        if entry.piece.is_empty() {
            match entry.body.next().await? {
                Some(piece) => entry.piece = piece,
                None => return Ok(None),
            }
        }
        let most = MAX_WEB_CHUNK_BYTES.min(max_bytes as usize);
        let given = entry.piece.split_to(most.min(entry.piece.len()));
        let under = entry.under;
        self.count(under, given.len());
        Ok(Some(given.to_vec()))
    }

    async fn drop(&mut self, handle: Resource<OpenResponse>) -> wasmtime::Result<()> {
        self.handles.table.delete(handle)?;
        Ok(())
    }
}

impl CallContext {
    /// A request as it leaves, and its address in the guest's own words.
    fn read_request(&mut self, mut request: DeclaredRequest) -> Result<(Request, String), Error> {
        let written = request.url.clone();
        let headers = std::mem::take(&mut request.headers);
        let mut request = read_request(request)?;
        request.headers = match read_headers(&headers) {
            Ok(headers) => headers,
            Err(error) => {
                let is_own = !headers
                    .iter()
                    .any(|it| is_of_model(&error, it, &self.caller.arguments));
                self.web.bad_header = is_own.then(|| error.to_string());
                return Err(in_words(error));
            }
        };
        request.sites = Some(Arc::clone(&self.shared.sites)).filter(|sites| !sites.is_empty());
        Ok((request, written))
    }
}

fn read_request(request: DeclaredRequest) -> Result<Request, Error> {
    let method = match request.method.as_str() {
        "GET" => Method::GET,
        "POST" => Method::POST,
        other => return Err(unsupported_method(other)),
    };
    let url = read_url(&request.url).map_err(in_words)?;
    let body = request.body;
    if method == Method::GET && !body.is_empty() {
        return Err(Error::Invalid("a GET has no body; use POST".into()));
    }
    if body.len() > MAX_WEB_BODY_BYTES {
        let most = MAX_WEB_BODY_BYTES / 1024;
        return Err(Error::TooLarge(format!(
            "a body may have at most {most} KiB"
        )));
    }
    let mut wanted = Request::new(method, url);
    wanted.body = body.into();
    Ok(wanted)
}

fn read_headers(written: &[Header]) -> Result<HeaderMap, EgressError> {
    let mut headers = HeaderMap::new();
    for header in written {
        let invalid = |problem| bad_header(&header.name, problem);
        let name = header.name.parse::<HeaderName>();
        let name = name.ok().filter(|name| SETTABLE.contains(name));
        let name = name.ok_or_else(|| invalid(NOT_SETTABLE))?;
        let value = HeaderValue::from_str(&header.value)
            .map_err(|_| invalid("its value is none that a header can have"))?;
        add_header(&mut headers, name, value)?;
    }
    Ok(headers)
}

/// Whether the model can correct a header that cannot be used, for it wrote what is wrong with it.
fn is_of_model(error: &EgressError, header: &Header, arguments: &Value) -> bool {
    let is_of_name =
        matches!(error, EgressError::Header { problem, .. } if *problem == NOT_SETTABLE);
    has_name(arguments, &header.name) || !is_of_name && is_of(arguments, &header.value)
}

/// Whether an argument has the name of a header in it, as one that takes whole headers does.
fn has_name(arguments: &Value, name: &str) -> bool {
    match arguments {
        Value::String(text) => text.contains(name),
        Value::Array(values) => values.iter().any(|it| has_name(it, name)),
        Value::Object(members) => members
            .iter()
            .any(|(key, it)| key == name || has_name(it, name)),
        _ => false,
    }
}

/// Adds one that is not there yet: how often a header comes could say something, too.
pub(super) fn add_header(
    headers: &mut HeaderMap,
    name: HeaderName,
    value: HeaderValue,
) -> Result<(), EgressError> {
    if headers.contains_key(&name) {
        return Err(bad_header(name.as_str(), "it is set twice"));
    }
    headers.insert(name, value);
    Ok(())
}

/// A request that reads, as a plan announces it.
///
/// # Errors
/// Its address or its headers cannot be used.
pub(crate) fn announced(get: DeclaredGet) -> Result<WebRequest, EgressError> {
    let url = read_url(&get.url)?;
    let headers = read_headers(&get.headers)?;
    Ok(shown(&Hop {
        method: &Method::GET,
        url: &url,
        from: None,
        headers: &headers,
        body: &Bytes::new(),
    }))
}

impl OpenResponse {
    fn of(response: Response, under: UseId) -> OpenResponse {
        let headers = response.headers.iter();
        let shown = headers.filter(|(name, _)| !HIDDEN.contains(&name.as_str()));
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        OpenResponse {
            status: response.status.as_u16(),
            url: response.url.into(),
            headers: shown.filter_map(text).collect(),
            body: response.body,
            piece: Bytes::new(),
            under,
        }
    }
}

/// Asks the permission store, and the user, about each hop of one request.
pub(super) struct WebGate<'a> {
    state: &'a mut CallContext,
    /// The first address in the guest's own words.
    written: Option<String>,
    /// Why the last answer was no.
    refusal: Option<Refusal>,
    /// What the last hop is done under.
    under: Option<UseId>,
    /// What was done with the last hop that was allowed.
    used: Option<Operation>,
}

#[async_trait]
impl Gate for WebGate<'_> {
    async fn may_use(&mut self, hop: &Hop<'_>) -> bool {
        let need = resolve::url(hop.url.as_str()).map(|target| Need {
            target,
            operation: operation(hop.method),
        });
        let need = match need {
            Ok(need) => need,
            Err(error) => {
                self.refusal = Some(error.into());
                return false;
            }
        };
        let mut what = format!("{} '{}'", verb(hop.method), sent_to(&need, hop));
        if let Some(from) = hop.from {
            what = format!(
                "follow a redirect from {} and {what}",
                from.host_str().unwrap_or_default()
            );
        }
        // Within one origin a redirect is covered by the grant that was followed there: where it leads is the server's choice.
        let is_covered = hop
            .from
            .is_some_and(|from| self.used == Some(need.operation) && is_same_origin(from, hop.url));
        let written = self.written.take();
        let written = written.unwrap_or_else(|| hop.url.as_str().to_owned());
        let question = HopQuestion {
            what: &what,
            is_covered,
        };
        self.authorise(need, written, hop, question).await
    }

    /// A grant of a name is none of the machine that it leads to: the same request to its address is a target of its own.
    async fn may_reach(&mut self, hop: &Hop<'_>, address: IpAddr, place: Place) -> bool {
        let need = |url: &url::Url| {
            let target = resolve::url(url.as_str()).ok();
            target.map(|target| Need {
                target,
                operation: operation(hop.method),
            })
        };
        let mut there = hop.url.clone();
        // Fails only for addresses without a host.
        if there.set_ip_host(address.to_canonical()).is_err() {
            return false;
        }
        let mut machine = there.clone();
        machine.set_path("/");
        let (Some(at_address), Some(machine)) = (need(&there), need(&machine)) else {
            return false;
        };
        // What was granted about an address does not say that it is near, except for all of that machine.
        let is_literal = hop.url.domain().is_none();
        let is_granted = is_literal && self.state.is_granted(&machine);
        let verb = verb(hop.method);
        let host = hop.url.host_str().unwrap_or_default();
        let what = format!(
            "{verb} '{}', to which {host} leads and which {place}",
            sent_to(&at_address, hop)
        );
        let mut request = shown(hop);
        request.url = there.into();
        // Another name that leads there sends another request.
        let name = match hop.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        request.headers.push(("host".to_owned(), name));
        request.headers.sort();
        let written = Written::Url(hop.url.as_str().to_owned());
        let asking = self.state.authorise_address(
            at_address,
            written,
            &what,
            request,
            is_literal && !is_granted,
        );
        // The request stays one of the address that it names.
        match asking.await {
            Ok(_) => true,
            Err(refusal) => {
                self.refusal = Some(refusal);
                false
            }
        }
    }

    /// What the target does not say is in the audit log before it leaves.
    fn may_send(&mut self, hop: &Hop<'_>) -> bool {
        let request = shown(hop);
        let Some(under) = self.under.filter(|_| request.says_more()) else {
            return true;
        };
        let logged = self.state.log_request(under, &request);
        self.refusal = logged.err();
        self.refusal.is_none()
    }
}

/// How a hop is asked about.
struct HopQuestion<'a> {
    /// It in words.
    what: &'a str,
    /// Whether the yes to the hop before is one to this one.
    is_covered: bool,
}

impl<'a> WebGate<'a> {
    /// `written`: the first address in the guest's own words.
    pub(super) fn new(state: &'a mut CallContext, written: String) -> WebGate<'a> {
        WebGate {
            state,
            written: Some(written),
            refusal: None,
            under: None,
            used: None,
        }
    }

    /// What came of a request, and under what it was done.
    pub(super) fn outcome<T>(self, outcome: Result<T, EgressError>) -> Answer<(T, UseId)> {
        let value = match (outcome, self.refusal) {
            (Ok(value), _) => value,
            (Err(EgressError::Refused(_)), Some(refusal)) => return Err(refusal),
            (Err(error), _) => return Err(error.into()),
        };
        // Nothing is sent that was not authorised.
        let under = self
            .under
            .ok_or_else(|| Error::Failed("an answer to a request that nobody allowed".into()))?;
        Ok((value, under))
    }

    async fn authorise(
        &mut self,
        need: Need,
        written: String,
        hop: &Hop<'_>,
        HopQuestion { what, is_covered }: HopQuestion<'_>,
    ) -> bool {
        let written = Written::Url(written);
        let operation = need.operation;
        let origin = match hop.from {
            Some(_) => Origin::Redirect,
            None if operation == Operation::Write && self.state.has_declared(&need) => {
                Origin::Declared
            }
            None => Origin::Undeclared,
        };
        let authorised = match is_covered {
            true => self.state.authorise_covered(need, written),
            false => {
                let request = shown(hop);
                if origin == Origin::Undeclared {
                    let state = &self.state;
                    state.notify_of_unplanned(&need, &written, Some(&request));
                }
                let asking = self
                    .state
                    .authorise_request(need, written, (origin, what), request);
                asking.await
            }
        };
        match authorised {
            Ok(under) => {
                self.under = Some(under);
                self.used = Some(operation);
                true
            }
            Err(refusal) => {
                self.refusal = Some(refusal);
                false
            }
        }
    }
}

/// A hop as the user is shown it.
fn shown(hop: &Hop<'_>) -> WebRequest {
    let accept = hop.headers.get(ACCEPT);
    let usual_accept = accept.and_then(|value| USUAL_ACCEPT.into_iter().find(|it| it == value));
    let said = hop.headers.iter();
    let said = said.filter(|(name, _)| usual_accept.is_none() || **name != ACCEPT);
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        (name.as_str().to_owned(), value.into_owned())
    };
    let mut headers: Vec<_> = said.map(text).collect();
    headers.sort();
    WebRequest {
        method: hop.method.as_str().to_owned(),
        url: hop.url.as_str().to_owned(),
        headers,
        usual_accept,
        body: hop.body.clone(),
    }
}

/// Where a hop leads. The target has no query, and what a server does can depend on nothing else.
fn sent_to(need: &Need, hop: &Hop<'_>) -> String {
    let query = hop.url.query().map(|query| format!("?{query}"));
    format!("{}{}", need.target.shown(), query.unwrap_or_default())
}

/// What is done with an address, in words that it follows.
fn verb(method: &Method) -> String {
    let name = method.as_str();
    match operation(method) {
        Operation::Write if name.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            format!("{name} to")
        }
        Operation::Write => format!("send a request with the method '{name}' to"),
        _ if method == Method::HEAD => "read the headers of".to_owned(),
        reads => reads.verb().to_owned(),
    }
}

/// Whether two addresses have the same host and port; as in grants, http counts as https.
fn is_same_origin(a: &url::Url, b: &url::Url) -> bool {
    let origin = |url: &url::Url| match resolve::url(url.as_str()) {
        Ok(Target::Url(url)) => url::Url::parse(&url).ok().map(|url| url.origin()),
        _ => None,
    };
    let (a, b) = (origin(a), origin(b));
    a.is_some() && a == b
}

fn unsupported_method(method: &str) -> Error {
    let method = crate::display::escape(method);
    let method = crate::display::shorten(&method, 100);
    Error::Unsupported(format!("only GET and POST can be sent, not {method}"))
}

/// What is wrong with a header of a guest.
pub(super) fn bad_header(name: &str, problem: &'static str) -> EgressError {
    let name = crate::display::escape(name);
    let name = crate::display::shorten(&name, 100).into_owned();
    EgressError::Header { name, problem }
}

pub(super) fn operation(method: &Method) -> Operation {
    match *method {
        Method::GET | Method::HEAD => Operation::Read,
        _ => Operation::Write,
    }
}

impl From<EgressError> for Refusal {
    fn from(error: EgressError) -> Self {
        Refusal::Guest(in_words(error))
    }
}

fn in_words(error: EgressError) -> Error {
    let text = error.to_string();
    match error {
        EgressError::Url(_)
        | EgressError::Scheme(_)
        | EgressError::Credentials
        | EgressError::Header { .. } => Error::Invalid(text),
        EgressError::NameNotFound { .. } => Error::NotFound(text),
        EgressError::TimedOut { .. } => Error::TimedOut(text),
        EgressError::Lookup { .. }
        | EgressError::ConnectionRefused { .. }
        | EgressError::Unreachable { .. }
        | EgressError::CutOff { before: true, .. } => Error::Unavailable(text),
        EgressError::TooLarge { .. } => Error::TooLarge(text),
        _ => Error::Failed(text),
    }
}
