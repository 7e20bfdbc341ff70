//! The text of a prompt template: front matter, placeholders, and what takes their place.
//!
//! ```text
//! +++
//! description = "Reviews a file"
//! arguments = ["file", "focus=correctness"]
//! +++
//! Review {{file}}. Look for {{focus}} first.
//! ```
//!
//! The front matter is TOML, as in `config.toml`. Placeholders are replaced once: what takes their place is never looked
//! at again. `\{{file}}` is the text `{{file}}`.

use std::ops::Range;

use dunlin_host::nearest::nearest;
use serde::Deserialize;
use toml::Spanned;

use crate::config::markdown::TextError;

/// The longest text that filling in may make, in bytes: a placeholder may stand there often.
const MAX_FILLED_BYTES: usize = 1024 * 1024;

/// How many arguments a template may have.
const MAX_ARGUMENTS: usize = 20;

/// The longest name of an argument, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// The longest description, in characters: it stands in one row of a list.
const MAX_DESCRIPTION_CHARS: usize = 200;

/// The line before and after the front matter.
const FENCE: &str = "+++";

/// The same in other programs, whose front matter is YAML.
const YAML_FENCE: &str = "---";

/// Why a template cannot be filled in, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    #[error("There is no argument {name:?}{}", did_you_mean(.near))]
    Unknown {
        name: String,
        /// The nearest one there is.
        near: Option<String>,
    },
    #[error("The argument {0} is given twice.")]
    Twice(String),
    #[error("The argument {0} is missing.")]
    Missing(String),
    #[error("With these arguments it is longer than {} kB.", MAX_FILLED_BYTES / 1024)]
    TooLong,
}

fn did_you_mean(near: &Option<String>) -> String {
    match near {
        Some(near) => format!("; did you mean {near}?"),
        None => ".".to_owned(),
    }
}

/// What a template takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name: letters, digits, `-` and `_`.
    pub name: String,
    /// What stands for it where it is not given; without one it has to be.
    pub default: Option<String>,
}

/// A template that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateText {
    /// What it is for, in one line; may be empty. Escape before showing.
    pub description: String,
    pub arguments: Vec<Argument>,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The argument with this index.
    Argument(usize),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    #[serde(default)]
    description: String,
    #[serde(default)]
    arguments: Vec<Spanned<String>>,
}

impl TemplateText {
    /// Understands the text of a file.
    ///
    /// # Errors
    /// The front matter is invalid, a placeholder is not among the arguments or an argument not among the placeholders, or
    /// there is no text.
    pub fn parse(file: &str) -> Result<TemplateText, TextError> {
        let file = file.strip_prefix('\u{feff}').unwrap_or(file);
        let (front, body) = split(file)?;
        let error_at = |offset: usize, problem: String| TextError {
            line: line_at(file, offset),
            problem,
        };
        let (description, arguments) = match &front {
            Some(front) => front_matter(file, front.clone())?,
            None => (String::new(), Vec::new()),
        };
        let text = file.get(body.clone()).unwrap_or_default();
        let blank = text.len() - text.trim_start_matches(['\n', '\r']).len();
        let text = text.trim_start_matches(['\n', '\r']).trim_end();
        if text.is_empty() {
            return Err(error_at(body.start, "the template has no text".to_owned()));
        }
        let mut parts = Vec::new();
        let mut after = 0;
        for placeholder in placeholders(text) {
            let Range { start, end } = placeholder.place;
            let before = text.get(after..start).unwrap_or_default();
            if placeholder.is_escaped {
                let before = before.strip_suffix('\\').unwrap_or(before);
                parts.push(Part::Text(before.to_owned()));
                after = start;
                continue;
            }
            after = end;
            parts.push(Part::Text(before.to_owned()));
            let names = || {
                arguments
                    .iter()
                    .map(|it: &Declared| it.argument.name.as_str())
            };
            let Some(index) = names().position(|name| name == placeholder.name) else {
                let name = placeholder.name;
                let near = nearest(name, names());
                let near = near.map_or_else(String::new, |near| {
                    format!("; did you mean {{{{{near}}}}}?")
                });
                let problem = match &front {
                    Some(_) => format!(
                        "{{{{{name}}}}} is not in the arguments of the front matter{near} (\\{{{{{name}}}}} is text)"
                    ),
                    None => format!(
                        "{{{{{name}}}}} is not declared: begin the file with the lines +++, arguments = [{name:?}] and +++ \
                         (\\{{{{{name}}}}} is text)"
                    ),
                };
                return Err(error_at(body.start + blank + start, problem));
            };
            parts.push(Part::Argument(index));
        }
        parts.push(Part::Text(text.get(after..).unwrap_or_default().to_owned()));
        for (index, declared) in arguments.iter().enumerate() {
            if !parts.contains(&Part::Argument(index)) {
                let name = &declared.argument.name;
                let problem = format!(
                    "the argument {name} is not used: {{{{{name}}}}} does not occur in the text"
                );
                return Err(error_at(declared.offset, problem));
            }
        }
        parts.retain(|part| *part != Part::Text(String::new()));
        Ok(TemplateText {
            description,
            arguments: arguments.into_iter().map(|it| it.argument).collect(),
            parts,
        })
    }

