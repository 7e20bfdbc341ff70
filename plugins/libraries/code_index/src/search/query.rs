//! Reads a question.

use std::collections::HashSet;
use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::weights::Weights;
use crate::kind::Kind;
use crate::store::StoreError;
use crate::words::{self, Stems, Term};

/// Why a question cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryError {
    /// A glob is none.
    Glob {
        glob: String,
        reason: String,
    },
    Store(StoreError),
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Glob { glob, reason } => {
                write!(
                    f,
                    "the pattern '{}' is not a glob: {reason}",
                    glob.escape_debug()
                )
            }
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for QueryError {}

impl From<StoreError> for QueryError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Words of a question that are looked for. A longer text is not a question.
const MAX_WORDS: usize = 64;

/// Words and pairs that are looked for.
const MAX_WANTED: usize = 256;

/// How much a pair has to count to be looked for.
const MIN_PAIR: f32 = 0.05;

/// Bytes of a question that are read.
const MAX_BYTES: usize = 4_096;

/// A word or a pair of words that is looked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    /// What to look for.
    pub(crate) term: Term,
    /// The same in a path.
    pub(crate) in_path: Term,
    /// How much it counts beside others, before how rare it is.
    pub(crate) weight: f32,
    /// How much it counts in a path.
    pub(crate) path_weight: f32,
    /// Whether it is a pair.
    pub(crate) is_pair: bool,
    /// Whether it is of the area that the question begins with.
    pub(crate) is_area: bool,
}

/// A question that was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Question {
    /// Words first, then pairs, none twice.
    pub(crate) wanted: Vec<Wanted>,
    /// Whether tests are asked for.
    tests: bool,
    /// Whether prose is asked for.
    prose: bool,
    /// Whether examples or benchmarks are asked for.
    examples: bool,
    /// Whether settings or the build are asked for.
    data: bool,
}

/// A word of the question as it stands there.
struct Word {
    term: Term,
    weak: bool,
    /// The number of the name it is part of.
    name: usize,
    /// Whether it stands before a colon at the start.
    area: bool,
}

impl Question {
    pub(crate) fn new(text: &str, weights: &Weights) -> Self {
        let end = (0..=text.len().min(MAX_BYTES))
            .rev()
            .find(|at| text.is_char_boundary(*at));
        let text = &text[..end.unwrap_or(0)];
        let mut question = Self::default();
        let words = question.words(text);
        question.want_words(&words, weights);
        question.want_pairs(&words, weights);
        question
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// By what the score of a file of a kind is multiplied.
    pub(crate) fn prior(&self, kind: Kind, weights: &Weights) -> f32 {
        match kind {
            Kind::Test if !self.tests => weights.test,
            Kind::Example if !self.examples => weights.example,
            Kind::Prose if !self.prose => weights.prose,
            Kind::Data if !self.data => weights.data,
            Kind::Vendored => weights.vendored,
            _ => 1.0,
        }
    }

    fn words(&mut self, text: &str) -> Vec<Word> {
        let stems = Stems::default();
        let area_end = area_end(text);
        let start = text.as_ptr() as usize;
        let mut found = Vec::new();
        let mut number = 0;
        words::names(text.as_bytes(), |name| {
            number += 1;
            let area = name.as_ptr() as usize - start < area_end;
            words::parts(name, |part| {
                let lower = String::from_utf8_lossy(part).to_lowercase();
                self.note(&lower);
                if let Some(term) = stems.term(part) {
                    found.push(Word {
                        term,
                        weak: WEAK_WORDS.binary_search(&lower.as_str()).is_ok(),
                        name: number,
                        area,
                    });
                }
            });
        });
        found.truncate(MAX_WORDS);
        found
    }

    /// Notes what kinds of files a word asks for.
    fn note(&mut self, lower: &str) {
        match lower {
            "test" | "tests" | "testing" | "tested" | "testcase" | "unittest" | "spec"
            | "specs" | "fixture" | "fixtures" => self.tests = true,
            "doc" | "docs" | "documentation" | "readme" | "changelog" | "manual" | "manpage"
            | "tutorial" => {
                self.prose = true;
            }
            "example" | "examples" | "demo" | "sample" | "benchmark" | "benchmarks" | "bench" => {
                self.examples = true;
            }
            "build" | "cmake" | "makefile" | "configure" | "meson" | "yaml" | "json" | "ci"
            | "workflow" | "dependency" | "dependencies" | "css" | "schema" => self.data = true,
            _ => {}
        }
    }

    fn want_words(&mut self, words: &[Word], weights: &Weights) {
        for word in words {
            if self.wanted.iter().any(|wanted| wanted.term == word.term) {
                continue;
            }
            let weight = if word.weak { weights.weak } else { 1.0 };
            self.wanted.push(Wanted {
                term: word.term,
                in_path: words::in_path(word.term),
                weight,
                path_weight: if word.area { weights.area } else { weight },
                is_pair: false,
                is_area: word.area,
            });
        }
    }

    /// Wants pairs of words that one name may be joined of.
    fn want_pairs(&mut self, words: &[Word], weights: &Weights) {
        let mut known: HashSet<Term> = HashSet::new();
        for (at, first) in words.iter().enumerate() {
            for (distance, second) in words[at + 1..].iter().enumerate() {
                let term = words::pair(first.term, second.term);
                if first.term == second.term || !known.insert(term) {
                    continue;
                }
                let nearness = if first.name == second.name {
                    weights.written
                } else {
                    weights.apart.powf(distance as f32)
                };
                let weak = |word: &Word| if word.weak { weights.weak } else { 1.0 };
                let weight = nearness * weak(first) * weak(second);
                // What is so far apart says nothing, and looking it up takes time.
                if weight < MIN_PAIR {
                    continue;
                }
                self.wanted.push(Wanted {
                    term,
                    in_path: 0,
                    weight,
                    path_weight: 0.0,
                    is_pair: true,
                    is_area: false,
                });
            }
        }
        self.wanted.truncate(MAX_WANTED);
    }
}

/// Where the part before a colon ends that names an area: one or two words at the start.
fn area_end(text: &str) -> usize {
    let Some(colon) = text.find(": ") else {
        return 0;
    };
    let area = &text[..colon];
    if area.split_whitespace().count() <= 2 {
        colon
    } else {
        0
    }
}

/// Which files a question looks at.
pub(crate) struct Filter(Option<GlobSet>);

impl Filter {
    pub(crate) fn new(globs: &[String]) -> Result<Self, QueryError> {
        let globs: Vec<&str> = globs
            .iter()
            .map(|glob| glob.trim().trim_start_matches("./"))
            .filter(|glob| !glob.is_empty() && *glob != "." && *glob != "**")
            .collect();
        if globs.is_empty() {
            return Ok(Self(None));
        }
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            let below = format!("{}/**", glob.trim_end_matches('/'));
            for pattern in [glob, &below] {
                let glob = GlobBuilder::new(pattern).literal_separator(true).build();
                set.add(glob.map_err(|error| QueryError::Glob {
                    glob: pattern.to_owned(),
                    reason: error.kind().to_string(),
                })?);
            }
        }
        let set = set.build().map_err(|error| QueryError::Glob {
            glob: error.glob().unwrap_or_default().to_owned(),
            reason: error.kind().to_string(),
        })?;
        Ok(Self(Some(set)))
    }

