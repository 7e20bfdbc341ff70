//! Where an index of plugins is, as the user names it.

use std::fmt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::str::FromStr;

use oci_spec::distribution::Reference;
use url::Url;

use super::MAX_INDEX_BYTES;
use crate::plugin::registry::{self, FetchError};
use dunlin_provider::http::is_this_machine;

/// The file in a git repository, unless another one is named behind a `#`.
const FILE: &str = "dunlin-plugins.json";

/// How git may reach a repository. Others of its ways run programs that the address names.
const PROTOCOLS: &str = "https:ssh:file";

/// Characters of what git said that are repeated.
const MAX_SAID_CHARS: usize = 400;

/// Where an index is.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// At an address of the web: `https://example.com/plugins.json`.
    Page(Url),
    /// In a git repository: `git+https://example.com/plugins`, or any address that ends with `.git`.
    Git { url: Url, file: String },
    /// In a registry: `ghcr.io/who/plugins:latest`.
    Registry(Reference),
}

/// Why there is no index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It cannot be one.
    #[error("{0:?} is not a source of plugins")]
    Unknown(String),
    #[error("cannot fetch the index")]
    Fetch(#[from] FetchError),
    #[error("git cannot be started")]
    NoGit(#[source] std::io::Error),
    #[error("git cannot read {url}: {said}")]
    Git { url: String, said: String },
    #[error("the index is larger than {MAX_INDEX_BYTES} bytes")]
    TooLarge,
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Source, SourceError> {
        let unknown = || SourceError::Unknown(text.to_owned());
        let plain = text.strip_prefix("git+").unwrap_or(text);
        let Ok(mut url) = plain.parse::<Url>() else {
            return registry::reference(text)
                .and_then(Result::ok)
                .map(Source::Registry)
                .ok_or_else(unknown);
        };
        let is_git = plain.len() < text.len() || url.path().ends_with(".git");
        match url.scheme() {
            "https" | "ssh" | "file" if is_git => {
                let file = url.fragment().unwrap_or(FILE).to_owned();
                url.set_fragment(None);
                Ok(Source::Git { url, file })
            }
            "https" => Ok(Source::Page(url)),
            "http" if is_this_machine(&url) => Ok(Source::Page(url)),
            // `oci://…`, and hosts with a port, which look like a scheme.
            _ => registry::reference(text)
                .and_then(Result::ok)
                .map(Source::Registry)
                .ok_or_else(unknown),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Page(url) => write!(f, "{url}"),
            Source::Git { url, file } if file == FILE => write!(f, "git+{url}"),
            Source::Git { url, file } => write!(f, "git+{url}#{file}"),
            Source::Registry(reference) => write!(f, "{reference}"),
        }
    }
}

impl Source {
    /// Fetches what stands there.
    ///
    /// # Errors
    /// Says what is in the way.
    pub async fn fetch(&self, home: Option<&Path>) -> Result<Vec<u8>, SourceError> {
        match self {
            Source::Page(url) => Ok(registry::fetch_page(url).await?),
            Source::Registry(reference) => Ok(registry::fetch_index(reference, home).await?),
            Source::Git { url, file } => of_git(url, file),
        }
    }
}

/// Reads one file of a repository. Nothing of it is checked out, so nothing of it runs.
fn of_git(url: &Url, file: &str) -> Result<Vec<u8>, SourceError> {
    let failed = |said: String| SourceError::Git {
        url: url.to_string(),
        said,
    };
    let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let git = |arguments: &[&str]| -> Result<Output, SourceError> {
        let output = Command::new("git")
            .arg("-C")
            .arg(folder.path())
            .args(arguments)
            .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(Stdio::null())
            .output()
            .map_err(SourceError::NoGit)?;
        if output.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        Err(failed(said.chars().take(MAX_SAID_CHARS).collect()))
    };
    git(&[
        "clone",
        "--quiet",
        "--bare",
        "--depth=1",
        "--template=",
        "--",
        url.as_str(),
        ".",
    ])?;
    let object = format!("HEAD:{file}");
    let size = git(&["cat-file", "-s", &object])?;
    let size: Option<u64> = String::from_utf8_lossy(&size.stdout).trim().parse().ok();
    if size.is_none_or(|size| size > MAX_INDEX_BYTES) {
        return Err(SourceError::TooLarge);
    }
    Ok(git(&["cat-file", "blob", &object])?.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_apart() {
        for (text, expected) in [
            ("https://example.com/plugins.json", "page"),
            ("http://127.0.0.1:8000/plugins.json", "page"),
            ("https://example.com/who/plugins.git", "git"),
            ("git+https://example.com/who/plugins#lists/all.json", "git"),
            ("git+ssh://git@example.com/who/plugins", "git"),
            ("git+file:///home/ada/plugins", "git"),
            ("ghcr.io/who/plugins:latest", "registry"),
            ("oci://who/plugins", "registry"),
            ("localhost:5000/plugins", "registry"),
            ("127.0.0.1:5000/plugins:1", "registry"),
        ] {
            let source: Source = text.parse().unwrap();
            let kind = match &source {
                Source::Page(_) => "page",
                Source::Git { .. } => "git",
                Source::Registry(_) => "registry",
            };
            assert_eq!(kind, expected, "{text}");
            // As it is stored, it is the same again.
            assert_eq!(source.to_string().parse::<Source>().unwrap(), source);
        }
        for text in [
            "",
            "plugins",
            "http://example.com/plugins.json",
            "git+ext::sh -c true",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "git+git://example.com/a",
        ] {
            assert!(text.parse::<Source>().is_err(), "{text}");
        }
    }
}
