//! Text to tokens and back, with the vocabulary of a model's file.

use std::collections::{BTreeSet, HashMap};

use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::NormalizerWrapper;
use tokenizers::normalizers::unicode::NFC;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;
use tokenizers::{AddedToken, PreTokenizerWrapper, Tokenizer};

use crate::dimensions::Misfit;
use crate::header::Header;

/// How words are cut before they are looked up, as the makers of the models published it.
const QWEN_WORDS: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA_WORDS: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Tokens that end a message wherever they are control tokens, whatever the file says ends one.
const ENDS: [&str; 6] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end|>",
    "<end_of_turn>",
];

/// The kinds of tokens in `tokenizer.ggml.token_type` that matter here.
const CONTROL: usize = 3;
const USER_DEFINED: usize = 4;

/// Most control tokens. Models have some hundred at most; each is looked for in every message, on a thread that nothing
/// stops meanwhile.
const MAX_CONTROL: usize = 4096;

/// A vocabulary.
pub(crate) struct Tokens {
    tokenizer: Tokenizer,
    /// What each token is as text; `None` for control tokens, which are never shown.
    bytes: Vec<Option<Box<[u8]>>>,
    /// The control tokens as they are written.
    control: Vec<String>,
    ends: BTreeSet<u32>,
    /// What the model wants to see first, if anything.
    start: Option<u32>,
}

impl Tokens {
    pub(crate) fn read(header: &Header<'_>) -> Result<Tokens, Misfit> {
        let kind = header
            .text("tokenizer.ggml.model")
            .ok_or_else(|| Misfit::missing("tokenizer.ggml.model"))?;
        if kind != "gpt2" {
            return Err(Misfit::Unsupported(format!(
                "its vocabulary is of the kind {kind:?}; known is \"gpt2\""
            )));
        }
        let texts = |key: &str| header.texts(key).ok_or_else(|| Misfit::missing(key));
        let names = texts("tokenizer.ggml.tokens")?;
        let kinds = header
            .numbers("tokenizer.ggml.token_type")
            .unwrap_or_default();
        let kind_of = |place: usize| kinds.get(place).copied().unwrap_or(1);
        let vocabulary: Vocab = (0..)
            .zip(&names)
            .map(|(id, name)| ((*name).to_owned(), id))
            .collect();
        let merges: Option<Vec<(String, String)>> = texts("tokenizer.ggml.merges")?
            .into_iter()
            .map(|merge| {
                let (left, right) = merge.split_once(' ')?;
                Some((left.to_owned(), right.to_owned()))
            })
            .collect();
        let merges =
            merges.ok_or_else(|| Misfit::Damaged("a merge has one side only".to_owned()))?;
        let cut = header.text("tokenizer.ggml.pre").unwrap_or("default");
        let model = BPE::builder()
            .vocab_and_merges(vocabulary, merges)
            .ignore_merges(matches!(cut, "llama-bpe" | "llama3" | "llama-v3"))
            .build()
            .map_err(damaged)?;
        let mut tokenizer = Tokenizer::new(model);
        if cut == "qwen2" {
            tokenizer
                .with_normalizer(Some(NormalizerWrapper::from(NFC)))
                .map_err(damaged)?;
        }
        tokenizer.with_pre_tokenizer(Some(cutter(cut)?));

        let special = |kind: usize| {
            let names = names.iter().enumerate();
            names
                .filter(move |(place, _)| kind_of(*place) == kind)
                .map(|(_, name)| *name)
        };
        let control: Vec<String> = special(CONTROL).map(str::to_owned).collect();
        if control.len() > MAX_CONTROL {
            let count = control.len();
            return Err(Misfit::Damaged(format!(
                "{count} control tokens are too many"
            )));
        }
        let added = special(CONTROL).map(|name| AddedToken::from(name, true));
        tokenizer.add_special_tokens(added).map_err(damaged)?;
        let added = special(USER_DEFINED).map(|name| AddedToken::from(name, false));
        tokenizer.add_tokens(added).map_err(damaged)?;

        let alphabet = alphabet();
        let bytes = names
            .iter()
            .enumerate()
            .map(|(place, name)| match kind_of(place) {
                CONTROL => None,
                USER_DEFINED => Some(name.as_bytes().into()),
                _ => Some(bytes_of(name, &alphabet)),
            });
        let id_of = |key: &str| {
            let id = header.number(key).filter(|id| *id < names.len())?;
            u32::try_from(id).ok()
        };
        let named = (0..)
            .zip(&names)
            .filter(|(_, name)| ENDS.contains(name))
            .map(|(id, _)| id);
        let said = ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"];
        Ok(Tokens {
            bytes: bytes.collect(),
            ends: named.chain(said.into_iter().filter_map(id_of)).collect(),
            start: id_of("tokenizer.ggml.bos_token_id")
                .filter(|_| header.flag("tokenizer.ggml.add_bos_token") == Some(true)),
            tokenizer,
            control,
        })
    }

