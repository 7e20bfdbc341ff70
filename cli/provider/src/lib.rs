//! Providers: what answers a request with a stream.
//!
//! The oddities of servers live in three layers and nowhere else. [`framing`] makes events of
//! bytes, whatever line ends, pauses and endings a server has. [`assembly`] makes text, reasoning,
//! calls and an end of events, whatever a server puts in them. [`normalizer`] finds in the text what should
//! not have been there: reasoning, and calls. [`profile`] says what an endpoint wants sent, which it may
//! teach by refusing, and a [`dunlin_chat::provider::Dialect`] writes it. [`streamed`] ties them to a connection for the
//! protocols whose replies are event streams: [`openai`], [`responses`] and [`anthropic`]; [`ollama`] has framing of its own. What may be sent again, and when, is the policy of [`dunlin_chat::provider::retry`]. What is above sees
//! [`dunlin_chat::provider::Provider`] and [`dunlin_chat::provider::StreamEvent`] and no provider's name.

pub mod anthropic;
pub mod assembly;
pub mod embeddings;
pub mod framing;
pub mod http;
pub mod normalizer;
pub mod ollama;
pub mod openai;
pub mod outline;
pub mod profile;
pub mod protocol;
pub mod responses;
pub mod streamed;
pub mod text_calls;
pub mod window;

mod arguments;
mod calls;
mod connection;
mod error_body;
mod fallbacks;
mod look_up;
mod markdown;
mod overflow;
mod parts;
mod reasoning;
mod repair;
mod reply;
mod retry_after;
mod schema;

use dunlin_chat::message::MAX_CALLS;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod script;
#[cfg(test)]
mod tests;
