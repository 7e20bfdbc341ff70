//! What command lines are read as, row by row.

mod denials;
mod endings;
mod everyday;
mod grants;
mod known_lines;
mod machine;
mod needs;
mod programs;
mod reasons;
mod runs;
mod shells;
mod simple;
mod ways;
