//! What is asked, how it is answered, what an answer stores, and what lies around the sandbox.

mod answers;
mod approval;
mod batch;
mod by_hand;
mod editing;
mod names;
mod numbers;
mod rules;
mod sending;
mod spoken;
mod storing;
mod surroundings;
