//! `dunlin audit`: what tools were allowed, what they did, and what was refused.

use std::time::Duration;

use dunlin_host::display::escape;
use dunlin_host::json;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};
use serde::Deserialize;

use crate::app::App;
use crate::args::AuditArgs;
use crate::error::{CliError, Exit};
use crate::log_file::{self, Extent, local};
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::calls::elapsed;
use dunlin_terminal::ui::style::{Label, Styles};

/// How far in the further rows of an entry stand, in columns.
const INDENT: usize = 4;

/// A word behind `--since` that is not a time.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} is not a time; use a span such as 1h or 2d, today, yesterday, 2026-01-31 or 2026-01-31T12:00"
)]
struct NotATime(String);

/// A time as the log writes it, to the second: earlier times are smaller texts. `now` also says where the user is.
fn since(text: &str, now: &Zoned) -> Result<String, NotATime> {
    let wrong = || NotATime(text.to_owned());
    let time = if let Some(text) = text.strip_suffix('Z') {
        let time: DateTime = text.parse().map_err(|_| wrong())?;
        time.to_zoned(TimeZone::UTC)
    } else if let Ok(time) = text.parse::<DateTime>() {
        time.to_zoned(now.time_zone().clone())
    } else if text == "today" {
        now.start_of_day()
    } else if text == "yesterday" {
        now.yesterday().and_then(|day| day.start_of_day())
    } else {
        let span: Span = text.parse().map_err(|_| wrong())?;
        if span.is_negative() {
            return Err(wrong());
        }
        now.checked_sub(span)
    };
    let time = time.map_err(|_| wrong())?.timestamp();
    Ok(time.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}

/// Characters of a digest that are shown: enough to tell two bodies apart. The file has all of it.
const DIGEST_CHARS: usize = 16;

/// One line of the log, as far as it is shown.
#[derive(Debug, Deserialize)]
struct Entry {
    time: String,
    session: String,
    tool: String,
    event: String,
    target: Option<String>,
    line: Option<String>,
    operation: Option<String>,
    rule: Option<String>,
    times: Option<u64>,
    bytes: Option<u64>,
    url: Option<String>,
    #[serde(default)]
    headers: Vec<String>,
    sent_sha256: Option<String>,
    change: Option<String>,
    duration_us: Option<u64>,
    error: Option<String>,
}

/// Prints the newest lines that fit, and with `--follow` those that come.
pub fn run(app: &App, args: &AuditArgs) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let since = args.since.as_deref().map(|text| since(text, &Zoned::now()));
    let args = &AuditArgs {
        since: since.transpose().map_err(CliError::usage)?,
        ..args.clone()
    };
    let zone = TimeZone::system();
    let extent = Extent {
        lines: args.lines,
        follow: args.follow,
    };
    log_file::show(
        ui,
        &app.settings.folders.audit_file(),
        extent,
        "No matching entries.",
        |line| shown(line, args, ui.styles(), &zone),
        |text| print(ui, text, args),
    )
    .map_err(CliError::failed)?;
    Ok(Exit::Done)
}

/// Prints one entry. JSON stays on its line.
fn print(ui: &Ui, text: &str, args: &AuditArgs) {
    match args.json {
        true => ui.data(text),
        false => ui.data_rows(text, INDENT),
    }
}

