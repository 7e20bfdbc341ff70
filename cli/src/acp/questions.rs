//! Asks the client's user what Dunlin asks at a terminal: the same question in the same words, with the same answers.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use dunlin_host::ask::{Answer, Scope, TextQuestion};
use dunlin_host::call::Action;
use dunlin_host::display::{escape, one_line};
use dunlin_host::edit::FileEdit;
use dunlin_terminal::approval::entry::Entry;
use dunlin_terminal::approval::look::{self, Window};
use dunlin_terminal::ui::question::meant;
use dunlin_terminal::ui::style::Styles;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::calls;
use super::client::Client;
use super::prompt::fence;
use super::updates::Known;
use super::wire::{
    Call, Content, OptionKind, Outcome, Permission, PermissionOption, RequestPermission, Status,
    Update,
};
use crate::prompt::question_handler::QuestionHandler;

/// How wide a question is laid out, in columns.
const COLUMNS: usize = 100;

/// The field of a form that takes an answer in words.
const ANSWER_FIELD: &str = "answer";

/// What a client can answer, what stands on its button, and what it means.
const OPTIONS: [(PermissionOption, Answer); 5] = [
    option(
        "allow",
        "Allow once",
        OptionKind::AllowOnce,
        true,
        Scope::Once,
    ),
    option(
        "allow_session",
        "Allow for this session",
        OptionKind::AllowAlways,
        true,
        Scope::Session,
    ),
    option(
        "allow_always",
        "Always allow",
        OptionKind::AllowAlways,
        true,
        Scope::Always,
    ),
    option(
        "reject",
        "Reject",
        OptionKind::RejectOnce,
        false,
        Scope::Once,
    ),
    option(
        "reject_always",
        "Never allow",
        OptionKind::RejectAlways,
        false,
        Scope::Always,
    ),
];

const fn option(
    option_id: &'static str,
    name: &'static str,
    kind: OptionKind,
    allow: bool,
    scope: Scope,
) -> (PermissionOption, Answer) {
    let option = PermissionOption {
        option_id,
        name,
        kind,
    };
    (option, Answer { allow, scope })
}

/// Asks for one session.
pub(super) struct Questions {
    pub(super) client: Arc<Client>,
    pub(super) session: String,
    /// The calls that the client was told of.
    pub(super) known: Arc<Known>,
    /// Whether the turn is to end.
    pub(super) cancelled: Arc<watch::Sender<bool>>,
    /// Numbers the questions about other calls.
    pub(super) last: AtomicU64,
}

#[async_trait]
impl QuestionHandler for Questions {
    async fn decide(&self, entry: &Entry) -> Option<Answer> {
        let question = &entry.question;
        let is_own = entry.subagent.is_none() && self.known.has(&question.call);
        // A call of a subagent, or one that the user made, has a place of its own in the conversation.
        let tool_call_id = match is_own {
            true => question.call.clone(),
            // With a space, which no id of the model's has: a later call must not get the place of a question.
            false => format!("question {}", self.last.fetch_add(1, Ordering::Relaxed) + 1),
        };
        let (content, options) = shown(entry);
        let call = Call {
            tool_call_id: tool_call_id.clone(),
            title: Some(title(entry)),
            kind: Some(calls::kind(&question.tool, &question.actions)),
            status: Some(Status::Pending),
            content: Some(content),
            locations: Some(calls::locations(&question.needs, &question.actions)),
            raw_input: (!question.arguments.is_null()).then(|| question.arguments.clone()),
        };
        let request = RequestPermission {
            session_id: &self.session,
            tool_call: call,
            options: options.iter().map(|(option, _)| option.clone()).collect(),
        };
        let answered = self.client.ask("session/request_permission", request).await;
        let answer = match answered {
            Ok(result) => answer(result, &options),
            Err(why) => {
                let why = one_line(&why);
                let text = format!("The editor cannot ask, so the call is denied: {why}\n\n");
                self.client.update(&self.session, &Update::message(text));
                Some(Answer::DENY)
            }
        };
        if answer.is_none() {
            self.cancelled.send_replace(true);
        }
        if !is_own {
            let is_allowed = answer.is_some_and(|answer| answer.allow);
            let update = Update::ToolCallChanged(Call {
                tool_call_id,
                status: Some(match is_allowed {
                    true => Status::Completed,
                    false => Status::Failed,
                }),
                ..Call::default()
            });
            self.client.update(&self.session, &update);
        }
        answer
    }

