//! Endpoints: the protocols that are spoken, what they do wrong, and the models behind them.

mod anthropic;
mod failures;
mod local;
mod models;
mod ollama;
mod quirks;
mod responses;
mod retries;
