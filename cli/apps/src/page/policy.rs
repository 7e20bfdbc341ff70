//! What browsers are told about each answer: the headers.

use std::cell::RefCell;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

use super::address::Address;

/// Scripts that may stand in the html of an app. Each costs 54 bytes of a header, and browsers take 256 KiB of headers.
pub(super) const MAX_INLINE_SCRIPTS: usize = 500;

/// What an answer without a policy of its own may do: nothing.
pub(super) const NOTHING: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/// What no page of an app may use. Browsers skip names that they do not know, with a note in their console, so the list has
/// what all or most of them know.
const ABILITIES: [&str; 26] = [
    "accelerometer",
    "autoplay",
    "bluetooth",
    "browsing-topics",
    "camera",
    "clipboard-read",
    "clipboard-write",
    "compute-pressure",
    "cross-origin-isolated",
    "display-capture",
    "encrypted-media",
    "fullscreen",
    "geolocation",
    "gyroscope",
    "hid",
    "idle-detection",
    "local-fonts",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "publickey-credentials-get",
    "screen-wake-lock",
    "serial",
    "usb",
    "xr-spatial-tracking",
];

/// The headers of every answer.
pub(super) fn add_headers(headers: &mut HeaderMap) {
    let mut add = |name, value: &'static str| {
        let name = HeaderName::from_static(name);
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    };
    add("content-security-policy", NOTHING);
    add("x-content-type-options", "nosniff");
    add("referrer-policy", "no-referrer");
    add("cross-origin-opener-policy", "same-origin");
    add("cross-origin-resource-policy", "same-origin");
    add("cache-control", "no-store");
    // Looking a name up is a message to whoever answers for that name.
    add("x-dns-prefetch-control", "off");
    let abilities: Vec<String> = ABILITIES.iter().map(|it| format!("{it}=()")).collect();
    if let Ok(value) = HeaderValue::from_str(&abilities.join(", ")) {
        headers.insert("permissions-policy", value);
    }
}

/// The policy of the outer document. What `frame-src` says holds for wherever the frame goes later, too.
pub(super) fn of_outer(address: &Address) -> String {
    let Address {
        origin,
        token,
        frame_token,
        ..
    } = address;
    format!(
        "default-src 'none'; script-src {origin}/{token}/outer.js; style-src {origin}/{token}/outer.css; \
         connect-src 'self'; frame-src {origin}/{frame_token}/; frame-ancestors 'none'; form-action 'none'; \
         base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

/// The policy of the document of an app at this URL, with these scripts in its html.
///
/// The scripts that stand in the html run, and no others: text that an app fetched and shows as html cannot call the back
/// end. Styles run nothing and reach nobody, so they may come from anywhere in the app.
pub(super) fn of_app(inline: &[String], base: &str, address: &Address) -> String {
    let mut scripts = format!("script-src {base}bridge.js {base}renderer.js");
    if !inline.is_empty() {
        scripts.push_str(" 'unsafe-hashes'");
    }
    for script in inline.iter().take(MAX_INLINE_SCRIPTS) {
        let digest = STANDARD.encode(Sha256::digest(script));
        // Writing to a string cannot fail.
        let _written = write!(scripts, " 'sha256-{digest}'");
    }
    format!(
        "default-src 'none'; {scripts}; style-src 'unsafe-inline'; img-src data: blob:; media-src data: blob:; \
         font-src data:; connect-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors {}; \
         webrtc 'block'; require-trusted-types-for 'script'; trusted-types default; sandbox {SANDBOX}",
        address.origin
    )
}

/// What the frame may do: run scripts, and have forms whose `submit` event a script handles. The policy forbids sending them.
pub(super) const SANDBOX: &str = "allow-scripts allow-forms";

/// The scripts in a piece of html, those of attributes included, as a browser hashes them.
pub(super) fn inline_scripts(html: &str) -> Vec<String> {
    let scripts = Scripts::default();
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from_slice(html));
    let tokenizer = Tokenizer::new(scripts, Default::default());
    // A script that ended interrupts the tokenizer.
    while !queue.is_empty() {
        let _paused = tokenizer.feed(&queue);
    }
    tokenizer.end();
    tokenizer.sink.found.into_inner()
}

#[derive(Default)]
struct Scripts {
    found: RefCell<Vec<String>>,
    /// The script whose text is being read.
    open: RefCell<Option<String>>,
}

impl TokenSink for Scripts {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut open = self.open.borrow_mut();
        match token {
            Token::CharacterTokens(text) => {
                if let Some(script) = open.as_mut() {
                    script.push_str(&text);
                }
            }
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                for attribute in &tag.attrs {
                    if attribute.name.local.starts_with("on") {
                        self.found.borrow_mut().push(attribute.value.to_string());
                    }
                }
                let kind = match &*tag.name {
                    "script" => {
                        *open = Some(String::new());
                        RawKind::ScriptData
                    }
                    "title" | "textarea" => RawKind::Rcdata,
                    "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => {
                        RawKind::Rawtext
                    }
                    _ => return TokenSinkResult::Continue,
                };
                return TokenSinkResult::RawData(kind);
            }
            Token::TagToken(_) => {
                if let Some(script) = open.take() {
                    self.found.borrow_mut().push(script);
                }
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_where_a_browser_finds_them() {
        let cases: [(&str, &[&str]); 9] = [
            ("<p>no script</p>", &[]),
            (
                "<script>a()</script><script >b('<p>')</SCRIPT>",
                &["a()", "b('<p>')"],
            ),
            ("<script>\r\na()\r</script>", &["\na()\n"]),
            ("<script>if (a &lt; b) c()</script>", &["if (a &lt; b) c()"]),
            ("<p onclick='a(&quot;b&quot;)' title=x>", &["a(\"b\")"]),
            ("<P ONCLICK=a()>", &["a()"]),
            (
                "<!-- <script>a()</script> --><title><script>b()</script></title>",
                &[],
            ),
            (
                "<style><script>a()</script></style><textarea><p onclick=b()></textarea>",
                &[],
            ),
            ("<script>a()", &[]),
        ];
        for (html, expected) in cases {
            assert_eq!(inline_scripts(html), expected, "{html}");
        }
    }
}
