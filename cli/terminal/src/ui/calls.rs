//! One calm line per call: what is going on, replaced in place by how it ended.

use std::fmt::Write;
use std::time::Duration;

use dunlin_host::display::{escape, width, width_of_char};
use dunlin_host::permission::Revert;

use super::running_call;
use super::style::{Label, Styles};
use super::wrap;
use crate::approval::storing;
use dunlin_chat::turn::{CallState, CallView};

/// How much of a failed call's reason is to be seen on the narrowest screen, in columns, before its name is.
const REASON_COLUMNS: usize = 16;

/// What is left of a tool's name there, in columns.
const NAME_COLUMNS: usize = 8;

/// How far to the right a reason stands that has rows of its own.
const REASON_INDENT: usize = 4;

/// How many rows it takes at most. The call is kept whole, and can be looked at.
const MAX_REASON_ROWS: usize = 4;

/// The narrowest screen that has room for how a call is stopped, in columns.
const HINT_COLUMNS: usize = 72;

/// The line of a call, at most `columns` wide. The target is shortened before the rest is: both ends of
/// a path tell more than its middle.
pub fn line(call: &CallView, styles: Styles, columns: usize) -> String {
    let duration = call.duration.filter(|_| call.state.is_settled());
    let time = duration.map_or_else(String::new, |it| format!(" · {}", elapsed(it)));
    line_with(call, &time, styles, columns)
}

/// The line of a call that runs: from the first second on with how long it has, and with what stops it.
pub fn running(
    call: &CallView,
    ran: Duration,
    hint: Option<&str>,
    styles: Styles,
    columns: usize,
) -> String {
    if call.state != CallState::Running {
        return line(call, styles, columns);
    }
    let mut time = running_call::counted(ran);
    if let Some(hint) = hint.filter(|_| !time.is_empty() && columns >= HINT_COLUMNS) {
        let _ = write!(time, " · {hint}");
    }
    line_with(call, &time, styles, columns)
}

fn line_with(call: &CallView, time: &str, styles: Styles, columns: usize) -> String {
    let (mark, label, word) = look(call.state);
    let mut end = String::new();
    // Some notes begin with the word themselves.
    let noted = call
        .note
        .as_deref()
        .is_some_and(|note| note.starts_with(word));
    if !word.is_empty() && !noted {
        let _ = write!(end, " · {word}");
    }
    end.push_str(time);
    // The last column stays free: writing into it wraps on some terminals.
    let mut room = columns.saturating_sub(1);
    let mut take = |text: &str| {
        let shown = fit(text, room);
        room = room.saturating_sub(width(&shown));
        shown
    };
    let head = take(&format!("  {mark} "));
    let number = call
        .number
        .map_or_else(String::new, |number| format!("{number} "));
    let number = take(&number);
    // A note says why, and begins with what matters; what the call is about keeps both its ends. Where it failed, that
    // is what one wants to know. Where all is narrow the name gives way first.
    let note = call.note.as_deref().filter(|note| !note.is_empty());
    let note = note.map_or_else(String::new, |note| format!(" · {}", escape(note)));
    let behind = width(&end) + width(&note).min(REASON_COLUMNS);
    let room_of_name = columns.saturating_sub(width(&head) + width(&number) + 1 + behind);
    let tool = take(&fit(&escape(&call.tool), room_of_name.max(NAME_COLUMNS)));
    let end = take(&end);
    let share = match call.state {
        _ if room < 2 * REASON_COLUMNS => room,
        CallState::Failed => room / 3 * 2,
        _ => room / 2,
    };
    let kept = width(&note).min(share);
    let room_of_target = room - kept;
    let target = match escape(&call.target).as_ref() {
        "" => String::new(),
        target => fit(&format!(" {target}"), room_of_target),
    };
    let note = cut(&note, room.saturating_sub(width(&target)));
    [
        styles.paint(label, &head),
        styles.paint(Label::Quiet, &number),
        styles.paint(Label::Name, &tool),
        styles.paint(Label::Target, &target),
        styles.paint(label, &end),
        styles.paint(Label::Quiet, &note),
    ]
    .concat()
}

