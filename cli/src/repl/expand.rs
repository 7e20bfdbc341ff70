//! `/expand`: a call whole, by the number that its line shows.

use std::path::Path;

use dunlin_host::display::escape;
use serde_json::Value;

use super::arguments;
use super::messages::foreign;
use dunlin_chat::agent::RUN_SUBAGENT;
use dunlin_chat::tokens::counted;
use dunlin_chat::turn::log::{CallLog, LastEdits};
use dunlin_chat::turn::{CallRecord, CallState, patch_of};
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::approval::storing;
use dunlin_terminal::ui::calls::{cut, denied_by, elapsed, fit, look};
use dunlin_terminal::ui::diff;
use dunlin_terminal::ui::style::{Label, Styles};
use dunlin_terminal::ui::wrap::visible;

/// How many rows of the parameters, and of the result, are shown unless all of them are asked for.
const MAX_ROWS: usize = 40;

/// How much of why a call failed stands beside it on the narrowest screen, in columns.
const MIN_WHY_COLUMNS: usize = 20;

/// What `/expand` prints for what was typed behind it.
pub fn rows(log: &CallLog, typed: &str, window: Window) -> Vec<String> {
    let mut words = typed.split_whitespace().peekable();
    let number = words.peek().and_then(|word| word.parse::<usize>().ok());
    if number.is_some() {
        words.next();
    }
    let all = words.peek() == Some(&"all");
    if all {
        words.next();
    }
    if words.next().is_some() {
        return vec!["/expand takes the number of a call, and \"all\" for a long one.".to_owned()];
    }
    match log.find(number) {
        Some(record) => call(&record, all, window),
        None => vec![match (number, log.numbers()) {
            (Some(number), Some((first, last))) => {
                format!("There is no call {number}. Calls have the numbers {first} to {last}.")
            }
            _ => "There was no call yet.".to_owned(),
        }],
    }
}

/// Why a diff is not known.
const KEPT: &str = "Dunlin keeps the latest diffs only, and only while the session is open; /undo still knows the files.";

/// What `/diff` prints for what was typed behind it. `within`: the calls of the subagent that a call has run.
pub fn edits(
    log: &CallLog,
    typed: &str,
    within: impl FnOnce(&CallRecord) -> Vec<usize>,
    (project, window): (&Path, Window),
) -> Vec<String> {
    let mut rows = Vec::new();
    let calls = match typed.parse::<usize>() {
        Ok(number) => match log.find(Some(number)) {
            Some(_) if log.is_taken_back(number) => {
                return vec![format!(
                    "What call {number} changed in files was taken back."
                )];
            }
            Some(record) if !record.edits.is_empty() => vec![record],
            Some(record) if record.tool == RUN_SUBAGENT => {
                let calls = within(&record);
                if calls.iter().any(|it| log.is_taken_back(*it)) {
                    return vec![format!(
                        "What the subagent of call {number} changed in files was taken back."
                    )];
                }
                let calls = calls.into_iter().filter_map(|it| log.find(Some(it)));
                let calls: Vec<CallRecord> = calls.collect();
                let is_lost = |call: &CallRecord| call.changed.is_some() && call.edits.is_empty();
                if calls.iter().any(is_lost) {
                    return vec![format!(
                        "The subagent of call {number} changed files, but the diff is no longer known. {KEPT}"
                    )];
                }
                let calls = calls.into_iter().filter(|it| !it.edits.is_empty());
                let calls: Vec<CallRecord> = calls.collect();
                if calls.is_empty() {
                    return vec![format!("The subagent of call {number} changed no file.")];
                }
                calls
            }
            Some(CallRecord {
                changed: Some(changed),
                ..
            }) => {
                return vec![format!(
                    "Call {number} changed files ({changed}), but the diff is no longer known. {KEPT}"
                )];
            }
            Some(_) if log.is_restored(number) => {
                return vec![format!(
                    "The diff of call {number}, if it changed a file, is no longer known. {KEPT}"
                )];
            }
            Some(_) => return vec![format!("Call {number} changed no file in this session.")],
            None => return vec![format!("There is no call {number}.")],
        },
        Err(_) if typed.is_empty() => match log.last_edits() {
            Some(LastEdits { ago, calls }) if !calls.is_empty() => {
                if let Some(which) = turns_ago(ago) {
                    rows.push(format!("The last turn changed no file; {which} did:"));
                }
                calls
            }
            Some(_) => return vec!["What was changed in files last was taken back.".to_owned()],
            None => {
                return vec![match log.numbers() {
                    Some((first, _)) if log.is_restored(first) => {
                        format!("No file was changed since the session was resumed. {KEPT}")
                    }
                    _ => "No file was changed.".to_owned(),
                }];
            }
        },
        Err(_) => return vec!["Usage: /diff [N], with the number of a call.".to_owned()],
    };
    for record in calls {
        let number = record.number;
        let (mark, label, _) = look(record.state);
        let styles = window.styles;
        for edit in record.edits.iter() {
            let by = edit.hook.as_ref();
            let by = by.map_or_else(String::new, |hook| format!(" by the hook `{hook}`"));
            rows.push(format!(
                "  {} {}",
                styles.paint(label, &format!("{mark} {number}")),
                styles.paint(
                    Label::Target,
                    &fit(
                        &format!(
                            "{} {}{by}",
                            escape(&in_project(&edit.path, project).to_string_lossy()),
                            diff::count([edit])
                        ),
                        window.columns.saturating_sub(12)
                    )
                ),
            ));
            rows.extend(diff::rows(std::slice::from_ref(edit), usize::MAX, window).0);
        }
    }
    rows
}

