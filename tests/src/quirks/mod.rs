//! What servers and models do that no protocol says, case by case.
//!
//! A [`Case`] is what a server answers, byte for byte, and what has to come of it: what `dunlin ask` prints, which
//! calls run, how many requests there are, how it ends. The cases are data; `run` plays them against
//! Dunlin, as they are or with every answer cut at random places. Their names say what is odd.

mod calls;
mod case;
mod chunks;
mod items;
mod requests;
mod run;
mod text_calls;
mod transport;

pub use case::{Called, Case, Section};
pub use run::{Bench, check};

/// All cases.
pub fn all() -> Vec<Case> {
    let sections = [
        (Section::Transport, transport::cases()),
        (Section::Chunks, chunks::cases()),
        (Section::Calls, calls::cases()),
        (Section::Items, items::cases()),
        (Section::TextCalls, text_calls::cases()),
        (Section::Requests, requests::cases()),
    ];
    let cases = sections
        .into_iter()
        .flat_map(|(section, cases)| cases.into_iter().map(move |case| Case { section, ..case }));
    cases.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let cases = all();
        let names: std::collections::BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), cases.len());
    }
}