    async fn text(&self, question: &TextQuestion) -> Option<String> {
        // The protocol forbids to ask for secrets with a form.
        if question.secret || !self.takes_texts() {
            return None;
        }
        let request = form(&self.session, question);
        let answer = self.client.ask("elicitation/create", request).await.ok()?;
        if answer.get("action")? != "accept" {
            return None;
        }
        let answer = answer.get("content")?.get(ANSWER_FIELD)?.as_str()?;
        Some(meant(answer, &question.options))
    }

    fn takes_texts(&self) -> bool {
        self.client.has_forms()
    }

    async fn cancelled(&self) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.cancelled.subscribe().wait_for(|it| *it).await;
    }
}

/// The question in one line.
fn title(entry: &Entry) -> String {
    let wording = one_line(&entry.question.wording);
    match &entry.subagent {
        Some(name) => format!("[{}] {wording}", one_line(name)),
        None => wording,
    }
}

/// What is shown of a question, and how it can be answered.
fn shown(entry: &Entry) -> (Vec<Content>, Vec<(PermissionOption, Answer)>) {
    let (rest, edits) = without_diffs(entry);
    let window = Window {
        columns: COLUMNS,
        rows: usize::MAX,
        styles: Styles::plain(),
    };
    let view = look::view(&rest, false, window);
    let mut text = view.rows.join("\n");
    if !view.complete {
        text.push_str("\n  ! There is more of it than can be shown, so it cannot be allowed here.");
    }
    let fence = fence(&text);
    let mut content = vec![Content::text(format!("{fence}\n{text}\n{fence}"))];
    content.extend(calls::diffs(&edits));
    let can_be_given = |answer: Answer| match answer {
        Answer { allow: false, .. } => entry.refuses(answer).is_none(),
        answer => view.complete && entry.refuses(answer).is_none(),
    };
    let options = OPTIONS.into_iter();
    let options = options.filter(|(_, answer)| can_be_given(*answer));
    (content, options.collect())
}

/// The question without edits that the client shows, and those. An edit with characters that nobody sees stays in the
/// question, where they are written out.
fn without_diffs(entry: &Entry) -> (Entry, Vec<FileEdit>) {
    let mut rest = entry.clone();
    let mut edits = Vec::new();
    rest.question.actions.retain(|action| match action {
        Action::Edit(edit) if edit.is_of_text() && is_plain(edit) => {
            edits.push(edit.clone());
            false
        }
        _ => true,
    });
    if !edits.is_empty() {
        let broken = edits.iter().filter_map(FileEdit::broken);
        rest.question.notices.extend(broken);
        // They say the same again.
        rest.question.arguments = Value::Null;
    }
    (rest, edits)
}

/// Whether all that an edit writes can be seen. Tabs can.
fn is_plain(edit: &FileEdit) -> bool {
    let lines = edit.diff.hunks.iter().flat_map(|hunk| &hunk.lines);
    let mut texts = lines.map(|line| line.text.replace('\t', " "));
    texts.all(|text| escape(&text) == text)
}

/// What the client has answered. `None`: it wants no more of the turn. An option that was not offered is a no.
fn answer(result: Value, options: &[(PermissionOption, Answer)]) -> Option<Answer> {
    let chosen = match serde_json::from_value::<Permission>(result) {
        Ok(Permission {
            outcome: Outcome::Cancelled,
        }) => return None,
        Ok(Permission {
            outcome: Outcome::Selected { option_id },
        }) => option_id,
        Err(_) => return Some(Answer::DENY),
    };
    let option = options.iter().find(|(it, _)| it.option_id == chosen);
    Some(option.map_or(Answer::DENY, |(_, answer)| *answer))
}

