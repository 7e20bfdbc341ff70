//! What a protocol needs of HTTP: the addresses below a `base_url`, and the headers beside those of JSON.

use reqwest::RequestBuilder;
use reqwest::header::HeaderValue;
use url::Url;

use dunlin_chat::secret::Secret;

/// The headers of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    /// The one that carries the key.
    pub key: &'static str,
    /// What stands in it before the key.
    pub before_key: &'static str,
    /// The others, by name.
    pub others: &'static [(&'static str, &'static str)],
}

/// The key as most servers want it.
pub const BEARER: Headers = Headers {
    key: "authorization",
    before_key: "Bearer ",
    others: &[],
};

/// The key cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the API key holds characters that cannot be sent in a header")]
pub struct NoHeader;

impl Headers {
    /// Adds them to a request, with the key if there is one.
    ///
    /// # Errors
    /// The key cannot be sent.
    pub fn add(
        self,
        mut request: RequestBuilder,
        key: Option<&Secret>,
    ) -> Result<RequestBuilder, NoHeader> {
        for (name, value) in self.others {
            request = request.header(*name, *value);
        }
        let Some(key) = key else {
            return Ok(request);
        };
        let value = HeaderValue::try_from(format!("{}{}", self.before_key, key.reveal()));
        let mut value = value.map_err(|_| NoHeader)?;
        value.set_sensitive(true);
        Ok(request.header(self.key, value))
    }
}

/// An address below another one.
pub fn below(root: &Url, path: &str) -> Url {
    let mut url = root.clone();
    let base = root.path().trim_end_matches('/');
    url.set_path(&format!("{base}/{path}"));
    url
}

/// An address without the first of these ends that its path has.
pub(crate) fn without_ends(url: &Url, ends: &[&str]) -> Url {
    let mut root = url.clone();
    let path = root.path().trim_end_matches('/');
    let path = ends
        .iter()
        .find_map(|end| path.strip_suffix(end))
        .unwrap_or(path)
        .to_owned();
    root.set_path(&path);
    root
}
