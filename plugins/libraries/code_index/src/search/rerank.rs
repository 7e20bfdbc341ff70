//! Lets an embedding model order the best candidates anew.

use std::collections::HashMap;

use super::weights::Weights;

/// Bytes of what a model is given of a passage: more than the tokens that a small one has time for.
const GIST_BYTES: usize = 640;

/// A piece of a file that may become a hit.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    pub path: String,
    /// The function, type or heading that it is or stands in.
    pub symbol: Option<String>,
    /// Its first line, counted from 1.
    pub start_line: u64,
    pub end_line: u64,
    pub text: String,
    /// How well its words fit, the best of the answer 1.
    pub score: f32,
}

impl Passage {
    /// What it is about, for a model that was made for prose: where it stands, what it is called and how it begins, names
    /// split into words, without signs.
    pub fn gist(&self) -> String {
        let mut gist = String::with_capacity(GIST_BYTES);
        // The file and its folder. Those above are the same for too many.
        let parts: Vec<&str> = self.path.rsplit('/').take(2).collect();
        for part in parts.iter().rev() {
            say(
                part.rsplit_once('.').map_or(part, |(stem, _)| stem),
                &mut gist,
            );
        }
        stop(&mut gist);
        say(self.symbol.as_deref().unwrap_or_default(), &mut gist);
        stop(&mut gist);
        say(&self.text, &mut gist);
        gist
    }
}

/// Ends a sentence.
fn stop(gist: &mut String) {
    gist.truncate(gist.trim_end().len());
    gist.push_str(". ");
}

/// Adds the words of a text.
fn say(text: &str, gist: &mut String) {
    let mut last = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if gist.len() >= GIST_BYTES {
            return;
        }
        // `readFile`, and the F of `HTTPFile`.
        let begins = letter.is_uppercase()
            && (last.is_lowercase()
                || last.is_ascii_digit()
                || (last.is_uppercase() && letters.peek().is_some_and(|next| next.is_lowercase())));
        let is_space = !letter.is_alphanumeric() && !matches!(letter, '.' | ',');
        if (begins || is_space) && !gist.ends_with(' ') {
            gist.push(' ');
        }
        if !is_space {
            gist.push(letter);
        }
        last = letter;
    }
    if !gist.ends_with(' ') {
        gist.push(' ');
    }
}

/// An embedding model.
pub trait Rerank {
    /// How near each passage is to the question, at most 1, and `None` is not known. `None` as a whole where the model cannot
    /// say anything: then the words alone decide.
    fn scores(&mut self, question: &str, passages: &[Passage]) -> Option<Vec<Option<f32>>>;
}

/// Mixes embeddings and words: what is semantically nearer than the mean gains, what is further away loses; and so it does by
/// the functions that its file declares, of which the nearest counts. The model is asked about the first `most`, and the
/// functions of their files.
pub(super) fn apply(
    mut passages: Vec<Passage>,
    most: usize,
    declared: Vec<Passage>,
    question: &str,
    rerank: &mut dyn Rerank,
    weights: &Weights,
) -> Vec<Passage> {
    let most = most.min(passages.len());
    let mut asked = passages[..most].to_vec();
    let is_asked = |function: &Passage| passages[..most].iter().any(|p| p.path == function.path);
    asked.extend(declared.into_iter().filter(is_asked));
    let Some(scores) = rerank.scores(question, &asked) else {
        return passages;
    };
    let known: Vec<f32> = scores.iter().copied().flatten().collect();
    if scores.len() != asked.len() || known.len() < 2 || known.iter().any(|it| !it.is_finite()) {
        return passages;
    }
    let (of_passages, of_functions) = scores.split_at(most);
    let mut nearest: HashMap<&str, f32> = HashMap::new();
    for (function, score) in asked[most..].iter().zip(of_functions) {
        if let Some(score) = score {
            let best = nearest.entry(&function.path).or_insert(*score);
            *best = best.max(*score);
        }
    }
    let mean = mean(of_passages.iter().flatten());
    let mean_nearest = self::mean(nearest.values());
    for (passage, score) in passages.iter_mut().zip(of_passages) {
        // Of what nothing is known, the embeddings neither help nor harm.
        let nearer = score.map_or(0.0, |score| score - mean);
        let declared = nearest.get(passage.path.as_str());
        let declared = declared.map_or(0.0, |score| score - mean_nearest);
        let gain = weights.semantic * nearer + weights.declared_semantic * declared;
        passage.score *= (1.0 + gain).max(0.0);
    }
    passages.sort_by(|a, b| b.score.total_cmp(&a.score));
    // A score of more than 1 would say that it fits better than in every respect.
    let best = passages.first().map_or(1.0, |best| best.score.max(1.0));
    passages
        .iter_mut()
        .for_each(|passage| passage.score /= best);
    passages
}

