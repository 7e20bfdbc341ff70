use proptest::prelude::*;

use crate::pattern::Pattern;

/// Where the first match is.
fn found(pattern: &str, text: &str) -> Option<(usize, usize)> {
    let mut pattern = Pattern::new(pattern, false, false).unwrap();
    let found = pattern.find(text.as_bytes(), 0..text.len())?;
    Some((found.start(), found.end()))
}

fn problem(pattern: &str) -> String {
    Pattern::new(pattern, false, false).unwrap_err().message
}

#[test]
fn no_match_goes_over_a_line() {
    let check = |pattern: &str, text: &str, expected| {
        assert_eq!(found(pattern, text), expected, "{pattern}");
    };
    check(r"b\s+c", "a b\n c", None);
    check(r"b[^x]*c", "a b\n c b c", Some((7, 10)));
    check(r"(?s)b.*c", "a b\n c b-c", Some((7, 10)));
    check(r"\W+", "a\n,,\nb", Some((2, 4)));
    check(r"^b$", "a\nb\nc", Some((2, 3)));
    check(r"^b$", "a\r\nb\r\nc", Some((3, 4)));
    check(r"(?-u)\xff|é", "aé", Some((1, 3)));
    check(r"\bfn\b", "fnx fn", Some((4, 6)));
}

#[test]
fn texts_stand_for_themselves_and_case_can_be_ignored() {
    let finds = |pattern: &str, literal, ignore_case, text: &str| {
        let mut pattern = Pattern::new(pattern, literal, ignore_case).unwrap();
        pattern.find(text.as_bytes(), 0..text.len()).is_some()
    };
    assert!(finds("a.(b", true, false, "xa.(b"));
    assert!(!finds("a.(b", true, false, "xab(b"));
    assert!(finds("É(", true, true, "é("));
    assert!(!finds("fn", false, false, "FN"));
    assert!(finds("fn", false, true, "FN"));
}

#[test]
fn an_error_shows_the_place() {
    let text = problem("fn (a|b");
    assert_eq!(
        text,
        "pattern: it is not a regular expression: regex parse error:\n    fn (a|b\n       ^\nerror: unclosed group\n\
         Correct it, or set literal to true to search for it as it is"
    );
    assert!(problem("[z-a]").contains("invalid character class range"));
    assert!(problem(r"(?<=a)b").contains("look-around"));
    assert!(problem(r"(a)\1").contains("backreferences are not supported"));
    for pattern in ["a\nb", r"a\nb", r"[\n]", r"\n{3}"] {
        assert!(
            problem(pattern).contains("it contains a line break"),
            "{pattern}"
        );
    }
}

/// Each of these takes all memory, or years, somewhere.
#[test]
fn hostile_patterns_are_refused_or_quick() {
    let check = |pattern: &str, expected: &str| {
        let text = problem(pattern);
        assert!(text.contains(expected), "{pattern:.40}: {text:.300}");
    };
    check(&"a".repeat(4001), "more than 4000 characters");
    check(r"\w{1000}", "too large once it is compiled");
    check(r"((a{1000}){1000}){1000}", "too large once it is compiled");
    check(r"(?i)(\pL{100}){100}", "too large once it is compiled");
    check(
        &format!("{}é[", "a".repeat(300)),
        "unclosed character class, at character 302\n",
    );
    check(
        &format!("{}{}", "(".repeat(200), ")".repeat(200)),
        "maximum number of nested",
    );
    check(&"(a|".repeat(500), "regular expression");
    let text = format!("{}!", "a".repeat(30_000));
    for pattern in [
        r"(a+)+$",
        r"(a|a)*b",
        r"(.*)*x",
        r"a*a*a*a*a*a*c",
        r"(\w+\s?)*$y",
    ] {
        assert_eq!(found(pattern, &text), None, "{pattern}");
    }
    assert!(Pattern::new(r"\w{1,100}", false, false).is_ok());
}

proptest! {
    #[test]
    fn nothing_panics(pattern in "[a-c()|*+?.\\[\\]{}^$\\\\n0-9 \n]{1,20}", text in "[a-c\n]{0,20}") {
        if let Ok(mut pattern) = Pattern::new(&pattern, false, false) {
            let found = pattern.find(text.as_bytes(), 0..text.len());
            prop_assert!(found.is_none_or(|found| !text[found.range()].contains('\n')));
        }
        prop_assert!(Pattern::new(&pattern, true, true).is_ok() || pattern.contains('\n'));
    }
}
