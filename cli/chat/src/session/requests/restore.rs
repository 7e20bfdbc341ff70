//! Puts bodies together from their parts.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::delta::{Part, Source, escaped, from_hex};
use super::file::{LogError, LoggedRequest, RequestFile, Side};
use super::{Body, Kind, Series};
use crate::session::reader::MAX_LINE_BYTES;

/// The longest body, in bytes. It is that of a line: a body that has nothing in common with another must fit in one.
pub(super) const MAX_BODY_BYTES: usize = MAX_LINE_BYTES;

/// Most slices of one body. A body of 200,000 tokens has some ten thousand.
const MAX_SLICES: usize = 1 << 21;

/// Most slices that are handled for one body, those of the bodies that it builds on included.
const MAX_STEPS: usize = 1 << 24;

/// The bytes of the last request of a chain. Each request of the chain is the base of the next one.
///
/// # Errors
/// What they consist of is not there, or is more than Dunlin writes.
pub(super) fn restore(
    file: &RequestFile,
    chain: &[&LoggedRequest],
    side: Side,
) -> Result<Vec<u8>, LogError> {
    let made = Made::of(file, chain)?;
    let bodies = Restoring::run(file, &made, Bodies::default(), chain)?;
    let rope = match side {
        Side::Original => &bodies.original,
        Side::Sent => bodies.sent.as_ref().unwrap_or(&bodies.original),
    };
    Ok(rope.slices.concat())
}

/// The two bodies of a request as bytes. What was sent as composed is there once.
#[derive(Debug)]
struct Whole {
    number: u64,
    original: Vec<u8>,
    sent: Option<Vec<u8>>,
}

/// Restores the bodies of many requests. In the order of the file each is made from the one before, so that the time is in
/// proportion to what comes out, and not to the length of the chain for each.
#[derive(Debug)]
pub struct Restorer<'a> {
    file: &'a RequestFile,
    /// The bodies that the next ones build on. What a server asks for builds on what one asked for before.
    last: HashMap<Series, Whole>,
    /// A summary, on which nothing builds.
    aside: Option<Whole>,
    /// The requests whose bodies cannot be restored.
    failed: HashSet<u64>,
    /// How many requests were gone through.
    #[cfg(test)]
    pub(super) steps: usize,
}

impl<'a> Restorer<'a> {
    pub(super) fn new(file: &'a RequestFile) -> Restorer<'a> {
        Restorer {
            file,
            last: HashMap::new(),
            aside: None,
            failed: HashSet::new(),
            #[cfg(test)]
            steps: 0,
        }
    }

    /// The exact bytes of a body, as [`RequestFile::body`] has them.
    ///
    /// # Errors
    /// There is no such request, or its bytes cannot be restored.
    pub fn body(&mut self, number: u64, side: Side) -> Result<&[u8], LogError> {
        let file = self.file;
        let target = file.request(number)?;
        let series = target.entry.series();
        let is_aside = target.entry.kind == Kind::Summary;
        let place = |whole: &Whole| whole.number == number;
        let is_known = match is_aside {
            true => self.aside.as_ref().is_some_and(place),
            false => self.last.get(&series).is_some_and(place),
        };
        if !is_known {
            let whole = self.restore(target);
            if whole.is_err() {
                self.failed.insert(number);
            }
            let whole = whole?;
            match is_aside {
                true => self.aside = Some(whole),
                false => {
                    // Only the last of them is likely to be built on.
                    if matches!(series, Series::Subagent(_)) {
                        self.last
                            .retain(|other, _| !matches!(other, Series::Subagent(_)));
                    }
                    self.last.insert(series.clone(), whole);
                }
            }
        }
        let whole = match is_aside {
            true => self.aside.as_ref(),
            false => self.last.get(&series),
        };
        let whole = whole.ok_or(LogError::Excessive(number))?;
        let bytes = match side {
            Side::Original => &whole.original,
            Side::Sent => whole.sent.as_ref().unwrap_or(&whole.original),
        };
        target.check(side, bytes)?;
        Ok(bytes)
    }

    fn restore(&mut self, target: &'a LoggedRequest) -> Result<Whole, LogError> {
        let (file, number) = (self.file, target.entry.number);
        if let Some(base) = target.entry.base.filter(|base| self.failed.contains(base)) {
            return Err(LogError::Base { number, base });
        }
        let last = self.last.get(&target.entry.series());
        let last = last.filter(|last| Some(last.number) == target.entry.base);
        let (base, chain) = match last {
            Some(last) => (
                Bodies {
                    original: Rope::of(&last.original),
                    sent: last.sent.as_deref().map(Rope::of),
                },
                vec![target],
            ),
            None if target.entry.base.is_none() => (Bodies::default(), vec![target]),
            None => (Bodies::default(), file.chain(target)?),
        };
        #[cfg(test)]
        {
            self.steps += chain.len();
        }
        let made = Made::of(file, &chain)?;
        let Bodies { original, sent } = Restoring::run(file, &made, base, &chain)?;
        Ok(Whole {
            number,
            original: original.slices.concat(),
            sent: sent.map(|sent| sent.slices.concat()),
        })
    }
}

/// What parts refer to and the file does not hold in this form.
#[derive(Default)]
struct Made<'a> {
    /// Escaped lines by their numbers.
    lines: HashMap<u64, Vec<u8>>,
    /// Bytes by their digits.
    hex: HashMap<&'a str, Vec<u8>>,
}