/// The lines of a call that has ended: one, but where it failed and the reason does not fit, as many below it as the reason
/// takes, up to a few.
pub fn ended(call: &CallView, styles: Styles, columns: usize) -> String {
    if call.state == CallState::Denied {
        return denied(call, styles, columns);
    }
    let one = line(call, styles, columns);
    let note = call.note.as_deref().filter(|note| !note.is_empty());
    let Some(note) = note.filter(|_| call.state == CallState::Failed) else {
        return one;
    };
    let note = escape(note);
    if one.contains(&*note) {
        return one;
    }
    let short = CallView {
        note: None,
        ..call.clone()
    };
    let room = columns.saturating_sub(REASON_INDENT + 1);
    let mut rows = wrap::barred("", 0, &note, room);
    if rows.len() > MAX_REASON_ROWS {
        rows.truncate(MAX_REASON_ROWS);
        if let Some(last) = rows.last_mut() {
            *last = cut(&format!("{last} …"), room);
        }
    }
    let rows = rows.iter().map(|row| {
        // A word may be longer than a row.
        let row = styles.paint(Label::Quiet, &cut(row, room));
        format!("\n{:REASON_INDENT$}{row}", "")
    });
    std::iter::once(line(&short, styles, columns))
        .chain(rows)
        .collect()
}

/// The lines of a call that was denied: below it the rule that denied it, if it was one, and what takes it back.
fn denied(call: &CallView, styles: Styles, columns: usize) -> String {
    let short = CallView {
        note: None,
        ..call.clone()
    };
    let note = call.note.as_deref().filter(|note| !note.is_empty());
    let undo = call.revert.as_ref().and_then(storing::revert);
    let rows = match (note, &undo) {
        // Of many calls in a row: the user has chosen it.
        (Some(rule), Some(undo)) if call.revert == Some(Revert::SessionMode) => {
            vec![denied_by_mode(rule, undo, columns)]
        }
        _ => note.map_or_else(Vec::new, |note| denied_by(note, undo.as_deref(), columns)),
    };
    let rows = rows.iter().map(|row| styles.paint(Label::Quiet, row));
    std::iter::once(line(&short, styles, columns))
        .chain(rows.map(|row| format!("\n{row}")))
        .collect()
}

/// The row below a call that the mode of the session denied. What the mode is for is left out where there is no room for it.
fn denied_by_mode(rule: &str, undo: &str, columns: usize) -> String {
    let mode = rule.split_once(':').map_or(rule, |(mode, _)| mode);
    let row = |rule: &str| {
        format!(
            "{:REASON_INDENT$}denied by: {}; undo: {undo}",
            "",
            escape(rule)
        )
    };
    let room = columns.saturating_sub(1);
    let whole = row(rule);
    match width(&whole) <= room {
        true => whole,
        false => cut(&row(mode), room),
    }
}

/// The rows below a call that a rule denied: the rule, and the escaped command that takes it back.
pub fn denied_by(rule: &str, undo: Option<&str>, columns: usize) -> Vec<String> {
    let columns = columns.saturating_sub(1);
    // Some rules name the command themselves.
    let rule = match undo.and_then(|undo| rule.split_once(&format!("; {undo} "))) {
        Some((rule, _)) => rule,
        None => rule,
    };
    let room = columns.saturating_sub(REASON_INDENT);
    let rule = wrap::barred("denied by: ", 0, &escape(rule), room);
    let mut rows: Vec<String> = rule
        .into_iter()
        .map(|row| format!("{:REASON_INDENT$}{row}", ""))
        .collect();
    if let Some(undo) = undo {
        rows.extend(wrap::command(REASON_INDENT, "undo:", undo, columns));
    }
    rows
}

/// Mark, look and word of a state.
pub fn look(state: CallState) -> (&'static str, Label, &'static str) {
    match state {
        CallState::Proposed => ("·", Label::Quiet, ""),
        CallState::Asking => ("?", Label::Warning, ""),
        CallState::Approved => ("+", Label::Good, ""),
        CallState::Running => ("…", Label::Quiet, ""),
        CallState::Completed => ("✓", Label::Good, ""),
        CallState::Failed => ("✗", Label::Bad, "failed"),
        CallState::Denied => ("✗", Label::Bad, "denied"),
        CallState::Skipped => ("»", Label::Quiet, "skipped"),
        CallState::NotRun => ("–", Label::Quiet, "not run"),
        CallState::Cancelled => ("–", Label::Quiet, "cancelled"),
    }
}

