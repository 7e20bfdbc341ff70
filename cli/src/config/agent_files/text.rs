//! The text of an agent file: front matter, and what the agent is told.
//!
//! ```text
//! ---
//! name: reviewer
//! description: Reviews a change and lists what is wrong with it
//! tools: read_file, codebase_search
//! ---
//! You review changes. …
//! ```
//!
//! The front matter is YAML, as in the files of other programs. Only its events are read: no alias is ever expanded, so
//! that a short text cannot become a large value.

use dunlin_host::nearest::nearest;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};

use crate::config::agent::AgentPatch;
use crate::config::markdown::TextError;
use crate::config::value::UpTo;

/// What an agent file says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentText {
    /// Its name, if it is not that of the file.
    pub name: Option<String>,
    /// What the agent is for.
    pub description: String,
    /// The tools that it may use; all by default.
    pub tools: Option<Vec<String>>,
    /// The model, if it is not that of the agent whose endpoint is used.
    pub model: Option<String>,
    /// The agent whose endpoint is used, if it is not the one that starts this one, and the line.
    pub agent: Option<(String, usize)>,
    /// How freely the model chooses its words.
    pub temperature: Option<UpTo<2>>,
    /// What the model is told first.
    pub prompt: Option<String>,
    /// What was left out and why, with the line.
    pub notes: Vec<(usize, String)>,
}

/// What encloses the front matter.
const FENCE: &str = "---";

/// The keys.
const KEYS: [&str; 6] = [
    "name",
    "description",
    "tools",
    "model",
    "agent",
    "temperature",
];

/// The longest description, in characters: all of them are part of each request of an agent that may start subagents.
const MAX_DESCRIPTION_CHARS: usize = 4096;

/// The most tools that a file may name.
const MAX_TOOLS: usize = 256;

/// Tools of other programs, and what does the same here.
const FOREIGN_TOOLS: [(&str, &str); 11] = [
    ("Bash", "run_terminal_command"),
    ("Edit", "edit_file"),
    ("Glob", "list_files"),
    ("Grep", "search_text"),
    ("LS", "list_files"),
    ("MultiEdit", "edit_file"),
    ("Read", "read_file"),
    ("TodoWrite", "todo"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "web_search"),
    ("Write", "write_file"),
];

/// What other programs call the model of whoever starts the agent.
const INHERITED: &str = "inherit";

/// Models that only another program knows by these names.
const FOREIGN_MODELS: [&str; 3] = ["haiku", "opus", "sonnet"];

impl AgentText {
    /// Understands the text of a file.
    ///
    /// # Errors
    /// There is no front matter, or it is no YAML, a value is wrong, or there is no description.
    pub fn parse(file: &str) -> Result<AgentText, TextError> {
        let file = file.strip_prefix('\u{feff}').unwrap_or(file);
        let (front, body) = split(file)?;
        let pairs = match pairs(front) {
            // Other programs take a text with a colon in it, which YAML does not.
            Err(error) => quoted(front)
                .and_then(|quoted| pairs(&quoted).ok())
                .ok_or(error)?,
            Ok(pairs) => pairs,
        };
        let mut text = AgentText::default();
        for (index, pair) in pairs.iter().enumerate() {
            if pairs.iter().take(index).any(|other| other.key == pair.key) {
                return Err(pair.error("is there twice: remove one of them"));
            }
            text.take(pair)?;
        }
        if text.description.trim().is_empty() {
            return Err(error_at(
                1,
                "description is missing: a model chooses the agent by what it is for",
            ));
        }
        let prompt = body.trim();
        text.prompt = (!prompt.is_empty()).then(|| prompt.to_owned());
        Ok(text)
    }

    /// The same as it would stand in `config.toml`.
    pub fn written(&self) -> AgentPatch {
        AgentPatch {
            description: Some(self.description.clone()),
            subagent: Some(true),
            model: self.model.clone(),
            temperature: self.temperature,
            system_prompt: self.prompt.clone(),
            tools: self.tools.clone(),
            ..AgentPatch::default()
        }
    }

