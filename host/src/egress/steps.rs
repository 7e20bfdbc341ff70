//! A request in two steps, for whoever goes on with something else while it is being made.

use std::net::SocketAddr;
use std::sync::Arc;

use super::body::Budget;
use super::redirect::Next;
use super::{
    Egress, EgressError, Gate, Request, RequestLimits, Response, SiteHeaders, answer, headers,
    read_url,
};

/// A hop that may be made, once: it was asked about, its name was looked up, and every address was placed.
#[derive(Debug)]
pub struct Admitted {
    hop: Next,
    sites: Option<Arc<SiteHeaders>>,
    addresses: Vec<SocketAddr>,
    limits: RequestLimits,
    budget: Budget,
}

impl Egress {
    /// Asks about one hop and looks its name up.
    ///
    /// # Errors
    /// It is not allowed, or leads nowhere.
    pub async fn admit(
        &self,
        request: Request,
        gate: &mut dyn Gate,
    ) -> Result<Admitted, EgressError> {
        let limits = request.limits;
        let mut budget = Budget::new(limits.whole);
        let hop = Next {
            url: read_url(request.url.as_str())?,
            method: request.method,
            headers: headers::checked(request.headers)?,
            body: request.body,
            from: None,
        };
        let addresses = self.admitted(&hop.hop(), limits, &mut budget, gate).await?;
        Ok(Admitted {
            hop,
            sites: request.sites,
            addresses,
            limits,
            budget,
        })
    }

    /// Makes a hop that was admitted. A redirect is an answer like any other: where it leads was not asked about.
    ///
    /// # Errors
    /// Everything that keeps an answer from coming. Whatever a server answers is none.
    pub async fn make(&self, admitted: Admitted) -> Result<Response, EgressError> {
        let Admitted {
            hop,
            sites,
            addresses,
            limits,
            mut budget,
        } = admitted;
        let response = self.exchange(&hop, addresses, sites.as_deref(), limits, &mut budget);
        let response = response.await?;
        answer(hop.url, response, limits, budget)
    }
}
