//! Whole-program tests of Dunlin.
