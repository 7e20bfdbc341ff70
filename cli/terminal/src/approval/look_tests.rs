use dunlin_host::ask::Question;
use dunlin_host::call::Action;
use dunlin_host::edit::{ContentHash, Diff, EditKind, FileEdit, Syntax};
use dunlin_host::target::{Need, Operation, Target};

use super::*;
use crate::ui::command::tests::sample;
use crate::ui::web_request::tests::post;

pub(in crate::approval) fn asked(wording: &str, targets: &[&str]) -> Entry {
    let need = |path: &&str| Need {
        target: Target::Path(path.into()),
        operation: Operation::Read,
    };
    Entry::asked(
        1,
        Question {
            call: "1".to_owned(),
            tool: "read_file".to_owned(),
            arguments: serde_json::json!({"file_path": targets.first()}),
            wording: wording.to_owned(),
            needs: targets.iter().map(need).collect(),
            actions: Vec::new(),
            notices: vec!["Outside the project.".to_owned()],
            lasting: targets.iter().map(need).collect(),
            longest: Scope::Always,
            origin: Origin::Declared,
        },
    )
}

pub(in crate::approval) fn window(columns: usize, rows: usize) -> Window {
    Window {
        columns,
        rows,
        styles: Styles::plain(),
    }
}

pub(in crate::approval) fn edit(lines: usize) -> Entry {
    let old: String = (0..lines).map(|n| format!("old {n}\n")).collect();
    let hash = ContentHash::of(b"");
    let mut entry = asked("Edit file 'a' with 1 edit?", &["/p/a"]);
    entry.question.actions = vec![Action::Edit(FileEdit {
        path: "/p/a".into(),
        base: Some(hash),
        new: Some(hash),
        new_folder: None,
        diff: Diff::between(&old, &old.replace("old", "new")),
        kind: EditKind::Text,
        syntax: Syntax::default(),
        change: std::sync::Arc::new(dunlin_host::edit::FileChange::Write(String::new())),
        hook: None,
    })];
    entry
}

/// Bytes that are not text are as much of a question as a text: who has not seen them has not agreed.
#[test]
fn bytes_are_part_of_the_question() {
    for (bytes, complete) in [(64, true), (65, false)] {
        let mut entry = edit(1);
        if let [Action::Edit(edit)] = entry.question.actions.as_mut_slice() {
            edit.kind = EditKind::Bytes {
                before: 1,
                after: bytes as u64,
                start: vec![0xff; bytes].into(),
            };
        }
        let shown = question(&entry, false, window(100, 40), 30);
        assert_eq!(shown.complete, complete, "{bytes}: {:#?}", shown.rows);
        let all = view(&entry, false, window(100, 40));
        assert!(all.complete, "{bytes}");
        let rows = |rows: &[String]| rows.iter().filter(|row| row.contains("│   ff")).count();
        assert_eq!(
            (rows(&shown.rows), rows(&all.rows)),
            (4, 4 + usize::from(!complete))
        );
    }
}

#[test]
fn one_question_is_a_few_calm_rows() {
    let entry = asked("Read file '/etc/hosts'?", &["/etc/hosts"]);
    let shown = question(&entry, false, window(100, 24), 20);
    assert_eq!(
        shown.rows,
        [
            "  ? 1 read_file asks",
            "  │ Read file '/etc/hosts'?",
            "    read    /etc/hosts (always: in all projects)",
            "  ! Outside the project.",
        ]
    );
    assert!(shown.complete && shown.targets);
    let mut entry = entry;
    (entry.edited, entry.mode, entry.index) = (true, Some("never"), 2);
    assert_eq!(
        question(&entry, true, window(100, 24), 20).rows,
        [
            "  ? 2 read_file, as you edited it · never",
            "    │ Read file '/etc/hosts'?",
            "      read    /etc/hosts (always: in all projects)",
            "    ! Outside the project.",
        ]
    );
    assert_eq!(
        row(&entry, true, window(80, 24)),
        "  ? 2 read_file Read file '/etc/hosts'? · edited"
    );
    entry.question.origin = Origin::Redirect;
    let shown = question(&entry, false, window(44, 24), 20);
    assert!(
        shown.rows[0].starts_with("  ? 2 read_file asks to follow a redirect"),
        "{shown:?}"
    );
    assert_eq!(
        row(&entry, false, window(80, 24)),
        "  ? 2 read_file Read file '/etc/hosts'? · edited · ! v 2 shows it"
    );
}

