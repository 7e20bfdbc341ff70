//! What an answer is, by its content type and, where that says nothing, by its beginning.

/// What can be made of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A page: it can become Markdown.
    Html,
    /// Any other text: it stays.
    Text,
    /// Anything else: it becomes base64.
    Binary,
}

/// A content type, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MediaType {
    /// `text/html`, in lower case; empty where the server says nothing that makes sense.
    pub essence: String,
    /// The charset, as the server names it.
    pub charset: Option<String>,
}

impl MediaType {
    /// Takes a header apart. What makes no sense counts as not said.
    pub fn parse(header: &str) -> MediaType {
        let mut parts = header.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_token = |text: &str| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c))
        };
        let is_whole = essence
            .split_once('/')
            .is_some_and(|(kind, name)| is_token(kind) && is_token(name));
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let value = value.trim().trim_matches(['"', '\'']);
            (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty())
                .then(|| value.to_owned())
        });
        MediaType {
            essence: if is_whole { essence } else { String::new() },
            charset,
        }
    }

    /// What it is; `beginning` are the first bytes of the body, which count where the server says nothing.
    pub fn kind(&self, beginning: &[u8]) -> Kind {
        let essence = self.essence.as_str();
        if matches!(essence, "text/html" | "application/xhtml+xml") {
            return Kind::Html;
        }
        // Nothing was said, or what servers say of everything they do not know.
        if matches!(
            essence,
            "" | "application/octet-stream" | "application/unknown"
        ) {
            return sniff(beginning, essence.is_empty());
        }
        let is_text = essence.starts_with("text/")
            || essence.ends_with("+json")
            || (essence.ends_with("+xml") && !essence.starts_with("image/"))
            || essence.ends_with("+yaml")
            || TEXTS.contains(&essence);
        if is_text { Kind::Text } else { Kind::Binary }
    }
}

/// Types that are text although their names do not begin so.
const TEXTS: [&str; 17] = [
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/jsonlines",
    "application/ld+json",
    "application/ndjson",
    "application/rtf",
    "application/sql",
    "application/toml",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-www-form-urlencoded",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
];

fn sniff(beginning: &[u8], may_be_page: bool) -> Kind {
    let has_mark = encoding_rs::Encoding::for_bom(beginning).is_some();
    let is_control =
        |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | 0x1b);
    if !has_mark && beginning.iter().any(is_control) {
        return Kind::Binary;
    }
    let cut_in_character = |error: std::str::Utf8Error| error.error_len().is_none();
    let is_utf8 = std::str::from_utf8(beginning).map_or_else(cut_in_character, |_| true);
    if !has_mark && !is_utf8 && !may_be_page {
        return Kind::Binary;
    }
    let start = beginning.trim_ascii_start();
    let begins = |tag: &[u8]| {
        start
            .get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag))
    };
    match may_be_page && (begins(b"<!doctype html") || begins(b"<html")) {
        true => Kind::Html,
        false => Kind::Text,
    }
}
