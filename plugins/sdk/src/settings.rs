//! What the user has set for the plugin. It needs no permission, and works in `prepare` as well.
//!
//! ```no_run
//! use dunlin_sdk::{Schema, settings};
//! use serde::Deserialize;
//!
//! /// What can be set, in `dunlin_sdk::export!(MyTool; settings = Settings)`.
//! #[derive(Deserialize, Schema)]
//! struct Settings {
//!     /// The file of the diary
//!     #[parameter(default = "diary.md")]
//!     #[serde(default = "diary")]
//!     file: String,
//! }
//!
//! fn diary() -> String {
//!     "diary.md".to_owned()
//! }
//!
//! # fn run() -> Result<(), dunlin_sdk::Error> {
//! let settings: Settings = settings::get()?;
//! # Ok(())
//! # }
//! ```
//!
//! The user sees them with `dunlin plugin settings NAME`, and sets one with `dunlin plugin settings NAME file=diary.txt`.

use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::host::settings as host;

/// All settings, with the defaults of what the user has not set.
///
/// Fails with `Invalid` where one is missing or does not fit, in words that say how the user sets it; with `Unsupported`
/// where the plugin has no settings, and outside of a component.
pub fn get<T: DeserializeOwned>() -> Result<T, Error> {
    let settings = host::get()?;
    serde_json::from_str(&settings).map_err(|e| Error::Invalid(format!("the settings: {e}")))
}
