//! Files that the user attaches to a message by mentioning them.
//!
//! They are read by `read_file`, as calls that the user made by hand: the same permissions hold, the same
//! questions are asked, and the audit log has it all. What was read goes to the model behind the words of the
//! message, as part of it, so that the conversation keeps what was sent and later requests begin alike.

use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use dunlin_host::Progress;
use serde_json::json;

use super::hooks::say_slow;
use super::tags::{Tag, Tags};
use super::{Dialogue, HandsOff, interrupted};
use crate::app::App;
use crate::error::CliError;
use crate::mentions::{self, MentionTarget};
use crate::prompt::decider::Decider;
use crate::prompt::line::Recall;
use dunlin_chat::agent::Api;
use dunlin_chat::media::{
    MAX_BASE64_IN_REQUEST, MAX_IN_REQUEST, Media, NotMedia, UnsupportedMedia,
};
use dunlin_chat::message::{Message, UserMessage};
use dunlin_chat::provider::ProposedCall;
use dunlin_chat::turn::{
    CallContext, CallState, CallView, Frontend, OnDenial, TurnEnd, TurnRules, run_calls,
};
use dunlin_host::display::one_line;
use dunlin_host::nearest::nearest;

/// The tool that reads what is attached.
const READER: &str = "read_file";

/// What stands between a message and its files.
const HEADING: &str = "Files that the user attached to this message, with line numbers:";

/// What stands before the names of several images and documents, which go beside the text.
const MEDIA_HEADING: &str =
    "Images and documents that the user attached to this message, in this order:";

/// What stands before the output of commands.
const OUTPUT_HEADING: &str =
    "What commands printed that the user ran and attached to this message:";

/// How many files a message may mention. More is better left to the model to look for.
const MAX_FILES: usize = 50;

/// How many names of a folder are looked at for one that is like a mistyped one.
const MAX_NAMES: usize = 5000;

/// What became of a message that mentions files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attached {
    /// This is to be sent; the first so many bytes are the user's own words.
    Message(UserMessage, usize),
    /// It was nothing but mentions: the files wait for the next message.
    Waiting,
    /// It is not to be sent as it is, and the user should decide anew.
    Back {
        /// Why, one sentence for each file.
        problems: Vec<String>,
        /// Whether reading one of them was denied.
        is_denied: bool,
    },
}

/// A file that cannot be attached.
struct Problem {
    path: String,
    /// Why, for the user.
    sentence: String,
    /// Whether reading it was denied.
    is_denied: bool,
}

impl Problem {
    fn new(path: &str, sentence: String) -> Problem {
        Problem {
            path: path.to_owned(),
            sentence,
            is_denied: false,
        }
    }
}

/// The user's own words in a message: what stands before its files.
pub fn words(message: &Message) -> &str {
    let content = message.content.as_str();
    let headings = [HEADING, MEDIA_HEADING].iter();
    let ends = headings.filter_map(|heading| content.find(&format!("\n\n{heading}\n")));
    match ends.min().and_then(|end| content.get(..end)) {
        Some(words) if !message.attached.is_empty() => words,
        _ => content,
    }
}

impl Dialogue {
    /// The attached files.
    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// The attached files, to take some away.
    pub fn tags_mut(&mut self) -> &mut Tags {
        &mut self.tags
    }

