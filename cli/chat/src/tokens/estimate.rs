//! Counts tokens without a vocabulary.
//!
//! Every tokenizer in use cuts a text into words, numbers, signs and space first, and cuts those further where
//! the vocabulary has no whole one. One pass over the text counts what the first step would find, and a
//! weight says what each of them comes to on average. The weights were fitted to the counts of seven
//! vocabularies (`o200k`, `cl100k`, Llama 3, Qwen 3, Mistral's Tekken, DeepSeek 3, Gemma 3) over 25 kinds of text.
//! The error, against the mean of the seven:
//!
//! | | |
//! | --- | --- |
//! | program text (C, JavaScript, Python, Rust), Markdown | -5 % to +8 % |
//! | prose in Latin letters (nine languages) | -12 % to +7 % |
//! | Chinese, Japanese, Korean | -1 % |
//! | Russian, Arabic, Thai | +2 % to +21 % |
//! | lists of files, lock files, hexadecimal, base64, columns of numbers | -12 % to +19 % |
//! | Greek, Hebrew; JSON of nothing but numbers | -29 % to -14 % |
//!
//! The vocabularies differ among themselves by more: Arabic comes to 2.9 characters a token in one and to 1.5 in
//! another. What is left is taken out by the server's own counts, see the calibration in
//! [`ContextBudget`](crate::request::context_budget::ContextBudget).

/// Hundredths of a token.
type Hundredths = u64;

/// A word: letters up to the next capital.
const WORD: Hundredths = 113;
/// Each letter of a word beyond these.
const SHORT_WORD: usize = 6;
const LONG_WORD_LETTER: Hundredths = 50;
/// Three digits. Some vocabularies take three at once, some one by one.
const DIGITS: Hundredths = 175;
/// Space that is not the single one before a word: that one belongs to the word.
const SPACES: Hundredths = 83;
const LINE_ENDS: Hundredths = 52;
/// Signs in a row: the first, another one, the same one again.
const SIGN: Hundredths = 41;
const OTHER_SIGN: Hundredths = 33;
const SAME_SIGN: Hundredths = 9;

/// How many tokens a text comes to, roughly. Takes about a millisecond for a megabyte or two.
pub fn estimate(text: &str) -> u64 {
    let mut sum: Hundredths = 0;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let mut run = |belongs: fn(char) -> bool| {
            let mut length = 1;
            while characters.next_if(|next| belongs(*next)).is_some() {
                length += 1;
            }
            length
        };
        sum += match c {
            'a'..='z' => word(run(|c| c.is_ascii_lowercase())),
            'A'..='Z' => {
                let capitals = run(|c| c.is_ascii_uppercase());
                word(capitals + run(|c| c.is_ascii_lowercase()) - 1)
            }
            '0'..='9' => DIGITS * (run(|c| c.is_ascii_digit()) as u64).div_ceil(3),
            ' ' => {
                let spaces = run(|c| c == ' ');
                let before_digits = characters.peek().is_some_and(char::is_ascii_digit);
                if spaces > 1 || before_digits {
                    SPACES
                } else {
                    0
                }
            }
            '\n' | '\r' | '\t' => {
                run(|c| matches!(c, '\n' | '\r' | '\t'));
                LINE_ENDS
            }
            c if c.is_ascii() => {
                let mut cost = SIGN;
                let mut before = c;
                while let Some(next) = characters.next_if(|next| is_sign(*next)) {
                    cost += if next == before {
                        SAME_SIGN
                    } else {
                        OTHER_SIGN
                    };
                    before = next;
                }
                cost
            }
            c => foreign(c),
        };
    }
    sum.div_ceil(100)
}

fn word(letters: usize) -> Hundredths {
    WORD + LONG_WORD_LETTER * letters.saturating_sub(SHORT_WORD) as u64
}

fn is_sign(c: char) -> bool {
    c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, ' ' | '\n' | '\r' | '\t')
}

