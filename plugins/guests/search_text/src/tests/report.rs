use dunlin_project_files::{Files, Scope};
use dunlin_sdk::tree::Also;

use crate::pattern::Pattern;
use crate::report::{Report, Show};

fn scope() -> Scope {
    Scope::new(
        None,
        &[],
        Also {
            hidden: true,
            ignored: true,
        },
    )
    .unwrap()
}

/// The answer to a search through these files.
fn answer(
    show: Show,
    context: usize,
    most: usize,
    pattern: &str,
    files: &[(&str, &str)],
) -> String {
    let mut report = Report::new(show, context, most);
    let mut pattern = Pattern::new(pattern, false, false).unwrap();
    for (path, text) in files {
        report.file(path, text.as_bytes(), &mut pattern, &|| false);
    }
    report.text(&scope())
}

const FILES: [(&str, &str); 3] = [
    ("a.rs", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"),
    ("b.rs", "nothing\r\n"),
    ("c.rs", "one\r\nother one\r\n"),
];

#[test]
fn lines_have_their_places() {
    assert_eq!(
        answer(Show::Lines, 0, 9, "one", &FILES),
        "3 matching lines in 2 files:\na.rs:1:one\nc.rs:1:one\nc.rs:2:other one\n"
    );
    assert_eq!(
        answer(Show::Lines, 1, 9, "two|four|seven|nothing", &FILES),
        "4 matching lines in 2 files:\n\
         a.rs-1-one\na.rs:2:two\na.rs-3-three\na.rs:4:four\na.rs-5-five\na.rs-6-six\na.rs:7:seven\n\
         b.rs:1:nothing\n"
    );
    assert_eq!(
        answer(Show::Lines, 1, 9, "one|six", &FILES),
        "4 matching lines in 2 files:\n\
         a.rs:1:one\na.rs-2-two\n--\na.rs-5-five\na.rs:6:six\na.rs-7-seven\nc.rs:1:one\nc.rs:2:other one\n"
    );
    assert_eq!(
        answer(Show::Files, 0, 9, "one", &FILES),
        "2 files have a match:\na.rs\nc.rs\n"
    );
    assert_eq!(
        answer(Show::Counts, 0, 9, "one", &FILES),
        "3 matching lines in 2 files:\na.rs: 1\nc.rs: 2\n"
    );
    assert_eq!(
        answer(Show::Lines, 0, 9, "none", &FILES),
        "No match in the project.\n"
    );
}

#[test]
fn lines_of_a_file_that_was_named_do_not_name_it() {
    let mut report = Report::new(Show::Lines, 1, 9);
    let mut pattern = Pattern::new("two", false, false).unwrap();
    report.is_of_file();
    report.file("a.rs", b"one\n  two\n", &mut pattern, &|| false);
    assert_eq!(report.text(&scope()), "1 matching line:\n1-one\n2:  two\n");
}

#[test]
fn the_first_ones_are_shown_and_all_are_counted() {
    let text = answer(Show::Lines, 1, 2, "o", &FILES);
    assert_eq!(
        text,
        "6 matching lines in 3 files:\na.rs:1:one\na.rs:2:two\na.rs-3-three\n[only the first 2 matching lines shown; narrow \
         the search with path, globs or a longer pattern, or show files or counts]\n"
    );
    let many = "x\n".repeat(100_000);
    let text = answer(Show::Lines, 20, 1_000, "x", &[("a.txt", &many)]);
    assert!(
        text.starts_with("100000 matching lines in 1 file:\n"),
        "{text:.100}"
    );
    assert!(text.len() < 50_000);
    let long = "x".repeat(1_000_000);
    let lines: Vec<(&str, &str)> = (0..500).map(|_| ("a.txt", long.as_str())).collect();
    let text = answer(Show::Lines, 20, 1_000, "x", &lines);
    assert!(
        text.len() < 50_000 && text.contains("only the first"),
        "{}",
        text.len()
    );
}

#[test]
fn of_a_long_line_the_match_is_shown() {
    let line = format!("{}needle{}\n", "é".repeat(1_000), "x".repeat(1_000));
    let text = answer(Show::Lines, 0, 9, "needle", &[("a.txt", &line)]);
    let shown = text.lines().nth(1).unwrap();
    assert!(shown.starts_with("a.txt:1:…éé"), "{shown}");
    assert!(
        shown.contains("éneedlex") && shown.ends_with("x…"),
        "{shown}"
    );
    assert!(shown.len() < 450, "{}", shown.len());
    let text = answer(Show::Lines, 0, 9, "^", &[("a.txt", &line)]);
    assert!(text.contains("a.txt:1:éé"), "{text}");
    let text = answer(Show::Lines, 0, 9, "x$", &[("a.txt", &line)]);
    assert!(text.trim_end().ends_with("xx"), "{text}");
    assert!(!text.contains('\u{fffd}'));
}

#[test]
fn what_was_not_searched_is_said() {
    let mut report = Report::new(Show::Lines, 0, 9);
    let mut pattern = Pattern::new("a", false, false).unwrap();
    report.file("b.png", b"a\0", &mut pattern, &|| false);
    for number in 0..7 {
        report.too_large(format!("{number}.csv"));
    }
    report.unreadable();
    report.not_searched(3);
    report.searched(Files {
        withheld: 1,
        ..Files::default()
    });
    assert_eq!(
        report.text(&scope()),
        "No match in the project.\n[the search took too long: 3 files were not searched; narrow it with path or globs]\n\
         [larger than 1 MiB and not searched: 0.csv, 1.csv, 2.csv, 3.csv, 4.csv and 2 more; name one as path to search it]\n\
         [1 file could not be read]\n[1 file left out: it may not be read without a question]\n"
    );
    let mut report = Report::new(Show::Lines, 0, 9);
    report.is_of_file();
    report.file("b.png", b"a\0", &mut pattern, &|| false);
    assert_eq!(
        report.text(&scope()),
        "No match in the project.\n[it is a binary file]\n"
    );
    // One file that takes all the time.
    let long = format!("{}\na\n", "b".repeat(200_000));
    let mut report = Report::new(Show::Lines, 0, 9);
    report.file("b.txt", long.as_bytes(), &mut pattern, &|| true);
    assert!(report.text(&scope()).contains("took too long"));
}
