//! Numbers and truth values as models really write them.
//!
//! Many models send `"10"` for `10` and `"true"` for `true`. A tool that refuses them costs a round
//! and teaches nobody anything, so these functions accept both. Use them with serde:
//!
//! ```
//! #[derive(serde::Deserialize)]
//! struct Arguments {
//!     #[serde(default, deserialize_with = "dunlin_sdk::lenient::integer")]
//!     line: Option<i64>,
//! }
//!
//! let arguments: Arguments = serde_json::from_str(r#"{"line": "10"}"#)?;
//! assert_eq!(arguments.line, Some(10));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! `null`, the empty string and (with `default`) an absent field all mean `None`.

use serde::de::{Deserializer, Error, Unexpected, Visitor};
use std::fmt;

/// A whole number, also as text (`"10"`) or with an empty fraction (`10.0`).
pub fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    deserializer.deserialize_any(Integer)
}

/// `true` or `false`, also as text in any case.
pub fn boolean<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    deserializer.deserialize_any(Boolean)
}

struct Integer;

impl Visitor<'_> for Integer {
    type Value = Option<i64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        // Beyond every line and every size there is; the nearest value means the same.
        Ok(Some(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        // `as` saturates, which is what `visit_u64` does too.
        if value.fract() == 0.0 {
            Ok(Some(value as i64))
        } else {
            Err(E::invalid_type(Unexpected::Float(value), &self))
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        match value.trim() {
            "" | "null" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| E::invalid_value(Unexpected::Str(value), &self)),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

struct Boolean;

impl Visitor<'_> for Boolean {
    type Value = Option<bool>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true or false")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        match value.trim().to_ascii_lowercase().as_str() {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            "" | "null" => Ok(None),
            _ => Err(E::invalid_value(Unexpected::Str(value), &self)),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}
