use proptest::prelude::*;

use super::*;

fn filled(file: &str, given: &[(&str, &str)]) -> Result<String, String> {
    let template = TemplateText::parse(file).map_err(|error| format!("{}: {error}", error.line))?;
    let given: Vec<(String, String)> = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    template.fill(&given).map_err(|error| error.to_string())
}

const REVIEW: &str = "+++\ndescription = \"Reviews\"\narguments = [\"file\", \"focus=all of it\"]\n+++\n\n\
                      Review {{file}}, {{ focus }}: {{file}}.\n";

#[test]
fn templates_are_filled_in_once() {
    let check = |file: &str, given: &[(&str, &str)], expected: Result<&str, &str>| {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(filled(file, given), expected, "{file:?} {given:?}");
    };
    check("Hello\nthere\n\n", &[], Ok("Hello\nthere"));
    check("\u{feff}Hello", &[], Ok("Hello"));
    check(
        REVIEW,
        &[("file", "a.rs")],
        Ok("Review a.rs, all of it: a.rs."),
    );
    check(
        REVIEW,
        &[("focus", "{{file}}"), ("file", "\\{{focus}} {{x}}")],
        Ok("Review \\{{focus}} {{x}}, {{file}}: \\{{focus}} {{x}}."),
    );
    check(REVIEW, &[("file", "")], Ok("Review , all of it: ."));
    check(REVIEW, &[], Err("The argument file is missing."));
    check(
        REVIEW,
        &[("fiel", "x")],
        Err("There is no argument \"fiel\"; did you mean file?"),
    );
    check(
        REVIEW,
        &[("xyzzy", "x")],
        Err("There is no argument \"xyzzy\"."),
    );
    check(
        REVIEW,
        &[("file", "x"), ("file", "y")],
        Err("The argument file is given twice."),
    );
    // What is not a placeholder is text.
    for text in [
        "${{ github.ref }}",
        "{{#if x}}",
        "{{}}",
        "{{ }}",
        "{{a b}}",
        "{x}",
        "{{x}",
        "{{1}}",
        "}}{{",
        "{{",
        "{{{{",
        "ä{{ö}}",
    ] {
        check(text, &[], Ok(text));
    }
    check("\\{{x}} \\\\{{x}} \\{x", &[], Ok("{{x}} \\{{x}} \\{x"));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let many: Vec<String> = (0..=MAX_ARGUMENTS)
        .map(|index| format!("a{index}"))
        .collect();
    let mut errors = String::new();
    for file in [
        "",
        "+++\n+++\n \n",
        "+++\ndescription = \"x\"\n",
        "---\ndescription: x\n---\nHello",
        "+++\n\narguments = [\"file\"]\n+++\n\nLook\nat {{fiel}} {{file}}",
        "{{{x}}}",
        "+++\narguments = [\"a\",\n\"b\"]\n+++\n{{a}}",
        "+++\narguments = [\"a\", \"a\"]\n+++\n{{a}}",
        "+++\narguments = [\"a b\"]\n+++\nx",
        "+++\n# x\ntitle = \"x\"\n+++\nx",
        &format!("+++\ndescription = \"{}\"\n+++\nx", "x".repeat(201)),
        &format!("+++\narguments = {many:?}\n+++\nx"),
        "+++\nx\n+++\ny",
        "+++\narguments = 1\n+++\ny",
        "+++\n\0\n+++\ny",
    ] {
        let error = filled(file, &[]).unwrap_err();
        let shown = format!("{file:.60}");
        errors += &format!("{shown:?}\n→ {error}\n");
    }
    insta::assert_snapshot!(errors);
}

#[test]
fn a_saved_text_is_sent_as_it_was() {
    for (text, escaped) in [
        ("Hello", false),
        ("+++\nx\n+++", false),
        ("---\nx", false),
        ("{{x}} and \\{{x}} and \\\\{{y}} {{", true),
        ("a\n\nb", false),
    ] {
        let (file, is_escaped) = file_of("section 2 (\"user\"\n)", text);
        assert_eq!(filled(&file, &[]), Ok(text.to_owned()), "{file}");
        assert_eq!(is_escaped, escaped, "{file}");
    }
}

proptest! {
    #[test]
    fn any_saved_text_is_sent_as_it_was(text in r"[{}\\a_ +=\n\r\u{feff}ä-]{0,60}|\PC{0,40}") {
        let sent = text.trim_start_matches(['\n', '\r']).trim_end();
        prop_assume!(!sent.is_empty());
        let (file, _) = file_of("x", &text);
        prop_assert_eq!(filled(&file, &[]), Ok(sent.to_owned()));
    }

    #[test]
    fn any_file_is_understood_or_refused(file in r"(\+\+\+\n)?[{}\\a+=\n\[\x22#\]]{0,60}(\n\+\+\+\n)?[{}a\\ ]{0,20}") {
        if let Err(error) = TemplateText::parse(&file) {
            prop_assert!(error.line >= 1 && error.line <= file.lines().count() + 1);
        }
    }
}

#[test]
fn no_argument_makes_a_text_without_end() {
    let file = format!("+++\narguments = [\"a\"]\n+++\n{}", "{{a}}".repeat(10_000));
    let long = "x".repeat(1000);
    assert_eq!(
        filled(&file, &[("a", &long)]),
        Err("With these arguments it is longer than 1024 kB.".to_owned())
    );
}
