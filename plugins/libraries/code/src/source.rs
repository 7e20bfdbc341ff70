//! A text that was parsed.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::declarations::{self, Declares};
use crate::language::Language;
use crate::syntax::Watch;

/// Bytes of the largest text that is parsed. Source written by people is smaller.
const MAX_BYTES: usize = 1 << 20;

/// Steps of the parser for each byte before it is given up. A text that parses takes far fewer than one.
const STEPS_PER_BYTE: usize = 4;

/// Steps that any text may take.
const MIN_STEPS: usize = 100_000;

/// Steps of the parser from one look at the budget to the next; so it is built.
const STEPS_PER_LOOK: usize = 100;

/// How deep brackets may be nested, closed or not. The parser lets go of its stack by recursion: some ten thousand levels
/// would be the end of a sandbox's stack. What people write has a few dozen.
const MAX_NESTING: usize = 500;

/// Bytes of the longest line, for the same reason: assignments and conditions nest without brackets.
const MAX_LINE_BYTES: usize = 10_000;

/// Signs in a row without a word between them, for the same reason: `!!!!x`.
const MAX_SIGNS: usize = 1_000;

/// Declarations of one text that are kept.
const MAX_DECLARATIONS: usize = 20_000;

/// A declaration as an outline shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Counted from 1.
    pub line: u64,
    /// How far the line is indented, in columns; a tab counts as four.
    pub indent: usize,
    /// The line in which the declaration begins, without what surrounds it.
    pub text: String,
}

/// A function or a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name after those of the types it stands in: `Parser.read`.
    pub name: String,
    /// Its first line, counted from 1: that of the comment and the attributes right above it.
    pub start_line: u64,
    pub end_line: u64,
    /// Whether it is a function rather than a type.
    pub is_function: bool,
}

/// A declaration of a text.
#[derive(Debug, Clone)]
struct Declaration {
    name: String,
    declares: Declares,
    /// Lines counted from 0, the last included: with what belongs to it, and where it begins itself.
    start: usize,
    own: usize,
    end: usize,
    /// The declaration it stands in.
    parent: Option<usize>,
}

/// What is declared in a text.
#[derive(Debug, Clone)]
pub struct Source {
    declarations: Vec<Declaration>,
}

impl Source {
    /// Parses a text, `None` if it is too large or takes too long.
    pub fn parse(language: Language, text: &str) -> Option<Self> {
        let tree = tree(&language.grammar(), text, None)?;
        Some(Self {
            declarations: collect(&tree, text.as_bytes()),
        })
    }

    /// The declarations in order. `text` is what was parsed.
    pub fn outline(&self, text: &str) -> Vec<Entry> {
        let lines: Vec<&str> = text.lines().collect();
        let mut entries: Vec<Entry> = Vec::new();
        for declaration in &self.declarations {
            let line = declaration.own as u64 + 1;
            let Some(written) = lines.get(declaration.own) else {
                continue;
            };
            if entries.last().is_some_and(|entry| entry.line == line) {
                continue;
            }
            let columns = written.chars().take_while(|c| c.is_whitespace());
            entries.push(Entry {
                line,
                indent: columns.map(|c| if c == '\t' { 4 } else { 1 }).sum(),
                text: written
                    .trim()
                    .trim_end_matches(['{', ' ', ':', '\t'])
                    .to_owned(),
            });
        }
        entries
    }

    /// The innermost function that a line, counted from 1, is part of; the innermost type if there is none.
    pub fn enclosing(&self, line: u64) -> Option<Symbol> {
        let line = usize::try_from(line.checked_sub(1)?).ok()?;
        let about =
            |declaration: &Declaration| declaration.start <= line && line <= declaration.end;
        let around = self
            .declarations
            .iter()
            .enumerate()
            .filter(|(_, d)| about(d));
        // A function that is declared in another is mostly a closure of it: the outermost is what is meant.
        let function = around
            .clone()
            .filter(|(_, d)| d.declares == Declares::Function)
            .max_by_key(|(number, d)| (self.is_outer_function(*number), d.start));
        let (number, _) = function.or_else(|| around.max_by_key(|(_, d)| d.start))?;
        Some(self.symbol(number))
    }

    /// Whether a function is not part of another.
    fn is_outer_function(&self, number: usize) -> bool {
        let mut parent = self.declarations[number].parent;
        while let Some(outer) = parent {
            if self.declarations[outer].declares == Declares::Function {
                return false;
            }
            parent = self.declarations[outer].parent;
        }
        true
    }

