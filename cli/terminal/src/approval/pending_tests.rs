use serde_json::json;

use super::look::tests::{asked, edit, window};
use super::*;
use dunlin_chat::turn::Decision;
use dunlin_host::ask::Origin;
use dunlin_host::call::Action;

fn entry(index: usize) -> Entry {
    let path = format!("/outside/{index}");
    Entry {
        index,
        number: index + 10,
        revision: 1,
        ..asked(&format!("Read file '{path}'?"), &[&path])
    }
}

/// Pending approvals of these calls of a reply, shown in a large window.
fn approvals(entries: Vec<Entry>) -> PendingApprovals {
    let mut approvals = PendingApprovals::default();
    approvals.open(11, entries, window(100, 60));
    approvals
}

fn answer(approvals: &mut PendingApprovals, line: &str) -> Reply {
    approvals.answer(line, window(100, 60))
}

/// The decisions in short: number, what, comment.
fn decisions(reply: Reply) -> Vec<String> {
    let Reply::Resolve(_, Resolution::Decided(list)) = reply else {
        panic!("no decision: {reply:?}")
    };
    let short = |decision: Decision| {
        let what = match decision.choice {
            Choice::Answer(answer) => format!("{} {:?}", answer.allow, answer.scope),
            Choice::RunNow => "run now".to_owned(),
            Choice::Skip => "skip".to_owned(),
            Choice::Edit(_) => "edit".to_owned(),
        };
        let comment = decision.comment.map(|comment| format!(" ({comment})"));
        let comment = comment.unwrap_or_default();
        format!("{}.{} {what}{comment}", decision.number, decision.revision)
    };
    list.into_iter().map(short).collect()
}

#[track_caller]
fn says(reply: Reply, text: &str) {
    match reply {
        Reply::Say(rows) | Reply::Keep(rows) => {
            assert!(rows.iter().any(|row| row.contains(text)), "{rows:?}");
        }
        Reply::View(rows, sentence) => {
            let mut rows = rows.iter().chain(&sentence);
            assert!(rows.any(|row| row.contains(text)), "{text:?}: {rows:?}");
        }
        reply => panic!("{reply:?} instead of {text:?}"),
    }
}

#[test]
fn one_call_is_answered_with_a_word() {
    for (line, expected) in [
        ("y", "11.1 true Once"),
        ("yes", "11.1 true Once"),
        ("a", "11.1 true Always"),
        ("y 1", "11.1 true Once"),
        ("y 1 carefully", "11.1 true Once (carefully)"),
        ("run 1", "11.1 run now"),
        ("always", "11.1 true Always"),
        ("ns", "11.1 false Session"),
        ("ok", "11.1 true Once"),
        ("allow 1", "11.1 true Once"),
        ("nope", "11.1 false Once"),
        // What it names is all that is stored.
        ("always /outside/1", "11.1 true Always"),
        ("always 1 read /outside/1", "11.1 true Always"),
        ("never read /outside/1", "11.1 false Always"),
        ("never 1 read it aloud", "11.1 false Always (read it aloud)"),
        ("ns 1 not now", "11.1 false Session (not now)"),
        ("n not that one", "11.1 false Once (not that one)"),
        ("skip", "11.1 skip"),
    ] {
        let mut approvals = approvals(vec![entry(1)]);
        assert_eq!(approvals.prompt(), "  allow? ");
        assert_eq!(
            decisions(answer(&mut approvals, line)),
            [expected],
            "{line}"
        );
    }
    let mut approvals = approvals(vec![entry(1)]);
    for (line, expected) in [
        ("y 2", "No pending call 2: call 1 is pending."),
        ("yy", "\"yy\" is not an answer: type y"),
        (
            "2",
            "A number alone answers nothing: y 1 approves call 1, n 1 denies it.",
        ),
        (
            "yse",
            "\"yse\" is not an answer (y, n, s, always, never, v, e, ?); did you mean yes?",
        ),
        (
            "thanks",
            "\"thanks\" is not an answer (y, n, s, always, never, v, e, ?)",
        ),
        (
            "y but be careful",
            "Nothing was approved: to say something with it, name one call",
        ),
        (
            "s thanks",
            "Nothing was approved: s alone allows reading /outside/1, until the session ends.",
        ),
        (
            "always /outside/",
            "Nothing was approved: always alone allows reading /outside/1, in all projects;",
        ),
        ("always 1, 2 and 3", "No pending call 2: call 1 is pending."),
        (
            "never mind",
            "Nothing was answered: never alone denies reading /outside/1, in all projects;",
        ),
        (
            "ns too much",
            "Nothing was answered: ns alone denies reading /outside/1, until the session ends;",
        ),
        ("run", "Nothing is approved yet"),
        ("?", "yes, also from now on until the session ends"),
        ("v", "arguments {\"file_path\":\"/outside/1\"}"),
        (
            "tell me more",
            "\"tell me more\" is not an answer (y, n, s, always, never, v, e, ?); n TEXT tells the model",
        ),
        ("", "n no"),
    ] {
        says(answer(&mut approvals, line), expected);
    }
    assert_eq!(answer(&mut approvals, "/history"), Reply::Slash);
    assert_eq!(answer(&mut approvals, "e"), Reply::Edit(11));
    assert!(matches!(answer(&mut approvals, "tell me"), Reply::Keep(_)));
}

