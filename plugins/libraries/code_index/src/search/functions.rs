//! Which functions of a file are called what is asked for.
//!
//! Words are counted in chunks, and a chunk has neighbours, callers and comments in it. What a question means is most
//! often told by a declaration: its name, what it takes and gives, and how it begins. Only the best few files are
//! looked at so closely.

use std::collections::HashMap;

use super::features::Ranked;
use super::query::Question;
use crate::chunks::{Line, LineKind};
use crate::words::{self, Stems, Term};

/// Files that are looked at.
pub(super) const FILES: usize = 6;

/// Bytes of all these files: more would take longer than the search itself.
pub(super) const MAX_BYTES: usize = 768 << 10;

/// Functions of a file that are given to a model.
const BEST: usize = 4;

/// Lines that a declaration goes on for at most.
const SIGNATURE_LINES: usize = 5;

/// Bytes of it that a model is given: so, two functions take it no longer than another passage would.
const SIGNATURE_BYTES: usize = 80;

/// Lines of a function that are looked at: its beginning says what it is about.
const LINES: usize = 12;

/// Lines of the comment above it that are looked at.
const COMMENT_LINES: usize = 6;

/// How much it counts that a name has no other words than those that are asked for.
const PRECISE: f32 = 0.1;

/// What a question wants, and how much each word counts.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    rarity: HashMap<Term, f32>,
    /// All together.
    all: f32,
    /// How much a word counts that is not wanted, in a name.
    other: f32,
}

impl Wanted {
    pub(super) fn new(question: &Question, ranked: &Ranked) -> Self {
        let wanted = question.wanted.iter().zip(&ranked.rarity);
        let rarity: HashMap<Term, f32> = wanted
            .filter(|(wanted, _)| !wanted.is_pair)
            .map(|(wanted, rarity)| (wanted.term, *rarity))
            .collect();
        let mean = rarity.values().sum::<f32>() / rarity.len().max(1) as f32;
        Self {
            rarity,
            all: ranked.all,
            other: mean,
        }
    }
}

/// A function that is declared in a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Function {
    /// The line that declares it, counted from 0.
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) signature: String,
    /// How much of the question it has, about 1 at most.
    pub(super) score: f32,
}

