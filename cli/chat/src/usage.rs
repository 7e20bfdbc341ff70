//! What requests use.

use serde::{Deserialize, Serialize};

/// What a reply has used, as the provider counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    /// Tokens of the request that came from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens of the request that went into the provider's cache, as far as it says so.
    #[serde(default)]
    pub written_tokens: u64,
    /// Tokens of the reply, reasoning included.
    pub output_tokens: u64,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            written_tokens: self.written_tokens.saturating_add(other.written_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
        }
    }

    /// This without a part of it.
    #[must_use]
    pub fn less(self, part: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_sub(part.input_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(part.cached_tokens),
            written_tokens: self.written_tokens.saturating_sub(part.written_tokens),
            output_tokens: self.output_tokens.saturating_sub(part.output_tokens),
        }
    }
}
