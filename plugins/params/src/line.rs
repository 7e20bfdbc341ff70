//! One line: `@param name {type} [required|optional] Description`.

use std::fmt;

use crate::MAX_DEPTH;

/// The type of a parameter, one of JSON Schema's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of JSON Schema")]
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

/// Parses one line; the error says what is wrong with it.
pub(crate) fn parse(line: &str) -> Result<Param, String> {
    let rest = line
        .trim()
        .strip_prefix("@param")
        .ok_or("it does not begin with @param")?;
    if !rest.starts_with(char::is_whitespace) {
        return Err("there is no space after @param".to_owned());
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
        .ok_or("there is no {type} after the name")?;
    let (kind, rest) = rest
        .split_once('}')
        .ok_or("the brace of the type is not closed")?;
    let kind = parse_type(kind.trim())?;

    let (required, description) = parse_required(rest.trim())?;
    Ok(Param {
        path,
        kind,
        required,
        description: description.to_owned(),
    })
}

fn parse_name(name: &str) -> Result<Vec<Step>, String> {
    if name.is_empty() {
        return Err("there is no name".to_owned());
    }
    let mut path = Vec::new();
    for part in name.split('.') {
        let field = part.trim_end_matches("[]");
        if field.is_empty() {
            return Err(format!("the name `{name}` has an empty part"));
        }
        if let Some(odd) = field
            .chars()
            .find(|c| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '$')))
        {
            return Err(format!("the name `{name}` has a {odd:?} in it"));
        }
        path.push(Step::Field(field.to_owned()));
        path.extend(std::iter::repeat_n(
            Step::Items,
            (part.len() - field.len()) / 2,
        ));
    }
    if path.len() > MAX_DEPTH {
        return Err(format!(
            "the name `{name}` is nested deeper than {MAX_DEPTH} steps"
        ));
    }
    Ok(path)
}

fn parse_type(name: &str) -> Result<Type, String> {
    Type::ALL
        .into_iter()
        .find(|kind| kind.name() == name)
        .ok_or_else(|| {
            let known = Type::ALL.map(Type::name).join(", ");
            format!("there is no type `{name}` (there are {known})")
        })
}

/// Only these two words in brackets are special: a description may well begin with a bracket.
fn parse_required(rest: &str) -> Result<(bool, &str), String> {
    if let Some(description) = rest.strip_prefix("[required]") {
        return Ok((true, description.trim()));
    }
    if let Some(description) = rest.strip_prefix("[optional]") {
        return Ok((false, description.trim()));
    }
    match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((word, _)) if near_miss(word) => {
            Err(format!("`[{word}]` is neither [required] nor [optional]"))
        }
        _ => Ok((true, rest)),
    }
}

/// Whether somebody meant one of the two words: silently taking it for text would change the schema.
fn near_miss(word: &str) -> bool {
    let word = word.trim().to_lowercase();
    word.starts_with("req") || word.starts_with("opt")
}
