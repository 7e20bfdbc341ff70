//! What starting costs: `--version`, and the way to the first prompt with all caches warm.
//!
//! Others can be put beside it: `DUNLIN_BENCH_PEERS` holds one line per program,
//! `name|what its prompt looks like|command for the chat|command for the version`. All take turns within one
//! run, so that a noisy machine is noisy for all; medians are compared. Each command goes through a shell
//! that replaces itself.

use std::io::{Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use dunlin_tests::{Environment, program};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

const ROUNDS: usize = 15;

/// A program that shows no prompt until then is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// What programs ask a terminal, and what a usual one answers: where its cursor is, and what it can do.
/// Some wait for the answer before they show anything.
const QUESTIONS: [(&[u8], &[u8]); 2] = [(b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62;c")];

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
    #[expect(clippy::disallowed_methods, reason = "a benchmark, not the program")]
    let peers = std::env::var("DUNLIN_BENCH_PEERS").unwrap_or_default();
    for line in peers.lines().filter(|line| !line.trim().is_empty()) {
        let parts: Vec<&str> = line.split('|').collect();
        let [name, prompt, chat, version] = parts.as_slice() else {
            println!("not name|prompt|chat|version: {line}");
            return ExitCode::FAILURE;
        };
        contenders.push(Contender::new(name, prompt, chat, version));
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

fn shell(command: &str) -> [String; 2] {
    ["-c".to_owned(), format!("exec {command}")]
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
    let pair = native_pty_system()
        .openpty(PtySize {
            rows: 40,
            cols: 100,
            pixel_width: 0,
            pixel_height: 0,
        })
        .expect("a pseudo-terminal");
    let mut shell_command = CommandBuilder::new("/bin/sh");
    shell_command.args(shell(command));
    shell_command.cwd(environment.project());
    shell_command.env_clear();
    for (name, value) in environment.variables() {
        shell_command.env(name, value);
    }
    let mut output = pair.master.try_clone_reader().expect("its output");
    let mut keyboard = pair.master.take_writer().expect("its keyboard");
    let start = Instant::now();
    let mut child = pair.slave.spawn_command(shell_command).expect("a shell");
    drop(pair.slave);
    let (seen, arrived) = mpsc::channel();
    let wanted = prompt.as_bytes().to_owned();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let mut buffer = [0; 16 * 1024];
        let mut answered = [0; QUESTIONS.len()];
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            text.extend_from_slice(&buffer[..count]);
            for (answered, (question, answer)) in answered.iter_mut().zip(QUESTIONS) {
                let asked = occurrences(&text, question);
                for _ in *answered..asked {
                    let _ = keyboard.write_all(answer);
                }
                *answered = asked;
            }
            if occurrences(&text, &wanted) > 0 {
                let _ = seen.send(Instant::now());
            }
        }
    });
    let found = arrived.recv_timeout(PATIENCE).ok().map(|at| {
        let id = child.process_id().unwrap_or_default();
        (at - start, resident_kib(id))
    });
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
    drop(pair.master);
    let _ = reader.join();
    found
}

fn occurrences(text: &[u8], part: &[u8]) -> usize {
    text.windows(part.len())
        .filter(|window| *window == part)
        .count()
}

fn resident_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

fn median<T: Copy + Ord + Default>(values: &mut [T]) -> T {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn millis(duration: Duration) -> String {
    if duration.is_zero() {
        return "       –   ".to_owned();
    }
    format!("{:>8.1} ms", duration.as_secs_f64() * 1000.0)
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(f64::EPSILON)
}
