//! What is sent to a server and to where it logs in, and must not be repeated in what is said of them.

use std::sync::Arc;

use dunlin_host::egress::HeaderValue;
use parking_lot::Mutex;
use url::form_urlencoded;

use dunlin_chat::secret::Secret;

/// Shorter values stand in any text by chance.
const SHORTEST: usize = 6;

/// The most that is kept: the tokens of a connection that lives for weeks.
const MOST: usize = 100;

/// The fields of a form that hold secrets, whoever gives them out (RFC 6749, RFC 7636).
const SECRET_FIELDS: [&str; 6] = [
    "access_token",
    "client_assertion",
    "client_secret",
    "code",
    "code_verifier",
    "refresh_token",
];

/// The secrets of one connection. Clones are of the same.
#[derive(Debug, Clone, Default)]
pub struct Sent(Arc<Mutex<Vec<Secret>>>);

impl Sent {
    /// This was sent.
    pub fn note(&self, name: &str, value: &str) {
        let mut secrets = self.0.lock();
        let is_known = secrets.iter().any(|it| it.reveal() == value);
        if value.len() >= SHORTEST && !is_known {
            if secrets.len() == MOST {
                secrets.remove(0);
            }
            secrets.push(Secret::new(name, value));
        }
    }

    /// The value of a header was sent; of `Bearer x` it is the `x` that is secret.
    pub fn note_header(&self, name: &str, value: &HeaderValue) {
        let Ok(value) = value.to_str() else { return };
        self.note(
            name,
            value.split_once(' ').map_or(value, |(_, token)| token),
        );
        self.note(name, value);
    }

    /// A form was sent.
    pub fn note_form(&self, form: &[u8]) {
        for (name, value) in form_urlencoded::parse(form) {
            if SECRET_FIELDS.contains(&name.as_ref()) {
                self.note(&name, &value);
            }
        }
    }

    /// A text without any of it.
    pub fn mask(&self, text: String) -> String {
        let mut secrets = self.0.lock().clone();
        // One may be part of another, the rest of which would be left.
        secrets.sort_by_key(|it| std::cmp::Reverse(it.reveal().len()));
        secrets.iter().fold(text, |text, it| it.mask_in(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin_host::masking::MASK;

    #[test]
    fn what_was_sent_is_not_repeated_and_short_values_stay() {
        let sent = Sent::default();
        sent.note_header("x-api-key", &HeaderValue::from_static("hdr-SECRET"));
        sent.note_header("x-version", &HeaderValue::from_static("401"));
        sent.note_header(
            "authorization",
            &HeaderValue::from_static("Bearer abc/token"),
        );
        sent.note_form(
            b"grant_type=refresh_token&refresh_token=re%2Bfresh&client_secret=very-secret",
        );
        for (said, expected) in [
            ("HTTP 401: hdr-SECRET", "HTTP 401: ****"),
            ("not abc\\/token", "not ****"),
            ("re+fresh or re%2Bfresh", "**** or ****"),
            ("refresh_token, very-secret", "refresh_token, ****"),
        ] {
            assert_eq!(sent.mask(said.to_owned()), expected);
        }
    }

    #[test]
    fn the_oldest_go_where_there_are_too_many() {
        let sent = Sent::default();
        for number in 0..=MOST {
            sent.note("token", &format!("token-{number:03}"));
        }
        assert_eq!(sent.mask("token-000".to_owned()), "token-000");
        assert_eq!(sent.mask("token-100".to_owned()), MASK);
    }
}