    /// Reads the files that a message mentions, asking where that has to be asked, and puts them behind it.
    /// Nothing is sent. A message that came back and comes again as it was is sent without what was wrong with it. `given` goes
    /// with it, too.
    pub fn attach(
        &mut self,
        app: &App,
        (text, pasted, given): (&str, &[Range<usize>], Vec<Media>),
        recall: Recall,
    ) -> Result<Attached, CliError> {
        let (project, home) = (&app.settings.project, app.settings.folders.home.as_deref());
        let excused = self
            .tags
            .excused
            .take()
            .filter(|(before, _)| before == text);
        let excused = excused.map_or_else(Vec::new, |(_, paths)| paths);
        let mut read = std::mem::take(&mut self.tags.read);
        let mut problems: Vec<Problem> = Vec::new();
        let mut paths: Vec<String> = Vec::new();
        let mut words = String::new();
        let mut after = 0;
        for mention in mentions::find(text) {
            let end = mention.start + 1 + mention.path.len();
            if pasted
                .iter()
                .any(|range| mention.start < range.end && range.start <= end)
            {
                continue;
            }
            let target = mention.target(project, home);
            let (MentionTarget::File(path)
            | MentionTarget::Folder(path)
            | MentionTarget::Missing(path)) = &target
            else {
                continue;
            };
            if excused.contains(path) {
                continue;
            }
            match &target {
                MentionTarget::File(path) => {
                    words.push_str(text.get(after..mention.start).unwrap_or_default());
                    after = mention.start + 1 + path.len() + if mention.quoted { 2 } else { 0 };
                    if !paths.contains(path) {
                        paths.push(path.clone());
                    }
                }
                MentionTarget::Folder(_) => {
                    let sentence = format!("{path} is a folder; mention the files that matter");
                    problems.push(Problem::new(path, sentence));
                }
                _ => problems.push(Problem::new(path, missing(path, app))),
            }
        }
        words.push_str(text.get(after..).unwrap_or_default());
        let nothing_to_attach = paths.is_empty() && self.tags.tags.iter().all(|tag| tag.is_sent);
        problems.extend(given.iter().filter_map(|media| self.not_taken(media)));
        if problems.is_empty() && nothing_to_attach && given.is_empty() {
            return Ok(Attached::Message(text.into(), text.len()));
        }
        if paths.len() > MAX_FILES {
            let sentence = format!("more than {MAX_FILES} files are mentioned");
            return Ok(self.back(text, vec![Problem::new("", sentence)], read));
        }
        if problems.is_empty() {
            // Those that wait are sent as they are now.
            let waiting = self.tags.tags.iter().filter(|tag| !tag.is_sent);
            for tag in waiting {
                if tag.is_output || stamp(&tag.path, app) == tag.stamp {
                    read.push(tag.clone());
                }
                if !paths.contains(&tag.path) {
                    paths.push(tag.path.clone());
                }
            }
            read.retain(|tag| paths.contains(&tag.path));
            let missing = paths
                .iter()
                .filter(|path| read.iter().all(|tag| tag.path != **path))
                .cloned()
                .collect();
            let (found, failed) = self.read_files(app, missing, recall)?;
            read.extend(found);
            problems = failed;
        }
        if !problems.is_empty() {
            return Ok(self.back(text, problems, read));
        }
        let tags = || {
            let read = &read;
            let tags = paths.iter();
            tags.filter_map(|path| read.iter().find(|tag| tag.path == *path))
        };
        let is_only_mentions = words.trim().is_empty() && given.is_empty();
        let attached = tags().filter_map(|tag| tag.media.clone());
        let media: Vec<Media> = given.into_iter().chain(attached).collect();
        if let Some(problem) = too_many(&media) {
            return Ok(self.back(text, vec![problem], read));
        }
        let mut message = text.to_owned();
        if let [_, _, ..] = media.as_slice() {
            let names = media.iter().map(|media| one_line(media.file_name()));
            let names: Vec<String> = names.collect();
            message.push_str(&format!("\n\n{MEDIA_HEADING}\n{}\n", names.join(", ")));
        }
        for (is_output, heading) in [(false, HEADING), (true, OUTPUT_HEADING)] {
            let is_text = |tag: &&Tag| tag.is_output == is_output && tag.media.is_none();
            let mut tags = tags().filter(is_text).peekable();
            if tags.peek().is_some() {
                message.push_str(&format!("\n\n{heading}\n"));
            }
            for tag in tags {
                message.push('\n');
                message.push_str(&tag.content);
            }
        }
        for tag in tags() {
            self.tags.add(Tag {
                is_sent: !is_only_mentions,
                ..tag.clone()
            });
        }
        Ok(match is_only_mentions {
            true => Attached::Waiting,
            false => {
                let attached = paths;
                let message = UserMessage {
                    text: message,
                    media,
                    attached,
                    typed: Some(text.len()),
                    ..UserMessage::default()
                };
                Attached::Message(message, text.len())
            }
        })
    }

