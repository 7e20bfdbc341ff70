//! What an app costs: until its program runs, for each call, and in memory.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_host::app::{App, AppOptions, AppPage, LogLevel};
use dunlin_host::ask::DenyAll;
use dunlin_host::{Host, HostOptions, Limits, Plugin};

const ROUNDS: usize = 2_000;

/// Apps that are open at once.
const APPS: u32 = 10;

const PROGRAM: &str = "dunlin.handle('nothing', () => null);";

struct NoPage;

impl AppPage for NoPage {
    fn emit(&self, _event: &str, _payload: &str) {}

    fn logged(&self, _level: LogLevel, _text: &str) {}
}

fn host(root: &Path) -> Host {
    let embedded = dunlin_plugins::app_engine::ALL.first().expect("the engine");
    let options = HostOptions {
        project: root.to_owned(),
        is_project: true,
        home: None,
        search_path: Vec::new(),
        permissions_file: root.join("config/tool.permissions.json"),
        audit_file: root.join("data/audit.jsonl"),
        log_file: root.join("data/plugins.jsonl"),
        cache_dir: root.join("cache"),
        undo_dir: root.join("undo"),
        stores_dir: root.join("stores"),
        protected: Vec::new(),
        session: "bench".into(),
        limits: Limits::standard(),
        commands: dunlin_host::CommandOptions::none(),
        web: dunlin_host::WebOptions::system("bench"),
        mcp: dunlin_host::mcp::McpOptions::none(),
        syntax: None,
        app_engine: Some(Plugin {
            name: embedded.name.into(),
            bytes: embedded.bytes.into(),
            digest: embedded.digest.into(),
            built_in: true,
            origin: None,
            description: None,
        }),
        embedder: None,
    };
    Host::new(options, Vec::new()).expect("a host")
}

fn open(host: &Host, id: u32) -> App {
    host.open_app(AppOptions {
        name: id.to_string(),
        id: id.to_string(),
        source: PROGRAM.to_owned(),
        version: String::new(),
        page: Arc::new(NoPage),
        ask: Arc::new(DenyAll),
    })
}

/// Memory of this process that is resident, in KiB.
fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|it| it.parse().ok()).expect("a number")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let started = async || {
            let app = open(&host(folder.path()), 0);
            let begun = Instant::now();
            app.start().await.expect("it starts");
            begun.elapsed()
        };
        println!("start, compiled first     {:>9.1?}", started().await);
        let mut times = Vec::new();
        for _ in 0..20 {
            times.push(started().await);
        }
        println!("start, from the cache     {:>9.1?}", median(times));

        let host = host(folder.path());
        let app = open(&host, 0);
        app.start().await.expect("it starts");
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            app.invoke("nothing", "null").await.expect("a value");
            times.push(begun.elapsed());
        }
        println!("a call of a handler       {:>9.1?}", median(times));

        let before = resident_kib();
        let mut times = Vec::new();
        let mut apps = Vec::new();
        for id in 1..=APPS {
            let app = open(&host, id);
            let begun = Instant::now();
            app.start().await.expect("it starts");
            times.push(begun.elapsed());
            apps.push(app);
        }
        println!("start of one more         {:>9.1?}", median(times));
        let each = (resident_kib() - before) / APPS as usize;
        println!("memory of one more        {each:>5} KiB");
    });
}
