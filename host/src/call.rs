//! One tool call, from what the model proposed to what goes back to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;

use crate::ask::{Answer, Origin, Question, Scope};
pub use crate::command::CommandLine;
use crate::display::{escape, shorten};
use crate::edit::{FileChange, FileEdit};
use crate::model::SamplingRequest;
use crate::permission::Revert;
use crate::target::{Need, Operation};

/// Characters of why a request failed that are added to a failure.
const MAX_PROBLEM_CHARS: usize = 1_000;

/// What the model proposed.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The id that the provider or Dunlin gave it; unique within the session. The host makes ids with a space for background
    /// work and events of apps, so one that comes from a model must have none.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments: any JSON value; the host checks it against the tool's schema.
    pub arguments: serde_json::Value,
}

impl Call {
    /// The id of something else that is done for this call.
    pub(crate) fn id_of_host(&self, what: &str) -> String {
        format!("{} {what}", self.id)
    }
}

/// What is known about a call before it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The tool's question in one line. Written by the plugin: escape before showing.
    pub question: String,
    /// Everything it declared, resolved, and what its actions need.
    pub needs: Vec<Need>,
    /// What is going to happen beyond what needs can say. It happens like this or is asked about again.
    pub actions: Vec<Action>,
    /// What the permission store says of it.
    pub status: PlanStatus,
    /// Whether the call may run beside others of the same reply.
    pub runs_in_parallel: bool,
}

/// Something a call is going to do, worked out by the host.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// A file is changed or created.
    Edit(FileEdit),
    /// This file is changed in a way that cannot be shown yet. The user is shown the difference when it can.
    EditLater {
        /// The file.
        path: PathBuf,
        /// What is done to it, if the tool said so: the file may not be read yet. `None`: only the run can tell.
        change: Option<FileChange>,
    },
    /// A command line is run.
    Command(CommandLine),
    /// The chat's model answers a server.
    Sampling(SamplingRequest),
    /// This is sent to a server. In a plan: a request that reads.
    Request(WebRequest),
    /// An MCP server gets the arguments of the call: they say all that there is to know of it.
    ServerCall,
}

impl Action {
    /// The names that it changes.
    pub fn edited_paths(&self) -> Vec<&Path> {
        match self {
            Action::Edit(edit) => edit.paths().collect(),
            Action::EditLater { path, .. } => vec![path],
            _ => Vec::new(),
        }
    }
}

/// A request as it leaves, without what the host adds: framing, and the user's own headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebRequest {
    /// Any method.
    pub method: String,
    /// With its query. As the tool wrote it: escape before showing.
    pub url: String,
    /// What the tool says beside the body, sorted, without a usual `accept`: that says nothing.
    pub headers: Vec<(String, String)>,
    /// Which usual `accept` goes along. It is not shown, and the same in all requests that a yes covers.
    pub usual_accept: Option<&'static str>,
    /// The bytes that are sent.
    pub body: Bytes,
}

impl WebRequest {
    /// The target and the operation that have to be allowed; `None` if it leads nowhere.
    pub fn need(&self) -> Option<Need> {
        let target = crate::resolve::url(&self.url).ok()?;
        let operation = match self.reads() {
            true => Operation::Read,
            false => Operation::Write,
        };
        Some(Need { target, operation })
    }

    /// Whether a server is only asked for something.
    pub fn reads(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }

    /// Whether it says more than the target of its need: a query, headers or a body.
    pub(crate) fn says_more(&self) -> bool {
        !self.reads() || !self.headers.is_empty() || self.url.contains('?')
    }

    /// Whether a server gets the same as by another one, but for the usual `accept`.
    pub(crate) fn says_the_same(&self, other: &WebRequest) -> bool {
        let usual_accept = other.usual_accept;
        *other
            == WebRequest {
                usual_accept,
                ..self.clone()
            }
    }

    /// A header of this name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(other, _)| other == name)?;
        Some(&found.1)
    }
}

impl Plan {
    /// The requests that the question about this plan shows.
    pub(crate) fn shown_requests(&self) -> Vec<WebRequest> {
        let PlanStatus::Ask { needs, .. } = &self.status else {
            return Vec::new();
        };
        let requests = self.actions.iter().filter_map(|action| match action {
            Action::Request(request) => Some(request),
            _ => None,
        });
        let is_asked = |request: &&WebRequest| request.need().is_some_and(|it| needs.contains(&it));
        requests.filter(is_asked).cloned().collect()
    }

    /// What an answer is about: what it stores, or decides for now. The answer holds no longer than it may.
    pub fn answered(&self, answer: Answer) -> &[Need] {
        match &self.status {
            PlanStatus::Ask {
                needs,
                lasting,
                longest,
                ..
            } => answer.about(*longest, needs, lasting),
            PlanStatus::Allowed | PlanStatus::Denied { .. } => &[],
        }
    }

    /// The question for the user about what is undecided; `None` when nothing is.
    pub fn question(&self, call: &Call) -> Option<Question> {
        let PlanStatus::Ask {
            needs,
            notices,
            lasting,
            longest,
        } = &self.status
        else {
            return None;
        };
        Some(Question {
            call: call.id.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            wording: self.question.clone(),
            needs: needs.clone(),
            actions: self.actions.clone(),
            notices: notices.clone(),
            lasting: lasting.clone(),
            longest: *longest,
            origin: Origin::Declared,
        })
    }
}