#[test]
fn what_is_no_answer_adds_one_row() {
    let mut approvals = approvals(vec![entry(1), entry(2)]);
    for line in [
        "yse",
        "yy",
        "y",
        "y 7",
        "5",
        "thanks",
        "tell me more",
        "run",
    ] {
        let (Reply::Say(rows) | Reply::Keep(rows)) = answer(&mut approvals, line) else {
            panic!("{line:?} is an answer")
        };
        assert_eq!(rows.len(), 1, "{line:?}: {rows:?}");
    }
    // Enter alone shows the answers again.
    let key = approvals.key(window(100, 60));
    assert_eq!(answer(&mut approvals, ""), Reply::Say(vec![key]));
}

#[test]
fn after_a_command_calls_are_shown_in_short() {
    let needs = |rows: &[String]| rows.iter().filter(|it| it.contains("read    ")).count();
    let mut several = approvals(vec![entry(1), entry(2)]);
    let rows = several.after_command(window(100, 60));
    assert_eq!(needs(&rows), 0, "{rows:?}");
    assert!(rows.iter().any(|row| row.contains("? 2 ")), "{rows:?}");
    // They were shown whole before.
    assert_eq!(
        decisions(answer(&mut several, "always 2")),
        ["12.1 true Always"]
    );
    // One that was not has to be viewed.
    let mut small = PendingApprovals::default();
    small.open(11, vec![entry(1), edit(100)], window(100, 14));
    let rows = small.after_command(window(100, 14));
    assert!(rows.iter().any(|row| row.contains("shows it")), "{rows:?}");
    let mut one = approvals(vec![entry(1)]);
    let rows = one.after_command(window(100, 60));
    let title = "  ? 1 read_file read /outside/1 · v shows it again";
    assert_eq!(rows[..rows.len() - 1], [title]);
    assert_eq!(decisions(answer(&mut one, "y")), ["11.1 true Once"]);
    // The short form shows nothing that a yes could be one to.
    let mut one = PendingApprovals::default();
    one.open(11, vec![edit(100)], window(100, 14));
    let rows = one.after_command(window(100, 60));
    assert!(rows[0].ends_with(" v shows all of it"), "{rows:?}");
    assert!(matches!(one.answer("y", window(100, 14)), Reply::Say(_)));
}

#[test]
fn several_calls_are_answered_by_number() {
    let mut approved = entry(2);
    approved.state = CallState::Approved;
    let mut approvals = PendingApprovals::default();
    let rows = approvals.open(
        11,
        vec![entry(1), approved.clone(), entry(3)],
        window(100, 60),
    );
    assert_eq!(
        rows[..7],
        [
            "",
            "  2 calls need your approval",
            "  ? 1 read_file",
            "    │ Read file '/outside/1'?",
            "      read    /outside/1 (always: in all projects)",
            "    ! Outside the project.",
            "  + 2 read_file Read file '/outside/2'? · approved",
        ]
    );
    assert_eq!(approvals.prompt(), "  approve? ");
    assert_eq!(decisions(answer(&mut approvals, "y 3")), ["13.1 true Once"]);
    assert_eq!(
        decisions(answer(&mut approvals, "n 3 1 no need")),
        ["13.1 false Once (no need)", "11.1 false Once (no need)"]
    );
    assert_eq!(
        decisions(answer(&mut approvals, "y all")),
        ["11.1 true Once", "13.1 true Once"]
    );
    assert_eq!(
        decisions(answer(&mut approvals, "n 2")),
        ["12.1 false Once"]
    );
    assert_eq!(
        answer(&mut approvals, "run"),
        Reply::Resolve(Vec::new(), Resolution::Run(None))
    );
    for (line, expected) in [
        ("y", "Which of the 2 calls? For example y 1, or y all."),
        ("s", "Which of the 2 calls? For example s 1, or s all."),
        (
            "never",
            "Which of the 2 calls? For example never 1, or never all.",
        ),
        ("n because", "Which of the 2 calls? For example n 1"),
        ("y 4", "No pending call 4: pending are 1, 3."),
        ("never 2", "Call 2 is not being asked about"),
        ("e 1 3", "e opens one call at a time, as in e 1."),
    ] {
        says(answer(&mut approvals, line), expected);
    }
    // What covers several says which.
    let Reply::Resolve(rows, _) = answer(&mut approvals, "y all") else {
        panic!("no decision")
    };
    assert_eq!(rows.len(), 2, "{rows:?}");
    // Once there were several, they keep their numbers; what was shown is one row.
    let mut third = entry(3);
    third.state = CallState::Approved;
    let rows = approvals.open(11, vec![entry(1), third], window(100, 60));
    assert_eq!(
        rows[..2],
        [
            "  ? 1 read_file Read file '/outside/1'?",
            "  + 3 read_file Read file '/outside/3'? · approved",
        ]
    );
    assert_eq!(approvals.prompt(), "  approve? ");
    // A new reply begins anew.
    approvals.open(20, vec![entry(1)], window(100, 60));
    assert_eq!(approvals.prompt(), "  allow? ");
}

