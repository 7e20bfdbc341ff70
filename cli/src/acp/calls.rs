//! How calls look in an editor: what they do, where, and what came of it.

use std::path::Path;

use dunlin_chat::turn::{CallRecord, CallState, TurnCall};
use dunlin_host::call::Action;
use dunlin_host::edit::diff::{Change, Hunk};
use dunlin_host::edit::{EditKind, FileEdit};
use dunlin_host::target::{Need, Target};

use super::prompt::fence;
use super::wire::{Call, Content, Kind, Location, Status};

/// How much of a result is shown, in bytes. The model has all of it; an editor lays out what it shows.
const MAX_RESULT_BYTES: usize = 64 * 1024;

/// A call of a turn as it stands. `is_new`: the client was not told of it before.
pub(super) fn of_turn(call: &TurnCall, is_new: bool) -> Call {
    let record = call.record();
    let (needs, actions) = match &call.plan {
        Some(plan) => (plan.needs.as_slice(), plan.actions.as_slice()),
        None => (&[][..], &[][..]),
    };
    Call {
        kind: Some(kind(&record.tool, actions)),
        content: call.state.is_settled().then(|| result(&record)),
        locations: call.plan.is_some().then(|| locations(needs, actions)),
        raw_input: is_new.then(|| record.arguments.clone()),
        ..of_record(&record)
    }
}

/// A call that was made before this process began.
pub(super) fn of_past(record: &CallRecord) -> Call {
    Call {
        kind: Some(kind(&record.tool, &[])),
        content: Some(result(record)),
        raw_input: Some(record.arguments.clone()),
        ..of_record(record)
    }
}

fn of_record(record: &CallRecord) -> Call {
    let view = record.view();
    Call {
        tool_call_id: record.id.clone(),
        title: Some(
            format!("{} {}", view.tool, view.target)
                .trim_end()
                .to_owned(),
        ),
        status: Some(status(record.state)),
        ..Call::default()
    }
}

fn status(state: CallState) -> Status {
    match state {
        CallState::Proposed | CallState::Asking | CallState::Approved => Status::Pending,
        CallState::Running => Status::InProgress,
        CallState::Completed => Status::Completed,
        // The protocol has one word for all of them.
        CallState::Failed
        | CallState::Denied
        | CallState::Skipped
        | CallState::NotRun
        | CallState::Cancelled => Status::Failed,
    }
}

/// What a call does, as far as its name and its plan tell.
pub(super) fn kind(tool: &str, actions: &[Action]) -> Kind {
    let of_action = actions.iter().find_map(|action| match action {
        Action::Edit(edit) if matches!(edit.kind, EditKind::Renamed(_)) => Some(Kind::Move),
        Action::Edit(edit) if edit.new.is_none() && edit.base.is_some() => Some(Kind::Delete),
        Action::Edit(_) | Action::EditLater { .. } => Some(Kind::Edit),
        Action::Command(_) => Some(Kind::Execute),
        Action::Request(_) => Some(Kind::Fetch),
        _ => None,
    });
    of_action.unwrap_or(match tool {
        "read_file" => Kind::Read,
        "apply_patch" | "edit_file" | "write_file" => Kind::Edit,
        "list_files" | "search_text" | "codebase_search" => Kind::Search,
        "web_fetch" | "web_search" => Kind::Fetch,
        "run_terminal_command" => Kind::Execute,
        "todo" | "run_subagent" => Kind::Think,
        _ => Kind::Other,
    })
}

/// The files that a call is about.
pub(super) fn locations(needs: &[Need], actions: &[Action]) -> Vec<Location> {
    let mut found: Vec<Location> = Vec::new();
    let mut add = |path: &Path, line| {
        let path = written(path);
        if !found.iter().any(|it| it.path == path) {
            found.push(Location { path, line });
        }
    };
    for action in actions {
        if let Action::Edit(edit) = action {
            let first = edit.diff.hunks.first();
            add(&edit.path, first.map(|hunk| hunk.new.start + 1));
        }
    }
    for need in needs {
        if let Target::Path(path) = &need.target {
            add(path, None);
        }
    }
    found
}

/// A path as JSON can have it: names on disk need not be text.
fn written(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What came of a call: what it changed, or else what the model got.
fn result(record: &CallRecord) -> Vec<Content> {
    let mut content = diffs(&record.edits);
    let text = record.result.as_deref().unwrap_or_default();
    let is_told = record.state == CallState::Completed && !content.is_empty();
    if !is_told && !text.trim().is_empty() {
        content.push(Content::text(fenced(text)));
    }
    content
}

/// Text as it is, of bounded length: nothing in it is Markdown.
pub(super) fn fenced(text: &str) -> String {
    let cut = text.floor_char_boundary(MAX_RESULT_BYTES);
    let (shown, rest) = text.split_at(cut);
    let more = match rest.len() {
        0 => String::new(),
        more => format!("… {more} more bytes\n"),
    };
    let fence = fence(shown);
    let end = if shown.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{shown}{end}{more}{fence}")
}

/// What edits change in texts, each place on its own.
pub(super) fn diffs(edits: &[FileEdit]) -> Vec<Content> {
    let of_text = edits.iter().filter(|edit| edit.kind == EditKind::Text);
    let places = of_text.flat_map(|edit| edit.diff.hunks.iter().map(move |hunk| (edit, hunk)));
    let diff = |(edit, hunk): (&FileEdit, &Hunk)| Content::Diff {
        path: written(&edit.path),
        old_text: edit.base.is_some().then(|| side(hunk, Change::Removed)),
        new_text: side(hunk, Change::Added),
    };
    places.map(diff).collect()
}

/// The lines of a place before, or afterwards.
fn side(hunk: &Hunk, change: Change) -> String {
    let lines = hunk.lines.iter();
    let lines = lines.filter(|line| line.change == Change::Kept || line.change == change);
    lines
        .flat_map(|line| [line.text.as_str(), if line.ended { "\n" } else { "" }])
        .collect()
}

#[cfg(test)]
mod tests {
    use dunlin_host::edit::Diff;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_has_two_sides() {
        let diff = Diff::between("a\nb\nc\n", "a\nB\nc");
        let [hunk] = diff.hunks.as_slice() else {
            panic!("{diff:?}");
        };
        assert_eq!(side(hunk, Change::Removed), "a\nb\nc\n");
        assert_eq!(side(hunk, Change::Added), "a\nB\nc");
    }

    #[test]
    fn results_are_bounded_and_no_markdown() {
        assert_eq!(fenced("a"), "```\na\n```");
        assert_eq!(fenced("```\n# b\n```\n"), "````\n```\n# b\n```\n````");
        let long = fenced(&"ä".repeat(MAX_RESULT_BYTES));
        assert!(long.len() < MAX_RESULT_BYTES + 100, "{}", long.len());
        assert!(
            long.ends_with("more bytes\n```"),
            "{}",
            &long[long.len() - 40..]
        );
    }

    #[test]
    fn a_past_call_has_its_result() {
        let mut record = CallRecord::sample("read_file", json!({"file_path": "a.txt"}));
        record.state = CallState::Denied;
        record.result = Some("ERROR: denied".to_owned());
        let call = serde_json::to_value(of_past(&record)).unwrap();
        assert_eq!(
            call,
            json!({
                "toolCallId": "1",
                "title": "read_file a.txt",
                "kind": "read",
                "status": "failed",
                "content": [{"type": "content", "content": {"type": "text", "text": "```\nERROR: denied\n```"}}],
                "rawInput": {"file_path": "a.txt"},
            })
        );
    }
}
