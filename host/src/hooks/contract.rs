//! What a hook reads and what it may answer. `docs/hooks.md` promises all of it to the authors of hooks.
//!
//! The input is one JSON object, the answer is nothing or one JSON object with the fields of its event and no others: a
//! field that is misspelt must not be a decision that nobody hears of.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hook::HookEvent;
use crate::call::{Action, Plan};
use crate::display::{escape, escape_multiline, shorten};
use crate::edit::{EditKind, FileEdit};
use crate::target::{Operation, Target};

/// The version of the input. New fields do not change it.
const VERSION: u32 = 1;

/// Bytes that a hook may answer with: several pages of what a linter says.
pub(super) const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Bytes of the diffs of one call together. A hook reads a larger change from the files.
const MAX_DIFF_BYTES: usize = 256 * 1024;

/// Characters of a text that goes to the model.
const MAX_TEXT_CHARS: usize = 16_000;

/// Characters of why an answer is not one.
const MAX_PROBLEM_CHARS: usize = 200;

/// The end of a turn, in the word that a hook reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnOutcome {
    /// The model has answered.
    Answered,
    /// The model's answer was cut off.
    CutOff,
    /// A call was denied.
    Denied,
    /// The requests of the turn were used up.
    RoundLimit,
    /// The provider failed, or the conversation did not fit.
    Failed,
}

/// What a hook reads.
#[derive(Debug, Serialize)]
pub(super) struct Input<'a> {
    version: u32,
    event: HookEvent,
    session: &'a str,
    turn: u64,
    project: Cow<'a, str>,
    #[serde(flatten)]
    about: About<'a>,
}

/// The part of it that belongs to the event.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum About<'a> {
    /// `before-call`
    Call {
        /// Its id.
        call: &'a str,
        /// The tool's name.
        tool: &'a str,
        /// As the model wrote them.
        arguments: &'a Value,
        /// What it is going to change, as far as its plan says.
        files: Vec<Planned<'a>>,
    },
    /// `after-edit`
    Edits {
        /// The id of the call.
        call: &'a str,
        /// The tool's name.
        tool: &'a str,
        /// What it changed, in that order.
        files: Vec<Edited<'a>>,
    },
    /// `turn-end`
    Turn {
        /// How it ended.
        outcome: TurnOutcome,
    },
}

/// A file that a call is going to change, or a folder in which it may change all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Planned<'a> {
    path: Cow<'a, str>,
}

impl Planned<'_> {
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

/// What a call is going to change, each once.
pub(super) fn planned(plan: &Plan) -> Vec<Planned<'_>> {
    let edited = plan.actions.iter().flat_map(Action::edited_paths);
    let needs = plan.needs.iter();
    let written = needs.filter_map(|need| match &need.target {
        Target::Path(path) if need.operation != Operation::Read => Some(path.as_path()),
        _ => None,
    });
    let mut files: Vec<Planned<'_>> = Vec::new();
    for path in edited.chain(written) {
        let path = path.to_string_lossy();
        if !files.iter().any(|file| file.path == path) {
            files.push(Planned { path });
        }
    }
    files
}

/// A file that was changed.
#[derive(Debug, Serialize)]
pub(super) struct Edited<'a> {
    path: Cow<'a, str>,
    /// `created`, `edited`, `removed` or `renamed`.
    change: &'static str,
    /// The new name of what was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Cow<'a, str>>,
    /// The difference, where it is one of text and not too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl<'a> Input<'a> {
    pub(super) fn new(
        event: HookEvent,
        (session, turn): (&'a str, u64),
        project: &'a Path,
        about: About<'a>,
    ) -> Input<'a> {
        Input {
            version: VERSION,
            event,
            session,
            turn,
            project: project.to_string_lossy(),
            about,
        }
    }

    /// As it is read: one line.
    pub(super) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// What a call changed. Of many large changes the first have their diffs.
pub(super) fn edited(edits: &[FileEdit]) -> Vec<Edited<'_>> {
    let mut room = MAX_DIFF_BYTES;
    let mut one = |edit| {
        let edited = Edited::of(edit, room);
        room -= edited.diff.as_ref().map_or(0, String::len);
        edited
    };
    edits.iter().map(&mut one).collect()
}