#[test]
fn a_yes_needs_to_have_seen_all_of_it() {
    let long = format!("/outside/{}", "x".repeat(4000));
    let large = Entry {
        index: 1,
        number: 11,
        revision: 1,
        ..asked("Read it?", &[&long])
    };
    let small = window(80, 24);
    let mut approvals = PendingApprovals::default();
    let rows = approvals.open(11, vec![large.clone()], small);
    assert!(!rows.join("\n").contains("always"), "{rows:?}");
    says(approvals.answer("y", small), "v does, then answer again.");
    says(
        approvals.answer("always", small),
        "v does, then answer again.",
    );
    assert_eq!(decisions(approvals.answer("n", small)), ["11.1 false Once"]);
    says(approvals.answer("v", small), "xxx");
    says(
        approvals.answer("always", small),
        "can't be allowed permanently",
    );
    assert_eq!(decisions(approvals.answer("y", small)), ["11.1 true Once"]);
    // Another form of it has to be looked at again.
    let other = Entry {
        revision: 2,
        ..large.clone()
    };
    approvals.open(11, vec![other], small);
    says(approvals.answer("y", small), "v does, then answer again.");
    // Among others, too: what was not shown in full is shown, and nothing is approved yet.
    let mut approvals = PendingApprovals::default();
    approvals.open(11, vec![large.clone(), entry(2)], small);
    // A row says of which calls a yes does not count yet.
    let list = approvals.list(small);
    assert!(list[0].ends_with(" · ! v 1 shows it"), "{list:?}");
    assert!(!list[1].contains("shows it"), "{list:?}");
    says(
        approvals.answer("y 1", small),
        "v 1 does, then answer again.",
    );
    assert_eq!(
        decisions(approvals.answer("y 2", small)),
        ["12.1 true Once"]
    );
    says(
        approvals.answer("y all", small),
        "Nothing was approved: 1 call was not shown in full before.",
    );
    assert_eq!(decisions(approvals.answer("y all", small)).len(), 2);
    // All of several in one go.
    let other = Entry {
        index: 2,
        number: 12,
        ..large.clone()
    };
    let mut approvals = PendingApprovals::default();
    approvals.open(11, vec![large, other, entry(3)], small);
    let Reply::View(rows, sentence) = approvals.answer("y all", small) else {
        panic!("nothing was shown")
    };
    let headings = rows.iter().filter(|row| row.starts_with("  ? "));
    assert_eq!(
        headings.collect::<Vec<_>>(),
        ["  ? 1 read_file", "  ? 2 read_file"]
    );
    assert!(sentence.is_some_and(|text| text.contains("2 calls were not shown")));
    assert_eq!(decisions(approvals.answer("y all", small)).len(), 3);
}

