//! Lists and searches a tree of 5,000 files as the model does, in the components and through the host; grep does the same beside
//! them, for the same tree is in its reach.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_host::ask::DenyAll;
use dunlin_host::{Host, NoProgress};
use dunlin_tests::sandbox::{PATIENT, Sandbox, built_in, call};
use serde_json::{Value, json};

const FILES: usize = 5_000;

/// Files of a folder.
const FOLDER: usize = 50;

/// Lines of a file.
const LINES: usize = 150;

/// Calls of each kind.
const ROUNDS: usize = 15;

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() {
    let sandbox = Sandbox::new();
    let bytes = make_tree(&sandbox.project());
    println!("{FILES} files, {:.1} MB", bytes as f64 / 1e6);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    for tool in ["list_files", "search_text"] {
        let host = Host::new(sandbox.options(PATIENT), vec![built_in(tool)]).expect("a host");
        let start = Instant::now();
        runtime.block_on(host.tools());
        println!("{tool}: compiled in {:.0} ms", millis(start.elapsed()));
        let time = |what: &str, arguments: Value, expected: &str| {
            let mut times: Vec<Duration> = (0..ROUNDS)
                .map(|_| {
                    let call = call(tool, arguments.clone());
                    let start = Instant::now();
                    let outcome = runtime.block_on(async {
                        let plan = host.prepare(&call).await.expect("a plan");
                        host.run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress))
                            .await
                    });
                    let time = start.elapsed();
                    let text = outcome.result.expect("an answer").text;
                    assert!(text.starts_with(expected), "{text:.200}");
                    time
                })
                .collect();
            println!("  {what:<40} {:>7.1} ms", millis(median(&mut times)));
        };
        match tool {
            "list_files" => {
                time("all", json!({}), "5001 files");
                time("one folder", json!({ "path": "part-7" }), "50 files");
                let globs = json!({ "globs": ["*7.rs", "!part-1*"] });
                time("globs", globs, "445 matching files");
            }
            _ => {
                let rare = json!({ "pattern": "needle_number_4711" });
                time(
                    "a text that is there once",
                    rare,
                    "1 matching line in 1 file",
                );
                let pattern = json!({ "pattern": r"fn \w+_77\w*\(" });
                time("a regular expression", pattern, "");
                let all = json!({ "pattern": "return", "show": "counts" });
                time("a word in each file", all, "");
                let globs = json!({ "pattern": "needle", "globs": ["part-7/**"] });
                time("one folder by globs", globs, "50 matching lines");
            }
        }
    }
    let mut times: Vec<Duration> = (0..5).map(|_| grep(&sandbox.project())).collect();
    println!(
        "grep -rn, the text that is there once {:>12.1} ms",
        millis(median(&mut times))
    );
}

fn grep(tree: &Path) -> Duration {
    let start = Instant::now();
    let mut grep = Command::new("grep");
    grep.args(["-rn", "needle_number_4711", "."])
        .current_dir(tree);
    let status = grep.stdout(Stdio::null()).status().expect("grep");
    assert!(status.success());
    start.elapsed()
}

/// Returns the bytes of its files.
fn make_tree(tree: &Path) -> usize {
    let mut bytes = 0;
    for number in 0..FILES {
        let folder = tree.join(format!("part-{}", number / FOLDER));
        fs::create_dir_all(&folder).expect("a folder");
        let mut text = format!("// needle_number_{number}\n");
        for line in 1..LINES {
            text.push_str(&match line % 5 {
                0 => format!("pub fn work_{number}_{line}(input: &str) -> usize {{\n"),
                1 => "    let words = input.split_whitespace().count();\n".to_owned(),
                2 => "    if words == 0 {\n".to_owned(),
                3 => "        return 0;\n".to_owned(),
                _ => "    }\n".to_owned(),
            });
        }
        bytes += text.len();
        fs::write(folder.join(format!("file-{number}.rs")), text).expect("a file");
    }
    bytes
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