    fn back(&mut self, text: &str, problems: Vec<Problem>, read: Vec<Tag>) -> Attached {
        let is_denied = problems.iter().any(|it| it.is_denied);
        let pairs = problems.into_iter().map(|it| (it.path, it.sentence));
        let (paths, sentences) = pairs.unzip();
        self.tags.excused = Some((text.to_owned(), paths));
        self.tags.read = read;
        Attached::Back {
            problems: sentences,
            is_denied,
        }
    }

    /// Why this cannot be sent to the model, if it cannot.
    fn not_taken(&self, media: &Media) -> Option<Problem> {
        let path = media.name();
        let name = match path {
            "" => "it",
            path => path,
        };
        let agent = &self.agent;
        if self.context_budget.lock().verdicts.is_refused(media) {
            let model = &agent.model;
            let sentence = format!(
                "{name} cannot be sent to {model}: the server did not accept a request with it; /model chooses another model, or the same to try again"
            );
            return Some(Problem::new(path, sentence));
        }
        let why = self.provider.dialect().takes().check(media).err()?;
        let server = !matches!(agent.api, Api::Local);
        let setting = match why {
            UnsupportedMedia::Images if server => Some("images"),
            UnsupportedMedia::Documents if server && agent.api != Api::Ollama => Some("pdf"),
            _ => None,
        };
        let mut sentence = format!("{name} cannot be sent to {}: {why}", agent.model);
        match why {
            UnsupportedMedia::Images => sentence += "; choose an agent whose model does",
            UnsupportedMedia::Documents => {
                sentence +=
                    "; attach its text (pdftotext FILE), or choose an agent whose model does";
            }
            UnsupportedMedia::TooLarge(_) => sentence += "; make it smaller",
        }
        if let Some(setting) = setting {
            let agent = &agent.name;
            sentence +=
                &format!(" (if this one does: {setting} = true under [agents.{agent}.endpoint])");
        }
        Some(Problem::new(path, sentence))
    }

    /// Reads files as calls of the user's. Returns what was read, and what could not be and why.
    fn read_files(
        &mut self,
        app: &App,
        paths: Vec<String>,
        recall: Recall,
    ) -> Result<(Vec<Tag>, Vec<Problem>), CliError> {
        if paths.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let host = app.host()?;
        let mut calls = Vec::with_capacity(paths.len());
        for path in &paths {
            self.tags.calls += 1;
            let place = mentions::place(
                path,
                &app.settings.project,
                app.settings.folders.home.as_deref(),
            );
            if let Some(place) = place {
                // A file that is there no more is one that cannot be read, and is said to be.
                let _ = host.mark_attached(&place);
            }
            let arguments = json!({ "file_path": path, "read_entire_file": true });
            calls.push(ProposedCall {
                id: format!("attached-{}", self.tags.calls),
                tool: READER.to_owned(),
                arguments: Ok(arguments.as_object().cloned().unwrap_or_default()),
                recovered: false,
                repaired: false,
            });
        }
        let decider = Decider::new(app, &self.tools, Arc::new(recall));
        let context = CallContext {
            tools: host,
            rules: TurnRules {
                on_denial: OnDenial::Continue,
                ..TurnRules::default()
            },
            approver: decider.approver(),
            ask: decider.ask(None),
            frontend: Arc::new(Unseen),
        };
        let interrupt = interrupted(app)?;
        let report = {
            let _hands_off = HandsOff::begin(app);
            let last = self.conversation.last_call();
            app.runtime()?.block_on(async {
                tokio::select! {
                    biased;
                    report = run_calls(calls, last, &context, interrupt) => report,
                    never = decider.serve() => match never {},
                    never = say_slow(&app.ui, host, None) => match never {},
                    never = app.ui.animate() => match never {},
                }
            })
        };
        for record in &report.calls {
            self.conversation.number_calls_after(record.number);
            app.calls.keep(record.clone());
        }
        let mut read = Vec::new();
        let mut problems = Vec::new();
        for (path, record) in paths.into_iter().zip(report.calls) {
            let denied_by = record.denied_by;
            match (record.state, record.result, record.failure) {
                (CallState::Completed, ..) if let Some(why) = record.not_media => {
                    let sentence = format!("{path} cannot be attached: {why}");
                    problems.push(Problem::new(&path, sentence));
                }
                // Half of a download, or the page that came in its place.
                (CallState::Completed, Some(_), _)
                    if record.media.is_empty() && is_called_media(&path) =>
                {
                    let why = NotMedia::Unknown;
                    let sentence = format!("{path} cannot be attached: {why}");
                    problems.push(Problem::new(&path, sentence));
                }
                (CallState::Completed, Some(mut content), _) => {
                    let media = record.media.into_iter().next();
                    let media = media.map(|media| media.named(&path));
                    if let Some(problem) = media.as_ref().and_then(|media| self.not_taken(media)) {
                        problems.push(problem);
                        continue;
                    }
                    if media.is_some() {
                        content.clear();
                    } else if !content.ends_with('\n') {
                        content.push('\n');
                    }
                    read.push(Tag {
                        stamp: stamp(&path, app),
                        path,
                        content,
                        media,
                        is_output: false,
                        is_sent: false,
                    });
                }
                (state, _, failure) => {
                    let is_denied = state == CallState::Denied;
                    let sentence = match (denied_by, failure) {
                        (Some(by), _) if is_denied => {
                            format!("{path} was not read: denied by {}", by.rule)
                        }
                        _ if is_denied => format!("{path} was not read: it was denied"),
                        (_, Some(failure)) => format!("{path} was not read: {failure}"),
                        (_, None) if matches!(report.end, TurnEnd::Interrupted) => {
                            format!("{path} was not read: interrupted")
                        }
                        (_, None) => format!("{path} was not read"),
                    };
                    problems.push(Problem {
                        path,
                        sentence,
                        is_denied,
                    });
                }
            }
        }
        Ok((read, problems))
    }
}