    fn take(&mut self, pair: &Pair) -> Result<(), TextError> {
        match pair.key.as_str() {
            "name" => self.name = pair.text()?,
            "description" => {
                self.description = pair.text()?.unwrap_or_default();
                if self.description.chars().count() > MAX_DESCRIPTION_CHARS {
                    let problem = format!("must have at most {MAX_DESCRIPTION_CHARS} characters");
                    return Err(pair.error(&problem));
                }
            }
            "tools" => {
                self.tools = pair.list()?;
                self.translate_foreign_tools(pair.line);
            }
            "model" => {
                self.model = pair.text()?.filter(|model| model != INHERITED);
                if let Some(model) = self
                    .model
                    .take_if(|it| FOREIGN_MODELS.contains(&it.as_str()))
                {
                    let note = format!(
                        "{model:?} is a name of another program; the model of the agent that starts it is used"
                    );
                    self.notes.push((pair.line, note));
                }
            }
            "agent" => self.agent = pair.text()?.map(|name| (name, pair.line)),
            "temperature" => {
                let number = pair.text()?;
                let number = number.map(|text| {
                    let number: f64 = text.parse().map_err(|_| pair.error("must be a number"))?;
                    UpTo::try_from(number).map_err(|error| pair.error(&error.to_string()))
                });
                self.temperature = number.transpose()?;
            }
            unknown => {
                let near = match nearest(unknown, KEYS) {
                    Some(near) => format!("; the nearest known key is {near:?}"),
                    None => format!("; known keys: {}", KEYS.join(", ")),
                };
                let note = format!("the key {unknown:?} is not used{near}");
                self.notes.push((pair.line, note));
            }
        }
        Ok(())
    }

    /// Tools of other programs stand for those that do the same here; one note says so.
    fn translate_foreign_tools(&mut self, line: usize) {
        let Some(named) = self.tools.take() else {
            return;
        };
        let mut found = Vec::new();
        let mut tools: Vec<String> = Vec::new();
        for tool in named {
            // `Bash(git status:*)`: what a command may do is decided when it is run.
            let name = tool.split('(').next().unwrap_or_default();
            let here = FOREIGN_TOOLS.iter().find(|(foreign, _)| *foreign == name);
            found.extend(here.map(|(foreign, here)| format!("{foreign} for {here}")));
            let here = here.map_or(tool.clone(), |(_, here)| (*here).to_owned());
            if !tools.contains(&here) {
                tools.push(here);
            }
        }
        self.tools = Some(tools);
        if !found.is_empty() {
            let note = format!(
                "tools of another program stand for those here: {}",
                found.join(", ")
            );
            self.notes.push((line, note));
        }
    }
}

/// A key of the front matter with its value.
#[derive(Debug)]
struct Pair {
    key: String,
    /// Its line in the file.
    line: usize,
    value: Value,
}

#[derive(Debug)]
enum Value {
    /// Nothing, which is as if the key were missing.
    Nothing,
    Text(String),
    List(Vec<String>),
    /// A table, a list of other than texts, or an alias.
    Other,
}

impl Pair {
    fn error(&self, problem: &str) -> TextError {
        error_at(self.line, &format!("{} {problem}", self.key))
    }

    fn text(&self) -> Result<Option<String>, TextError> {
        match &self.value {
            Value::Nothing => Ok(None),
            Value::Text(text) => Ok(Some(text.trim().to_owned())),
            Value::List(_) | Value::Other => Err(self.error("must be a text")),
        }
    }

    /// A list, or one text with commas.
    fn list(&self) -> Result<Option<Vec<String>>, TextError> {
        let names = match &self.value {
            Value::Nothing => return Ok(None),
            Value::Text(text) => text.split(',').map(str::to_owned).collect(),
            Value::List(names) => names.clone(),
            Value::Other => {
                return Err(self.error("must be a list of names, or one text with commas"));
            }
        };
        let names = names.iter().map(|name| name.trim());
        let names: Vec<String> = names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        match names.len() > MAX_TOOLS {
            true => Err(self.error(&format!("must have at most {MAX_TOOLS} names"))),
            false => Ok(Some(names)),
        }
    }
}

fn error_at(line: usize, problem: &str) -> TextError {
    TextError {
        line,
        problem: problem.to_owned(),
    }
}

