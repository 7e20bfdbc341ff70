//! A body as the difference to what is known already.
//!
//! The encoder looks for the longest beginning and end that the body shares with the first source, which finds nearly
//! everything when a conversation grows. What is between them is matched in blocks against the other sources, as rsync
//! matches files. Blocks are 32 bytes, so whatever is shared over 63 bytes is found, wherever it is.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// What is copied at least, in bytes. The record of a copy takes about 20.
const BLOCK: usize = 32;

/// How much of a body must be left over before the other sources are searched as a whole, in bytes: that takes a while
/// for long sources, and saves less than this.
const WORTH_A_SEARCH: usize = 256;

/// Where a copy comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "SourceForm", into = "SourceForm")]
pub enum Source {
    /// The body of the base as composed. Written `"base"`.
    Base,
    /// The body of the base as sent. Written `"base_sent"`.
    BaseSent,
    /// The body of the same request as composed. Written `"original"`.
    Original,
    /// The line of the session file with this number, without its line end. Written as the number.
    Line(u64),
    /// The same line as it is written within a JSON string: `"` and `\` have a `\` before them. Written `"escaped:N"`.
    Escaped(u64),
}

/// How a source is written.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SourceForm {
    Line(u64),
    Name(String),
}

impl From<Source> for SourceForm {
    fn from(source: Source) -> SourceForm {
        match source {
            Source::Base => SourceForm::Name("base".to_owned()),
            Source::BaseSent => SourceForm::Name("base_sent".to_owned()),
            Source::Original => SourceForm::Name("original".to_owned()),
            Source::Line(n) => SourceForm::Line(n),
            Source::Escaped(n) => SourceForm::Name(format!("{ESCAPED}{n}")),
        }
    }
}

const ESCAPED: &str = "escaped:";

impl TryFrom<SourceForm> for Source {
    type Error = UnknownSource;

    fn try_from(form: SourceForm) -> Result<Source, UnknownSource> {
        match form {
            SourceForm::Line(n) => Ok(Source::Line(n)),
            SourceForm::Name(name) => match name.as_str() {
                "base" => Ok(Source::Base),
                "base_sent" => Ok(Source::BaseSent),
                "original" => Ok(Source::Original),
                _ => {
                    let number = name.strip_prefix(ESCAPED);
                    let number = number.and_then(|number| u64::from_str(number).ok());
                    number.map(Source::Escaped).ok_or(UnknownSource(name))
                }
            },
        }
    }
}

/// A part copies from something that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown source {0:?}")]
pub struct UnknownSource(String);

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Base => f.write_str("the body of the base"),
            Source::BaseSent => f.write_str("the sent body of the base"),
            Source::Original => f.write_str("the original body"),
            Source::Line(n) | Source::Escaped(n) => write!(f, "line {n}"),
        }
    }
}

/// A part of a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Part {
    /// Text that stands nowhere else.
    Text(String),
    /// Bytes of a source: the offset of the first one, and how many.
    Copy(Source, u64, u64),
    /// Bytes that are not UTF-8.
    Bytes {
        /// In hexadecimal.
        hex: String,
    },
}

/// Most parts of a body that are read. A body of 2,000 messages has some 4,000 where nothing of it was sent before.
pub(super) const MAX_PARTS: usize = 1 << 18;

/// Reads parts, but not without measure: a part takes ten times as much memory as it takes in a file.
pub(super) fn bounded<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Part>>, D::Error> {
    struct Bounded(Vec<Part>);

    struct Parts;

    impl<'de> Visitor<'de> for Parts {
        type Value = Bounded;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MAX_PARTS} parts")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Bounded, A::Error> {
            let mut parts = Vec::new();
            while let Some(part) = from.next_element()? {
                if parts.len() == MAX_PARTS {
                    return Err(A::Error::invalid_length(MAX_PARTS + 1, &self));
                }
                parts.push(part);
            }
            Ok(Bounded(parts))
        }
    }

    impl<'de> Deserialize<'de> for Bounded {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Bounded, D::Error> {
            from.deserialize_seq(Parts)
        }
    }

    let parts: Option<Bounded> = Option::deserialize(from)?;
    Ok(parts.map(|Bounded(parts)| parts))
}

