//! Servers that a test of a plugin plays: what they answer is in `plugin.toml`, and nothing leaves the machine.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use async_trait::async_trait;
use bytes::Bytes;
use dunlin_host::display::shorten;
use dunlin_host::egress::{EgressError, Method, Network, Place, Played, Url, place_of, read_url};

use super::manifest::WebAnswer;

/// Where each name leads: an address for documentation (RFC 5737). Nothing is connected to it.
const NOWHERE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

/// How much of a body is repeated that was not to be sent, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// Why a test cannot play a server.
#[derive(Debug, thiserror::Error)]
pub enum PlayedWebError {
    #[error("{key:?} in web of a test has to be an address, or a method and an address")]
    Key { key: String },
    /// Methods are compared to the letter, and a guest sends them in upper case.
    #[error("{key:?} in web of a test: write the method as {upper}")]
    LowerCase {
        key: String,
        /// As it has to be written.
        upper: String,
    },
    /// The address makes no sense.
    #[error("{key:?} in web of a test: {problem}")]
    Address { key: String, problem: EgressError },
    #[error("the answer of {key:?} in web of a test: {problem}")]
    Answer { key: String, problem: http::Error },
}

/// The answers of a test, by method and address.
#[derive(Debug, Default)]
pub struct PlayedWeb(Vec<(Method, Url, http::Response<Bytes>, Option<String>)>);

impl PlayedWeb {
    /// Reads what a test says.
    ///
    /// # Errors
    /// What makes no sense.
    pub fn of(answers: &BTreeMap<String, WebAnswer>) -> Result<PlayedWeb, PlayedWebError> {
        let read = |(written, answer): (&String, &WebAnswer)| {
            let key = || written.clone();
            let (method, url) = match written.split_once(' ') {
                Some((method, url)) => (method.parse().ok(), url),
                None => (Some(Method::GET), written.as_str()),
            };
            let method: Method = method.ok_or_else(|| PlayedWebError::Key { key: key() })?;
            if method
                .as_str()
                .bytes()
                .any(|byte| byte.is_ascii_lowercase())
            {
                let upper = method.as_str().to_ascii_uppercase();
                return Err(PlayedWebError::LowerCase { key: key(), upper });
            }
            let url = read_url(url).map_err(|problem| PlayedWebError::Address {
                key: key(),
                problem,
            })?;
            let mut response = http::Response::builder().status(answer.status.unwrap_or(200));
            for (name, value) in &answer.headers {
                response = response.header(name, value);
            }
            let response = response
                .body(Bytes::from(answer.body.clone()))
                .map_err(|problem| PlayedWebError::Answer {
                    key: key(),
                    problem,
                })?;
            Ok((method, url, response, answer.sent.clone()))
        };
        answers
            .iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(PlayedWeb)
    }

    /// What has to be allowed for the addresses that are answered for, as in the permission file: that is without a query.
    pub fn targets(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(_, url, ..)| {
            let mut url = url.clone();
            url.set_query(None);
            url.to_string()
        })
    }
}

impl PlayedWeb {
    /// What an author has to know of a request that the test does not answer.
    pub fn no_answer(&self, method: &str, url: &str) -> String {
        let answers: Vec<String> = self
            .0
            .iter()
            .map(|(method, url, ..)| format!("{method} {url}"))
            .collect();
        let answers = match answers.as_slice() {
            [] => "it answers nothing".to_owned(),
            all => format!("it answers {}", all.join(", ")),
        };
        let key = match method {
            "GET" => url.to_owned(),
            method => format!("{method} {url}"),
        };
        format!(
            "the test has no answer for {method} {url}: add {key:?} = {{ body = \"…\" }} to its web in plugin.toml; {answers}"
        )
    }
}

#[async_trait]
impl Network for PlayedWeb {
    async fn look_up(&self, _name: &str) -> Result<Vec<IpAddr>, EgressError> {
        Ok(vec![NOWHERE.into()])
    }

    fn place_of(&self, ip: IpAddr) -> Place {
        match ip == NOWHERE {
            true => Place::Public,
            // An address that stands in the URL is what it says that it is.
            false => place_of(ip),
        }
    }

    fn play(&self, request: &Played<'_>) -> Option<Result<http::Response<Bytes>, EgressError>> {
        let problem = |problem: String| Some(Err(EgressError::Setup(problem)));
        let found = self
            .0
            .iter()
            .find(|(method, url, ..)| method == request.method && url == request.url);
        let Some((_, _, response, sent)) = found else {
            return problem(self.no_answer(request.method.as_str(), request.url.as_str()));
        };
        if let Some(sent) = sent
            && !String::from_utf8_lossy(request.body).contains(sent)
        {
            let body = String::from_utf8_lossy(request.body);
            return problem(format!(
                "{} {}: {sent:?} was to be sent, not {:?}; it is \"sent\" in the web of the test in plugin.toml",
                request.method,
                request.url,
                shorten(&body, MAX_SHOWN_CHARS)
            ));
        }
        Some(Ok(response.clone()))
    }
}
