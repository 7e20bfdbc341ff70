//! Compiles what the model wrote into something that finds it in lines.

use dunlin_sdk::Failure;
use regex_automata::meta::{BuildError, Cache, Config, Regex};
use regex_automata::{Input, Match};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange};
use regex_syntax::hir::{Hir, HirKind, Repetition};
use regex_syntax::{Error as SyntaxError, ParserBuilder, escape};

/// Characters of a pattern.
const MAX_PATTERN_CHARS: usize = 4_000;

/// Bytes of a pattern that is shown with an error in it.
const SHOWN_PATTERN_BYTES: usize = 200;

/// How deeply a pattern is nested: what follows calls itself for each level.
const MAX_NESTING: u32 = 60;

/// Bytes of a compiled pattern, against repetitions of repetitions. `\w{100}` has some two million.
const MAX_COMPILED_BYTES: usize = 6 << 20;

/// Bytes of what is remembered while searching.
const MAX_CACHE_BYTES: usize = 4 << 20;

/// A compiled pattern, none of whose matches goes over the end of a line.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    cache: Cache,
}

impl Pattern {
    /// Compiles a regular expression, or a text that stands for itself.
    pub fn new(pattern: &str, literal: bool, ignore_case: bool) -> Result<Self, Failure> {
        if pattern.is_empty() {
            return Err(wrong("it is empty; write what you look for"));
        }
        if pattern.chars().count() > MAX_PATTERN_CHARS {
            let problem =
                format!("it has more than {MAX_PATTERN_CHARS} characters; search for a part of it");
            return Err(wrong(&problem));
        }
        let written = match literal {
            true => &escape(pattern),
            false => pattern,
        };
        let hir = ParserBuilder::new()
            .utf8(false)
            .multi_line(true)
            .crlf(true)
            .case_insensitive(ignore_case)
            .nest_limit(MAX_NESTING)
            .build()
            .parse(written)
            .map_err(|error| {
                wrong(&format!(
                    "it is not a regular expression: {}\nCorrect it, or set literal to true to search for it as it is",
                    explained(&error, written)
                ))
            })?;
        let hir = within_lines(&hir).ok_or_else(|| {
            wrong("it contains a line break, and each line is searched by itself; search for a part of one line")
        })?;
        let config = Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(MAX_COMPILED_BYTES))
            .hybrid_cache_capacity(MAX_CACHE_BYTES);
        let regex = Regex::builder()
            .configure(config)
            .build_from_hir(&hir)
            .map_err(|error| wrong(&not_compiled(&error)))?;
        let cache = regex.create_cache();
        Ok(Self { regex, cache })
    }

    /// The first match that begins in a range of a text.
    pub fn find(&mut self, text: &[u8], range: std::ops::Range<usize>) -> Option<Match> {
        let input = Input::new(text).range(range);
        self.regex.search_with(&mut self.cache, &input)
    }
}

/// What is wrong, below a short pattern; of a long one the place is named.
fn explained(error: &SyntaxError, written: &str) -> String {
    let (what, span) = match error {
        SyntaxError::Parse(error) => (error.kind().to_string(), error.span()),
        SyntaxError::Translate(error) => (error.kind().to_string(), error.span()),
        other => return other.to_string(),
    };
    if written.len() <= SHOWN_PATTERN_BYTES {
        return error.to_string();
    }
    let before = written.get(..span.start.offset).unwrap_or_default();
    format!("{what}, at character {}", before.chars().count() + 1)
}

fn not_compiled(error: &BuildError) -> String {
    match error.size_limit() {
        Some(_) => "it is too large once it is compiled; repeat less".to_owned(),
        None => format!("it cannot be compiled: {error}"),
    }
}

fn wrong(problem: &str) -> Failure {
    Failure::invalid_arguments(format!("pattern: {problem}"))
}

/// The same without line breaks in any class, so that all lines of a file can be searched at once; `None` where it asks for
/// one. Groups only group.
fn within_lines(hir: &Hir) -> Option<Hir> {
    let all = |parts: &[Hir]| parts.iter().map(within_lines).collect::<Option<Vec<_>>>();
    Some(match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => hir.clone(),
        HirKind::Literal(literal) => match literal.0.contains(&b'\n') {
            true => return None,
            false => hir.clone(),
        },
        HirKind::Class(Class::Unicode(class)) => {
            let mut class = class.clone();
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
            if class.ranges().is_empty() {
                return None;
            }
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut class = class.clone();
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            if class.ranges().is_empty() {
                return None;
            }
            Hir::class(Class::Bytes(class))
        }
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            sub: Box::new(within_lines(&repetition.sub)?),
            ..repetition.clone()
        }),
        HirKind::Capture(capture) => within_lines(&capture.sub)?,
        HirKind::Concat(parts) => Hir::concat(all(parts)?),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)?),
    })
}
