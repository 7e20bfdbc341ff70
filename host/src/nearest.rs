//! Suggests known names in place of an unknown one.

/// A name is near when it is at least this similar (1 is equal).
const NEAR: f64 = 0.75;

/// The candidate that is most like `name`, if one is like it at all.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    similar(name, candidates).into_iter().next()
}

/// The candidates that are like `name`, the most similar first.
pub fn similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let measured = candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    let mut near: Vec<_> = measured
        .filter(|(similarity, _)| *similarity >= NEAR)
        .collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The candidate that `name` is most likely a misspelling of: fewer than one letter in three differ. Stricter than
/// [`nearest`], for short words.
pub fn misspelt<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let measured = candidates.into_iter().map(|candidate| {
        let longest = name.chars().count().max(candidate.chars().count());
        (strsim::osa_distance(name, candidate), longest, candidate)
    });
    let near = measured.filter(|(distance, longest, _)| 3 * distance < *longest);
    let best = near.min_by_key(|(distance, ..)| *distance);
    best.map(|(.., candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_words_are_like_their_misspellings_only() {
        let words = ["send", "redo", "list", "d"];
        assert_eq!(misspelt("snd", words), Some("send"));
        assert_eq!(misspelt("lsit", words), Some("list"));
        for other in ["read", "first", "d2", ""] {
            assert_eq!(misspelt(other, words), None, "{other}");
        }
    }

    #[test]
    fn the_most_similar_come_first() {
        let tools = ["write_file", "web_fetch", "read_files", "read_file"];
        assert_eq!(nearest("read_fil", tools), Some("read_file"));
        assert_eq!(similar("read_fil", tools)[..2], ["read_file", "read_files"]);
        assert_eq!(nearest("xyzzy", tools), None);
    }
}
