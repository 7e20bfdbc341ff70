//! Which chunk has which term how often.
//!
//! The directory is sorted by term and searched in place, so that opening a segment costs nothing but its checksum.

use crate::frame::{self, Reader};
use crate::words::Term;

/// How many bits of a term choose its bucket in the directory.
const BUCKET_BITS: u32 = 12;

/// Buckets of the directory.
const BUCKETS: usize = 1 << BUCKET_BITS;

/// Bytes of the buckets, after which the directory's entries stand.
const DIRECTORY: usize = (BUCKETS + 1) * 4;

/// Bytes of an entry of the directory: the next 32 bits of the term, and where its postings begin.
const ENTRY_BYTES: usize = 8;

/// That a chunk has a term, or a path a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting {
    /// The number of the chunk; of the file where the term is one of a path.
    pub(crate) at: u32,
    /// How often, and in what.
    pub(crate) weights: u8,
}

impl Posting {
    /// The most occurrences in code that are told apart.
    const MAX_CODE: u8 = 15;

    /// The most occurrences in comments that are told apart.
    const MAX_COMMENT: u8 = 3;

    /// Packs how often a term occurs in code and in comments, and whether a declared name has it.
    pub(crate) fn pack(code: u32, comment: u32, declared: bool) -> u8 {
        let code = code.min(u32::from(Self::MAX_CODE)) as u8;
        let comment = comment.min(u32::from(Self::MAX_COMMENT)) as u8;
        code | comment << 4 | u8::from(declared) << 6
    }

    /// How often it occurs in code.
    pub(crate) fn code(self) -> u8 {
        self.weights & 0x0f
    }

    /// How often it occurs in comments.
    pub(crate) fn comment(self) -> u8 {
        (self.weights >> 4) & 0x03
    }

    /// Whether a declared name has it; of a path, whether the name of the file itself has it.
    pub(crate) fn declared(self) -> bool {
        self.weights & 0x40 != 0
    }
}

/// The words of a segment.
#[derive(Debug)]
pub(crate) struct Words(Vec<u8>);

impl Words {
    /// Makes a blob of postings: `lists` has each term once with its postings in order.
    pub(crate) fn encode(mut terms: Vec<(Term, &[Posting])>) -> Vec<u8> {
        terms.sort_unstable_by_key(|(term, _)| *term);
        let mut starts = vec![0_u32; BUCKETS + 1];
        let mut entries = Vec::with_capacity(terms.len() * ENTRY_BYTES);
        let mut lists = Vec::new();
        for (term, postings) in &terms {
            starts[bucket(*term) + 1] += 1;
            entries.extend_from_slice(&rest(*term).to_le_bytes());
            entries.extend_from_slice(&(lists.len() as u32).to_le_bytes());
            let mut last = 0;
            for posting in *postings {
                frame::put_varint(&mut lists, posting.at - last);
                lists.push(posting.weights);
                last = posting.at;
            }
        }
        let mut content = Vec::with_capacity(starts.len() * 4 + entries.len() + lists.len());
        let mut sum = 0;
        for count in starts {
            sum += count;
            content.extend_from_slice(&sum.to_le_bytes());
        }
        content.extend_from_slice(&entries);
        content.extend_from_slice(&lists);
        frame::seal(&content)
    }

    /// Takes a blob, `None` if it is not whole.
    pub(crate) fn decode(blob: Vec<u8>) -> Option<Self> {
        let content = frame::open(&blob)?;
        // A directory that reaches beyond the end would be none.
        let is_whole = lists_start(number(content, BUCKETS * 4)?)? <= content.len();
        is_whole.then_some(Self(blob))
    }

    /// The postings of a term that are numbered below `most`, in order. Whatever stands there, it ends.
    pub(crate) fn postings(&self, term: Term, most: u32) -> Vec<Posting> {
        self.list(term)
            .map_or_else(Vec::new, |list| read(list, most))
    }

    fn list(&self, term: Term) -> Option<&[u8]> {
        // Checked when it was opened; the head is the frame's.
        let content = self.0.get(frame::HEAD..)?;
        let all = number(content, BUCKETS * 4)?;
        let lists = content.get(lists_start(all)?..)?;
        let mut low = number(content, bucket(term) * 4)?;
        let mut high = number(content, (bucket(term) + 1) * 4)?.min(all);
        let wanted = rest(term) as usize;
        while low < high {
            let middle = low.midpoint(high);
            let entry = DIRECTORY + middle * ENTRY_BYTES;
            let found = number(content, entry)?;
            if found == wanted {
                let start = number(content, entry + 4)?;
                let end = if middle + 1 < all {
                    number(content, entry + ENTRY_BYTES + 4)?
                } else {
                    lists.len()
                };
                return lists.get(start..end);
            }
            if found < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        None
    }
}

/// The number that stands somewhere.
fn number(content: &[u8], at: usize) -> Option<usize> {
    let bytes = content.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes) as usize)
}

/// Where the postings begin if the directory has so many entries.
fn lists_start(entries: usize) -> Option<usize> {
    entries.checked_mul(ENTRY_BYTES)?.checked_add(DIRECTORY)
}

fn read(list: &[u8], most: u32) -> Vec<Posting> {
    let mut reader = Reader::new(list);
    let mut postings = Vec::with_capacity(list.len() / 2);
    let mut at = 0_u32;
    while let Some(delta) = reader.varint() {
        let (Some(next), Some(weights)) = (at.checked_add(delta), reader.u8()) else {
            break;
        };
        if next >= most || (delta == 0 && !postings.is_empty()) {
            break;
        }
        at = next;
        postings.push(Posting { at, weights });
    }
    postings
}

fn bucket(term: Term) -> usize {
    (term >> (64 - BUCKET_BITS)) as usize
}

fn rest(term: Term) -> u32 {
    (term >> (32 - BUCKET_BITS)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_map, btree_set};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn postings_come_back(lists in btree_map(any::<u64>(), btree_set((0_u32..90_000, 1_u8..128), 1..20), 0..50)) {
            let lists: Vec<(u64, Vec<Posting>)> = lists
                .into_iter()
                .map(|(term, set)| {
                    let mut list: Vec<Posting> =
                        set.into_iter().map(|(at, weights)| Posting { at, weights }).collect();
                    list.dedup_by_key(|posting| posting.at);
                    (term, list)
                })
                .collect();
            let blob = Words::encode(lists.iter().map(|(term, list)| (*term, &list[..])).collect());
            let words = Words::decode(blob).unwrap();
            for (term, list) in &lists {
                prop_assert_eq!(&words.postings(*term, u32::MAX), list);
            }
            prop_assert!(words.postings(7, u32::MAX).is_empty() || lists.iter().any(|(term, _)| *term == 7));
        }

        #[test]
        fn foreign_bytes_are_read_without_a_panic(start: u32, tail: Vec<u8>, all in 0_u32..20, term: u64) {
            // Buckets that say anything, a directory that may be too short, and lists of anything.
            let mut content: Vec<u8> = (0..BUCKETS as u32)
                .flat_map(|bucket| start.wrapping_mul(bucket).to_le_bytes())
                .collect();
            content.extend_from_slice(&all.to_le_bytes());
            content.extend_from_slice(&tail);
            if let Some(words) = Words::decode(frame::seal(&content)) {
                words.postings(term, 100);
                words.postings(u64::from(start) << 20, u32::MAX);
            }
        }
    }
}
