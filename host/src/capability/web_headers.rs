//! Which headers a guest may set, and which it is not shown.

use crate::egress::{HeaderName, header};

/// What a guest may say of itself.
pub(super) const SETTABLE: [HeaderName; 4] = [
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_TYPE,
    header::USER_AGENT,
];

/// Values of `accept` that tell a server no more than which of these it is: they need not be shown.
pub(super) const USUAL_ACCEPT: [&str; 3] = [
    "*/*",
    "application/json",
    "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.9,*/*;q=0.8",
];

/// What is said of all other headers.
pub(super) const NOT_SETTABLE: &str =
    "a tool may set accept, accept-language, content-type and user-agent only";

/// What a guest is not told: with it, it could speak as the user somewhere else.
pub(super) const HIDDEN: [&str; 2] = ["set-cookie", "set-cookie2"];