/// A question as a form with one field.
fn form(session: &str, question: &TextQuestion) -> Value {
    let (who, text) = (&question.tool, &question.question);
    let mut message = match &question.server {
        Some(server) => format!("The MCP server '{server}' asks, and gets your answer: {text}"),
        None => format!("{who} asks: {text}"),
    };
    for (number, option) in (1..).zip(&question.options) {
        // Writing into a text cannot fail.
        let _ = write!(message, "\n{number}. {option}");
    }
    let title = match question.options.len() {
        0 => "Answer".to_owned(),
        count => format!("1 to {count}, or an answer of your own"),
    };
    json!({
        "sessionId": session,
        "toolCallId": question.call,
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {ANSWER_FIELD: {"type": "string", "title": title}},
            "required": [ANSWER_FIELD],
        },
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use dunlin_host::ask::{Origin, Question};
    use dunlin_host::target::{Need, Operation, Target};

    use super::*;

    fn entry(longest: Scope) -> Entry {
        let need = Need {
            target: Target::Path(PathBuf::from("/q/a")),
            operation: Operation::Read,
        };
        let question = Question {
            call: "c".to_owned(),
            tool: "read_file".to_owned(),
            arguments: json!({"file_path": "/q/a"}),
            wording: "Read file '/q/a'?\u{202e}\n```".to_owned(),
            lasting: vec![need.clone()],
            needs: vec![need],
            actions: Vec::new(),
            notices: vec!["Outside the project.".to_owned()],
            longest,
            origin: Origin::Declared,
        };
        Entry::asked(1, question)
    }

    fn ids(entry: &Entry) -> Vec<&'static str> {
        let (_, options) = shown(entry);
        options.iter().map(|(option, _)| option.option_id).collect()
    }

    #[test]
    fn what_can_be_answered_is_offered() {
        let rejects = ["reject", "reject_always"];
        assert_eq!(
            ids(&entry(Scope::Always)),
            [
                "allow",
                "allow_session",
                "allow_always",
                "reject",
                "reject_always"
            ]
        );
        let session = ["allow", "allow_session"];
        assert_eq!(ids(&entry(Scope::Session)), [session, rejects].concat());
        assert_eq!(
            ids(&entry(Scope::Once)),
            [&["allow"][..], &rejects].concat()
        );
        // Not all of it can be shown.
        let mut long = entry(Scope::Always);
        long.question.arguments = json!({"file_path": "x".repeat(200_000)});
        assert_eq!(ids(&long), rejects);
    }

    #[test]
    fn the_question_is_that_of_the_terminal() {
        let (content, _) = shown(&entry(Scope::Always));
        let [Content::Content { content }] = content.as_slice() else {
            panic!("{content:?}");
        };
        let text = &content.text;
        // The fence is longer than any within it.
        assert!(
            text.starts_with("````\n") && text.ends_with("\n````"),
            "{text}"
        );
        for said in [
            "read    /q/a",
            "always, never: in all projects; undo: dunlin permissions ask read /q/a",
            "! Outside the project.",
            "\\u{202e}\\n",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert_eq!(
            title(&entry(Scope::Once)),
            "Read file '/q/a'?\\u{202e}\\n```"
        );
    }

    #[test]
    fn only_what_was_offered_is_an_answer() {
        let (_, options) = shown(&entry(Scope::Once));
        let selected = |id: &str| {
            let result = json!({"outcome": {"outcome": "selected", "optionId": id}});
            answer(result, &options)
        };
        let yes = Answer {
            allow: true,
            scope: Scope::Once,
        };
        assert_eq!(selected("allow"), Some(yes));
        for other in ["allow_always", "allow_session", "Allow once", "", "reject"] {
            assert_eq!(selected(other), Some(Answer::DENY), "{other}");
        }
        assert_eq!(
            answer(json!({"outcome": {"outcome": "cancelled"}}), &options),
            None
        );
        for broken in [json!(null), json!({"outcome": "selected"}), json!([1])] {
            assert_eq!(answer(broken, &options), Some(Answer::DENY));
        }
    }

    #[test]
    fn a_form_says_who_asks() {
        let mut question = TextQuestion {
            call: "c".to_owned(),
            tool: "ask_user".to_owned(),
            question: "Which?".to_owned(),
            options: vec!["a".to_owned(), "b".to_owned()],
            server: None,
            secret: false,
        };
        assert_eq!(
            form("s", &question)["message"],
            "ask_user asks: Which?\n1. a\n2. b"
        );
        question.server = Some("far".to_owned());
        let message = form("s", &question)["message"].to_string();
        assert!(
            message.starts_with("\"The MCP server 'far' asks"),
            "{message}"
        );
    }
}
