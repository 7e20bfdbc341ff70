//! The vectors of passages, kept for the next question: an embedding model takes a hundred times as long as the rest.
//!
//! A vector is kept under a digest of the text that it was made of, in a byte for each number. Those of one model are
//! kept; another model begins anew.

use std::collections::HashMap;

use crate::frame::{self, Reader};
use crate::store::{Store, StoreError};
use crate::words;

/// The name of the blob.
const NAME: &str = "vectors";

/// Bytes of all vectors: some ten thousand of a small model. The oldest go first.
const MAX_BYTES: usize = 4 << 20;

/// Numbers of the widest vector.
const MAX_NUMBERS: u32 = 4_096;

/// Bytes of a vector beside its numbers: digest and scale.
const HEAD_BYTES: usize = 12;

/// The vectors that are kept.
#[derive(Debug, Default)]
pub struct Vectors {
    model: u64,
    numbers: usize,
    entries: Vec<Entry>,
    places: HashMap<u64, usize>,
    is_changed: bool,
}

#[derive(Debug)]
struct Entry {
    digest: u64,
    /// What each number is multiplied by.
    scale: f32,
    numbers: Vec<u8>,
}

impl Vectors {
    /// What is kept of a model. What is damaged or another's counts as nothing.
    pub fn open(store: &dyn Store, model: &str) -> Result<Self, StoreError> {
        let model = words::hash(model.as_bytes());
        let blob = store.get(NAME)?;
        let known = blob.as_deref().and_then(|blob| Self::decode(blob, model));
        Ok(known.unwrap_or(Self {
            model,
            ..Self::default()
        }))
    }

    /// The number under which the vector of a text is kept.
    pub fn digest(text: &str) -> u64 {
        words::hash(text.as_bytes())
    }

    /// Whether the vector of a text is there.
    pub fn has(&self, digest: u64) -> bool {
        self.places.contains_key(&digest)
    }

    /// How near the text is to a question, `None` where its vector is not there or is none of that kind.
    pub fn nearness(&self, digest: u64, question: &[f32]) -> Option<f32> {
        let entry = self.entries.get(*self.places.get(&digest)?)?;
        if entry.numbers.len() != question.len() {
            return None;
        }
        let sum: f32 = entry
            .numbers
            .iter()
            .zip(question)
            .map(|(number, other)| f32::from(number.cast_signed()) * other)
            .sum();
        Some(sum * entry.scale)
    }

    /// Keeps a vector. One of another size than those before begins anew: the model is not what it was.
    pub fn keep(&mut self, digest: u64, vector: &[f32]) {
        let most = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        if self.has(digest) || !most.is_normal() || vector.len() > MAX_NUMBERS as usize {
            return;
        }
        if vector.len() != self.numbers {
            self.entries.clear();
            self.places.clear();
            self.numbers = vector.len();
        }
        let scale = most / f32::from(i8::MAX);
        let numbers = vector
            .iter()
            .map(|x| ((x / scale).round() as i8).cast_unsigned());
        self.places.insert(digest, self.entries.len());
        self.entries.push(Entry {
            digest,
            scale,
            numbers: numbers.collect(),
        });
        self.is_changed = true;
    }

    /// Writes what has changed.
    pub fn save(&mut self, store: &mut dyn Store) -> Result<(), StoreError> {
        if !self.is_changed {
            return Ok(());
        }
        let most = MAX_BYTES / (HEAD_BYTES + self.numbers).max(1);
        let surplus = self.entries.len().saturating_sub(most);
        let mut content = Vec::new();
        content.extend_from_slice(&self.model.to_le_bytes());
        content.extend_from_slice(&(self.numbers as u32).to_le_bytes());
        for entry in &self.entries[surplus..] {
            content.extend_from_slice(&entry.digest.to_le_bytes());
            content.extend_from_slice(&entry.scale.to_le_bytes());
            content.extend_from_slice(&entry.numbers);
        }
        store.put(NAME, &frame::seal(&content))?;
        self.is_changed = false;
        Ok(())
    }