fn mean<'a>(numbers: impl Iterator<Item = &'a f32>) -> f32 {
    let (sum, count) = numbers.fold((0.0, 0), |(sum, count), number| (sum + number, count + 1));
    sum / count.max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says what it was told to say.
    struct Says(Option<Vec<Option<f32>>>);

    impl Rerank for Says {
        fn scores(&mut self, _question: &str, _passages: &[Passage]) -> Option<Vec<Option<f32>>> {
            self.0.clone()
        }
    }

    fn passage(path: &str, score: f32) -> Passage {
        Passage {
            path: path.to_owned(),
            symbol: Some("Store::readHTTPFile2".to_owned()),
            start_line: 1,
            end_line: 2,
            text: "fn read_file(&self) -> u8 {\n    self.x\n}\n".to_owned(),
            score,
        }
    }

    fn order(says: Option<Vec<Option<f32>>>) -> String {
        let passages = vec![passage("a", 1.0), passage("b", 0.9), passage("c", 0.8)];
        let weights = Weights::default();
        let ordered = apply(passages, 3, Vec::new(), "?", &mut Says(says), &weights);
        assert!(ordered.iter().all(|passage| passage.score <= 1.0));
        ordered.into_iter().map(|passage| passage.path).collect()
    }

    #[test]
    fn embeddings_and_words_are_mixed() {
        assert_eq!(order(None), "abc");
        assert_eq!(order(Some(vec![Some(0.1), Some(0.1), Some(0.9)])), "cab");
        assert_eq!(order(Some(vec![Some(0.5), Some(0.9), Some(0.5)])), "bac");
        // All alike says nothing.
        assert_eq!(order(Some(vec![Some(0.5); 3])), "abc");
        // What was not looked at keeps its score.
        assert_eq!(order(Some(vec![Some(0.0), Some(1.0), None])), "bca");
    }

    #[test]
    fn the_nearest_function_of_a_file_counts() {
        let passages = vec![passage("a", 1.0), passage("b", 0.9)];
        let declared = ["a", "b", "b", "c"].map(|path| passage(path, 0.1));
        // Two passages, the functions of their files, and none of another.
        let says = [Some(0.5), Some(0.5), Some(0.1), Some(0.0), Some(0.9)];
        let weights = Weights::default();
        let mut says = Says(Some(says.to_vec()));
        let ordered = apply(passages, 3, declared.to_vec(), "?", &mut says, &weights);
        let order: String = ordered.into_iter().map(|passage| passage.path).collect();
        assert_eq!(order, "ba");
    }

    #[test]
    fn a_model_that_makes_no_sense_decides_nothing() {
        for says in [
            vec![Some(f32::NAN), Some(1.0), Some(2.0)],
            vec![Some(f32::INFINITY), Some(1.0), Some(2.0)],
            vec![Some(0.0), Some(1.0)],
            vec![Some(0.0), None, None],
            vec![None, None, None],
            Vec::new(),
            vec![Some(0.0), Some(0.5), Some(0.7), Some(1.0)],
        ] {
            assert_eq!(order(Some(says.clone())), "abc", "{says:?}");
        }
    }

    #[test]
    fn a_gist_is_in_words() {
        assert_eq!(
            passage("src/io/file_store.rs", 1.0).gist(),
            "io file store. Store read HTTP File2. fn read file self u8 self.x "
        );
        let long = Passage {
            symbol: None,
            text: "ä🙂 x\n".repeat(10_000),
            ..passage("", 1.0)
        };
        assert!(long.gist().len() < GIST_BYTES + 8);
    }
}
