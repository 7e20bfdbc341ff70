//! The real program through all that servers and models do: see `dunlin_tests::quirks`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use dunlin_tests::program;
use dunlin_tests::quirks::{Bench, Case, all};

/// How many cases are played side by side. Most of the time each waits: for a process, for a grace to end.
const SIDE_BY_SIDE: usize = 8;

#[track_caller]
fn play_all(first: &Bench, seed: Option<u64>) {
    let cases = all();
    let next = AtomicUsize::new(0);
    let play = || {
        let bench = first.another();
        let mut wrong = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(bench.play(case, seed).err());
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let benches: Vec<_> = (0..SIDE_BY_SIDE).map(|_| scope.spawn(play)).collect();
        benches
            .into_iter()
            .flat_map(|bench| bench.join().expect("a bench"))
            .collect()
    });
    let of = cases.len();
    assert!(
        wrong.is_empty(),
        "{} of {of} cases, seed {seed:?}:\n\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

#[test]
fn every_quirk_is_survived_wherever_it_is_cut() {
    let first = Bench::new(program!());
    play_all(&first, None);
    let now = SystemTime::UNIX_EPOCH.elapsed();
    play_all(&first, Some(now.map_or(1, |time| time.as_secs())));
}

#[test]
fn some_say_something_about_other_programs() {
    assert!(all().iter().any(Case::applies_to_peers));
    assert!(!all().iter().all(Case::applies_to_peers));
}
