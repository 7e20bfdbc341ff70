//! What subagents cost: four at once beside one alone, in memory, and what a short one costs beside calls of another tool.
//!
//! The server takes its time for each reply, as a server does; what it takes is the same for all of them, so four that
//! run side by side should take as long as one.

#[expect(dead_code, reason = "this one draws no peers")]
mod stage;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dunlin_tests::{Environment, Provider, Response, program};
use serde_json::{Value, json};
use stage::{median, millis, ratio};

const ROUNDS: usize = 7;

/// Requests of one subagent.
const REQUESTS: usize = 10;

/// What the server takes for a reply.
const REPLY: Duration = Duration::from_millis(100);

/// How often the memory is looked at, and whether the program has ended.
const LOOK: Duration = Duration::from_millis(1);

/// A chat with this provider, whose caches are warm.
fn chat(provider: &Provider) -> Environment {
    let environment = Environment::new(program!());
    environment.configure(&format!(
        "[agents.assistant]\nbase_url = \"{}\"\nmodel = \"scripted\"\n",
        provider.base_url()
    ));
    environment.project_file("notes.txt", "The eggs are speckled.\n".repeat(400));
    // Compiles the tools.
    let warm = environment.run(["tools", "list"]);
    assert_eq!(warm.status, Some(0), "{}", warm.stderr);
    environment
}

/// A call of `read_file`.
fn read() -> (&'static str, Value) {
    ("read_file", json!({ "file_path": "notes.txt" }))
}

/// The calls that start these subagents.
fn start(tasks: &[String]) -> Response {
    let calls = tasks
        .iter()
        .map(|task| ("run_subagent", json!({ "task": task })));
    Response::calls(calls)
}

/// A turn in which so many subagents make their requests, each of which but the last calls a tool.
fn working(subagents: usize) -> Provider {
    let tasks: Vec<String> = (1..=subagents)
        .map(|number| format!("Task {number}."))
        .collect();
    let parent = vec![start(&tasks), Response::reply("Done.")];
    let own = || {
        let call = |_| Response::stream().take(REPLY).calls_of([read()]);
        let mut script: Vec<Response> = (1..REQUESTS).map(call).collect();
        script.push(Response::stream().take(REPLY).text("Found.").finish("stop"));
        script
    };
    let scripts = tasks.iter().map(|task| (task.as_str(), own()));
    Provider::play_each(scripts.chain([("Go", parent)]))
}

/// A turn of three requests to a server that answers at once: a subagent has one of them, or there is none.
fn short(has_subagent: bool) -> Provider {
    let task = "Task.".to_owned();
    let done = || Response::reply("Done.");
    let call = || Response::calls([read()]);
    match has_subagent {
        true => Provider::play_each([
            ("Go", vec![start(&[task]), done()]),
            ("Task.", vec![done()]),
        ]),
        false => Provider::play([call(), call(), done()]),
    }
}

/// How long a turn takes, and the most memory that the program had, in KiB.
fn run(provider: &Provider) -> (Duration, u64) {
    let environment = chat(provider);
    let mut command = Command::new(environment.program());
    command
        .args(["ask", "--json", "Go"])
        .current_dir(environment.project())
        .env_clear()
        .envs(environment.variables())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().expect("the program starts");
    let mut most = 0;
    loop {
        most = most.max(peak_kib(child.id()).unwrap_or_default());
        if let Some(status) = child.try_wait().expect("the program can be waited for") {
            assert!(status.success(), "{status}");
            return (start.elapsed(), most);
        }
        std::thread::sleep(LOOK);
    }
}

/// The most memory that a process has had so far, in KiB.
fn peak_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.split_whitespace().next()?.parse().ok()
}

#[expect(clippy::print_stdout, reason = "the result")]
fn main() {
    let mut times: [Vec<Duration>; 4] = Default::default();
    let mut memory: [Vec<u64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let turns = [working(1), working(4), short(true), short(false)];
        for (index, provider) in turns.iter().enumerate() {
            let (time, kib) = run(provider);
            times[index].push(time);
            memory[index].push(kib);
        }
    }
    let [one, four, with, without] = times.each_mut().map(|it| median(it));
    let [with_one, with_four, ..] = memory.each_mut().map(|it| median(it));
    println!("one subagent of {REQUESTS} requests    {}", millis(one));
    println!(
        "four of them             {} (×{:.2})",
        millis(four),
        ratio(four, one)
    );
    let each = with_four.saturating_sub(with_one) as f64 / 3.0 / 1024.0;
    println!("memory of each more      {each:.1} MiB");
    println!("three requests, one call of run_subagent  {}", millis(with));
    println!(
        "three requests, two calls of read_file    {}",
        millis(without)
    );
}
