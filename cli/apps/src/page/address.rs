//! Where a page is, and what one has to know to get there.

use std::fmt::{self, Write as _};
use std::io;

use rand::TryRngCore;
use rand::rngs::OsRng;
use subtle::ConstantTimeEq;

/// Where a page is, and what one has to know to get there.
pub(super) struct Address {
    /// `127.0.0.1:PORT`.
    pub(super) host: String,
    /// `http://127.0.0.1:PORT`.
    pub(super) origin: String,
    pub(super) token: Token,
    pub(super) frame_token: Token,
}

/// 128 bits: nobody finds it by trying, and the URL still fits on a line.
const BYTES: usize = 16;

/// A random text that cannot be guessed.
pub(super) struct Token(String);

impl Token {
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        OsRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
        let mut text = String::with_capacity(2 * BYTES);
        for byte in bytes {
            // Writing to a string cannot fail.
            let _written = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// Whether this is the token. How long that takes tells nothing about it.
    pub(super) fn is(&self, guess: &str) -> bool {
        self.0.as_bytes().ct_eq(guess.as_bytes()).into()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
