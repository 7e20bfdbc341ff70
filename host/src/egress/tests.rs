//! Requests against servers on this machine.

mod addresses;
mod bodies;
mod redirects;
mod server;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use self::server::Names;
use super::*;

/// A gate that remembers what it was asked.
#[derive(Debug, Default)]
struct Remembering {
    /// Addresses that it says no to begin so.
    refused: Option<&'static str>,
    /// Whether names may lead to this machine and into private networks.
    near: bool,
    asked: Vec<String>,
}

#[async_trait]
impl Gate for Remembering {
    async fn may_use(&mut self, hop: &Hop<'_>) -> bool {
        self.asked.push(format!("{} {}", hop.method, hop.url));
        !self
            .refused
            .is_some_and(|start| hop.url.as_str().starts_with(start))
    }

    async fn may_reach(&mut self, hop: &Hop<'_>, address: IpAddr, place: Place) -> bool {
        let host = hop.url.host_str().unwrap_or_default();
        self.asked.push(format!("{host} -> {address} {place}"));
        self.near
    }
}

fn egress(names: &Arc<Names>) -> Egress {
    egress_trusting(names, &[])
}

fn egress_trusting(names: &Arc<Names>, roots: &[&'static [u8]]) -> Egress {
    let roots = roots.iter().map(|root| (*root).into()).collect();
    Egress::new(EgressOptions {
        user_agent: "dunlin-test".to_owned(),
        network: Arc::clone(names) as Arc<dyn Network>,
        roots: Roots::Only(roots),
    })
}

fn get(url: &str) -> Request {
    Request::new(Method::GET, read_url(url).unwrap())
}

/// Sends a request with a gate that agrees, and reads all of the answer.
async fn text(egress: &Egress, request: Request) -> Result<String, EgressError> {
    let mut gate = Remembering::default();
    let response = egress.send(request, &mut gate).await?;
    Ok(String::from_utf8(response.body.all().await?).unwrap())
}

/// Longer than a loaded machine takes to answer itself.
const SHORT: Duration = Duration::from_millis(500);