    /// The tokens of a rendered prompt. Control tokens count as such.
    pub(crate) fn encode(&self, text: &str) -> tokenizers::Result<Vec<u32>> {
        let encoding = self.tokenizer.encode_fast(text, false)?;
        let ids = encoding.get_ids();
        let start = self.start.filter(|start| ids.first() != Some(start));
        Ok(start.into_iter().chain(ids.iter().copied()).collect())
    }

    /// What a token is as text; not all of them are whole characters.
    pub(crate) fn bytes(&self, token: u32) -> &[u8] {
        let place = usize::try_from(token).unwrap_or(usize::MAX);
        self.bytes
            .get(place)
            .and_then(|bytes| bytes.as_deref())
            .unwrap_or_default()
    }

    /// Whether a message ends with this token.
    pub(crate) fn is_end(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }

    /// How a token is written, where it is a control token.
    pub(crate) fn control_name(&self, id: Option<usize>) -> Option<String> {
        let id = u32::try_from(id?).ok()?;
        self.tokenizer.id_to_token(id)
    }

    /// The control tokens as they are written.
    pub(crate) fn control(&self) -> &[String] {
        &self.control
    }

    pub(crate) fn count(&self) -> usize {
        self.bytes.len()
    }
}

fn cutter(name: &str) -> Result<PreTokenizerWrapper, Misfit> {
    let by = |pattern: &str| {
        let split = Split::new(
            SplitPattern::Regex(pattern.to_owned()),
            SplitDelimiterBehavior::Isolated,
            false,
        )
        .map_err(damaged)?;
        let bytes = ByteLevel::new(false, false, false);
        Ok(Sequence::new(vec![split.into(), bytes.into()]).into())
    };
    let words = || ByteLevel::new(false, true, true);
    match name {
        "smollm" => Ok(Sequence::new(vec![Digits::new(true).into(), words().into()]).into()),
        "qwen2" | "deepseek-r1-qwen" => by(QWEN_WORDS),
        "llama-bpe" | "llama3" | "llama-v3" | "smaug-bpe" => by(LLAMA_WORDS),
        // What GPT-2 did. An unknown way of cutting costs quality, not sense.
        _ => Ok(words().into()),
    }
}

fn damaged(error: impl std::fmt::Display) -> Misfit {
    Misfit::Damaged(format!("its vocabulary: {error}"))
}

/// Vocabularies of this kind write each byte as one printable character: those that are printable stand
/// for themselves, the others are counted on from 256.
fn alphabet() -> HashMap<char, u8> {
    let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let mut next = 256_u32;
    let mut alphabet = HashMap::new();
    for byte in 0..=u8::MAX {
        let written = match printable(byte) {
            true => Some(char::from(byte)),
            false => {
                next += 1;
                char::from_u32(next - 1)
            }
        };
        alphabet.extend(written.map(|written| (written, byte)));
    }
    alphabet
}

