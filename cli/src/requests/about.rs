//! What is known of a request, for people and for programs.

use std::borrow::Cow;
use std::time::Duration;

use dunlin_host::display::{escape, grouped, one_line};
use jiff::Timestamp;
use serde::Serialize;

use crate::money;
use dunlin_chat::price::CostDocument;
use dunlin_chat::provider::Usage;
use dunlin_chat::request::editor::{Edit, EditableRequest, RowValue, Section, SectionId};
use dunlin_chat::session::requests::{AnswerEntry, Ending, Kind, LoggedRequest, RequestFile};
use dunlin_chat::tokens::counted;
use dunlin_terminal::ui::calls::elapsed;

/// A request as `--json` prints it. Texts are as they were sent; what acts on a terminal is written as `\uXXXX`.
#[derive(Debug, Serialize)]
pub struct About<'a> {
    pub session: &'a str,
    /// The number in the session.
    pub number: u64,
    pub time: Option<Timestamp>,
    pub kind: Kind,
    pub agent: &'a str,
    /// The model, as it was sent.
    pub model: Cow<'a, str>,
    pub endpoint: &'a str,
    /// The length of the body as sent.
    pub bytes: u64,
    /// Its tokens, as counted before it was sent.
    pub tokens: Option<u64>,
    /// The SHA-256 of the body as sent.
    pub sha256: &'a str,
    /// What was edited before it was sent.
    pub edits: &'a [Edit],
    /// Whether it was sent with changes.
    pub edited: bool,
    /// How it ended; null: Dunlin ended before.
    pub end: Option<Ending>,
    /// Why, where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    pub usage: Option<Usage>,
    pub cost: Option<CostDocument>,
    /// Milliseconds until the first piece of the reply.
    pub first_event_ms: Option<f64>,
    /// Milliseconds until the end.
    pub total_ms: Option<f64>,
}

/// A request with what it consists of.
#[derive(Debug, Serialize)]
pub struct Whole<'a> {
    #[serde(flatten)]
    about: About<'a>,
    /// The body as composed; those that were deleted before it was sent included.
    sections: Vec<SectionAbout<'a>>,
}

/// A section of a request.
#[derive(Debug, Serialize)]
struct SectionAbout<'a> {
    number: usize,
    #[serde(flatten)]
    section: &'a Section,
    edited: bool,
    deleted: bool,
    /// The paths of its values in the body as sent, those in strings that hold JSON included.
    values: Vec<String>,
}

impl<'a> Whole<'a> {
    /// What is known of a request, and its sections.
    pub fn of(about: About<'a>, request: &'a EditableRequest) -> Whole<'a> {
        let sections = request.sections().iter().zip(1..);
        let section = |(section, number)| {
            let rows = request.rows(number).into_iter();
            let leaves = rows.filter(|row| matches!(row.value, RowValue::Leaf(_)));
            SectionAbout {
                number,
                section,
                edited: request.is_edited(number),
                deleted: request.is_deleted(number),
                values: leaves
                    .filter_map(|row| Some(row.path?.to_string()))
                    .collect(),
            }
        };
        Whole {
            about,
            sections: sections.map(section).collect(),
        }
    }
}

