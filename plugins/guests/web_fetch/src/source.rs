//! Where answers come from: the host, or a test.

use dunlin_sdk::Error;
use dunlin_sdk::web::{Request, Response};

/// Sends requests.
pub trait Source {
    /// What comes back.
    type Answer: Answer;

    /// Sends one.
    ///
    /// # Errors
    /// Those of [`Request::send`].
    fn send(&self, request: Request) -> Result<Self::Answer, Error>;
}

/// What comes back.
pub trait Answer {
    /// The status of HTTP.
    fn status(&self) -> u16;

    /// The address that answered.
    fn url(&self) -> String;

    /// The headers, names in lower case.
    fn headers(&self) -> Vec<(String, String)>;

    /// The next piece of the body; `None`: that was all of it.
    ///
    /// # Errors
    /// Those of [`Response::read`].
    fn read(&mut self) -> Result<Option<Vec<u8>>, Error>;
}

/// The web.
#[derive(Debug)]
pub struct Web;

impl Source for Web {
    type Answer = Response;

    fn send(&self, request: Request) -> Result<Response, Error> {
        request.send()
    }
}

impl Answer for Response {
    fn status(&self) -> u16 {
        Response::status(self)
    }

    fn url(&self) -> String {
        Response::url(self)
    }

    fn headers(&self) -> Vec<(String, String)> {
        Response::headers(self)
    }

    fn read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        Response::read(self)
    }
}
