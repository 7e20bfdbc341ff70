//! A request in two steps, for whoever is asked at once and has the body later.

use std::net::SocketAddr;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::HeaderMap;
use url::Url;

use super::body::Budget;
use super::redirect::Next;
use super::{
    Egress, EgressError, Gate, Hop, RequestLimits, Response, SiteHeaders, answer, headers, read_url,
};

/// A hop that may be made, once: it was asked about, its name was looked up, and every address was placed.
#[derive(Debug)]
pub struct Admitted {
    method: Method,
    url: Url,
    addresses: Vec<SocketAddr>,
    limits: RequestLimits,
    budget: Budget,
}

impl Egress {
    /// Asks about one hop and looks its name up; it is made later, by whoever has the body by then.
    ///
    /// # Errors
    /// It is not allowed, or leads nowhere.
    pub async fn admit(
        &self,
        method: Method,
        url: &Url,
        limits: RequestLimits,
        gate: &mut dyn Gate,
    ) -> Result<Admitted, EgressError> {
        let mut budget = Budget::new(limits.whole);
        let url = read_url(url.as_str())?;
        let hop = Hop {
            method: &method,
            url: &url,
            from: None,
        };
        let addresses = self.admitted(&hop, limits, &mut budget, gate).await?;
        Ok(Admitted {
            method,
            url,
            addresses,
            limits,
            budget,
        })
    }

    /// Makes a hop that was admitted. A redirect is an answer like any other: where it leads was not asked about.
    ///
    /// # Errors
    /// Everything that keeps an answer from coming. Whatever a server answers is none.
    pub async fn make(
        &self,
        admitted: Admitted,
        headers: HeaderMap,
        body: Bytes,
        sites: Option<&SiteHeaders>,
    ) -> Result<Response, EgressError> {
        headers::check(&headers)?;
        let Admitted {
            method,
            url,
            addresses,
            limits,
            mut budget,
        } = admitted;
        let hop = Next {
            url,
            method,
            headers,
            body,
            from: None,
        };
        let response = self.exchange(&hop, addresses, sites, limits, &mut budget);
        let response = response.await?;
        answer(hop.url, response, limits, budget)
    }
}