    /// Whether a file is looked at.
    pub(crate) fn takes(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|set| set.is_match(path))
    }
}

/// Words that say what was done or asked rather than with what, sorted.
const WEAK_WORDS: [&str; 66] = [
    "add",
    "added",
    "adding",
    "adds",
    "after",
    "allow",
    "allows",
    "always",
    "avoid",
    "before",
    "better",
    "bug",
    "call",
    "change",
    "changed",
    "check",
    "correct",
    "correctly",
    "disable",
    "don",
    "enable",
    "ensure",
    "error",
    "explain",
    "fix",
    "fixed",
    "fixes",
    "fixing",
    "get",
    "gets",
    "given",
    "handle",
    "handled",
    "implement",
    "implemented",
    "improve",
    "instead",
    "issue",
    "make",
    "makes",
    "missing",
    "more",
    "move",
    "new",
    "now",
    "only",
    "prevent",
    "problem",
    "properly",
    "refactor",
    "remove",
    "removed",
    "rename",
    "return",
    "returns",
    "set",
    "sets",
    "support",
    "update",
    "use",
    "used",
    "uses",
    "using",
    "work",
    "works",
    "wrong",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_words_are_sorted() {
        assert!(WEAK_WORDS.is_sorted());
    }

    #[test]
    fn a_question_is_words_and_pairs() {
        let question = Question::new("How does readFile work with readFile?", &Weights::default());
        let words = question.wanted.iter().filter(|w| !w.is_pair).count();
        assert_eq!(words, 3, "{question:?}");
        assert!(Question::new("how is it?", &Weights::default()).is_empty());
        assert!(Question::new("", &Weights::default()).is_empty());
    }

    #[test]
    fn globs_choose_files() {
        let filter = Filter::new(&["src".to_owned(), "**/*.py".to_owned()]).unwrap();
        assert!(filter.takes("src/a/b.rs"));
        assert!(filter.takes("x/y.py"));
        assert!(!filter.takes("x/y.rs"));
        assert!(Filter::new(&[]).unwrap().takes("x"));
        assert!(Filter::new(&["a[".to_owned()]).is_err());
    }
}
