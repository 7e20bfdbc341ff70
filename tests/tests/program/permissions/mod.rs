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

use dunlin_tests::Screen;

/// Each of these rows is on the screen.
#[track_caller]
fn assert_shows(screen: &Screen, rows: &[&str]) {
    for row in rows {
        assert!(screen.contains(row), "{row:?} is not in\n{}", screen.text);
    }
}