/// What the permission store says of the needs of a call, all together.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanStatus {
    /// Everything is allowed already, or nothing is needed.
    Allowed,
    /// These are undecided: the user must be asked. The rest is allowed.
    Ask {
        /// What is undecided.
        needs: Vec<Need>,
        /// What the user should know before answering, a short sentence each.
        notices: Vec<String>,
        /// What a permanent yes stores: these, or in place of a compound line those of its commands that are not stored yet.
        lasting: Vec<Need>,
        /// The longest that a yes may hold; a longer one is shortened to it.
        longest: Scope,
    },
    /// A rule refuses one of them.
    Denied {
        /// What is refused; `None`: the call as a whole, which needs nothing.
        need: Option<Need>,
        /// Which rule refused it, in words.
        rule: String,
        /// What takes that rule back; `None`: nobody can.
        revert: Option<Revert>,
    },
}

/// How a call ended, as the model and the user are told.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the model gets.
    pub result: Result<Success, Failure>,
    /// From the start of `run` to its end, without the time in which the user was being asked.
    pub duration: Duration,
    /// What it changed in files, in the order in which it did, however it ended; behind that, what hooks changed after it.
    pub edits: Vec<FileEdit>,
    /// What the model is told behind the result, whatever that is: what hooks say and did. Escaped; empty, or begins with an
    /// empty line.
    pub said: String,
}

/// What a completed call gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Success {
    /// The text parts joined by a newline.
    pub text: String,
    /// Media type and bytes of the other parts.
    pub blobs: Vec<(String, Vec<u8>)>,
    /// The structured result, if the tool gives one.
    pub structured: Option<serde_json::Value>,
    /// What the user should see beside the call although it completed: `exit status 1`. The host's own words.
    pub note: Option<String>,
    /// Whether what the call did has failed although the call itself completed: its command ended with an exit status
    /// other than 0, by a signal or at the time limit.
    pub has_failed: bool,
}

/// Who failed. The three kinds stay distinct: the tool said so, the tool broke, the host refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// There is no such tool. Lists the names that come near.
    #[error("there is no tool named {name:?}{}", near_names(.near))]
    UnknownTool {
        /// What was asked for.
        name: String,
        /// Registered names that are similar, best first; may be empty.
        near: Vec<String>,
    },
    /// The arguments do not fit the schema.
    #[error("the arguments of {tool} do not fit: {problem}")]
    Arguments {
        /// The tool.
        tool: String,
        /// What does not fit, and where.
        problem: String,
    },
    /// The user or a rule refused.
    #[error("Permission denied: {question}")]
    Denied {
        /// The question that was answered with no, or would have been asked.
        question: String,
        /// Whether the user has answered it just now, or nobody could be asked. Otherwise a rule has refused, or the tool of
        /// its own accord.
        by_user: bool,
    },
    /// A hook refused, or has failed. Bounded and escaped.
    #[error("Permission denied by the hook `{hook}`: {reason}")]
    Hook {
        /// What the hook is called.
        hook: String,
        /// Why.
        reason: String,
    },
    /// The tool declared a failure of its own. Already bounded and without control characters.
    #[error("{message}")]
    Tool {
        /// The tool.
        tool: String,
        /// What the tool said.
        message: String,
    },
    /// What the call is going to do cannot be done as things are: the file changed since it was read, the
    /// edits do not fit into it.
    #[error("{message}")]
    Action {
        /// What is in the way, and the way out.
        message: String,
    },
    /// The tool broke: a trap, a limit, a result of the wrong kind.
    #[error("{tool} {problem}")]
    Fault {
        /// The tool.
        tool: String,
        /// What happened, as the end of a sentence that starts with the tool's name:
        /// `was stopped after 30 s`, `used more than 64 MiB of memory`.
        problem: String,
    },
    /// The user interrupted it.
    #[error("cancelled by user")]
    Cancelled,
    /// The host itself failed: the component cannot be loaded, the permission file is broken.
    #[error("{0}")]
    Host(String),
}

impl Failure {
    /// A failure of a call that wanted more than its plugin declares: that is the reason, or may be it.
    pub(crate) fn because_undeclared(self, what: String) -> Failure {
        match self {
            Failure::Denied { .. } => Failure::Denied {
                question: what,
                by_user: false,
            },
            Failure::Tool { tool, message } => Failure::Tool {
                tool,
                message: format!("{message} ({what})"),
            },
            Failure::Fault { tool, problem } => Failure::Fault {
                tool,
                problem: format!("{problem} ({what})"),
            },
            other => other,
        }
    }

    /// A failure of a call whose last request failed with this. What the plugin says of it may be only that it failed.
    pub(crate) fn behind_request(self, problem: &str) -> Failure {
        let problem = escape(problem);
        let add = |text: String| match text.contains(&*problem) {
            true => text,
            false => format!(
                "{} (its last request failed: {})",
                text.trim_end(),
                shorten(&problem, MAX_PROBLEM_CHARS)
            ),
        };
        match self {
            Failure::Tool { tool, message } => Failure::Tool {
                tool,
                message: add(message),
            },
            Failure::Fault { tool, problem } => Failure::Fault {
                tool,
                problem: add(problem),
            },
            other => other,
        }
    }

    /// A failure of a call whose plugin has made up a header that cannot be set. The arguments are not to blame.
    pub(crate) fn of_bad_header(self, header: &str) -> Failure {
        match self {
            Failure::Arguments { tool, problem } if problem.contains(header) => Failure::Fault {
                tool,
                problem: format!(
                    "is faulty: {problem}; that is for the author of the plugin to correct, in run"
                ),
            },
            other => other,
        }
    }

    /// The text that goes back to the model.
    pub fn for_model(&self) -> String {
        format!("ERROR: {self}")
    }
}

fn near_names(near: &[String]) -> String {
    if near.is_empty() {
        String::new()
    } else {
        format!("; similar: {}", near.join(", "))
    }
}
