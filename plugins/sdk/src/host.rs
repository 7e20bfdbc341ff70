//! The functions of the host: those of the contract in a component, and those of [`mock`](crate::mock) on the machine that
//! a plugin is written on. Both have the same names and take the same, so the modules that use them do not tell them apart.

#[cfg(target_arch = "wasm32")]
pub use crate::bindings::dunlin::tool::{
    background, chat, clock, files, log, random, settings, store, web,
};
use crate::error::Error;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::memory::{
    files,
    others::{background, chat, clock, log, random, settings, store},
    web,
};

/// Fails where there is no host at all, for what cannot fail otherwise.
pub fn is_there() -> Result<(), Error> {
    #[cfg(not(target_arch = "wasm32"))]
    crate::memory::is_there()?;
    Ok(())
}

/// For what a mocked host does not have.
pub fn in_component() -> Result<(), Error> {
    match cfg!(target_arch = "wasm32") {
        true => Ok(()),
        false => Err(Error::Unsupported(
            "this works in a component only: `dunlin plugin test` runs it with the real host"
                .to_owned(),
        )),
    }
}
