//! How much a request may carry, and why a request cannot be made where that is not enough.

use crate::provider::Window;
use dunlin_host::display::grouped;

/// How much history a request may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Tokens of the conversation, the system prompt and the declarations of the tools together.
    pub max_tokens: u64,
    /// Lines of the conversation.
    pub max_lines: u64,
    /// Tokens that the model can read and write together; `None`: not known.
    pub window: Option<Window>,
    /// The share of the context limit, in thousandths, at which earlier turns are compacted; `None`: they never are.
    pub compact_at: Option<u64>,
}

impl Default for HistoryLimits {
    /// 100,000 tokens fit the context windows that are common today and leave some for the reply; 50,000
    /// lines only guard against text whose tokens are underestimated.
    fn default() -> HistoryLimits {
        HistoryLimits {
            max_tokens: 100_000,
            max_lines: 50_000,
            window: None,
            compact_at: None,
        }
    }
}

/// Which limit is the one that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`HistoryLimits::max_tokens`].
    Tokens(u64),
    /// [`HistoryLimits::max_lines`].
    Lines(u64),
    /// [`HistoryLimits::window`].
    Window(u64),
    /// The server has refused a longer request.
    Refused(u64),
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Tokens(limit) => write!(f, "max_history_tokens is {}", grouped(*limit)),
            Limit::Lines(limit) => write!(f, "max_history_lines is {}", grouped(*limit)),
            Limit::Window(limit) => write!(f, "the model's window has {} tokens", grouped(*limit)),
            Limit::Refused(limit) => {
                write!(
                    f,
                    "the server has refused more than {} tokens",
                    grouped(*limit)
                )
            }
        }
    }
}

/// The way out where nothing of the conversation can be left out.
const FEWER_TOOLS: &str =
    "give the agent a shorter system_prompt, shorter instruction files or fewer tools";

/// Why no request can be made: what must be sent does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// Tokens of the conversation, when all has been cut that can be.
    pub tokens: u64,
    pub lines: u64,
    /// Tokens that the system prompt and the tools take of the limit besides.
    pub fixed: u64,
    pub limit: Limit,
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_full_without_messages() {
            return write!(
                f,
                "the system prompt and the tools alone come to about {} tokens, and {}",
                grouped(self.fixed),
                self.limit
            );
        }
        f.write_str("the last turn alone ")?;
        match self.limit {
            Limit::Lines(_) => write!(f, "has {} lines", grouped(self.lines))?,
            Limit::Tokens(_) | Limit::Window(_) | Limit::Refused(_) => {
                write!(f, "comes to about {} tokens", grouped(self.tokens))?;
            }
        }
        write!(f, ", and {}", self.limit)?;
        match (self.limit, self.fixed) {
            (Limit::Tokens(_) | Limit::Window(_) | Limit::Refused(_), 1..) => {
                let fixed = grouped(self.fixed);
                write!(
                    f,
                    ", {fixed} of them taken by the system prompt and the tools"
                )
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for TooLong {}

impl TooLong {
    /// The way out in the chat.
    pub fn hint(&self) -> String {
        let raise = self.raise();
        if self.is_full_without_messages() {
            return format!("your message is kept; {FEWER_TOOLS}, or {raise}");
        }
        format!(
            "your message is kept; /context shows what uses the context, /clear starts over, and {raise}"
        )
    }

    /// The way out where there is one message and no chat.
    pub fn hint_of_one(&self) -> String {
        match self.is_full_without_messages() {
            true => format!("{FEWER_TOOLS}, or {}", self.raise()),
            false => format!("send less of it, or {}", self.raise()),
        }
    }

    /// Whether no message at all would fit.
    fn is_full_without_messages(&self) -> bool {
        match self.limit {
            Limit::Tokens(limit) | Limit::Window(limit) | Limit::Refused(limit) => {
                self.fixed >= limit
            }
            Limit::Lines(_) => false,
        }
    }

    fn raise(&self) -> &'static str {
        match self.limit {
            Limit::Tokens(_) => "max_history_tokens under [limits] can be raised",
            Limit::Lines(_) => "max_history_lines under [limits] can be raised",
            Limit::Window(_) | Limit::Refused(_) => "a model with a larger window could read it",
        }
    }
}
