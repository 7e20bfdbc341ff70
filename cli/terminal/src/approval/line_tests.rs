use super::*;

fn parse(line: &str) -> Line {
    super::parse(line, &[])
}

#[test]
fn examples_name_calls_that_are_pending() {
    for (line, expected) in [
        ("y all but 8", "as in y 7 TEXT."),
        ("y 7-9", "name each call, as in y 7 8 9."),
        ("skip 7 - 9", "name each call, as in skip 7 8 9."),
    ] {
        let (Line::Unclear(why) | Line::Wrong(why)) = super::parse(line, &[7, 8, 9, 10]) else {
            panic!("{line:?} is taken for an answer")
        };
        assert!(why.ends_with(expected), "{line:?}: {why}");
    }
    // Words behind it make it something to say.
    assert!(matches!(
        parse("n 5-9 lines are enough"),
        Line::Word(_, _, Some(_))
    ));
}

#[test]
fn only_the_words_answer() {
    let check = |line: &str, allow, scope| {
        let expected = Line::Word(answer(allow, scope), Which::Only, None);
        assert_eq!(parse(line), expected, "{line:?}");
    };
    for several in ["\n\ny", "y\n\n", "y\nor n"] {
        assert_eq!(parse(several), Line::Other, "{several:?}");
    }
    check("y", true, Scope::Once);
    check(" Y \n", true, Scope::Once);
    check("yes", true, Scope::Once);
    check("YES", true, Scope::Once);
    check("Yes.", true, Scope::Once);
    check("yes please!", true, Scope::Once);
    check("no!", false, Scope::Once);
    check("n", false, Scope::Once);
    check("No", false, Scope::Once);
    check("s", true, Scope::Session);
    check("ns", false, Scope::Session);
    check("always", true, Scope::Always);
    check("a", true, Scope::Always);
    check("never", false, Scope::Always);
    for line in [
        "ok",
        "Okay",
        "yep",
        "sure",
        "Allow",
        "approve",
        "Yes please",
    ] {
        check(line, true, Scope::Once);
    }
    check("nope", false, Scope::Once);
    check("deny", false, Scope::Once);
    for line in ["yy", "nn", "1", "2 3"] {
        let found = parse(line);
        assert!(matches!(found, Line::Wrong(_)), "{line:?}: {found:?}");
        assert!(looks_like_answer(line) && !is_answer(line), "{line:?}");
    }
    for line in ["yse", "alway", "true", "yall", "v1", "thanks", "yse 2"] {
        assert!(matches!(parse(line), Line::Mistyped(..)), "{line:?}");
        assert!(!looks_like_answer(line), "{line:?}");
    }
    for line in ["y n", "y yes", "yes please do", "run all"] {
        assert!(matches!(parse(line), Line::Wrong(_)), "{line:?}");
    }
    for (line, is_message) in [
        ("always y", true),
        ("never mind", true),
        ("a file is missing", true),
        ("s tuff", false),
        ("ns 1 too much", false),
    ] {
        let found = parse(line);
        assert!(
            matches!(found, Line::Lasting { may_be_message, .. } if may_be_message == is_message),
            "{line:?}: {found:?}"
        );
        assert!(!looks_like_answer(line) && !only_answers(line), "{line:?}");
    }
    for line in [
        "\u{ff59}!",
        "? what",
        "e is wrong",
        "tell me more",
        "ok then do it",
        "sure, go on",
        "allow me to explain",
        "deny 1 because",
        "okey-dokey",
        "help me",
    ] {
        assert_eq!(parse(line), Line::Other, "{line:?}");
    }
    assert_eq!(parse("  "), Line::Empty);
    assert_eq!(parse("/help y"), Line::Slash);
    assert_eq!(parse("dunlin permissions ask run git"), Line::Slash);
}

#[test]
fn what_people_say_for_yes_and_no_is_an_answer_like_y_and_n() {
    for (said, _) in SPOKEN {
        assert!(looks_like_answer(said) && is_answer(said), "{said}");
        // At the prompt it may answer what the model asked.
        assert!(!only_answers(said), "{said}");
        assert!(only_answers(&format!("{said} 2")), "{said}");
    }
    let numbers = Which::Numbers(vec![2, 3]);
    let expected = Line::Word(answer(true, Scope::Once), numbers, None);
    assert_eq!(parse("OK 2 3"), expected);
    let expected = Line::Word(answer(false, Scope::Once), Which::All, None);
    assert_eq!(parse("deny all"), expected);
}

#[test]
fn a_number_alone_is_told_what_answers() {
    for (line, call) in [("8", 8), ("1", 7), ("2 3", 7)] {
        let expected = format!(
            "A number alone answers nothing: y {call} approves call {call}, n {call} denies it."
        );
        assert_eq!(super::parse(line, &[7, 8]), Line::Wrong(expected), "{line}");
    }
}

