//! The text of the permission file: a JSON object of targets and three characters.
//!
//! A small letter allows an operation to every tool. A capital letter allows it to the plugins that
//! `tool.digests.json` names, and to nobody if it names none: so a lost or an older `tool.digests.json` never turns
//! the answer for one plugin into one for all of them. Earlier builds wrote small letters for both; there a small
//! letter that `tool.digests.json` knows is read as a capital one.

use std::collections::HashSet;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::file::OperationName;
use super::key::{Bits, BitsError, Decided, is_url};
use crate::target::{CommandKey, Operation};

/// Three characters as they stand in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    pub(super) bits: Bits,
    /// The operations that are allowed to named plugins only.
    pub(super) bound: Vec<OperationName>,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.bits.to_string();
        for (operation, c) in Operation::ALL.into_iter().zip(text.chars()) {
            let is_bound = self.bound.contains(&operation.into());
            let c = if is_bound { c.to_ascii_uppercase() } else { c };
            write!(f, "{c}")?;
        }
        Ok(())
    }
}

impl Written {
    fn read(text: &str) -> Result<Written, BitsError> {
        // The error shows what stands in the file.
        let bits = text.to_ascii_lowercase().parse::<Bits>();
        let bits = bits.map_err(|_| BitsError(text.to_owned()))?;
        let letters = Operation::ALL.into_iter().zip(text.chars());
        let bound = letters.filter(|(operation, c)| {
            bits.get(*operation) == Decided::Allow && c.is_ascii_uppercase()
        });
        Ok(Written {
            bits,
            bound: bound.map(|(operation, _)| operation.into()).collect(),
        })
    }
}

/// The entries of the permission file. A JSON object whose keys must be distinct: with two equal keys
/// one of them would silently not count.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Entries(pub(super) Vec<(String, Written)>);

impl Serialize for Entries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, bits)| (key, bits.to_string())))
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of targets and three characters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                let mut seen = HashSet::new();
                while let Some((key, bits)) = map.next_entry::<String, String>()? {
                    if !seen.insert(key.clone()) {
                        return Err(serde::de::Error::custom(format!(
                            "the key {key:?} appears twice"
                        )));
                    }
                    if CommandKey::is_command(&key) {
                        key.parse::<CommandKey>()
                            .map_err(serde::de::Error::custom)?;
                    } else if !(key.starts_with('/') || is_url(&key)) {
                        return Err(serde::de::Error::custom(format!(
                            "the key {key:?} is neither an absolute path nor a URL nor a command"
                        )));
                    }
                    // A rule that silently never matches could be a deny.
                    if is_url(&key) {
                        crate::resolve::url_key(&key).map_err(serde::de::Error::custom)?;
                    }
                    let bits = Written::read(&bits).map_err(|e| {
                        serde::de::Error::custom(format!("for the key {key:?}, {e}"))
                    })?;
                    entries.push((key, bits));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capital_letter_is_an_allow_for_named_plugins() {
        for (text, bits, bound) in [
            ("Rw-", "rw-", vec![OperationName::Read]),
            ("??X", "??x", vec![OperationName::Execute]),
            ("r-?", "r-?", vec![]),
        ] {
            let written = Written::read(text).unwrap();
            assert_eq!(written.bits.to_string(), bits);
            assert_eq!(written.bound, bound);
            assert_eq!(written.to_string(), text);
        }
        for text in ["", "RW", "XWR", "R W", "Rwxr"] {
            assert_eq!(Written::read(text), Err(BitsError(text.to_owned())));
        }
    }
}