impl<'a> Edited<'a> {
    fn of(edit: &'a FileEdit, room: usize) -> Edited<'a> {
        let to = match &edit.kind {
            EditKind::Renamed(to) => Some(to.to_string_lossy()),
            _ => None,
        };
        let diff = match edit.kind {
            EditKind::Text => Some(edit.diff.to_string()),
            _ => None,
        };
        Edited {
            path: edit.path.to_string_lossy(),
            change: match (&to, edit.base, edit.new) {
                (Some(_), ..) => "renamed",
                (None, _, None) => "removed",
                (None, None, Some(_)) => "created",
                (None, Some(_), Some(_)) => "edited",
            },
            to,
            diff: diff.filter(|diff| !diff.is_empty() && diff.len() <= room),
        }
    }
}

/// Why what a hook printed is not an answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the output is neither empty nor {expected}: {problem}")]
pub(super) struct AnswerError {
    expected: &'static str,
    problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    decision: Word,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Allow,
    Deny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    message: String,
}

/// The reason for which a hook denies a call; `None`: it does not. An "allow" allows nothing, it only does not deny.
pub(super) fn denial(printed: &[u8]) -> Result<Option<String>, AnswerError> {
    let expected = r#"{"decision": "allow" or "deny", "reason": "…"}"#;
    let answer: Option<Decision> = read(printed, expected)?;
    Ok(answer.and_then(|answer| match answer.decision {
        Word::Allow => None,
        Word::Deny if answer.reason.trim().is_empty() => Some("no reason given".to_owned()),
        Word::Deny => Some(text(&answer.reason)),
    }))
}

/// What a hook says after something; `None`: nothing.
pub(super) fn message(printed: &[u8]) -> Result<Option<String>, AnswerError> {
    let answer: Option<Message> = read(printed, r#"{"message": "…"}"#)?;
    let message = answer.map(|answer| text(&answer.message));
    Ok(message.filter(|message| !message.is_empty()))
}

/// A text of a hook, bounded, and with nothing in it that acts on a terminal.
fn text(text: &str) -> String {
    shorten(&escape_multiline(text.trim()), MAX_TEXT_CHARS).into_owned()
}

fn read<T: for<'a> Deserialize<'a>>(
    printed: &[u8],
    expected: &'static str,
) -> Result<Option<T>, AnswerError> {
    if printed.trim_ascii().is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(printed).map(Some).map_err(|error| {
        let problem = error.to_string();
        AnswerError {
            expected,
            problem: shorten(&escape(&problem), MAX_PROBLEM_CHARS).into_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::edit::{ContentHash, Diff, FileChange, Syntax};

    #[test]
    fn a_decision_is_a_denial_or_nothing() {
        let check = |printed: &str, expected: Option<&str>| {
            let denial = denial(printed.as_bytes()).unwrap();
            assert_eq!(denial.as_deref(), expected, "{printed}");
        };
        check("", None);
        check(" \n\t", None);
        check(r#"{"decision": "allow"}"#, None);
        check(r#"{"decision": "allow", "reason": "fine"}"#, None);
        check(r#"{"decision": "deny", "reason": " no\n"}"#, Some("no"));
        check(r#"{"decision": "deny"}"#, Some("no reason given"));
        check(
            "{\"decision\": \"deny\", \"reason\": \"a\\u001b[2Jb\\u202e\"}",
            Some("a\\u{1b}[2Jb\\u{202e}"),
        );
        for wrong in [
            "no",
            "true",
            "[]",
            "{}",
            "{} {}",
            r#"{"decision": "ask"}"#,
            r#"{"decision": "Deny"}"#,
            r#"{"decision": "deny", "resaon": "a"}"#,
            r#"{"decision": "allow", "decision": "deny"}"#,
            r#"{"decision": "deny", "reason": 1}"#,
            r#"{"reason": "a"}"#,
            r#"{"message": "a"}"#,
            r#"{"decision": "deny""#,
            "\u{0}",
        ] {
            assert!(denial(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(denial(b"\xff").is_err());
    }

    #[test]
    fn a_message_is_a_text_or_nothing() {
        let check = |printed: &str, expected: Option<&str>| {
            let message = message(printed.as_bytes()).unwrap();
            assert_eq!(message.as_deref(), expected, "{printed}");
        };
        check("", None);
        check(r#"{"message": " "}"#, None);
        check(
            r#"{"message": "a.rs:1: long line\nb"}"#,
            Some("a.rs:1: long line\nb"),
        );
        for wrong in [
            "done",
            "{}",
            r#"{"message": null}"#,
            r#"{"message": "a", "continue": "b"}"#,
            r#"{"decision": "deny"}"#,
        ] {
            assert!(message(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let long = json!({ "message": "é".repeat(2 * MAX_TEXT_CHARS) }).to_string();
        let said = message(long.as_bytes()).unwrap().unwrap();
        assert!(said.chars().count() <= MAX_TEXT_CHARS);
    }

    #[test]
    fn an_error_says_what_is_expected_in_one_short_line() {
        let error = denial(b"formatted 3 files").unwrap_err().to_string();
        let expected = "the output is neither empty nor {\"decision\": \"allow\" or \"deny\", \"reason\": \"…\"}: expected ident at line 1 column 2";
        assert_eq!(error, expected);
        let long = format!("{{\"{}\": 1}}", "\u{1b}x\n".repeat(50_000));
        let error = message(long.as_bytes()).unwrap_err().to_string();
        assert!(error.chars().count() < 400 && !error.contains(['\n', '\u{1b}']));
    }

    proptest! {
        /// No bytes end the program, and no text that acts on a terminal gets through.
        #[test]
        fn any_bytes_are_an_answer_or_an_error(bytes: Vec<u8>, reason: String, field in "decision|reason|message|x") {
            let _ = (denial(&bytes), message(&bytes));
            let answer = json!({ "decision": "deny", "reason": reason }).to_string();
            let reason = denial(answer.as_bytes()).unwrap().unwrap();
            prop_assert!(!reason.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')));
            // Cut anywhere it is an error, never an answer.
            for end in (1..answer.len()).filter(|at| answer.is_char_boundary(*at)) {
                prop_assert!(denial(&answer.as_bytes()[..end]).is_err());
            }
            let other = json!({ field: "deny" }).to_string();
            let _ = (denial(other.as_bytes()), message(other.as_bytes()));
        }
    }

    fn edit(path: &str, (base, new): (Option<&str>, Option<&str>), kind: EditKind) -> FileEdit {
        let hash = |text: &str| ContentHash::of(text.as_bytes());
        FileEdit {
            path: path.into(),
            base: base.map(hash),
            new: new.map(hash),
            new_folder: None,
            diff: Diff::between(base.unwrap_or_default(), new.unwrap_or_default()),
            kind,
            syntax: Syntax::default(),
            change: std::sync::Arc::new(FileChange::Write(String::new())),
            hook: None,
        }
    }

    #[test]
    fn inputs_are_those_that_the_page_shows() {
        let check = |event, about, expected: Value| {
            let project = Path::new("/home/ada/shore");
            let input = Input::new(event, ("s1", 7), project, about);
            let bytes = input.to_bytes().unwrap();
            assert_eq!(bytes.last(), Some(&b'\n'));
            let found: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(found, expected);
        };
        let arguments = json!({ "file_path": "a" });
        let about = About::Call {
            call: "c",
            tool: "edit_file",
            arguments: &arguments,
            files: vec![Planned {
                path: "/home/ada/shore/a".into(),
            }],
        };
        check(
            HookEvent::BeforeCall,
            about,
            json!({
                "version": 1, "event": "before-call", "session": "s1", "turn": 7, "project": "/home/ada/shore",
                "call": "c", "tool": "edit_file", "arguments": { "file_path": "a" },
                "files": [{ "path": "/home/ada/shore/a" }],
            }),
        );
        let edits = [
            edit("/p/a", (Some("1\n"), Some("2\n")), EditKind::Text),
            edit("/p/b", (None, Some("1\n")), EditKind::Text),
            edit("/p/c", (Some("1\n"), None), EditKind::Text),
            edit(
                "/p/d",
                (Some("1\n"), Some("1\n")),
                EditKind::Renamed("/p/e".into()),
            ),
        ];
        let about = About::Edits {
            call: "c",
            tool: "edit_file",
            files: edited(&edits),
        };
        check(
            HookEvent::AfterEdit,
            about,
            json!({
                "version": 1, "event": "after-edit", "session": "s1", "turn": 7, "project": "/home/ada/shore",
                "call": "c", "tool": "edit_file",
                "files": [
                    { "path": "/p/a", "change": "edited", "diff": "@@ -1 +1 @@\n-1\n+2\n" },
                    { "path": "/p/b", "change": "created", "diff": "@@ -0,0 +1 @@\n+1\n" },
                    { "path": "/p/c", "change": "removed", "diff": "@@ -1 +0,0 @@\n-1\n" },
                    { "path": "/p/d", "change": "renamed", "to": "/p/e" },
                ],
            }),
        );
        let about = About::Turn {
            outcome: TurnOutcome::RoundLimit,
        };
        check(
            HookEvent::TurnEnd,
            about,
            json!({
                "version": 1, "event": "turn-end", "session": "s1", "turn": 7, "project": "/home/ada/shore",
                "outcome": "round-limit",
            }),
        );
    }

    #[test]
    fn diffs_are_bounded_together() {
        let large = "x\n".repeat(MAX_DIFF_BYTES / 4);
        let edits =
            ["/a", "/b", "/c"].map(|path| edit(path, (None, Some(large.as_str())), EditKind::Text));
        let files = edited(&edits);
        let has_diff: Vec<bool> = files.iter().map(|file| file.diff.is_some()).collect();
        assert_eq!(has_diff, [true, false, false]);
        assert_eq!(files.len(), 3);
    }
}
