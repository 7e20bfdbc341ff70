//! An address as rules know it, and as it is really reached.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// An `https` URL without query and fragment, which also stands for the same URL with `http`: rules and grants do not tell
/// these apart, so comparisons do not either. What a person sees has the scheme that is used.
#[derive(Debug, Clone)]
pub struct Address {
    url: String,
    /// The URL with `http`, where that is the scheme.
    plain: Option<String>,
}

impl Address {
    /// `url` is the spelling of rules; `plain` the URL with `http`, where that is the scheme.
    pub(crate) fn new(url: String, plain: Option<String>) -> Address {
        Address { url, plain }
    }

    /// The spelling of rules.
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// The URL with the scheme that is used. Not escaped.
    pub fn shown(&self) -> &str {
        self.plain.as_deref().unwrap_or(&self.url)
    }

    /// Whether it is reached over `http`.
    pub fn is_plain(&self) -> bool {
        self.plain.is_some()
    }
}

impl From<String> for Address {
    fn from(url: String) -> Address {
        Address::new(url, None)
    }
}

impl From<&str> for Address {
    fn from(url: &str) -> Address {
        Address::new(url.to_owned(), None)
    }
}

impl Deref for Address {
    type Target = str;

    fn deref(&self) -> &str {
        &self.url
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

impl PartialEq for Address {
    fn eq(&self, other: &Address) -> bool {
        self.url == other.url
    }
}

impl Eq for Address {}

impl Hash for Address {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.url.hash(state);
    }
}

impl PartialOrd for Address {
    fn partial_cmp(&self, other: &Address) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Address {
    fn cmp(&self, other: &Address) -> Ordering {
        self.url.cmp(&other.url)
    }
}
