//! Plays the quirks of servers against Dunlin and other chats, and prints who survives how many, as a table.
//!
//! `DUNLIN_PEERS` holds one line per chat, `name|command`: a shell command that asks one question and ends. It
//! finds the address of the server, without `/v1`, in `BASE`. For others only the cases without calls count: they
//! have other tools. They pass where they print the reply and nothing that has to stay hidden, end as
//! well or as badly as they should, and ask no more often than for a plain reply.
//!
//! `dunlin-under-test` has to stand beside this program.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use dunlin_tests::quirks::{Bench, Case, Section, all};
use dunlin_tests::{Provider, Response};

/// How many cases are played side by side against Dunlin. Others share a home, and take turns.
const SIDE_BY_SIDE: usize = 4;

/// A chat that has not ended until then hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came of the cases: by section, the number that apply and the names of those that failed.
type Results = BTreeMap<Section, (usize, Vec<&'static str>)>;

fn main() -> ExitCode {
    #[expect(
        clippy::disallowed_methods,
        reason = "not the program: it only measures"
    )]
    let peers = std::env::var("DUNLIN_PEERS").unwrap_or_default();
    let program = std::env::current_exe()
        .ok()
        .and_then(|own| Some(own.parent()?.join("dunlin-under-test")))
        .filter(|program| program.exists());
    let Some(program) = program else {
        say("dunlin-under-test does not stand beside this program: make quirks builds both");
        return ExitCode::FAILURE;
    };
    let mut columns = vec![("dunlin".to_owned(), own_results(&program))];
    for line in peers.lines().filter(|line| !line.trim().is_empty()) {
        let Some((name, command)) = line.split_once('|') else {
            say(&format!("not name|command: {line}"));
            return ExitCode::FAILURE;
        };
        columns.push((name.trim().to_owned(), peer_results(command)));
    }
    say(&table(&columns));
    let failed = columns[0].1.values().any(|(_, failed)| !failed.is_empty());
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn own_results(program: &Path) -> Results {
    let cases = all();
    let next = AtomicUsize::new(0);
    let first = Bench::new(program);
    let play = || {
        let bench = first.another();
        let mut played = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            played.push((case.section, case.name, bench.play(case, None)));
        }
        played
    };
    let played: Vec<_> = std::thread::scope(|scope| {
        let benches: Vec<_> = (0..SIDE_BY_SIDE).map(|_| scope.spawn(play)).collect();
        let joined = benches.into_iter().filter_map(|bench| bench.join().ok());
        joined.flatten().collect()
    });
    let mut results = Results::new();
    for (section, name, result) in played {
        if let Err(wrong) = &result {
            say(&format!("dunlin: {wrong}"));
        }
        enter(&mut results, section, name, result.is_ok());
    }
    results
}

fn peer_results(command: &str) -> Results {
    let plain = Provider::always(Response::reply("Hi there")).lenient();
    let _ = ask(command, &plain);
    let usual = plain.requests().len().max(1);
    let mut results = Results::new();
    for case in all().iter().filter(|case| case.applies_to_peers()) {
        let Some(answer) = case.answers.first() else {
            continue;
        };
        let provider = Provider::always(answer.clone()).lenient();
        let passed = ask(command, &provider).is_some_and(|(success, stdout)| {
            success == (case.status == 0)
                && fits(case, &stdout)
                && provider.requests().len() <= usual
        });
        enter(&mut results, case.section, case.name, passed);
    }
    results
}

fn enter(results: &mut Results, section: Section, name: &'static str, passed: bool) {
    let (count, failed) = results.entry(section).or_default();
    *count += 1;
    failed.extend((!passed).then_some(name));
}

fn fits(case: &Case, stdout: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let hidden = case.absent.iter().all(|absent| !stdout.contains(absent));
    hidden && words(stdout).contains(&words(&case.reply))
}

/// Whether it succeeded, and what it printed; `None`: it did not end.
fn ask(command: &str, provider: &Provider) -> Option<(bool, String)> {
    let base = provider.base_url();
    let mut child = Command::new("/bin/sh")
        .args(["-c", &format!("exec {command}")])
        .env("BASE", base.trim_end_matches("/v1"))
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdout = child.stdout.take()?;
    let (ended, end) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stdout.read_to_end(&mut text);
        let _ = ended.send(());
        text
    });
    let in_time = end.recv_timeout(PATIENCE).is_ok();
    if let (false, Ok(id)) = (in_time, i32::try_from(child.id()))
        && let Some(group) = rustix::process::Pid::from_raw(id)
    {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let status = child.wait().ok()?;
    let text = reader.join().ok()?;
    in_time.then(|| {
        (
            status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    })
}

fn table(columns: &[(String, Results)]) -> String {
    let sections = [
        Section::Transport,
        Section::Chunks,
        Section::Calls,
        Section::TextCalls,
        Section::Requests,
    ];
    let mut text = String::from("\n|");
    for (name, _) in columns {
        text += &format!(" | {name}");
    }
    text += &format!(" |\n| ---{} |\n", " | ---".repeat(columns.len()));
    let cell = |results: &Results, sections: &[Section]| {
        let found = sections.iter().filter_map(|section| results.get(section));
        let (mut passed, mut count) = (0, 0);
        for (all, failed) in found {
            count += all;
            passed += all - failed.len();
        }
        match count {
            0 => " | –".to_owned(),
            _ => format!(" | {passed} of {count}"),
        }
    };
    for section in sections {
        text += &format!("| {}", section.name());
        for (_, results) in columns {
            text += &cell(results, &[section]);
        }
        text += " |\n";
    }
    text += "| together";
    for (_, results) in columns {
        text += &cell(results, &sections);
    }
    text += " |\n";
    for (name, results) in columns {
        let failed: Vec<&str> = results
            .values()
            .flat_map(|(_, failed)| failed)
            .copied()
            .collect();
        if !failed.is_empty() {
            text += &format!("\n{name} fails at: {}\n", failed.join("; "));
        }
    }
    text
}

fn say(text: &str) {
    // Whether anybody reads it is theirs to know.
    let _ = writeln!(std::io::stdout(), "{text}");
}
