use dunlin_sdk::process::{CommandLine, End};
use dunlin_sdk::{FailureKind, Plan, Tool, parse_arguments};

use crate::excerpt::Excerpt;
use crate::plain::plain;
use crate::{MAX_OUTPUT_BYTES, RunTerminalCommand, report};

fn excerpt(bytes: &[u8]) -> Excerpt {
    let mut excerpt = Excerpt::new(MAX_OUTPUT_BYTES);
    excerpt.push(bytes);
    excerpt
}

#[test]
fn a_call_becomes_a_command() {
    let check = |arguments: &str, network| {
        let plan = RunTerminalCommand::prepare(&parse_arguments(arguments).unwrap());
        let command = CommandLine::new("cargo test").with_network(network);
        assert_eq!(plan, Ok(Plan::of_actions().command(command)));
    };
    check(r#"{"command":"cargo test"}"#, false);
    check(r#"{"command":"cargo test","network":null}"#, false);
    check(r#"{"command":"cargo test","network":true}"#, true);
    let empty = parse_arguments(r#"{"command":" "}"#).unwrap();
    let failure = RunTerminalCommand::prepare(&empty).unwrap_err();
    assert_eq!(failure.kind, FailureKind::InvalidArguments);
}

#[test]
fn reports_say_what_happened() {
    let check = |end, stdout: &str, stderr: &str, expected: &str| {
        let (stdout, stderr) = (excerpt(stdout.as_bytes()), excerpt(stderr.as_bytes()));
        assert_eq!(report(end, &stdout, &stderr), expected);
    };
    check(End::Exited(0), "", "", "(no output)\nexit status 0");
    check(
        End::Exited(0),
        "hi\n",
        "",
        "<stdout>\nhi\n</stdout>\nexit status 0",
    );
    check(
        End::Exited(3),
        "a",
        "b",
        "<stdout>\na\n</stdout>\n<stderr>\nb\n</stderr>\nexit status 3",
    );
    check(End::Killed(9), "", "", "(no output)\nkilled by SIGKILL");
    check(End::Killed(42), "", "", "(no output)\nkilled by signal 42");
    check(
        End::TimedOut,
        "",
        "",
        "(no output)\nstopped at the time limit: it had not ended",
    );
}

#[test]
fn long_output_keeps_both_ends() {
    let lines: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
    let whole = report(End::Exited(0), &excerpt(lines.as_bytes()), &excerpt(b""));
    assert!(whole.len() < MAX_OUTPUT_BYTES + 200, "{}", whole.len());
    assert!(whole.starts_with("<stdout>\nline 0\nline 1\n"));
    assert!(whole.ends_with("line 99999\n</stdout>\nexit status 0"));
    let cut = whole.lines().find(|line| line.starts_with('…')).unwrap();
    assert!(
        cut.starts_with("… 1,0") && cut.ends_with(" bytes left out …"),
        "{cut}"
    );
    assert!(
        whole
            .lines()
            .all(|line| line.starts_with(['l', '<', '…', 'e']))
    );
    // Each of the two has its half where both are long.
    let both = report(
        End::Exited(1),
        &excerpt(lines.as_bytes()),
        &excerpt(lines.as_bytes()),
    );
    assert!(both.len() < MAX_OUTPUT_BYTES + 300);
    assert_eq!(both.matches("line 0\n").count(), 2);
    assert_eq!(both.matches("line 99999\n").count(), 2);
}

#[test]
fn an_excerpt_is_the_same_however_it_comes() {
    let bytes: Vec<u8> = (0..5000_u32)
        .flat_map(|n| format!("{n} ä\n").into_bytes())
        .collect();
    for size in [1, 7, 1000, 64 * 1024] {
        for most in [0, 1, 10, 999, 5000, 20_000, 60_000] {
            let mut pieces = Excerpt::new(MAX_OUTPUT_BYTES);
            bytes.chunks(size).for_each(|chunk| pieces.push(chunk));
            let text = pieces.text(most);
            assert_eq!(text, excerpt(&bytes).text(most), "{size} {most}");
            assert!(!text.contains('\u{fffd}'), "{size} {most}");
            if bytes.len() <= most {
                assert_eq!(text.as_bytes(), bytes);
            } else {
                assert!(text.len() <= most + 100, "{size} {most}");
            }
        }
    }
    // A line without an end is cut between characters.
    let long = excerpt("ä".repeat(40_000).as_bytes());
    for most in 100..110 {
        let text = long.text(most);
        assert!(!text.contains('\u{fffd}'), "{text}");
    }
}

#[test]
fn output_becomes_plain_text() {
    for (bytes, expected) in [
        (&b"plain\n\ttext\n"[..], "plain\n\ttext\n"),
        (b"\x1b[1;31merror\x1b[0m: x\n", "error: x\n"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x07\n", "link\n"),
        (b"\x1b]unfinished\nnext\n", "unfinished\nnext\n"),
        (b"\x1b(Bx\x1b=y\x1b", "xy"),
        (b"10%\r50%\r100%\n", "100%\n"),
        (b"dos\r\nlines\r\r\n", "dos\nlines\n"),
        (b"end\r", "end"),
        (b"_\x08x\x08\x08\x08y\n", "y\n"),
        (b"a\0b\x07c\x7f\n", "abc\n"),
        (b"\xff\xfe!\n", "\u{fffd}\u{fffd}!\n"),
        ("ä€😀\n".as_bytes(), "ä€😀\n"),
        ("\u{9b}31mred\n".as_bytes(), "red\n"),
    ] {
        assert_eq!(
            plain(bytes),
            expected,
            "{:?}",
            String::from_utf8_lossy(bytes)
        );
    }
}
