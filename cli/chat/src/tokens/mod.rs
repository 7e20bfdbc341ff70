//! Counting tokens: what a text comes to for a model.

mod estimate;
mod exact;

pub use estimate::estimate;
pub use exact::Vocabulary;

/// How many of something there are: `1 message`, `1,200 messages`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{} {noun}", grouped(count as u64))
}

/// A number with its thousands set apart, for people.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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

    #[test]
    fn thousands_are_set_apart() {
        let check = |number, text: &str| assert_eq!(grouped(number), text);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(12_345, "12,345");
        check(1_234_567, "1,234,567");
    }
}
