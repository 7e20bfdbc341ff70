//! `web_fetch.json` beside `config.toml`: headers that go along with requests to certain sites.
//!
//! The file holds secrets, so it has its own place, apart from what one shows to others or keeps in a repository. A
//! project cannot bring one. What is wrong in it is left out and said; the rest holds. The same table may stand in
//! `config.toml`, `[web_fetch.auth."example.com"]`, where what is wrong is an error as everywhere in it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dunlin_host::egress::{SiteError, SiteHeaders};
use serde::Deserialize;
use toml::Spanned;

use super::paths::OPEN_TO_OTHERS;
use super::value::table;

/// The largest file in bytes. Real ones have some hundred.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// What the file says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    auth: BTreeMap<String, Site>,
}

table! {
    /// What it says of one site. `Debug` shows no values.
    #[derive(Clone, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Site {
        /// Headers that requests of tools to this host carry.
        headers: BTreeMap<String, String>,
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.headers.keys()).finish()
    }
}

/// `[web_fetch]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebFetch {
    /// Headers, by site.
    #[serde(default)]
    pub auth: BTreeMap<String, Spanned<Site>>,
}

impl Site {
    /// Its headers for the site of this name.
    ///
    /// # Errors
    /// One of them cannot be set, or the name is none of a host.
    pub fn headers(&self, site: &str) -> Result<SiteHeaders, SiteError> {
        let mut headers = SiteHeaders::default();
        for (name, value) in &self.headers {
            headers.add(site, name, value)?;
        }
        Ok(headers)
    }
}

/// The headers of `config.toml`, and a warning where others can read them. Checked when the file was read.
pub fn configured(web_fetch: &WebFetch, path: &Path, shown: &str) -> (SiteHeaders, Option<String>) {
    let mut sites = SiteHeaders::default();
    for (name, site) in &web_fetch.auth {
        if let Ok(headers) = site.get_ref().headers(name) {
            sites.merge(&headers);
        }
    }
    let is_open = || {
        let metadata = path.metadata().ok()?;
        Some(metadata.permissions().mode() & OPEN_TO_OTHERS != 0)
    };
    let warning = (!sites.is_empty() && is_open() == Some(true)).then(|| {
        format!("others may read {shown}, which holds headers; chmod 600 {shown} closes it")
    });
    (sites, warning)
}

/// Reads the file, if there is one; `shown` is its path for people. Beside the headers it gives what the user should
/// know, one line each, without any of the values.
pub fn read(path: &Path, shown: &str) -> (SiteHeaders, Vec<String>) {
    let mut sites = SiteHeaders::default();
    let (file, open) = match read_file(path) {
        Ok(Some(read)) => read,
        Ok(None) => return (sites, Vec::new()),
        Err(problem) => {
            let notice = format!("{shown} is ignored: {problem}");
            return (sites, vec![notice]);
        }
    };
    let mut notices = Vec::new();
    if open {
        notices.push(format!(
            "others may read {shown}; chmod 600 {shown} closes it"
        ));
    }
    for (site, entry) in &file.auth {
        for (name, value) in &entry.headers {
            if let Err(error) = sites.add(site, name, value) {
                notices.push(format!("{shown}: a header is ignored: {error}"));
            }
        }
    }
    (sites, notices)
}

