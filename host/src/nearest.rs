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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_come_first() {
        let tools = ["write_file", "web_fetch", "read_files", "read_file"];
        assert_eq!(nearest("read_fil", tools), Some("read_file"));
        assert_eq!(similar("read_fil", tools)[..2], ["read_file", "read_files"]);
        assert_eq!(nearest("xyzzy", tools), None);
    }
}
