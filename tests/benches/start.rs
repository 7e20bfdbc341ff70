//! What starting costs: `--version`, and the way to the first prompt with all caches warm.
//!
//! Others can be put beside it: `DUNLIN_BENCH_PEERS` holds one line per program,
//! `name|what its prompt looks like|command for the chat|command for the version`. All take turns within one
//! run, so that a noisy machine is noisy for all; medians are compared. Each command goes through a shell
//! that replaces itself.

#[expect(dead_code, reason = "this one watches nobody")]
mod stage;

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use dunlin_tests::{Environment, program};
use stage::{Stage, median, millis, peers, ratio, resident_kib, shell};

const ROUNDS: usize = 15;

/// A program that shows no prompt until then is given up.
const PATIENCE: Duration = Duration::from_secs(10);

struct Contender {
    name: String,
    prompt: String,
    chat: String,
    version: String,
    versions: Vec<Duration>,
    prompts: Vec<Duration>,
    resident_kib: Vec<u64>,
    /// It showed no prompt.
    given_up: bool,
}

impl Contender {
    fn new(name: &str, prompt: &str, chat: &str, version: &str) -> Contender {
        Contender {
            name: name.to_owned(),
            prompt: prompt.to_owned(),
            chat: chat.to_owned(),
            version: version.to_owned(),
            versions: Vec::new(),
            prompts: Vec::new(),
            resident_kib: Vec::new(),
            given_up: false,
        }
    }
}

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> ExitCode {
    let environment = Environment::new(program!());
    environment
        .configure("[agents.assistant]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"none\"\n");
    // Compiles the tools, so that the caches are warm.
    let warm = environment.run(["tools", "list"]);
    assert_eq!(warm.status, Some(0), "{}", warm.stderr);
    let dunlin = environment.program().display().to_string();
    let mut contenders = vec![Contender::new(
        "dunlin",
        "› ",
        &dunlin,
        &format!("{dunlin} --version"),
    )];
    contenders.push(instructed(&environment, &dunlin));
    for [name, prompt, chat, version] in peers("DUNLIN_BENCH_PEERS") {
        contenders.push(Contender::new(&name, &prompt, &chat, &version));
    }
    for _ in 0..ROUNDS {
        for contender in &mut contenders {
            contender
                .versions
                .push(version(&environment, &contender.version));
            if contender.given_up {
                continue;
            }
            match first_prompt(&environment, &contender.chat, &contender.prompt) {
                Some((spent, resident)) => {
                    contender.prompts.push(spent);
                    contender.resident_kib.push(resident);
                }
                None => contender.given_up = true,
            }
        }
    }
    println!("median of {ROUNDS}    --version        first prompt     resident there");
    let own_version = median(&mut contenders[0].versions);
    let own_prompt = median(&mut contenders[0].prompts);
    for contender in &mut contenders {
        let version = median(&mut contender.versions);
        let prompt = median(&mut contender.prompts);
        let resident = median(&mut contender.resident_kib) as f64 / 1024.0;
        println!(
            "{:<14} {} (×{:>5.1})  {} (×{:>5.1})  {resident:>6.1} MiB",
            contender.name,
            millis(version),
            ratio(version, own_version),
            millis(prompt),
            ratio(prompt, own_prompt),
        );
    }
    ExitCode::SUCCESS
}

/// The same in a project with an instruction file of the longest that is read, which is trusted.
fn instructed(environment: &Environment, dunlin: &str) -> Contender {
    let line = "- Count the terns before you count the gulls.\n";
    environment.outside_file("AGENTS.md", line.repeat(32 * 1024 / line.len()));
    let folder = environment.root().join("outside").display().to_string();
    let trusted = environment.run(["--project", &folder, "config", "trust", "--yes"]);
    assert_eq!(trusted.status, Some(0), "{}", trusted.stderr);
    let chat = format!("{dunlin} --project {folder}");
    Contender::new(
        "with AGENTS.md",
        "› ",
        &chat,
        &format!("{dunlin} --version"),
    )
}

fn version(environment: &Environment, command: &str) -> Duration {
    let mut process = Command::new("/bin/sh");
    process
        .args(shell(command))
        .env_clear()
        .envs(environment.variables())
        .current_dir(environment.project())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let status = process.status().expect("a shell");
    let spent = start.elapsed();
    assert!(status.success(), "{command}: {status}");
    spent
}

/// The time until the prompt is on the screen, and the resident memory there in KiB.
fn first_prompt(environment: &Environment, command: &str, prompt: &str) -> Option<(Duration, u64)> {
    let stage = Stage::start(environment, command, prompt);
    let found = stage
        .seen_within(PATIENCE)
        .map(|at| (at - stage.start, resident_kib(stage.id())));
    stage.end();
    found
}
