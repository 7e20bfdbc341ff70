//! One line: `@param name {type} [required|optional] Description`.

use std::fmt;

use crate::{MAX_DEPTH, MAX_PARAMETERS};

/// The type of a parameter, one of JSON Schema's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    String,
    Integer,
    Number,
    Boolean,
    Object,
    Array,
}

impl Type {
    const ALL: [Self; 6] = [
        Self::String,
        Self::Integer,
        Self::Number,
        Self::Boolean,
        Self::Object,
        Self::Array,
    ];

    /// Its name, in lines and in schemas.
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
        }
    }
}

/// One step from a value to a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A member of an object.
    Field(String),
    /// The items of an array.
    Items,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => f.write_str(name),
            Self::Items => f.write_str("[]"),
        }
    }
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Param {
    /// Never empty; begins with a field.
    pub(crate) path: Vec<Step>,
    pub(crate) kind: Type,
    pub(crate) required: bool,
    /// May be empty.
    pub(crate) description: String,
}

/// What is wrong with a line, or with its place among the others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// It is something else.
    #[error("it does not begin with @param")]
    NoParam,
    /// Another word begins with `@param`.
    #[error("there is no space after @param")]
    NoSpace,
    /// The line ends before the name.
    #[error("there is no name")]
    NoName,
    /// Two dots follow each other, or one is at an end.
    #[error("the name `{0}` has an empty part")]
    EmptyPart(String),
    #[error("the name `{name}` has a {odd:?} in it")]
    OddCharacter { name: String, odd: char },
    #[error("the name `{0}` is nested deeper than {MAX_DEPTH} steps")]
    TooDeep(String),
    #[error("there is no {{type}} after the name")]
    NoType,
    /// The type does not end.
    #[error("the brace of the type is not closed")]
    OpenBrace,
    #[error("there is no type `{name}` (there are {})", Type::ALL.map(Type::name).join(", "))]
    UnknownType {
        /// What the line has.
        name: String,
    },
    /// Nearly one of the two words in brackets.
    #[error("`[{0}]` is neither [required] nor [optional]")]
    NearMiss(String),
    #[error("`{name}` is of type {}, and only an {} can have `{step}`", kind.name(), needed.name())]
    NoParts {
        /// What has no parts.
        name: String,
        kind: Type,
        /// The type that would have parts.
        needed: Type,
        /// The next step of the name.
        step: String,
    },
    /// Another line has the same name.
    #[error("`{0}` is there twice")]
    Twice(String),
    #[error("`{name}` has parts already, which makes it an {}", kind.name())]
    HasParts {
        name: String,
        /// The type that its parts make it.
        kind: Type,
    },
    #[error("this is one more than the {MAX_PARAMETERS} parameters that are allowed")]
    TooMany,
}

/// Parses one line.
pub(crate) fn parse(line: &str) -> Result<Param, LineError> {
    let rest = line
        .trim()
        .strip_prefix("@param")
        .ok_or(LineError::NoParam)?;
    if !rest.starts_with(char::is_whitespace) {
        return Err(LineError::NoSpace);
    }
    let rest = rest.trim_start();
    let (name, rest) = rest.split_at(
        rest.find(|c: char| c.is_whitespace() || c == '{')
            .unwrap_or(rest.len()),
    );
    let path = parse_name(name)?;

    let rest = rest
        .trim_start()
        .strip_prefix('{')
        .ok_or(LineError::NoType)?;
    let (kind, rest) = rest.split_once('}').ok_or(LineError::OpenBrace)?;
    let kind = parse_type(kind.trim())?;

    let (required, description) = parse_required(rest.trim())?;
    Ok(Param {
        path,
        kind,
        required,
        description: description.to_owned(),
    })
}

fn parse_name(name: &str) -> Result<Vec<Step>, LineError> {
    if name.is_empty() {
        return Err(LineError::NoName);
    }
    let mut path = Vec::new();
    for part in name.split('.') {
        let field = part.trim_end_matches("[]");
        if field.is_empty() {
            return Err(LineError::EmptyPart(name.to_owned()));
        }
        if let Some(odd) = field
            .chars()
            .find(|c| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '$')))
        {
            let name = name.to_owned();
            return Err(LineError::OddCharacter { name, odd });
        }
        path.push(Step::Field(field.to_owned()));
        path.extend(std::iter::repeat_n(
            Step::Items,
            (part.len() - field.len()) / 2,
        ));
    }
    if path.len() > MAX_DEPTH {
        return Err(LineError::TooDeep(name.to_owned()));
    }
    Ok(path)
}

fn parse_type(name: &str) -> Result<Type, LineError> {
    Type::ALL
        .into_iter()
        .find(|kind| kind.name() == name)
        .ok_or_else(|| LineError::UnknownType {
            name: name.to_owned(),
        })
}

/// Only these two words in brackets are special: a description may well begin with a bracket.
fn parse_required(rest: &str) -> Result<(bool, &str), LineError> {
    if let Some(description) = rest.strip_prefix("[required]") {
        return Ok((true, description.trim()));
    }
    if let Some(description) = rest.strip_prefix("[optional]") {
        return Ok((false, description.trim()));
    }
    match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((word, _)) if near_miss(word) => Err(LineError::NearMiss(word.to_owned())),
        _ => Ok((true, rest)),
    }
}

/// Whether somebody meant one of the two words: silently taking it for text would change the schema.
fn near_miss(word: &str) -> bool {
    let word = word.trim().to_lowercase();
    word.starts_with("req") || word.starts_with("opt")
}
