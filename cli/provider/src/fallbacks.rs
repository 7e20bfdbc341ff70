//! What an endpoint teaches by refusing.
//!
//! There is no form of a request that every server accepts, and none of them says beforehand what it wants.
//! Most say it when they refuse. Each fallback changes one thing in the [`Profile`], for this endpoint and model
//! and until the dialogue ends; the request is then composed anew and sent again by whoever sent it. A fallback
//! is learned only from a request that had what was refused, and each at most once or twice, so this comes to
//! an end. If the next request is refused too, what was learned since the last success was wrong and is
//! forgotten.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use super::error_body;
use super::parts::string;
use super::profile::{
    CACHE_CONTROL, ENCRYPTED, EffortForm, Profile, REASONING_EFFORT, REASONING_SUMMARY, REPLAY,
};
use super::schema::Keyword;
use dunlin_chat::endpoint::{EmptyContent, MaxTokensField, ReasoningEcho};
use dunlin_chat::media::{self, MediaKind};
use dunlin_chat::provider::error::{ProfileChange, Refusal};

/// Most fallbacks between two requests that are accepted. More than three at once were never seen.
const MAX_FALLBACKS: u32 = 6;

/// The profile of an endpoint, and what it has learned.
#[derive(Debug)]
pub(super) struct Fallbacks(Mutex<State>);

#[derive(Debug)]
struct State {
    /// What the next request is written by.
    current: Arc<Profile>,
    /// What the last accepted request was written by.
    proven: Arc<Profile>,
    /// Fallbacks since then.
    unproven: u32,
}

impl Fallbacks {
    /// Begins with this profile.
    pub(super) fn new(profile: Profile) -> Fallbacks {
        let profile = Arc::new(profile);
        Fallbacks(Mutex::new(State {
            current: profile.clone(),
            proven: profile,
            unproven: 0,
        }))
    }

    /// What the next request is to be written by.
    pub(super) fn profile(&self) -> Arc<Profile> {
        self.state().current.clone()
    }

    pub(super) fn accepted(&self) {
        let mut state = self.state();
        state.proven = state.current.clone();
        state.unproven = 0;
    }

