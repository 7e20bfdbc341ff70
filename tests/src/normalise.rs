//! Takes out of an output what differs from run to run.

use std::path::Path;

/// Names the folders of the test, ports on loopback and measured times: `[PROJECT]`, `[HOME]`,
/// `[ROOT]`, `127.0.0.1:[PORT]`, `[TIME]`.
///
/// A time is a number with `ms` or `µs`, or a fraction of seconds; whole seconds are limits, which
/// belong to the message.
pub(crate) fn normalise(text: &str, root: &Path) -> String {
    let root = root.display().to_string();
    let text = text
        .replace(&format!("{root}/project"), "[PROJECT]")
        .replace(&format!("{root}/home"), "[HOME]")
        .replace(&root, "[ROOT]");
    times(&ports(&text))
}

fn ports(text: &str) -> String {
    const LOOPBACK: &str = "127.0.0.1:";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(LOOPBACK) {
        let (before, port) = rest.split_at(at + LOOPBACK.len());
        out.push_str(before);
        rest = port.trim_start_matches(|c: char| c.is_ascii_digit());
        out.push_str(if rest.len() < port.len() {
            "[PORT]"
        } else {
            ""
        });
    }
    out + rest
}

fn times(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let behind = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let digits = &number[..number.len() - behind.len()];
        let in_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '.');
        out.push_str(before);
        match (in_word, unit(digits, behind)) {
            (false, Some(after)) => {
                out.push_str("[TIME]");
                rest = after;
            }
            _ => {
                out.push_str(digits);
                rest = behind;
            }
        }
    }
    out + rest
}

/// What follows the unit, if `digits` with what is `behind` it is a measured time.
fn unit<'a>(digits: &str, behind: &'a str) -> Option<&'a str> {
    let behind = behind.strip_prefix(' ').unwrap_or(behind);
    let seconds = if digits.contains('.') {
        behind.strip_prefix('s')
    } else {
        None
    };
    let after = behind
        .strip_prefix("ms")
        .or_else(|| behind.strip_prefix("µs"))
        .or(seconds)?;
    (!after.starts_with(char::is_alphanumeric)).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_from_run_to_run() {
        let check = |text: &str, expected: &str| {
            assert_eq!(normalise(text, Path::new("/tmp/x")), expected);
        };
        check(
            "✓ read_file /tmp/x/project/a.rs  12 ms",
            "✓ read_file [PROJECT]/a.rs  [TIME]",
        );
        check(
            "/tmp/x/home/config /tmp/x/outside",
            "[HOME]/config [ROOT]/outside",
        );
        check("http://127.0.0.1:4711/v1", "http://127.0.0.1:[PORT]/v1");
        check("1.25 s, 300µs, 4ms.", "[TIME], [TIME], [TIME].");
        check(
            "stopped after 30 s, line 12, 4 msgs, v1.2ms",
            "stopped after 30 s, line 12, 4 msgs, v1.2ms",
        );
    }
}