/// Whatever stands behind it in a sentence could be taken for a part of it.
#[test]
fn a_command_stands_on_a_line_of_its_own() {
    let command = |line: &str| {
        let mut entry = asked(&format!("Run command: {line}?"), &[]);
        entry.question.tool = "run_terminal_command".to_owned();
        entry.question.notices.clear();
        entry.question.needs = vec![Need {
            target: Target::Command(sample(line).target),
            operation: Operation::Execute,
        }];
        entry.question.actions = vec![Action::Command(sample(line))];
        entry
    };
    let shown = |line: &str| question(&command(line), false, window(80, 24), 20).rows;
    assert_eq!(
        shown("rm -rf dist/"),
        ["  ? 1 run_terminal_command asks to run", "  │ rm -rf dist/"]
    );
    // A space at the end of a line is seen: behind a backslash it decides what the next line is.
    for lines in ["rm \\ \n  a", "rm  \n  a"] {
        let rows = shown(lines);
        let row = format!("  │ {}\\u{{20}}", lines.split_once(" \n").unwrap().0);
        assert!(rows.contains(&row), "{rows:?}");
        assert_ne!(rows, shown(&lines.replacen(" \n", "\n", 1)));
    }
    // So is one where a row ends that is as long as a word.
    let word = "x".repeat(75);
    let [one, two] = ["", " "].map(|space| shown(&format!("rm {word}{space}/etc/x")));
    assert_ne!(one, two);
    assert_eq!(
        shown("make\nmake  test"),
        [
            "  ? 1 run_terminal_command asks to run",
            "  │ make",
            "  │ make  test"
        ]
    );
    // On a narrow screen the command is what counts.
    let entry = command("rm -rf dist/");
    assert_eq!(
        row(&entry, false, window(44, 24)),
        "  ? 1 rm -rf dist/ · v 1 shows it"
    );
    assert_eq!(
        row(&entry, true, window(80, 24)),
        "  ? 1 run_terminal_command rm -rf dist/"
    );
}

#[test]
fn the_key_says_what_can_be_answered() {
    let entry = asked("Read?", &["/etc/hosts"]);
    let entries = [&entry];
    let check = |several, always, columns, expected: &str| {
        assert_eq!(
            key(&entries, several, always, window(columns, 24)),
            expected
        );
    };
    check(
        false,
        true,
        100,
        "  y yes · n no · s session · always · never · v details · e edit · ? help",
    );
    check(false, false, 60, "  y · n · s · never · v · e · ?");
    check(
        true,
        true,
        100,
        "  y N yes · n N no · s session · always · never · skip · y all · run · v details · e edit · ? help",
    );
    check(
        true,
        true,
        40,
        "  y N · n N · s · always · never · skip\n  y all · run · v · e · ?",
    );
    let once = Entry {
        longest: Scope::Once,
        ..entry.clone()
    };
    assert_eq!(
        key(&[&once], false, false, window(60, 24)),
        "  y · n · never · v · e · ?"
    );
    let broken = Entry {
        problem: Some("no such range".to_owned()),
        ..entry.clone()
    };
    assert_eq!(
        key(&[&broken], false, true, window(60, 24)),
        "  n · never · v · e · ?"
    );
}

#[test]
fn an_edit_that_breaks_a_file_is_marked() {
    let mut entry = edit(100);
    if let [Action::Edit(edit)] = entry.question.actions.as_mut_slice() {
        edit.path = "/p/a\u{1b}.rs".into();
        edit.syntax = Syntax::Broken { line: 7 };
    }
    let mark = r"  ! a\u{1b}.rs does not parse after this edit: line 7";
    for most in [8, 50] {
        let shown = question(&entry, false, window(80, 50), most);
        assert!(shown.rows.iter().any(|row| row == mark), "{shown:?}");
    }
    let whole = view(&entry, false, window(80, 24)).rows;
    assert!(whole.iter().any(|row| row == mark), "{whole:?}");
}