/// What is said where more is attached than a request can carry.
fn too_many(media: &[Media]) -> Option<Problem> {
    let base64: usize = media.iter().map(|media| media.base64().len()).sum();
    let is_too_much = media.len() > MAX_IN_REQUEST || base64 > MAX_BASE64_IN_REQUEST;
    is_too_much.then(|| {
        let most = MAX_BASE64_IN_REQUEST / 4 * 3 / 1_000_000;
        let sentence = format!(
            "the images and documents are too much for one message: at most {MAX_IN_REQUEST} with {most} MB together"
        );
        Problem::new("", sentence)
    })
}

/// Whether a file is an image or a document by its name. That decides nothing about what it is; but who attaches it wants one.
fn is_called_media(path: &str) -> bool {
    const ENDS: [&str; 6] = ["png", "jpg", "jpeg", "gif", "webp", "pdf"];
    let end = Path::new(path).extension().and_then(OsStr::to_str);
    end.is_some_and(|end| ENDS.iter().any(|it| it.eq_ignore_ascii_case(end)))
}

fn stamp(path: &str, app: &App) -> Option<(SystemTime, u64)> {
    let settings = &app.settings;
    let place = mentions::place(path, &settings.project, settings.folders.home.as_deref())?;
    let metadata = place.metadata().ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Says that there is no such file, and which one is like it.
pub fn missing(path: &str, app: &App) -> String {
    let settings = &app.settings;
    let mut sentence = format!("there is no file {path}");
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    let place = mentions::place(folder, &settings.project, settings.folders.home.as_deref());
    let entries = place.and_then(|place| std::fs::read_dir(place).ok());
    let names: Vec<String> = entries
        .into_iter()
        .flatten()
        .take(MAX_NAMES)
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    if let Some(near) = nearest(name, names.iter().map(String::as_str)) {
        let near = match path.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{near}"),
            None => near.to_owned(),
        };
        sentence += &format!("; did you mean {near}?");
    }
    sentence
}

/// Shows nothing: what was attached is said in one line of its own.
struct Unseen;

impl Progress for Unseen {
    fn progress(&self, _call: &str, _message: &str, _percent: Option<u8>) {}
}

impl Frontend for Unseen {
    fn text(&self, _piece: &str) {}
    fn call(&self, _call: &CallView) {}
    fn notice(&self, _text: &str) {}
}