/// A turn before the last one.
fn turns_ago(ago: usize) -> Option<String> {
    match ago {
        0 => None,
        1 => Some("the one before it".to_owned()),
        ago => Some(format!("the one {ago} turns before it")),
    }
}

/// A path as the model names it.
fn in_project<'a>(path: &'a Path, project: &Path) -> &'a Path {
    path.strip_prefix(project).unwrap_or(path)
}

/// Rows without what is in their midst, where they are many; `command` shows all of them.
pub fn folded(whole: Vec<String>, command: &str, styles: Styles) -> Vec<String> {
    let tail = MAX_ROWS / 3;
    let head = MAX_ROWS - tail;
    let left_out = whole.len().saturating_sub(MAX_ROWS);
    if left_out == 0 {
        return whole;
    }
    let more = counted(left_out, "more row", "more rows");
    let note = styles.paint(Label::Quiet, &format!("    … {more}: {command}"));
    let end = whole.iter().skip(head + left_out).cloned();
    let mut rows: Vec<String> = whole.iter().take(head).cloned().collect();
    rows.push(note);
    rows.extend(end);
    rows
}

/// The rows of a call; all of them, or a long result shortened.
pub fn call(record: &CallRecord, all: bool, window: Window) -> Vec<String> {
    let styles = window.styles;
    let number = record.number;
    let (mark, label, word) = look(record.state);
    let took = record.duration().map(elapsed);
    let error = record.error.as_deref().unwrap_or_default();
    // What does not fit beside the call stands below, as its result.
    let tool = fit(&escape(&record.tool), 64);
    let took = took.unwrap_or_default();
    let head = format!("  {mark} {number} {tool} · {word} · {took} · ");
    let room = window.columns.saturating_sub(visible(&head) + 1);
    // It begins with what matters; why a call was denied is said below in full.
    let why = match record.state {
        CallState::Denied => String::new(),
        _ => cut(&escape(error), room.max(MIN_WHY_COLUMNS)),
    };
    let parts = [word.to_owned(), took, why];
    let parts = parts.iter().filter(|part| !part.is_empty());
    let end: String = parts.map(|part| format!(" · {part}")).collect();
    let mut rows = vec![format!(
        "  {} {}{end}",
        styles.paint(label, &format!("{mark} {number}")),
        styles.paint(Label::Name, &tool),
    )];
    if let Some(by) = &record.denied_by {
        let undo = by.revert.as_ref().and_then(storing::revert);
        rows.extend(denied_by(&by.rule, undo.as_deref(), window.columns));
    }
    let mut part_of_rows = |name: &str, whole: Vec<String>| {
        rows.push(format!("  {}", styles.paint(Label::Quiet, name)));
        rows.extend(match all {
            true => whole,
            false => folded(whole, &format!("/expand {number} all"), styles),
        });
    };
    let patch = patch_of(&record.tool, &record.arguments);
    let (changes, _) = diff::rows(&record.edits, usize::MAX, window);
    match (patch, &record.arguments) {
        // The changes say the same, with the lines around them.
        (Some(_), _) if !changes.is_empty() => {}
        (Some(patch), _) => part_of_rows("patch", foreign(patch, window)),
        (None, Value::Object(arguments)) if !arguments.is_empty() => {
            let whole = arguments::rows(arguments, !changes.is_empty(), window);
            part_of_rows("parameters", whole);
        }
        (None, Value::Object(_)) => part_of_rows("parameters", foreign("(none)", window)),
        (None, arguments) => {
            let arguments = serde_json::to_string_pretty(arguments).unwrap_or_default();
            part_of_rows("parameters", foreign(&arguments, window));
        }
    }
    if !changes.is_empty() {
        part_of_rows("changes", changes);
    }
    let mut part = |name: &str, text: &str| part_of_rows(name, foreign(text, window));
    match &record.result {
        Some(result) if result.trim().is_empty() => part("result", "(empty)"),
        Some(result) => {
            // A command that failed has output, which is a result.
            let is_error = result.starts_with("ERROR: ");
            part(if is_error { "error" } else { "result" }, result);
        }
        None if record.state.is_settled() => part("result", "(no longer kept: /show has it)"),
        None => part("result", "(none yet)"),
    }
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use dunlin_chat::turn::ChangedLines;
    use dunlin_host::edit::diff::Diff;
    use dunlin_host::edit::{ContentHash, EditKind, FileChange, FileEdit, Syntax};

    const WINDOW: Window = Window {
        columns: 80,
        rows: 24,
        styles: Styles::plain(),
    };

    fn record(number: usize, state: CallState, result: Option<&str>) -> CallRecord {
        CallRecord {
            number,
            state,
            result: result.map(str::to_owned),
            duration_ms: state.is_settled().then_some(12.0),
            ..CallRecord::sample("read_file", json!({ "file_path": "a\u{1b}[2J" }))
        }
    }

    #[test]
    fn a_call_is_shown_whole() {
        let log = CallLog::default();
        log.keep(record(1, CallState::Completed, Some("one\ntwo")));
        log.keep(record(2, CallState::Failed, Some("ERROR: no such file")));
        log.keep(record(3, CallState::Running, None));
        let shown = |typed| rows(&log, typed, WINDOW).join("\n");
        let parameters = "  parameters\n  │ file_path: a\\u{1b}[2J\n";
        assert_eq!(
            shown("1"),
            format!("  ✓ 1 read_file · 12 ms\n{parameters}  result\n  │ one\n  │ two")
        );
        assert_eq!(
            shown("2"),
            format!(
                "  ✗ 2 read_file · failed · 12 ms\n{parameters}  error\n  │ ERROR: no such file"
            )
        );
        assert_eq!(
            shown(""),
            format!("  … 3 read_file\n{parameters}  result\n  │ (none yet)")
        );
        assert_eq!(
            shown("4"),
            "There is no call 4. Calls have the numbers 1 to 3."
        );
        assert!(shown("x").starts_with("/expand takes"));
        assert_eq!(
            rows(&CallLog::default(), "", WINDOW),
            ["There was no call yet."]
        );
    }

    #[test]
    fn what_was_changed_before_the_session_was_resumed_is_not_denied() {
        let log = CallLog::default();
        log.restore(vec![record(1, CallState::Completed, None)]);
        let shown =
            |typed| edits(&log, typed, |_| Vec::new(), (Path::new("/p"), WINDOW)).join("\n");
        let text = format!("The diff of call 1, if it changed a file, is no longer known. {KEPT}");
        assert_eq!(shown("1"), text);
        assert!(shown("").starts_with("No file was changed since the session was resumed."));
        let changed = Some(ChangedLines {
            added: 1,
            removed: 0,
        });
        log.restore(vec![CallRecord {
            changed,
            ..record(1, CallState::Completed, None)
        }]);
        let text = format!("Call 1 changed files (+1 −0), but the diff is no longer known. {KEPT}");
        assert_eq!(shown("1"), text);
        assert_eq!(
            log.find(Some(1)).unwrap().view().note.as_deref(),
            Some("+1 −0")
        );
        log.keep(record(2, CallState::Completed, None));
        assert_eq!(shown("2"), "Call 2 changed no file in this session.");
        assert!(shown("").starts_with("No file was changed since the session was resumed."));
    }

    #[test]
    fn a_file_that_was_written_is_shown_as_what_changed() {
        let log = CallLog::default();
        let write = |record: CallRecord| CallRecord {
            tool: "write_file".to_owned(),
            arguments: json!({"file_path": "a.md", "content": "two"}),
            ..record
        };
        log.keep(write(edited(1)));
        log.keep(write(CallRecord {
            error: Some("permission denied: Write it?".to_owned()),
            ..record(
                2,
                CallState::Denied,
                Some("ERROR: Permission denied: Write it?"),
            )
        }));
        let shown = |typed| rows(&log, typed, WINDOW).join("\n");
        let changes = shown("1");
        let expected = "  parameters\n  │ file_path: a.md\n  changes\n  │ ";
        assert!(changes.contains(expected), "{changes}");
        assert!(!changes.contains("content"), "{changes}");
        // Nothing is said twice of a call that was denied.
        assert_eq!(
            shown("2"),
            "  ✗ 2 write_file · denied · 12 ms\n  parameters\n  │ file_path: a.md\n  │ content: two\n  \
             error\n  │ ERROR: Permission denied: Write it?"
        );
    }

    #[test]
    fn a_patch_is_shown_as_what_it_changed() {
        let patch =
            json!({"input": "*** Begin Patch\n*** Update File: a.md\n-one\n+two\n*** End Patch"});
        let of_patch = |record: CallRecord| CallRecord {
            tool: "apply_patch".to_owned(),
            arguments: patch.clone(),
            ..record
        };
        let log = CallLog::default();
        log.keep(of_patch(edited(1)));
        log.keep(of_patch(record(2, CallState::Failed, None)));
        let shown = |typed| rows(&log, typed, WINDOW).join("\n");
        let changes = shown("1");
        assert!(changes.contains("\n  changes\n"), "{changes}");
        assert!(!changes.contains("*** Begin Patch"), "{changes}");
        let text = shown("2");
        assert!(
            text.contains("  patch\n  │ *** Begin Patch\n  │ *** Update File: a.md\n"),
            "{text}"
        );
    }

    /// A call that has edited a file.
    fn edited(number: usize) -> CallRecord {
        CallRecord {
            edits: [FileEdit {
                path: "/p/a.md".into(),
                base: Some(ContentHash::of(b"one")),
                new: Some(ContentHash::of(b"two")),
                new_folder: None,
                diff: Diff::between("one", "two"),
                kind: EditKind::Text,
                syntax: Syntax::default(),
                change: FileChange::Write(String::new()).into(),
                hook: None,
            }]
            .into(),
            ..record(number, CallState::Completed, None)
        }
    }

    #[test]
    fn what_was_taken_back_has_no_diff() {
        let log = CallLog::default();
        for (turn, call) in [(7, 1), (8, 2), (9, 3)] {
            log.begin_turn(turn);
            log.keep(edited(call));
        }
        let shown =
            |typed| edits(&log, typed, |_| Vec::new(), (Path::new("/p"), WINDOW)).join("\n");
        assert!(shown("").contains("a.md"), "{}", shown(""));
        log.take_back(&[9]);
        let text = "What was changed in files last was taken back.";
        assert_eq!(shown(""), text);
        assert_eq!(shown("3"), "What call 3 changed in files was taken back.");
        assert!(shown("2").contains("a.md"), "{}", shown("2"));
        // Back to before the last turn: the one before it is the last one.
        log.drop_since(9);
        assert!(shown("").contains("✓ 2 a.md"), "{}", shown(""));
        log.take_back(&[7, 8]);
        assert_eq!(shown("1"), "What call 1 changed in files was taken back.");
        log.drop_since(7);
        assert_eq!(shown(""), "No file was changed.");
        log.begin_turn(10);
        assert_eq!(shown(""), "No file was changed.");
        log.keep(edited(4));
        assert!(shown("").starts_with("  ✓ 4 a.md"), "{}", shown(""));
        // Turns without an edit are named.
        log.begin_turn(11);
        log.keep(record(5, CallState::Completed, None));
        let before = "The last turn changed no file; the one before it did:\n  ✓ 4 a.md";
        assert!(shown("").starts_with(before), "{}", shown(""));
        log.begin_turn(12);
        let before = "The last turn changed no file; the one 2 turns before it did:\n  ✓ 4 a.md";
        assert!(shown("").starts_with(before), "{}", shown(""));
        log.take_back(&[10]);
        assert_eq!(shown(""), text);
    }

    #[test]
    fn what_a_subagent_changed_is_the_diff_of_its_call() {
        let log = CallLog::default();
        let subagent = CallRecord::sample(RUN_SUBAGENT, json!({ "task": "x" }));
        log.keep(CallRecord {
            number: 1,
            ..subagent
        });
        log.keep(edited(2));
        log.keep(record(3, CallState::Completed, None));
        let shown = |calls: &[usize]| {
            edits(&log, "1", |_| calls.to_vec(), (Path::new("/p"), WINDOW)).join("\n")
        };
        let text = shown(&[2, 3, 9]);
        assert!(text.contains("✓ 2") && text.contains("a.md"), "{text}");
        assert_eq!(shown(&[3]), "The subagent of call 1 changed no file.");
        let changed = Some(ChangedLines {
            added: 1,
            removed: 0,
        });
        log.keep(CallRecord {
            changed,
            ..record(3, CallState::Completed, None)
        });
        assert!(shown(&[2, 3]).starts_with("The subagent of call 1 changed files, but"));
    }

    #[test]
    fn a_command_that_failed_has_a_result_and_says_how_it_ended() {
        let log = CallLog::default();
        log.keep(CallRecord {
            error: Some("exit status 1".to_owned()),
            ..record(1, CallState::Failed, Some("<stdout>"))
        });
        let shown = rows(&log, "1", WINDOW);
        assert_eq!(shown[0], "  ✗ 1 read_file · failed · 12 ms · exit status 1");
        assert_eq!(shown[shown.len() - 2..], ["  result", "  │ <stdout>"]);
    }

    #[test]
    fn long_results_are_cut_in_the_middle() {
        let log = CallLog::default();
        let lines: Vec<String> = (1..=100).map(|line| format!("line {line}")).collect();
        log.keep(record(1, CallState::Completed, Some(&lines.join("\n"))));
        let shown = rows(&log, "1", WINDOW).join("\n");
        assert!(
            shown.contains("  │ line 27\n    … 60 more rows: /expand 1 all\n  │ line 88\n"),
            "{shown}"
        );
        assert!(shown.ends_with("line 100"), "{shown}");
        let whole = rows(&log, "1 all", WINDOW);
        assert_eq!(whole.len(), 1 + 1 + 1 + 1 + 100);
    }
}
