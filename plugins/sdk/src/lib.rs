//! What the author of a Dunlin tool depends on.