#[test]
fn no_word_allows_what_was_not_shown_in_full() {
    let long = format!("/outside/{}", "x".repeat(4000));
    let large = Entry {
        index: 1,
        number: 11,
        revision: 1,
        ..asked("Read it?", &[&long])
    };
    let small = window(80, 24);
    let refused = "does, then answer again.";
    let mut approvals = PendingApprovals::default();
    approvals.open(11, vec![large.clone()], small);
    for word in ["y", "s", "always", "run 1", "tool always"] {
        says(approvals.answer(word, small), refused);
    }
    let rows = approvals.refuses_to_allow(Some("read_file"), small);
    assert!(rows.is_some_and(|rows| rows.join("\n").contains(refused)));
    assert_eq!(approvals.refuses_to_allow(Some("web_fetch"), small), None);
    // It would answer the other call of the tool as well.
    let mut approvals = PendingApprovals::default();
    approvals.open(11, vec![large, entry(2)], small);
    says(approvals.answer("tool 2 always", small), refused);
    says(approvals.answer("v 1", small), "xxx");
    assert!(
        approvals
            .refuses_to_allow(Some("read_file"), window(79, 24))
            .is_some()
    );
    approvals.show_again(small);
    assert_eq!(approvals.refuses_to_allow(Some("read_file"), small), None);
    let reply = approvals.answer("tool 2 always", small);
    assert!(matches!(reply, Reply::Tools(..)), "{reply:?}");
}

#[test]
fn what_is_too_long_to_be_shown_whole_is_read_in_an_editor() {
    let all = window(240, 24);
    let mut long = entry(1);
    long.question.actions = vec![Action::ServerCall];
    long.question.arguments = serde_json::json!({"script": "x".repeat(200_000)});
    let mut approvals = PendingApprovals::default();
    approvals.open(11, vec![long.clone()], all);
    let refused = "is too long to be shown whole";
    says(approvals.answer("y", all), refused);
    says(approvals.answer("v", all), "xxx");
    for word in ["y", "s", "y", "run 1"] {
        says(approvals.answer(word, all), refused);
    }
    says(approvals.answer("y", all), "e opens it in your editor");
    assert_eq!(decisions(approvals.answer("n", all)), ["11.1 false Once"]);
    // It came back as it was.
    approvals.was_read(long.number, all);
    assert_eq!(decisions(approvals.answer("y", all)), ["11.1 true Once"]);
    // As the user wrote it.
    let edited = Entry {
        revision: 2,
        edited: true,
        ..long.clone()
    };
    approvals.open(11, vec![edited], all);
    assert_eq!(decisions(approvals.answer("y", all)), ["11.2 true Once"]);
    // Among others.
    let mut approvals = PendingApprovals::default();
    approvals.open(11, vec![long, entry(2)], all);
    says(approvals.answer("y all", all), refused);
    says(approvals.answer("v all", all), "xxx");
    says(approvals.answer("y all", all), "n 1 TEXT");
    assert_eq!(decisions(approvals.answer("y 2", all)), ["12.1 true Once"]);
}

#[test]
fn a_difference_is_not_read_in_an_editor_that_shows_arguments() {
    let all = window(240, 24);
    for (rows, refused) in [
        (20_500, "n TEXT asks the model for a shorter one"),
        // A view shows it.
        (50, "The screen does not show all of it: v does"),
    ] {
        let long = Entry {
            index: 1,
            number: 11,
            revision: 1,
            ..edit(rows)
        };
        let mut approvals = PendingApprovals::default();
        approvals.open(11, vec![long.clone()], all);
        approvals.was_read(11, all);
        let edited = Entry {
            revision: 2,
            edited: true,
            ..long
        };
        for _ in 0..2 {
            for word in ["tool always", "run 1"] {
                says(approvals.answer(word, all), refused);
            }
            approvals.open(11, vec![edited.clone()], all);
        }
        let Reply::Say(said) = approvals.answer("tool always", all) else {
            panic!("{rows}")
        };
        assert!(
            !said.iter().any(|row| row.contains("in your editor")),
            "{said:?}"
        );
    }
}

#[test]
fn what_stands_above_the_window_was_not_shown() {
    let edit = Entry {
        index: 1,
        number: 11,
        revision: 1,
        ..edit(5)
    };
    for rows in 1..40 {
        let window = window(110, rows);
        let mut approvals = PendingApprovals::default();
        let shown = approvals.open(11, vec![edit.clone()], window);
        let heading = shown.iter().position(|row| row.starts_with("  ? 1 "));
        // The line to answer in is the last one.
        let is_whole = heading.is_some_and(|heading| shown.len() - heading < rows)
            && !shown.iter().any(|row| row.contains("v shows all"));
        let is_yes = matches!(approvals.answer("y", window), Reply::Resolve(..));
        assert_eq!(is_yes, is_whole, "{rows}: {shown:?}");
        let is_always = matches!(approvals.answer("always", window), Reply::Resolve(..));
        assert!(is_whole || !is_always, "{rows}: {shown:?}");
    }
}

