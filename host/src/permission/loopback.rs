//! The names of this machine in URLs: a `-` for one of them is a `-` for all.
//!
//! `localhost`, `127.0.0.1`, `[::1]` and the other names of this machine lead to the same servers, so a deny of one name
//! covers them all: otherwise a tool could use another spelling to avoid it. An allow covers only the name that it was given
//! for, since a server may listen on one address only.

use std::collections::BTreeSet;

use url::{Host, Url};

use super::key::Key;
use crate::target::Target;

/// A target on this machine, with its host replaced by each other name of this machine that one of the keys uses. Empty for
/// targets elsewhere.
pub(super) fn other_names<'a>(
    target: &Target,
    keys: impl Iterator<Item = &'a Key>,
) -> impl Iterator<Item = Target> {
    let own = match target {
        Target::Url(url) => host(url).filter(|host| is_this_machine(host)),
        _ => None,
    };
    let names: BTreeSet<&str> = match own {
        Some(own) => keys
            .filter_map(|key| match key {
                Key::Url(url) | Key::UrlBelow(url) => host(url),
                _ => None,
            })
            .filter(|name| *name != own && is_this_machine(name))
            .collect(),
        None => BTreeSet::new(),
    };
    let under = |name: &str| match (target, own) {
        (Target::Url(url), Some(own)) => Some(Target::Url(url.replacen(own, name, 1).into())),
        _ => None,
    };
    let targets: Vec<Target> = names.into_iter().filter_map(under).collect();
    targets.into_iter()
}

/// The host of a resolved URL as it is written there, without its port.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    match authority.find(']') {
        Some(end) => authority.get(..=end),
        None => authority.split(':').next(),
    }
}

/// Whether a host is this machine: by an address of it, or by a name that is never looked up (RFC 6761).
fn is_this_machine(host: &str) -> bool {
    let Ok(url) = Url::parse(&format!("https://{host}/")) else {
        return false;
    };
    match url.host() {
        // A connection to the unspecified address reaches this machine, too.
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => {
            let inner = address.to_ipv4_mapped();
            address.is_loopback()
                || address.is_unspecified()
                || inner.is_some_and(|inner| inner.is_loopback() || inner.is_unspecified())
        }
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve;

    #[test]
    fn every_spelling_of_this_machine_is_known() {
        for (written, expected) in [
            ("http://localhost:3000/", true),
            ("http://LOCALHOST.:3000/", true),
            ("http://app.localhost/", true),
            ("http://127.0.0.1/", true),
            ("http://127.1/", true),
            ("http://0x7f000001/", true),
            ("http://2130706433/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]/", true),
            ("http://[::ffff:127.0.0.1]:1/", true),
            ("http://0.0.0.0/", true),
            ("http://[::]/", true),
            ("http://localhost.example.org/", false),
            ("http://mylocalhost/", false),
            ("http://192.168.1.1/", false),
            ("http://[::2]/", false),
            ("https://docs.rs/", false),
        ] {
            let Target::Url(url) = resolve::url(written).unwrap() else {
                panic!("{written}");
            };
            assert_eq!(is_this_machine(host(&url).unwrap()), expected, "{written}");
        }
    }

    #[test]
    fn a_name_is_replaced_and_nothing_else() {
        let keys = [
            Key::UrlBelow("https://127.0.0.1:3000/".into()),
            Key::Url("https://[::1]/x".into()),
            Key::UrlBelow("https://docs.rs/".into()),
            Key::UrlBelow("https://localhost/".into()),
        ];
        let names = |url: &str| -> Vec<String> {
            let target = Target::Url(url.into());
            other_names(&target, keys.iter())
                .map(|target| target.to_string())
                .collect()
        };
        assert_eq!(
            names("https://localhost:3000/a/localhost"),
            [
                "https://127.0.0.1:3000/a/localhost",
                "https://[::1]:3000/a/localhost"
            ]
        );
        assert_eq!(
            names("https://[::1]/x"),
            ["https://127.0.0.1/x", "https://localhost/x"]
        );
        assert_eq!(names("https://docs.rs/localhost"), Vec::<String>::new());
    }
}
