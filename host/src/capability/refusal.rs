//! What a guest is told instead of a value, and in which words.

use crate::bindings::dunlin::tool::types;
use crate::display::chain;
use crate::resolve::ResolveError;
use crate::target::Operation;

/// What a host function answers instead of a value.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The guest is told and goes on.
    Guest(types::Error),
    /// The guest ends here.
    Trap(wasmtime::Error),
}

impl Refusal {
    /// What the guest is told; the error ends it.
    pub(super) fn for_guest(self) -> wasmtime::Result<types::Error> {
        match self {
            Refusal::Guest(error) => Ok(error),
            Refusal::Trap(error) => Err(error),
        }
    }
}

impl From<types::Error> for Refusal {
    fn from(error: types::Error) -> Self {
        Refusal::Guest(error)
    }
}

impl From<wasmtime::Error> for Refusal {
    fn from(error: wasmtime::Error) -> Self {
        Refusal::Trap(error)
    }
}

impl From<Operation> for types::Operation {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Read => types::Operation::Read,
            Operation::Write => types::Operation::Write,
            Operation::Execute => types::Operation::Execute,
        }
    }
}

impl From<types::Operation> for Operation {
    fn from(operation: types::Operation) -> Self {
        match operation {
            types::Operation::Read => Operation::Read,
            types::Operation::Write => Operation::Write,
            types::Operation::Execute => Operation::Execute,
        }
    }
}

impl From<ResolveError> for Refusal {
    fn from(error: ResolveError) -> Self {
        let text = chain(&error);
        Refusal::Guest(match error {
            ResolveError::Io { .. } => types::Error::Failed(text),
            ResolveError::Program { .. } => types::Error::NotFound(text),
            _ => types::Error::Invalid(text),
        })
    }
}

/// The host's own trouble, as the guest is told.
pub(crate) fn host_failed(error: &dyn std::error::Error) -> Refusal {
    types::Error::Failed(chain(error)).into()
}

/// A target as the guest wrote it.
pub(crate) fn written_text(target: &types::Target) -> &str {
    match target {
        types::Target::Path(text)
        | types::Target::Folder(text)
        | types::Target::Url(text)
        | types::Target::Site(text)
        | types::Target::Program(text) => text,
    }
}
