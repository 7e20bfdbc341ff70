//! Where requests to an MCP server may go.

use std::net::IpAddr;

use async_trait::async_trait;
use dunlin_host::egress::{Gate, Hop, Place};
use url::Origin;

/// Lets through what goes to the origin that the user configured.
pub(super) struct SameOrigin<'a>(pub(super) &'a Origin);

#[async_trait]
impl Gate for SameOrigin<'_> {
    async fn may_use(&mut self, hop: &Hop<'_>) -> bool {
        hop.url.origin() == *self.0
    }

    async fn may_reach(&mut self, _hop: &Hop<'_>, _address: IpAddr, _place: Place) -> bool {
        // The user wrote the address down: a server at home is as good as one elsewhere.
        true
    }
}
