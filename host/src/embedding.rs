//! An embedding model, for tools that search semantically.
//!
//! The host knows no model: whoever makes it hands one in, see [`crate::HostOptions::embedder`]. It trusts neither what a tool
//! asks nor what a model answers.

use std::time::Duration;

use async_trait::async_trait;

use crate::ForeignError;
use crate::egress::Url;

/// Makes vectors of texts.
#[async_trait]
pub trait Embedder: std::fmt::Debug + Send + Sync {
    /// What it is called; vectors under one name can be compared with each other. `None`: it is not there now. Must not
    /// block, nor load anything.
    fn name(&self) -> Option<String>;

    /// Where the texts are sent, as `http` or `https`; `None`: nowhere, the model runs on this machine. Must not block.
    fn address(&self) -> Option<Url>;

    /// The vectors of texts, in order: as many as can be made in that time, or all. Dropping the future stops it.
    async fn embed(
        &self,
        texts: Vec<String>,
        within: Duration,
    ) -> Result<Vec<Vec<f32>>, ForeignError>;
}
