//! A Dunlin that is killed loses no answer that it gave out as stored, and leaves nothing half-written.
//!
//! `DUNLIN_KILLS=1000 cargo test --release -p dunlin-tests --test zoo killed` does it so many times.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use dunlin_tests::sandbox::Sandbox;
use serde_json::Value;

/// Kills in an ordinary run: some seconds.
const KILLS: u64 = 60;

/// Kills with one permission file. Every answer writes all of it, so that it must not grow for ever.
const KILLS_EACH: u64 = 40;

#[test]
fn no_stored_answer_is_lost() {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long a test runs is not a setting of Dunlin"
    )]
    let kills = std::env::var("DUNLIN_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let (mut answers, mut leftovers) = (0, 0);
    for first in (0..kills).step_by(KILLS_EACH as usize) {
        let sandbox = Sandbox::new();
        let mut next = 0;
        for kill in first..kills.min(first + KILLS_EACH) {
            let stored = answer_until_killed(&sandbox, next, kill);
            leftovers += u64::from(!temporary_files(&sandbox).is_empty());
            next = check(&sandbox, next + stored);
            answers += stored;
        }
        // The next writer sweeps.
        let permissions =
            dunlin_host::Permissions::open(&sandbox.options(dunlin_tests::sandbox::PATIENT));
        permissions.unwrap().set("/swept", "r--").unwrap();
        assert_eq!(temporary_files(&sandbox), [""; 0]);
    }
    assert!(answers > kills, "hardly any answer was stored: {answers}");
    eprintln!("{kills} kills, {answers} answers, {leftovers} times a file was left half-written");
}

/// Starts a Dunlin that stores answers, and kills it at some moment; how many it gave out as stored.
fn answer_until_killed(sandbox: &Sandbox, first: u64, kill: u64) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin-answers"))
        .arg(sandbox.root())
        .arg(first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program that answers");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    // Once it is at it: some answers, and then some way into the next one. The steps are
    // spread over the time that an answer takes, without chance, so that a failure comes again.
    let mut stored = 0;
    for _ in 0..=kill % 4 {
        let line = lines.next().expect("an answer");
        line.expect("a line of its output");
        stored += 1;
    }
    let spin = std::time::Instant::now();
    let wait = Duration::from_micros(kill * 7919 % 6000);
    while spin.elapsed() < wait {
        std::hint::spin_loop();
    }
    child.kill().expect("it runs until it is killed");
    // What it said before it died counts too.
    stored += lines.map_while(Result::ok).count() as u64;
    child.wait().expect("its end");
    stored
}

/// Every answer that was given out is there, and no other but the one that was being stored. The number of the
/// next answer.
fn check(sandbox: &Sandbox, stored: u64) -> u64 {
    let read = |name: &str| -> BTreeMap<String, Value> {
        let path = sandbox.permissions_file().with_file_name(name);
        // Without an allow there are no digests yet; that each allow has its own is looked at below.
        let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
    };
    let permissions = read("tool.permissions.json");
    let digests = read("tool.digests.json").remove("grants");
    let has_digest = |key: &str| {
        digests
            .as_ref()
            .is_some_and(|grants| grants.get(key).is_some())
    };
    let outside = sandbox.root().join("outside");
    let mut found = 0;
    for (key, bits) in &permissions {
        let Ok(name) = Path::new(key).strip_prefix(&outside) else {
            continue;
        };
        let name = name.to_string_lossy();
        let number: u64 = name.parse().expect("the number of an answer");
        let allowed = !number.is_multiple_of(3);
        assert!(number <= stored, "nobody answered {number}");
        assert_eq!(bits, if allowed { "R??" } else { "-??" }, "{number}");
        // An allow without its plugin would serve nobody.
        assert_eq!(has_digest(key), allowed, "{number}");
        found += 1;
    }
    assert!(found >= stored, "{found} answers of {stored} are stored");
    found
}

fn temporary_files(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox.permissions_file();
    let entries = fs::read_dir(folder.parent().unwrap_or(&folder)).expect("the folder");
    let names = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".tmp")).collect()
}
