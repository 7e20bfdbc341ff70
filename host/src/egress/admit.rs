//! Whether a hop may be made, and to which addresses: the check of every request and of every redirect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::Url;

use super::address::is_localhost;
use super::body::Budget;
use super::error::Waiting;
use super::{
    Egress, EgressError, Gate, Hop, Place, RequestLimits, host_of, named_place, shown_url,
};

impl Egress {
    /// What a hop has to pass before anything is connected to.
    pub(super) async fn admitted(
        &self,
        hop: &Hop<'_>,
        limits: RequestLimits,
        budget: &mut Budget,
        gate: &mut dyn Gate,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        let url = hop.url;
        if !gate.may_use(hop).await {
            return Err(EgressError::Refused(shown_url(url)));
        }
        if let (Some(address), Some(place @ Place::Never(_))) = (literal(url), named_place(url)) {
            return Err(never_reached(url, address, place));
        }
        let addresses = self.addresses(hop, limits, budget, gate).await?;
        match gate.may_send(hop) {
            true => Ok(addresses),
            false => Err(EgressError::Refused(shown_url(url))),
        }
    }

    /// The addresses to connect to, in this order. Each was classified, and the user agreed to those that need it.
    async fn addresses(
        &self,
        hop: &Hop<'_>,
        limits: RequestLimits,
        budget: &mut Budget,
        gate: &mut dyn Gate,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        let url = hop.url;
        let port = url.port_or_known_default().unwrap_or(443);
        let network = &self.0.network;
        let reached = |ip: IpAddr| network.reached_at(SocketAddr::new(ip, port));
        let name = match url.domain() {
            // The client takes an address as it stands. The gate was asked about it as what it says that it is.
            None => {
                let Some(ip) = literal(url) else {
                    return Ok(Vec::new());
                };
                let place = network.place_of(ip);
                return match named_place(url) == Some(place) || gate.may_reach(hop, ip, place).await
                {
                    true => Ok(vec![reached(ip)]),
                    false => Err(EgressError::Refused(shown_url(url))),
                };
            }
            Some(name) if is_localhost(name) => {
                let loopback: [IpAddr; 2] =
                    [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                return Ok(loopback.map(reached).to_vec());
            }
            Some(name) => name,
        };
        let found = budget
            .wait(Some(limits.connect), network.look_up(name))
            .await;
        let found = found.map_err(|after| EgressError::TimedOut {
            host: name.to_owned(),
            waiting: Waiting::Lookup,
            after,
        })??;
        let mut near = None;
        let mut forbidden = None;
        let mut public = Vec::new();
        // An IPv4 address in the form of an IPv6 address is that IPv4 address for whoever judges it or connects to it.
        for ip in found.into_iter().map(|ip| ip.to_canonical()) {
            match network.place_of(ip) {
                Place::Public => public.push(reached(ip)),
                place @ Place::Never(_) => forbidden = forbidden.or(Some((ip, place))),
                place => near = near.or(Some((ip, place))),
            }
        }
        // Of a name with public and other addresses only the public ones are used.
        if !public.is_empty() {
            return Ok(public);
        }
        if let Some((ip, place)) = near {
            return match gate.may_reach(hop, ip, place).await {
                true => Ok(vec![reached(ip)]),
                false => Err(EgressError::Refused(shown_url(url))),
            };
        }
        if let Some((address, place)) = forbidden {
            gate.may_reach(hop, address, place).await;
            return Err(never_reached(url, address, place));
        }
        let host = name.to_owned();
        Err(EgressError::NameNotFound { host })
    }
}

fn never_reached(url: &Url, address: IpAddr, place: Place) -> EgressError {
    EgressError::Forbidden {
        host: host_of(url),
        address,
        place,
    }
}

fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        url::Host::Ipv4(address) => Some(address.into()),
        url::Host::Ipv6(address) => Some(address.into()),
        url::Host::Domain(_) => None,
    }
}