impl<'a> Made<'a> {
    fn of(file: &RequestFile, chain: &[&'a LoggedRequest]) -> Result<Made<'a>, LogError> {
        let mut made = Made::default();
        for request in chain {
            let number = request.entry.number;
            let bodies = [Some(&request.entry.original), request.entry.sent.as_ref()];
            let bodies = bodies.into_iter().flatten();
            for part in bodies.filter_map(|body| body.parts.as_ref()).flatten() {
                match part {
                    Part::Copy(Source::Escaped(n), ..) if !made.lines.contains_key(n) => {
                        made.lines.insert(*n, escaped(file.line(number, *n)?));
                    }
                    Part::Bytes { hex } if !made.hex.contains_key(hex.as_str()) => {
                        let bytes = from_hex(hex).ok_or(LogError::Excessive(number))?;
                        made.hex.insert(hex, bytes);
                    }
                    _ => {}
                }
            }
        }
        Ok(made)
    }
}

/// A body as slices, none of them empty.
#[derive(Default, Clone)]
struct Rope<'a> {
    slices: Vec<&'a [u8]>,
    /// Where each slice ends in the body.
    ends: Vec<usize>,
}

impl<'a> Rope<'a> {
    fn of(bytes: &'a [u8]) -> Rope<'a> {
        let mut rope = Rope::default();
        rope.push(bytes);
        rope
    }

    fn length(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    fn push(&mut self, slice: &'a [u8]) {
        if !slice.is_empty() {
            self.ends.push(self.length() + slice.len());
            self.slices.push(slice);
        }
    }

    fn truncate(&mut self, length: usize) {
        let whole = self.ends.partition_point(|end| *end <= length);
        let next = self.slices.get(whole).copied();
        self.ends.truncate(whole);
        self.slices.truncate(whole);
        let rest = next.and_then(|next| next.get(..length.saturating_sub(self.length())));
        self.push(rest.unwrap_or_default());
    }

    /// The slices of a range that is within the body.
    fn slices(&self, range: Range<usize>) -> impl Iterator<Item = &'a [u8]> {
        let first = self.ends.partition_point(|end| *end <= range.start);
        let slices = self.slices.iter().zip(&self.ends).skip(first);
        slices.map_while(move |(slice, end)| {
            let start = end - slice.len();
            let (from, to) = (range.start.max(start), range.end.min(*end));
            (from < to).then(|| slice.get(from - start..to - start).unwrap_or_default())
        })
    }
}

/// The two bodies of a request. Without edits there is one.
#[derive(Default)]
struct Bodies<'a> {
    original: Rope<'a>,
    sent: Option<Rope<'a>>,
}

/// What parts copy from beside lines.
#[derive(Default, Clone, Copy)]
struct Known<'r, 'a> {
    base: Option<&'r Rope<'a>>,
    base_sent: Option<&'r Rope<'a>>,
    original: Option<&'r Rope<'a>>,
}

struct Restoring<'a> {
    file: &'a RequestFile,
    made: &'a Made<'a>,
    steps: usize,
}

impl<'a> Restoring<'a> {
    /// The bodies of the last request of a chain. The first one builds on `bodies`.
    fn run(
        file: &'a RequestFile,
        made: &'a Made<'a>,
        mut bodies: Bodies<'a>,
        chain: &[&'a LoggedRequest],
    ) -> Result<Bodies<'a>, LogError> {
        let steps = 0;
        let mut restoring = Restoring { file, made, steps };
        for request in chain {
            bodies = restoring.next(bodies, request)?;
        }
        Ok(bodies)
    }