/// The functions of a file that have most of what is wanted, best first.
pub(super) fn best(lines: &[Line<'_>], wanted: &Wanted, stems: &Stems) -> Vec<Function> {
    let mut found: Vec<(f32, usize)> = Vec::new();
    let mut known = Known::new(wanted, stems);
    for (number, line) in lines.iter().enumerate() {
        if let Some(name) = line.name() {
            let score = known.score(lines, number, name);
            if score > 0.0 {
                found.push((score, number));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.truncate(BEST);
    let function = |(score, line): (f32, usize)| {
        let mut signature = Vec::new();
        for line in signature_lines(lines, line) {
            signature.extend_from_slice(line.text.trim_ascii());
            signature.push(b' ');
        }
        signature.truncate(SIGNATURE_BYTES);
        Function {
            line,
            name: String::from_utf8_lossy(lines[line].name().unwrap_or_default()).into_owned(),
            signature: String::from_utf8_lossy(&signature).into_owned(),
            score,
        }
    };
    found.into_iter().map(function).collect()
}

/// The lines of a declaration.
fn signature_lines<'a, 'b>(
    lines: &'a [Line<'b>],
    start: usize,
) -> impl Iterator<Item = &'a Line<'b>> {
    let mut ended = false;
    lines[start..]
        .iter()
        .take(SIGNATURE_LINES)
        .take_while(move |line| {
            let goes_on = !ended;
            let text = line.text.trim_ascii_end();
            ended = text.contains(&b'{') || text.ends_with(b":") || text.ends_with(b";");
            goes_on
        })
}

/// Words of a file that were looked up: names repeat.
struct Known<'a> {
    wanted: &'a Wanted,
    stems: &'a Stems,
    /// For each name the wanted words that it has, and how many others.
    names: HashMap<u64, (Vec<Term>, usize)>,
    /// The wanted words of the function that is looked at.
    seen: Vec<Term>,
}

impl<'a> Known<'a> {
    fn new(wanted: &'a Wanted, stems: &'a Stems) -> Self {
        Self {
            wanted,
            stems,
            names: HashMap::new(),
            seen: Vec::new(),
        }
    }

    /// How much of the question a function has: in its name, in its declaration, in its first lines, each as much.
    fn score(&mut self, lines: &[Line<'_>], number: usize, name: &[u8]) -> f32 {
        self.seen.clear();
        let others = self.see(name);
        let named = self.sum();
        let of_name = named + others as f32 * self.wanted.other;
        for line in signature_lines(lines, number) {
            self.see_line(line);
        }
        let declared = self.sum();
        let below = &lines[number + 1..];
        for line in below
            .iter()
            .take(LINES - 1)
            .take_while(|line| line.declares.is_none())
        {
            self.see_line(line);
        }
        let above = lines[..number].iter().rev();
        for line in above
            .take(COMMENT_LINES)
            .take_while(|line| line.kind == LineKind::Comment)
        {
            self.see_line(line);
        }
        let all = self.sum();
        let precise = if of_name > 0.0 { named / of_name } else { 0.0 };
        (named + declared + all) / (3.0 * self.wanted.all) + PRECISE * precise
    }

    fn sum(&self) -> f32 {
        let rarity = |term| self.wanted.rarity.get(term).unwrap_or(&0.0);
        self.seen.iter().map(rarity).sum()
    }

    fn see_line(&mut self, line: &Line<'_>) {
        words::names(line.text, |name| {
            self.see(name);
        });
    }

    /// Notes the wanted words of a name, and returns how many others it has.
    fn see(&mut self, name: &[u8]) -> usize {
        let (wanted, stems) = (self.wanted, self.stems);
        let (terms, others) = self.names.entry(words::hash(name)).or_insert_with(|| {
            let (mut terms, mut others) = (Vec::new(), 0);
            words::parts(name, |part| match stems.term(part) {
                Some(term) if wanted.rarity.contains_key(&term) => terms.push(term),
                Some(_) => others += 1,
                None => {}
            });
            (terms, others)
        });
        for term in terms {
            if !self.seen.contains(term) {
                self.seen.push(*term);
            }
        }
        *others
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks;

    fn wanted(text: &str) -> Wanted {
        let stems = Stems::default();
        let mut rarity = HashMap::new();
        words::names(text.as_bytes(), |word| {
            rarity.extend(stems.term(word).map(|term| (term, 1.0)));
        });
        Wanted {
            all: rarity.len().max(1) as f32,
            rarity,
            other: 1.0,
        }
    }

    fn names(question: &str, text: &str) -> Vec<String> {
        let lines = chunks::lines("a.rs", text.as_bytes());
        let found = best(&lines, &wanted(question), &Stems::default());
        assert!(found.iter().all(|it| it.score > 0.0 && it.score <= 1.2));
        found.into_iter().map(|function| function.name).collect()
    }

    #[test]
    fn who_is_called_what_is_asked_for_stands_before_who_calls_it() {
        let text = "fn start() {\n    let pool = open_pool();\n    close_pool(pool);\n}\n\nfn close_pool(pool: Pool) {\n    \
                    drop(pool);\n}\n";
        assert_eq!(
            names("closes the pool", text).first().unwrap(),
            "close_pool"
        );
    }

    #[test]
    fn what_it_takes_and_the_comment_above_count() {
        let text =
            "fn one(length: usize) {}\n\n// Of a certificate.\nfn two() {}\n\nfn three() {}\n";
        assert!(names("certificate", text).contains(&"two".to_owned()));
        assert!(!names("certificate", text).contains(&"three".to_owned()));
        assert_eq!(names("length", text), ["one"]);
        assert!(names("nothing", text).is_empty());
        assert!(names("", text).is_empty());
    }

    #[test]
    fn a_declaration_ends_where_the_body_begins() {
        let text =
            "fn one(\n    a: usize,\n) -> bool {\n    a == 0\n}\n".to_owned() + &"ä".repeat(500);
        let lines = chunks::lines("a.rs", text.as_bytes());
        let found = best(&lines, &wanted("one"), &Stems::default());
        assert_eq!(found[0].signature.trim(), "fn one( a: usize, ) -> bool {");
        let text = format!("fn one({}", "ä".repeat(500));
        let lines = chunks::lines("a.rs", text.as_bytes());
        let found = best(&lines, &wanted("one"), &Stems::default());
        assert!(
            found
                .iter()
                .all(|it| it.signature.len() < SIGNATURE_BYTES + 8)
        );
    }
}
