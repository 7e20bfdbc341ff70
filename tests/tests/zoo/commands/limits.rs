//! Commands that take too much: time, processes, room, output; and what outlives them.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_host::{NoProgress, Progress};
use dunlin_tests::sandbox::{assert_alive, call};
use dunlin_tests::{DEADLINE, Watched};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde_json::json;

use super::{BOTH, Yard, yes};

impl Yard {
    /// Waits for the end of everything that runs of the commands of this host.
    pub(super) fn wait_until_nothing_is_left(&self) {
        let limit = Timespec {
            tv_sec: 30,
            tv_nsec: 0,
        };
        loop {
            let left = self.left();
            let Some(first) = left.first() else { return };
            let pid = number(first);
            // Already gone is what is waited for.
            let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
                continue;
            };
            let mut fds = [PollFd::new(&process, PollFlags::IN)];
            let ended = poll(&mut fds, Some(&limit)).expect("a process to wait for");
            assert_eq!(ended, 1, "still there: {left:?}");
        }
    }
}

/// The process of a line of [`Yard::left`].
fn number(left: &str) -> Pid {
    let number = left
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    number.and_then(Pid::from_raw).expect("a number first")
}

#[tokio::test]
async fn what_outlives_its_shell_ends_with_it() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let lines = [
            "sleep 300 & echo started",
            "setsid sleep 300 & echo started",
            "(setsid sh -c '(sleep 300 &) &' &); echo started",
            "nohup sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' >/dev/null 2>&1 & echo started",
        ];
        for line in lines {
            let begin = Instant::now();
            let ran = yard.run(line).await;
            assert!(ran.text.contains("started"), "{}", ran.text);
            assert!(begin.elapsed() < DEADLINE, "{line}");
        }
        assert_alive(&yard.host).await;
    }
}

#[tokio::test]
async fn time_ends_what_does_not() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, options| {
            options.time_limit = Duration::from_millis(500);
        });
        let lines = [
            "sleep 300",
            "trap '' TERM; echo begun; while :; do sleep 1; done",
            "kill -STOP $$",
        ];
        // The superuser's cannot be bounded without namespaces, and would stop the machine of the tests.
        let sandbox = yard.host.command_sandbox().await.unwrap();
        let bombs = ["f() { f | f & }; f; sleep 300", "f() { f & f & wait; }; f"];
        let bombs = bombs.into_iter().filter(|_| !sandbox.unbounded);
        for line in lines.into_iter().chain(bombs) {
            let begin = Instant::now();
            let ran = yard.run(line).await;
            let took = begin.elapsed();
            let stopped = ran
                .text
                .ends_with("stopped at the time limit: it had not ended");
            // A bomb without namespaces is ended when it has too many processes.
            let killed = !has_namespaces && ran.text.ends_with("killed by SIGKILL");
            // Its first shell may fail as the others do.
            let failed = line.starts_with("f()") && ran.text.contains("fork");
            assert!(stopped || killed || failed, "{line}: {}", ran.text);
            assert!(took < DEADLINE, "{line}: {took:?}");
        }
        assert_alive(&yard.host).await;
    }
}

/// Remembers how much output was shown.
#[derive(Default)]
struct Watcher(Watched<usize>);

impl Progress for Watcher {
    fn progress(&self, _: &str, _: &str, _: Option<u8>) {}