#[test]
fn a_plain_question_takes_the_words_for_yes_and_no_alone() {
    for line in ["y", "Y", "yes", " YES ", "ok", "Yes please"] {
        assert_eq!(yes_or_no(line), Some(true), "{line:?}");
    }
    for line in ["n", "No", "NO\t", "nope"] {
        assert_eq!(yes_or_no(line), Some(false), "{line:?}");
    }
    for line in [
        "",
        " ",
        "\n\ny",
        "y\n\n",
        "yy",
        "ye",
        "1",
        "y 1",
        "y all",
        "s",
        "always",
        "never",
        "y n",
        "n not that",
        "yes please do",
        "ｙ",
        "/y",
    ] {
        assert_eq!(yes_or_no(line), None, "{line:?}");
    }
}

#[test]
fn a_mistyped_word_is_told_what_it_is_like() {
    for (typed, near) in [
        ("alway", "always"),
        ("allways", "always"),
        ("yse", "yes"),
        ("nevr 2", "never"),
        ("sesion", "session"),
    ] {
        let Line::Mistyped(_, meant) = parse(typed) else {
            panic!("{typed:?} is taken for an answer")
        };
        assert_eq!(meant, Some(near), "{typed:?}");
    }
    assert_eq!(parse("thanks"), Line::Mistyped("thanks".to_owned(), None));
}

#[test]
fn without_a_question_only_what_cannot_be_a_message_is_an_answer() {
    for line in [
        "y 12",
        "y all",
        "n 3",
        "run 3",
        "v 2",
        "s",
        "NS",
        "always",
        "never",
        "tool always",
    ] {
        assert!(only_answers(line), "{line}");
    }
    for line in [
        "y",
        "yes",
        "no",
        "N",
        "a",
        "run",
        "skip",
        "?",
        "e",
        "12",
        "y 1 carefully",
        "never mind",
        "/help",
    ] {
        assert!(!only_answers(line), "{line}");
    }
}

#[test]
fn the_tool_of_a_call_is_set_with_a_word() {
    for (line, mode, which) in [
        ("tool always", ToolMode::Always, Which::Only),
        ("tool never", ToolMode::Never, Which::Only),
        ("Tool 3 Prompt", ToolMode::Prompt, Which::Numbers(vec![3])),
        ("tool never 3", ToolMode::Never, Which::Numbers(vec![3])),
    ] {
        assert_eq!(
            parse(line),
            Line::Word(Word::Tool(mode), which, None),
            "{line}"
        );
    }
    assert!(matches!(parse("tool"), Line::Wrong(_)));
    assert!(matches!(parse("tool sometimes"), Line::Wrong(_)));
    assert_eq!(parse("tool calls are slow today"), Line::Other);
}

#[test]
fn calls_are_named_by_number() {
    let yes = answer(true, Scope::Once);
    let no = answer(false, Scope::Once);
    let numbers = |numbers: &[usize]| Which::Numbers(numbers.to_vec());
    let check = |line: &str, word, which, comment: Option<&str>| {
        let expected = Line::Word(word, which, comment.map(str::to_owned));
        assert_eq!(parse(line), expected, "{line:?}");
    };
    check("y 2", yes, numbers(&[2]), None);
    check("y 1 3 1", yes, numbers(&[1, 3]), None);
    check("y 1,3, 2", yes, numbers(&[1, 3, 2]), None);
    check("y all", yes, Which::All, None);
    check("n ALL too much", no, Which::All, Some("too much"));
    check("n 3 not that one", no, numbers(&[3]), Some("not that one"));
    check("no", no, Which::Only, None);
    check("No 2", no, numbers(&[2]), None);
    check("no not that one", no, Which::Only, Some("not that one"));
    check("n not that one", no, Which::Only, Some("not that one"));
    check("skip 2", Word::Skip, numbers(&[2]), None);
    check("skip not now", Word::Skip, Which::Only, Some("not now"));
    check("v 2", Word::View, numbers(&[2]), None);
    check("e", Word::Edit, Which::Only, None);
    check("run", Word::Run, Which::Only, None);
    check("run 2", Word::Run, numbers(&[2]), None);
    check(
        "run and then stop",
        Word::Run,
        Which::Only,
        Some("and then stop"),
    );
    check("y 1 carefully", yes, numbers(&[1]), Some("carefully"));
    check("yes 2", yes, numbers(&[2]), None);
    check("?", Word::Help, Which::Only, None);
    assert!(matches!(parse("y 99999999999999999999999"), Line::Wrong(_)));
}

#[test]
fn a_yes_with_words_behind_it_needs_the_number_of_one_call() {
    for line in [
        "y all but 3",
        "y all of them",
        "y not this one",
        "y 1 3 files are enough",
    ] {
        let (Line::Unclear(why) | Line::Wrong(why)) = parse(line) else {
            panic!("{line:?} is taken for an answer")
        };
        assert!(why.starts_with("Nothing was approved"), "{line:?}: {why}");
    }
    for line in ["s all except 1", "always all except 2", "always 1, 2 and 3"] {
        assert!(matches!(parse(line), Line::Lasting { .. }), "{line:?}");
    }
}
