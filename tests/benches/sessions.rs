//! What stored sessions cost: the way to the first prompt with 10,000 of them, and with one of 1,000 messages
//! that is resumed.
//!
//! Others can be put beside it: `DUNLIN_BENCH_SESSIONS` holds one line per program,
//! `name|what its prompt looks like|command`, each with sessions that were made for it beforehand. All take turns
//! within one run, in a terminal; the first line is what the others are compared with.

#[expect(dead_code, reason = "this one watches nobody")]
mod stage;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use dunlin_chat::message::{Message, Role};
use dunlin_chat::session::Store;
use dunlin_chat::session::record::{FORMAT, Head, Record, TurnEntry};
use dunlin_tests::{Environment, program};
use stage::{Stage, median, millis, peers, ratio, resident_kib};

const ROUNDS: usize = 15;

/// A program that shows no prompt until then is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many sessions the crowded environment has.
const SESSIONS: usize = 10_000;

/// How many messages the long session has.
const MESSAGES: usize = 1_000;

/// A few hundred bytes, as messages have.
const TEXT: &str = "The dunlin is a small wader that breeds on moors and winters on mudflats, where \
    it probes for worms and snails in flocks that turn like smoke over the water. Its bill is a little \
    longer than its head and bent downwards at the tip; in summer the belly is black.";

struct Contender {
    name: String,
    prompt: String,
    command: String,
    environment: usize,
    times: Vec<Duration>,
    resident_kib: Vec<u64>,
    /// It showed no prompt.
    given_up: bool,
}

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> ExitCode {
    let environments = [(0, 0), (SESSIONS, 2), (1, MESSAGES)].map(|(sessions, messages)| {
        let environment = Environment::new(program!());
        environment.configure(
            "[agents.assistant]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"none\"\n",
        );
        // Compiles the tools, so that the caches are warm.
        let warm = environment.run(["tools", "list"]);
        assert_eq!(warm.status, Some(0), "{}", warm.stderr);
        store(&environment, sessions, messages);
        environment
    });
    let dunlin = environments[0].program().display().to_string();
    let contender = |name: &str, prompt: &str, command: String, environment| Contender {
        name: name.to_owned(),
        prompt: prompt.to_owned(),
        command,
        environment,
        times: Vec::new(),
        resident_kib: Vec::new(),
        given_up: false,
    };
    let mut contenders = vec![
        contender("no session", "› ", dunlin.clone(), 0),
        contender("10,000, --fresh", "› ", format!("{dunlin} --fresh"), 1),
        contender("10,000, the choice", "another session", dunlin.clone(), 1),
        contender("10,000, --resume", "› ", format!("{dunlin} --resume"), 1),
        contender("1,000 messages", "› ", format!("{dunlin} --resume"), 2),
    ];
    for [name, prompt, command] in peers("DUNLIN_BENCH_SESSIONS") {
        contenders.push(contender(&name, &prompt, command, 0));
    }
    for _ in 0..ROUNDS {
        for contender in contenders.iter_mut().filter(|it| !it.given_up) {
            let environment = &environments[contender.environment];
            let stage = Stage::start(environment, &contender.command, &contender.prompt);
            match stage.seen_within(PATIENCE) {
                Some(at) => {
                    contender.times.push(at - stage.start);
                    contender.resident_kib.push(resident_kib(stage.id()));
                }
                None => contender.given_up = true,
            }
            stage.end();
        }
    }
    println!("median of {ROUNDS}          first prompt     resident there");
    let first = median(&mut contenders[0].times);
    for contender in &mut contenders {
        let time = median(&mut contender.times);
        let resident = median(&mut contender.resident_kib) as f64 / 1024.0;
        println!(
            "{:<19} {} (×{:>5.1})  {resident:>6.1} MiB",
            contender.name,
            millis(time),
            ratio(time, first),
        );
    }
    ExitCode::SUCCESS
}

/// Writes sessions as the chat leaves them, of two messages and up.
fn store(environment: &Environment, sessions: usize, messages: usize) {
    let project = fs::canonicalize(environment.project()).expect("a project");
    let store = Store::new(&environment.data(), &project);
    if sessions == 0 {
        return;
    }
    store.make_folder().expect("a folder for sessions");
    for number in 0..sessions {
        let id = format!("s{number:07}");
        let file = store.entry(&id).path;
        write(&file, id, store.project_name(), messages);
    }
}

fn write(file: &Path, id: String, project: String, messages: usize) {
    let mut lines = Vec::new();
    let title = TEXT.split(',').next().unwrap_or_default().to_owned();
    let head = Head {
        format: FORMAT,
        id,
        project,
        agent: "assistant".to_owned(),
        model: "none".to_owned(),
        title: title.clone(),
        named: false,
        pid: 1,
        forked_from: None,
        call: None,
        notes_starts: true,
    };
    Record::Head(head).write(0, &mut lines);
    let mut number = 0;
    for turn in 0..messages / 2 {
        for role in [Role::User, Role::Assistant] {
            number += 1;
            Record::Message(Message::text(role, TEXT)).write(number, &mut lines);
        }
        number += 1;
        let entry = TurnEntry {
            messages: 2 * (turn + 1),
            said: turn + 1,
            title: title.clone(),
            named: false,
            usage: Default::default(),
            money: Default::default(),
        };
        Record::Turn(entry).write(number, &mut lines);
    }
    Record::Closed.write(number + 1, &mut lines);
    fs::write(file, lines).expect("room for a session");
}
