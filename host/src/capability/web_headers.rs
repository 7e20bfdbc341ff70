//! Which headers a guest may set, and which it is not shown.

use crate::egress::{HeaderName, header};

/// What a guest may say of itself.
pub(super) const SETTABLE: [HeaderName; 4] = [
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_TYPE,
    header::USER_AGENT,
];

/// What is said of all other headers.
pub(super) const NOT_SETTABLE: &str = "cannot be set by a tool";

/// What a guest is not told: with it, it could speak as the user somewhere else.
pub(super) const HIDDEN: [&str; 2] = ["set-cookie", "set-cookie2"];
