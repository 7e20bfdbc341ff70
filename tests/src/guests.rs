//! The hostile guests, compiled to components: one plugin for each bad thing that a plugin may try.

pub use dunlin_zoo::{Guest, all};

/// The guest that stands in the folder `name`.
///
/// # Panics
///
/// When there is none.
pub fn guest(name: &str) -> Guest {
    dunlin_zoo::guest(name).unwrap_or_else(|| panic!("there is no guest named {name:?}"))
}