    /// Puts arguments in the place of the placeholders.
    ///
    /// # Errors
    /// An argument is missing, given twice or unknown, or the text would be too long.
    pub fn fill(&self, given: &[(String, String)]) -> Result<String, FillError> {
        let names = || self.arguments.iter().map(|it| it.name.as_str());
        for (index, (name, _)) in given.iter().enumerate() {
            if !names().any(|known| known == name) {
                return Err(FillError::Unknown {
                    name: name.clone(),
                    near: nearest(name, names()).map(str::to_owned),
                });
            }
            if given.iter().take(index).any(|(other, _)| other == name) {
                return Err(FillError::Twice(name.clone()));
            }
        }
        let mut values: Vec<&str> = Vec::with_capacity(self.arguments.len());
        for argument in &self.arguments {
            let value = given.iter().find(|(name, _)| *name == argument.name);
            let value = value.map(|(_, value)| value).or(argument.default.as_ref());
            values.push(value.ok_or_else(|| FillError::Missing(argument.name.clone()))?);
        }
        let pieces = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Argument(index) => values.get(*index).copied().unwrap_or_default(),
        });
        let bytes = pieces.clone().map(str::len).fold(0, usize::saturating_add);
        match bytes > MAX_FILLED_BYTES {
            true => Err(FillError::TooLong),
            false => Ok(pieces.collect()),
        }
    }

    /// What is typed behind its name: `file=… [focus=…]`.
    pub fn usage(&self) -> String {
        let arguments = self.arguments.iter().map(|it| match it.default {
            None => format!("{}=…", it.name),
            Some(_) => format!("[{}=…]", it.name),
        });
        arguments.collect::<Vec<_>>().join(" ")
    }
}

/// The file of a template that sends this text, without blank lines before it and white space behind it, and whether
/// placeholders in it are escaped.
pub fn file_of(description: &str, text: &str) -> (String, bool) {
    let mut escaped = String::with_capacity(text.len());
    let mut after = 0;
    for placeholder in placeholders(text) {
        let start = placeholder.place.start;
        escaped.push_str(text.get(after..start).unwrap_or_default());
        escaped.push('\\');
        after = start;
    }
    escaped.push_str(text.get(after..).unwrap_or_default());
    let description = toml::Value::String(description.to_owned());
    let file = format!("{FENCE}\ndescription = {description}\n{FENCE}\n{escaped}\n");
    (file, escaped.len() > text.len())
}

/// Splits a file into its front matter, if there is one, and the text behind it.
fn split(file: &str) -> Result<(Option<Range<usize>>, Range<usize>), TextError> {
    let mut lines = file.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let error = |problem: &str| TextError {
        line: 1,
        problem: problem.to_owned(),
    };
    match first.trim_end() {
        FENCE => {}
        YAML_FENCE => {
            return Err(error(
                "front matter is TOML between two lines of +++, not YAML between lines of ---",
            ));
        }
        _ => return Ok((None, 0..file.len())),
    }
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == FENCE {
            let front = first.len()..end;
            return Ok((Some(front), end + line.len()..file.len()));
        }
        end += line.len();
    }
    Err(error(
        "the front matter has no end: a line of +++ is missing",
    ))
}