fn bytes_of(name: &str, alphabet: &HashMap<char, u8>) -> Box<[u8]> {
    let mut bytes = Vec::with_capacity(name.len());
    for character in name.chars() {
        match alphabet.get(&character) {
            Some(byte) => bytes.push(*byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes.into()
}

/// Writes bytes as a vocabulary does.
pub(crate) fn written(bytes: &[u8]) -> String {
    let alphabet: HashMap<u8, char> = alphabet()
        .into_iter()
        .map(|(character, byte)| (byte, character))
        .collect();
    bytes.iter().filter_map(|byte| alphabet.get(byte)).collect()
}

/// Puts characters together from tokens that may end in the middle of one.
#[derive(Debug, Default)]
pub(crate) struct Characters {
    held: Vec<u8>,
}

impl Characters {
    /// Adds bytes and returns the text that is whole by now. What can never become a character is
    /// replaced.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let mut text = String::new();
        let mut whole = 0;
        for chunk in self.held.utf8_chunks() {
            let invalid = chunk.invalid();
            let end = whole + chunk.valid().len();
            text.push_str(chunk.valid());
            whole = end;
            // At the very end it may still become one.
            let open = std::str::from_utf8(invalid).is_err_and(|error| {
                error.error_len().is_none() && end + invalid.len() == self.held.len()
            });
            if !invalid.is_empty() && !open {
                text.push(char::REPLACEMENT_CHARACTER);
                whole += invalid.len();
            }
        }
        self.held.drain(..whole);
        text
    }

    /// The rest, at the end.
    pub(crate) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_characters_stand_for_each_other() {
        let alphabet = alphabet();
        assert_eq!(alphabet.len(), 256);
        let check = |name: &str, text: &str| {
            assert_eq!(&*bytes_of(name, &alphabet), text.as_bytes());
            assert_eq!(written(text.as_bytes()), name);
        };
        check("Ġthe", " the");
        check("Ċ", "\n");
        check("Ã©", "é");
        check("a", "a");
    }

    #[test]
    fn characters_may_come_in_pieces() {
        let text = "aé€😀z";
        for cut in 0..=text.len() {
            for second in cut..=text.len() {
                let mut characters = Characters::default();
                let mut out = String::new();
                for piece in [
                    &text.as_bytes()[..cut],
                    &text.as_bytes()[cut..second],
                    &text.as_bytes()[second..],
                ] {
                    out += &characters.push(piece);
                }
                out += &characters.finish();
                assert_eq!(out, text, "{cut} {second}");
            }
        }
        let mut characters = Characters::default();
        assert_eq!(characters.push(b"a\xffb\xe2\x82"), "a\u{fffd}b");
        assert_eq!(characters.push(b"x"), "\u{fffd}x");
        assert_eq!(characters.push(b"\xf0\x9f"), "");
        assert_eq!(characters.finish(), "\u{fffd}");
    }

    #[test]
    fn words_are_cut_as_their_models_expect() {
        use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};
        let check = |name: &str, text: &str, expected: &[&str]| {
            let mut cut = PreTokenizedString::from(text);
            cutter(name).unwrap().pre_tokenize(&mut cut).unwrap();
            let pieces: Vec<String> = cut
                .get_splits(OffsetReferential::Original, OffsetType::Byte)
                .into_iter()
                .map(|(piece, _, _)| piece.to_owned())
                .collect();
            assert_eq!(pieces, expected, "{name}: {text:?}");
        };
        check(
            "smollm",
            "It's 42 eggs",
            &["It", "'s", "Ġ", "4", "2", "Ġeggs"],
        );
        check(
            "qwen2",
            "It's 42\n\neggs",
            &["It", "'s", "Ġ", "4", "2", "ĊĊ", "eggs"],
        );
        check("llama-bpe", "1234 eggs", &["123", "4", "Ġeggs"]);
        check("something", "1234 eggs", &["1234", "Ġeggs"]);
    }
}