/// The parts of a body. Whatever the sources are, the parts with the same sources give the same bytes again.
///
/// `first` is compared from both ends. `lines` are searched for what is between, and then `more` where much is left.
pub fn encode(
    body: &[u8],
    first: Option<(Source, &[u8])>,
    lines: &[(Source, &[u8])],
    more: &[(Source, &[u8])],
) -> Vec<Part> {
    let mut pieces = Vec::new();
    let mut middle = 0..body.len();
    let mut end = None;
    if let Some((source, bytes)) = first {
        let prefix = common_prefix(body, bytes);
        // What is the beginning is not the end as well.
        let rest = |all: &'_ [u8]| all.len() - prefix;
        let suffix = common_suffix(body, bytes).min(rest(body)).min(rest(bytes));
        let prefix = copy(body, source, 0, 0..prefix);
        let start = bytes.len() - suffix;
        let suffix = copy(body, source, start, body.len() - suffix..body.len());
        middle = prefix.target.end..suffix.target.start;
        // A body that is not text may begin within a character.
        pieces.push(Piece::literal(0..prefix.target.start));
        pieces.push(prefix);
        end = Some(suffix);
    }
    pieces.push(Piece::literal(middle));
    pieces.extend(end);
    pieces = fill(body, pieces, lines, 0);
    let left = |pieces: &[Piece]| -> usize {
        let literals = pieces.iter().filter(|piece| piece.from.is_none());
        literals.map(|piece| piece.target.len()).sum()
    };
    if left(&pieces) >= WORTH_A_SEARCH {
        pieces = fill(body, pieces, more, BLOCK);
    }
    let mut parts = Vec::new();
    for piece in pieces.iter().filter(|piece| !piece.target.is_empty()) {
        let bytes = body.get(piece.target.clone()).unwrap_or_default();
        parts.push(match piece.from {
            Some((source, start)) => Part::Copy(source, start as u64, bytes.len() as u64),
            None => match std::str::from_utf8(bytes) {
                Ok(text) => Part::Text(text.to_owned()),
                Err(_) => Part::Bytes { hex: hex(bytes) },
            },
        });
    }
    parts
}

/// A line of the session file as it stands in a JSON string.
pub fn escaped(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len() + line.len() / 8);
    for byte in line {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}

/// The bytes that hexadecimal digits stand for.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: char| c.to_digit(16)?.try_into().ok();
    let digits: Option<Vec<u8>> = text.chars().map(digit).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    let byte = |pair: &[u8]| pair.iter().fold(0, |byte, digit| (byte << 4) | digit);
    Some(digits.chunks(2).map(byte).collect())
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing into a text cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// A range of the body, and where its bytes are copied from.
#[derive(Debug, Clone)]
struct Piece {
    target: Range<usize>,
    from: Option<(Source, usize)>,
}

impl Piece {
    fn literal(target: Range<usize>) -> Piece {
        Piece { target, from: None }
    }
}

/// A copy that begins and ends between characters, so that what is around it is text.
fn copy(body: &[u8], source: Source, start: usize, target: Range<usize>) -> Piece {
    let is_within = |at: usize| body.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let (mut from, mut to) = (target.start, target.end);
    while from < to && is_within(from) {
        from += 1;
    }
    while from < to && is_within(to) {
        to -= 1;
    }
    Piece {
        from: Some((source, start + (from - target.start))),
        // One that has shrunk to nothing leaves all of it to what is around it.
        target: from..to,
    }
}

/// How much is compared at once, in bytes.
const STRIDE: usize = 4096;

fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let strides = one.chunks_exact(STRIDE).zip(other.chunks_exact(STRIDE));
    let same = strides.take_while(|(one, other)| one == other).count() * STRIDE;
    let pairs = one.iter().zip(other).skip(same);
    same + pairs.take_while(|(one, other)| one == other).count()
}

fn common_suffix(one: &[u8], other: &[u8]) -> usize {
    let strides = one.rchunks_exact(STRIDE).zip(other.rchunks_exact(STRIDE));
    let same = strides.take_while(|(one, other)| one == other).count() * STRIDE;
    let pairs = one.iter().rev().zip(other.iter().rev()).skip(same);
    same + pairs.take_while(|(one, other)| one == other).count()
}

