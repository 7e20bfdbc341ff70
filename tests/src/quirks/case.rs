//! One case, and the pieces that cases are made of.

use serde_json::{Value, json};

use crate::provider::Response;

/// What a case is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The bytes of the response and their end.
    Transport,
    /// What stands in the chunks.
    Chunks,
    /// How calls are put together.
    Calls,
    /// Replies of the Responses API.
    Items,
    /// Calls that were written as text.
    TextCalls,
    /// Refusals, and what is sent again.
    Requests,
}

impl Section {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Section::Transport => "Transport and framing",
            Section::Chunks => "Content of chunks",
            Section::Calls => "Assembly of calls",
            Section::Items => "Items of the Responses API",
            Section::TextCalls => "Calls written as text",
            Section::Requests => "Refusals and repetition",
        }
    }
}

/// A call that has to have run, or to have been answered.
#[derive(Debug, Clone)]
pub struct Called {
    /// The tool's name as it is sent back.
    pub tool: &'static str,
    /// The arguments as they are sent back.
    pub arguments: Value,
    /// What stands in the result.
    pub result: &'static str,
}

/// One oddity.
#[derive(Debug, Clone)]
pub struct Case {
    /// What is odd. Unique.
    pub name: &'static str,
    /// What it is about.
    pub section: Section,
    /// The answers to the requests, in order.
    pub answers: Vec<Response>,
    /// What has to stand on stdout, without the last line end.
    pub reply: String,
    /// The exit status.
    pub status: i32,
    /// The calls of the first reply as the second request has them.
    pub calls: Vec<Called>,
    /// What must stand neither on stdout nor in a later request.
    pub absent: Vec<&'static str>,
    /// What has to stand on stderr.
    pub said: Vec<&'static str>,
    /// More of the configuration.
    pub configuration: &'static str,
}

impl Case {
    /// An answer of one reply, which is this.
    pub(super) fn says(name: &'static str, answer: Response, reply: &str) -> Case {
        Case {
            name,
            section: Section::Transport,
            answers: vec![answer],
            reply: reply.to_owned(),
            status: 0,
            calls: Vec::new(),
            absent: Vec::new(),
            said: Vec::new(),
            configuration: "",
        }
    }

    /// An answer that is not a whole reply: what came is printed, and the error says this.
    pub(super) fn fails(
        name: &'static str,
        answer: Response,
        reply: &str,
        said: &'static str,
    ) -> Case {
        Case {
            status: 4,
            said: vec![said],
            ..Case::says(name, answer, reply)
        }
    }

    /// A reply with these calls, which are answered, and then another.
    pub(super) fn calls(name: &'static str, answer: Response, calls: &[Called]) -> Case {
        Case {
            answers: vec![answer, Response::reply("Done.")],
            calls: calls.to_vec(),
            ..Case::says(name, answer_after(), "Done.")
        }
    }

    /// With this text before the calls.
    pub(super) fn printing(mut self, text: &str) -> Case {
        self.reply = format!("{text}\n{}", self.reply);
        self
    }

    pub(super) fn without(mut self, absent: &'static str) -> Case {
        self.absent.push(absent);
        self
    }

    pub(super) fn saying(mut self, said: &'static str) -> Case {
        self.said.push(said);
        self
    }

    pub(super) fn configured(mut self, configuration: &'static str) -> Case {
        self.configuration = configuration;
        self
    }

    /// How many requests there have to be.
    pub fn requests(&self) -> usize {
        self.answers.len()
    }

    /// Whether it says something about programs that have other tools, too.
    pub fn applies_to_peers(&self) -> bool {
        self.calls.is_empty() && self.answers.len() == 1 && self.configuration.is_empty()
    }
}

fn answer_after() -> Response {
    Response::reply("Done.")
}

/// A call of `read_file` that has read.
pub(super) fn read(path: &'static str) -> Called {
    Called {
        tool: "read_file",
        arguments: json!({ "file_path": path }),
        result: if path == "b.txt" {
            "text of b"
        } else {
            "text of a"
        },
    }
}

/// A call of `read_file` that was answered with something else.
pub(super) fn unread(arguments: Value, result: &'static str) -> Called {
    Called {
        tool: "read_file",
        arguments,
        result,
    }
}
