//! Anthropic's Messages API, streamed: `POST /v1/messages`.
//!
//! The same three layers as elsewhere: the framing is that of all event streams, [`Blocks`] reads a reply, and a dialect
//! of its own writes requests. What only this protocol has: the client marks where the endpoint may cache, and a limit on
//! the reply's length is required. A model's reasoning is signed, and goes back to the endpoint as it came
//! ([`dunlin_chat::message::Replay`]).

mod assembly;
mod wire;

use std::sync::Arc;

use dunlin_chat::endpoint::ReasoningEcho;
use dunlin_chat::media::Takes;
use url::Url;

use crate::profile::Profile;
use crate::protocol::{Headers, below, without_ends};
use crate::streamed::Protocol;
use wire::Wire;

pub use assembly::Blocks;

/// The longest image in base64, in bytes: "image exceeds 5 MB maximum: 6278112 bytes > 5242880 bytes".
const MAX_IMAGE_BASE64: usize = 5 * 1024 * 1024;

/// The Messages API.
pub static PROTOCOL: Protocol = Protocol {
    name: "anthropic",
    headers: Headers {
        key: "x-api-key",
        before_key: "",
        others: &[("anthropic-version", "2023-06-01")],
    },
    // A `base_url` may end with `/v1` or not.
    address: |base_url| below(&root(base_url), "v1/messages"),
    models: |base_url| {
        let mut url = below(&root(base_url), "v1/models");
        // It comes in pages, and this asks for the longest one.
        url.set_query(Some("limit=1000"));
        url
    },
    root,
    profile: |agent| Profile {
        // It goes back in blocks of its own, which nothing but a refusal of these leaves out.
        reasoning: ReasoningEcho::WithCalls,
        takes: Takes {
            image_base64: MAX_IMAGE_BASE64,
            ..Profile::of_agent(agent).takes
        },
        ..Profile::of_agent(agent)
    },
    dialect: |profile| Arc::new(Wire(profile)),
    assembly: |profile| Box::new(Blocks::of(&profile.replays_to)),
    way_out: |_| None,
};

/// The address without the path of the protocol.
fn root(base_url: &Url) -> Url {
    without_ends(base_url, &["/v1/messages", "/v1"])
}

#[cfg(test)]
mod request_tests;
