//! Where something is written to.

/// The two streams of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sink {
    Out,
    Err,
}
