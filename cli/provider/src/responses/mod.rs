//! OpenAI's Responses API, streamed: `POST /responses`.
//!
//! The same three layers as elsewhere: the framing is that of all event streams, [`Items`] reads a reply, and a dialect of
//! its own writes requests. The server is told to store nothing, so the whole conversation is sent each time. A model's
//! reasoning comes encrypted, and goes back to the endpoint as it came ([`dunlin_chat::message::Replay`]).

mod assembly;
mod wire;

use std::sync::Arc;

use dunlin_chat::endpoint::ReasoningEcho;

use crate::profile::Profile;
use crate::protocol::{BEARER, below, without_ends};
use crate::streamed::Protocol;
use wire::Wire;

pub use assembly::Items;

/// The Responses API.
pub static PROTOCOL: Protocol = Protocol {
    name: "openai-responses",
    headers: BEARER,
    address: |base_url| below(base_url, "responses"),
    models: |base_url| below(base_url, "models"),
    root: |base_url| without_ends(base_url, &["/v1"]),
    profile: |agent| Profile {
        // Tokens are counted without being asked for.
        include_usage: false,
        reasoning: agent.endpoint.reasoning.unwrap_or(ReasoningEcho::WithCalls),
        ..Profile::of_agent(agent)
    },
    dialect: |profile| Arc::new(Wire(profile)),
    assembly: |profile| Box::new(Items::of(&profile.replays_to)),
    way_out: |_| None,
};

#[cfg(test)]
mod request_tests;
