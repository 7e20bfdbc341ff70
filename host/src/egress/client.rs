//! One exchange with one server, at exactly the addresses that were checked.
//!
//! Every exchange has a client and a connection of its own. A pool would hand a connection that one call was
//! allowed to make to the next one, and what is fetched by tools is rarely fetched from the same server twice in
//! a row; a client costs less than a tenth of a millisecond, since the expensive part, the certificates of the
//! system, is read once and shared.
//!
//! Proxies of the environment are not used: a proxy looks the name up itself, so the address that was checked would
//! not be the one that is reached.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolving};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;
use url::Url;

use super::EgressError;

/// Who is trusted to issue certificates.
#[derive(Debug, Clone, Default)]
pub enum Roots {
    /// Whom the system trusts. Read at the first need.
    #[default]
    System,
    /// These and nobody else.
    Only(Vec<CertificateDer<'static>>),
}

/// The encryption of all exchanges.
#[derive(Debug)]
pub(super) struct Tls {
    roots: Roots,
    config: OnceCell<ClientConfig>,
}

impl Tls {
    pub(super) fn new(roots: Roots) -> Tls {
        Tls {
            roots,
            config: OnceCell::new(),
        }
    }

    /// Makes a client for one exchange with the host of `url`, at these addresses and no others.
    pub(super) async fn client(
        &self,
        url: &Url,
        addresses: Vec<SocketAddr>,
        user_agent: &str,
        connect: Duration,
    ) -> Result<reqwest::Client, EgressError> {
        let tls = match url.scheme() {
            "https" => self.config().await?.clone(),
            // Trusts nobody, and is never asked to.
            _ => config(RootCertStore::empty())?,
        };
        reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(user_agent)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .dns_resolver(Checked(addresses))
            .pool_max_idle_per_host(0)
            .connect_timeout(connect)
            .tcp_nodelay(true)
            .build()
            .map_err(setup)
    }

    async fn config(&self) -> Result<&ClientConfig, EgressError> {
        let make = || async {
            let roots = match &self.roots {
                Roots::System => tokio::task::spawn_blocking(system_roots)
                    .await
                    .map_err(setup)?,
                Roots::Only(certificates) => {
                    let mut roots = RootCertStore::empty();
                    roots.add_parsable_certificates(certificates.iter().cloned());
                    roots
                }
            };
            config(roots)
        };
        self.config.get_or_try_init(make).await
    }
}

/// Answers every look-up of one client with the addresses that were checked.
struct Checked(Vec<SocketAddr>);

impl reqwest::dns::Resolve for Checked {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

fn config(roots: RootCertStore) -> Result<ClientConfig, EgressError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(setup)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Certificates that cannot be read are left out: with none at all every server is unknown, and says so.
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn setup(error: impl std::error::Error) -> EgressError {
    EgressError::Setup(crate::display::chain(&error))
}
