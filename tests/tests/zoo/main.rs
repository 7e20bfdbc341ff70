//! Lets every hostile guest loose on the real host.
//!
//! Whatever a guest tries, four things hold: the host goes on (a well-behaved tool works right
//! afterwards), the user gets one clear line, nothing leaks, and an interruption is felt at once. The
//! modules sort the guests by what they attack. What a guest uses up is measured in a binary of its
//! own, `appetite`, where no other test uses up anything meanwhile.

mod both_interfaces;
mod cache;
mod changes;
mod command_lines;
mod commands;
mod components;
mod describe;
mod edits;
mod faults;
mod files;
mod finding;
mod hooks;
mod interruption;
mod killed;
mod modes;
mod names;
mod questions;
mod removal;
mod semantic_search;
mod sending;
mod servers;
mod settled;
mod subagents;
mod syntax;
mod text;
mod text_edits;
mod wasi;
mod wasi_http;
mod web;

/// All tests of the guests, as text.
const TESTS: &[&str] = &[
    include_str!("../appetite.rs"),
    include_str!("../program/plugins/mod.rs"),
    include_str!("cache.rs"),
    include_str!("command_lines.rs"),
    include_str!("commands.rs"),
    include_str!("components.rs"),
    include_str!("changes.rs"),
    include_str!("describe.rs"),
    include_str!("edits.rs"),
    include_str!("faults.rs"),
    include_str!("files.rs"),
    include_str!("interruption.rs"),
    include_str!("names.rs"),
    include_str!("questions.rs"),
    include_str!("sending.rs"),
    include_str!("subagents.rs"),
    include_str!("text.rs"),
    include_str!("wasi.rs"),
    include_str!("wasi_http.rs"),
    include_str!("web.rs"),
];

#[test]
fn every_guest_is_tested() {
    let forgotten: Vec<&str> = dunlin_tests::guests::all()
        .iter()
        .map(|guest| guest.name)
        // The measure of a call: the benchmark's.
        .filter(|name| *name != "bare")
        .filter(|name| {
            !TESTS
                .iter()
                .any(|tests| tests.contains(&format!("{name:?}")))
        })
        .collect();
    assert!(
        forgotten.is_empty(),
        "no test names the guests {forgotten:?}"
    );
}

/// One line that can be shown as it is.
fn assert_one_clear_line(text: &str) {
    let harmless = dunlin_host::display::escape(text);
    assert_eq!(harmless, text, "would act on the terminal");
    let length = text.chars().count();
    assert!((10..1000).contains(&length), "{length} characters: {text}");
    assert!(!text.ends_with('.'), "{text}");
}
