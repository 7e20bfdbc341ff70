//! Addresses: what a tool or a person writes, and the one spelling that rules are about.
//!
//! Two spellings of one address must come to one target, or a deny could be gone around. The URL standard's
//! own rules see to most of it: the case of the host, Unicode names as punycode, the many ways to write an
//! IPv4 address, default ports, `..` also where its dots are written `%2e`. This module adds what the standard
//! leaves alone and servers do not: the dot behind a host's name, an IPv4 address in the form of an IPv6 address,
//! needless percent-encoding, and a `..` behind an encoded slash, which is refused because servers disagree about it.

use std::net::IpAddr;

use super::error::{MAX_SHOWN_CHARS, ResolveError};
use crate::display::shorten;
use crate::target::{Address, Target};

/// Longest URL that is looked at, in bytes; what browsers and servers agree to handle.
const MAX_URL_BYTES: usize = 8192;

/// What an address in a rule means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UrlKey {
    /// The address in its one spelling.
    pub(crate) url: String,
    /// Whether everything below it is meant.
    pub(crate) below: bool,
}

/// Resolves an address: rules know `http` as `https`, query and fragment go, credentials are refused, the port stays,
/// an empty path becomes `/`.
pub(crate) fn url(written: &str) -> Result<Target, ResolveError> {
    let (parsed, plain) = normalise(written)?;
    Ok(Target::Url(Address::new(parsed.to_string(), plain)))
}

/// Resolves an address with everything below it, which ends with `/`.
pub(crate) fn site(written: &str) -> Result<Target, ResolveError> {
    let key = url_key(written)?;
    if !key.below {
        return Err(failure(
            written,
            "everything below an address is meant, so it ends with /",
        ));
    }
    let (_, plain) = normalise(written)?;
    Ok(Target::Site(Address::new(key.url, plain)))
}

/// Understands an address in a rule: with a `/` at its end, or without any path, it means all that lies below.
///
/// A rule has no query: every one that it could have would be covered, which is more than what was written.
pub(crate) fn url_key(written: &str) -> Result<UrlKey, ResolveError> {
    let fail = |problem: &str| failure(written, problem);
    if written.contains(['?', '#']) {
        return Err(fail(
            "a permission covers an address with every query; leave out ? and # and what follows",
        ));
    }
    let behind_scheme = written.split_once(':').map_or("", |(_, rest)| rest);
    let behind_slashes = behind_scheme.trim_start_matches(['/', '\\']);
    let below = written.ends_with('/') || !behind_slashes.contains(['/', '\\']);
    let mut url = normalise(written)?.0.to_string();
    if below && !url.ends_with('/') {
        url.push('/');
    }
    Ok(UrlKey { url, below })
}

/// The same address as a server may read it that takes an encoded slash for a slash, and several for one.
/// `None` where that is no other address.
pub(crate) fn loosely_read(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let decoded = path
        .replace("%2F", "/")
        .replace("%5C", "/")
        .replace('\\', "/");
    let parts = decoded.split('/').filter(|part| !matches!(*part, "" | "."));
    let mut loose = parts.fold(String::new(), |loose, part| loose + "/" + part);
    if loose.is_empty() || decoded.ends_with('/') || decoded.ends_with("/.") {
        loose.push('/');
    }
    (loose != path).then(|| format!("{scheme}://{host}{loose}"))
}

/// The address in its one spelling, and where it was written with `http`, the same with that scheme.
fn normalise(written: &str) -> Result<(url::Url, Option<String>), ResolveError> {
    let fail = |problem: &str| failure(written, problem);
    if written.len() > MAX_URL_BYTES {
        return Err(fail("it is too long"));
    }
    let mut parsed = url::Url::parse(written).map_err(|e| fail(&e.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(fail(&format!("the scheme is {}", parsed.scheme())));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(fail("it carries credentials"));
    }
    let host = match parsed.host_str() {
        None | Some("") => return Err(fail("there is no host")),
        Some(host) => host.to_owned(),
    };
    if host.contains('*') {
        return Err(fail("a host has no *; name each host"));
    }
    // With the dot it is the same host: what is denied without it must be denied with it.
    if let Some(bare) = host.strip_suffix('.') {
        if bare.is_empty() || bare.ends_with('.') {
            return Err(fail("the host ends with dots"));
        }
        parsed
            .set_host(Some(bare))
            .map_err(|e| fail(&e.to_string()))?;
    }
    plain_ip(&mut parsed).map_err(|()| fail("the address of the host cannot be kept"))?;
    // Known while the scheme still says which port is its own.
    let port = parsed.port();
    let is_plain = parsed.scheme() == "http";
    parsed.set_query(None);
    parsed.set_fragment(None);
    // `set_scheme` cannot fail between http and https; if it ever does, the target is refused.
    parsed
        .set_scheme("https")
        .map_err(|()| fail("the scheme cannot be mapped"))?;
    parsed
        .set_port(port)
        .map_err(|()| fail("the port cannot be kept"))?;
    let path = plain_encoding(parsed.path());
    if hides_parent(&path) {
        return Err(fail("it hides .. behind an encoded slash"));
    }
    // Decoding may have uncovered a dot segment (`%252e` does not: it is decoded once).
    parsed.set_path(&path);
    let plain = is_plain.then(|| {
        let mut plain = parsed.clone();
        // As above, these cannot fail.
        let _ = plain.set_scheme("http");
        let _ = plain.set_port(port);
        plain.to_string()
    });
    Ok((parsed, plain))
}

/// Replaces `[::ffff:1.2.3.4]` by `1.2.3.4`: a connection to either goes to the same server.
pub(crate) fn plain_ip(url: &mut url::Url) -> Result<(), ()> {
    match url.host() {
        Some(url::Host::Ipv6(ip)) => match IpAddr::from(ip).to_canonical() {
            ip @ IpAddr::V4(_) => url.set_ip_host(ip),
            IpAddr::V6(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Percent-encoding in its plainest form: nothing is encoded that needs not be, and digits are capitals.
fn plain_encoding(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        let start = path.len() - rest.len() + at;
        let digit = |place: usize| {
            let byte = bytes.get(start + place)?;
            (*byte as char).to_digit(16)
        };
        let Some(byte) = digit(1)
            .zip(digit(2))
            .and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
        else {
            // A stray `%` means itself; bare it could make an encoding with what is decoded behind it.
            plain.push_str("%25");
            rest = &rest[at + 1..];
            continue;
        };
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            plain.push(byte as char);
        } else {
            plain.push_str(&path[start..start + 3].to_ascii_uppercase());
        }
        rest = &rest[at + 3..];
    }
    plain.push_str(rest);
    plain
}

/// Whether a server that decodes slashes would leave the folder that the path seems to be in.
fn hides_parent(path: &str) -> bool {
    let decoded = path.replace("%2F", "/").replace("%5C", "/");
    decoded.split(['/', '\\']).any(|segment| segment == "..")
}

fn failure(written: &str, problem: &str) -> ResolveError {
    ResolveError::Url {
        url: shorten(written, MAX_SHOWN_CHARS).into_owned(),
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests;