#[test]
fn more_calls_than_the_screen_has_rows_are_shown_as_they_fit() {
    let small = window(80, 24);
    let mut approvals = PendingApprovals::default();
    let entries: Vec<Entry> = (1..=12).map(entry).collect();
    let rows = approvals.open(11, entries, small);
    assert!(rows.len() < 12 * 3, "{rows:?}");
    says(approvals.answer("y all", small), "/outside/12");
    assert_eq!(decisions(approvals.answer("y all", small)).len(), 12);
}

#[test]
fn some_answers_cannot_be_given() {
    let once = Entry {
        longest: Scope::Once,
        ..entry(1)
    };
    let broken = Entry {
        problem: Some("the range is wrong".to_owned()),
        edited: true,
        ..entry(1)
    };
    says(
        answer(&mut approvals(vec![once.clone()]), "s"),
        "can only be allowed once",
    );
    says(
        answer(&mut approvals(vec![once.clone()]), "always"),
        "can't be allowed permanently",
    );
    assert_eq!(
        decisions(answer(&mut approvals(vec![once]), "never")),
        ["11.1 false Always"]
    );
    says(
        answer(&mut approvals(vec![broken.clone()]), "y"),
        "cannot be run like this",
    );
    assert_eq!(answer(&mut approvals(vec![broken]), "e"), Reply::Edit(11));
    let mut running = asked("Read '/etc/passwd'?", &["/etc/passwd"]);
    running.runs = true;
    running.question.arguments = json!({});
    // Also what the tool had declared, where only the run can show it.
    for origin in [Origin::Undeclared, Origin::Redirect, Origin::Declared] {
        running.question.origin = origin;
        for line in ["e", "skip", "n why"] {
            says(
                answer(&mut approvals(vec![running.clone()]), line),
                "The call runs already",
            );
        }
    }
    assert_eq!(
        decisions(answer(&mut approvals(vec![running]), "n")),
        ["0.0 false Once"]
    );
}

#[test]
fn the_help_says_what_works_and_no_more() {
    let help = |approvals: &mut PendingApprovals| match approvals.answer("?", window(100, 60)) {
        Reply::Say(rows) => rows.join("\n"),
        reply => panic!("{reply:?}"),
    };
    let of_one = help(&mut approvals(vec![entry(7)]));
    for row in [
        "  y            yes, once",
        "  always       yes, and store it",
        "  tool always  run calls of this tool without a question",
        "  y 7 TEXT     yes, and the model hears TEXT",
        "  n TEXT       no, and the model hears TEXT and continues",
        "               y can also be typed as yes, ok, ",
        "  v            show everything about it",
    ] {
        assert!(of_one.contains(row), "{row}\n{of_one}");
    }
    assert!(!of_one.contains("y all"), "{of_one}");
    assert!(!of_one.contains("Shift-Tab"), "{of_one}");
    let of_edit = help(&mut approvals(vec![edit(1)]));
    assert!(
        of_edit.contains("  Shift-Tab    the mode that accepts edits"),
        "{of_edit}"
    );
    let of_later = help(&mut approvals(vec![entry(7), entry(9)]));
    for row in ["  y 7 9  ", "run 7 runs call 7 now"] {
        assert!(of_later.contains(row), "{row}\n{of_later}");
    }
    let of_several = help(&mut approvals(vec![entry(1), entry(2)]));
    for row in [
        "  tool 1 always  ",
        "  y all          ",
        "  n 1 TEXT       ",
        "  run            run the approved calls now and skip the rest; run 1 runs call 1 now",
        "  y 1 2          ",
    ] {
        assert!(of_several.contains(row), "{row}\n{of_several}");
    }
    let once = Entry {
        longest: Scope::Once,
        ..entry(1)
    };
    let of_once = help(&mut approvals(vec![once]));
    assert!(!of_once.contains("  always "), "{of_once}");
    assert!(!of_once.contains("\n  s "), "{of_once}");
    // A call that runs already can have a yes or a no.
    let mut running = entry(1);
    running.runs = true;
    running.question.origin = Origin::Undeclared;
    let of_running = help(&mut approvals(vec![running]));
    for word in ["tool", "TEXT", "skip", "editor", "e edit", "/help"] {
        assert!(!of_running.contains(word), "{word}\n{of_running}");
    }
    // What does not fit on a row is broken between words.
    let mut narrow = PendingApprovals::default();
    narrow.open(11, vec![entry(1)], window(40, 60));
    let Reply::Say(rows) = narrow.answer("?", window(40, 60)) else {
        panic!("no help")
    };
    let mut lines = rows.iter().flat_map(|row| row.lines());
    assert!(lines.all(|line| line.chars().count() < 40), "{rows:?}");
}
