//! Fetches a model from the public hub, <https://huggingface.co>, or from whatever `HF_ENDPOINT` names, as the
//! hub's own programs understand it.
//!
//! The hub answers a request for a file with a redirect to where it really lies, and says beforehand how
//! large it is and what its SHA-256 is (`X-Linked-Size`, `X-Linked-ETag`). Redirects are followed here and not
//! by the client: each host gets a client of its own, and a connection that was encrypted stays so.

use std::time::Duration;

use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, LOCATION, RANGE};
use reqwest::{Response, StatusCode};
use tokio::time::timeout;
use url::Url;

use super::Entry;
use super::receive::{Expected, ReceiveError, Receiver};
use dunlin_chat::provider::error::{Cause, Endpoint};
use dunlin_provider::http::{self, Timeouts};

/// The hub, unless the environment names another one.
pub const HUB: &str = "https://huggingface.co";

/// Redirects on the way to a file: from a renamed repository to the new one, to the storage, to a mirror of it.
const MAX_REDIRECTS: usize = 6;

/// How often a download that breaks off is taken up again, as long as each time brings something.
const MAX_RESUMPTIONS: usize = 20;

/// Why a model could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelHubError {
    #[error("HF_ENDPOINT is not an address of a hub: {0:?}")]
    Address(String),
    /// Nobody answers.
    #[error("cannot reach {endpoint}")]
    Unreachable {
        /// Whom.
        endpoint: Endpoint,
        source: Cause,
    },
    /// The hub, or the storage behind it, refuses.
    #[error("{endpoint} answered {status}")]
    Refused { endpoint: Endpoint, status: u16 },
    #[error("{endpoint} leads nowhere: {why}")]
    Astray {
        endpoint: Endpoint,
        why: &'static str,
    },
    #[error("{endpoint} has another file: {problem}")]
    Another { endpoint: Endpoint, problem: String },
    /// The connection broke off, again and again.
    #[error("{endpoint} broke off after {received} bytes")]
    BrokeOff {
        endpoint: Endpoint,
        /// How much is there; the next attempt goes on behind it.
        received: u64,
        /// Why, if it did not end in good order.
        source: Option<Cause>,
    },
    /// What came cannot be kept.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
}

impl ModelHubError {
    /// Whether another source may do better: this one is out of reach or does not have the file.
    pub fn is_out_of_reach(&self) -> bool {
        !matches!(self, ModelHubError::Receive(_) | ModelHubError::Address(_))
    }
}

/// Where a file lies and what is known of it.
#[derive(Debug, Clone)]
struct Found {
    url: Url,
    bytes: u64,
    sha256: String,
}

/// Fetches a model. `told` hears how many bytes are there, and of how many. Dropping the future leaves
/// what came for the next attempt.
pub async fn fetch(
    entry: &Entry,
    endpoint: &str,
    target: std::path::PathBuf,
    told: &mut dyn FnMut(u64, u64),
) -> Result<std::path::PathBuf, ModelHubError> {
    let url = address(entry, endpoint)?;
    let found = find(entry, url.clone()).await?;
    let mut receiver = Receiver::open(Expected {
        target,
        bytes: found.bytes,
        sha256: found.sha256.clone(),
    })?;
    let mut place = found.url;
    let mut resumed = 0;
    while receiver.received() < receiver.expected_bytes() {
        let before = receiver.received();
        let broke_off = match receive(&place, &mut receiver, told).await {
            Ok(()) => None,
            Err(ModelHubError::BrokeOff { source, .. }) => source,
            Err(other) => return Err(other),
        };
        if receiver.received() >= receiver.expected_bytes() {
            break;
        }
        resumed += 1;
        if receiver.received() <= before || resumed > MAX_RESUMPTIONS {
            return Err(ModelHubError::BrokeOff {
                endpoint: host(&place),
                received: receiver.received(),
                source: broke_off,
            });
        }
        // Addresses in the storage are signed for a while only.
        place = find(entry, url.clone()).await?.url;
    }
    Ok(receiver.finish()?)
}

