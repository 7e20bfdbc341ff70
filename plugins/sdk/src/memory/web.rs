//! The web of a mocked host: prepared answers.

use std::cell::RefCell;

use super::{Result, in_run};
use crate::bindings::dunlin::tool::types::{Error, Operation, Target};
pub use crate::bindings::dunlin::tool::web::Header;

/// `None`: a `GET`.
type Body = Option<Vec<u8>>;

#[derive(Debug)]
pub struct Request {
    pub url: String,
    pub headers: RefCell<Vec<(String, String)>>,
    pub body: RefCell<Body>,
}

impl Request {
    pub fn new(method: &str, url: &str) -> Self {
        Self {
            url: url.to_owned(),
            headers: RefCell::default(),
            body: RefCell::new((method == "POST").then(Vec::new)),
        }
    }

    pub fn add_header(&self, header: &Header) {
        let header = (header.name.clone(), header.value.clone());
        self.headers.borrow_mut().push(header);
    }

    pub fn set_body(&self, body: &[u8]) {
        self.body.replace(Some(body.to_vec()));
    }
}

#[derive(Debug, Clone)]
pub struct Response {
    url: String,
    status: u16,
    media_type: String,
    body: RefCell<Vec<u8>>,
}

impl Response {
    pub fn new(url: &str, status: u16, media_type: &str, body: Vec<u8>) -> Self {
        Self {
            url: url.to_owned(),
            status,
            media_type: media_type.to_owned(),
            body: RefCell::new(body),
        }
    }

    pub fn status(&self) -> u16 {
        self.status
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    pub fn headers(&self) -> Vec<Header> {
        vec![Header {
            name: "content-type".to_owned(),
            value: self.media_type.clone(),
        }]
    }

    pub fn read(&self, max_bytes: u32) -> Result<Option<Vec<u8>>> {
        let mut body = self.body.borrow_mut();
        let most = body.len().min(max_bytes as usize);
        Ok((most > 0).then(|| body.drain(..most).collect()))
    }
}

pub fn fetch(request: Request) -> Result<Response> {
    in_run(|state| {
        let url = request.url.clone();
        let operation = match &*request.body.borrow() {
            None => Operation::Read,
            Some(_) => Operation::Write,
        };
        state.check(Target::Url(url.clone()), operation)?;
        state.sent.push(request);
        let answer = state.answers.get_mut(&url);
        let answer = answer.and_then(|answers| match answers.len() {
            1 => answers.front().cloned(),
            _ => answers.pop_front(),
        });
        answer.ok_or_else(|| {
            Error::Failed(format!(
                "no answer is prepared for '{url}', see MockHost::answer"
            ))
        })
    })
}
