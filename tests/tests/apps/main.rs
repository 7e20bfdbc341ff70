//! Pages of apps in a real browser.
//!
//! One browser for all tests, and a window for each. The app under test says what it found by calling its back end, which the
//! test plays.

mod bounds;
mod chat;
mod conversation;
mod examples;
mod life;
mod stage;
mod traffic;
