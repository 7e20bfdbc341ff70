//! Makes the HTTP client: the one place where connections get their limits.
//!
//! - Connecting has a time limit; a reply has none as a whole, only between two bytes (see
//!   [`super::framing`]), since a long answer is not a fault.
//! - Redirects are not followed: a POST that is redirected becomes a GET or carries the key to
//!   another host.
//! - A proxy from the environment is used, but never for this machine.
//! - A client for an address that somebody else named connects to public addresses only.
//! - Reading the system's certificates takes longer than all else at start-up. They are read when
//!   the first request is sent, and not at all for plain HTTP to this machine.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use dunlin_host::egress::{Network, Place, SystemNetwork};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use url::{Host, Url};

/// How long to wait for a connection. Three attempts of TCP take 7 s; a server that needs longer is
/// not there.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait for the next byte, unless the configuration says otherwise. A local model
/// reads a long prompt for tens of seconds before it speaks.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// What requests say of the program.
pub const USER_AGENT: &str = concat!("dunlin/", env!("CARGO_PKG_VERSION"));

/// How long to wait, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Duration,
    /// For the next byte.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: CONNECT_TIMEOUT,
            idle: IDLE_TIMEOUT,
        }
    }
}

/// A client for this address and no other: proxy and certificates are chosen for it.
pub fn client(base_url: &Url, timeouts: Timeouts) -> Result<reqwest::Client, reqwest::Error> {
    build(base_url, timeouts, reqwest::Client::builder())
}

/// The same for an address that a server named: whatever its host resolves to, the client connects to public addresses
/// only, so a server cannot lead it to this machine or into a private network.
pub fn public_client(url: &Url, timeouts: Timeouts) -> Result<reqwest::Client, reqwest::Error> {
    let host = url.host_str().unwrap_or_default().to_owned();
    let builder = reqwest::Client::builder().dns_resolver(PublicOnly { host });
    build(url, timeouts, builder)
}

/// Resolves names with the system's resolver and leaves out the addresses of one host that are not public. Any other
/// name is that of the user's proxy.
struct PublicOnly {
    host: String,
}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        let is_filtered = name == self.host;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let used = found.filter(|it| !is_filtered || place_of(it.ip()) == Place::Public);
            let used: Vec<SocketAddr> = used.collect();
            if used.is_empty() {
                return Err(format!("{name} resolves to no public address").into());
            }
            Ok(Box::new(used.into_iter()) as Addrs)
        })
    }
}

/// Where an address leads. An address that is public by its number may be this machine's own.
fn place_of(ip: IpAddr) -> Place {
    SystemNetwork.place_of(ip)
}

/// Whether a host resolves to addresses, and none of them is public.
pub async fn is_private_name(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let Ok(found) = tokio::net::lookup_host((host, 0)).await else {
        return false;
    };
    let places: Vec<Place> = found.map(|it| place_of(it.ip())).collect();
    !places.is_empty() && !places.contains(&Place::Public)
}

fn build(
    base_url: &Url,
    timeouts: Timeouts,
    builder: reqwest::ClientBuilder,
) -> Result<reqwest::Client, reqwest::Error> {
    let builder = builder
        .user_agent(USER_AGENT)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(timeouts.connect)
        // A question and its answer are small packets; waiting to fill them only delays.
        .tcp_nodelay(true);
    let ring = install_crypto();
    if !is_this_machine(base_url) {
        return builder.build();
    }
    let builder = builder.no_proxy();
    if base_url.scheme() != "http" {
        return builder.build();
    }
    match rustls::ClientConfig::builder_with_provider(ring).with_safe_default_protocol_versions() {
        // Trusts nobody, and is never asked to.
        Ok(tls) => {
            let tls = tls
                .with_root_certificates(RootCertStore::empty())
                .with_no_client_auth();
            builder.tls_backend_preconfigured(tls).build()
        }
        Err(_) => builder.build(),
    }
}

/// Whether an address is on the loopback of this machine, as far as can be told without looking it up.
pub fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).to_canonical().is_loopback(),
        None => false,
    }
}

/// reqwest is built without a default for cryptography; it takes the one installed for the process.
fn install_crypto() -> Arc<CryptoProvider> {
    // Fails only where one is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    CryptoProvider::get_default()
        .cloned()
        .unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_several_names() {
        for (url, local) in [
            ("http://127.0.0.1:8080/v1", true),
            ("http://127.1.2.3", true),
            ("http://localhost:11434/v1", true),
            ("http://LOCALHOST", true),
            ("http://[::1]:80", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("http://dunlin.localhost", true),
            ("http://localhost.", true),
            ("http://localhost.example.org", false),
            ("http://192.168.0.1", false),
            ("https://api.openai.com/v1", false),
        ] {
            assert_eq!(is_this_machine(&url.parse().unwrap()), local, "{url}");
        }
    }

    #[test]
    fn a_client_can_be_made_for_every_kind_of_address() {
        for url in [
            "http://127.0.0.1:8080/v1",
            "https://localhost/v1",
            "http://192.168.0.1",
            "https://api.openai.com/v1",
        ] {
            let made = client(&url.parse().unwrap(), Timeouts::default());
            assert!(made.is_ok(), "{url}: {made:?}");
        }
    }

    #[tokio::test]
    async fn a_name_that_a_server_gave_leads_to_the_internet_or_nowhere() {
        let resolve = async |host: &str| {
            let host = host.to_owned();
            let resolver = PublicOnly { host };
            let found = resolver.resolve("localhost".parse().unwrap()).await;
            found.map(|found| found.count()).map_err(|e| e.to_string())
        };
        let refused = resolve("localhost").await;
        assert_eq!(
            refused,
            Err("localhost resolves to no public address".to_owned())
        );
        // The user's proxy may be anywhere.
        assert!(resolve("a.example").await.unwrap() > 0);
        assert!(is_private_name(&"https://localhost/".parse().unwrap()).await);
    }
}
