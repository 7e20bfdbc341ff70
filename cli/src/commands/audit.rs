//! `dunlin audit`: what tools were allowed, what they did, and what was refused.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dunlin_host::display::escape;
use dunlin_host::json;
use serde::Deserialize;

use crate::args::AuditArgs;
use crate::config::file::open_regular;
use crate::error::{CliError, Exit};
use crate::ui::Ui;
use crate::ui::calls::elapsed;
use crate::ui::style::{Label, Styles};
use crate::workshop::Workshop;

/// Longest line that is looked at, in bytes: two paths and an error are a tenth of it.
const MAX_LINE_BYTES: u64 = 256 * 1024;

/// How often a followed log is looked at. A person notices no less.
const FOLLOW_PERIOD: Duration = Duration::from_millis(250);

/// The log cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
struct CannotRead {
    path: PathBuf,
    source: io::Error,
}

/// One line of the log, as far as it is shown.
#[derive(Debug, Deserialize)]
struct Entry {
    time: String,
    session: String,
    tool: String,
    event: String,
    target: Option<String>,
    operation: Option<String>,
    rule: Option<String>,
    times: Option<u64>,
    bytes: Option<u64>,
    duration_us: Option<u64>,
    error: Option<String>,
}

/// Prints the newest lines that fit, and with `--follow` those that come.
pub fn run(workshop: &Workshop, args: &AuditArgs) -> Result<Exit, CliError> {
    let ui = &workshop.ui;
    let path = workshop.settings.folders.audit_file();
    let failed = |source| {
        CliError::failed(CannotRead {
            path: path.clone(),
            source,
        })
    };
    let mut log = match Log::open(&path) {
        Ok(log) => Some(log),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let mut newest = VecDeque::new();
    if let Some(log) = &mut log {
        while let Some(line) = log.next().map_err(failed)? {
            if let Some(text) = shown(&line, args, ui.styles()) {
                newest.push_back(text);
                if args.lines > 0 && newest.len() > args.lines {
                    newest.pop_front();
                }
            }
        }
    }
    if newest.is_empty() && !args.follow {
        ui.status("Nothing fits; dunlin audit --help shows the filters.");
    }
    for text in newest {
        ui.data(&text);
    }
    if args.follow {
        follow(ui, &path, log, args).map_err(failed)?;
    }
    Ok(Exit::Done)
}

/// Prints what comes until nobody reads it any more; Ctrl-C ends the program.
fn follow(ui: &Ui, path: &Path, mut log: Option<Log>, args: &AuditArgs) -> io::Result<()> {
    loop {
        match &mut log {
            Some(log) => {
                while let Some(line) = log.next()? {
                    if let Some(text) = shown(&line, args, ui.styles()) {
                        ui.data(&text);
                    }
                }
            }
            None => log = Log::open(path).ok(),
        }
        ui.check()?;
        std::thread::sleep(FOLLOW_PERIOD);
    }
}

/// The log, read line by line in constant memory.
struct Log {
    reader: BufReader<File>,
    line: Vec<u8>,
}

impl Log {
    fn open(path: &Path) -> io::Result<Log> {
        let file = open_regular(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        Ok(Log {
            reader: BufReader::new(file),
            line: Vec::new(),
        })
    }

    /// The next whole line. One that is still being written comes with a later call.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let room = MAX_LINE_BYTES.saturating_sub(self.line.len() as u64).max(1);
            let read = (&mut self.reader)
                .take(room)
                .read_until(b'\n', &mut self.line)?;
            if self.line.ends_with(b"\n") {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
            if read == 0 {
                return Ok(None);
            }
            if self.line.len() as u64 >= MAX_LINE_BYTES {
                // No line of ours; what follows belongs to it and is no line either.
                self.line.clear();
            }
        }
    }
}

/// The text for a line of the log; `None` when it does not fit, or is none of ours.
fn shown(line: &[u8], args: &AuditArgs, styles: Styles) -> Option<String> {
    let entry: Entry = serde_json::from_slice(line).ok()?;
    let fits = args.tool.as_ref().is_none_or(|tool| *tool == entry.tool)
        && args
            .session
            .as_ref()
            .is_none_or(|session| entry.session.starts_with(session.as_str()))
        && args.target.as_ref().is_none_or(|part| {
            let target = entry.target.as_deref().unwrap_or_default();
            target.contains(part.as_str())
        })
        && (!args.denied || entry.event == "denied")
        // The same form and zone, so that earlier times are smaller texts.
        && args.since.as_ref().is_none_or(|since| entry.time >= *since);
    if !fits {
        return None;
    }
    if args.json {
        let line = String::from_utf8_lossy(line);
        // Earlier versions, or somebody else, may have written it.
        return Some(json::harmless(line.trim_end()).into_owned());
    }
    Some(entry.render(styles))
}

impl Entry {
    fn render(&self, styles: Styles) -> String {
        let failed = self.event == "denied" || self.error.is_some();
        let label = match self.event.as_str() {
            _ if failed => Label::Bad,
            "allowed" => Label::Good,
            _ => Label::Quiet,
        };
        // To the second.
        let time = self.time.get(..19).unwrap_or(&self.time);
        let mut parts = vec![
            styles.paint(Label::Quiet, &escape(&time.replace('T', " "))),
            styles.paint(Label::Name, &escape(&self.tool)),
            styles.paint(label, &escape(&self.event)),
        ];
        if let Some(operation) = &self.operation {
            parts.push(escape(operation).into_owned());
        }
        if let Some(target) = &self.target {
            parts.push(styles.paint(Label::Target, &escape(target)));
        }
        let mut facts = Vec::new();
        facts.extend(self.rule.as_ref().map(|rule| escape(rule).into_owned()));
        facts.extend(self.times.map(|times| format!("{times} times")));
        facts.extend(self.bytes.map(|bytes| format!("{bytes} bytes")));
        facts.extend(
            self.duration_us
                .map(|us| elapsed(Duration::from_micros(us))),
        );
        facts.extend(self.error.as_ref().map(|error| escape(error).into_owned()));
        if !facts.is_empty() {
            parts.push(styles.paint(Label::Quiet, &format!("({})", facts.join("; "))));
        }
        parts.join("  ")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const DENIED: &str = r#"{"time":"2026-01-02T03:04:05.678Z","session":"s1","call":"c","tool":"read_file","plugin":"p","digest":"d","event":"denied","target":"/etc/pass\u001b[2Jwd","operation":"read","rule":"answered: no, for this call"}"#;
    const ENDED: &str = r#"{"time":"2026-01-02T03:04:06.000Z","session":"s2","call":"c","tool":"edit_file","plugin":"p","digest":"d","event":"ended","duration_us":1500}"#;

    #[test]
    fn lines_are_chosen_and_shown() {
        let check = |line: &str, change: fn(&mut AuditArgs), expected: Option<&str>| {
            let mut args = AuditArgs::default();
            change(&mut args);
            let found = shown(line.as_bytes(), &args, Styles::plain());
            assert_eq!(found.as_deref(), expected, "{args:?}");
        };
        let denied = "2026-01-02 03:04:05  read_file  denied  read  /etc/pass\\u{1b}[2Jwd  \
                      (answered: no, for this call)";
        let ended = "2026-01-02 03:04:06  edit_file  ended  (1 ms)";
        check(DENIED, |_| {}, Some(denied));
        check(ENDED, |_| {}, Some(ended));
        check(ENDED, |args| args.denied = true, None);
        check(DENIED, |args| args.denied = true, Some(denied));
        check(DENIED, |args| args.tool = Some("edit_file".into()), None);
        check(
            ENDED,
            |args| args.tool = Some("edit_file".into()),
            Some(ended),
        );
        check(
            DENIED,
            |args| args.target = Some("/etc".into()),
            Some(denied),
        );
        check(ENDED, |args| args.target = Some("/etc".into()), None);
        check(ENDED, |args| args.session = Some("s2".into()), Some(ended));
        check(ENDED, |args| args.session = Some("s1".into()), None);
        check(
            DENIED,
            |args| args.since = Some("2026-01-02T03:04:06".into()),
            None,
        );
        check(
            ENDED,
            |args| args.since = Some("2026-01-02".into()),
            Some(ended),
        );
        check(ENDED, |args| args.json = true, Some(ENDED));
        check("no JSON", |_| {}, None);
        check("{}", |_| {}, None);
    }

    #[test]
    fn lines_come_whole_and_long_ones_pass() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let mut file = File::create(&path).unwrap();
        let mut log = Log::open(&path).unwrap();
        assert_eq!(log.next().unwrap(), None);
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(log.next().unwrap().as_deref(), Some(&b"one\n"[..]));
        assert_eq!(log.next().unwrap(), None);
        file.write_all(b"o\n").unwrap();
        assert_eq!(log.next().unwrap().as_deref(), Some(&b"two\n"[..]));
        file.write_all(&vec![b'x'; 3 * MAX_LINE_BYTES as usize])
            .unwrap();
        file.write_all(b"\nlast\n").unwrap();
        let mut rest = Vec::new();
        while let Some(line) = log.next().unwrap() {
            assert!(line.len() as u64 <= MAX_LINE_BYTES);
            rest.push(line);
        }
        assert_eq!(rest.last().map(Vec::as_slice), Some(&b"last\n"[..]));
    }
}