/// Looks for what is not copied yet in these sources. Gaps of less than `worth` bytes stay.
fn fill(body: &[u8], pieces: Vec<Piece>, sources: &[(Source, &[u8])], worth: usize) -> Vec<Piece> {
    let wants = |piece: &Piece| piece.from.is_none() && piece.target.len() >= BLOCK.max(worth);
    if sources.is_empty() || !pieces.iter().any(wants) {
        return pieces;
    }
    let index = Index::of(sources);
    let mut filled = Vec::new();
    for piece in pieces {
        match wants(&piece) {
            true => index.fill(body, piece.target, &mut filled),
            false => filled.push(piece),
        }
    }
    filled
}

/// The blocks of the sources by their hashes.
struct Index<'a> {
    sources: &'a [(Source, &'a [u8])],
    blocks: HashMap<u64, (usize, usize)>,
}

impl<'a> Index<'a> {
    fn of(sources: &'a [(Source, &'a [u8])]) -> Index<'a> {
        let mut blocks = HashMap::new();
        for (number, (_, bytes)) in sources.iter().enumerate() {
            for (at, block) in bytes.chunks_exact(BLOCK).enumerate() {
                blocks.entry(hash(block)).or_insert((number, at * BLOCK));
            }
        }
        Index { sources, blocks }
    }

    /// Adds the pieces of one gap.
    fn fill(&self, body: &[u8], gap: Range<usize>, out: &mut Vec<Piece>) {
        let mut done = gap.start;
        let mut at = gap.start;
        let window = |at: usize| {
            body.get(at..at.checked_add(BLOCK)?)
                .filter(|_| at + BLOCK <= gap.end)
        };
        let mut rolling = window(at).map(hash);
        while let (Some(now), Some(block)) = (rolling, window(at)) {
            match self.find(now, block) {
                Some((source, bytes, start)) => {
                    let before = body.get(done..at).unwrap_or_default().iter().rev();
                    let before = before.zip(bytes.get(..start).unwrap_or_default().iter().rev());
                    let back = before.take_while(|(one, other)| one == other).count();
                    let rest = body.get(at..gap.end).unwrap_or_default();
                    let length = common_prefix(rest, bytes.get(start..).unwrap_or_default());
                    let piece = copy(body, source, start - back, at - back..at + length);
                    out.push(Piece::literal(done..piece.target.start));
                    done = piece.target.end;
                    out.push(piece);
                    at += length;
                    rolling = window(at).map(hash);
                }
                None => {
                    rolling = match (body.get(at), body.get(at + BLOCK)) {
                        (Some(old), Some(new)) => Some(roll(now, *old, *new)),
                        _ => None,
                    };
                    at += 1;
                }
            }
        }
        out.push(Piece::literal(done..gap.end));
    }

    fn find(&self, hash: u64, block: &[u8]) -> Option<(Source, &'a [u8], usize)> {
        let (number, start) = *self.blocks.get(&hash)?;
        let (source, bytes) = *self.sources.get(number)?;
        let found = bytes.get(start..start + BLOCK)?;
        (found == block).then_some((source, bytes, start))
    }
}

/// The factor of the hash; odd, so that nothing of a byte is lost.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// [`FACTOR`] to the power of the block's last index.
const HIGHEST: u64 = {
    let mut power: u64 = 1;
    let mut n = 1;
    while n < BLOCK {
        power = power.wrapping_mul(FACTOR);
        n += 1;
    }
    power
};

fn hash(block: &[u8]) -> u64 {
    let add = |hash: u64, byte: &u8| hash.wrapping_mul(FACTOR).wrapping_add(u64::from(*byte) + 1);
    block.iter().fold(0, add)
}

/// The hash of the window one byte further.
fn roll(hash: u64, old: u8, new: u8) -> u64 {
    let without = hash.wrapping_sub(HIGHEST.wrapping_mul(u64::from(old) + 1));
    without
        .wrapping_mul(FACTOR)
        .wrapping_add(u64::from(new) + 1)
}
