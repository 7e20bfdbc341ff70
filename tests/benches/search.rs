//! Indexes a tree and asks it questions: as `codebase_search` does, in its component, and by the same code compiled for
//! this machine. The ratios are what the sandbox costs: reading through the host, checking each file, keeping the index.
//!
//! `DUNLIN_BENCH_TREE` names a folder to take instead of the tree that is made up here, `DUNLIN_BENCH_MODEL` the file of an
//! embedding model. Others are asked the same in the same run: ripgrep, for all words of the question, where it is there, and
//! the commands that `DUNLIN_BENCH_PEERS` holds, `NAME=COMMAND` one a line. A shell runs each in the tree, with the
//! question in `$QUESTION`; the first time, which may be that of indexing, is told apart from the others.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_code_index::{FileMetadata, Index, MemoryStore, Passage, Query, Rerank};
use dunlin_host::ask::DenyAll;
use dunlin_host::{Host, HostOptions, NoProgress};
use dunlin_local::Encoder;
use dunlin_tests::sandbox::{PATIENT, Sandbox, built_in, call};
use serde_json::json;

/// Files of the tree that is made up.
const FILES: usize = 1_000;

/// Functions of a file.
const FUNCTIONS: usize = 100;

/// Questions of each kind, and times that a file is changed.
const ROUNDS: usize = 15;

/// What names are made of.
const WORDS: [&str; 24] = [
    "read", "file", "index", "page", "token", "session", "store", "upload", "parse", "query",
    "cache", "window", "image", "user", "mail", "invoice", "thread", "lock", "buffer", "socket",
    "error", "retry", "merge", "branch",
];

const QUESTION: &str = "How is the invoice of a user sent by mail?";

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() {
    let sandbox = Sandbox::new();
    let options = sandbox.options(PATIENT);
    let options = match variable("DUNLIN_BENCH_TREE") {
        Some(tree) => HostOptions {
            project: fs::canonicalize(tree).expect("the tree"),
            ..options
        },
        None => {
            make_tree(&options.project);
            options
        }
    };
    let tree = options.project.clone();
    let host = Host::new(options, vec![built_in("codebase_search")]).expect("a host");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let start = Instant::now();
    runtime.block_on(host.tools());
    println!(
        "compile codebase_search   {:>9.1} ms",
        millis(start.elapsed())
    );

    let ask = || {
        let call = call("codebase_search", json!({ "query": QUESTION }));
        let outcome = runtime.block_on(async {
            let plan = host.prepare(&call).await.expect("a plan");
            host.run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress))
                .await
        });
        outcome.result.expect("an answer").text
    };
    let mut files = Vec::new();
    walk(&tree, &tree, &mut files);
    let bytes: u64 = files.iter().map(|file| file.size).sum();
    let mut read = |path: &str| fs::read(tree.join(path)).ok();
    let mut store = MemoryStore::default();
    let mut index = Index::default();

    let start = Instant::now();
    index
        .update(&mut store, &files, &mut read, &mut |_| true)
        .expect("an index");
    let native = start.elapsed();
    let start = Instant::now();
    // A call reads 48 MB at most.
    let mut calls = 1;
    while ask().contains("the others are being read") {
        calls += 1;
    }
    let caged = start.elapsed();
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    println!(
        "index {} files, {:.1} MB: native {:.1} MB/s, in the component {:.1} MB/s (x {:.2}, {calls} calls)",
        files.len(),
        bytes as f64 / 1e6,
        rate(native),
        rate(caged),
        caged.as_secs_f64() / native.as_secs_f64()
    );

    let query = Query {
        text: QUESTION.to_owned(),
        ..Query::default()
    };
    let (mut native, mut caged) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut index = Index::open(&store).expect("the index");
        index
            .update(&mut store, &files, &mut read, &mut |_| true)
            .expect("the index");
        let answer = index
            .search(&mut store, &query, &mut read, None)
            .expect("an answer");
        native.push(start.elapsed());
        assert!(!answer.hits.is_empty());
        let start = Instant::now();
        let text = ask();
        caged.push(start.elapsed());
        assert!(text.starts_with("## "), "{text}");
    }
    let question = compare("a question", native, caged);
    if let Some(model) = variable("DUNLIN_BENCH_MODEL") {
        semantic(&mut store, &query, &mut read, Path::new(&model));
    }
    peers(&tree, question);

    if given_is_made_up(&tree) {
        let mut caged = Vec::new();
        for round in 0..ROUNDS {
            fs::write(tree.join("changed.rs"), text_of(round)).expect("a file");
            let start = Instant::now();
            ask();
            caged.push(start.elapsed());
        }
        println!(
            "a question after a change {:>9.1} ms",
            millis(median(caged))
        );
    }
}

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn compare(what: &str, native: Vec<Duration>, caged: Vec<Duration>) -> Duration {
    let (native, caged) = (median(native), median(caged));
    println!(
        "{what}: native, without looking for files {:.1} ms, in the component {:.1} ms (x {:.2})",
        millis(native),
        millis(caged),
        caged.as_secs_f64() / native.as_secs_f64()
    );
    caged
}