/// The address of a file at the hub.
fn address(entry: &Entry, endpoint: &str) -> Result<Url, ModelHubError> {
    let wrong = || ModelHubError::Address(endpoint.to_owned());
    let base = Url::parse(endpoint).map_err(|_| wrong())?;
    if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
        return Err(wrong());
    }
    let mut url = base.clone();
    url.set_path(&format!(
        "{}/{}/resolve/{}/{}",
        base.path().trim_end_matches('/'),
        entry.repository,
        entry.revision,
        entry.file
    ));
    Ok(url)
}

/// Asks the hub where the file is, and what it is.
async fn find(entry: &Entry, start: Url) -> Result<Found, ModelHubError> {
    let mut url = start.clone();
    let mut bytes = None;
    let mut sum = None;
    for _ in 0..=MAX_REDIRECTS {
        // The first byte alone: not every storage answers HEAD.
        let response = get(&url, Some(0..=0)).await?;
        let headers = response.headers();
        bytes = bytes.or_else(|| number(headers, "x-linked-size"));
        sum = sum.or_else(|| linked_sum(headers));
        if !response.status().is_redirection() {
            let known = bytes.or_else(|| whole_size(&response));
            let sum = entry.sha256.map(str::to_owned).or(sum);
            let sum = sum.or_else(|| header(response.headers(), ETAG.as_str()).and_then(as_sum));
            accepted(&url, &response)?;
            return checked(entry, url, known, sum);
        }
        // Both are known: the storage need not be asked twice.
        let next = redirect(&url, headers)?;
        if let (Some(bytes), Some(sum)) = (bytes, &sum) {
            return checked(entry, next, Some(bytes), Some(sum.clone()));
        }
        url = next;
    }
    Err(ModelHubError::Astray {
        endpoint: host(&start),
        why: "there are too many redirects",
    })
}

fn checked(
    entry: &Entry,
    url: Url,
    bytes: Option<u64>,
    sum: Option<String>,
) -> Result<Found, ModelHubError> {
    let another = |problem: String| ModelHubError::Another {
        endpoint: host(&url),
        problem,
    };
    let bytes = bytes.unwrap_or(entry.bytes);
    if bytes != entry.bytes {
        return Err(another(format!(
            "it has {bytes} bytes, and not {}",
            entry.bytes
        )));
    }
    let sum = sum.ok_or_else(|| another("its SHA-256 is not published".to_owned()))?;
    if let Some(expected) = entry
        .sha256
        .filter(|known| !known.eq_ignore_ascii_case(&sum))
    {
        return Err(another(format!("its SHA-256 is {sum}, not {expected}")));
    }
    Ok(Found {
        url,
        bytes,
        sha256: sum,
    })
}

/// Receives once, until the file is whole or the connection ends.
async fn receive(
    start: &Url,
    receiver: &mut Receiver,
    told: &mut dyn FnMut(u64, u64),
) -> Result<(), ModelHubError> {
    let mut url = start.clone();
    let mut response = None;
    for _ in 0..=MAX_REDIRECTS {
        let from = receiver.received();
        let answer = get(
            &url,
            Some(from..=receiver.expected_bytes().saturating_sub(1)),
        )
        .await?;
        if answer.status().is_redirection() {
            url = redirect(&url, answer.headers())?;
            continue;
        }
        accepted(&url, &answer)?;
        response = Some(answer);
        break;
    }
    let endpoint = host(&url);
    let Some(mut response) = response else {
        return Err(ModelHubError::Astray {
            endpoint,
            why: "there are too many redirects",
        });
    };
    let goes_on = response.status() == StatusCode::PARTIAL_CONTENT
        && first_byte(response.headers()) == Some(receiver.received());
    if !goes_on {
        // The whole file comes, or another part of it than was asked for.
        if response.status() == StatusCode::PARTIAL_CONTENT {
            return Err(ModelHubError::Astray {
                endpoint,
                why: "it sends another part of the file than was asked for",
            });
        }
        receiver.start_over()?;
    }
    loop {
        let chunk = match timeout(http::IDLE_TIMEOUT, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => {
                return Err(ModelHubError::BrokeOff {
                    endpoint,
                    received: receiver.received(),
                    source: Some(Cause::new(error.without_url())),
                });
            }
            Err(_) => {
                return Err(ModelHubError::BrokeOff {
                    endpoint,
                    received: receiver.received(),
                    source: Some(Cause::new(silence(http::IDLE_TIMEOUT))),
                });
            }
        };
        receiver.add(&chunk)?;
        told(receiver.received(), receiver.expected_bytes());
    }
}

