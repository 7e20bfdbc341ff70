//! `web_fetch.json` beside `config.toml`: headers that go along with requests to certain sites.
//!
//! The file holds secrets, so it has its own place, apart from what one shows to others or keeps in a repository. A
//! project cannot bring one. What is wrong in it is left out and said; the rest holds.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dunlin_host::egress::SiteHeaders;
use serde::Deserialize;

/// The largest file in bytes. Real ones have some hundred.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Anything that group or others may do with the file.
const OPEN_TO_OTHERS: u32 = 0o077;

/// What the file says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    auth: BTreeMap<String, Site>,
}

/// What it says of one site.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Site {
    headers: BTreeMap<String, String>,
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
    let file = match super::file::open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let metadata = file.metadata().map_err(|e| e.to_string())?;
    if !metadata.is_file() {
        return Err("it is no regular file".to_owned());
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
