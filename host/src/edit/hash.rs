//! The hash that an edit is bound to.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// SHA-256 of the content of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash(pub(crate) [u8; 32]);

impl ContentHash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> ContentHash {
        ContentHash(Sha256::digest(bytes).into())
    }

    /// Lower-case hexadecimal.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        let digits: Option<Vec<u8>> = text
            .chars()
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect();
        let bytes = digits.map(|digits| {
            let pairs = digits.chunks(2);
            pairs
                .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
                .collect::<Vec<u8>>()
        });
        match bytes.map(TryInto::try_into) {
            Some(Ok(hash)) => Ok(ContentHash(hash)),
            _ => Err(D::Error::custom("not 64 hexadecimal digits")),
        }
    }
}

impl std::fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_hex())
    }
}