    fn decode(blob: &[u8], model: u64) -> Option<Self> {
        let mut reader = Reader::new(frame::open(blob)?);
        if reader.u64()? != model {
            return None;
        }
        let numbers = reader.u32().filter(|numbers| *numbers <= MAX_NUMBERS)?;
        let mut vectors = Self {
            model,
            numbers: numbers as usize,
            ..Self::default()
        };
        while !reader.is_empty() {
            let entry = Entry {
                digest: reader.u64()?,
                scale: Some(f32::from_bits(reader.u32()?)).filter(|scale| scale.is_normal())?,
                numbers: reader.bytes(numbers as usize)?.to_vec(),
            };
            vectors.places.insert(entry.digest, vectors.entries.len());
            vectors.entries.push(entry);
        }
        Some(vectors)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::MemoryStore;

    fn kept(store: &mut MemoryStore, model: &str, vectors: &[(u64, Vec<f32>)]) {
        let mut open = Vectors::open(store, model).unwrap();
        for (digest, vector) in vectors {
            open.keep(*digest, vector);
        }
        open.save(store).unwrap();
    }

    #[test]
    fn vectors_are_found_again() {
        let mut store = MemoryStore::default();
        kept(
            &mut store,
            "a",
            &[(7, vec![0.6, -0.8]), (8, vec![1.0, 0.0])],
        );
        kept(&mut store, "a", &[(9, vec![0.0, 1.0])]);
        let open = Vectors::open(&store, "a").unwrap();
        for (digest, nearness) in [(7, 0.6), (8, 1.0), (9, 0.0)] {
            let found = open.nearness(digest, &[1.0, 0.0]).unwrap();
            assert!((found - nearness).abs() < 0.01, "{digest}: {found}");
        }
        assert_eq!(open.nearness(10, &[1.0, 0.0]), None);
        assert_eq!(open.nearness(7, &[1.0]), None);
        // Those of another model say nothing.
        assert!(!Vectors::open(&store, "b").unwrap().has(7));
    }

    #[test]
    fn a_model_that_changes_under_its_name_begins_anew() {
        let mut store = MemoryStore::default();
        kept(&mut store, "a", &[(7, vec![1.0, 0.0])]);
        kept(&mut store, "a", &[(8, vec![1.0, 0.0, 0.0])]);
        let open = Vectors::open(&store, "a").unwrap();
        assert!(open.has(8) && !open.has(7));
    }

    #[test]
    fn what_is_no_vector_is_not_kept() {
        let mut store = MemoryStore::default();
        let odd = [
            vec![],
            vec![0.0],
            vec![f32::NAN, f32::INFINITY],
            vec![1.0; 5_000],
        ];
        let odd: Vec<(u64, Vec<f32>)> = (0..).zip(odd).collect();
        kept(&mut store, "a", &odd);
        let open = Vectors::open(&store, "a").unwrap();
        assert!((0..4).all(|digest| !open.has(digest)));
    }

    #[test]
    fn the_oldest_go() {
        let mut store = MemoryStore::default();
        let count = (MAX_BYTES / (HEAD_BYTES + 1_024) + 10) as u64;
        let vectors: Vec<(u64, Vec<f32>)> = (0..count).map(|at| (at, vec![1.0; 1_024])).collect();
        kept(&mut store, "a", &vectors);
        let open = Vectors::open(&store, "a").unwrap();
        assert!(!open.has(9) && open.has(10) && open.has(count - 1));
        assert!(store.get(NAME).unwrap().unwrap().len() <= MAX_BYTES + 64);
    }

    proptest! {
        #[test]
        fn damage_is_noticed(at in 0_usize..100, bit in 0..8, cut in 0_usize..100) {
            let mut store = MemoryStore::default();
            kept(&mut store, "a", &[(7, vec![0.6, -0.8]), (8, vec![1.0, 0.0])]);
            let whole = store.get(NAME).unwrap().unwrap();
            let mut blob = whole.clone();
            let at = at % blob.len();
            blob[at] ^= 1_u8 << bit;
            prop_assert!(Vectors::decode(&blob, words::hash(b"a")).is_none());
            let cut = &whole[..cut % whole.len()];
            prop_assert!(Vectors::decode(cut, words::hash(b"a")).is_none());
        }
    }
}
