//! Counts tokens with a model's own vocabulary.
//!
//! A vocabulary is one or two megabytes in the program and thirty in memory, and takes a tenth of a second to
//! unfold: nothing that a program should do when it starts, or for a conversation that is nowhere near a limit. So
//! it is unfolded only when somebody asks for it, beside what else happens, and until then the estimate serves.

use std::sync::OnceLock;

use splintr::AnyTokenizer;
use splintr::pretrained::from_pretrained;

/// The vocabularies that come with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vocabulary {
    /// OpenAI's since GPT-4o, open weights included.
    O200k,
    /// OpenAI's of GPT-4 and GPT-3.5.
    Cl100k,
    /// Llama 3 and what was made of it.
    Llama3,
    /// Qwen 2 and later.
    Qwen,
}

/// What names of models begin with, folders before them aside, and what they then count with. The first that
/// fits counts.
const MODELS: &[(&str, Vocabulary)] = &[
    ("gpt-4-", Vocabulary::Cl100k),
    ("gpt-3.5", Vocabulary::Cl100k),
    ("gpt-35", Vocabulary::Cl100k),
    ("gpt-4o", Vocabulary::O200k),
    ("gpt-4.", Vocabulary::O200k),
    ("gpt-5", Vocabulary::O200k),
    ("gpt-oss", Vocabulary::O200k),
    ("chatgpt-", Vocabulary::O200k),
    ("o1", Vocabulary::O200k),
    ("o3", Vocabulary::O200k),
    ("o4", Vocabulary::O200k),
    ("llama-3", Vocabulary::Llama3),
    ("llama3", Vocabulary::Llama3),
    ("meta-llama-3", Vocabulary::Llama3),
    ("hermes-3", Vocabulary::Llama3),
    ("deepseek-r1-distill-llama", Vocabulary::Llama3),
    ("qwen", Vocabulary::Qwen),
    ("qwq", Vocabulary::Qwen),
    ("deepseek-r1-distill-qwen", Vocabulary::Qwen),
];

static UNFOLDED: [OnceLock<Option<AnyTokenizer>>; 4] = [const { OnceLock::new() }; 4];

impl Vocabulary {
    /// The vocabulary of a model, as far as its name says so.
    pub fn of(model: &str) -> Option<Vocabulary> {
        let name = model
            .rsplit('/')
            .next()
            .unwrap_or(model)
            .to_ascii_lowercase();
        if name == "gpt-4" {
            return Some(Vocabulary::Cl100k);
        }
        let known = MODELS.iter().find(|(start, _)| name.starts_with(start));
        known.map(|(_, vocabulary)| *vocabulary)
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Vocabulary::O200k => "o200k",
            Vocabulary::Cl100k => "cl100k",
            Vocabulary::Llama3 => "Llama 3",
            Vocabulary::Qwen => "Qwen",
        }
    }

    /// Unfolds it now, which takes a moment. `false`: it cannot be had.
    pub fn unfold(self) -> bool {
        let name = match self {
            Vocabulary::O200k => "o200k_base",
            Vocabulary::Cl100k => "cl100k_base",
            Vocabulary::Llama3 => "llama3",
            Vocabulary::Qwen => "qwen3",
        };
        let slot = &UNFOLDED[self as usize];
        let unfolded = slot.get_or_init(|| {
            let tokenizer = from_pretrained(name).ok()?;
            // The first text that is not a plain word makes it build the rest of its tables.
            tokenizer.encode_raw(&"ab".repeat(64));
            Some(tokenizer)
        });
        unfolded.is_some()
    }

    /// Begins to unfold it, in a thread of its own that ends with it.
    pub fn unfold_beside(self) {
        if UNFOLDED[self as usize].get().is_none() {
            // Without a thread the estimate goes on serving.
            let _ = std::thread::Builder::new()
                .name("vocabulary".to_owned())
                .spawn(move || self.unfold());
        }
    }

    /// Whether it can count.
    pub fn is_unfolded(self) -> bool {
        matches!(UNFOLDED[self as usize].get(), Some(Some(_)))
    }

    /// The tokens of a text; `None` while the vocabulary is not unfolded.
    pub fn count(self, text: &str) -> Option<u64> {
        let tokenizer = UNFOLDED[self as usize].get()?.as_ref()?;
        Some(tokenizer.encode_raw(text).len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_by_their_names() {
        let check = |model: &str, expected: Option<Vocabulary>| {
            assert_eq!(Vocabulary::of(model), expected, "{model}");
        };
        check("gpt-4o-mini", Some(Vocabulary::O200k));
        check("gpt-4.1", Some(Vocabulary::O200k));
        check("openai/gpt-oss-20b", Some(Vocabulary::O200k));
        check("gpt-4", Some(Vocabulary::Cl100k));
        check("gpt-4-turbo", Some(Vocabulary::Cl100k));
        check("llama3.2:3b", Some(Vocabulary::Llama3));
        check(
            "meta-llama/Llama-3.3-70B-Instruct",
            Some(Vocabulary::Llama3),
        );
        check("qwen2.5-coder:7b", Some(Vocabulary::Qwen));
        check("Qwen/Qwen3-8B-GGUF", Some(Vocabulary::Qwen));
        check("deepseek-r1-distill-qwen-7b", Some(Vocabulary::Qwen));
        check("smollm2", None);
        check("llama2:7b", None);
        check("mistral-nemo", None);
        check("", None);
    }

    /// What these vocabularies counted when they were chosen; `o200k` was compared with another implementation.
    #[test]
    fn counts_are_those_of_the_models() {
        let check = |vocabulary: Vocabulary, counts: [u64; 3]| {
            assert!(vocabulary.unfold());
            let texts = [
                "The quick brown fox jumps over the lazy dog, and nobody was surprised.",
                "矶鹬在六月筑巢,通常产四枚卵,雏鸟孵化后很快就能行走。",
                "3f786850e387550fdab836ed7e6dc881de23001b",
            ];
            assert_eq!(
                texts.map(|text| vocabulary.count(text)),
                counts.map(Some),
                "{vocabulary:?}"
            );
            assert_eq!(vocabulary.count(""), Some(0));
        };
        check(Vocabulary::O200k, [15, 31, 20]);
        check(Vocabulary::Llama3, [15, 32, 20]);
        check(Vocabulary::Qwen, [15, 22, 35]);
        assert!(Vocabulary::Cl100k.unfold());
    }
}
