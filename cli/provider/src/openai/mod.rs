//! Chat completions, streamed: the profile says what to send, framing and assembly what came back.

mod wire;

pub(crate) use wire::declaration;

use crate::assembly::Assembly;
use crate::profile::Profile;
use crate::protocol::{BEARER, below, without_ends};
use crate::streamed::Protocol;

/// Chat completions as OpenAI defined them and most servers copied them.
pub static PROTOCOL: Protocol = Protocol {
    name: "openai",
    headers: BEARER,
    address: |base_url| below(base_url, "chat/completions"),
    models: |base_url| below(base_url, "models"),
    root: |base_url| without_ends(base_url, &["/v1"]),
    profile: Profile::of_agent,
    dialect: |profile| profile,
    assembly: |_| Box::new(Assembly::new()),
    // Some models, or some of what they can do, are in the newer protocol only.
    way_out: |refusal| {
        let is_elsewhere = refusal.contains("v1/responses");
        is_elsewhere.then_some("set api = \"openai-responses\" for this agent")
    },
};

#[cfg(test)]
mod request_tests;
