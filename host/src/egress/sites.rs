//! Headers that the user gave for certain sites: keys and tokens that no tool gets to see.

use std::collections::BTreeMap;
use std::fmt;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::{Host, Url};

use super::address::{Place, named_place};
use super::headers;

/// Headers by site: they go along with every request to exactly that host and port, over `https` or to this
/// machine, and nowhere else. `Debug` shows no values.
#[derive(Clone, Default)]
pub struct SiteHeaders(BTreeMap<Site, HeaderMap>);

/// A host and its port, `None` standing for that of `https`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    host: String,
    port: Option<u16>,
}

/// Why headers cannot be given to a site.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SiteError {
    /// Not a host.
    #[error("{0:?} is not a host; write example.com, or example.com:8443 for a port of its own")]
    Host(String),
    /// HTTP does not allow such a header, or it is the host's own.
    #[error("{site}: {name:?} is not a header that can be set")]
    Name {
        /// Whose.
        site: String,
        /// As written.
        name: String,
    },
    /// A value with line ends or other control characters. It is not repeated: it is a secret.
    #[error("{site}: the value of {name} holds characters that no header can have")]
    Value {
        /// Whose.
        site: String,
        /// Of which header.
        name: String,
    },
}

impl SiteHeaders {
    /// Adds a header for a site, `example.com` or `example.com:8443`. Neither ports nor subdomains are included
    /// that are not named.
    ///
    /// # Errors
    /// The site is none, or the header cannot be set.
    pub fn add(&mut self, site: &str, name: &str, value: &str) -> Result<(), SiteError> {
        let key = Site::parse(site).ok_or_else(|| SiteError::Host(site.to_owned()))?;
        let bad_name = || SiteError::Name {
            site: site.to_owned(),
            name: name.to_owned(),
        };
        let header = name.parse::<HeaderName>().map_err(|_| bad_name())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| SiteError::Value {
            site: site.to_owned(),
            name: name.to_owned(),
        })?;
        value.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(header, value);
        headers::check(&headers).map_err(|_| bad_name())?;
        self.0.entry(key).or_default().extend(headers);
        Ok(())
    }

    /// Adds all of others; where both name a header for a site, theirs counts.
    pub fn merge(&mut self, others: &SiteHeaders) {
        for (site, headers) in &others.0 {
            let mine = self.0.entry(site.clone()).or_default();
            for (name, value) in headers {
                mine.insert(name, value.clone());
            }
        }
    }

    /// Whether there is none at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What goes along with a request to this address.
    pub(super) fn of(&self, url: &Url) -> Option<&HeaderMap> {
        let is_safe = url.scheme() == "https" || named_place(url) == Some(Place::ThisMachine);
        let site = Site {
            host: bare(url.host_str()?).to_owned(),
            port: url.port_or_known_default().filter(|port| *port != 443),
        };
        self.0.get(&site).filter(|_| is_safe)
    }
}

impl Site {
    fn parse(written: &str) -> Option<Site> {
        let url = Url::parse(&format!("https://{written}")).ok()?;
        let is_only_host = url.path() == "/"
            && !written.contains(['/', '\\', '?', '#', '@', '*'])
            && written.trim() == written;
        let host = match url.host()? {
            Host::Domain(name) => bare(name).to_owned(),
            host => host.to_string(),
        };
        (is_only_host && !host.is_empty()).then(|| Site {
            host,
            port: url.port(),
        })
    }
}

fn bare(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

impl fmt::Debug for SiteHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_goes_to_its_own_site_only() {
        let mut sites = SiteHeaders::default();
        for site in [
            "Example.com",
            "bücher.example:8443",
            "localhost:3000",
            "[::1]:3000",
        ] {
            sites.add(site, "Authorization", "Bearer s3cret").unwrap();
        }
        for (url, goes) in [
            ("https://example.com/a?b", true),
            ("https://EXAMPLE.com:443/", true),
            ("https://example.com./", true),
            ("http://example.com/", false),
            ("http://example.com:443/", false),
            ("https://example.com:8443/", false),
            ("https://www.example.com/", false),
            ("https://example.com.evil.example/", false),
            ("https://evil.example/?example.com", false),
            ("https://xn--bcher-kva.example:8443/", true),
            ("https://xn--bcher-kva.example/", false),
            ("http://localhost:3000/", true),
            ("https://localhost:3000/", true),
            ("http://localhost/", false),
            ("http://localhost.evil.example:3000/", false),
            ("http://[::1]:3000/", true),
        ] {
            assert_eq!(sites.of(&url.parse().unwrap()).is_some(), goes, "{url}");
        }
        assert!(!format!("{sites:?}").contains("s3cret"));
    }

    #[test]
    fn two_lists_are_one() {
        let mut sites = SiteHeaders::default();
        sites.add("a.example", "X-One", "1").unwrap();
        sites.add("a.example", "X-Two", "1").unwrap();
        let mut others = SiteHeaders::default();
        others.add("A.example", "x-two", "2").unwrap();
        others.add("b.example", "X-One", "2").unwrap();
        sites.merge(&others);
        let of = |url: &str, name: &str| {
            let headers = sites.of(&url.parse().unwrap()).unwrap();
            headers
                .get(name)
                .map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(of("https://a.example/", "x-one").as_deref(), Some("1"));
        assert_eq!(of("https://a.example/", "x-two").as_deref(), Some("2"));
        assert_eq!(of("https://b.example/", "x-one").as_deref(), Some("2"));
    }

    #[test]
    fn what_is_no_site_or_no_header_is_refused() {
        let mut sites = SiteHeaders::default();
        for site in [
            "",
            "https://example.com",
            "example.com/",
            "example.com/path",
            "*.example.com",
            "user@example.com",
            "example.com:99999",
            "a b",
            " example.com",
        ] {
            let refused = sites.add(site, "a", "b");
            assert!(
                matches!(refused, Err(SiteError::Host(_))),
                "{site}: {refused:?}"
            );
        }
        for name in [
            "",
            "a b",
            "Host",
            "Content-Length",
            "x\r\ny",
            "Proxy-Authorization",
        ] {
            let refused = sites.add("h", name, "b");
            assert!(
                matches!(refused, Err(SiteError::Name { .. })),
                "{name}: {refused:?}"
            );
        }
        for value in ["a\r\nb: c", "\0", "\n"] {
            let refused = sites.add("h", "a", value).unwrap_err();
            assert!(matches!(refused, SiteError::Value { .. }), "{value:?}");
        }
        assert!(sites.is_empty());
    }
}