    fn output(&self, _: &str, bytes: &[u8]) {
        self.0.update(|shown| *shown += bytes.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_call_ends_its_command() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let line = "(setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300' &); echo begun; sleep 300";
        let call = call("run_terminal_command", json!({ "command": line }));
        let plan = yard.host.prepare(&call).await.unwrap();
        let yes = dunlin_host::ask::Answer {
            allow: true,
            scope: dunlin_host::ask::Scope::Once,
        };
        yard.host.answer(&call, &plan, yes).await.unwrap();
        let watcher = Arc::new(Watcher::default());
        {
            let run = yard.host.run(&call, &plan, super::yes(), watcher.clone());
            let begun = tokio::task::spawn_blocking({
                let watcher = Arc::clone(&watcher);
                move || watcher.0.wait(DEADLINE, |shown| (*shown > 0).then_some(()))
            });
            tokio::select! {
                outcome = run => panic!("ended: {outcome:?}"),
                begun = begun => begun.unwrap().expect("output"),
            }
        }
        let begin = Instant::now();
        yard.wait_until_nothing_is_left();
        let took = begin.elapsed();
        println!("namespaces {has_namespaces}: everything is gone after {took:?}");
        assert!(took < DEADLINE, "{took:?}");
        assert_alive(&yard.host).await;
    }
}

/// Whoever kills the supervisor kills the command.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_supervisor_takes_its_command_along() {
    let yard = Yard::new();
    let arguments = json!({ "command": "trap '' TERM; sleep 300 & sleep 300" });
    let run = yard.call("run_terminal_command", arguments, yes());
    let kill = async {
        loop {
            // The shell, process 1 of its PID namespace, and the supervisor.
            if let Some(shell) = yard.left().first().map(|left| number(left)) {
                let supervisor = parent(parent(shell));
                rustix::process::kill_process(supervisor, Signal::KILL).expect("a supervisor");
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let (ran, ()) = tokio::join!(run, kill);
    let failed = ran.unwrap_err().to_string();
    assert!(
        failed.contains("was killed, and the command with it"),
        "{failed}"
    );
    assert!(
        failed.contains("were not checked after this command"),
        "{failed}"
    );
    yard.wait_until_nothing_is_left();
    assert_alive(&yard.host).await;
}

fn parent(pid: Pid) -> Pid {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    let status = status.expect("a process that waits");
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:\t"));
    let parent = parent.and_then(|number| number.parse().ok());
    parent.and_then(Pid::from_raw).expect("a parent")
}

#[tokio::test]
async fn a_gigabyte_of_output_is_a_page() {
    let yard = Yard::new();
    let begin = Instant::now();
    let ran = yard.run("head -c 1000000000 /dev/zero | tr '\\0' x").await;
    println!("a gigabyte of output: {:?}", begin.elapsed());
    assert!(ran.text.len() < 40_000, "{}", ran.text.len());
    assert!(
        ran.text.contains("… 999,967,232 bytes left out …"),
        "{}",
        &ran.text[..100]
    );
    assert!(ran.text.ends_with("exit status 0"));
    assert_alive(&yard.host).await;
}

#[tokio::test]
async fn the_temporary_folder_has_an_end() {
    let yard = Yard::new();
    let ran = yard
        .run("head -c 3000000000 /dev/zero > $TMPDIR/full; head -c 3000000000 /dev/zero > /dev/shm/full; \
            i=0; while [ $i -lt 40 ]; do mkdir -p $TMPDIR/$(printf '%0100d' $i)/x; i=$((i+1)); done; ls $TMPDIR | wc -l")
        .await;
    assert_eq!(ran.text.matches("No space left").count(), 2, "{}", ran.text);
    let temporary = yard.sandbox.project().parent().unwrap().join("tmp");
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0);
}

/// A command has its own time: the call's stands meanwhile, or it would end after the second it has here.
#[tokio::test]
async fn the_clock_of_the_call_stands() {
    let yard = Yard::new();
    let ran = yard.run("sleep 1.3; echo done").await;
    assert!(ran.text.contains("done"), "{}", ran.text);
    let call = call("run_terminal_command", json!({ "command": "sleep 1.3" }));
    let plan = yard.host.prepare(&call).await.unwrap();
    let outcome = yard
        .host
        .run(&call, &plan, yes(), Arc::new(NoProgress))
        .await;
    assert!(outcome.result.is_ok(), "{outcome:?}");
}