    fn symbol(&self, number: usize) -> Symbol {
        let declaration = &self.declarations[number];
        let mut name = declaration.name.clone();
        let mut parent = declaration.parent;
        // Names of more than three levels are read by nobody.
        for _ in 0..2 {
            let Some(outer) = parent else {
                break;
            };
            let outer = &self.declarations[outer];
            let short = outer.name.strip_prefix("impl ").unwrap_or(&outer.name);
            name = format!("{}.{name}", short.rsplit(" for ").next().unwrap_or(short));
            parent = outer.parent;
        }
        Symbol {
            name,
            start_line: declaration.start as u64 + 1,
            end_line: declaration.end as u64 + 1,
            is_function: declaration.declares == Declares::Function,
        }
    }
}

/// Whether a text can be parsed without going deep: with at most `max_nesting` brackets around anything.
pub(crate) fn is_shallow(text: &[u8], max_nesting: usize) -> bool {
    let (mut nesting, mut line, mut signs) = (0_usize, 0_usize, 0_usize);
    text.iter().all(|byte| {
        line = if *byte == b'\n' { 0 } else { line + 1 };
        match byte {
            b'(' | b'[' | b'{' => nesting += 1,
            b')' | b']' | b'}' => nesting = nesting.saturating_sub(1),
            _ => {}
        }
        signs = if byte.is_ascii_punctuation() && *byte != b'_' {
            signs + 1
        } else if byte.is_ascii_whitespace() {
            signs
        } else {
            0
        };
        nesting <= max_nesting && line <= MAX_LINE_BYTES && signs <= MAX_SIGNS
    })
}

/// Parses a text, `None` if it is too large or takes too long. With a watch, parsing may end early without a tree.
pub(crate) fn tree(
    grammar: &tree_sitter::Language,
    text: &str,
    watch: Option<&Watch>,
) -> Option<Tree> {
    if text.len() > MAX_BYTES || !is_shallow(text.as_bytes(), MAX_NESTING) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(grammar).ok()?;
    if let Some(watch) = watch.cloned() {
        parser.set_logger(Some(Box::new(move |_, message| watch.read(message))));
    }
    let mut looks = text.len().saturating_mul(STEPS_PER_BYTE).max(MIN_STEPS) / STEPS_PER_LOOK;
    let mut look = |_: &tree_sitter::ParseState| {
        looks = looks.saturating_sub(1);
        if looks == 0 || watch.is_some_and(Watch::is_over) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let bytes = text.as_bytes();
    parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(ParseOptions::new().progress_callback(&mut look)),
    )
}

/// The declarations of a tree in order. Walks without recursion, because a text may be nested as deep as it is long.
fn collect(tree: &Tree, text: &[u8]) -> Vec<Declaration> {
    let mut all: Vec<Declaration> = Vec::new();
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut cursor = tree.walk();
    let mut depth = 0_usize;
    loop {
        let node = cursor.node();
        while open.last().is_some_and(|(_, at)| *at >= depth) {
            open.pop();
        }
        if let Some(declares) = declarations::declares(node)
            && let Some(name) = declarations::name(node, text)
            && all.len() < MAX_DECLARATIONS
        {
            all.push(Declaration {
                name,
                declares,
                start: start(node, all.last().map_or(0, |last| last.own)),
                own: node.start_position().row,
                end: end(node),
                parent: open.last().map(|(number, _)| *number),
            });
            open.push((all.len() - 1, depth));
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return all;
            }
            depth -= 1;
        }
    }
}

/// The first line of what belongs to a declaration: decorators, attributes, and the comment right above. Nothing above
/// `floor`, where the declaration before begins.
fn start(node: Node<'_>, floor: usize) -> usize {
    let mut first = node;
    // `export`, `template <…>`, decorators and the like are around what they are said of.
    while let Some(parent) = first.parent()
        && matches!(
            parent.kind(),
            "decorated_definition"
                | "export_statement"
                | "template_declaration"
                | "lexical_declaration"
                | "variable_declaration"
                | "type_declaration"
                | "expression_statement"
                | "linkage_specification"
        )
        && parent.start_position().row >= floor
    {
        first = parent;
    }
    let mut row = first.start_position().row;
    // Nobody writes more comments above one declaration than this.
    for _ in 0..64 {
        let Some(before) = first.prev_sibling() else {
            break;
        };
        let belongs = matches!(
            before.kind(),
            "comment" | "line_comment" | "block_comment" | "attribute_item" | "decorator"
        );
        // A comment's node may end at the start of the next line.
        let touches = before.end_position().row + 1 >= row && before.start_position().row >= floor;
        if !belongs || !touches {
            break;
        }
        row = before.start_position().row;
        first = before;
    }
    row
}

/// The last line of a node.
fn end(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row {
        end.row - 1
    } else {
        end.row
    }
}
