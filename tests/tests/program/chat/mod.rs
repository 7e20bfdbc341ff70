//! The chat at the prompt: what is typed, what goes with a message, and what is seen while a turn runs.

mod agents;
mod composing;
mod escapes;
mod instructions;
mod interruption;
mod limits;
mod media;
mod mentions;
mod modes;
mod own_commands;
mod prompt;
mod queue;
mod rendering;
mod startup;
mod steps;
mod templates;
mod type_ahead;
mod type_ahead_lines;
