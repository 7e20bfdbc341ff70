//! Fenced blocks as CommonMark has them (version 0.31.2, section 4.5), and fences within blocks.
//!
//! In two points a model is met half-way:
//!
//! - A fence with an info string inside of a block opens an inner block, so that the next fence without one closes that one.
//!   In CommonMark it would be text, and the fence after it would end the outer block.
//! - A block may be indented by any number of spaces, as it is below an item of a list.

/// A line that may open or close a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    mark: u8,
    length: usize,
    indent: usize,
    pub(super) info: &'a str,
}

impl<'a> Fence<'a> {
    /// Reads a line, which has no line end.
    pub(super) fn of(line: &'a str) -> Option<Fence<'a>> {
        let text = line.trim_start_matches(' ');
        let mark = *text.as_bytes().first()?;
        let rest = match mark {
            b'`' => text.trim_start_matches('`'),
            b'~' => text.trim_start_matches('~'),
            _ => return None,
        };
        let (length, info) = (text.len() - rest.len(), rest.trim());
        let is_code = mark == b'`' && info.contains('`');
        (length >= 3 && !is_code).then_some(Fence {
            mark,
            length,
            indent: line.len() - text.len(),
            info,
        })
    }

    /// Whether what comes of a line so far can become a fence.
    pub(super) fn may_become(line: &str) -> bool {
        let text = line.trim_start_matches(' ');
        text.is_empty() || text.starts_with('`') || text.starts_with('~')
    }
}

/// What a line inside of a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within<'a> {
    /// One of its lines, without the indentation of the block.
    Line(&'a str),
    /// One of its lines, which opens an inner block.
    Opener(&'a str, Fence<'a>),
    /// Its end.
    End,
}

/// A block that is open.
#[derive(Debug, Clone)]
pub(super) struct Open {
    mark: u8,
    indent: usize,
    /// Its fence's length, and those of the blocks inside of it that are open, too.
    lengths: Vec<usize>,
}

impl Open {
    /// The block that this fence opens.
    pub(super) fn new(fence: &Fence<'_>) -> Open {
        Open {
            mark: fence.mark,
            indent: fence.indent,
            lengths: vec![fence.length],
        }
    }

    /// What the next line is. Blocks inside of this one are followed.
    pub(super) fn line<'a>(&mut self, line: &'a str) -> Within<'a> {
        /// Spaces that a fence may have before it.
        const MAX_INDENT: usize = 3;
        let spaces = line.len() - line.trim_start_matches(' ').len();
        let text = line.get(spaces.min(self.indent)..).unwrap_or_default();
        let innermost = self.lengths.last().copied().unwrap_or_default();
        let fence = Fence::of(line)
            .filter(|fence| fence.mark == self.mark && fence.indent <= self.indent + MAX_INDENT);
        match fence {
            Some(fence) if fence.info.is_empty() && fence.length >= innermost => {
                self.lengths.pop();
                match self.lengths.is_empty() {
                    true => Within::End,
                    false => Within::Line(text),
                }
            }
            Some(fence) if !fence.info.is_empty() && fence.length >= innermost => {
                self.lengths.push(fence.length);
                Within::Opener(text, fence)
            }
            _ => Within::Line(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_told_from_text() {
        for (line, expected) in [
            ("```", Some((3, 0, ""))),
            ("```html", Some((3, 0, "html"))),
            ("````  js main.js  ", Some((4, 0, "js main.js"))),
            ("   ~~~ a`b", Some((3, 3, "a`b"))),
            ("      ```html", Some((3, 6, "html"))),
            ("``", None),
            ("```a`b", None),
            ("``` ```", None),
            ("text ```", None),
            ("", None),
        ] {
            let found = Fence::of(line).map(|fence| (fence.length, fence.indent, fence.info));
            assert_eq!(found, expected, "{line:?}");
            assert!(expected.is_none() || Fence::may_become(line), "{line:?}");
        }
    }
}