/// Splits a file into its front matter and the text behind it.
fn split(file: &str) -> Result<(&str, &str), TextError> {
    let mut lines = file.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != FENCE {
        return Err(error_at(
            1,
            "the file must begin with a line of ---, its keys (description: what the agent is for) and another line \
             of ---",
        ));
    }
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == FENCE {
            let front = file.get(first.len()..end).unwrap_or_default();
            return Ok((front, file.get(end + line.len()..).unwrap_or_default()));
        }
        end += line.len();
    }
    Err(error_at(
        1,
        "the front matter has no end: a line of --- is missing",
    ))
}

/// The line in the file: the front matter begins in the second one.
const fn in_file(line: usize) -> usize {
    line + 1
}

/// The keys of the front matter with their values, in order.
fn pairs(front: &str) -> Result<Vec<Pair>, TextError> {
    let failed = |error: &ScanError| {
        let problem = format!(
            "the front matter is not valid YAML: {}; a text with a colon or # in it needs quotes",
            error.info()
        );
        error_at(in_file(error.marker().line()), &problem)
    };
    let mut pairs: Vec<Pair> = Vec::new();
    let mut key: Option<(String, usize)> = None;
    // The value that is being read, and how deep in it the reader is.
    let mut list: Option<Vec<String>> = None;
    let mut depth = 0_usize;
    for event in Parser::new_from_str(front) {
        let (event, span) = event.map_err(|error| failed(&error))?;
        let line = in_file(span.start.line());
        let value = match (event, depth) {
            (Event::MappingStart(..), 0) => {
                depth = 1;
                continue;
            }
            (Event::Scalar(..) | Event::SequenceStart(..) | Event::Alias(_), 0) => {
                let problem = "the front matter must have a key in each line: description: …";
                return Err(error_at(line, problem));
            }
            (Event::MappingStart(..) | Event::SequenceStart(..), 1) if key.is_none() => {
                return Err(error_at(line, "the name of a key must be a text"));
            }
            (Event::Alias(_), 1) if key.is_none() => {
                return Err(error_at(line, "the name of a key must be a text"));
            }
            (Event::Scalar(text, ..), 1) if key.is_none() => {
                key = Some((text.into_owned(), line));
                continue;
            }
            (Event::Scalar(text, style, ..), 1) => {
                let is_nothing = style == ScalarStyle::Plain
                    && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                match is_nothing {
                    true => Value::Nothing,
                    false => Value::Text(text.into_owned()),
                }
            }
            (Event::Alias(_), 1) => Value::Other,
            (Event::SequenceStart(..), 1) => {
                list = Some(Vec::new());
                depth = 2;
                continue;
            }
            (Event::Scalar(text, ..), 2) if list.is_some() => {
                list.iter_mut().for_each(|list| list.push(text.to_string()));
                continue;
            }
            (Event::SequenceStart(..) | Event::MappingStart(..), _) => {
                list = None;
                depth += 1;
                continue;
            }
            (Event::Alias(_), _) => {
                list = None;
                continue;
            }
            (Event::SequenceEnd | Event::MappingEnd, 2) => {
                depth = 1;
                list.take().map_or(Value::Other, Value::List)
            }
            (Event::SequenceEnd | Event::MappingEnd, _) => {
                depth = depth.saturating_sub(1);
                continue;
            }
            _ => continue,
        };
        if let Some((key, line)) = key.take() {
            pairs.push(Pair { key, line, value });
        }
    }
    Ok(pairs)
}

/// The front matter with quotes around the texts of its lines, if that changes anything.
fn quoted(front: &str) -> Option<String> {
    let mut is_changed = false;
    let lines = front.lines().map(|line| {
        let Some((key, text)) = line.split_once(": ") else {
            return format!("{line}\n");
        };
        let text = text.trim();
        let is_plain =
            !text.is_empty() && !text.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '#']);
        if !is_plain || !KEYS.contains(&key) {
            return format!("{line}\n");
        }
        is_changed = true;
        format!("{key}: '{}'\n", text.replace('\'', "''"))
    });
    let quoted: String = lines.collect();
    is_changed.then_some(quoted)
}

#[cfg(test)]
mod tests;
