//! Counting tokens: what a text comes to for a model.

mod estimate;
mod exact;

pub use estimate::estimate;
pub use exact::Vocabulary;

use dunlin_host::display::grouped;

/// How many of something there are: `1 message`, `1,200 messages`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{} {noun}", grouped(count as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        let check = |count, expected: &str| assert_eq!(counted(count, "row", "rows"), expected);
        check(0, "0 rows");
        check(1, "1 row");
        check(1200, "1,200 rows");
    }
}
