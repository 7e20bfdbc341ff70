//! What a call has sent over the web.

use super::app_allowance::AppRequests;
use super::caller::CallerKind;
use crate::bindings::dunlin::tool::types;
use crate::limits;

/// Counted, since what a call may send is bounded.
#[derive(Default)]
pub(crate) struct WebUse {
    /// How many requests.
    pub(super) requests: usize,
    /// The same of an app in this minute.
    pub(in crate::capability) of_app: AppRequests,
    /// What is wrong with a header that the plugin has made up for a request.
    pub(crate) bad_header: Option<String>,
}

impl WebUse {
    /// Counts one more request over the web.
    pub(in crate::capability) fn count_request(
        &mut self,
        of: CallerKind,
    ) -> Result<(), types::Error> {
        if self.requests == limits::MAX_FETCHES {
            return Err(types::Error::TooLarge(format!(
                "this call has sent {} requests; no more are possible",
                limits::MAX_FETCHES
            )));
        }
        if of == CallerKind::App {
            let sent = &mut self.of_app;
            if sent.count == limits::MAX_APP_FETCHES {
                sent.are_too_many = true;
                return Err(types::Error::TooLarge(format!(
                    "this app has sent {} requests within a minute; more are possible in the next",
                    limits::MAX_APP_FETCHES
                )));
            }
            sent.count += 1;
        }
        self.requests += 1;
        Ok(())
    }
}
