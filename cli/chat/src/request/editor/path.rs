//! Paths as users read and type them: `messages[2].content[1].text`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::document;

/// One step into a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// To a member of an object. Shared: all paths that lead through a member hold the same text, and a model can choose a
    /// long one.
    Key(Arc<str>),
    /// To an element of an array, from 0.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Step {
        Step::Key(key.into())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Step {
        Step::Index(index)
    }
}

/// Steps into a value. The empty path is the value itself and is written `$`.
///
/// A key of other characters than `A-Z a-z 0-9 _ -` is written as a JSON string in brackets: `["a key"]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Path(Vec<Step>);

impl Path {
    /// The path to the value itself.
    pub fn root() -> Path {
        Path::default()
    }

    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// How long all keys in it are together, in bytes.
    pub(super) fn key_bytes(&self) -> usize {
        let keys = self.0.iter().map(|step| match step {
            Step::Key(key) => key.len(),
            Step::Index(_) => 0,
        });
        keys.sum()
    }

    /// The path one step further.
    #[must_use]
    pub fn then(&self, step: impl Into<Step>) -> Path {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step.into());
        Path(steps)
    }

    /// The path that goes on with these steps.
    #[must_use]
    pub fn join(&self, steps: &[Step]) -> Path {
        Path([&self.0, steps].concat())
    }

    /// Reads the path at the beginning of a text, up to white space that is not within brackets. Returns it with the
    /// rest of the text after one such character.
    ///
    /// # Errors
    /// There is no path.
    pub fn parse_first(text: &str) -> Result<(Path, &str), PathSyntax> {
        let mut rest = text;
        let mut steps = Vec::new();
        let mut is_first = true;
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
            is_first = false;
        }
        let wrong = |rest: &str| PathSyntax {
            path: text.to_owned(),
            at: text.len() - rest.len(),
        };
        loop {
            let next = rest.chars().next();
            if next.is_none_or(char::is_whitespace) && !is_first {
                let rest = next.and_then(|space| rest.get(space.len_utf8()..));
                return Ok((Path(steps), rest.unwrap_or_default()));
            }
            let step = if let Some(inside) = rest.strip_prefix('[') {
                bracketed(inside)
            } else if is_first {
                bare(rest)
            } else {
                rest.strip_prefix('.').and_then(bare)
            };
            let (step, after) = step.ok_or_else(|| wrong(rest))?;
            steps.push(step);
            rest = after;
            is_first = false;
        }
    }
}

impl From<Vec<Step>> for Path {
    fn from(steps: Vec<Step>) -> Path {
        Path(steps)
    }
}

/// A key up to the next step. `$` alone would be the root.
fn bare(text: &str) -> Option<(Step, &str)> {
    let ends = |c: char| matches!(c, '.' | '[' | ']' | '"' | '$') || c.is_whitespace();
    let (key, rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
    (!key.is_empty()).then(|| (Step::from(key), rest))
}

/// An index or a quoted key, and what follows the closing bracket.
fn bracketed(text: &str) -> Option<(Step, &str)> {
    if !text.starts_with('"') {
        let (digits, rest) = text.split_once(']')?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        return Some((
            Step::Index(digits.parse().ok().filter(|_| is_number)?),
            rest,
        ));
    }
    let mut escaped = false;
    let is_end = |(_, c): &(usize, char)| {
        let is_end = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        is_end
    };
    let end = text.char_indices().skip(1).find(is_end)?.0 + 1;
    let (quoted, rest) = text.split_at(end);
    let key = document::decode(quoted)?;
    Some((Step::Key(key.into()), rest.strip_prefix(']')?))
}

impl From<Path> for String {
    fn from(it: Path) -> String {
        it.to_string()
    }
}

impl TryFrom<String> for Path {
    type Error = PathSyntax;

    fn try_from(text: String) -> Result<Path, PathSyntax> {
        text.parse()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_bare = |key: &str| {
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            !key.is_empty() && key.bytes().all(legal)
        };
        if self.0.is_empty() {
            return f.write_str("$");
        }
        for (number, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if !is_bare(key) => write!(f, "[{}]", document::encode(key))?,
                Step::Key(key) if number == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Path {
    type Err = PathSyntax;

    fn from_str(text: &str) -> Result<Path, PathSyntax> {
        match Path::parse_first(text)? {
            (path, "") => Ok(path),
            (_, rest) => Err(PathSyntax {
                path: text.to_owned(),
                at: text.len() - rest.len(),
            }),
        }
    }
}

/// A text that is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid path {path:?} at byte {at}: write it like messages[2].content or options[\"a key\"]"
)]
pub struct PathSyntax {
    pub path: String,
    /// The byte where no step begins.
    pub at: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_as_it_is_written() {
        let check = |text: &str, steps: &[Step]| {
            let path: Path = text.parse().unwrap();
            assert_eq!(path.steps(), steps, "{text}");
            assert_eq!(path.to_string(), text);
        };
        check("$", &[]);
        check("model", &["model".into()]);
        check(
            "messages[2].content[1].text",
            &[
                "messages".into(),
                2.into(),
                "content".into(),
                1.into(),
                "text".into(),
            ],
        );
        check(
            r#"["a b"]["\"]"][""].c"#,
            &["a b".into(), "\"]".into(), "".into(), "c".into()],
        );
        check(r#"["$"].top-p"#, &["$".into(), "top-p".into()]);
    }

    #[test]
    fn a_value_may_follow_a_path() {
        let check = |text: &str, path: &str, rest: &str| {
            let (read, left) = Path::parse_first(text).unwrap();
            assert_eq!((read.to_string().as_str(), left), (path, rest), "{text}");
        };
        check("model  two words", "model", " two words");
        check(r#"a["b c"] d"#, r#"a["b c"]"#, "d");
        check("größe 1", r#"["größe"]"#, "1");
        check("$.a\n", "a", "");
    }

    #[test]
    fn a_text_that_is_not_a_path_is_refused_at_its_place() {
        let check = |text: &str, at: usize| {
            let error = text.parse::<Path>().unwrap_err();
            assert_eq!((error.path.as_str(), error.at), (text, at));
        };
        check("", 0);
        check(" a", 0);
        check("a..b", 1);
        check("a.", 1);
        check("a[", 1);
        check("a[+1]", 1);
        check("a[99999999999999999999]", 1);
        check("a[\"b]", 1);
        check("a]", 1);
        check("a b", 2);
        check("$a", 1);
    }
}