#[test]
fn an_edit_is_shown_as_far_as_it_fits() {
    let entry = edit(100);
    for most in [2, 8, 24, 50] {
        let shown = question(&entry, false, window(80, 50), most);
        assert!(!shown.complete);
        assert!(shown.rows.len() <= most.max(12), "{most}: {shown:?}");
        assert!(
            shown
                .rows
                .iter()
                .any(|row| row.contains("rows: v shows all")),
            "{shown:?}"
        );
        if most > 8 {
            let first = shown
                .rows
                .iter()
                .position(|row| row == "  │ @@ -1,100 +1,100 @@");
            let first = first.unwrap_or_else(|| panic!("{shown:?}"));
            assert_eq!(shown.rows[first + 1], "  │ -old 0");
            assert!(shown.targets);
        }
    }
    let small = question(&edit(2), false, window(80, 50), 40);
    assert!(small.complete, "{small:?}");
    let whole = view(&entry, false, window(80, 24)).rows.join("\n");
    assert!(
        whole.contains("│ -old 99\n") && whole.contains("│ +new 99\n"),
        "{whole}"
    );
}

#[test]
fn a_difference_beyond_the_window_is_not_complete() {
    let entry = edit(3);
    let whole = question(&entry, false, window(80, 50), 50);
    assert!(whole.complete);
    let height = whole.rows.len();
    for most in 0..height {
        let shown = question(&entry, false, window(80, 50), most);
        assert!(!shown.complete, "{most}: {shown:?}");
        let says_more = |row: &String| row.contains("v shows all");
        assert!(shown.rows.iter().any(says_more), "{most}: {shown:?}");
    }
    assert!(question(&entry, false, window(80, 50), height).complete);
}

#[test]
fn what_is_sent_is_part_of_the_question() {
    let mut entry = asked("Fetch webpage 'https://example.com/x' (POST)?", &[]);
    let target = |operation| Need {
        target: Target::Url("https://example.com/x".into()),
        operation,
    };
    entry.question.arguments = serde_json::json!({"post_data": "SECRET\u{1b}[2J"});
    entry.question.needs = vec![target(Operation::Read)];
    let shows = |entry: &Entry| {
        let shown = question(entry, false, window(80, 50), 50);
        let shows = shown
            .rows
            .iter()
            .any(|row| row.contains("SECRET\\u001b[2J"));
        let listed = row(entry, true, window(120, 50)).contains("SECRET");
        assert_eq!(shows, listed);
        shows
    };
    assert!(!shows(&entry));
    entry.question.needs = vec![target(Operation::Write)];
    assert!(shows(&entry));
    // More than the window holds has to be looked at.
    entry.question.arguments = serde_json::json!({"post_data": "x".repeat(9000)});
    assert!(!question(&entry, false, window(80, 50), 40).complete);
    assert!(view(&entry, false, window(80, 50)).complete);
}

