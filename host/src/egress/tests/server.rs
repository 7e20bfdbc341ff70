//! Servers on this machine that answer what they are told to, byte for byte, and a network in which they are public.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use async_trait::async_trait;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::egress::{EgressError, Network, Place, place_of};

/// What a server does with one connection, once it has read a request.
pub(super) type Script = Box<dyn FnMut(usize, &str) -> Answer + Send>;

/// What comes back over a connection.
pub(super) enum Answer {
    /// These bytes, and the end.
    Bytes(Vec<u8>),
    /// These bytes, and then nothing more for as long as the client is there.
    Hang(Vec<u8>),
    /// These bytes again and again, for as long as the client takes them.
    Endless(Vec<u8>, Vec<u8>),
}

impl Answer {
    /// A whole answer with a length.
    pub(super) fn of(head: &str, body: impl AsRef<[u8]>) -> Answer {
        let body = body.as_ref();
        let head = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len());
        Answer::Bytes([head.as_bytes(), body].concat())
    }

    pub(super) fn redirect(status: u16, location: &str) -> Answer {
        Answer::of(&format!("{status} Moved\r\nlocation: {location}"), "")
    }
}

/// A server, and what it was asked.
pub(super) struct Server {
    pub(super) port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers each connection as the script says.
    pub(super) fn start(script: impl FnMut(usize, &str) -> Answer + Send + 'static) -> Server {
        Server::start_as(None, Box::new(script))
    }

    /// The same with TLS, and this certificate.
    pub(super) fn start_tls(certificate: &'static [u8]) -> Server {
        let key = PrivateKeyDer::Pkcs8(include_bytes!("certificates/server-key.der")[..].into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(certificate)], key)
            .unwrap();
        let script = |_: usize, _: &str| Answer::of("200 OK", "secure");
        Server::start_as(Some(Arc::new(config)), Box::new(script))
    }

    fn start_as(tls: Option<Arc<rustls::ServerConfig>>, mut script: Script) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let stream = stream.unwrap();
                // What goes wrong here is seen by the client, which is what is tested.
                let _ = match &tls {
                    None => serve(stream, &mut |request| {
                        seen.lock().unwrap().push(request.to_owned());
                        script(number, request)
                    }),
                    Some(tls) => {
                        let session = rustls::ServerConnection::new(Arc::clone(tls)).unwrap();
                        let stream = rustls::StreamOwned::new(session, stream);
                        serve(stream, &mut |request| {
                            seen.lock().unwrap().push(request.to_owned());
                            script(number, request)
                        })
                    }
                };
            }
        });
        Server { port, requests }
    }

    /// What it was asked until now.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: impl Read + Write,
    answer: &mut dyn FnMut(&str) -> Answer,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse()
                        .ok()
                })
                .unwrap_or(0_usize);
            if body.len() >= length {
                break;
            }
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&buffer[..read]),
        }
    }
    match answer(&String::from_utf8_lossy(&request)) {
        Answer::Bytes(bytes) => {
            stream.write_all(&bytes)?;
            stream.flush()
        }
        Answer::Hang(bytes) => {
            stream.write_all(&bytes)?;
            stream.flush()?;
            // Until the client goes.
            while stream.read(&mut buffer)? > 0 {}
            Ok(())
        }
        Answer::Endless(head, piece) => {
            stream.write_all(&head)?;
            loop {
                stream.write_all(&piece)?;
            }
        }
    }
}

/// Names and their addresses. What is public is reached on this machine.
#[derive(Debug, Default)]
pub(super) struct Names {
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

/// An address on the internet.
pub(super) const PUBLIC: &str = "93.184.216.34";

/// An address of the internet that is this machine's own.
pub(super) const OWN: &str = "93.184.216.35";

impl Names {
    pub(super) fn new(names: &[(&str, &[&str])]) -> Arc<Names> {
        let network = Names::default();
        for (name, addresses) in names {
            network.add(name, addresses);
        }
        Arc::new(network)
    }

    /// Another answer for a name, given when those before were given.
    pub(super) fn add(&self, name: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|address| address.parse().unwrap());
        let mut names = self.names.lock().unwrap();
        let answers = names.entry(name.to_owned()).or_default();
        answers.push(addresses.collect());
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Network for Names {
    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, EgressError> {
        self.asked.lock().unwrap().push(name.to_owned());
        let mut names = self.names.lock().unwrap();
        let Some(answers) = names.get_mut(name) else {
            return Ok(Vec::new());
        };
        Ok(match answers.len() {
            1 => answers[0].clone(),
            _ => answers.remove(0),
        })
    }

    fn place_of(&self, ip: IpAddr) -> Place {
        match ip.to_string() == OWN {
            true => Place::ThisMachine,
            false => place_of(ip),
        }
    }

    fn reached_at(&self, address: SocketAddr) -> SocketAddr {
        match [PUBLIC, OWN].contains(&address.ip().to_string().as_str()) {
            true => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()),
            false => address,
        }
    }
}

/// A port at which nothing listens.
pub(super) fn refusing_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Takes connections and drops them without a word.
pub(super) fn dropping_port() -> u16 {
    saying(b"")
}

/// Answers whatever it is told in plain text.
pub(super) fn talking_port() -> u16 {
    saying(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
}

fn saying(words: &'static [u8]) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream: TcpStream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(words);
        }
    });
    port
}
