//! Why a component ended, taken from what it printed: a panic of Rust and an exception of Python say it in the middle of other
//! lines, and their last line says nothing.

/// The first line of what Python prints of an exception.
const TRACEBACK: &str = "Traceback (most recent call last):";

/// What says why a component ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LastWords {
    pub(crate) text: String,
    /// Whether it says where.
    pub(crate) has_place: bool,
}

impl LastWords {
    /// A last line, as it is.
    fn line(lines: &[&str]) -> Option<LastWords> {
        lines.last().map(|line| LastWords {
            text: line.trim().to_owned(),
            has_place: false,
        })
    }

    fn at_place(text: &str, place: &str) -> LastWords {
        LastWords {
            text: format!("{text} ({place})"),
            has_place: true,
        }
    }
}

/// The last of what stands on the standard error that says why: an exception or a panic with its place, or the last line.
/// The lines are in order.
pub(super) fn reason(lines: &[&str]) -> Option<LastWords> {
    let lines = without_blank_end(lines);
    let Some(panic) = lines.iter().rposition(|line| is_panic(line)) else {
        return exception(lines).or_else(|| LastWords::line(lines));
    };
    let said = &lines[panic + 1..];
    let note = said.iter().position(|line| line.starts_with("note: "));
    // What was printed behind the panic is newer.
    if note.is_some_and(|note| note + 1 < said.len()) {
        return exception(said).or_else(|| LastWords::line(said));
    }
    let text = said[..note.unwrap_or(said.len())].join(" ");
    // What runs Python panics because of an exception, of which it only says that there was one.
    let why = exception(without_blank_end(&lines[..panic])).filter(|_| text.contains("Python"));
    why.or_else(|| {
        let (_, place) = lines[panic].split_once(" panicked at ")?;
        let place = place.trim_end().trim_end_matches(':');
        // The column helps nobody.
        let place = place.rsplit_once(':').map_or(place, |(place, _)| place);
        Some(LastWords::at_place(text.trim(), place))
    })
}

fn is_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains(" panicked at ")
}

fn without_blank_end<'a, 'b>(lines: &'a [&'b str]) -> &'a [&'b str] {
    let end = lines.iter().rposition(|line| !line.trim().is_empty());
    &lines[..end.map_or(0, |last| last + 1)]
}

/// The exception with which these lines end, and its place: `ValueError: text (app.py:48)`.
fn exception(lines: &[&str]) -> Option<LastWords> {
    let start = lines.iter().rposition(|line| line.trim() == TRACEBACK)?;
    let behind = &lines[start + 1..];
    let is_frame = |line: &&str| line.starts_with(' ');
    let frames = behind.iter().take_while(|line| is_frame(line)).count();
    let (frames, said) = behind.split_at(frames);
    // Its text may have several lines; what follows a blank one is something else.
    let is_last = !said.is_empty() && said.iter().all(|line| !line.trim().is_empty());
    let text = said.first().filter(|_| is_last)?.trim();
    let places: Vec<(&str, &str)> = frames.iter().filter_map(|line| place(line)).collect();
    // In the plugin's own source where it comes by there: componentize-py calls its folders /0, /1, …, the source first.
    let own = places.iter().rfind(|(path, _)| path.starts_with("/0/"));
    match own.or(places.last()) {
        Some((path, line)) => {
            let place = format!("{}:{line}", path.trim_start_matches("/0/"));
            Some(LastWords::at_place(text, &place))
        }
        None => LastWords::line(&[text]),
    }
}

/// Path and line of `  File "/0/app.py", line 48, in run`.
fn place(line: &str) -> Option<(&str, &str)> {
    let (path, rest) = line.trim_start().strip_prefix("File \"")?.split_once('"')?;
    let number = rest.strip_prefix(", line ")?;
    let end = number.find(|c: char| !c.is_ascii_digit());
    Some((path, &number[..end.unwrap_or(number.len())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_found_among_other_lines() {
        const PANIC: &str = "\nthread '<unnamed>' (1) panicked at runtime/src/lib.rs:1293:29:\nPython function threw an \
                             unexpected exception\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        const CAUGHT: &str = "Traceback (most recent call last):\n  File \"/0/app.py\", line 7, in run\nKeyError: 'a'\n";
        let python = |frames: &str| {
            format!("rows 2\nTraceback (most recent call last):\n{frames}ValueError: bad\n{PANIC}")
        };
        for (printed, said) in [
            ("".to_owned(), None),
            ("\n \n".to_owned(), None),
            ("cannot go on\n".to_owned(), Some("cannot go on")),
            (
                python("  File \"/0/app.py\", line 48, in run\n"),
                Some("ValueError: bad (app.py:48)"),
            ),
            // Through the library and a package: what its author can change is nearer.
            (
                python(
                    "  File \"/0/app.py\", line 48, in run\n    x = loads(y)\n        ^^^^^\n  File \"/0/pack/age.py\", line 3, in f\n  \
                     File \"/python/json/decoder.py\", line 355, in raw_decode\n",
                ),
                Some("ValueError: bad (pack/age.py:3)"),
            ),
            (
                python("  File \"/1/pack/age.py\", line 3, in f\n"),
                Some("ValueError: bad (/1/pack/age.py:3)"),
            ),
            (python(""), Some("ValueError: bad")),
            // The last of several counts, and one that was printed and caught does not.
            (
                format!(
                    "{CAUGHT}\nDuring handling of the above exception, another exception occurred:\n\n{}",
                    python("  File \"/0/app.py\", line 9, in run\n")
                ),
                Some("ValueError: bad (app.py:9)"),
            ),
            (format!("{CAUGHT}\ncannot go on\n"), Some("cannot go on")),
            (CAUGHT.to_owned(), Some("KeyError: 'a' (app.py:7)")),
            (
                CAUGHT.replace("'a'\n", "'a'\nwith a second line\n"),
                Some("KeyError: 'a' (app.py:7)"),
            ),
            (
                PANIC.replace(
                    "Python function threw an unexpected exception",
                    "index out of bounds",
                ),
                Some("index out of bounds (runtime/src/lib.rs:1293)"),
            ),
            (
                format!(
                    "{CAUGHT}going on\n{}",
                    PANIC.replace("Python function", "a thread")
                ),
                Some("a thread threw an unexpected exception (runtime/src/lib.rs:1293)"),
            ),
            (format!("{PANIC}cannot go on\n"), Some("cannot go on")),
        ] {
            let lines: Vec<&str> = printed.lines().collect();
            let found = reason(&lines);
            assert_eq!(found.map(|found| found.text).as_deref(), said, "{printed}");
        }
    }
}
