//! From bytes to words: names are split where their writers joined words, and words are reduced to their stems.

use rust_stemmers::{Algorithm, Stemmer};

/// Bytes of the longest name that is read. Longer ones are digests and data.
const MAX_NAME_BYTES: usize = 80;

/// Bytes of the longest word that is reduced to a stem; longer ones are not words of a language.
const MAX_STEM_BYTES: usize = 24;

/// A word as the index knows it.
pub type Term = u64;

/// What separates a term of a path from the same word in a text.
const PATH_SALT: u64 = 0x9e37_79b9_7f4a_7c15;

/// Calls back with each name of a text: runs of letters, digits and `_`. Bytes beyond ASCII count as letters.
#[inline]
pub fn names<'a>(text: &'a [u8], mut each: impl FnMut(&'a [u8])) {
    let mut at = 0;
    while at < text.len() {
        if CLASS[usize::from(text[at])] == OTHER {
            at += 1;
            continue;
        }
        let start = at;
        while at < text.len() && CLASS[usize::from(text[at])] != OTHER {
            at += 1;
        }
        let name = &text[start..at];
        if (2..=MAX_NAME_BYTES).contains(&name.len()) {
            each(name);
        }
    }
}

/// Calls back with each word that a name is joined of: `HTTPServer_v2` is `HTTP`, `Server`, `v`, `2`.
pub fn parts<'a>(name: &'a [u8], mut each: impl FnMut(&'a [u8])) {
    let mut start = 0;
    let mut at = 0;
    while at < name.len() {
        let class = CLASS[usize::from(name[at])];
        if class == JOIN {
            if at > start {
                each(&name[start..at]);
            }
            at += 1;
            start = at;
            continue;
        }
        if at > start {
            let before = CLASS[usize::from(name[at - 1])];
            let next = name.get(at + 1).map_or(OTHER, |b| CLASS[usize::from(*b)]);
            let cut = match (before, class) {
                (LOWER, UPPER) => true,
                // The last capital of a run belongs to the word that it begins.
                (UPPER, UPPER) => next == LOWER && name.get(at + 1) != Some(&b's'),
                (DIGIT, other) | (other, DIGIT) => other != DIGIT,
                _ => false,
            };
            if cut {
                each(&name[start..at]);
                start = at;
            }
        }
        at += 1;
    }
    if at > start {
        each(&name[start..at]);
    }
}

/// Reduces words to stems.
pub struct Stems(Stemmer);

impl std::fmt::Debug for Stems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stems")
    }
}

impl Default for Stems {
    fn default() -> Self {
        Self(Stemmer::create(Algorithm::English))
    }
}

impl Stems {
    /// The term of a word, `None` for one that says nothing: single letters, stop words, long numbers.
    pub fn term(&self, word: &[u8]) -> Option<Term> {
        if word.len() < 2 {
            return None;
        }
        if word.iter().all(u8::is_ascii_digit) {
            return (word.len() <= 6).then(|| hash(word));
        }
        let Ok(text) = std::str::from_utf8(word) else {
            return Some(hash(word));
        };
        let lower = text.to_lowercase();
        if is_stop_word(&lower) {
            return None;
        }
        Some(hash(self.stem(&lower).as_bytes()))
    }

    /// The stem of a word in lower case.
    pub fn stem(&self, lower: &str) -> String {
        if lower.len() < 3
            || lower.len() > MAX_STEM_BYTES
            || !lower.bytes().all(|b| b.is_ascii_lowercase())
        {
            return lower.to_owned();
        }
        self.0.stem(lower).into_owned()
    }
}

/// The term of two words that are parts of one name, in whichever order.
pub fn pair(first: Term, second: Term) -> Term {
    mix(first.min(second).rotate_left(23) ^ first.max(second))
}

/// The term of a word in a path.
pub fn in_path(term: Term) -> Term {
    mix(term ^ PATH_SALT)
}

/// A number that stands for some bytes: 64 bits are so many that two words of a tree do not share one.
#[inline]
pub fn hash(bytes: &[u8]) -> u64 {
    let mut state = (bytes.len() as u64).wrapping_mul(PATH_SALT);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        state = mix(state ^ u64::from_le_bytes(word));
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        state = mix(state ^ u64::from_le_bytes(word));
    }
    mix(state)
}

/// Spreads every bit over all.
#[inline]
fn mix(mut state: u64) -> u64 {
    state = (state ^ (state >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    state = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^ (state >> 32)
}

const OTHER: u8 = 0;
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 3;
const JOIN: u8 = 4;

/// What each byte is within a name.
static CLASS: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | 0x80..=0xff => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => JOIN,
            _ => OTHER,
        };
        byte += 1;
    }
    table
};

/// Words that stand in every text, sorted.
const STOP_WORDS: [&str; 66] = [
    "about", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but",
    "by", "can", "could", "did", "do", "does", "doing", "each", "for", "from", "had", "has",
    "have", "how", "if", "in", "into", "is", "it", "its", "may", "not", "of", "on", "or", "our",
    "should", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which",
    "will", "with", "would", "you",
];

fn is_stop_word(lower: &str) -> bool {
    STOP_WORDS.binary_search(&lower).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(name: &str) -> Vec<String> {
        let mut all = Vec::new();
        parts(name.as_bytes(), |part| {
            all.push(String::from_utf8_lossy(part).into_owned())
        });
        all
    }

    #[test]
    fn names_are_split_where_words_were_joined() {
        assert_eq!(split("readFileSync"), ["read", "File", "Sync"]);
        assert_eq!(split("HTTPServer_v2"), ["HTTP", "Server", "v", "2"]);
        assert_eq!(split("__init__"), ["init"]);
        assert_eq!(split("sha256sum"), ["sha", "256", "sum"]);
        assert_eq!(split("userIDs"), ["user", "IDs"]);
        assert_eq!(split("größe"), ["größe"]);
    }

    #[test]
    fn words_of_one_stem_are_one_term() {
        let stems = Stems::default();
        assert_eq!(stems.term(b"Parsing"), stems.term(b"parse"));
        assert_ne!(stems.term(b"parse"), stems.term(b"read"));
        assert_eq!(stems.term(b"the"), None);
        assert_eq!(stems.term(b"x"), None);
        assert!(stems.term(b"404").is_some());
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }
}
