//! API keys that cannot be printed by accident.

use std::fmt;

pub use dunlin_host::masking::MASK;
use dunlin_host::masking::mask;

/// A key and the name it has in the configuration. Shows the name only: the value leaves through
/// [`Secret::reveal`] alone, so that one search finds every place that handles it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    name: String,
    value: String,
}

impl Secret {
    /// A secret; `name` is what the user knows it by: the key's name in `config.toml` or the name
    /// of an environment variable.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Secret {
        Secret {
            name: name.into(),
            value: value.into(),
        }
    }

    /// What the user knows it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value itself: for the header that carries it and nothing else.
    pub fn reveal(&self) -> &str {
        &self.value
    }

    /// Masks the value wherever and however it stands in `text`: servers like to quote the key they refuse.
    pub fn mask_in(&self, text: &str) -> String {
        mask(text, &self.value).into_owned()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({:?}, {MASK})", self.name)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_formatting_shows_the_value() {
        let secret = Secret::new("openai-main", "sk-12345");
        for shown in [
            format!("{secret}"),
            format!("{secret:?}"),
            format!("{secret:#?}"),
            format!("{:?}", Some(&secret)),
        ] {
            assert!(!shown.contains("12345"), "{shown}");
        }
        assert_eq!(format!("{secret:?}"), "Secret(\"openai-main\", ****)");
        assert_eq!(
            secret.mask_in("bad key sk-12345, sk-12345"),
            "bad key ****, ****"
        );
        assert_eq!(Secret::new("empty", "").mask_in("text"), "text");
    }
}
