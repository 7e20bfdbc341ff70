//! Servers that a test of a plugin plays: what they answer is in `plugin.toml`, and nothing leaves the machine.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use async_trait::async_trait;
use bytes::Bytes;
use dunlin_host::egress::{EgressError, Method, Network, Place, Played, Url, read_url};

use super::manifest::WebAnswer;

/// Where each name leads: an address for documentation (RFC 5737). Nothing is connected to it.
const NOWHERE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

/// The answers of a test, by method and address.
#[derive(Debug)]
pub struct PlayedWeb(Vec<(Method, Url, http::Response<Bytes>, Option<String>)>);

impl PlayedWeb {
    /// Reads what a test says.
    ///
    /// # Errors
    /// What makes no sense, in words.
    pub fn of(answers: &BTreeMap<String, WebAnswer>) -> Result<PlayedWeb, String> {
        let read = |(key, answer): (&String, &WebAnswer)| {
            let (method, url) = match key.split_once(' ') {
                Some((method, url)) => (method.parse().ok(), url),
                None => (Some(Method::GET), key.as_str()),
            };
            let method = method.ok_or_else(|| {
                format!("{key:?} in web of a test has to be an address, or a method and an address")
            })?;
            let url =
                read_url(url).map_err(|error| format!("{key:?} in web of a test: {error}"))?;
            let mut response = http::Response::builder().status(answer.status.unwrap_or(200));
            for (name, value) in &answer.headers {
                response = response.header(name, value);
            }
            let response = response
                .body(Bytes::from(answer.body.clone()))
                .map_err(|error| format!("the answer of {key:?} in web of a test: {error}"))?;
            Ok((method, url, response, answer.sent.clone()))
        };
        answers
            .iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(PlayedWeb)
    }

    /// The addresses that are answered for.
    pub fn addresses(&self) -> impl Iterator<Item = &Url> {
        self.0.iter().map(|(_, url, ..)| url)
    }
}

#[async_trait]
impl Network for PlayedWeb {
    async fn look_up(&self, _name: &str) -> Result<Vec<IpAddr>, EgressError> {
        Ok(vec![NOWHERE.into()])
    }

    fn place_of(&self, _ip: IpAddr) -> Place {
        Place::Public
    }

    fn play(&self, request: &Played<'_>) -> Option<Result<http::Response<Bytes>, EgressError>> {
        let problem = |problem: String| Some(Err(EgressError::Setup(problem)));
        let found = self
            .0
            .iter()
            .find(|(method, url, ..)| method == request.method && url == request.url);
        let Some((_, _, response, sent)) = found else {
            let (method, url) = (request.method, request.url);
            return problem(format!(
                "the test has no answer for {method} {url}: add it to its web"
            ));
        };
        if let Some(sent) = sent
            && !String::from_utf8_lossy(request.body).contains(sent)
        {
            let body = String::from_utf8_lossy(request.body);
            return problem(format!("{sent:?} was to be sent, not {body:?}"));
        }
        Some(Ok(response.clone()))
    }
}
