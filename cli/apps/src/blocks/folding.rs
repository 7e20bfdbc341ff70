//! Folds the parts of an app in a reply that streams.

use super::Folded;
use super::fences::{Fence, Open, Within};
use crate::part::Part;

/// What to show of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Text outside of the parts, as it came.
    Text(String),
    /// A part that is being written, as far as it is there.
    Growing(Folded),
    /// A part that is there.
    Complete(Folded),
}

/// Folds the parts of an app while a reply streams.
///
/// Holds at most the line that is being written, and that only inside of a part or where it may become a fence. A reply that
/// [`find`](super::find) reads otherwise in the end, because a fence is missing, is folded in one block too many.
#[derive(Debug, Default)]
pub struct Folding {
    /// What has come of the line; of one that is passed on as it comes, nothing.
    line: String,
    /// Whether the line is passed on as it comes.
    passes: bool,
    open: Option<(Option<Folded>, Open)>,
}

impl Folding {
    /// Takes the next piece of the reply.
    pub fn piece(&mut self, piece: &str) -> Vec<Shown> {
        let mut shown = Shows::default();
        for piece in piece.split_inclusive('\n') {
            if self.passes {
                shown.text(piece);
                self.passes = !piece.ends_with('\n');
                continue;
            }
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.whole_line(&line, &mut shown);
            } else if !self.is_in_part() && !Fence::may_become(&self.line) {
                shown.text(&std::mem::take(&mut self.line));
                self.passes = true;
            }
        }
        shown.0
    }

    /// Ends the reply.
    pub fn end(mut self) -> Vec<Shown> {
        let mut shown = Shows::default();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.whole_line(&line, &mut shown);
        }
        if let Some((Some(part), _)) = self.open {
            shown.0.push(Shown::Complete(part));
        }
        shown.0
    }

    fn is_in_part(&self) -> bool {
        matches!(self.open, Some((Some(_), _)))
    }

    /// Takes a line with its line end, if it has one.
    fn whole_line(&mut self, line: &str, shown: &mut Shows) {
        let bare = line.lines().next().unwrap_or_default();
        let Some((folded, block)) = &mut self.open else {
            let fence = Fence::of(bare);
            let part = fence.and_then(|fence| Part::of_info(fence.info));
            let folded = part.map(|part| Folded { part, lines: 0 });
            self.open = fence.map(|fence| (folded, Open::new(&fence)));
            return match folded {
                Some(folded) => shown.0.push(Shown::Growing(folded)),
                None => shown.text(line),
            };
        };
        let ends = block.line(bare) == Within::End;
        match folded {
            Some(folded) if ends => shown.0.push(Shown::Complete(*folded)),
            Some(folded) => {
                folded.lines += 1;
                shown.0.push(Shown::Growing(*folded));
            }
            None => shown.text(line),
        }
        if ends {
            self.open = None;
        }
    }
}

/// Collects what to show, as few pieces as possible.
#[derive(Default)]
struct Shows(Vec<Shown>);

impl Shows {
    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Shown::Text(before)) => before.push_str(text),
            _ => self.0.push(Shown::Text(text.to_owned())),
        }
    }
}