/// The file and whether others can read it. The error is the end of a sentence.
fn read_file(path: &Path) -> Result<Option<(File, bool)>, String> {
    let file = match dunlin_host::files::open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let metadata = file.metadata().map_err(|e| e.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(|e| e.to_string())?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it has more than {MAX_FILE_BYTES} bytes"));
    }
    let read = serde_json::from_slice(&text).map_err(|error| {
        // The words of the parser may repeat a value; where it stands is enough.
        let place = format!("line {}, column {}", error.line(), error.column());
        let problem = match error.classify() {
            serde_json::error::Category::Data => "something is not as it has to be",
            _ => "this is not JSON",
        };
        let example = r#"{"auth": {"example.com": {"headers": {"Authorization": "..."}}}}"#;
        format!("{problem} at {place}; it has to look like {example}")
    })?;
    Ok(Some((
        read,
        metadata.permissions().mode() & OPEN_TO_OTHERS != 0,
    )))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    fn read_text(text: &str) -> (SiteHeaders, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web_fetch.json");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        read(&path, "web_fetch.json")
    }

    #[test]
    fn headers_are_read() {
        let (sites, notices) = read_text(
            r#"{"auth": {"example.com": {"headers": {"Authorization": "Bearer s3cret", "X-Team": "birds"}}}}"#,
        );
        assert!(!sites.is_empty());
        assert_eq!(notices, [""; 0]);
        let (sites, notices) = read(Path::new("/nowhere/web_fetch.json"), "web_fetch.json");
        assert!(sites.is_empty() && notices.is_empty());
    }

    #[test]
    fn the_configuration_may_hold_them_too() {
        use crate::config::file::{Author, Loaded};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let parse = |text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            Loaded::parse(&path, text, Author::User)
        };
        let good =
            "[web_fetch.auth.\"example.com\"]\nheaders = { Authorization = \"Bearer s3cret\" }\n";
        let loaded = parse(good).unwrap();
        assert!(!format!("{:?}", loaded.file).contains("s3cret"));
        let (sites, warning) = configured(&loaded.file.web_fetch, &path, "config.toml");
        assert!(!sites.is_empty());
        assert_eq!(
            warning.as_deref(),
            Some(
                "others may read config.toml, which holds headers; chmod 600 config.toml closes it"
            )
        );
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(
            configured(&loaded.file.web_fetch, &path, "config.toml").1,
            None
        );
        for (text, expected) in [
            (
                "[web_fetch.auth.\"https://example.com/\"]\nheaders = { A = \"s3cret\" }",
                "config.toml:1: [web_fetch.auth]: \"https://example.com/\" is not a host",
            ),
            (
                "\n[web_fetch.auth.h]\nheaders = { Host = \"s3cret\" }",
                "config.toml:2: [web_fetch.auth]: h: \"Host\" is not a header",
            ),
            (
                "[web_fetch.auth.h]\nheaders = { A = \"s3cret\\n\" }",
                "config.toml:1: [web_fetch.auth]: h: the value of A holds characters",
            ),
            (
                "[web_fetch.auth.h]\nheader = { A = \"s3cret\" }",
                "config.toml:2: unknown key \"header\"",
            ),
        ] {
            let why = parse(text).unwrap_err().to_string();
            assert!(why.contains(expected), "{text}: {why}");
            assert!(!why.contains("s3cret"), "{why}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_secret() {
        for (text, expected) in [
            ("", "line 1, column 0"),
            ("{\"auth\": {\n\"example.com\"", "line 2"),
            (
                r#"{"auth": {"example.com": {"headers": {"A": 5331337}}}}"#,
                "line 1",
            ),
            (
                r#"{"auth": {"example.com": {"header": {"A": "s3cret"}}}}"#,
                "line 1",
            ),
            (r#"{"auht": {}}"#, "line 1"),
            (
                r#"{"auth": {"https://example.com/": {"headers": {"A": "s3cret"}}}}"#,
                "not a host",
            ),
            (
                r#"{"auth": {"example.com": {"headers": {"Host": "s3cret"}}}}"#,
                "\"Host\"",
            ),
            (
                r#"{"auth": {"example.com": {"headers": {"A": "s3cret\n"}}}}"#,
                "value of A",
            ),
        ] {
            let (sites, notices) = read_text(text);
            assert!(sites.is_empty(), "{text}");
            let [notice] = notices.as_slice() else {
                panic!("{text}: {notices:?}");
            };
            assert!(notice.contains(expected), "{text}: {notice}");
            assert!(
                !notice.contains("s3cret") && !notice.contains("5331337"),
                "{notice}"
            );
        }
    }

    #[test]
    fn an_open_file_is_said_and_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web_fetch.json");
        fs::write(&path, r#"{"auth": {"h": {"headers": {"a": "b"}}}}"#).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let (sites, notices) = read(&path, "web_fetch.json");
        assert!(!sites.is_empty());
        assert_eq!(
            notices,
            ["others may read web_fetch.json; chmod 600 web_fetch.json closes it"]
        );
    }
}
