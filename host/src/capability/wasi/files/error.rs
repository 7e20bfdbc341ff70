//! How `wasi:filesystem` is told that something was refused or failed: in numbers, as programs expect it.

use std::io;

use rustix::io::Errno;
use wasmtime::component::ResourceTableError;

use super::ErrorCode;
use crate::bindings::dunlin::tool::types::Error;
use crate::capability::refusal::Refusal;
use crate::resolve::ResolveError;

/// What a function of the file system answers instead of a value.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The guest is told and goes on.
    Code(ErrorCode),
    /// The guest ends here.
    Trap(wasmtime::Error),
}

impl From<ErrorCode> for Fault {
    fn from(code: ErrorCode) -> Fault {
        Fault::Code(code)
    }
}

impl From<wasmtime::Error> for Fault {
    fn from(error: wasmtime::Error) -> Fault {
        Fault::Trap(error)
    }
}

/// Too many handles are open, or one is not what it was said to be.
impl From<ResourceTableError> for Fault {
    fn from(error: ResourceTableError) -> Fault {
        match error {
            ResourceTableError::Full => Fault::Code(ErrorCode::InsufficientMemory),
            error => Fault::Trap(error.into()),
        }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Fault {
        Fault::Code(match refusal {
            Refusal::Trap(error) => return Fault::Trap(error),
            Refusal::Guest(Error::Denied(_)) => ErrorCode::Access,
            Refusal::Guest(Error::NotFound(_)) => ErrorCode::NoEntry,
            Refusal::Guest(Error::WrongKind(_)) => ErrorCode::NotDirectory,
            Refusal::Guest(Error::Invalid(_)) => ErrorCode::Invalid,
            Refusal::Guest(Error::TooLarge(_)) => ErrorCode::Quota,
            Refusal::Guest(Error::Conflict(_)) => ErrorCode::Busy,
            Refusal::Guest(Error::Cancelled) => ErrorCode::Interrupted,
            // What cannot be done in `describe` and `prepare`, whoever was asked.
            Refusal::Guest(Error::Unsupported(_)) => ErrorCode::NotPermitted,
            Refusal::Guest(Error::TimedOut(_) | Error::Unavailable(_) | Error::Failed(_)) => {
                ErrorCode::Io
            }
        })
    }
}

impl From<ResolveError> for Fault {
    fn from(error: ResolveError) -> Fault {
        Fault::Code(match error {
            ResolveError::Empty => ErrorCode::NoEntry,
            ResolveError::TooLong { .. } => ErrorCode::NameTooLong,
            ResolveError::Links { .. } => ErrorCode::Loop,
            ResolveError::Io { source, .. } => return source.into(),
            _ => ErrorCode::Invalid,
        })
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        match Errno::from_io_error(&error) {
            Some(errno) => errno.into(),
            None => Fault::Code(ErrorCode::Io),
        }
    }
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Fault {
        Fault::Code(match errno {
            Errno::ACCESS => ErrorCode::Access,
            Errno::AGAIN => ErrorCode::WouldBlock,
            Errno::BADF => ErrorCode::BadDescriptor,
            Errno::BUSY => ErrorCode::Busy,
            Errno::DQUOT => ErrorCode::Quota,
            Errno::EXIST => ErrorCode::Exist,
            Errno::FBIG => ErrorCode::FileTooLarge,
            Errno::ILSEQ => ErrorCode::IllegalByteSequence,
            Errno::INTR => ErrorCode::Interrupted,
            Errno::INVAL => ErrorCode::Invalid,
            Errno::ISDIR => ErrorCode::IsDirectory,
            Errno::LOOP => ErrorCode::Loop,
            Errno::MLINK => ErrorCode::TooManyLinks,
            Errno::NAMETOOLONG => ErrorCode::NameTooLong,
            Errno::NOENT => ErrorCode::NoEntry,
            Errno::NOMEM => ErrorCode::InsufficientMemory,
            Errno::NOSPC => ErrorCode::InsufficientSpace,
            Errno::NOTDIR => ErrorCode::NotDirectory,
            Errno::NOTEMPTY => ErrorCode::NotEmpty,
            Errno::NXIO => ErrorCode::NoSuchDevice,
            Errno::OPNOTSUPP => ErrorCode::Unsupported,
            Errno::OVERFLOW => ErrorCode::Overflow,
            Errno::PERM => ErrorCode::NotPermitted,
            Errno::PIPE => ErrorCode::Pipe,
            Errno::ROFS => ErrorCode::ReadOnly,
            Errno::SPIPE => ErrorCode::InvalidSeek,
            Errno::TXTBSY => ErrorCode::TextFileBusy,
            Errno::XDEV => ErrorCode::CrossDevice,
            _ => ErrorCode::Io,
        })
    }
}
