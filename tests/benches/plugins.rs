//! What a plugin costs in each of the languages that it can be written in, and what ten of them cost at the start.
//!
//! The plugins are those that `dunlin plugin new` writes, built as their authors build them, so each needs the tools of its
//! language; where they are missing, that is said and the next one is measured. JavaScript is fetched by `npm install` as in its
//! README. All take turns within one run; medians are compared.

#[expect(dead_code, reason = "this one watches nobody")]
mod stage;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_host::ask::DenyAll;
use dunlin_tests::guests::guest;
use dunlin_tests::sandbox::{PATIENT, Sandbox, call, play, plugin_of};
use dunlin_tests::{Environment, program};
use serde_json::json;
use stage::{Stage, median, millis, ratio};
use tokio::runtime::Runtime;

/// Calls of each plugin.
const CALLS: usize = 200;

/// Loads of each plugin, and starts of the chat.
const ROUNDS: usize = 15;

/// A program that shows no prompt until then is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// What `plugin new` knows, and what has to be done once in the folder.
const LANGUAGES: [(&str, Option<[&str; 3]>); 4] = [
    ("rust", None),
    ("c", None),
    ("js", Some(["npm", "install", "--no-audit"])),
    ("python", None),
];

/// Guests that are ten plugins like any others.
const TEN: [&str; 10] = [
    "bare",
    "echo",
    "trap",
    "nag",
    "loop_forever",
    "big_read",
    "many_handles",
    "undeclared",
    "progress_flood",
    "open_etc_passwd",
];

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("a temporary folder");
    println!("a plugin       component     made ready        loaded          called");
    for (language, first) in LANGUAGES {
        match built(folder.path(), language, first) {
            Ok(component) => println!("{}", measured(language, &component)),
            Err(problem) => println!("{language:<10} not measured: {problem}"),
        }
    }
    let none = environment(&[]);
    let ten = environment(&TEN);
    let mut prompts = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (environment, prompts) in [&none, &ten].into_iter().zip(&mut prompts) {
            prompts.extend(first_prompt(environment));
        }
    }
    let [without, with] = prompts.map(|mut prompts| median(&mut prompts));
    println!(
        "first prompt without plugins {}, with ten {} (×{:.2})",
        millis(without).trim(),
        millis(with).trim(),
        ratio(with, without)
    );
    ExitCode::SUCCESS
}

/// The component of a fresh plugin, or why there is none.
fn built(folder: &Path, language: &str, first: Option<[&str; 3]>) -> Result<Vec<u8>, String> {
    let name = name_of(language);
    dunlin(folder, &["plugin", "new", &name, "--lang", language])?;
    let folder = folder.join(name);
    if let Some([tool, arguments @ ..]) = first {
        run(&folder, tool, &arguments)?;
    }
    dunlin(&folder, &["plugin", "build"])?;
    fs::read(folder.join("plugin.wasm")).map_err(|error| error.to_string())
}

fn name_of(language: &str) -> String {
    format!("words_{language}")
}

fn dunlin(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    run(folder, program!(), arguments)
}

/// Runs a program as its user does, but for Dunlin's own folders. The error is the last that it said.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null());
    for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
        command.env(variable, folder.join("target/own"));
    }
    let output = command.output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(said.lines().last().unwrap_or("it failed").to_owned()),
    }
}

/// One line of the table.
fn measured(language: &str, component: &[u8]) -> String {
    let runtime = Runtime::new().expect("a runtime");
    let size = component.len() / 1000;
    let name = name_of(language);
    let sandbox = Sandbox::new();
    let make = || sandbox.host_of(vec![plugin_of(&name, component.to_vec())], PATIENT);
    let call = call(&name, json!({ "file_path": "README.md" }));
    runtime.block_on(async {
        let mut times = [Vec::new(), Vec::new()];
        let start = Instant::now();
        let (tools, errors) = make().tools().await;
        let ready = start.elapsed();
        assert_eq!((tools.len(), errors.len()), (1, 0), "{errors:?}");
        for _ in 0..ROUNDS {
            // The compiled component is there, as at every start but the first.
            let host = make();
            let start = Instant::now();
            let first = play(&host, &call, Arc::new(DenyAll)).await;
            times[0].push(start.elapsed());
            assert!(first.is_ok_and(|outcome| outcome.result.is_ok()));
        }
        let host = make();
        for _ in 0..CALLS {
            let start = Instant::now();
            let outcome = play(&host, &call, Arc::new(DenyAll)).await;
            times[1].push(start.elapsed());
            assert!(outcome.is_ok_and(|outcome| outcome.result.is_ok()));
        }
        let [loaded, called] = times.map(|mut times| median(&mut times));
        format!(
            "{language:<10} {size:>10} kB  {}     {}     {}",
            millis(ready),
            millis(loaded),
            millis(called)
        )
    })
}

/// A home with these guests installed and all caches warm.
fn environment(guests: &[&str]) -> Environment {
    let environment = Environment::warm(program!());
    environment
        .configure("[agents.assistant]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"none\"\n");
    for name in guests {
        let file = environment.outside_file(&format!("{name}.wasm"), guest(name).bytes);
        let file = file.to_str().expect("a plain path");
        let output = environment.run(["plugin", "install", "--yes", file]);
        assert_eq!(output.status, Some(0), "{output}");
    }
    let warm = environment.run(["tools", "list"]);
    assert_eq!(warm.status, Some(0), "{warm}");
    environment
}

/// The time until the prompt is on the screen.
fn first_prompt(environment: &Environment) -> Option<Duration> {
    let command = environment.program().display().to_string();
    let stage = Stage::start(environment, &command, "› ");
    let spent = stage.seen_within(PATIENCE).map(|at| at - stage.start);
    stage.end();
    spent
}