/// The same question with an embedding model: when nothing is known of the passages, and when their vectors are kept.
#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn semantic(
    store: &mut MemoryStore,
    query: &Query,
    read: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
    model: &Path,
) {
    let start = Instant::now();
    let encoder = Encoder::load_for_code(model).expect("a model");
    let loading = start.elapsed();
    let mut order = Order {
        encoder,
        kept: HashMap::new(),
    };
    let mut times = Vec::new();
    for _ in 0..3 {
        let start = Instant::now();
        let mut index = Index::open(store).expect("the index");
        index
            .search(store, query, read, Some(&mut order))
            .expect("an answer");
        times.push(millis(start.elapsed()));
    }
    println!(
        "with embeddings, without a limit of time: loading {:.1} ms, the first question {:.1} ms, once more {:.1} ms",
        millis(loading),
        times[0],
        times[2]
    );
}

/// A model without a sandbox around it.
struct Order {
    encoder: Encoder,
    kept: HashMap<String, Vec<f32>>,
}

impl Rerank for Order {
    fn scores(&mut self, question: &str, passages: &[Passage]) -> Option<Vec<Option<f32>>> {
        let gists: Vec<String> = passages.iter().map(Passage::gist).collect();
        let mut texts = vec![question.to_owned()];
        let fresh = gists.iter().filter(|gist| !self.kept.contains_key(*gist));
        texts.extend(fresh.cloned());
        let made = self.encoder.encode(&texts, 64, &|| false).ok()?;
        let question = made.first()?.clone();
        self.kept.extend(texts.into_iter().zip(made).skip(1));
        let near = gists.iter().map(|gist| {
            let vector = self.kept.get(gist)?;
            Some(vector.iter().zip(&question).map(|(a, b)| a * b).sum())
        });
        Some(near.collect())
    }
}

/// Asks others the same, and says how many times as long they take.
#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn peers(tree: &Path, question: Duration) {
    let words = QUESTION.trim_end_matches('?').split(' ');
    let words: Vec<String> = words.map(|word| format!("-e {word}")).collect();
    let ripgrep = format!(
        "rg --count --ignore-case --word-regexp {} . || test $? = 1",
        words.join(" ")
    );
    let given = variable("DUNLIN_BENCH_PEERS").unwrap_or_default();
    let given = given.to_string_lossy();
    let given = given.lines().filter_map(|line| line.split_once('='));
    for (name, command) in [("ripgrep", ripgrep.as_str())].into_iter().chain(given) {
        let run = || {
            let start = Instant::now();
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).current_dir(tree);
            shell.env("QUESTION", QUESTION).stdin(Stdio::null());
            let status = shell.stdout(Stdio::null()).stderr(Stdio::null()).status();
            status
                .is_ok_and(|status| status.success())
                .then(|| start.elapsed())
        };
        let Some(first) = run() else {
            println!("{name} is not there, or fails");
            continue;
        };
        let times: Vec<Duration> = (0..3).filter_map(|_| run()).collect();
        let time = median(times);
        println!(
            "{name}: the first time {:.1} ms, then {:.1} ms (x {:.1} of a question in the component)",
            millis(first),
            millis(time),
            time.as_secs_f64() / question.as_secs_f64()
        );
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "not the program: it only measures"
)]
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

fn given_is_made_up(tree: &Path) -> bool {
    tree.join("part-0/file-0.rs").exists()
}

fn make_tree(tree: &Path) {
    for number in 0..FILES {
        let folder = tree.join(format!("part-{}", number % 25));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(format!("file-{number}.rs")), text_of(number)).expect("a file");
    }
}

/// Functions that name one another, each with a comment.
fn text_of(number: usize) -> String {
    let mut text = String::new();
    let mut state = number as u64 + 1;
    let mut word = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 33) as usize % WORDS.len()]
    };
    for function in 0..FUNCTIONS {
        let (a, b, c, d) = (word(), word(), word(), word());
        text.push_str(&format!(
            "/// Does the {a} of a {b} before the {c} is {d}.\n\
             pub fn {a}_{b}_{function}({c}: &{d}Kind) -> Result<u64, Error> {{\n    \
                 let {d} = {c}.{b}_count().max({function});\n    \
                 if {d} > MAX_{b} {{\n        return Err(Error::{d}(\"the {c} has no {a}\"));\n    }}\n    \
                 Ok({d} + {number})\n}}\n\n"
        ));
    }
    text
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<FileMetadata>) {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if hidden || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, files);
        } else if let (Ok(meta), Ok(below)) = (path.metadata(), path.strip_prefix(root)) {
            files.push(FileMetadata {
                path: below.to_string_lossy().into_owned(),
                size: meta.len(),
                modified: 0,
            });
        }
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
