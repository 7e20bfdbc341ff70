//! Headers: which are the host's own, and which may go along to another host.

use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::EgressError;

/// Headers that frame a message or that the client makes itself: whoever could set them could make one message into
/// two, or speak to another host than the one that was checked.
const OWN: [HeaderName; 9] = [
    header::ACCEPT_ENCODING,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers that say nothing about who asks: all others stay with the server they were meant for.
const HARMLESS: [HeaderName; 4] = [
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_TYPE,
    header::USER_AGENT,
];

/// Fails at a header that is the host's own.
pub(super) fn check(headers: &HeaderMap) -> Result<(), EgressError> {
    match headers.keys().find(|name| is_own(name)) {
        None => Ok(()),
        Some(name) => Err(EgressError::Header {
            name: name.as_str().to_owned(),
            problem: "it belongs to the connection",
        }),
    }
}

/// Checked headers as they leave: in one order, and with the `accept` that is added where there is none. Whether it was there
/// before, and where, would tell a server something that no question shows.
pub(super) fn checked(mut headers: HeaderMap) -> Result<HeaderMap, EgressError> {
    check(&headers)?;
    headers
        .entry(header::ACCEPT)
        .or_insert(HeaderValue::from_static("*/*"));
    let mut all: Vec<_> = headers.iter().collect();
    // Stable: the values of one name stay in their order.
    all.sort_by_key(|(name, _)| name.as_str());
    let all = all.into_iter();
    Ok(all
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect())
}

/// What of these goes along to another host.
pub(super) fn for_another_host(headers: &HeaderMap) -> HeaderMap {
    let harmless = headers
        .iter()
        .filter(|(name, _)| HARMLESS.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()));
    harmless.collect()
}

fn is_own(name: &HeaderName) -> bool {
    OWN.contains(name)
        || name.as_str().starts_with("proxy-")
        || matches!(name.as_str(), "keep-alive" | "http2-settings")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(names: &[&str]) -> HeaderMap {
        let pair = |name: &&str| (name.parse().unwrap(), "x".parse().unwrap());
        names.iter().map(pair).collect()
    }

    #[test]
    fn framing_is_the_hosts_own() {
        for name in [
            "Host",
            "content-length",
            "Transfer-Encoding",
            "Connection",
            "Keep-Alive",
            "Proxy-Authorization",
            "proxy-anything",
            "Upgrade",
            "TE",
            "Expect",
            "Accept-Encoding",
        ] {
            assert!(checked(headers(&["accept", name])).is_err(), "{name}");
        }
        let given = ["user-agent", "mcp-session-id", "cookie", "authorization"];
        let kept = checked(headers(&given)).unwrap();
        let names: Vec<_> = kept.keys().map(HeaderName::as_str).collect();
        let expected = [
            "accept",
            "authorization",
            "cookie",
            "mcp-session-id",
            "user-agent",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn another_host_learns_nothing() {
        let kept = for_another_host(&headers(&[
            "accept",
            "authorization",
            "cookie",
            "mcp-session-id",
            "user-agent",
            "x-api-key",
        ]));
        assert_eq!(kept, headers(&["accept", "user-agent"]));
    }
}
