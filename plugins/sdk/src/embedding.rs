//! Texts as vectors that lie near to each other where the texts mean the like.
//!
//! ```no_run
//! # fn run() -> Result<(), dunlin_sdk::Error> {
//! use dunlin_sdk::embedding;
//! if embedding::model().is_some() {
//!     let vectors = embedding::embed(&["a bird", "a sandpiper"], 500)?;
//!     dunlin_sdk::log::debug(&format!("{} vectors", vectors.len()));
//! }
//! # Ok(())
//! # }
//! ```

use crate::bindings::dunlin::tool::embedding as host;
use crate::error::Error;

/// What the model is called: vectors under one name can be compared with each other, and kept. `None` where there is no
/// model, as outside of a component.
pub fn model() -> Option<String> {
    crate::host::in_component().ok()?;
    host::model()
}

/// The vectors of 1 to 128 texts, in their order, each of length 1: as many as the model makes in that many milliseconds.
///
/// Fails with `Unsupported` where there is no model, with `Invalid` for no texts, with `TooLarge` for too many, with
/// `Failed` when the model cannot be used.
pub fn embed(texts: &[impl AsRef<str>], within_ms: u32) -> Result<Vec<Vec<f32>>, Error> {
    crate::host::in_component()?;
    let texts: Vec<String> = texts.iter().map(|text| text.as_ref().to_owned()).collect();
    Ok(host::embed(&texts, within_ms)?)
}