/// A duration for people: three digits at most. Nothing takes no time: what is kept in whole milliseconds may
/// say so.
pub fn elapsed(duration: Duration) -> String {
    if duration.is_zero() {
        return "<1 ms".to_owned();
    }
    let seconds = duration.as_secs_f64();
    match duration.as_millis() {
        0 => format!("{:.1} ms", seconds * 1000.0),
        millis @ 1..=999 => format!("{millis} ms"),
        1000..=59_999 => format!("{seconds:.1} s"),
        millis => format!("{} min {} s", millis / 60_000, millis / 1000 % 60),
    }
}

/// Shortens in the middle to at most `columns` columns on the screen.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let tail_room = (columns - 1) / 2;
    let head = take_columns(text.chars(), columns - 1 - tail_room);
    let tail: String = take_columns(text.chars().rev(), tail_room)
        .chars()
        .rev()
        .collect();
    format!("{head}…{tail}")
}

/// Shortens at the end to at most `columns` columns on the screen.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    match columns {
        0 => String::new(),
        columns => format!("{}…", take_columns(text.chars(), columns - 1)),
    }
}

fn take_columns(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|c| {
            used += width_of_char(*c);
            used <= columns
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use dunlin_host::permission::WayOut;
    use dunlin_host::permission::key::Decided;
    use dunlin_host::target::Operation;

    use super::*;

    fn line_of(state: CallState, note: Option<&str>, columns: usize) -> String {
        let call = CallView {
            id: "1".to_owned(),
            tool: "read_file".to_owned(),
            target: "/project/src/main.rs".to_owned(),
            number: None,
            state,
            note: note.map(str::to_owned),
            revert: None,
            duration: Some(Duration::from_millis(12)),
        };
        line(&call, Styles::plain(), columns)
    }

    #[test]
    fn each_state_has_its_line() {
        let check = |state, note, expected: &str| assert_eq!(line_of(state, note, 80), expected);
        check(
            CallState::Proposed,
            None,
            "  · read_file /project/src/main.rs",
        );
        check(
            CallState::Running,
            Some("half"),
            "  … read_file /project/src/main.rs · half",
        );
        check(
            CallState::Completed,
            None,
            "  ✓ read_file /project/src/main.rs · 12 ms",
        );
        check(
            CallState::Failed,
            Some("no such\nfile\x1b[2J"),
            "  ✗ read_file /project/src/main.rs · failed · 12 ms · no such\\nfile\\u{1b}[2J",
        );
        check(
            CallState::NotRun,
            Some("not run: why"),
            "  – read_file /project/src/main.rs · 12 ms · not run: why",
        );
        check(
            CallState::Denied,
            None,
            "  ✗ read_file /project/src/main.rs · denied · 12 ms",
        );
        check(
            CallState::Cancelled,
            None,
            "  – read_file /project/src/main.rs · cancelled · 12 ms",
        );
    }

    #[test]
    fn a_call_that_runs_counts_from_the_first_second_on() {
        let call = CallView {
            id: "1".to_owned(),
            tool: "run_terminal_command".to_owned(),
            target: "cargo test --workspace".to_owned(),
            number: Some(3),
            state: CallState::Running,
            note: None,
            revert: None,
            duration: None,
        };
        let check = |call: &CallView, millis, columns, expected: &str| {
            let ran = Duration::from_millis(millis);
            let hint = Some("Esc interrupts");
            assert_eq!(running(call, ran, hint, Styles::plain(), columns), expected);
        };
        let whole = "  … 3 run_terminal_command cargo test --workspace";
        check(&call, 999, 80, whole);
        check(&call, 1_000, 80, &format!("{whole} · 1 s · Esc interrupts"));
        check(
            &call,
            125_000,
            72,
            "  … 3 run_terminal_command cargo t…rkspace · 2 min 5 s · Esc interrupts",
        );
        check(
            &call,
            12_900,
            50,
            "  … 3 run_terminal_command cargo t…rkspace · 12 s",
        );
        let hook = CallView {
            note: Some("the hook `fmt`".to_owned()),
            ..call.clone()
        };
        let with_hook = format!("{whole} · 2 s · Esc interrupts · the hook `fmt`");
        check(&hook, 2_000, 100, &with_hook);
        let proposed = CallView {
            state: CallState::Proposed,
            ..call
        };
        check(&proposed, 5_000, 80, &whole.replace('…', "·"));
    }

    #[test]
    fn why_it_failed_is_readable() {
        let why = "the MCP server trip has ended; its last words: out of memory";
        assert_eq!(
            line_of(CallState::Failed, Some(why), 80),
            "  ✗ read_file /projec…/main.rs · failed · 12 ms · the MCP server trip has ende…"
        );
    }

    #[test]
    fn a_reason_that_does_not_fit_has_rows_of_its_own() {
        let mut call = CallView {
            id: "1".to_owned(),
            tool: "read_file".to_owned(),
            target: "/project/src/main.rs".to_owned(),
            number: None,
            state: CallState::Failed,
            note: Some("no such file".to_owned()),
            revert: None,
            duration: Some(Duration::from_millis(12)),
        };
        let check = |call: &CallView, columns, expected: &str| {
            assert_eq!(ended(call, Styles::plain(), columns), expected);
        };
        check(
            &call,
            80,
            "  ✗ read_file /project/src/main.rs · failed · 12 ms · no such file",
        );
        call.note = Some("the server trip has ended; its last words: out of memory".to_owned());
        check(
            &call,
            40,
            "  ✗ read_file /pr…n.rs · failed · 12 ms\n    the server trip has ended; its last\n    │ words: out of memory",
        );
        call.note = Some("word ".repeat(40));
        let rows = ended(&call, Styles::plain(), 40);
        assert_eq!(rows.lines().count(), 1 + MAX_REASON_ROWS);
        assert!(rows.ends_with('…'), "{rows}");
        for row in rows.lines() {
            assert!(width(row) < 40, "{row:?}");
        }
        // A rule that denied it stands below it, whole, with what takes it back.
        call.state = CallState::Denied;
        call.note = Some("stored under /project/src/".to_owned());
        call.revert = Some(Revert::Stored(WayOut {
            target: "/project/src/".to_owned(),
            operation: Operation::Read,
            decided: Decided::Open,
        }));
        check(
            &call,
            80,
            "  ✗ read_file /project/src/main.rs · denied · 12 ms\n    denied by: stored under /project/src/\n    \
             undo: dunlin permissions ask read /project/src/",
        );
        // A rule that names the command says it once.
        call.note =
            Some("t is set to never for this session; /tools t prompt changes that".to_owned());
        call.revert = Some(Revert::ToolMode("t".to_owned()));
        check(
            &call,
            80,
            "  ✗ read_file /project/src/main.rs · denied · 12 ms\n    denied by: t is set to never for this session\n    \
             undo: /tools t prompt",
        );
        // A mode denies many calls in a row: one row for each.
        call.note = Some("mode plan: nothing is changed".to_owned());
        call.revert = Some(Revert::SessionMode);
        let head = |columns| {
            line(
                &CallView {
                    note: None,
                    ..call.clone()
                },
                Styles::plain(),
                columns,
            )
        };
        for (columns, row) in [
            (
                80,
                "    denied by: mode plan: nothing is changed; undo: /mode ask",
            ),
            (60, "    denied by: mode plan; undo: /mode ask"),
            (30, "    denied by: mode plan; un…"),
        ] {
            check(&call, columns, &format!("{}\n{row}", head(columns)));
        }
    }

    #[test]
    fn a_number_names_the_call() {
        let call = CallView {
            id: "1".to_owned(),
            tool: "read_file".to_owned(),
            target: "a".to_owned(),
            number: Some(12),
            state: CallState::Running,
            note: None,
            revert: None,
            duration: None,
        };
        assert_eq!(line(&call, Styles::plain(), 80), "  … 12 read_file a");
    }

    #[test]
    fn a_line_never_wraps() {
        assert_eq!(
            line_of(CallState::Completed, None, 30),
            "  ✓ read_file /pr….rs · 12 ms"
        );
        for columns in 0..90 {
            for state in [CallState::Completed, CallState::Failed, CallState::NotRun] {
                let line = line_of(state, Some("日本語 日本語 日本語"), columns);
                assert!(width(&line) < columns.max(1), "{columns}: {line:?}");
            }
        }
    }

    #[test]
    fn what_is_shortened_fits_on_every_terminal() {
        for text in crate::approval::text::tests::texts_of_all_characters() {
            for columns in [0, 9, 40] {
                assert!(width(&fit(&text, columns)) <= columns, "{text:?}");
                assert!(width(&cut(&text, columns)) <= columns, "{text:?}");
            }
        }
    }

    #[test]
    fn durations_are_short() {
        let check =
            |micros, expected: &str| assert_eq!(elapsed(Duration::from_micros(micros)), expected);
        check(0, "<1 ms");
        check(240, "0.2 ms");
        check(12_300, "12 ms");
        check(1_240_000, "1.2 s");
        check(61_000_000, "1 min 1 s");
    }
}