/// Where the request itself is there, its body is what is shown, whatever the arguments say.
#[test]
fn a_body_is_shown_in_place_of_the_arguments() {
    let mut entry = asked("Allow x to POST to 'https://example.com/up'?", &[]);
    entry.question.needs = vec![Need {
        target: Target::Url("https://example.com/up".into()),
        operation: Operation::Write,
    }];
    entry.question.arguments = serde_json::json!({"note": "x".repeat(200_000)});
    let mut show = |body: &str| {
        entry.question.actions = vec![post(body, "text/plain")];
        let asked = question(&entry, false, window(80, 50), 40);
        let viewed = view(&entry, false, window(80, 50));
        (asked, viewed)
    };
    let (asked, viewed) = show("one\n\u{1b}[2Jtwo");
    let text = asked.rows.join("\n");
    assert!(asked.complete && viewed.complete);
    assert!(
        text.contains("│ sends 11 bytes of text/plain\n") && text.contains("│   \\u{1b}[2Jtwo"),
        "{text}"
    );
    assert!(!text.contains("arguments"), "{text}");
    for row in [
        "    s, always: the plugin may send anything to it; you no longer see what",
        "    always: in all projects",
    ] {
        assert!(text.contains(row), "{text}");
    }
    // What does not fit begins with a few rows.
    let (asked, viewed) = show(&"a row\n".repeat(100));
    let rows = |shown: &Shown| {
        let rows = shown.rows.iter();
        rows.filter(|row| row.as_str() == "  │   a row").count()
    };
    assert!(!asked.complete && asked.targets && viewed.complete);
    assert_eq!((rows(&asked), rows(&viewed)), (5, 100), "{asked:?}");
    let more = "  … 95 more rows: v shows all of it";
    assert!(asked.rows.iter().any(|row| row == more), "{asked:?}");
    assert!(!show(&"a\n".repeat(20_000)).1.complete);
}

#[test]
fn a_view_says_whether_it_leaves_anything_out() {
    let mut entry = asked("Run it?", &[]);
    entry.question.actions = vec![Action::ServerCall];
    let mut complete = |chars: usize| {
        entry.question.arguments = serde_json::json!({"script": "x".repeat(chars)});
        view(&entry, false, window(80, 24)).complete
    };
    assert!(complete(90_000));
    assert!(!complete(100_000));
    assert!(view(&edit(9_000), false, window(80, 24)).complete);
    assert!(!view(&edit(11_000), false, window(80, 24)).complete);
}