async fn get(
    url: &Url,
    range: Option<std::ops::RangeInclusive<u64>>,
) -> Result<Response, ModelHubError> {
    let unreachable = |source| ModelHubError::Unreachable {
        endpoint: host(url),
        source,
    };
    let client = http::client(url, Timeouts::default())
        .map_err(|error| unreachable(Cause::new(error.without_url())))?;
    let mut request = client.get(url.clone());
    if let Some(range) = range {
        let (first, last) = range.into_inner();
        request = request.header(RANGE, format!("bytes={first}-{last}"));
    }
    match timeout(http::IDLE_TIMEOUT, request.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(unreachable(Cause::new(error.without_url()))),
        Err(_) => Err(unreachable(Cause::new(silence(http::IDLE_TIMEOUT)))),
    }
}

/// Whom to name in an error: the whole address is long, and in the storage it is signed.
fn host(url: &Url) -> Endpoint {
    let mut url = url.clone();
    url.set_path("");
    Endpoint::of(&url)
}

fn silence(after: Duration) -> String {
    format!("nothing came for {} s", after.as_secs())
}

fn accepted(url: &Url, response: &Response) -> Result<(), ModelHubError> {
    match response.status() {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(()),
        status => Err(ModelHubError::Refused {
            endpoint: host(url),
            status: status.as_u16(),
        }),
    }
}

fn redirect(from: &Url, headers: &HeaderMap) -> Result<Url, ModelHubError> {
    let astray = |why| ModelHubError::Astray {
        endpoint: host(from),
        why,
    };
    let next = header(headers, LOCATION.as_str())
        .and_then(|place| from.join(place).ok())
        .ok_or_else(|| astray("it redirects to no address"))?;
    let kept = next.scheme() == from.scheme() || next.scheme() == "https";
    match kept && matches!(next.scheme(), "http" | "https") {
        true => Ok(next),
        false => Err(astray("it redirects to a connection that is not encrypted")),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    header(headers, name)?.trim().parse().ok()
}

/// The SHA-256 that the hub gives for a large file.
fn linked_sum(headers: &HeaderMap) -> Option<String> {
    header(headers, "x-linked-etag").and_then(as_sum)
}

/// An entity tag that is a SHA-256. Those of small files are sums of another kind.
fn as_sum(tag: &str) -> Option<String> {
    let tag = tag.trim().trim_start_matches("W/").trim_matches('"');
    let is_sum = tag.len() == 64 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_sum.then(|| tag.to_ascii_lowercase())
}

/// The size of the whole file, from an answer that holds all of it or a part.
fn whole_size(response: &Response) -> Option<u64> {
    if response.status() == StatusCode::PARTIAL_CONTENT {
        let range = header(response.headers(), CONTENT_RANGE.as_str())?;
        return range.rsplit_once('/')?.1.trim().parse().ok();
    }
    response.content_length()
}

/// Where the part that is being sent begins.
fn first_byte(headers: &HeaderMap) -> Option<u64> {
    let range = header(headers, CONTENT_RANGE.as_str())?.trim();
    let range = range.strip_prefix("bytes")?.trim_start();
    range.split_once('-')?.0.trim().parse().ok()
}

#[cfg(test)]
#[path = "model_hub_tests.rs"]
mod tests;
