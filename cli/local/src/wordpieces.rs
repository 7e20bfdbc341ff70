//! Text to the tokens of BERT: words in lower case, long ones in pieces.
//!
//! The vocabulary is that of BERT as Google published it in 2018 (Apache-2.0), which the small embedding models share:
//! their files have none.

use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{Model, Tokenizer};

/// One piece a line.
const VOCABULARY: &[u8] = include_bytes!("wordpieces.txt");

/// What stands before and behind every text.
const FIRST: u32 = 101;
const LAST: u32 = 102;

/// Bytes of a text for each token that is wanted: no piece of it that is cut off could become one.
const BYTES_PER_TOKEN: usize = 32;

/// The vocabulary.
pub(crate) struct WordPieces {
    tokenizer: Tokenizer,
    count: usize,
}

impl WordPieces {
    pub(crate) fn new() -> tokenizers::Result<WordPieces> {
        let vocabulary = WordPiece::read_bytes(VOCABULARY)?;
        let model = WordPiece::builder()
            .vocab(vocabulary)
            .unk_token("[UNK]".to_owned())
            .build()?;
        let count = model.get_vocab_size();
        let mut tokenizer = Tokenizer::new(model);
        let normalizer = BertNormalizer::new(true, true, None, true);
        tokenizer.with_normalizer(Some(normalizer))?;
        tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
        Ok(WordPieces { tokenizer, count })
    }

    /// How many pieces there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The tokens of a text, no more than so many with those at its ends.
    pub(crate) fn ids(&self, text: &str, most: usize) -> tokenizers::Result<Vec<u32>> {
        let text = &text[..text.floor_char_boundary(most * BYTES_PER_TOKEN)];
        let encoded = self.tokenizer.encode(text, false)?;
        let inner = encoded.get_ids().iter().take(most.saturating_sub(2));
        let mut ids = vec![FIRST];
        ids.extend(inner);
        ids.push(LAST);
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_pieces() {
        let pieces = WordPieces::new().unwrap();
        assert_eq!(pieces.count(), 30_522);
        // As the makers' own program has it.
        assert_eq!(
            pieces.ids("Hello, unaffable World!", 32).unwrap(),
            [101, 7592, 1010, 14477, 20961, 3468, 2088, 999, 102]
        );
        assert_eq!(
            pieces.ids("one two three", 4).unwrap(),
            [101, 2028, 2048, 102]
        );
        assert_eq!(pieces.ids("", 4).unwrap(), [101, 102]);
        assert!(pieces.ids(&"ä🙂".repeat(9_000), 64).unwrap().len() <= 64);
    }
}