    /// A request was refused. `text` is the whole body of the refusal, `sent` that of the request.
    pub(super) fn refused(
        &self,
        refusal: &Refusal,
        text: &str,
        sent: &Value,
    ) -> Option<ProfileChange> {
        // A busy server says nothing about the request.
        if !matches!(refusal.status, 400 | 404 | 422 | 500 | 501) || refusal.overflow.is_some() {
            return None;
        }
        let mut state = self.state();
        let fallback = (state.unproven < MAX_FALLBACKS)
            .then(|| fallback(&state.current, refusal.status, text, sent))
            .flatten();
        match fallback {
            Some((profile, notice)) => {
                state.current = Arc::new(profile);
                state.unproven += 1;
                let message = error_body::one_line(&refusal.message);
                let notice = notice.map(|notice| format!("{notice} ({message})"));
                Some(ProfileChange { notice })
            }
            None => {
                state.current = state.proven.clone();
                state.unproven = 0;
                None
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

/// The profile that avoids what was refused, and what the user should know of it.
fn fallback(
    profile: &Profile,
    status: u16,
    text: &str,
    sent: &Value,
) -> Option<(Profile, Option<String>)> {
    let text = text.to_lowercase();
    let says = |any: &[&str]| any.iter().any(|words| text.contains(words));
    let mut changed = profile.clone();
    let mut notice = None;
    // The wrong status for a request that cannot be served; only these sentences are known to come with it.
    let about_request = matches!(status, 400 | 422);

    if about_request && profile.include_usage && says(&["stream_options", "include_usage"]) {
        changed.include_usage = false;
    } else if about_request
        && sent.get(profile.max_tokens_field.name()).is_some()
        && limit_is_misnamed(profile, &text)
    {
        changed.max_tokens_field = match profile.max_tokens_field {
            MaxTokensField::MaxTokens => MaxTokensField::MaxCompletionTokens,
            MaxTokensField::MaxCompletionTokens => MaxTokensField::MaxTokens,
        };
    } else if about_request && let Some(allowed) = max_tokens_allowed(&text, sent, profile) {
        changed.max_tokens_allowed = Some(allowed);
        notice = Some(format!("max_tokens is {allowed} from here on"));
    } else if about_request && sent.get("truncate").is_some() && says(&["truncate"]) {
        changed.options_left_out.insert("truncate");
    } else if about_request
        && let Some(option) = ["temperature", "top_p"]
            .into_iter()
            .find(|option| sent.get(option).is_some() && says(&[option]) && says(REFUSED))
    {
        changed.options_left_out.insert(option);
        notice = Some(format!("{option} is not sent from here on"));
    } else if about_request
        && has_block(sent, CACHE_CONTROL)
        && says(&[CACHE_CONTROL])
        && says(REFUSED)
    {
        changed.options_left_out.insert(CACHE_CONTROL);
        notice = Some("no cache is asked for from here on".to_owned());
    } else if about_request && sent.get(ENCRYPTED).is_some() && says(ENCRYPTED_REFUSED) {
        // A model that does not think has nothing that could go back.
        changed.options_left_out.insert(ENCRYPTED);
    } else if about_request
        && sent.pointer("/reasoning/summary").is_some()
        && says(&["reasoning.summary", "reasoning summar"])
    {
        changed.options_left_out.insert(REASONING_SUMMARY);
        notice = Some("the model's reasoning is not shown from here on".to_owned());
    } else if about_request && goes_back(sent) && says(FOREIGN_REASONING) {
        changed.options_left_out.insert(REPLAY);
        notice = Some("earlier reasoning is not sent back from here on".to_owned());
    } else if about_request && asks_for_effort(sent) && says(EFFORT) && says(EFFORT_REFUSED) {
        let has_other_form = is_effort_level(sent) && !says(&["support thinking"]);
        if has_other_form && profile.effort == EffortForm::Level {
            changed.effort = EffortForm::Switch;
        } else {
            changed.options_left_out.insert(REASONING_EFFORT);
            notice = Some("reasoning_effort is not sent from here on".to_owned());
        }
    } else if sent.get("tools").is_some() && takes_no_tools(&text) {
        changed.offers_tools = false;
        notice = Some(
            "the model takes no tools: from here on they are described in the system prompt"
                .to_owned(),
        );
    } else if profile.takes.images && says(NO_IMAGES) && has(sent, MediaKind::Image) {
        // Otherwise the conversation would be refused for as long as the image is in it.
        changed.takes.images = false;
        notice = Some("the model takes no images: they are only named from here on".to_owned());
    } else if profile.takes.documents && says(NO_DOCUMENTS) && has(sent, MediaKind::Document) {
        changed.takes.documents = false;
        notice =
            Some("the model takes no PDF documents: they are only named from here on".to_owned());
    } else if about_request && has_reasoning(sent) && says(REASONING) && says(REFUSED) {
        changed.reasoning = ReasoningEcho::Never;
    } else if about_request
        && profile.reasoning == ReasoningEcho::Never
        && says(REASONING)
        && says(&["must be", "missing", "required", "pass", "provide"])
    {
        changed.reasoning = ReasoningEcho::WithCalls;
        if text.contains("reasoning_content") {
            changed.reasoning_field = Some("reasoning_content");
        }
    } else if about_request && sent.get("tools").is_some() && says(SCHEMA) {
        changed.schema_without = schema_fallback(profile, &text)?;
    } else if has_bare_calls(sent) && text.contains("content") && says(BAD_CONTENT) {
        changed.content_beside_calls =
            match (profile.content_beside_calls, profile.contents_refused) {
                (_, 2..) => return None,
                (EmptyContent::Empty, _) => EmptyContent::Null,
                (EmptyContent::Null, _) => EmptyContent::Omit,
                (EmptyContent::Omit, _) => EmptyContent::Empty,
            };
        changed.contents_refused += 1;
    } else if about_request && sent.get("tools").is_some() && says(PARAMETERS) {
        changed.schema_without = schema_fallback(profile, &text)?;
    } else {
        return None;
    }
    Some((changed, notice))
}

/// Words for a thing that is not taken.
const REFUSED: &[&str] = &[
    "unsupported",
    "not support",
    "not permitted",
    "not allowed",
    "unknown",
    "unexpected",
    "unrecognized",
    "extra",
    "cannot both be specified",
    "deprecated",
    "not accepted",
    "may only be set",
    "or unset",
];

/// Sentences about images that a model cannot see. Some servers know no content but text.
const NO_IMAGES: &[&str] = &[
    "image_url is only supported",
    "image input is not supported",
    "image input is not enabled",
    "not a multimodal model",
    "not support image",
    "support image input",
    "unknown variant `image_url`",
    "at most 0 image",
    "missing data required for image input",
    "content must be a string",
];

/// Sentences about documents that a model cannot read.
const NO_DOCUMENTS: &[&str] = &[
    "unknown variant `file`",
    "unsupported content[].type",
    "not support file",
    "not support pdf",
    "not support document",
    "content must be a string",
];

/// Words for how much a model thinks.
const EFFORT: &[&str] = &["effort", "think"];

/// Words for an effort that is not taken, or not in the form in which it is asked for.
const EFFORT_REFUSED: &[&str] = &[
    "unsupported",
    "not support",
    "not permitted",
    "not allowed",
    "unknown",
    "unrecognized",
    "does not match any of the expected",
    // Older models want their reasoning back with the last message, and another model wrote that.
    "must start with a thinking block",
];

/// Words for reasoning that goes back and is not known there again.
const FOREIGN_REASONING: &[&str] = &[
    "signature",
    "different conversation",
    "cannot be modified",
    "encrypted content",
    "encrypted_content",
    "items are not persisted",
    "without its required following item",
];

/// Words for reasoning that cannot be had in a form that goes back.
const ENCRYPTED_REFUSED: &[&str] = &[
    "encrypted content is not supported",
    "unrecognized request argument supplied: include",
    "unsupported parameter: 'include'",
    "unsupported parameter: include",
];

/// The fields that models think in.
const REASONING: &[&str] = &[
    "reasoning_content",
    "reasoning_details",
    "`reasoning`",
    "\"reasoning\"",
    "'reasoning'",
    "thinking",
];

/// Words for the schema of a tool's parameters.
const SCHEMA: &[&str] = &["schema", "function_declarations", "grammar"];

/// Words that may be about it, or about anything else in a request.
const PARAMETERS: &[&str] = &["parameters", "properties", "tools.", "tools["];

/// Words for a `content` that is not taken as it is.
const BAD_CONTENT: &[&str] = &[
    "invalid message content type",
    "string",
    "null",
    "nil",
    "none",
    "required",
    "missing",
    "empty",
    "blank",
    "expected",
];

fn limit_is_misnamed(profile: &Profile, text: &str) -> bool {
    // Too large a number is not a question of its name.
    if text.contains("too large") || text.contains("less than") {
        return false;
    }
    match profile.max_tokens_field {
        MaxTokensField::MaxTokens => text.contains("max_completion_tokens"),
        field => text.contains(field.name()) && REFUSED.iter().any(|words| text.contains(words)),
    }
}

/// Whether any message holds such a thing.
fn has(sent: &Value, kind: MediaKind) -> bool {
    let holds = |message: &Value| {
        let media = media::within(message);
        media
            .iter()
            .any(|media| media.about().format.kind() == kind)
    };
    messages(sent).chain(items(sent)).any(holds)
}

/// The longest reply that there can be, if the sentence names it: `max_tokens: 64000 > 32000, which is the maximum allowed
/// number of output tokens`.
fn max_tokens_allowed(text: &str, sent: &Value, profile: &Profile) -> Option<u32> {
    let asked = sent.get(profile.max_tokens_field.name())?.as_u64()?;
    if !text.contains("maximum allowed number of output tokens") {
        return None;
    }
    let named = text.split_once(&format!("{asked} > "))?.1;
    let digits = named.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|allowed| *allowed > 0)
}

/// Whether any block of a message, or the instructions, has this field.
fn has_block(sent: &Value, field: &str) -> bool {
    let contents = messages(sent).filter_map(|message| message.get("content"));
    let all = contents.chain(sent.get("system")).chain(sent.get("tools"));
    let mut blocks = all.filter_map(Value::as_array).flatten();
    blocks.any(|block| block.get(field).is_some())
}

/// Whether anything goes back that only an endpoint can have written.
fn goes_back(sent: &Value) -> bool {
    has_block(sent, "signature") || items(sent).any(|item| string(item, "type") == "reasoning")
}

fn asks_for_effort(sent: &Value) -> bool {
    let options = [REASONING_EFFORT, "reasoning", "thinking", "think"];
    options.iter().any(|option| sent.get(option).is_some())
}

/// Whether the effort is asked for as a level where there is another form.
fn is_effort_level(sent: &Value) -> bool {
    let kind = sent.pointer("/thinking/type");
    kind.is_some_and(|kind| kind == "adaptive") || sent.get("think").is_some_and(Value::is_string)
}

/// Whether the sentence says that the model, or the server as it was started, takes no tools at all.
fn takes_no_tools(text: &str) -> bool {
    [
        "does not support tool",
        "doesn't support tool",
        "do not support tool",
        "not support tools",
        "not support function call",
        "does not support function",
        "support tool use",
        "tool use is not supported",
        "tools are not supported",
        "tools is not supported",
        "`tools` is not supported",
        "tool calling is not supported",
        "tool calls are not supported",
        "function calling is not supported",
        "function calling is not enabled",
        "unsupported parameter: 'tools'",
        "unsupported parameter: tools",
        "tools param requires --jinja",
        "requires --enable-auto-tool-choice",
    ]
    .iter()
    .any(|words| text.contains(words))
}

/// Whether any message carries reasoning.
fn has_reasoning(sent: &Value) -> bool {
    let fields = ["reasoning_content", "reasoning", "thinking"];
    messages(sent).any(|message| fields.iter().any(|field| message.get(field).is_some()))
        || items(sent).any(|item| string(item, "type") == "reasoning")
}

/// Whether any message has calls and no text.
fn has_bare_calls(sent: &Value) -> bool {
    messages(sent).any(|message| {
        message.get("tool_calls").is_some()
            && message
                .get("content")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .is_empty()
    })
}

fn messages(sent: &Value) -> impl Iterator<Item = &Value> {
    sent.get("messages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn items(sent: &Value) -> impl Iterator<Item = &Value> {
    let items = sent.get("input").and_then(Value::as_array);
    items.into_iter().flatten()
}

/// What schemas are to do without: the keywords that the sentence names or, where it names none, those that
/// are refused most. `None`: nothing more can be done.
fn schema_fallback(profile: &Profile, text: &str) -> Option<std::collections::BTreeSet<Keyword>> {
    let named: Vec<Keyword> = Keyword::named_in(text);
    let more = if named.is_empty() {
        Keyword::REFUSED_MOST.to_vec()
    } else {
        named
    };
    let mut without = profile.schema_without.clone();
    without.extend(more);
    (without != profile.schema_without).then_some(without)
}

#[cfg(test)]
#[path = "fallbacks_tests.rs"]
mod tests;
