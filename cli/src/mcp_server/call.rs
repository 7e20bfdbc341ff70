//! One call of a client: the same way as a model's, with nobody to ask for permission.

use std::fmt::Write;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use dunlin_host::ask::{Answer, Ask, Question, Scope, TextQuestion};
use dunlin_host::call::{Call, Failure, Outcome, Plan, PlanStatus, Success};
use dunlin_host::display::escape;
use dunlin_host::target::Need;
use dunlin_host::{Host, Progress};
use parking_lot::Mutex;
use rmcp::model::{
    CallToolResult, CancelledNotificationParam, ClientResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, ElicitationAction, ElicitationSchema, ProtocolVersion, RequestId,
    ResourceContents, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RoleServer};
use serde_json::json;

use dunlin_terminal::approval::storing;

/// The field of a form in which the user answers a tool's question.
const ANSWER_FIELD: &str = "answer";

/// Whether the client lets a server put a form before its user. It may do so for a question in words; permission
/// is no such question: a client could answer it by itself.
pub(super) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let forms = context
        .client_capabilities()
        .and_then(|client| client.elicitation)
        // One that names no kind at all means forms, which were the only kind once.
        .is_some_and(|forms| forms.form.is_some() || forms.url.is_none());
    let version = context.protocol_version();
    // From then on a server makes no requests of its own.
    forms && version.is_some_and(|version| version < ProtocolVersion::V_2026_07_28)
}

/// Who called.
pub(super) struct Caller {
    /// Where its user can be asked for a text; `None`: nowhere.
    peer: Option<Peer<RoleServer>>,
    /// The form that their user is shown at this moment.
    shown: Mutex<Option<RequestId>>,
    /// What a running call was denied because nobody could be asked.
    unasked: Mutex<Vec<Need>>,
}

impl Caller {
    pub(super) fn new(context: &RequestContext<RoleServer>) -> Caller {
        Caller {
            peer: can_ask(context).then(|| context.peer.clone()),
            shown: Mutex::default(),
            unasked: Mutex::default(),
        }
    }

    fn shows(&self, form: Option<RequestId>) -> Option<RequestId> {
        let mut shown = self.shown.lock();
        std::mem::replace(&mut shown, form)
    }

    /// Tells the client that a form is of no use any more, if it still shows one.
    pub(super) async fn withdraw(&self) {
        if let (Some(form), Some(peer)) = (self.shows(None), &self.peer) {
            let about = CancelledNotificationParam::new(Some(form), None);
            // A client that does not hear of it asks for an answer that nobody takes.
            let _ = peer.notify_cancelled(about).await;
        }
    }
}

#[async_trait]
impl Ask for Caller {
    async fn ask(&self, _question: Question) -> Answer {
        Answer::DENY
    }

    async fn ask_text(&self, question: TextQuestion) -> Option<String> {
        // The protocol forbids to ask for secrets with a form.
        if question.secret {
            return None;
        }
        let request = ElicitRequest::new(form(&question)?);
        let request = ServerRequest::ElicitRequest(request);
        let peer = self.peer.as_ref()?;
        let options = PeerRequestOptions::no_options();
        let asked = peer.send_cancellable_request(request, options).await.ok()?;
        self.shows(Some(asked.id.clone()));
        let answered = asked.await_response().await;
        self.shows(None);
        let Ok(ClientResult::ElicitResult(answer)) = answered else {
            return None;
        };
        if answer.action != ElicitationAction::Accept {
            return None;
        }
        let content = answer.content?;
        Some(chosen(
            content.get(ANSWER_FIELD)?.as_str()?,
            &question.options,
        ))
    }

    fn is_attended(&self) -> bool {
        false
    }

    fn answers_texts(&self) -> bool {
        self.peer.is_some()
    }

    fn went_unasked(&self, question: &Question) {
        let mut unasked = self.unasked.lock();
        for need in &question.needs {
            if !unasked.contains(need) {
                unasked.push(need.clone());
            }
        }
    }
}

/// A question as a form with one field.
fn form(question: &TextQuestion) -> Option<ElicitRequestParams> {
    let mut message = format!("{} asks: {}", question.tool, question.question);
    for (number, option) in (1..).zip(&question.options) {
        // Writing into a text cannot fail.
        let _ = write!(message, "\n{number}. {option}");
    }
    let title = match question.options.len() {
        0 => "Answer".to_owned(),
        count => format!("1 to {count}, or an answer of your own"),
    };
    let schema = json!({
        "type": "object",
        "properties": {ANSWER_FIELD: {"type": "string", "title": title}},
        "required": [ANSWER_FIELD],
    });
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: serde_json::from_value::<ElicitationSchema>(schema).ok()?,
    })
}

/// The option that a number means, or the answer itself.
fn chosen(answer: &str, options: &[String]) -> String {
    let number = answer.trim().parse::<usize>().ok();
    let option = number.and_then(|number| options.get(number.checked_sub(1)?));
    option.map_or(answer, String::as_str).to_owned()
}

/// A call on its way. The host hears of it when this is dropped, as a rule in the middle.
pub(super) struct Running {
    host: Host,
    call: Call,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.host.cancelled(&self.call);
    }
}

impl Running {
    pub(super) fn new(host: Host, call: Call) -> Running {
        Running { host, call }
    }

    /// The name of the tool.
    pub(super) fn tool(&self) -> &str {
        &self.call.tool
    }

