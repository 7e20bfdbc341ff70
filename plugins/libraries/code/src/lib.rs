//! What a grammar knows of source code: the declarations of a file, and which of them a line is part of.
//!
//! The grammars are tree-sitter's, chosen by what they weigh: those of Rust, Python, JavaScript, TypeScript, Go, C,
//! C++ and Java. Left out are those that would be larger than all others together (C#, Ruby, PHP) or tell little more
//! than a line by itself does (shells): callers have their own patterns for them.
//!
//! Whatever the text is, parsing ends after bounded work in bounded memory, without a panic: it may then know nothing.

mod declarations;
mod language;
mod source;
mod syntax;

pub use language::{Language, language_of};
pub use source::{Entry, Source, Symbol};
pub use syntax::broken_line;

/// The declarations of a text in order, `None` where nothing is known of it.
pub fn outline(language: Language, text: &str) -> Option<Vec<Entry>> {
    Some(Source::parse(language, text)?.outline(text))
}

/// The innermost function or type that a line, counted from 1, is part of.
pub fn enclosing(language: Language, text: &str, line: u64) -> Option<Symbol> {
    Source::parse(language, text)?.enclosing(line)
}

#[cfg(test)]
mod tests;
