//! What the page asks of the server: calls of the back end, and the report of an error.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::backend::BackendError;
use super::document::{End, Version};
use super::errors::{Errors, Location, PageError};

/// Calls of one app that run side by side. A page asks for a few things at once; a loop that asks without waiting is refused.
pub const MAX_CALLS: usize = 16;

/// The largest call that is read, in bytes: against filling the memory. What a back end takes is for itself to say.
const MAX_CALL_BYTES: usize = 8 << 20;

/// The largest report of an error, in bytes. Its message is cut far below that.
const MAX_ERROR_BYTES: usize = 16 << 10;

/// How long the body of a request may take. On loopback it takes milliseconds.
pub(super) const BODY_TIME: Duration = Duration::from_secs(10);

/// How many calls may run.
pub(super) struct Calls(Semaphore);

impl Default for Calls {
    fn default() -> Self {
        Self(Semaphore::new(MAX_CALLS))
    }
}

#[derive(Deserialize)]
struct Call<'a> {
    version: u64,
    name: String,
    /// Never read here: it reaches the back end as it was sent.
    #[serde(borrow)]
    arguments: &'a RawValue,
}

#[derive(Deserialize)]
struct Report {
    version: u64,
    message: String,
    location: Option<Location>,
    #[serde(default)]
    blocked: bool,
    /// Errors that the page itself held back.
    omitted: u64,
}

/// A call that failed: the status, and what the app is told.
pub(super) type Failure = (StatusCode, BackendError);

impl Calls {
    /// Answers a call. Dropping the future cancels the call.
    pub(super) async fn invoke(
        &self,
        version: &Version,
        body: Incoming,
    ) -> Result<String, Failure> {
        let fail = |status, kind, message: &str| (status, BackendError::new(kind, message));
        // Before the body is read: what waits costs memory.
        let Ok(_running) = self.0.try_acquire() else {
            let message = format!("too many calls at once: {MAX_CALLS} are allowed");
            return Err(fail(StatusCode::TOO_MANY_REQUESTS, "BusyError", &message));
        };
        let body = read(body, MAX_CALL_BYTES).await.map_err(|status| {
            let (kind, why) = match status {
                StatusCode::REQUEST_TIMEOUT => ("TimeoutError", "it did not arrive in time".into()),
                _ => (
                    "TooLargeError",
                    format!("it may have {MAX_CALL_BYTES} bytes"),
                ),
            };
            fail(status, kind, &format!("the call was not read: {why}"))
        })?;
        let call: Call<'_> = serde_json::from_slice(&body).map_err(|error| {
            let message = format!("the call is not valid: {error}");
            fail(StatusCode::BAD_REQUEST, "InvalidError", &message)
        })?;
        let ended = |end| {
            let (kind, message) = match end {
                End::Replaced => ("ReplacedError", "the app was replaced by another version"),
                End::Closed => ("ClosedError", "Dunlin has closed this app"),
            };
            fail(StatusCode::CONFLICT, kind, message)
        };
        if version.number != call.version {
            return Err(ended(End::Replaced));
        }
        let Some(backend) = &version.backend else {
            let message = "this app has no back end that could answer";
            return Err(fail(
                StatusCode::UNPROCESSABLE_ENTITY,
                "NoHandlerError",
                message,
            ));
        };
        let answer = tokio::select! {
            biased;
            end = version.ended() => return Err(ended(end)),
            answer = backend.invoke(&call.name, call.arguments.get()) => answer,
        };
        answer.map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error))
    }
}

/// Passes on an error of the page, if the version that had it is still shown.
pub(super) async fn report(
    errors: &Errors,
    version: &Version,
    body: Incoming,
) -> Result<(), StatusCode> {
    let body = read(body, MAX_ERROR_BYTES).await?;
    let report: Report = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    if version.number == report.version {
        errors.report(PageError {
            message: report.message,
            location: report.location.map(|it| version.written(it)),
            is_blocked: report.blocked,
            omitted: report.omitted,
        });
    }
    Ok(())
}

async fn read(body: Incoming, limit: usize) -> Result<Bytes, StatusCode> {
    let body = Limited::new(body, limit).collect();
    let body = tokio::time::timeout(BODY_TIME, body).await;
    let body = body.map_err(|_| StatusCode::REQUEST_TIMEOUT)?;
    // Whether it was too large or broke off: the second has no reader.
    let body = body.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
    Ok(body.to_bytes())
}