/// A character that is not ASCII, by its script.
fn foreign(c: char) -> Hundredths {
    match c as u32 {
        // Letters with marks, in words that are otherwise ASCII.
        0x0080..0x0250 => 34,
        // Greek, Cyrillic.
        0x0250..0x0530 => 48,
        // Armenian, Hebrew, Arabic.
        0x0530..0x0700 => 61,
        // The scripts of India and its neighbours.
        0x0700..0x1200 => 58,
        0x2000..0x3000 => 125,
        0x3000..0x3040 | 0xFF00..0xFFF0 => 80,
        // Kana.
        0x3040..0x3400 => 66,
        // Chinese characters.
        0x3400..0xA000 | 0xF900..0xFB00 => 80,
        // Hangul.
        0xAC00..0xD7B0 => 87,
        // Vietnamese, Greek with marks.
        0x1E00..0x2000 => 40,
        // Pictures.
        0x1F000..0x20000 => 255,
        _ => 200,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts of `o200k`, Llama 3 and Qwen 3 for the same texts.
    #[test]
    fn the_estimate_comes_near() {
        let check = |text: &str, counted: [u64; 3]| {
            let estimated = estimate(text);
            let (least, most) = (counted.iter().min(), counted.iter().max());
            let (least, most) = (*least.unwrap() as f64, *most.unwrap() as f64);
            let near = (least * 0.7..=most * 1.4).contains(&(estimated as f64));
            assert!(near, "{estimated} is not near {counted:?}: {text}");
        };
        check(
            "The quick brown fox jumps over the lazy dog, and nobody was surprised.",
            [15, 15, 15],
        );
        check(
            "Die Strandläufer brüten im Juni und legen meistens vier Eier in eine flache Mulde.",
            [20, 26, 26],
        );
        check(
            "fn estimate(text: &str) -> u64 {\n    let mut sum = 0;\n    for c in text.chars() {\n        sum += weight(c);\n    }\n    sum\n}\n",
            [40, 39, 40],
        );
        check(
            "{\"file_path\":\"src/main.rs\",\"start_line\":10,\"end_line\":200}",
            [18, 18, 21],
        );
        check(
            "矶鹬在六月筑巢,通常产四枚卵,雏鸟孵化后很快就能行走。",
            [31, 32, 22],
        );
        check(
            "シギは六月に巣を作り、たいてい四つの卵を産みます。",
            [24, 22, 22],
        );
        check(
            "도요새는 유월에 둥지를 틀고 보통 네 개의 알을 낳습니다.",
            [24, 24, 27],
        );
        check(
            "Кулики гнездятся в июне и обычно откладывают четыре яйца в неглубокую ямку.",
            [26, 28, 31],
        );
        check("3f786850e387550fdab836ed7e6dc881de23001b", [20, 20, 35]);
        check(
            "TWFueSBoYW5kcyBtYWtlIGxpZ2h0IHdvcmsuIFRoYXQgaXMgdHJ1ZS4=",
            [35, 39, 39],
        );
        check(
            "drwxr-xr-x 2 root root  4096 Nov 22 00:49 src\n-rw-r--r-- 1 root root 10507 Jul 24  2006 Cargo.lock\n",
            [46, 46, 57],
        );
    }

    #[test]
    fn nothing_costs_nothing_and_more_costs_more() {
        assert_eq!(estimate(""), 0);
        assert_eq!(estimate(" "), 0);
        assert_eq!(estimate("a"), 2);
        let (once, twice) = (estimate("A b1\n— 日"), estimate("A b1\n— 日A b1\n— 日"));
        assert!(once < twice && twice <= 2 * once, "{once} {twice}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_an_estimate(text in "\\PC*|[ -~\n\t]*") {
            // No character comes to more than three tokens, and no text to nothing that has words.
            let characters = text.chars().count() as u64;
            proptest::prop_assert!(estimate(&text) <= 3 * characters + 1);
        }
    }
}
