//! The addresses behind the links of a reply, for terminals that open them (OSC 8).
//!
//! The address comes from the model, so little of it reaches the terminal: only `http` and `https`, in the spelling of the URL
//! standard, which is printable ASCII. The text of the reply shows the address as well, see [`super::inline`].

use std::borrow::Cow;
use std::sync::Arc;

use parking_lot::Mutex;
use url::Url;

/// The longest address, in bytes: what terminals take.
const MAX_ADDRESS_BYTES: usize = 2083;

/// How many addresses of one reply are links; further ones are text.
const MAX_LINKS: usize = 4096;

/// Ends a link.
pub const CLOSE: &str = "\x1b]8;;\x1b\\";

/// The addresses of one reply by their numbers, from 1. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Links(Option<Arc<Mutex<Vec<String>>>>);

impl Links {
    /// `are_shown`: whether the terminal opens links; otherwise none is kept.
    pub fn new(are_shown: bool) -> Links {
        Links(are_shown.then(Arc::default))
    }

    /// The number of an address; 0: it is not a link.
    pub fn add(&self, address: &str) -> u16 {
        let (Some(links), Some(target)) = (&self.0, target(address)) else {
            return 0;
        };
        let mut links = links.lock();
        // A line is read again when more of it has come.
        let known = links.iter().position(|known| *known == target);
        let index = known.unwrap_or(links.len());
        if index >= MAX_LINKS {
            return 0;
        }
        if known.is_none() {
            links.push(target);
        }
        u16::try_from(index + 1).unwrap_or_default()
    }

    /// What begins the link with this number. Pieces of one link share an id, so that terminals mark all of them.
    pub fn open(&self, number: u16) -> Option<String> {
        let links = self.0.as_ref()?;
        let links = links.lock();
        let target = links.get(usize::from(number).checked_sub(1)?)?;
        Some(format!("\x1b]8;id=dunlin{number};{target}\x1b\\"))
    }
}

/// The address as it may be written to a terminal.
fn target(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    // A name before the host makes an address look like another one.
    let has_name = !url.username().is_empty() || url.password().is_some();
    let target = String::from(url);
    let is_harmless =
        target.len() <= MAX_ADDRESS_BYTES && target.bytes().all(|byte| byte.is_ascii_graphic());
    (is_web && !has_name && is_harmless).then_some(target)
}

/// An address as it is to be read: where the host has other letters than those of ASCII, which can look like them, as the URL
/// standard writes it.
pub fn legible(address: &str) -> Cow<'_, str> {
    match Url::parse(address.trim()) {
        Ok(url) if url.has_host() && !address.is_ascii() => Cow::Owned(String::from(url)),
        _ => Cow::Borrowed(address.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_web_addresses_are_links() {
        for (address, expected) in [
            ("https://docs.rs/a b", Some("https://docs.rs/a%20b")),
            ("HTTP://Example.org", Some("http://example.org/")),
            ("https://h/\u{1b}]8;;\u{7}x", Some("https://h/%1B]8;;%07x")),
            ("https://h/\u{202e}", Some("https://h/%E2%80%AE")),
            ("javascript:alert(1)", None),
            ("file:///etc/passwd", None),
            ("mailto:a@b.example", None),
            ("https://bank.example@evil.example/", None),
            ("src/main.rs", None),
            ("", None),
        ] {
            assert_eq!(target(address).as_deref(), expected, "{address:?}");
        }
        assert_eq!(target(&format!("https://h/{}", "x".repeat(3000))), None);
    }

    #[test]
    fn a_host_is_not_taken_for_another() {
        for (address, expected) in [
            (
                "https://\u{430}\u{440}\u{440}le.com/c",
                "https://xn--le-6kc8da.com/c",
            ),
            (
                "https://github.com\u{3002}evil.example/k",
                "https://github.com.evil.example/k",
            ),
            ("https://docs.rs/a", "https://docs.rs/a"),
            ("d\u{e9}j\u{e0}.md", "d\u{e9}j\u{e0}.md"),
        ] {
            assert_eq!(legible(address), expected);
        }
    }

    #[test]
    fn addresses_have_numbers() {
        let links = Links::new(true);
        assert_eq!(links.add("https://a/"), 1);
        assert_eq!(links.add("https://b/"), 2);
        assert_eq!(links.add("https://a/"), 1);
        assert_eq!(links.add("ftp://a/"), 0);
        assert_eq!(
            links.open(2).as_deref(),
            Some("\x1b]8;id=dunlin2;https://b/\x1b\\")
        );
        assert_eq!(links.open(0), None);
        assert_eq!(links.open(3), None);
        assert_eq!(Links::new(false).add("https://a/"), 0);
    }
}
