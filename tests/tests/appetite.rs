//! What hostile guests use up: memory, open files, room on the disk. Measured on the whole process, so
//! these tests have a process of their own and take turns in it.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use dunlin_host::NoProgress;
use dunlin_host::ask::DenyAll;
use dunlin_host::{Host, Limits};
use dunlin_tests::Changes;
use dunlin_tests::sandbox::{PATIENT, Sandbox, assert_alive, call, unplanned};
use serde_json::json;
use tokio::sync::Mutex;

/// One measures at a time.
static TURN: Mutex<()> = Mutex::const_new(());

/// The memory limit of a call, the copies that the host makes of what it is handed, the compiler, and
/// as much again.
const MAX_GROWTH_KIB: u64 = 256 * 1024;

/// Log and audit log of one call: 1,000 messages of 4 KiB, and as much again.
const MAX_DISK_BYTES: u64 = 8 * 1024 * 1024;

/// The most memory that this process ever had, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("its peak");
    let number: String = line.chars().filter(char::is_ascii_digit).collect();
    number.parse().expect("a number")
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd")
        .expect("the open files")
        .count()
}

async fn run(host: &Host, guest: &str) {
    let arguments = match guest {
        "many_handles" => json!({ "path": "README.md" }),
        "follow_symlink" => json!({ "path": "README.md", "times": 100 }),
        _ => json!({}),
    };
    let call = call(guest, arguments);
    // How they end is tested elsewhere; here it matters what they take.
    if host.prepare(&call).await.is_ok() {
        host.run(&call, &unplanned(), Arc::new(DenyAll), Arc::new(NoProgress))
            .await;
    }
}

#[tokio::test]
async fn memory_and_disk_stay_bounded() {
    let _turn = TURN.lock().await;
    let before = peak_kib();
    for guest in [
        "allocate_forever",
        "return_100_mb",
        "log_forever",
        "huge_error",
        "huge_description",
        "many_tools",
        "many_needs",
        "deep_schema",
        "deep_recursion",
        "host_call_flood",
        "nag",
        "many_handles",
    ] {
        let sandbox = Sandbox::new();
        let limits = Limits {
            run_time: Duration::from_secs(2),
            ..PATIENT
        };
        let host = sandbox.host(&[guest], limits);
        run(&host, guest).await;
        let growth = peak_kib() - before;
        assert!(growth < MAX_GROWTH_KIB, "{growth} KiB more after {guest}");
        for file in [sandbox.log_file(), sandbox.audit_file()] {
            let bytes = fs::metadata(&file).map_or(0, |meta| meta.len());
            assert!(
                bytes < MAX_DISK_BYTES,
                "{guest}: {} has {bytes} bytes",
                file.display()
            );
        }
        assert_alive(&host).await;
    }
}

/// What a call writes is bounded together with all that it goes on to do in the background.
#[tokio::test]
async fn logs_stay_bounded_in_the_background() {
    let _turn = TURN.lock().await;
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["behind"], PATIENT);
    let go = async |log: &str| {
        let call = call("behind", json!({ "log": log }));
        let nobody = Arc::new(DenyAll);
        host.run(&call, &unplanned(), nobody, Arc::new(NoProgress))
            .await
            .result
            .expect("a run");
    };
    let mut logs = Changes::of(&sandbox.root().join("data"));
    go("audit").await;
    logs.until(|| {
        let lines = sandbox.log();
        lines.iter().any(|line| {
            line["message"]
                .as_str()
                .is_some_and(|it| it.contains("refused in run"))
        })
    })
    .await;
    let bytes = fs::metadata(sandbox.audit_file())
        .expect("the audit log")
        .len();
    assert!(bytes < 48 * 1024 * 1024, "{bytes}");

    go("plugins").await;
    let old = sandbox.root().join("data/plugins.jsonl.old");
    logs.until(|| old.exists()).await;
    for file in [old, sandbox.log_file()] {
        let bytes = fs::metadata(&file).map_or(0, |meta| meta.len());
        assert!(bytes <= 32 * 1024 * 1024, "{}: {bytes}", file.display());
    }
}

#[tokio::test]
async fn the_log_says_what_it_left_out() {
    let _turn = TURN.lock().await;
    let sandbox = Sandbox::new();
    let limits = Limits {
        run_time: Duration::from_millis(300),
        ..PATIENT
    };
    let host = sandbox.host(&["log_forever"], limits);
    run(&host, "log_forever").await;
    let mut lines = sandbox.log();
    let broken = lines.pop().expect("a line of the log");
    assert_eq!(broken["level"], "error");
    let last = lines.pop().expect("a line of the log");
    assert_eq!(lines.len(), 1000);
    for line in &lines {
        assert!(
            line["message"]
                .as_str()
                .is_some_and(|message| message.len() <= 4096)
        );
    }
    let message = last["message"].as_str().expect("a message");
    assert!(
        message.ends_with(" more messages were dropped"),
        "{message}"
    );
}

/// Open files go back to what they were: after a call, after a fault, after an interruption.
#[tokio::test]
async fn open_files_are_closed() {
    let _turn = TURN.lock().await;
    let sandbox = Sandbox::new();
    let guests = ["many_handles", "trap", "follow_symlink", "host_call_flood"];
    let limits = Limits {
        run_time: Duration::from_millis(300),
        ..PATIENT
    };
    let host = sandbox.host(&guests, limits);
    for guest in guests {
        run(&host, guest).await;
    }
    assert_alive(&host).await;
    let before = open_files();
    for guest in guests {
        for _ in 0..3 {
            run(&host, guest).await;
        }
    }
    let call = call("many_handles", json!({ "path": "README.md" }));
    for polls in 1..20 {
        let plan = unplanned();
        let run = host.run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress));
        let mut run = std::pin::pin!(run);
        let mut left = polls;
        std::future::poll_fn(|context| {
            left -= 1;
            if left == 0 {
                return std::task::Poll::Ready(());
            }
            run.as_mut().poll(context).map(|_| ())
        })
        .await;
    }
    assert_alive(&host).await;
    assert_eq!(open_files(), before);
}