/// The text for a line of the log; `None` when it does not fit, or is none of ours.
fn shown(line: &[u8], args: &AuditArgs, styles: Styles, zone: &TimeZone) -> Option<String> {
    let entry: Entry = serde_json::from_slice(line).ok()?;
    let fits = args.tool.as_ref().is_none_or(|tool| *tool == entry.tool)
        && args
            .session
            .as_ref()
            .is_none_or(|session| entry.session.starts_with(session.as_str()))
        && args.target.as_ref().is_none_or(|part| {
            let texts = [&entry.target, &entry.line];
            texts.into_iter().flatten().any(|text| text.contains(part.as_str()))
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
    Some(entry.render(styles, zone))
}

impl Entry {
    fn render(&self, styles: Styles, zone: &TimeZone) -> String {
        let failed = self.event == "denied" || self.error.is_some();
        let label = match self.event.as_str() {
            _ if failed => Label::Bad,
            "allowed" => Label::Good,
            _ => Label::Quiet,
        };
        let time = local(&self.time, zone);
        let mut parts = vec![
            styles.paint(Label::Quiet, &escape(&time)),
            styles.paint(Label::Name, &escape(&self.tool)),
            styles.paint(label, &escape(&self.event)),
        ];
        if let Some(operation) = &self.operation {
            parts.push(escape(operation).into_owned());
        }
        // A request has its query, which its target has not.
        if let Some(target) = self.url.as_ref().or(self.target.as_ref()) {
            parts.push(styles.paint(Label::Target, &escape(target)));
        }
        // Where the line itself was decided about, it is the target.
        let target = self.target.as_deref().unwrap_or_default();
        if let Some(line) = self.line.as_ref().filter(|line| !target.contains(*line)) {
            parts.push(format!("`{}`", escape(line)));
        }
        let mut metadata = Vec::new();
        metadata.extend(self.rule.as_ref().map(|rule| escape(rule).into_owned()));
        metadata.extend(self.change.as_ref().map(|it| escape(it).into_owned()));
        metadata.extend(self.times.map(|times| match times {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        }));
        metadata.extend(self.headers.iter().map(|it| escape(it).into_owned()));
        metadata.extend(self.bytes.map(|bytes| match bytes {
            1 => "1 byte".to_owned(),
            bytes => format!("{bytes} bytes"),
        }));
        metadata.extend(self.sent_sha256.as_ref().map(|digest| {
            let digest = digest.get(..DIGEST_CHARS).unwrap_or(digest);
            format!("sha256 {}", escape(digest))
        }));
        metadata.extend(
            self.duration_us
                .map(|us| elapsed(Duration::from_micros(us))),
        );
        metadata.extend(self.error.as_ref().map(|error| escape(error).into_owned()));
        if !metadata.is_empty() {
            parts.push(styles.paint(Label::Quiet, &format!("({})", metadata.join("; "))));
        }
        parts.join("  ")
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    const DENIED: &str = r#"{"time":"2026-01-02T03:04:05.678Z","session":"s1","call":"c","tool":"read_file","plugin":"p","digest":"d","event":"denied","target":"/etc/pass\u001b[2Jwd","operation":"read","rule":"answered: no, for this call"}"#;
    const ENDED: &str = r#"{"time":"2026-01-02T03:04:06.000Z","session":"s2","call":"c","tool":"edit_file","plugin":"p","digest":"d","event":"ended","duration_us":1500}"#;

    #[test]
    fn lines_are_chosen_and_shown() {
        let check = |line: &str, change: fn(&mut AuditArgs), expected: Option<&str>| {
            let mut args = AuditArgs::default();
            change(&mut args);
            let zone = TimeZone::posix("CET-1").unwrap();
            let found = shown(line.as_bytes(), &args, Styles::plain(), &zone);
            assert_eq!(found.as_deref(), expected, "{args:?}");
        };
        let denied = "2026-01-02 04:04:05 CET  read_file  denied  read  /etc/pass\\u{1b}[2Jwd  \
                      (answered: no, for this call)";
        let ended = "2026-01-02 04:04:06 CET  edit_file  ended  (1 ms)";
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
        let command = r#"{"time":"2026-01-02T03:04:06Z","session":"s2","tool":"run_terminal_command","event":"used","target":"/usr/bin/cargo","line":"cargo test --lib","operation":"execute"}"#;
        let shown = "2026-01-02 04:04:06 CET  run_terminal_command  used  execute  /usr/bin/cargo  `cargo test --lib`";
        check(command, |_| {}, Some(shown));
        check(
            command,
            |args| args.target = Some("test --l".into()),
            Some(shown),
        );
        check(command, |args| args.target = Some("clippy".into()), None);
        let exact = command.replace("/usr/bin/cargo", "= cargo test --lib");
        let shown =
            "2026-01-02 04:04:06 CET  run_terminal_command  used  execute  = cargo test --lib";
        check(&exact, |_| {}, Some(shown));
        check("no JSON", |_| {}, None);
        check("{}", |_| {}, None);
    }

    #[test]
    fn times_are_times() {
        let zone = TimeZone::posix("CET-1").unwrap();
        let now: DateTime = "2026-02-01T00:30:15".parse().unwrap();
        let now = now.to_zoned(zone).unwrap();
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(since(text, &now).ok().as_deref(), expected, "{text:?}");
        };
        check("2026-01-31", Some("2026-01-30T23:00:00"));
        check("2026-01-31T12:00", Some("2026-01-31T11:00:00"));
        check("2026-01-31T12:00:05Z", Some("2026-01-31T12:00:05"));
        check("today", Some("2026-01-31T23:00:00"));
        check("yesterday", Some("2026-01-30T23:00:00"));
        check("1h", Some("2026-01-31T22:30:15"));
        check("90m", Some("2026-01-31T22:00:15"));
        check("2d", Some("2026-01-29T23:30:15"));
        check("1h 30m", Some("2026-01-31T22:00:15"));
        for text in [
            "-1h",
            "9999999999y",
            "1",
            "",
            "tomorrow",
            "2026-1-2",
            "2026-02-30",
            "Z",
        ] {
            check(text, None);
        }
    }
}