/// An argument, and where it stands in the file.
struct Declared {
    argument: Argument,
    offset: usize,
}

fn front_matter(file: &str, place: Range<usize>) -> Result<(String, Vec<Declared>), TextError> {
    let start = place.start;
    let error_at = |offset: usize, problem: String| TextError {
        line: line_at(file, start + offset),
        problem,
    };
    let text = file.get(place).unwrap_or_default();
    let front: FrontMatter = toml::from_str(text).map_err(|error: toml::de::Error| {
        let offset = error.span().map_or(0, |span| span.start);
        let lines = error.message().lines().map(str::trim);
        let message: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        error_at(offset, format!("front matter: {}", message.join(", ")))
    })?;
    if front.description.chars().count() > MAX_DESCRIPTION_CHARS {
        let problem = format!("the description has more than {MAX_DESCRIPTION_CHARS} characters");
        return Err(error_at(0, problem));
    }
    if let Some(one) = front.arguments.get(MAX_ARGUMENTS) {
        let problem = format!("there are more than {MAX_ARGUMENTS} arguments");
        return Err(error_at(one.span().start, problem));
    }
    let mut arguments: Vec<Declared> = Vec::with_capacity(front.arguments.len());
    for declared in &front.arguments {
        let offset = declared.span().start;
        let (name, default) = match declared.get_ref().split_once('=') {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (declared.get_ref().as_str(), None),
        };
        if !is_name(name) {
            let problem = format!(
                "{name:?} is not a valid argument name: use letters, digits, - and _, and begin with a letter or _"
            );
            return Err(error_at(offset, problem));
        }
        if arguments.iter().any(|it| it.argument.name == name) {
            return Err(error_at(
                offset,
                format!("the argument {name} is there twice"),
            ));
        }
        let argument = Argument {
            name: name.to_owned(),
            default,
        };
        arguments.push(Declared {
            argument,
            offset: start + offset,
        });
    }
    Ok((front.description, arguments))
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.len() <= MAX_NAME_BYTES
        && bytes.next().is_some_and(is_start)
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Something that looks like a placeholder.
struct Placeholder<'a> {
    /// From the first brace to the last.
    place: Range<usize>,
    name: &'a str,
    /// Whether a backslash stands before it.
    is_escaped: bool,
}

/// Everything that looks like a placeholder: a name in double braces, perhaps with spaces around it.
fn placeholders(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    const OPEN: &str = "{{";
    const CLOSE: &str = "}}";
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text.get(at..)?.find(OPEN)?;
            let inner = text.get(start + OPEN.len()..)?;
            // A name is short: texts with many braces are not searched to their end for each.
            let found = inner
                .char_indices()
                .take(MAX_NAME_BYTES + CLOSE.len() + 2)
                .find(|(index, _)| inner.get(*index..).is_some_and(|it| it.starts_with(CLOSE)));
            let name = found.and_then(|(index, _)| Some((index, inner.get(..index)?)));
            let name = name.map(|(index, name)| (index, name.trim_matches(' ')));
            match name.filter(|(_, name)| is_name(name)) {
                Some((index, name)) => {
                    let end = start + OPEN.len() + index + CLOSE.len();
                    at = end;
                    return Some(Placeholder {
                        place: start..end,
                        name,
                        is_escaped: text.get(..start)?.ends_with('\\'),
                    });
                }
                // `{{{name}}` has a placeholder that begins one brace later.
                None => at = start + 1,
            }
        }
    })
}

fn line_at(file: &str, offset: usize) -> usize {
    let before = file.bytes().take(offset);
    before.filter(|byte| *byte == b'\n').count() + 1
}

/// `ARGUMENT=VALUE`, the value up to the next word that holds a `=`.
pub fn arguments<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vec<(String, String)>> {
    let mut arguments: Vec<(String, String)> = Vec::new();
    for word in words {
        match (word.split_once('='), arguments.last_mut()) {
            (Some((name, value)), _) if !name.is_empty() => {
                arguments.push((name.to_owned(), value.to_owned()));
            }
            (_, Some((_, value))) => {
                value.push(' ');
                value.push_str(word);
            }
            (_, None) => return None,
        }
    }
    Some(arguments)
}

#[cfg(test)]
mod tests;
