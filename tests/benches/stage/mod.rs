//! What the benchmarks share: contenders in a pseudo-terminal, and how figures are put side by side.

use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use dunlin_tests::Environment;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// What programs ask a terminal, and what a usual one answers: where its cursor is, and what it can do.
/// Some wait for the answer before they show anything.
const QUESTIONS: [(&[u8], &[u8]); 2] = [(b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62;c")];

/// The peers that a variable of the environment names, one a line, their parts separated by `|`.
///
/// # Panics
///
/// When a line has another number of parts.
pub fn peers<const PARTS: usize>(variable: &str) -> Vec<[String; PARTS]> {
    #[expect(clippy::disallowed_methods, reason = "a benchmark, not the program")]
    let peers = std::env::var(variable).unwrap_or_default();
    let lines = peers.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let parts: Vec<String> = line.split('|').map(str::to_owned).collect();
            let parts = <[String; PARTS]>::try_from(parts);
            parts.unwrap_or_else(|_| panic!("{variable}: not {PARTS} parts: {line}"))
        })
        .collect()
}

/// A shell command that replaces the shell.
pub fn shell(command: &str) -> [String; 2] {
    ["-c".to_owned(), format!("exec {command}")]
}

/// A program in a pseudo-terminal.
pub struct Stage {
    /// When it was started.
    pub start: Instant,
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
    seen: mpsc::Receiver<Instant>,
}

impl Stage {
    /// Starts a shell command and watches its output for `wanted`.
    ///
    /// # Panics
    ///
    /// When the machine gives no pseudo-terminal.
    pub fn start(environment: &Environment, command: &str, wanted: &str) -> Stage {
        let size = PtySize {
            rows: 40,
            cols: 100,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system()
            .openpty(size)
            .expect("a pseudo-terminal");
        let mut builder = CommandBuilder::new("/bin/sh");
        builder.args(shell(command));
        builder.cwd(environment.project());
        builder.env_clear();
        for (name, value) in environment.variables() {
            builder.env(name, value);
        }
        let mut output = pair.master.try_clone_reader().expect("its output");
        let mut keyboard = pair.master.take_writer().expect("its keyboard");
        let start = Instant::now();
        let child = pair.slave.spawn_command(builder).expect("a shell");
        drop(pair.slave);
        let (sender, seen) = mpsc::channel();
        let wanted = wanted.as_bytes().to_owned();
        // Ends when the last process closes the terminal; nobody waits for it, since one that was left behind
        // must not hold the benchmark up.
        std::thread::spawn(move || {
            let mut found = false;
            let mut tail: Vec<u8> = Vec::new();
            let mut buffer = [0; 64 * 1024];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                let at = Instant::now();
                // What was looked at already stays only as far as something may begin in it.
                let begun = tail.len();
                tail.extend_from_slice(&buffer[..count]);
                for (question, answer) in QUESTIONS {
                    for _ in 0..fresh(&tail, begun, question) {
                        let _ = keyboard.write_all(answer);
                    }
                }
                if !found && fresh(&tail, begun, &wanted) > 0 {
                    found = true;
                    let _ = sender.send(at);
                }
                let keep = tail.len().saturating_sub(64);
                tail.drain(..keep);
            }
        });
        Stage {
            start,
            child,
            _master: pair.master,
            seen,
        }
    }

    /// When what is wanted was on the screen.
    pub fn seen_within(&self, patience: Duration) -> Option<Instant> {
        self.seen.recv_timeout(patience).ok()
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.process_id().unwrap_or_default()
    }

    /// Ends it, if it has not ended by itself.
    pub fn end(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How many times `part` ends in what came after the first `begun` bytes.
fn fresh(text: &[u8], begun: usize, part: &[u8]) -> usize {
    let from = begun.saturating_sub(part.len().saturating_sub(1));
    text[from..]
        .windows(part.len())
        .filter(|window| *window == part)
        .count()
}

/// What a process and those it started have used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Of the processor, in ticks of the kernel's clock: a hundredth of a second.
    pub cpu_ticks: u64,
    /// The most memory that was resident at once, in KiB.
    pub peak_kib: u64,
}

/// Watches a process until it ends, and says what it and those it started have used. `None`: it did not
/// end in time.
pub fn watch(stage: &Stage, patience: Duration) -> Option<Used> {
    /// How often is looked, in nanoseconds. What happens after the last look is missed.
    const PAUSE: i64 = 5_000_000;
    let pause = Timespec {
        tv_sec: 0,
        tv_nsec: PAUSE,
    };
    let process = Pid::from_raw(i32::try_from(stage.id()).ok()?)?;
    let process = pidfd_open(process, PidfdFlags::empty()).ok()?;
    let mut used = Used::default();
    while stage.start.elapsed() < patience {
        let mut now = Used::default();
        if !add(stage.id(), &mut now) {
            return Some(used);
        }
        // Those that ended are in the count of whoever waited for them, so the sum never falls by much.
        used.cpu_ticks = used.cpu_ticks.max(now.cpu_ticks);
        used.peak_kib = used.peak_kib.max(now.peak_kib);
        // Its end is noticed when it comes, not at the next look.
        let mut ended = [PollFd::new(&process, PollFlags::IN)];
        let _ = poll(&mut ended, Some(&pause));
    }
    None
}

/// Adds what a process and its children have used. `false`: it has ended.
fn add(process: u32, used: &mut Used) -> bool {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}"));
    let Ok(stat) = read("stat") else { return false };
    // Behind the name, which may hold anything: state, then numbers.
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    used.cpu_ticks += (11..15).filter_map(number).sum::<u64>();
    used.peak_kib += resident_kib(process);
    let children = read(&format!("task/{process}/children")).unwrap_or_default();
    for child in children.split_whitespace().filter_map(|id| id.parse().ok()) {
        add(child, used);
    }
    fields.first() != Some(&"Z")
}

/// What of a process is resident, in KiB.
pub fn resident_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

/// The middle one.
pub fn median<T: Copy + Ord + Default>(values: &mut [T]) -> T {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// For a table.
pub fn millis(duration: Duration) -> String {
    if duration.is_zero() {
        return "       –   ".to_owned();
    }
    format!("{:>8.1} ms", duration.as_secs_f64() * 1000.0)
}

/// How many times as long.
pub fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(f64::EPSILON)
}
