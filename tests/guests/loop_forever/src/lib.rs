//! Loops for ever.