impl<'a> About<'a> {
    /// What is known of a request of a session.
    pub fn of(session: &'a str, file: &'a RequestFile, request: &'a LoggedRequest) -> About<'a> {
        let entry = &request.entry;
        let answer = request.answer.as_ref();
        let body = entry.sent_body();
        About {
            session,
            number: entry.number,
            time: request.time,
            kind: entry.kind,
            agent: &entry.agent,
            model: file.model(request),
            endpoint: &entry.endpoint,
            bytes: body.bytes,
            tokens: entry.tokens,
            sha256: &body.sha256,
            edits: file.edits(request),
            edited: entry.is_edited(),
            end: answer.map(|answer| answer.end),
            error: answer.and_then(|answer| answer.error.as_deref()),
            usage: answer.and_then(|answer| answer.usage),
            cost: answer.map(|answer| answer.money.into()),
            first_event_ms: answer.and_then(|answer| answer.first_event_ms),
            total_ms: answer.map(|answer| answer.total_ms),
        }
    }
}

/// How large a request is: `14,212 bytes, 412 tokens`.
pub fn size(request: &LoggedRequest) -> String {
    let bytes = grouped(request.entry.sent_body().bytes);
    match request.entry.tokens {
        Some(tokens) => format!("{bytes} bytes, {} tokens", grouped(tokens)),
        None => format!("{bytes} bytes"),
    }
}

/// How a request ended: `answered in 904 ms`, `refused: 429 too many requests`.
pub fn ending(request: &LoggedRequest) -> String {
    let Some(answer) = &request.answer else {
        return "no answer: Dunlin ended first".to_owned();
    };
    match (answer.end, &answer.error) {
        (Ending::Answered, _) => format!("answered in {}", time(answer.total_ms)),
        (Ending::Interrupted, _) => format!("interrupted after {}", time(answer.total_ms)),
        (end, Some(error)) => format!("{}: {}", end.name(), one_line(error)),
        (end, None) => end.name().to_owned(),
    }
}

/// What an answer has taken: `first piece after 112 ms, all after 904 ms; 93,412 tokens in (92,012 cached), 207 out`.
pub fn cost(answer: &AnswerEntry) -> String {
    let mut cost = match answer.first_event_ms {
        Some(first) => format!("first piece after {}, ", time(first)),
        None => String::new(),
    };
    cost.push_str(&format!("all after {}", time(answer.total_ms)));
    if let Some(usage) = answer.usage {
        cost.push_str(&format!("; {}", spent(usage)));
        if let Some(money) = money::spent(answer.money) {
            cost.push_str(&format!(", {money}"));
        }
    }
    cost
}

/// Tokens: `93,412 tokens in (92,012 cached), 207 out`.
pub fn spent(usage: Usage) -> String {
    let cached = match usage.cached_tokens {
        0 => String::new(),
        cached => format!(" ({} cached)", grouped(cached)),
    };
    let (input, output) = (grouped(usage.input_tokens), grouped(usage.output_tokens));
    format!("{input} tokens in{cached}, {output} out")
}

/// What was edited, one line each.
pub fn edits(edits: &[Edit]) -> Vec<String> {
    let names = |sections: &[SectionId]| {
        let names: Vec<String> = sections.iter().map(ToString::to_string).collect();
        escape(&names.join(", ")).into_owned()
    };
    let line = |edit: &Edit| match edit {
        Edit::Set { target, new, .. } => {
            let target = format!("{} {}", target.section, target.path);
            let verb = if new.is_some() { "set" } else { "remove" };
            format!("{verb} {}", escape(&target))
        }
        Edit::Delete { sections } => format!("delete {}", names(sections)),
        Edit::Restore { sections } => format!("restore {}", names(sections)),
        Edit::Reset => "reset".to_owned(),
    };
    edits.iter().map(line).collect()
}

/// How many edits the request was sent with; 0 as well where only the bodies tell that it was edited.
pub fn net_edits(request: &LoggedRequest, file: &RequestFile) -> usize {
    Edit::net_count(file.edits(request))
}

/// The same in words, if there are any.
pub fn number_of_edits(request: &LoggedRequest, file: &RequestFile) -> Option<String> {
    match (request.entry.is_edited(), net_edits(request, file)) {
        (false, _) => None,
        (true, 0) => Some("edited".to_owned()),
        (true, edits) => Some(counted(edits, "edit", "edits")),
    }
}

/// Milliseconds for people. A file may hold anything.
fn time(milliseconds: f64) -> String {
    let time = Duration::try_from_secs_f64(milliseconds / 1000.0);
    time.map_or_else(|_| "an unknown time".to_owned(), elapsed)
}
