//! A paused request at the prompt: what was typed, what that comes to, and how it looks.
//!
//! Nothing here touches a terminal. [`words`] understands a typed line; [`list`] and [`show`] make rows of a request;
//! [`paused`] holds one request and says what a line comes to. Reading and printing is done by whoever implements
//! `Interceptor`.
//!
//! A request is foreign text for the most part: every row is escaped, and long texts stand behind a bar, so that no text in
//! a request can make a row that looks like one of Dunlin's own.

pub mod complete;
pub mod difference;
pub mod list;
pub mod paused;
pub mod pins;
pub mod show;
pub mod words;