    /// The bodies of a request, from those of its base.
    fn next(
        &mut self,
        base: Bodies<'a>,
        request: &'a LoggedRequest,
    ) -> Result<Bodies<'a>, LogError> {
        let entry = &request.entry;
        let number = entry.number;
        let parts = |body: &'a Body| body.parts.as_deref().ok_or(LogError::NotStored(number));
        let (of_original, of_sent) = (parts(&entry.original)?, entry.sent.as_ref());
        let of_sent = of_sent.map(parts).transpose()?;
        let Bodies {
            original: mut body,
            sent: base_sent,
        } = base;
        // The base becomes the new body in place, unless it is needed once more.
        let is_of_base =
            |part: &Part| matches!(part, Part::Copy(Source::Base | Source::BaseSent, ..));
        let needs_base = of_sent.is_some_and(|parts| parts.iter().any(is_of_base));
        let kept = needs_base.then(|| body.clone());
        self.count(number, kept.as_ref().map_or(0, |kept| kept.slices.len()))?;

        let (prefix, rest) = match of_original.split_first() {
            Some((Part::Copy(Source::Base, 0, length), rest)) => (*length, rest),
            _ => (0, of_original),
        };
        let prefix = usize::try_from(prefix).ok();
        let prefix = prefix.filter(|prefix| *prefix <= body.length());
        let prefix = prefix.ok_or_else(|| out_of_range(number, Source::Base))?;
        let known = Known {
            base: Some(&body),
            base_sent: Some(base_sent.as_ref().unwrap_or(&body)),
            original: None,
        };
        let rest = self.rope(number, rest, known)?;
        body.truncate(prefix);
        for slice in rest.slices {
            body.push(slice);
        }
        check(number, &body)?;
        let Some(of_sent) = of_sent else {
            return Ok(Bodies {
                original: body,
                sent: None,
            });
        };
        let known = Known {
            base: kept.as_ref(),
            base_sent: base_sent.as_ref().or(kept.as_ref()),
            original: Some(&body),
        };
        let sent = Some(self.rope(number, of_sent, known)?);
        Ok(Bodies {
            original: body,
            sent,
        })
    }

    fn rope(
        &mut self,
        number: u64,
        parts: &'a [Part],
        known: Known<'_, 'a>,
    ) -> Result<Rope<'a>, LogError> {
        let mut rope = Rope::default();
        for part in parts {
            match part {
                Part::Text(text) => rope.push(text.as_bytes()),
                Part::Bytes { hex } => {
                    let bytes = self.made.hex.get(hex.as_str());
                    rope.push(bytes.map(Vec::as_slice).unwrap_or_default());
                }
                Part::Copy(source, start, length) => {
                    let outside = || out_of_range(number, *source);
                    let range = range(*start, *length).ok_or_else(outside)?;
                    let body = match source {
                        Source::Line(n) => {
                            let line = self.file.line(number, *n)?;
                            rope.push(line.get(range).ok_or_else(outside)?);
                            continue;
                        }
                        Source::Escaped(n) => {
                            let line = self.made.lines.get(n);
                            let slice = line.and_then(|line| line.get(range));
                            rope.push(slice.ok_or_else(outside)?);
                            continue;
                        }
                        Source::Base => known.base,
                        Source::BaseSent => known.base_sent,
                        Source::Original => known.original,
                    };
                    let body = body.filter(|body| range.end <= body.length());
                    let before = rope.slices.len();
                    for slice in body.ok_or_else(outside)?.slices(range) {
                        rope.push(slice);
                    }
                    self.count(number, rope.slices.len() - before)?;
                    check(number, &rope)?;
                }
            }
        }
        check(number, &rope)?;
        Ok(rope)
    }

    fn count(&mut self, number: u64, steps: usize) -> Result<(), LogError> {
        self.steps += steps;
        match self.steps <= MAX_STEPS {
            true => Ok(()),
            false => Err(LogError::Excessive(number)),
        }
    }
}

fn check(number: u64, rope: &Rope<'_>) -> Result<(), LogError> {
    match rope.length() <= MAX_BODY_BYTES && rope.slices.len() <= MAX_SLICES {
        true => Ok(()),
        false => Err(LogError::Excessive(number)),
    }
}

fn range(start: u64, length: u64) -> Option<Range<usize>> {
    let end = usize::try_from(start.checked_add(length)?).ok()?;
    Some(usize::try_from(start).ok()?..end)
}

fn out_of_range(number: u64, source: Source) -> LogError {
    LogError::OutOfRange {
        number,
        source_name: source.to_string(),
    }
}
