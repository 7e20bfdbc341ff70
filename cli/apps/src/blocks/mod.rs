//! The parts of an app in a reply: fenced blocks.
//!
//! [`find`] reads a reply that is complete. [`Folding`] reads one while it streams, and says what to show of it.

mod fences;
mod folding;

use std::fmt;

use self::fences::{Fence, Open, Within};
pub use self::folding::{Folding, Shown};
use crate::part::{Part, Parts, is_unnamed_script};

/// The longest part. What a model writes in one reply is far below; so is what a browser shows without a pause.
pub const MAX_PART_BYTES: usize = 1024 * 1024;

/// What a reply says of an app.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The parts that it has. Their line ends are `\n`.
    pub parts: Parts,
    /// What the user should know of how they were read. Not escaped.
    pub notes: Vec<String>,
}

/// Why a reply changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Which one counts cannot be known.
    #[error("the reply has two {0} blocks")]
    Twice(Part),
    /// There is nothing in it.
    #[error("the {0} block is empty")]
    Empty(Part),
    /// It is longer than [`MAX_PART_BYTES`].
    #[error("the {0} block has more than {max} bytes", max = MAX_PART_BYTES)]
    TooLong(Part),
}

/// Finds the parts of an app in a complete reply. A reply without blocks has none.
///
/// A block that is not closed ends where the block of another part begins, or with the reply.
pub fn find(reply: &str) -> Result<Found, Broken> {
    let nested = read(reply, false);
    if nested.unclosed.is_none() {
        return nested.found();
    }
    // Either a fence is missing at the end, or one before it: then what follows is no inner block, but the next part.
    match read(reply, true).found() {
        Ok(found) => Ok(found),
        Err(_) => nested.found(),
    }
}

/// A block of a part.
struct Block {
    part: Part,
    text: String,
}

/// The blocks of a reply, as they were read.
#[derive(Default)]
struct Reading {
    blocks: Vec<Block>,
    /// A block that the opener of another part, or the end of the reply, has closed, and which part it is, if it is one.
    unclosed: Option<(Option<Part>, &'static str)>,
    unnamed_scripts: usize,
}

impl Reading {
    fn found(self) -> Result<Found, Broken> {
        let mut found = Found::default();
        for Block { part, text } in self.blocks {
            if text.trim().is_empty() {
                return Err(Broken::Empty(part));
            }
            if text.len() > MAX_PART_BYTES {
                return Err(Broken::TooLong(part));
            }
            if found.parts.set(part, text).is_some() {
                return Err(Broken::Twice(part));
            }
        }
        if let Some((part, end)) = self.unclosed {
            let block = part.map_or("a block".to_owned(), |part| format!("the {part} block"));
            let note = format!("{block} is not closed; it ends {end}");
            found.notes.push(note);
        }
        if self.unnamed_scripts > 0 {
            let names = format!("{} or {}", Part::Renderer, Part::Main);
            let note =
                format!("a js block does not say which part it is ({names}), and is left out");
            found.notes.push(note);
        }
        Ok(found)
    }
}

/// Reads the blocks. `parts_close`: inside of a part, the opener of a part is no inner block, but ends the one before it.
fn read(reply: &str, parts_close: bool) -> Reading {
    let mut reading = Reading::default();
    let mut open: Option<(Option<Part>, Open)> = None;
    for line in reply.lines() {
        let Some((part, block)) = &mut open else {
            open = Fence::of(line).map(|fence| begin(&mut reading, &fence));
            continue;
        };
        let text = match block.line(line) {
            Within::End => {
                open = None;
                continue;
            }
            Within::Opener(_, fence) if parts_close && Part::of_info(fence.info).is_some() => {
                let unclosed = (*part, "where the next part begins");
                reading.unclosed = reading.unclosed.or(Some(unclosed));
                open = Some(begin(&mut reading, &fence));
                continue;
            }
            Within::Opener(text, _) | Within::Line(text) => text,
        };
        if part.is_some()
            && let Some(block) = reading.blocks.last_mut()
        {
            block.text.push_str(text);
            block.text.push('\n');
        }
    }
    if let Some((part @ Some(_), _)) = open {
        reading.unclosed = reading.unclosed.or(Some((part, "with the reply")));
    }
    reading
}

/// Begins the block that a fence opens.
fn begin(reading: &mut Reading, fence: &Fence<'_>) -> (Option<Part>, Open) {
    let part = Part::of_info(fence.info);
    reading.unnamed_scripts += usize::from(is_unnamed_script(fence.info));
    reading.blocks.extend(part.map(|part| Block {
        part,
        text: String::new(),
    }));
    (part, Open::new(fence))
}

/// A block in one line, as it is shown instead of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded {
    /// Which part it is.
    pub part: Part,
    /// How many lines it has.
    pub lines: usize,
}

impl Folded {
    /// A part with this text.
    pub fn of(part: Part, text: &str) -> Folded {
        Folded {
            part,
            lines: text.lines().count(),
        }
    }
}

impl fmt::Display for Folded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.lines == 1 { "line" } else { "lines" };
        write!(f, "{} · {} {word}", self.part, self.lines)
    }
}

#[cfg(test)]
mod tests;
