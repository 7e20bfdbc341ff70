//! The server of the page of an app.