    /// Runs it if that is allowed. Dropping the future stops it.
    pub(super) async fn run(
        &self,
        caller: Arc<Caller>,
        progress: Arc<dyn Progress>,
    ) -> CallToolResult {
        let plan = match self.host.prepare(&self.call).await {
            Ok(plan) => plan,
            Err(failure) => return failed(&failure, ""),
        };
        match &plan.status {
            PlanStatus::Allowed => {}
            PlanStatus::Ask {
                lasting, longest, ..
            } => {
                // For the audit log. What it cannot take is told as well.
                if let Err(failure) = self.host.answer(&self.call, &plan, Answer::DENY).await {
                    return failed(&failure, "");
                }
                return denied(&plan, &self.way_out(lasting, *longest));
            }
            PlanStatus::Denied { need, rule, revert } => {
                let way_out = match revert {
                    Some(_) => self.way_out(need.as_slice(), Scope::Always),
                    None => "\nNothing can allow it.".to_owned(),
                };
                return denied(&plan, &format!("\nThe reason: {}{way_out}", escape(rule)));
            }
        }
        // Each call is a turn of its own, for what can be taken back.
        self.host.begin_turn();
        let asker: Arc<dyn Ask> = caller.clone();
        let outcome = self.host.run(&self.call, &plan, asker, progress).await;
        self.result(outcome, &caller)
    }

    /// How a call ended that was dropped only while hooks were running after it.
    pub(super) fn ended(&self, caller: &Caller) -> Option<CallToolResult> {
        let outcome = self.host.cancelled(&self.call)?;
        Some(self.result(outcome, caller))
    }

    fn result(&self, outcome: Outcome, caller: &Caller) -> CallToolResult {
        match outcome.result {
            Ok(mut success) => {
                success.text.push_str(&outcome.said);
                succeeded(success)
            }
            Err(failure) => {
                let unasked = caller.unasked.lock();
                let way_out = match unasked.as_slice() {
                    [] => String::new(),
                    needs => self.way_out(needs, Scope::Always),
                };
                failed(&failure, &format!("{way_out}{}", outcome.said))
            }
        }
    }

    /// How the user allows this, in lines. `longest`: for how long it could be.
    fn way_out(&self, needs: &[Need], longest: Scope) -> String {
        if longest < Scope::Always {
            return "\nThis is asked about each time, which only Dunlin's own chat can do; it cannot be \
                    allowed beforehand."
                .to_owned();
        }
        let ways = self.host.permissions().ways_to_allow(needs);
        if ways.is_empty() {
            return "\nNothing can allow it.".to_owned();
        }
        let mut text =
            "\nNobody is asked here: what is not allowed beforehand is denied. The user can \
                        allow it with"
                .to_owned();
        for way in ways {
            let _ = write!(text, "\n  {}", storing::command(&way));
        }
        text
    }
}

fn denied(plan: &Plan, way_out: &str) -> CallToolResult {
    let question = escape(&plan.question).into_owned();
    let denied = Failure::Denied {
        question,
        by_user: false,
    };
    failed(&denied, way_out)
}

fn failed(failure: &Failure, way_out: &str) -> CallToolResult {
    let text = format!("{}{way_out}", failure.for_model());
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn succeeded(mut success: Success) -> CallToolResult {
    let structured = success.structured.take();
    let mut result = CallToolResult::success(content(success));
    result.structured_content = structured;
    result
}

/// The parts of a result. A text is there even when it is empty, unless something else is.
fn content(success: Success) -> Vec<ContentBlock> {
    let mut parts = Vec::new();
    if !success.text.is_empty() || success.blobs.is_empty() {
        parts.push(ContentBlock::text(success.text));
    }
    for (number, (media_type, bytes)) in (1..).zip(success.blobs) {
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        let kind = media_type.split('/').next().unwrap_or_default();
        parts.push(match kind {
            "image" => ContentBlock::image(data, media_type),
            "audio" => ContentBlock::audio(data, media_type),
            _ => {
                let blob = ResourceContents::blob(data, format!("dunlin:result/{number}"));
                ContentBlock::resource(blob.with_mime_type(media_type))
            }
        });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_parts() {
        let check = |text: &str, blobs: &[&str], expected: &[&str]| {
            let parts = content(Success {
                text: text.to_owned(),
                blobs: blobs
                    .iter()
                    .map(|&kind| (kind.to_owned(), vec![1, 2]))
                    .collect(),
                structured: None,
                note: None,
                has_failed: false,
            });
            let parts = serde_json::to_value(parts).unwrap();
            let kinds: Vec<&str> = parts
                .as_array()
                .unwrap()
                .iter()
                .map(|part| part["type"].as_str().unwrap())
                .collect();
            assert_eq!(kinds, expected);
        };
        check("a", &[], &["text"]);
        check("", &[], &["text"]);
        check("", &["image/png"], &["image"]);
        check(
            "a",
            &["audio/wav", "application/pdf"],
            &["text", "audio", "resource"],
        );
    }

    #[test]
    fn a_number_chooses_and_words_stay() {
        let options = ["red".to_owned(), "blue".to_owned()];
        for (answer, expected) in [
            ("2", "blue"),
            (" 1 ", "red"),
            ("0", "0"),
            ("3", "3"),
            ("green", "green"),
        ] {
            assert_eq!(chosen(answer, &options), expected);
        }
        let question = TextQuestion {
            call: "c".to_owned(),
            tool: "ask_user".to_owned(),
            question: "Which?".to_owned(),
            options: options.to_vec(),
            server: None,
            secret: false,
        };
        let form = serde_json::to_value(form(&question).unwrap()).unwrap();
        assert_eq!(form["message"], "ask_user asks: Which?\n1. red\n2. blue");
        assert_eq!(form["requestedSchema"]["required"], json!(["answer"]));
    }
}