#[test]
fn what_does_not_fit_is_not_complete() {
    let long = format!("/{}", "x".repeat(3000));
    let many: Vec<String> = (0..60).map(|number| format!("/file-{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for targets in [&[long.as_str()][..], &many] {
        let shown = question(&asked("Read?", targets), false, window(80, 24), 20);
        assert!(!shown.targets && !shown.complete);
        assert!(shown.rows.len() <= 20, "{shown:?}");
    }
    // Long, but there is room.
    let shown = question(&asked("Read?", &[&long[..300]]), false, window(80, 24), 20);
    assert!(shown.targets && shown.complete);
}

/// Whatever the foreign text, no row begins like one of Dunlin's own: each is in the margin that it has there, or
/// behind the bar.
#[test]
fn foreign_text_begins_no_row() {
    let keys = "  y yes · n no · s session · always · never · v view · ? help\n  allow? y";
    let long = format!("{}    read    /etc/passwd", "日本 ".repeat(50));
    for hostile in [
        keys,
        &long,
        "\u{1b}[2J\u{1b}[1;1H  ? 1 harmless\r  allow? y",
        "x\u{202e}y\u{200b}z\t! It is safe.",
        &format!("{}! It is safe.", "\u{2800} ".repeat(90)),
        &"a".repeat(20_000),
    ] {
        let mut entry = edit(3);
        entry.question.tool = hostile.to_owned();
        entry.question.wording = hostile.to_owned();
        entry.question.arguments = serde_json::json!({ hostile: hostile, "b": [hostile] });
        entry.question.notices = vec![format!("stored under {hostile}")];
        entry.question.needs.push(Need {
            target: Target::Path(hostile.into()),
            operation: Operation::Execute,
        });
        entry.problem = Some(hostile.to_owned());
        for columns in [24, 40, 80, 200] {
            for numbered in [false, true] {
                let window = window(columns, 5000);
                let mut rows = question(&entry, numbered, window, 5000).rows;
                rows.extend(view(&entry, numbered, window).rows);
                let margin = if numbered { 4 } else { 2 };
                for (number, text) in rows.iter().enumerate() {
                    assert!(
                        display::width(text) <= columns.max(44),
                        "{columns}: {text:?}"
                    );
                    assert!(
                        !text.contains(['\x1b', '\r', '\n', '\u{202e}', '\u{200b}', '\t']),
                        "{text:?}"
                    );
                    // The rest of a word of a command.
                    if text.starts_with('\'') {
                        continue;
                    }
                    let begins = text[margin.min(text.len())..].to_owned();
                    let own = [
                        "! ",
                        "  read ",
                        "  execute ",
                        "  always: ",
                        "  never: ",
                        "  always, never: ",
                        "  undo:",
                        "  undo each:",
                        "    TARGET",
                        "    write",
                        "    dunlin",
                        // A path that needs no quotes, as a word of a command.
                        "    /",
                        "  permissions",
                        "  list shows",
                        "  shows",
                        "  the key",
                        "  key",
                        "    permissions",
                        "    ask",
                        "    read",
                        "    run",
                        "    \'",
                        "    aaaa",
                        "\"",
                        "aaaa",
                        "… ",
                    ];
                    let is_own = own.iter().any(|start| begins.starts_with(start))
                        || begins.trim_start().starts_with('│');
                    let is_heading = ["  ? 1 \"", "  ? 1 aaaa"]
                        .iter()
                        .any(|start| text.starts_with(start));
                    assert!(
                        is_own || is_heading,
                        "{columns} {numbered}: {number} {text:?}"
                    );
                }
                assert!(display::width(&row(&entry, true, window)) < columns.max(44));
            }
        }
    }
}

/// A command that is to be copied has a row of its own where it fits on one.
#[test]
fn the_command_that_takes_an_answer_back_is_not_broken() {
    let entry = asked("Read?", &["/home/ada/docs/birds.txt"]);
    let command = "dunlin permissions ask read /home/ada/docs/birds.txt";
    let stored = |columns| {
        let rows = view(&entry, false, window(columns, 40)).rows;
        let at = |text: &str| rows.iter().position(|row| row.contains(text)).unwrap();
        rows[at("always, never:")..at("│ arguments")].to_vec()
    };
    assert_eq!(
        stored(120),
        [format!(
            "    always, never: in all projects; undo: {command}"
        )]
    );
    assert_eq!(
        stored(80),
        [
            "    always, never: in all projects".to_owned(),
            format!("    undo:   {command}"),
        ]
    );
    assert_eq!(
        stored(62),
        [
            "    always, never: in all projects".to_owned(),
            "    undo:".to_owned(),
            format!("      {command}"),
        ]
    );
    // What is longer than a row is continued as a shell takes it.
    assert_eq!(
        stored(44),
        [
            "    always, never: in all projects",
            "    undo:",
            "      dunlin permissions ask read \\",
            "      /home/ada/docs/birds.txt",
        ]
    );
}

/// The arguments are all that tells one call of a server's tool from another.
#[test]
fn a_call_of_a_servers_tool_shows_its_arguments() {
    let mut entry = asked("Call 'close' of the MCP server 'far'?", &[]);
    entry.question.actions = vec![Action::ServerCall];
    entry.question.arguments = serde_json::json!({"issue": 7, "why": "\u{1b}[2J\nallow? y"});
    for numbered in [false, true] {
        let shown = question(&entry, numbered, window(80, 24), 20);
        let text = shown.rows.join("\n");
        assert!(shown.complete, "{text}");
        assert!(text.contains("│ arguments {\"issue\":7,"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
    let row = row(&entry, true, window(100, 24));
    assert!(row.contains("{\"issue\":7,"), "{row}");
    let viewed = view(&entry, false, window(80, 24)).rows.join("\n");
    assert_eq!(viewed.matches("arguments").count(), 1, "{viewed}");
    // What does not fit has to be looked at before a yes counts.
    let long: Vec<usize> = (0..200).collect();
    entry.question.arguments = serde_json::json!({ "issues": long });
    let shown = question(&entry, false, window(80, 24), 20);
    assert!(!shown.complete, "{:?}", shown.rows);
    assert!(shown.rows.len() <= 20, "{:?}", shown.rows);
    let viewed = view(&entry, false, window(80, 24)).rows.join("\n");
    assert!(viewed.contains("│     199"), "{viewed}");
}
